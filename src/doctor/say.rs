//! The doctor's findings in words.

use super::{Change, Reason};
use crate::config::{Key, Units};
use crate::text::{Lang, doctor as text, ledger};
use crate::units::size;

/// What some changes do: `Recompute every layer + Use 8-bit Adam`.
pub fn describe(changes: &[Change], lang: Lang) -> String {
    let names = changes.iter().map(|change| change.remedy.name.fill(lang, &[("value", &change.number)]));
    names.collect::<Vec<_>>().join(text::AND.get(lang))
}

/// The price of some changes: each one's words, and its time where measured.
pub fn price(changes: &[Change], lang: Lang) -> String {
    let mut said = Vec::new();
    for change in changes {
        said.push(change.remedy.cost.get(lang).to_owned());
        if let Some(slowdown) = change.slowdown() {
            said.push(text::SLOWDOWN.fill(lang, &[("low", &slowdown.low), ("high", &slowdown.high)]));
        }
    }
    said.join(text::SEMICOLON.get(lang))
}

/// Keys with their values as in a link: `recompute=full&batch=1`.
pub fn keys(settings: &[(Key, String)]) -> String {
    let pairs = settings.iter().map(|(key, value)| format!("{}={value}", key.word()));
    pairs.collect::<Vec<_>>().join("&")
}

/// Why a change saves nothing.
pub fn why(reason: &Reason, lang: Lang, units: Units) -> String {
    let shown = |bytes: &u64| size(*bytes, units);
    match reason {
        Reason::Unchanged => text::UNCHANGED.get(lang).to_owned(),
        Reason::NotAtPeak { row, size, moment } => {
            let values: [(&str, &dyn std::fmt::Display); 3] =
                [("row", row), ("size", &shown(size)), ("moment", &ledger::moment(*moment, lang))];
            text::NOT_AT_PEAK.fill(lang, &values)
        }
        Reason::Outweighed { freed, row, grown, other } => {
            let values: [(&str, &dyn std::fmt::Display); 4] =
                [("freed", &shown(freed)), ("row", row), ("grown", &shown(grown)), ("other", other)];
            text::OUTWEIGHED.fill(lang, &values)
        }
        Reason::Elsewhere { moment } => {
            text::ELSEWHERE.fill(lang, &[("moment", &ledger::moment(*moment, lang))])
        }
        Reason::OnlyGrows { grown, other } => {
            text::ONLY_GROWS.fill(lang, &[("grown", &shown(grown)), ("other", other)])
        }
    }
}
