//! The answer as headline, table, JSON, CSV and Markdown.
//!
//! Pure functions from an estimate to text: the command line prints them, the page's export buttons save them.

mod csv;
mod headline;
mod json;
mod largest;
mod markdown;
mod sections;
mod table;

pub use csv::csv;
pub use headline::{Headline, headline};
pub(crate) use json::verdict;
pub use json::{json, json_line};
pub use markdown::markdown;
pub(crate) use sections::{Section, Side};
pub(crate) use table::draw;
pub use table::table;

use crate::config::Problem;
use crate::estimate::Estimate;
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

/// `part` of `whole` with one decimal below 10 %: `26 %`, `0.4 %`, `<0.1 %`; `53%` in Chinese.
pub fn share(part: u64, whole: u64, lang: Lang) -> String {
    let whole = u128::from(whole.max(1));
    let tenths = (u128::from(part) * 1000 + whole / 2) / whole;
    let number = match tenths {
        0 if part > 0 => "<0.1".to_owned(),
        1..100 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => ((u128::from(part) * 100 + whole / 2) / whole).to_string(),
    };
    text::PERCENT.fill(lang, &[("number", &number)])
}

#[cfg(test)]
mod example;

#[cfg(test)]
mod tests {
    use super::{example, merge_warnings, share};
    use crate::config::{Problem, ProblemKind};
    use crate::text::{Lang, Text};

    #[test]
    fn shares_are_short_and_honest() {
        assert_eq!(share(53, 100, Lang::En), "53 %");
        assert_eq!(share(53, 100, Lang::Zh), "53%");
        assert_eq!(share(4, 1000, Lang::En), "0.4 %");
        assert_eq!(share(996, 10_000, Lang::En), "10 %");
        assert_eq!(share(0, 10, Lang::En), "0 %");
        assert_eq!(share(1, 1 << 40, Lang::Zh), "<0.1%");
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
}
