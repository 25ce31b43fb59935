//! Tables of one framework's words against the contract's keys, for both directions.

use super::Why;
use super::draft::Draft;
use super::given::{Given, Said};
use crate::config::Key;
use crate::text::import as words;

/// One of their settings that is one of our keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Their name.
    pub(crate) theirs: &'static str,
    /// Our key.
    pub(crate) key: Key,
    /// How a value becomes ours.
    pub(crate) turn: Turn,
}

/// How a value becomes ours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// It is the same.
    Same,
    /// A switch that means the same.
    Flag,
    /// A switch that means the opposite.
    Opposite,
    /// A word for a word: (theirs in lower case, ours). The first of several that mean the same is the one to write.
    Words(&'static [(&'static str, &'static str)]),
}

impl Row {
    pub(crate) const fn same(theirs: &'static str, key: Key) -> Self {
        Self { theirs, key, turn: Turn::Same }
    }

    pub(crate) const fn flag(theirs: &'static str, key: Key) -> Self {
        Self { theirs, key, turn: Turn::Flag }
    }

    pub(crate) const fn opposite(theirs: &'static str, key: Key) -> Self {
        Self { theirs, key, turn: Turn::Opposite }
    }

    pub(crate) const fn words(
        theirs: &'static str,
        key: Key,
        pairs: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { theirs, key, turn: Turn::Words(pairs) }
    }

    fn apply(&self, said: &Said, draft: &mut Draft) {
        let ours = match self.turn {
            Turn::Same => Some(said.text()),
            Turn::Flag => said.flag().map(|on| on.to_string()),
            Turn::Opposite => said.flag().map(|on| (!on).to_string()),
            Turn::Words(pairs) => word(pairs, said).map(str::to_owned),
        };
        match ours {
            Some(ours) => draft.set_key(said, self.key, &ours),
            None => draft.ignore(said, Why::Unsupported(words::OTHER_VALUE)),
        }
    }
}

/// Our word for theirs. Switches count as `true` and `false`, however they are written.
pub(super) fn word(pairs: &[(&'static str, &'static str)], said: &Said) -> Option<&'static str> {
    let find = |word: &str| pairs.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
    find(&said.word()).or_else(|| find(if said.flag()? { "true" } else { "false" }))
}

/// Takes every setting of a table.
pub(super) fn read(rows: &[Row], given: &mut Given, draft: &mut Draft) {
    for row in rows {
        if let Some(said) = given.take(row.theirs) {
            row.apply(&said, draft);
        }
    }
}
