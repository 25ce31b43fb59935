//! The JSON file: the same keys, the model's fields together in `"architecture"`.
//!
//! Also read: fields of `config.json` at the top, framework settings in `"extra"`, a bare `config.json`, and numbers
//! or flags written as text. Fractions of up to 15 digits come back exactly.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::access::{Name, unknown};
use super::keys::{Key, Section};
use super::link::version;
use super::problem::{Problem, ProblemKind, Problems};
use super::{Config, Read};

/// Files longer than this many bytes are not read.
pub const LONGEST_JSON: usize = 1 << 22;

impl Config {
    /// Reads one configuration.
    ///
    /// # Errors
    /// When the text is too long, no JSON, or no object. Whatever else is wrong is named in the problems of [`Read`],
    /// and the rest is read.
    pub fn from_json(text: &str) -> Result<Read, Problem> {
        if text.len() > LONGEST_JSON {
            return Err(Problem::new("", text, ProblemKind::TooLong { most: LONGEST_JSON }));
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(json)) => Ok(Self::from_object(json)),
            Ok(_) => Err(Problem::new("", text, ProblemKind::NotJson { line: 0, column: 0 })),
            Err(error) => {
                let kind = ProblemKind::NotJson { line: error.line(), column: error.column() };
                Err(Problem::new("", text, kind))
            }
        }
    }

    fn from_object(mut json: Map<String, Value>) -> Read {
        let mut config = Self::default();
        let mut problems = Problems::default();
        if is_config_json(&json) {
            config.describe(json, &mut problems);
            return Read { config, problems: problems.into_vec() };
        }
        match json.remove(Key::Architecture.word()) {
            Some(Value::Object(fields)) => config.describe(fields, &mut problems),
            None | Some(Value::Null) => {}
            Some(other) => problems.note(|| config.refused(Name::Key(Key::Architecture), &other.to_string())),
        }
        let extra = json.remove("extra");
        let outer: Vec<_> =
            json.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.clone()).collect();
        for (key, value) in json {
            config.read_entry(&key, &value, &mut problems);
        }
        match extra {
            Some(Value::Object(extra)) => {
                for (key, value) in extra {
                    if outer.contains(&key) {
                        problems.note(|| {
                            let used = config.get(&key);
                            Problem::new(key, &plain(&value), ProblemKind::Twice { used })
                        });
                    } else {
                        config.read_entry(&key, &value, &mut problems);
                    }
                }
            }
            None | Some(Value::Null) => {}
            Some(other) => problems.note(|| unknown("extra", &other.to_string())),
        }
        Read { config, problems: problems.into_vec() }
    }

    fn read_entry(&mut self, key: &str, value: &Value, problems: &mut Problems) {
        match (Name::find(key), value) {
            _ if key == "v" => problems.check(version(&plain(value))),
            (Some(Name::Key(_)), Value::Null) => {}
            (Some(name), value) => problems.check(self.assign(name, value)),
            (None, value) => problems.note(|| unknown(key, &plain(value))),
        }
    }

    /// The configuration as a JSON object: defaults left out, in the contract's order.
    pub fn to_object(&self) -> Map<String, Value> {
        let default = Self::default();
        let mut json = Map::new();
        for &key in Key::ALL {
            let value = match key {
                Key::Architecture if self.architecture.is_empty() => Value::Null,
                Key::Architecture => Value::Object(self.architecture.clone()),
                key => self.value(key),
            };
            if !value.is_null() && (key == Key::Architecture || value != default.value(key)) {
                json.insert(key.word().to_owned(), value);
            }
        }
        json
    }

    /// The same as text, one key a line.
    pub fn to_json(&self) -> String {
        format!("{:#}", Value::Object(self.to_object()))
    }
}

/// Somebody gave the model's own file: it has what every `config.json` has and no key of the contract. (`dropout` is
/// also a field of some.)
fn is_config_json(json: &Map<String, Value>) -> bool {
    let file = json.contains_key("model_type")
        && (json.contains_key("architectures") || json.contains_key("transformers_version"));
    let ours = |key: &str| {
        Key::parse(key).is_some_and(|key| key != Key::Dropout && key.section() != Section::Advanced)
            || key == "extra"
    };
    file && !json.keys().any(|key| ours(key))
}

/// A value as a person would have typed it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_object().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Config::from_object)
    }
}
