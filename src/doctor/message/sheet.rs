//! A diagnosis as headings, facts, sentences and tables: what the terminal prints and the page shows.

use super::allocator::Rounding;
use super::say::{asked_in, facts, finding, fit, formula, likeliest};
use super::{Candidate, Diagnosis, Failure, Message, Reading};
use crate::config::Units;
use crate::text::{Lang, Text, oom as text, report};
use crate::units::size;

/// One heading and what stands below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Part {
    /// The heading.
    pub heading: String,
    /// Labels and values.
    pub facts: Vec<(String, String)>,
    /// Sentences, one below the other.
    pub sentences: Vec<String>,
    /// Names of the table's columns, and whether its cells are numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells, as many in each row as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Failures beside the main one that are told, and reports.
const OTHERS: usize = 12;

/// What was understood, what it means and, `beside` a configuration, which tensor it was.
pub fn sheet(diagnosis: &Diagnosis, beside: bool, lang: Lang, units: Units) -> Vec<Part> {
    let message = &diagnosis.message;
    if message.is_empty() {
        return vec![Part { sentences: vec![text::NOTHING.get(lang).to_owned()], ..Part::default() }];
    }
    let mut parts = understood(message, lang, units);
    if !diagnosis.findings.is_empty() {
        let sentences = diagnosis.findings.iter().map(|found| finding(found, lang, units)).collect();
        parts.push(Part { sentences, ..headed(text::MEANS, lang) });
    }
    if let Some(failure) = message.main().filter(|failure| failure.asked.is_some() && failure.on_card()) {
        parts.push(which(failure, &diagnosis.candidates, beside, lang, units));
    }
    parts
}

fn headed(heading: Text, lang: Lang) -> Part {
    Part { heading: heading.get(lang).to_owned(), ..Part::default() }
}

fn listed(heading: Text, lang: Lang, facts: impl Iterator<Item = (String, String)>) -> Option<Part> {
    let facts: Vec<_> = facts.collect();
    (!facts.is_empty()).then(|| Part { facts, ..headed(heading, lang) })
}

/// What the text says, without what it means.
fn understood(message: &Message, lang: Lang, units: Units) -> Vec<Part> {
    let main = message.main();
    let told = |failure: &Failure| {
        facts(failure, lang, units).into_iter().map(|(label, value)| (label.to_owned(), value))
    };
    let first = main.and_then(|failure| listed(text::UNDERSTOOD, lang, told(failure)));
    let others: Vec<String> = message
        .failures
        .iter()
        .filter(|failure| Some(*failure) != main)
        .take(OTHERS)
        .map(|failure| {
            let facts: Vec<String> = told(failure).map(|(label, value)| format!("{label} {value}")).collect();
            facts.join(if lang == Lang::Zh { "；" } else { "; " })
        })
        .collect();
    let others =
        (!others.is_empty()).then(|| Part { sentences: others, ..headed(text::MORE_FAILURES, lang) });
    let settings = message.settings.iter().map(|it| (it.key.word().to_owned(), it.value.clone()));
    let cards = message.cards.iter().map(|card| {
        (
            format!("GPU {}", card.index),
            format!("{} / {}", size(card.used, units), size(card.capacity, units)),
        )
    });
    let buffers = message
        .buffers
        .iter()
        .map(|buffer| (size(buffer.size.bytes, units), format!("{}  {}", buffer.shape, buffer.operator)));
    let parts = [
        first,
        others,
        listed(text::SETTINGS, lang, settings),
        readings(&message.readings, lang, units),
        listed(text::CARDS, lang, cards),
        listed(text::BUFFERS, lang, buffers),
    ];
    parts.into_iter().flatten().collect()
}

fn readings(readings: &[Reading], lang: Lang, units: Units) -> Option<Part> {
    let told = &readings[readings.len().saturating_sub(OTHERS)..];
    let cell = |amount: Option<super::Amount>| amount.map(|it| size(it.bytes, units)).unwrap_or_default();
    let row = |reading: &Reading| {
        let rank = reading.rank.map(|rank| format!(" [rank {rank}]")).unwrap_or_default();
        vec![
            format!("{}{rank} {}", reading.source.name(), reading.moment),
            cell(reading.allocated),
            cell(reading.max_allocated),
            cell(reading.reserved),
            cell(reading.max_reserved),
        ]
    };
    let numbers = ["allocated", "max allocated", "reserved", "max reserved"];
    let mut columns = vec![(text::REPORTED.get(lang).to_owned(), false)];
    columns.extend(numbers.map(|name| (name.to_owned(), true)));
    let rows: Vec<_> = told.iter().map(row).collect();
    (!rows.is_empty()).then(|| Part { columns, rows, ..headed(text::READINGS, lang) })
}

/// The candidates: the likeliest in words, all in a table.
fn which(failure: &Failure, candidates: &[Candidate], beside: bool, lang: Lang, units: Units) -> Part {
    let part = headed(text::WHICH, lang);
    let Some(first) = candidates.first() else {
        let sentence = if beside { text::NONE_FITS } else { text::NAME_THE_RUN };
        return Part { sentences: vec![sentence.get(lang).to_owned()], ..part };
    };
    let vague = failure.asked.filter(|asked| Rounding::of(failure, *asked).is_vague(*asked));
    let sentences = match vague {
        Some(asked) => vec![text::VAGUE.fill(lang, &[("size", &size(asked.bytes, units))])],
        None => likeliest(first, lang, units),
    };
    let row = |candidate: &Candidate| {
        vec![
            fit(candidate.fit, lang),
            size(candidate.bytes, units),
            name(candidate),
            asked_in(candidate, lang).to_owned(),
            candidate.entry.count.to_string(),
            candidate.entry.dtype.word().to_owned(),
            formula(candidate),
        ]
    };
    let columns = [
        (text::FIT, false),
        (report::SIZE, true),
        (report::TENSOR, false),
        (text::IN, false),
        (text::COUNT, true),
        (report::DTYPE, false),
        (report::FORMULA, false),
    ];
    let columns = columns.map(|(name, number)| (name.get(lang).to_owned(), number)).to_vec();
    Part { sentences, columns, rows: candidates.iter().map(row).collect(), ..part }
}

/// The tensor's name, and how many modules have one like it.
fn name(candidate: &Candidate) -> String {
    let name = candidate.entry.name();
    match candidate.alike.len() {
        0 => name,
        others => format!("{name} (+{others})"),
    }
}
