//! The settings of one file, flat: dotted names against values. Readers take what they know; the rest is reported.

use std::collections::BTreeMap;

use serde_json::Value;

use super::draft::Draft;
use super::{Ignored, Why};

/// One setting as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    /// Its name there.
    pub(crate) name: String,
    /// Its value there; never an object that has entries.
    pub(crate) value: Value,
}

impl Said {
    /// The value as a person would have typed it; a list with commas.
    pub(crate) fn text(&self) -> String {
        plain(&self.value)
    }

    /// A switch: `true`, `True`, `1`, `"true"`, an option without a value.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.text().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" | "y" => Some(true),
            "false" | "0" | "no" | "off" | "n" | "none" => Some(false),
            _ => None,
        }
    }

    /// A whole number, also one that is written as `5e8` or `"64"`.
    pub(crate) fn number(&self) -> Option<u64> {
        crate::units::parse_count(&self.text()).ok()
    }

    /// The value in lower case.
    pub(crate) fn word(&self) -> String {
        self.text().trim().to_ascii_lowercase()
    }
}

/// A value on one line. Whole numbers stay whole: JSON's `5e8` is 500000000.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            // Below 2^53 a float that has no fraction is exactly this number.
            #[allow(clippy::cast_possible_truncation, reason = "whole and within range")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                (float as i64).to_string()
            }
            _ => number.to_string(),
        },
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

struct Entry {
    at: usize,
    said: Said,
}

/// The settings of one file that no reader has taken yet.
#[derive(Default)]
pub(super) struct Given {
    entries: BTreeMap<String, Entry>,
    automatic: Vec<Said>,
}

impl Given {
    /// The leaves of nested objects under their dotted names. `null` is “not given”.
    pub(super) fn flat(value: Value) -> Self {
        let mut given = Self::default();
        // Not by recursion: how deep a file goes is its writer's choice.
        let mut open = vec![(String::new(), value)];
        let mut leaves = Vec::new();
        while let Some((name, value)) = open.pop() {
            match value {
                Value::Object(fields) if !fields.is_empty() => {
                    let nested = fields.into_iter().rev().map(|(key, value)| {
                        let name = if name.is_empty() { key } else { format!("{name}.{key}") };
                        (name, value)
                    });
                    open.extend(nested);
                }
                Value::Null => {}
                leaf => leaves.push((name, leaf)),
            }
        }
        for (name, value) in leaves {
            given.insert(name.clone(), Said { name, value });
        }
        given
    }

    /// Adds a setting under the name that readers ask for; a later one of the same name replaces it.
    pub(super) fn insert(&mut self, name: String, said: Said) {
        let at = self.entries.len() + 1;
        self.entries.insert(name, Entry { at, said });
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Whether a section of this name holds anything.
    pub(super) fn has_section(&self, section: &str) -> bool {
        let start = format!("{section}.");
        self.entries.range(start.clone()..).next().is_some_and(|(name, _)| name.starts_with(&start))
    }

    /// How many of these names are there.
    pub(super) fn count(&self, names: &[&str]) -> usize {
        names.iter().filter(|name| self.has(name) || self.has_section(name)).count()
    }

    /// What stands under a name, without taking it.
    pub(super) fn peek(&self, name: &str) -> Option<&Said> {
        self.entries.get(name).map(|entry| &entry.said)
    }

    /// Takes a setting. One that says `auto` is noted as such, and `None`.
    pub(super) fn take(&mut self, name: &str) -> Option<Said> {
        let said = self.take_any(name)?;
        if said.value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("auto")) {
            self.automatic.push(said);
            return None;
        }
        Some(said)
    }

    /// Takes a setting, `auto` included.
    pub(super) fn take_any(&mut self, name: &str) -> Option<Said> {
        self.entries.remove(name).map(|entry| entry.said)
    }

    /// Takes the first of several names of one setting.
    pub(super) fn take_first(&mut self, names: &[&str]) -> Option<Said> {
        names.iter().find_map(|name| self.take(name))
    }

    /// Moves a section out into settings of its own, without its name.
    pub(super) fn section(&mut self, section: &str) -> Self {
        let start = format!("{section}.");
        let names: Vec<_> = self
            .entries
            .range(start.clone()..)
            .map(|(name, _)| name.clone())
            .take_while(|name| name.starts_with(&start))
            .collect();
        let mut out = Self::default();
        for name in names {
            if let Some(entry) = self.entries.remove(&name) {
                out.entries.insert(name[start.len()..].to_owned(), entry);
            }
        }
        out
    }

    /// Reports everything that was not taken: `harmless` are names (`*` at the end: a prefix; at the start: a suffix)
    /// that change no memory.
    pub(super) fn report_rest(self, harmless: &[&str], draft: &mut Draft) {
        for said in self.automatic {
            draft.ignore(&said, Why::Automatic);
        }
        let mut rest: Vec<_> = self.entries.into_iter().collect();
        rest.sort_by_key(|(_, entry)| entry.at);
        for (name, Entry { said, .. }) in rest {
            let why = if harmless.iter().any(|pattern| matches(pattern, &name)) {
                Why::Harmless
            } else {
                Why::Unknown
            };
            draft.ignore(&said, why);
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('*') {
        name.starts_with(start)
    } else if let Some(end) = pattern.strip_prefix('*') {
        name.ends_with(end)
    } else {
        name == pattern
    }
}

impl Ignored {
    pub(super) fn new(said: &Said, why: Why) -> Self {
        // Whatever is written with a dollar is a variable that nothing in the text sets.
        let text = said.text();
        let why = if matches!(why, Why::Unknown | Why::Unsupported(_)) && text.contains('$') {
            Why::Variable
        } else {
            why
        };
        Self { theirs: super::draft::cut(&said.name), value: super::draft::cut(&text), why }
    }
}
