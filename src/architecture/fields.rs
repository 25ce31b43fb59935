//! Reading the fields of a `config.json`: each miss is noted with the field's name, and reading goes on.

use crate::config::{Problem, ProblemKind};
use crate::text::Text;
use crate::text::architecture as words;
use serde_json::{Map, Value};

/// Sizes above this are refused: products of four of them still fit in 128 bits, and no model comes near.
const LARGEST: u64 = 1 << 24;

/// The fields, and what was wrong with them so far.
pub(super) struct Fields<'j> {
    json: &'j Map<String, Value>,
    pub(super) problems: Vec<Problem>,
}

impl<'j> Fields<'j> {
    pub(super) const fn new(json: &'j Map<String, Value>) -> Self {
        Self { json, problems: Vec::new() }
    }

    fn get(&self, key: &str) -> Option<&'j Value> {
        self.json.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn note(&mut self, key: &str, value: String, text: Text) {
        self.problems.push(Problem { key: key.to_owned(), value, kind: ProblemKind::Note(text) });
    }

    pub(super) fn text(&self, key: &str) -> Option<&'j str> {
        self.get(key).and_then(Value::as_str)
    }

    /// A size that may be absent. Numbers written as strings (`"4096"`) count.
    pub(super) fn size(&mut self, key: &str) -> Option<u64> {
        let value = self.get(key)?;
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let size = number.filter(|n| (1..=LARGEST).contains(n));
        if size.is_none() {
            self.note(key, value.to_string(), words::NOT_A_SIZE);
        }
        size
    }

    /// A size that must be there.
    pub(super) fn needed(&mut self, key: &str) -> Option<u64> {
        if self.get(key).is_none() {
            self.note(key, String::new(), words::MISSING);
            return None;
        }
        self.size(key)
    }

    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) if text == "true" || text == "false" => text == "true",
            Some(other) => {
                self.note(key, other.to_string(), words::NOT_A_FLAG);
                default
            }
        }
    }

    /// A probability, 0 when absent.
    pub(super) fn probability(&mut self, key: &str) -> f64 {
        let Some(value) = self.get(key) else { return 0.0 };
        let probability = value.as_f64().filter(|p| (0.0..1.0).contains(p));
        if probability.is_none() {
            self.note(key, value.to_string(), words::NOT_A_PROBABILITY);
        }
        probability.unwrap_or(0.0)
    }

    /// A list of words, e.g. `layer_types`.
    pub(super) fn words(&self, key: &str) -> Option<Vec<&'j str>> {
        self.get(key)?.as_array()?.iter().map(Value::as_str).collect()
    }
}

fn whole(value: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and small"
    )]
    (value.fract() == 0.0 && (0.0..=LARGEST as f64).contains(&value)).then_some(value as u64)
}
