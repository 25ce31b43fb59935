//! The report as Markdown, to paste into an issue or a document.

use super::headline;
use super::sections::{Section, Side, sections};
use crate::config::{Config, Units};
use crate::estimate::Estimate;
use crate::text::{Lang, report as text};

/// Headline, blocks, totals, the largest tensors, and the warnings.
pub fn markdown(config: &Config, estimate: &Estimate, lang: Lang, units: Units) -> String {
    let said = headline(config, estimate, lang, units);
    let mut out = String::new();
    out.extend(["**", &said.verdict, "**\n\n", &said.worst, "\n"]);
    for section in sections(estimate, lang, units) {
        out.push('\n');
        draw(&mut out, &section);
    }
    if !estimate.warnings.is_empty() {
        out.extend(["\n", text::WARNINGS.get(lang), "\n\n"]);
        for warning in &estimate.warnings {
            out.extend(["- ", &escape(&warning.message(lang)), "\n"]);
        }
    }
    out
}

fn draw(out: &mut String, section: &Section) {
    if !section.heading.is_empty() {
        out.extend([&section.heading, "\n\n"]);
    }
    for (name, _) in &section.columns {
        out.extend(["| ", name, " "]);
    }
    out.push_str("|\n");
    for (_, side) in &section.columns {
        out.push_str(match side {
            Side::Left => "| :-- ",
            Side::Right => "| --: ",
        });
    }
    out.push_str("|\n");
    for row in &section.rows {
        for cell in row {
            out.extend(["| ", &escape(cell), " "]);
        }
        out.push_str("|\n");
    }
    if !section.note.is_empty() {
        out.extend(["\n", &section.note.replace('\n', "<br>\n"), "\n"]);
    }
}

/// Shows `text` as it is: nothing in it ends a cell, starts markup, or breaks the line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '<' | '[' | ']' | '~' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Problem, ProblemKind};
    use crate::report::example;
    use crate::text::Text;

    #[test]
    fn rows_have_as_many_cells_as_the_head() {
        let text = markdown(&Config::default(), &example::estimate(), Lang::En, Units::Gib);
        assert!(text.starts_with("**Peak 57 GiB on one GPU: fits an A100 80 GB, 23 GiB to spare**\n\n"));
        assert!(text.contains("\n| Activations | 30 GiB | 55 % | 30 GiB |\n"), "{text}");
        assert!(text.contains("\n- tp=2 is not yet taken into account\n"), "{text}");
        for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
            let bars: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
            assert!(bars.iter().all(|count| *count == bars[0]), "{table}");
        }
    }

    #[test]
    fn what_was_typed_cannot_become_markup() {
        let mut estimate = example::estimate();
        estimate.warnings = vec![Problem {
            key: "<img src=x>|`\n# a".to_owned(),
            value: String::new(),
            kind: ProblemKind::Note(Text::same("{key}")),
        }];
        let text = markdown(&Config::default(), &estimate, Lang::En, Units::Gib);
        assert!(text.ends_with("\n- \\<img src=x>\\|\\` # a\n"), "{text}");
    }
}
