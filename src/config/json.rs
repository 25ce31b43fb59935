//! The JSON file: the same keys, the model's fields together in `"architecture"`.
//!
//! Also read: fields of `config.json` at the top, framework settings in `"extra"`, a bare `config.json`, and numbers
//! or flags written as text. Fractions of up to 15 digits come back exactly.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::access::{Name, unknown};
use super::keys::Key;
use super::kind::Kind;
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
        let text = text.trim_start_matches('\u{feff}');
        match serde_json::from_str(text)
            .or_else(|error| serde_json::from_str(&finite(text)).map_err(|_| error))
        {
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
        config.done(problems)
    }

    fn read_entry(&mut self, key: &str, value: &Value, problems: &mut Problems) {
        match (Name::find(key), value) {
            _ if key == "v" => problems.check(version(&plain(value))),
            (Some(Name::Key(_)), Value::Null) => {}
            (Some(name), value) => self.take(name, value, problems),
            (None, value) => match (switched_off(key), value) {
                (Some(name), Value::Bool(off)) => problems.check(self.assign(name, &Value::Bool(!off))),
                _ => problems.note(|| unknown(key, &plain(value))),
            },
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

/// The switch that an argument turns off: `no_gradient_accumulation_fusion` (Megatron-LM's `--no-…`).
fn switched_off(key: &str) -> Option<Name> {
    let name = Name::find(key.strip_prefix("no_")?)?;
    matches!(name, Name::Key(_)).then_some(name).filter(|name| name.kind() == Kind::Flag)
}

/// Python writes `NaN`, `Infinity` and `-Infinity` into JSON (`time_step_limit` of Mamba models); no size depends on
/// them, so outside strings they become `null`.
fn finite(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut quoted) = (text, false);
    while let Some(c) = rest.chars().next() {
        let word =
            ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| !quoted && rest.starts_with(word));
        let taken = match (word, c) {
            (Some(word), _) => {
                out.push_str("null");
                word.len()
            }
            (None, '\\') if quoted => {
                let escape = c.len_utf8() + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..escape]);
                escape
            }
            (None, c) => {
                quoted ^= c == '"';
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// Somebody gave the model's own file: it says what every `config.json` says, and nothing about training. (Its other
/// fields may share a name with a key: `dropout`, `loss`.)
fn is_config_json(json: &Map<String, Value>) -> bool {
    const OURS: &[&str] =
        &["model", "architecture", "extra", "batch", "seq", "precision", "optimizer", "method", "gpu"];
    json.contains_key("model_type")
        && (json.contains_key("architectures") || json.contains_key("transformers_version"))
        && !OURS.iter().any(|key| json.contains_key(*key))
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
