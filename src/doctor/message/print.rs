//! A diagnosis for a terminal.

use super::Diagnosis;
use super::sheet::{Part, sheet};
use crate::config::Units;
use crate::report::{Section, Side, draw};
use crate::text::Lang;

/// What was understood, what it means and, `beside` a configuration, which tensor it was.
pub fn print(diagnosis: &Diagnosis, beside: bool, lang: Lang, units: Units) -> String {
    let mut out = String::new();
    for part in sheet(diagnosis, beside, lang, units) {
        if !out.is_empty() {
            out.push('\n');
        }
        if !part.heading.is_empty() {
            out.extend([&part.heading, "\n"]);
        }
        facts(&mut out, &part);
        // Under a table's heading the sentences are its lead; elsewhere each is a point of its own.
        let mark = if part.rows.is_empty() && part.sentences.len() > 1 { "- " } else { "" };
        for sentence in &part.sentences {
            out.extend([mark, sentence, "\n"]);
        }
        if !part.sentences.is_empty() && !part.rows.is_empty() {
            out.push('\n');
        }
        table(&mut out, &part);
    }
    out
}

/// Labels and values in two columns.
fn facts(out: &mut String, part: &Part) {
    if part.facts.is_empty() {
        return;
    }
    let rows = part.facts.iter().map(|(label, value)| vec![format!("  {label}"), value.clone()]).collect();
    let columns = vec![("", Side::Left), ("", Side::Left)];
    let mut drawn = String::new();
    draw(&mut drawn, &Section { heading: String::new(), columns, rows, note: String::new() });
    // Columns without names have an empty first line.
    out.push_str(drawn.trim_start_matches('\n'));
}

fn table(out: &mut String, part: &Part) {
    if part.rows.is_empty() {
        return;
    }
    let side = |number: &bool| if *number { Side::Right } else { Side::Left };
    let columns = part.columns.iter().map(|(name, number)| (name.as_str(), side(number))).collect();
    draw(out, &Section { heading: String::new(), columns, rows: part.rows.clone(), note: String::new() });
}
