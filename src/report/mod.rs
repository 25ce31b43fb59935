//! The answer as headline, table, JSON, CSV and Markdown.
//!
//! Pure functions from an estimate to text: the command line prints them, the page's export buttons save them.

mod csv;
mod headline;
mod json;
mod markdown;
mod sections;
mod table;

pub use csv::csv;
pub use headline::{Headline, headline};
pub use json::{json, json_line};
pub use markdown::markdown;
pub use table::table;

use crate::config::Problem;
use crate::estimate::Estimate;
use crate::ledger::Entry;
use crate::text::{Lang, report as text};

/// Puts what was found while reading the configuration before the estimate's own warnings, each once.
pub fn merge_warnings(estimate: &mut Estimate, reading: Vec<Problem>) {
    let own = std::mem::replace(&mut estimate.warnings, reading);
    for warning in own {
        if !estimate.warnings.contains(&warning) {
            estimate.warnings.push(warning);
        }
    }
}

/// `part` of `whole` with one decimal below 10 %, `26 %`, `0.4 %`, `53%` in Chinese.
pub fn share(part: u64, whole: u64, lang: Lang) -> String {
    let whole = u128::from(whole.max(1));
    let tenths = (u128::from(part) * 1000 + whole / 2) / whole;
    let number = match tenths {
        1..100 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => ((u128::from(part) * 100 + whole / 2) / whole).to_string(),
    };
    text::PERCENT.fill(lang, &[("number", &number)])
}

/// Rows that the short lists show.
const LISTED: usize = 12;

/// The largest rows alive at the peak, and how many more there are with how many bytes.
fn largest(estimate: &Estimate) -> (Vec<&Entry>, usize, u64) {
    let mut rows: Vec<&Entry> = estimate.ledger.iter().filter(|entry| entry.at_peak > 0).collect();
    rows.sort_by_key(|entry| std::cmp::Reverse(entry.at_peak));
    let rest = rows.split_off(rows.len().min(LISTED));
    (rows, rest.len(), rest.iter().map(|entry| entry.at_peak).sum())
}

#[cfg(test)]
mod example;

#[cfg(test)]
mod tests {
    use super::{example, largest, merge_warnings, share};
    use crate::config::{Problem, ProblemKind};
    use crate::text::{Lang, Text};

    #[test]
    fn shares_are_short_and_honest() {
        assert_eq!(share(53, 100, Lang::En), "53 %");
        assert_eq!(share(53, 100, Lang::Zh), "53%");
        assert_eq!(share(4, 1000, Lang::En), "0.4 %");
        assert_eq!(share(996, 10_000, Lang::En), "10 %");
        assert_eq!(share(0, 10, Lang::En), "0 %");
        assert_eq!(share(5, 0, Lang::En), "500 %");
        assert_eq!(share(u64::MAX, u64::MAX, Lang::En), "100 %");
    }

    #[test]
    fn warnings_are_said_once_and_those_of_reading_come_first() {
        let problem = |key: &str| Problem {
            key: key.to_owned(),
            value: "1".to_owned(),
            kind: ProblemKind::Note(Text::same("{key}")),
        };
        let mut estimate = example::estimate();
        estimate.warnings = vec![problem("tp"), problem("pp")];
        merge_warnings(&mut estimate, vec![problem("x"), problem("tp")]);
        let keys: Vec<&str> = estimate.warnings.iter().map(|warning| warning.key.as_str()).collect();
        assert_eq!(keys, ["x", "tp", "pp"]);
    }

    #[test]
    fn the_largest_rows_come_first_and_dead_ones_not_at_all() {
        let estimate = example::estimate();
        let (rows, rest, bytes) = largest(&estimate);
        assert!(rows.windows(2).all(|pair| pair[0].at_peak >= pair[1].at_peak));
        assert_eq!((rows.len(), rest, bytes), (3, 0, 0));
    }
}
