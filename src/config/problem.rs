//! What is wrong with a configuration: names the key, the value, and what would be accepted.

use super::kind::Kind;
use super::{by_name, presets};
use crate::text::{Lang, Text, architecture as unknown, config as words};

/// One key that was ignored, replaced, or has no effect yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The contract's key (or the unknown one as it was written).
    pub key: String,
    /// The value as it was written (long ones are cut).
    pub value: String,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A sentence with nothing to fill but `{key}` and `{value}`.
    Note(Text),
    /// No such key.
    UnknownKey {
        /// The known key it looks like.
        nearest: Option<&'static str>,
    },
    /// The key does not accept this value.
    NotAccepted {
        /// What it accepts.
        accepts: Kind,
        /// Ids that look like the value, when ids are accepted.
        nearest: Box<[&'static str]>,
        /// The value used instead; `None`: the key is ignored.
        used: Option<String>,
    },
    /// Several keys exclude each other.
    Conflict {
        /// The sentence; `{key}`, `{value}` and the names in `values` are filled.
        rule: Text,
        /// The other keys' values.
        values: Box<[(&'static str, String)]>,
        /// The value used instead; `None`: the key is ignored.
        used: Option<String>,
    },
    /// The value is used; this is worth knowing of it.
    Fact {
        /// The sentence; `{key}`, `{value}` and the names in `values` are filled.
        rule: Text,
        /// Numbers in it.
        values: Box<[(&'static str, String)]>,
    },
    /// The value is understood but does not change the figures yet.
    NotYet,
    /// The key was given twice: the last in a link and the outermost in JSON goes before.
    Twice {
        /// The value in use.
        used: String,
    },
    /// The text is longer than this many bytes; nothing of it was read.
    TooLong {
        /// The most that is read.
        most: usize,
    },
    /// The text is no JSON object.
    NotJson {
        /// Line of the first error, from 1 (0: it is JSON, but no object).
        line: usize,
        /// Column of the first error, from 1.
        column: usize,
    },
    /// This many more problems are not listed.
    More {
        /// How many.
        count: usize,
    },
}

/// More problems than this are only counted: a page of them helps nobody, and looking for the nearest of all keys takes
/// its time.
const MOST: usize = 32;

/// Gathers problems while reading goes on.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// Adds what `problem` builds, or only counts it.
    pub(super) fn note(&mut self, problem: impl FnOnce() -> Problem) {
        if self.list.len() < MOST {
            self.list.push(problem());
        } else {
            self.more += 1;
        }
    }

    /// Puts a problem before all others.
    pub(super) fn lead(&mut self, problem: Problem) {
        self.list.insert(0, problem);
    }

    /// Adds the problem of a result, if it has one.
    pub(super) fn check(&mut self, result: Result<(), Problem>) {
        if let Err(problem) = result {
            self.note(|| problem);
        }
    }

    pub(super) fn into_vec(mut self) -> Vec<Problem> {
        if self.more > 0 {
            self.list.push(Problem::new("", "", ProblemKind::More { count: self.more }));
        }
        self.list
    }
}

/// Values longer than this many characters are cut in messages.
const SHOWN: usize = 60;

impl Problem {
    pub(super) fn new(key: impl Into<String>, value: &str, kind: ProblemKind) -> Self {
        Self { key: cut(&key.into()), value: cut(value), kind }
    }

    /// The problem of a model that is not shipped, with the ids that look like it.
    pub fn unknown_model(id: &str) -> Self {
        let near = nearest_model(id);
        let kind = if near.is_empty() {
            ProblemKind::Note(unknown::UNKNOWN_MODEL)
        } else {
            let values = Box::new([("nearest", near.join(", "))]);
            ProblemKind::Fact { rule: unknown::UNKNOWN_MODEL_NEAR, values }
        };
        Self::new("model", id, kind)
    }

    /// The value that is used instead of the one written, where one is.
    pub fn used(&self) -> Option<&str> {
        match &self.kind {
            ProblemKind::NotAccepted { used, .. } | ProblemKind::Conflict { used, .. } => used.as_deref(),
            ProblemKind::Twice { used } => Some(used),
            _ => None,
        }
    }

    /// The sentence for the reader.
    pub fn message(&self, lang: Lang) -> String {
        words::problem(self, lang)
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The presets that a name may mean: the one of that repository, else those that look like it.
pub(super) fn nearest_model(id: &str) -> Box<[&'static str]> {
    match by_name(id) {
        Some(named) => Box::new([named.preset.id.as_str()]),
        None => nearest(id, presets().iter().map(|preset| preset.id.as_str()), 3),
    }
}

/// At most `most` of `candidates` that look like `word`, the nearest first.
pub(super) fn nearest(
    word: &str,
    candidates: impl Iterator<Item = &'static str>,
    most: usize,
) -> Box<[&'static str]> {
    if word.is_empty() || word.len() > SHOWN {
        return Box::default();
    }
    let word = word.to_ascii_lowercase();
    let far = (word.len() / 3).max(2);
    // The few best, in order, the earlier first among equals; a sort would be more code than all of this.
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    for candidate in candidates {
        // Somebody who writes `a100` means one of the ids that contain it.
        let contains = word.len() >= 3 && candidate.contains(&word);
        let distance = if contains { 1 } else { strsim::levenshtein(&word, candidate) };
        let place = found.iter().position(|(other, _)| *other > distance).unwrap_or(found.len());
        if distance <= far && place < most {
            found.insert(place, (distance, candidate));
            found.truncate(most);
        }
    }
    found.into_iter().map(|(_, candidate)| candidate).collect()
}
