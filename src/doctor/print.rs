//! The doctor's answers for a terminal.

use super::{Comparison, Consultation, Largest, Need, Prescription, describe, keys, price, why};
use crate::config::Units;
use crate::estimate::Verdict;
use crate::report::{Section, Side, draw, headline};
use crate::sweep::MOST;
use crate::text::{Lang, Text, doctor as text, ledger, report};
use crate::units::{signed_size, size};

impl Consultation {
    /// What to change, as tables.
    pub fn table(&self, lang: Lang, units: Units) -> String {
        let said = headline(self.case.config(), self.case.estimate(), lang, units);
        let mut out = format!("{}\n{}\n", said.verdict, said.worst);
        self.cheapest(&mut out, lang, units);
        prescriptions(&mut out, text::SINGLES, self.examination.singles(), lang, units);
        prescriptions(&mut out, text::PAIRS, self.examination.pairs(), lang, units);
        let useless = self.examination.useless().iter().map(|useless| {
            vec![
                describe(&[useless.change], lang),
                keys(&useless.settings),
                why(&useless.reason, lang, units),
            ]
        });
        let columns = [(text::CHANGE, Side::Left), (text::KEYS, Side::Left), (text::WHY, Side::Left)];
        table(&mut out, text::USELESS, &columns, useless.collect(), lang);
        if !self.largest().is_empty() {
            out.push('\n');
        }
        for largest in self.largest() {
            out.push_str(&largest.table(lang));
        }
        let fewest = fewest(self.fleet.found(), lang, units);
        let columns = [(text::COUNT, Side::Right), (text::GPU, Side::Left), (text::LAYOUT, Side::Left)];
        table(&mut out, text::FEWEST, &columns, fewest, lang);
        out
    }

    fn cheapest(&self, out: &mut String, lang: Lang, units: Units) {
        if self.case.estimate().fits.verdict == Verdict::Yes {
            return line(out, text::FITS_NOW.get(lang));
        }
        let mut found: Vec<Prescription> = Vec::new();
        for set in [self.search.tight(), self.search.sure()].into_iter().flatten() {
            if !found.contains(set) {
                found.push(set.clone());
            }
        }
        if found.is_empty() {
            return line(out, &text::NOTHING_FITS.fill(lang, &[("most", &super::MOST_CHANGES)]));
        }
        prescriptions(out, text::CHEAPEST, &found, lang, units);
    }
}

fn line(out: &mut String, said: &str) {
    out.extend(["\n", said, "\n"]);
}

fn prescriptions(out: &mut String, heading: Text, found: &[Prescription], lang: Lang, units: Units) {
    let rows = found.iter().map(|found| {
        vec![
            signed_size(found.saved, units),
            signed_size(found.outcome.fits.spare, units),
            ledger::verdict(found.outcome.fits.verdict).get(lang).to_owned(),
            describe(&found.changes, lang),
            keys(&found.settings),
            price(&found.changes, lang),
        ]
    });
    let columns = [
        (text::SAVES, Side::Right),
        (text::SPARE, Side::Right),
        (text::THEN, Side::Left),
        (text::CHANGE, Side::Left),
        (text::KEYS, Side::Left),
        (text::PRICE, Side::Left),
    ];
    table(out, heading, &columns, rows.collect(), lang);
}

/// One row for each count and layout, with the smallest card for which it is enough.
fn fewest(found: &[Need], lang: Lang, units: Units) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<&Need>> = Vec::new();
    for need in found {
        let same = |other: &&Need| (other.gpus, &other.layout) == (need.gpus, &need.layout);
        match rows.iter_mut().find(|row| row.first().is_some_and(same)) {
            Some(row) => row.push(need),
            None => rows.push(vec![need]),
        }
    }
    let row = |row: Vec<&Need>| {
        let smallest = row.iter().min_by_key(|need| need.gpu.usable())?;
        let mut card = format!("{} ({})", smallest.gpu.name, size(smallest.gpu.usable(), units));
        if row.len() > 1 {
            let others = if row.len() == 2 { text::AND_ONE_AS_LARGE } else { text::AND_LARGER };
            card = others.fill(lang, &[("card", &card), ("count", &(row.len() - 1))]);
        }
        let layout = keys(&smallest.layout);
        let layout = if layout.is_empty() { text::AS_IT_IS.get(lang).to_owned() } else { layout };
        Some(vec![smallest.gpus.to_string(), card, layout])
    };
    rows.into_iter().filter_map(row).collect()
}

