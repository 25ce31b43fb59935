//! Reading the fields of a `config.json`: each miss is noted with the field's name, and reading goes on.

use crate::config::{Problem, ProblemKind};
use crate::text::Text;
use crate::text::architecture as words;
use serde_json::{Map, Value};

/// Sizes above this are refused: products of four of them still fit in 128 bits, and no model comes near.
const LARGEST: u64 = 1 << 24;

/// An object without fields.
pub(super) fn empty() -> &'static Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    &EMPTY
}

/// The fields, and what was wrong with them so far.
pub(super) struct Fields<'j> {
    json: &'j Map<String, Value>,
    /// Other names: (canonical, the file's).
    pub(super) aliases: &'static [(&'static str, &'static str)],
    /// Sizes of the model class where a file leaves a field out.
    pub(super) defaults: &'static [(&'static str, u64)],
    pub(super) problems: Vec<Problem>,
    /// The class to build where another model's file is read as a part of one.
    pub(super) as_class: Option<&'static str>,
}

impl<'j> Fields<'j> {
    pub(super) const fn new(json: &'j Map<String, Value>) -> Self {
        Self { json, aliases: &[], defaults: &[], problems: Vec::new(), as_class: None }
    }

    pub(super) const fn json(&self) -> &'j Map<String, Value> {
        self.json
    }

    /// The fields of a nested object, e.g. `text_config`; empty when there is none.
    pub(super) fn nested(&self, key: &str) -> Option<Fields<'j>> {
        self.get(key)?.as_object().map(Fields::new)
    }

    fn get(&self, key: &str) -> Option<&'j Value> {
        let value = match self.json.get(key) {
            None => {
                let mut aliases = self.aliases.iter().filter(|(canonical, _)| *canonical == key);
                aliases.find_map(|(_, alias)| self.json.get(*alias))
            }
            found => found,
        };
        value.filter(|value| !value.is_null())
    }

    /// The name that a file of this family would use.
    fn spelled(&self, key: &'static str) -> &'static str {
        self.aliases.iter().find(|(canonical, _)| *canonical == key).map_or(key, |(_, alias)| alias)
    }

    /// Whether a field holds something; `default` when it is absent.
    pub(super) fn present(&self, key: &str, default: bool) -> bool {
        if self.json.contains_key(key) { self.get(key).is_some() } else { default }
    }

    /// The class that a file names: its first architecture.
    pub(super) fn class(&self) -> &'j str {
        if let Some(class) = self.as_class {
            return class;
        }
        let first = self.get("architectures").and_then(Value::as_array).and_then(|all| all.first());
        first.and_then(Value::as_str).unwrap_or("")
    }

    /// How many classes a classifier tells apart: none is a head that does nothing. `None` when the file says nothing.
    pub(super) fn labels(&mut self) -> Option<u64> {
        match self.get("id2label").and_then(Value::as_object) {
            Some(labels) => Some(labels.len() as u64),
            None if self.get("num_labels").and_then(Value::as_u64) == Some(0) => Some(0),
            None => self.size("num_labels"),
        }
    }

    pub(super) fn note(&mut self, key: &str, value: String, text: Text) {
        self.problems.push(Problem { key: key.to_owned(), value, kind: ProblemKind::Note(text) });
    }

    pub(super) fn text(&self, key: &str) -> Option<&'j str> {
        self.get(key).and_then(Value::as_str)
    }

    /// A size that may be absent. Numbers written as strings (`"4096"`) count.
    pub(super) fn size(&mut self, key: &str) -> Option<u64> {
        self.within(key, 1)
    }

    /// A size that may be 0, 0 also when absent.
    pub(super) fn count(&mut self, key: &str) -> u64 {
        self.within(key, 0).unwrap_or(0)
    }

    fn within(&mut self, key: &str, least: u64) -> Option<u64> {
        let Some(value) = self.get(key) else {
            let default = self.defaults.iter().find(|(name, _)| *name == key);
            return default.filter(|_| !self.json.contains_key(key)).map(|(_, size)| *size);
        };
        let number = number(value).filter(|n| (least..=LARGEST).contains(n));
        if number.is_none() {
            self.note(key, value.to_string(), words::NOT_A_SIZE);
        }
        number
    }

    /// A size that must be there.
    pub(super) fn needed(&mut self, key: &'static str) -> Option<u64> {
        let problems = self.problems.len();
        let size = self.size(key);
        if size.is_none() && self.problems.len() == problems {
            self.note(self.spelled(key), String::new(), words::MISSING);
        }
        size
    }

    /// Whether a field is there and 0.
    pub(super) fn zero(&self, key: &str) -> bool {
        self.get(key).and_then(number) == Some(0)
    }

    /// A size where anything else (-1, null) stands for none.
    pub(super) fn positive(&self, key: &str) -> Option<u64> {
        number(self.get(key)?).filter(|n| (1..=LARGEST).contains(n))
    }

    /// Words in one text or in a list of texts.
    pub(super) fn listed(&self, key: &str) -> String {
        match self.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(_)) => self.words(key).unwrap_or_default().join("|"),
            _ => String::new(),
        }
    }

    /// A list of sizes, e.g. one for each stage.
    pub(super) fn sizes(&mut self, key: &'static str) -> Option<Vec<u64>> {
        let list = self.get(key).and_then(Value::as_array);
        let sizes: Option<Vec<u64>> = list.map(|list| list.iter().map(number).collect()).unwrap_or_default();
        let sizes = sizes.filter(|all| all.len() <= 100 && all.iter().all(|n| (1..=LARGEST).contains(n)));
        if sizes.is_none() {
            self.note(key, self.get(key).map(ToString::to_string).unwrap_or_default(), words::NOT_SIZES);
        }
        sizes
    }

    /// Indices of layers, e.g. `mlp_only_layers`; none when absent.
    pub(super) fn indices(&self, key: &str) -> Vec<u64> {
        let list = self.get(key).and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(number).collect()).unwrap_or_default()
    }

    /// A positive factor, e.g. `mlp_ratio`.
    pub(super) fn factor(&mut self, key: &str, default: f64) -> f64 {
        let Some(value) = self.get(key) else { return default };
        let factor = value.as_f64().filter(|f| (0.001..=1000.0).contains(f));
        if factor.is_none() {
            self.note(key, value.to_string(), words::NOT_A_FACTOR);
        }
        factor.unwrap_or(default)
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

    /// A probability.
    pub(super) fn probability(&mut self, key: &str, default: f64) -> f64 {
        let Some(value) = self.get(key) else { return default };
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

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.parse().ok(),
        _ => None,
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
