//! A diagnosis for a terminal.

use super::allocator::Rounding;
use super::say::{facts, finding, fit, formula, likeliest};
use super::{Candidate, Diagnosis, Failure, Reading};
use crate::config::Units;
use crate::report::{Section, Side, draw};
use crate::text::{Lang, Text, ledger, oom as text, report};
use crate::units::size;

/// What was understood, what it means and, `beside` a configuration, which tensor it was.
pub fn print(diagnosis: &Diagnosis, beside: bool, lang: Lang, units: Units) -> String {
    let message = &diagnosis.message;
    if message.is_empty() {
        return format!("{}\n", text::NOTHING.get(lang));
    }
    let mut out = String::new();
    let main = message.main();
    if let Some(failure) = main {
        list(&mut out, text::UNDERSTOOD, facts(failure, lang, units), lang);
    }
    let others: Vec<&Failure> =
        message.failures.iter().filter(|failure| Some(*failure) != main).take(OTHERS).collect();
    if !others.is_empty() {
        heading(&mut out, text::MORE_FAILURES, lang);
        for other in others {
            let facts: Vec<String> =
                facts(other, lang, units).iter().map(|(label, value)| format!("{label} {value}")).collect();
            out.extend(["- ", &facts.join(if lang == Lang::Zh { "；" } else { "; " }), "\n"]);
        }
    }
    let settings: Vec<_> =
        message.settings.iter().map(|setting| (setting.key.word(), setting.value.clone())).collect();
    list(&mut out, text::SETTINGS, settings, lang);
    readings(&mut out, &message.readings, lang, units);
    let cards = message.cards.iter().map(|card| {
        let held = format!("{} / {}", size(card.used, units), size(card.capacity, units));
        ("GPU", format!("{}: {held}", card.index))
    });
    list(&mut out, text::CARDS, cards.collect(), lang);
    let buffers = message.buffers.iter().map(|buffer| {
        ("", format!("{}  {}  {}", size(buffer.size.bytes, units), buffer.shape, buffer.operator))
    });
    list(&mut out, text::BUFFERS, buffers.collect(), lang);
    if !diagnosis.findings.is_empty() {
        heading(&mut out, text::MEANS, lang);
        for found in &diagnosis.findings {
            out.extend(["- ", &finding(found, lang, units), "\n"]);
        }
    }
    if let Some(failure) = main.filter(|failure| failure.asked.is_some()) {
        which(&mut out, failure, &diagnosis.candidates, beside, lang, units);
    }
    out
}

/// Failures beside the main one that are told, and reports.
const OTHERS: usize = 12;

fn heading(out: &mut String, heading: Text, lang: Lang) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.extend([heading.get(lang), "\n"]);
}

/// Labels and values in two columns.
fn list(out: &mut String, title: Text, rows: Vec<(&'static str, String)>, lang: Lang) {
    if rows.is_empty() {
        return;
    }
    heading(out, title, lang);
    let rows = rows.into_iter().map(|(label, value)| vec![format!("  {label}"), value]).collect();
    let columns = vec![("", Side::Left), ("", Side::Left)];
    let start = out.len();
    draw(out, &Section { heading: String::new(), columns, rows, note: String::new() });
    // Columns without names have an empty first line.
    if out[start..].starts_with('\n') {
        out.remove(start);
    }
}

fn readings(out: &mut String, readings: &[Reading], lang: Lang, units: Units) {
    if readings.is_empty() {
        return;
    }
    heading(out, text::READINGS, lang);
    let told = &readings[readings.len().saturating_sub(OTHERS)..];
    let cell = |amount: Option<super::Amount>| amount.map(|it| size(it.bytes, units)).unwrap_or_default();
    let row = |reading: &Reading| {
        let rank = reading.rank.map(|rank| format!(" [rank {rank}]")).unwrap_or_default();
        vec![
            format!("  {}{rank} {}", reading.source.name(), reading.moment),
            cell(reading.allocated),
            cell(reading.max_allocated),
            cell(reading.reserved),
            cell(reading.max_reserved),
        ]
    };
    let rows = told.iter().map(row).collect();
    let columns = vec![
        ("", Side::Left),
        ("allocated", Side::Right),
        ("max allocated", Side::Right),
        ("reserved", Side::Right),
        ("max reserved", Side::Right),
    ];
    draw(out, &Section { heading: String::new(), columns, rows, note: String::new() });
}

/// The tensor's name, and how many modules have one like it.
fn name(candidate: &Candidate) -> String {
    let name = candidate.entry.name();
    match candidate.alike.len() {
        0 => name,
        others => format!("{name} (+{others})"),
    }
}

/// The candidates: the likeliest in words, all in a table.
fn which(
    out: &mut String,
    failure: &Failure,
    candidates: &[Candidate],
    beside: bool,
    lang: Lang,
    units: Units,
) {
    heading(out, text::WHICH, lang);
    let Some(first) = candidates.first() else {
        let sentence = if beside { text::NONE_FITS } else { text::NAME_THE_RUN };
        out.extend([sentence.get(lang), "\n"]);
        return;
    };
    if let Some(asked) = failure.asked.filter(|asked| Rounding::of(failure, *asked).is_vague(*asked)) {
        out.extend([&text::VAGUE.fill(lang, &[("size", &size(asked.bytes, units))]), "\n"]);
    } else {
        for sentence in likeliest(first, lang, units) {
            out.extend([&sentence, "\n"]);
        }
    }
    let row = |candidate: &Candidate| {
        vec![
            fit(candidate.fit, lang),
            size(candidate.bytes, units),
            name(candidate),
            ledger::phase(candidate.entry.from).get(lang).to_owned(),
            candidate.entry.count.to_string(),
            candidate.entry.dtype.word().to_owned(),
            formula(candidate),
        ]
    };
    let columns = [
        (text::FIT, Side::Left),
        (report::SIZE, Side::Right),
        (report::TENSOR, Side::Left),
        (text::IN, Side::Left),
        (text::COUNT, Side::Right),
        (report::DTYPE, Side::Left),
        (report::FORMULA, Side::Left),
    ];
    let columns = columns.map(|(name, side)| (name.get(lang), side)).to_vec();
    let rows = candidates.iter().map(row).collect();
    out.push('\n');
    draw(out, &Section { heading: String::new(), columns, rows, note: String::new() });
}
