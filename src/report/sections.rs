//! What the terminal table and the Markdown share: headings, columns and cells.

use super::largest::Largest;
use super::share;
use crate::config::Units;
use crate::estimate::{Band, Estimate};
use crate::text::{Lang, Text, ledger, report as text};
use crate::units::size;

/// To which side a column's cells are pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// One small table.
pub(crate) struct Section<'a> {
    /// Said above it (may be empty).
    pub(crate) heading: String,
    /// Names and sides of the columns.
    pub(crate) columns: Vec<(&'a str, Side)>,
    /// Cells, as many in each row as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
    /// Said below it (may be empty).
    pub(crate) note: String,
}

/// The blocks, the totals, and the largest tensors.
pub(super) fn sections(estimate: &Estimate, lang: Lang, units: Units) -> [Section<'static>; 3] {
    [blocks(estimate, lang, units), totals(estimate, lang, units), tensors(estimate, lang, units)]
}

fn columns(lang: Lang, columns: &[(Text, Side)]) -> Vec<(&'static str, Side)> {
    columns.iter().map(|(text, side)| (text.get(lang), *side)).collect()
}

fn blocks(estimate: &Estimate, lang: Lang, units: Units) -> Section<'static> {
    let whole = estimate.peak.bytes;
    let line = |name: Text, at_peak: u64, largest: u64| {
        vec![
            name.get(lang).to_owned(),
            size(at_peak, units),
            share(at_peak, whole, lang),
            size(largest, units),
        ]
    };
    let mut rows: Vec<_> = estimate
        .peak
        .blocks
        .iter()
        .map(|(block, bytes)| line(ledger::block(block), bytes, estimate.block(block)))
        .collect();
    rows.push(line(text::LIVE, whole, estimate.blocks.sum()));
    Section {
        heading: String::new(),
        columns: columns(
            lang,
            &[
                (text::BLOCK, Side::Left),
                (text::AT_PEAK, Side::Right),
                (text::SHARE, Side::Right),
                (text::LARGEST, Side::Right),
            ],
        ),
        rows,
        note: String::new(),
    }
}

fn totals(estimate: &Estimate, lang: Lang, units: Units) -> Section<'static> {
    let line = |name: Text, bytes: u64, range: String, counts: String| {
        vec![name.get(lang).to_owned(), size(bytes, units), range, counts]
    };
    let band = |name: Text, band: Band, counts: Text| {
        let range = format!("{} – {}", size(band.low, units), size(band.high, units));
        line(name, band.expected, range, counts.get(lang).to_owned())
    };
    let exact =
        |name: Text, bytes: u64, counts: Text| line(name, bytes, String::new(), counts.get(lang).to_owned());
    let mut rows = vec![
        exact(text::ALLOCATED, estimate.allocated, text::COUNTS_ALLOCATED),
        band(text::RESERVED, estimate.reserved, text::COUNTS_RESERVED),
        band(text::DEVICE, estimate.device, text::COUNTS_DEVICE),
    ];
    if estimate.host > 0 {
        rows.push(exact(text::HOST, estimate.host, text::COUNTS_HOST));
    }
    let fits = &estimate.fits;
    let verdict = ledger::verdict(fits.verdict).get(lang);
    let said = match fits.gpu {
        Some(gpu) => format!("{}{}{verdict}", gpu.name, text::COLON.get(lang)),
        None => verdict.to_owned(),
    };
    rows.push(line(text::CAPACITY, fits.capacity, String::new(), said));
    Section {
        heading: String::new(),
        columns: columns(
            lang,
            &[
                (text::TOTAL, Side::Left),
                (text::EXPECTED, Side::Right),
                (text::RANGE, Side::Right),
                (text::COUNTS, Side::Left),
            ],
        ),
        rows,
        note: String::new(),
    }
}

fn tensors(estimate: &Estimate, lang: Lang, units: Units) -> Section<'static> {
    let largest = Largest::of(estimate);
    let rows = largest
        .lines
        .iter()
        .map(|line| {
            let row = line.first();
            vec![
                size(line.at_peak(), units),
                line.name(),
                ledger::block(row.block).get(lang).to_owned(),
                row.dtype.word().to_owned(),
                line.formula(),
            ]
        })
        .collect();
    let mut notes = Vec::new();
    if largest.more > 0 {
        let values: [(&str, &dyn std::fmt::Display); 2] =
            [("count", &largest.more), ("size", &size(largest.more_bytes, units))];
        notes.push(text::AND_MORE.fill(lang, &values));
    }
    let symbols = symbols(estimate, lang);
    if !symbols.is_empty() {
        notes.push(symbols);
    }
    Section {
        heading: text::LARGEST_TENSORS.get(lang).to_owned(),
        columns: columns(
            lang,
            &[
                (text::SIZE, Side::Right),
                (text::TENSOR, Side::Left),
                (text::BLOCK, Side::Left),
                (text::DTYPE, Side::Left),
                (text::FORMULA, Side::Left),
            ],
        ),
        rows,
        note: notes.join("\n"),
    }
}

/// The numbers behind the formulas' symbols: `b = 4, s = 2048`; a rank's share says so: `a = 4 (1/8)`.
fn symbols(estimate: &Estimate, lang: Lang) -> String {
    let known = crate::ledger::Symbol::ALL.into_iter().filter_map(|symbol| {
        let value = estimate.symbols.get(symbol);
        let text = |ranks: Option<u16>| match ranks {
            Some(ranks) => text::SHARE_OF
                .fill(lang, &[("letter", &symbol.letter()), ("share", &value), ("ranks", &ranks)]),
            None => format!("{} = {value}", symbol.letter()),
        };
        (value > 0).then(|| text(estimate.symbols.ranks(symbol)))
    });
    known.collect::<Vec<_>>().join(", ")
}
