//! What is wrong with a configuration: names the key, the value, and what would be accepted.

use crate::text::{Lang, Text};

/// One key that was ignored, replaced, or has no effect yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The contract's key (or the unknown one as it was written).
    pub key: String,
    /// The value as it was written.
    pub value: String,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A sentence with nothing to fill but `{key}` and `{value}`.
    Note(Text),
}

impl Problem {
    /// The sentence for the reader.
    pub fn message(&self, lang: Lang) -> String {
        match &self.kind {
            ProblemKind::Note(text) => text.fill(lang, &[("key", &self.key), ("value", &self.value)]),
        }
    }
}
