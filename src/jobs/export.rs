//! The report as a file.

use crate::config::{Config, Problem, Units};
use crate::estimate::refined;
use crate::export::{self, Kind};
use crate::report::{self, merge_warnings};
use crate::text::{Lang, export as words};
use serde_json::json;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line for each tensor.
    Csv,
    /// Everything, as the contract names it.
    Json,
    /// Tables for a document.
    Markdown,
}

impl Format {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Csv, Self::Json, Self::Markdown];

    /// The ending of the file's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Markdown => "md",
        }
    }

    /// The kind with this ending.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }
}

/// The file's content; the problems, one a line, where the configuration has no answer.
pub(super) fn export(format: Format, lang: Lang, units: Units, link: &str) -> String {
    let read = Config::from_link(link);
    let usable = read.config.checked();
    let mut answer = match refined(&usable.config) {
        Ok(answer) => answer,
        Err(problems) => return lines(&problems, lang),
    };
    merge_warnings(&mut answer, usable.problems);
    match format {
        Format::Csv => report::csv(&answer, lang),
        Format::Json => report::json(&answer, lang),
        Format::Markdown => report::markdown(&read.config, &answer, lang, units),
    }
}

/// The file of another program.
pub(super) fn write(kind: Kind, lang: Lang, link: &str) -> String {
    let usable = Config::from_link(link).config.checked().config;
    let written = export::write(kind, &usable);
    let left_out: Vec<_> = written.left_out.iter().map(|one| words::left_out(one, lang)).collect();
    json!({ "text": written.text, "left_out": left_out }).to_string()
}

fn lines(problems: &[Problem], lang: Lang) -> String {
    problems.iter().map(|problem| problem.message(lang) + "\n").collect()
}
