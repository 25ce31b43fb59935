//! The report for a terminal: plain text, columns aligned also where Chinese is two cells wide.

use super::headline;
use super::sections::{Section, Side, sections};
use crate::config::{Config, Units};
use crate::estimate::Estimate;
use crate::text::Lang;
use unicode_width::UnicodeWidthStr as _;

/// Cells between two columns.
const GAP: &str = "  ";

/// Headline, blocks, totals and the largest tensors. Warnings are not part of it: a terminal has its own place for
/// them.
pub fn table(config: &Config, estimate: &Estimate, lang: Lang, units: Units) -> String {
    let said = headline(config, estimate, lang, units);
    let mut out = format!("{}\n{}\n", said.verdict, said.worst);
    for section in sections(estimate, lang, units) {
        out.push('\n');
        draw(&mut out, &section);
    }
    out
}

/// Draws one table with its heading and its note.
pub(crate) fn draw(out: &mut String, section: &Section) {
    let mut widths: Vec<usize> = section.columns.iter().map(|(name, _)| name.width()).collect();
    for row in &section.rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    if !section.heading.is_empty() {
        out.push_str(&section.heading);
        out.push('\n');
    }
    let names = section.columns.iter().map(|(name, _)| *name);
    line(out, names, &section.columns, &widths);
    for row in &section.rows {
        line(out, row.iter().map(String::as_str), &section.columns, &widths);
    }
    if !section.note.is_empty() {
        out.push_str(&section.note);
        out.push('\n');
    }
}

fn line<'a>(
    out: &mut String,
    cells: impl Iterator<Item = &'a str>,
    columns: &[(&str, Side)],
    widths: &[usize],
) {
    let start = out.len();
    for ((cell, (_, side)), width) in cells.zip(columns).zip(widths) {
        if out.len() > start {
            out.push_str(GAP);
        }
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match side {
            Side::Left => out.extend([cell, &padding]),
            Side::Right => out.extend([&padding, cell]),
        }
    }
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn english() {
        let text = table(&Config::default(), &example::estimate(), Lang::En, Units::Gib);
        assert_eq!(
            text,
            "\
Peak 57 GiB on one GPU: fits an A100 80 GB, 23 GiB to spare
The worst moment is the backward of the loss; activations are 55 % of it.

Block             At the peak  Share  Largest
Parameters             15 GiB   27 %   15 GiB
Gradients                 0 B    0 %   15 GiB
Optimizer states       10 GiB   18 %   10 GiB
Activations            30 GiB   55 %   30 GiB
Temporary                 0 B    0 %      0 B
Live tensors           55 GiB  100 %   70 GiB

Total      Expected            Range  Counts
allocated  55.0 GiB                   the framework's own counter at its maximum
reserved     56 GiB  55 GiB – 59 GiB  with the caching allocator
device       57 GiB  56 GiB – 60 GiB  with what lives outside it
capacity     80 GiB                   A100 80 GB: fits

The largest tensors at the peak
  Size  Tensor                   Block             dtype  Formula
30 GiB  self_attn.q_proj.input   Activations       bf16   32 · b·s·h · 2 B
15 GiB  self_attn.q_proj.weight  Parameters        bf16   32 · b·s·h · 2 B
10 GiB  weight                   Optimizer states  bf16   32 · b·s·h · 2 B
b = 4, s = 2048, h = 4096
"
        );
    }

    #[test]
    fn chinese_columns_end_in_the_same_cell() {
        let text = table(&Config::default(), &example::estimate(), Lang::Zh, Units::Gib);
        let block: Vec<&str> = text.lines().skip(3).take(7).collect();
        assert!(block[0].starts_with("显存块") && block[3].starts_with("优化器状态"), "{text}");
        assert!(block.iter().all(|line| line.width() == block[0].width()), "{text}");
    }
}
