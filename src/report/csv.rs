//! The ledger as CSV (RFC 4180: CRLF, quotes doubled), one row per tensor, sizes in bytes.

use crate::estimate::Estimate;
use crate::text::Lang;

/// The columns: the names of the JSON report's ledger.
const COLUMNS: [&str; 15] = [
    "name", "block", "group", "shape", "dtype", "count", "bytes", "at_peak", "formula", "values", "from",
    "until", "why", "release", "source",
];

/// The ledger's rows below their names.
pub fn csv(estimate: &Estimate, lang: Lang) -> String {
    let mut out = String::new();
    row(&mut out, &COLUMNS);
    for entry in &estimate.ledger {
        row(
            &mut out,
            &[
                &entry.name(),
                entry.block.word(),
                entry.group.word(),
                &entry.shape.to_string(),
                entry.dtype.word(),
                &entry.count.to_string(),
                &entry.bytes.to_string(),
                &entry.at_peak.to_string(),
                &entry.formula(),
                &entry.values(&estimate.symbols),
                entry.from.word(),
                entry.until.word(),
                entry.tensor.why().get(lang),
                entry.tensor.release().get(lang),
                entry.tensor.source(),
            ],
        );
    }
    out
}

/// Quoting is the whole of writing CSV, so it is written here and the page is spared a library.
fn row(out: &mut String, cells: &[&str; COLUMNS.len()]) {
    for (i, cell) in cells.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if cell.contains([',', '"', '\r', '\n']) {
            out.push('"');
            out.push_str(&cell.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(cell);
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::csv;
    use crate::report::example;
    use crate::text::Lang;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let text = csv(&example::estimate(), Lang::En);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[3],
            "self_attn.q_proj.input,activations,attention,\"[b, s, h]\",bf16,32,32212254720,32212254720,\
             32 · b·s·h · 2 B,32 · 4·2048·4096 · 2 B,forward,backward,\
             \"Kept \"\"as is\"\", for the weight's gradient.\",Recompute.,torch/csrc/autograd"
        );
        assert!(text.ends_with("\r\n"));
    }
}