fn table(out: &mut String, heading: Text, columns: &[(Text, Side)], rows: Vec<Vec<String>>, lang: Lang) {
    if rows.is_empty() {
        return;
    }
    let columns = columns.iter().map(|(text, side)| (text.get(lang), *side)).collect();
    out.push('\n');
    draw(out, &Section { heading: heading.get(lang).to_owned(), columns, rows, note: String::new() });
}

impl Largest {
    /// The values in a sentence.
    pub fn table(&self, lang: Lang) -> String {
        let shown = |value: Option<u64>| match value {
            None => text::NONE.get(lang).to_owned(),
            Some(MOST) => text::ANY.get(lang).to_owned(),
            Some(value) => value.to_string(),
        };
        let name = self.variable.name.get(lang);
        let mut out = text::LARGEST.fill(lang, &[("key", &name), ("value", &shown(self.sure))]);
        if self.tight != self.sure {
            out.push_str(text::SEMICOLON.get(lang));
            out.push_str(&text::LARGEST_TIGHT.fill(lang, &[("value", &shown(self.tight))]));
        }
        out.push('\n');
        out
    }
}

/// Rows of a comparison that are shown one by one.
const ROWS: usize = 24;

impl Comparison {
    /// Both answers, the keys that differ, and the rows that do.
    pub fn table(&self, lang: Lang, units: Units) -> String {
        let mut out = String::new();
        for (name, case) in [(text::BEFORE, &self.before), (text::AFTER, &self.after)] {
            let said = headline(case.config(), case.estimate(), lang, units);
            out.extend([name.get(lang), report::COLON.get(lang), &said.verdict, "\n"]);
        }
        let value = |value: String| if value.is_empty() { text::DEFAULT.get(lang).to_owned() } else { value };
        let differ = self
            .keys()
            .into_iter()
            .map(|(key, before, after)| vec![key.word().to_owned(), value(before), value(after)]);
        let columns = [(text::KEYS, Side::Left), (text::BEFORE, Side::Left), (text::AFTER, Side::Left)];
        table(&mut out, text::DIFFERS, &columns, differ.collect(), lang);
        let rows = self.rows();
        let cells = |name: String, block: &str, before: u64, after: u64| {
            let difference = super::compare::difference(before, after);
            let sign = if difference > 0 { "+" } else { "" };
            let difference = format!("{sign}{}", signed_size(difference, units));
            vec![difference, size(before, units), size(after, units), name, block.to_owned()]
        };
        let shown = rows.iter().take(ROWS);
        let mut lines: Vec<_> = shown
            .map(|row| cells(row.name.clone(), ledger::block(row.block).get(lang), row.before, row.after))
            .collect();
        let rest = rows.get(ROWS..).unwrap_or_default();
        if !rest.is_empty() {
            let sum =
                |of: fn(&super::Row) -> u64| rest.iter().fold(0_u64, |sum, row| sum.saturating_add(of(row)));
            let name = text::MORE_ROWS.fill(lang, &[("count", &rest.len())]);
            lines.push(cells(name, "", sum(|row| row.before), sum(|row| row.after)));
        }
        let (before, after) = (self.before.estimate().peak.bytes, self.after.estimate().peak.bytes);
        lines.push(cells(text::PEAK.get(lang).to_owned(), "", before, after));
        let columns = [
            (text::DIFFERENCE, Side::Right),
            (text::BEFORE, Side::Right),
            (text::AFTER, Side::Right),
            (report::TENSOR, Side::Left),
            (report::BLOCK, Side::Left),
        ];
        table(&mut out, text::ROWS, &columns, lines, lang);
        out
    }
}
