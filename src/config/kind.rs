//! What a key accepts, and how its value is read from text and written back.
//!
//! The one typed form between link, JSON, command line and page is a [`Value`]: a word, a whole number, a fraction, a
//! flag, or nested JSON. Reading always starts from text, so `"4"` and `4` in a JSON file mean the same.

use serde_json::Value;

use super::{gpus, presets};
use crate::units;

/// What a key accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Id of a shipped model.
    Model,
    /// Id of a card in the catalogue.
    Gpu,
    /// One word of a list.
    Choice(&'static [&'static str]),
    /// Words of a list, separated by commas.
    List(&'static [&'static str]),
    /// A whole number (decimal suffixes: `7B`, `350M`).
    Count {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A number of tokens (`8k` is 8192).
    Tokens {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A size in bytes (`80GiB`).
    Bytes {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// At least 0, below 1.
    Probability,
    /// Any finite number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Any text of at most [`LONGEST_TEXT`] bytes.
    Text,
    /// A JSON object.
    Object,
    /// Any JSON; text that is no JSON is a string.
    Any,
}

/// Texts longer than this (bytes) are not accepted.
pub const LONGEST_TEXT: usize = 2000;

impl Kind {
    /// Reads what was typed. `None`: not accepted.
    pub(super) fn parse(self, text: &str) -> Option<Value> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        match self {
            Self::Model => {
                presets().iter().find(|p| p.id.eq_ignore_ascii_case(text)).map(|p| p.id.as_str().into())
            }
            Self::Gpu => gpus().iter().find(|gpu| gpu.id.eq_ignore_ascii_case(text)).map(|gpu| gpu.id.into()),
            Self::Choice(words) => word(words, text).map(Value::from),
            Self::List(words) => list(words, text),
            Self::Count { min, max } => within(units::parse_count(text), min, max),
            Self::Tokens { min, max } => within(units::parse_tokens(text), min, max),
            Self::Bytes { min, max } => within(units::parse_bytes(text), min, max),
            Self::Probability => number(text).filter(|n| n.as_f64().is_some_and(|p| (0.0..1.0).contains(&p))),
            Self::Number => number(text),
            Self::Flag => flag(text).map(Value::Bool),
            Self::Text => {
                (text.len() <= LONGEST_TEXT && !text.contains(char::is_control)).then(|| text.into())
            }
            Self::Object => serde_json::from_str(text).ok().filter(Value::is_object),
            Self::Any => Some(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
        }
    }

    /// Reads a JSON value: what it is, or what its text says. `None`: not accepted.
    pub(super) fn accept(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Object, Value::Object(_)) | (Self::Any, _) => Some(value.clone()),
            _ => self.parse(&plain(value)?),
        }
    }

    /// Writes a value so that [`Kind::parse`] reads the same one.
    pub(super) fn show(self, value: &Value) -> String {
        match (self, value) {
            (Self::Bytes { .. }, Value::Number(n)) => n.as_u64().map_or_else(String::new, units::exact_size),
            (Self::Count { max, .. }, Value::Number(n)) if max >= 1_000_000_000 => {
                n.as_u64().map_or_else(|| n.to_string(), units::exact_count)
            }
            (Self::Any, Value::String(text)) if self.parse(text).as_ref() != Some(value) => value.to_string(),
            (_, Value::String(text)) => text.clone(),
            (_, value) => value.to_string(),
        }
    }
}

/// The text of a scalar; a list of scalars becomes a comma list.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|item| item.as_str()).collect();
            items.map(|items| items.join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn word(words: &'static [&'static str], text: &str) -> Option<&'static str> {
    words.iter().find(|word| word.eq_ignore_ascii_case(text)).copied()
}

/// Known words, each once, in the list's own order: two spellings of one set are one value.
fn list(words: &'static [&'static str], text: &str) -> Option<Value> {
    let given: Option<Vec<_>> = text.split(',').map(|item| word(words, item.trim())).collect();
    let given = given?;
    let kept: Vec<_> = words.iter().filter(|word| given.contains(word)).copied().collect();
    Some(kept.join(",").into())
}

fn within(number: Result<u64, units::UnitError>, min: u64, max: u64) -> Option<Value> {
    number.ok().filter(|number| (min..=max).contains(number)).map(Value::from)
}

/// A finite number; whole ones stay whole. `nan` and `inf`, which Rust would read, are no numbers here.
fn number(text: &str) -> Option<Value> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    // The reader of JSON is there anyway; that of the standard library brings 10 KB of tables to the page.
    let padded = text.starts_with('.').then(|| format!("0{text}"));
    serde_json::from_str(padded.as_deref().unwrap_or(text)).ok().map(Value::Number)
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
