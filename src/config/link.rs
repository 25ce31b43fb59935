//! The share link: `v=1&model=llama-3.1-8b&batch=4`, in a fragment, a query, or alone.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use super::access::{Name, unknown};
use super::fields::{FIELDS, Field};
use super::keys::Key;
use super::kind::Kind;
use super::problem::{Problem, ProblemKind, Problems};
use super::{Config, Read};
use crate::text::config as words;

/// Links longer than this many bytes are not read.
pub const LONGEST_LINK: usize = 1 << 16;

/// Encoded is all but what stays readable and survives Markdown, chat programs and both parts of a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',')
    .remove(b':')
    .remove(b'/');

impl Config {
    /// Reads a share link: a whole URL (its query, and its fragment over that), `#…`, `?…`, or the bare pairs.
    ///
    /// Whatever is wrong is named in the problems; the rest is read.
    pub fn from_link(link: &str) -> Read {
        let mut config = Self::default();
        let mut problems = Problems::default();
        if link.len() > LONGEST_LINK {
            problems.note(|| Problem::new("", link, ProblemKind::TooLong { most: LONGEST_LINK }));
            return Read { config, problems: problems.into_vec() };
        }
        for part in parts(link.trim()) {
            // Fields that stand alone go over those in `architecture={…}`, whatever their order.
            let mut alone = Self::default();
            let mut seen: Vec<Cow<'_, str>> = Vec::new();
            for pair in part.split('&').filter(|pair| !pair.is_empty()) {
                let (key, value) = match pair.split_once('=') {
                    Some((key, value)) => (decode(key), Some(decode(value))),
                    None => (decode(pair), None),
                };
                let written = value.as_deref().unwrap_or_default();
                if seen.contains(&key) {
                    problems.note(|| {
                        Problem::new(key.as_ref(), written, ProblemKind::Twice { used: written.to_owned() })
                    });
                }
                match Name::find(&key) {
                    _ if key == "v" => problems.check(version(written)),
                    Some(Name::Key(Key::Architecture)) => config.read_architecture(written, &mut problems),
                    // `?embed` alone is a switch that is on.
                    Some(name) if value.is_none() && name.kind() == Kind::Flag => {
                        problems.check(config.assign(name, &Value::Bool(true)));
                    }
                    Some(name @ Name::Field(_)) => problems.check(alone.assign(name, &written.into())),
                    Some(name) => config.take(name, &written.into(), &mut problems),
                    None => problems.note(|| unknown(&key, written)),
                }
                if Name::find(&key).is_some() {
                    seen.push(key);
                }
            }
            config.architecture.extend(alone.architecture);
        }
        config.done(problems)
    }

    fn read_architecture(&mut self, written: &str, problems: &mut Problems) {
        match Kind::Object.parse(written) {
            Some(Value::Object(json)) => self.describe(json, problems),
            _ => problems.note(|| self.refused(Name::Key(Key::Architecture), written)),
        }
    }

    /// Writes the link's pairs (without `#`): version first, defaults left out, in the contract's order.
    pub fn to_link(&self) -> String {
        let mut link = "v=1".to_owned();
        let default = Self::default();
        for &key in Key::ALL {
            if key == Key::Architecture {
                self.write_fields(&mut link);
                continue;
            }
            let value = self.value(key);
            if value.is_null() || value == default.value(key) {
                continue;
            }
            match key {
                Key::Embed => write(&mut link, key.word(), "1"),
                key => write(&mut link, key.word(), &key.kind().show(&value)),
            }
        }
        link
    }

    fn write_fields(&self, link: &mut String) {
        for field in FIELDS {
            if let Some(value) = self.architecture.get(field.name) {
                write(link, field.name, &field.show(value));
            }
        }
        let others = self.architecture.iter().filter(|(name, _)| Field::find(name).is_none());
        let others: Map<_, _> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !others.is_empty() {
            write(link, Key::Architecture.word(), &Value::Object(others).to_string());
        }
    }
}

/// Query and fragment of a URL, in the order in which they are read; bare pairs are a fragment.
fn parts(link: &str) -> [&str; 2] {
    let start = link.find(['=', '?', '#']).unwrap_or(link.len());
    let bare = !link[start..].starts_with(['?', '#']) && !link[..start].contains("://");
    if bare {
        return ["", link];
    }
    let (before, fragment) = link.split_once('#').unwrap_or((link, ""));
    [before.split_once('?').map_or("", |(_, query)| query), fragment]
}

/// A `+` stays a plus: people write `1e+9`, and nothing here has spaces. What is no UTF-8 stays as it is written.
fn decode(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

fn write(link: &mut String, key: &str, value: &str) {
    link.push('&');
    link.push_str(key);
    link.push('=');
    link.extend(utf8_percent_encode(value, ENCODED));
}

/// Only version 1 exists; a later one is read as well as this program can.
pub(super) fn version(written: &str) -> Result<(), Problem> {
    if written == "1" {
        return Ok(());
    }
    Err(Problem::new("v", written, ProblemKind::Note(words::VERSION)))
}
