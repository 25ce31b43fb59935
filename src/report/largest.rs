//! The ledger's largest rows, for the short lists: rows of one kind and size are shown as one.

use crate::estimate::Estimate;
use crate::ledger::Entry;

/// Lines that the short lists show.
const LISTED: usize = 12;

/// Rows of one kind (same tensor, block, dtype) and one size.
pub(super) struct Line<'a> {
    pub(super) rows: Vec<&'a Entry>,
}

/// The largest lines alive at the peak.
pub(super) struct Largest<'a> {
    /// Largest first.
    pub(super) lines: Vec<Line<'a>>,
    /// Rows that are in no line.
    pub(super) more: usize,
    /// Their bytes at the peak.
    pub(super) more_bytes: u64,
}

impl<'a> Largest<'a> {
    pub(super) fn of(estimate: &'a Estimate) -> Self {
        let mut lines: Vec<Line<'a>> = Vec::new();
        for row in estimate.ledger.iter().filter(|row| row.at_peak > 0) {
            match lines.iter_mut().find(|line| line.takes(row)) {
                Some(line) => line.rows.push(row),
                None => lines.push(Line { rows: vec![row] }),
            }
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.at_peak()));
        let rest = lines.split_off(lines.len().min(LISTED));
        let more = rest.iter().map(|line| line.rows.len()).sum();
        let more_bytes = rest.iter().map(Line::at_peak).sum();
        Self { lines, more, more_bytes }
    }
}

impl Line<'_> {
    fn takes(&self, row: &Entry) -> bool {
        self.rows.iter().all(|mine| {
            mine.tensor == row.tensor
                && (mine.block, mine.group, mine.dtype) == (row.block, row.group, row.dtype)
                && (mine.count, mine.bytes, mine.at_peak) == (row.count, row.bytes, row.at_peak)
        })
    }

    /// The row that stands for all.
    pub(super) fn first(&self) -> &Entry {
        self.rows[0]
    }

    /// Bytes at the peak of all rows.
    pub(super) fn at_peak(&self) -> u64 {
        self.rows.iter().map(|row| row.at_peak).sum()
    }

    /// The names with what they share written once, as a shell would: `mlp.{gate,up}_proj.weight`.
    pub(super) fn name(&self) -> String {
        let names: Vec<String> = self.rows.iter().map(|row| row.name()).collect();
        match names.as_slice() {
            [one] => one.clone(),
            names => braces(names),
        }
    }

    /// The formula of what is alive of one row, and how many rows there are: `3 × 31 · f·h · 2 B`.
    pub(super) fn formula(&self) -> String {
        let row = self.first();
        let alive = row.at_peak / (row.bytes / row.count.max(1)).max(1);
        let formula = row.shape.formula(alive, row.dtype, None);
        match self.rows.len() {
            1 => formula,
            many => format!("{many} × {formula}"),
        }
    }
}

/// Names are ASCII module paths, so bytes are characters.
fn braces(names: &[String]) -> String {
    let shortest = names.iter().map(String::len).min().unwrap_or(0);
    let same = |at: &dyn Fn(&str) -> Option<u8>| names.iter().all(|name| at(name) == at(&names[0]));
    let prefix = (0..shortest).take_while(|&i| same(&|name| name.as_bytes().get(i).copied())).count();
    let suffix = (0..shortest - prefix).take_while(|&i| same(&|name| name.bytes().rev().nth(i))).count();
    let middle: Vec<&str> = names.iter().filter_map(|name| name.get(prefix..name.len() - suffix)).collect();
    let (first, last) = (&names[0][..prefix], &names[0][names[0].len() - suffix..]);
    format!("{first}{{{}}}{last}", middle.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn the_largest_come_first_and_dead_rows_not_at_all() {
        let estimate = example::estimate();
        let largest = Largest::of(&estimate);
        let sizes: Vec<u64> = largest.lines.iter().map(|line| line.at_peak() >> 30).collect();
        assert_eq!((sizes, largest.more, largest.more_bytes), (vec![30, 15, 10], 0, 0));
    }

    #[test]
    fn rows_of_one_kind_and_size_are_one_line() {
        let mut estimate = example::estimate();
        let mut twin = estimate.ledger[0].clone();
        twin.module = "self_attn.k_proj";
        estimate.ledger.push(twin);
        let largest = Largest::of(&estimate);
        let line = largest.lines.iter().find(|line| line.rows.len() == 2).unwrap();
        assert_eq!(line.name(), "self_attn.{q,k}_proj.weight");
        assert_eq!(line.formula(), "2 × 32 · b·s·h · 2 B");
        assert_eq!(line.at_peak(), 30 << 30);
        let mut half = estimate.ledger[0].clone();
        half.at_peak /= 2;
        assert_eq!(Line { rows: vec![&half] }.formula(), "16 · b·s·h · 2 B");
    }

    #[test]
    fn names_share_what_they_can() {
        let braced = |names: &[&str]| braces(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(braced(&["a.w", "b.w"]), "{a,b}.w");
        assert_eq!(braced(&["lm_head", "lm_head"]), "lm_head{,}");
        assert_eq!(braced(&["norm", "norm.x"]), "norm{,.x}");
        assert_eq!(braced(&["aa", "aaa"]), "aa{,a}");
        assert_eq!(braced(&["", "x"]), "{,x}");
    }
}
