//! Two answers, ledger against ledger: what grew and what shrank.

use super::Case;
use crate::config::{Config, Key, Problem, Section};
use crate::estimate::{Estimate, Reserve};
use crate::ledger::{Block, Entry, Group};
use crate::text::tensors;

/// One row of either ledger (or of both), as bytes alive at each one's worst instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `module.tensor`.
    pub name: String,
    /// Block of the figure.
    pub block: Block,
    /// Part of the model.
    pub group: Group,
    /// At the peak of the first (bytes).
    pub before: u64,
    /// At the peak of the second (bytes).
    pub after: u64,
    /// Over the whole step, of the first (bytes).
    pub whole_before: u64,
    /// Over the whole step, of the second (bytes).
    pub whole_after: u64,
}

impl Row {
    /// How much more the second holds at its peak (bytes).
    pub fn grown(&self) -> i64 {
        difference(self.before, self.after)
    }

    fn is(&self, entry: &Entry, name: &str) -> bool {
        self.block == entry.block && self.group == entry.group && self.name == name
    }
}

/// Two configurations and their answers.
#[derive(Debug)]
pub struct Comparison {
    /// The first.
    pub before: Case,
    /// The second.
    pub after: Case,
}

impl Comparison {
    /// Estimates both.
    ///
    /// # Errors
    /// As for [`Case::of`], of whichever cannot be estimated.
    pub fn of(before: &Config, after: &Config, reserve: Reserve) -> Result<Self, Vec<Problem>> {
        Ok(Self { before: Case::of(before, reserve)?, after: Case::of(after, reserve)? })
    }

    /// The keys that differ (those of the page left out), with the values in both; empty: the default.
    pub fn keys(&self) -> Vec<(Key, String, String)> {
        let (before, after) = (self.before.config(), self.after.config());
        let keys = before.changes(after).into_iter().filter(|(key, _)| key.section() != Section::Page);
        keys.map(|(key, value)| (key, before.get(key.word()), value)).collect()
    }

    /// The rows that differ at the peak.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = compare(self.before.estimate(), self.after.estimate());
        rows.retain(|row| row.grown() != 0);
        rows
    }
}

/// `after` minus `before`, as a size that can be shown.
pub(super) fn difference(before: u64, after: u64) -> i64 {
    let difference = i128::from(after) - i128::from(before);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// Every row that differs, at the peak or elsewhere: the largest change at the peak first. Their growth sums to the
/// difference of the peaks. (Library workspaces are no tensors of the step, so that the peak leaves them out.)
pub fn compare(before: &Estimate, after: &Estimate) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |entry: &Entry, second: bool| {
        let name = entry.name();
        let index = rows.iter().position(|row| row.is(entry, &name)).unwrap_or_else(|| {
            let (block, group) = (entry.block, entry.group);
            rows.push(Row { name, block, group, before: 0, after: 0, whole_before: 0, whole_after: 0 });
            rows.len() - 1
        });
        let Some(row) = rows.get_mut(index) else { return };
        let (at_peak, whole) = if second {
            (&mut row.after, &mut row.whole_after)
        } else {
            (&mut row.before, &mut row.whole_before)
        };
        *at_peak = at_peak.saturating_add(entry.at_peak);
        *whole = whole.saturating_add(entry.bytes);
    };
    let tensors = |entry: &&Entry| *entry.tensor != tensors::WORKSPACE;
    before.ledger.iter().filter(tensors).for_each(|entry| add(entry, false));
    after.ledger.iter().filter(tensors).for_each(|entry| add(entry, true));
    rows.retain(|row| row.before != row.after || row.whole_before != row.whole_after);
    let whole = |row: &Row| difference(row.whole_before, row.whole_after).unsigned_abs();
    rows.sort_by_key(|row| std::cmp::Reverse((row.grown().unsigned_abs(), whole(row))));
    rows
}
