//! Why a change saves nothing: read off the difference of two ledgers.

use super::compare::{Row, compare};
use crate::estimate::Estimate;
use crate::timeline::Moment;

/// What the ledgers say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No row is smaller.
    Unchanged,
    /// Rows are smaller, but not at the worst instant.
    NotAtPeak {
        /// The row that shrinks most.
        row: String,
        /// By how much (bytes).
        size: u64,
        /// The worst instant.
        moment: Moment,
    },
    /// At the worst instant others grow as much.
    Outweighed {
        /// Bytes freed.
        freed: u64,
        /// The row that frees most.
        row: String,
        /// Bytes added.
        grown: u64,
        /// The row that adds most.
        other: String,
    },
    /// Another instant becomes the worst.
    Elsewhere {
        /// Which.
        moment: Moment,
    },
    /// It only adds.
    OnlyGrows {
        /// Bytes added.
        grown: u64,
        /// The row that adds most.
        other: String,
    },
}

impl Reason {
    /// Why `after` needs no less than `before`.
    pub fn of(before: &Estimate, after: &Estimate) -> Self {
        let rows = compare(before, after);
        let freed = Side::of(&rows, |row| row.before.saturating_sub(row.after));
        let grown = Side::of(&rows, |row| row.after.saturating_sub(row.before));
        let smaller = Side::of(&rows, |row| row.whole_before.saturating_sub(row.whole_after));
        let moment = after.peak.moment;
        match (freed.sum, grown.sum) {
            (0, 0) if smaller.sum == 0 => Self::Unchanged,
            (0, 0) => Self::NotAtPeak { row: smaller.most, size: smaller.largest, moment },
            (0, added) => Self::OnlyGrows { grown: added, other: grown.most },
            _ if moment != before.peak.moment && smaller.sum > 0 => Self::Elsewhere { moment },
            (sum, added) => Self::Outweighed { freed: sum, row: freed.most, grown: added, other: grown.most },
        }
    }
}

/// The rows that change one way: together, and the first among them.
struct Side {
    sum: u64,
    most: String,
    largest: u64,
}

impl Side {
    fn of(rows: &[Row], by: fn(&Row) -> u64) -> Self {
        let most = rows.iter().filter(|row| by(row) > 0).max_by_key(|row| by(row));
        Self {
            sum: rows.iter().fold(0, |sum, row| sum.saturating_add(by(row))),
            largest: most.map_or(0, by),
            most: most.map_or_else(String::new, |row| row.name.clone()),
        }
    }
}
