//! A model by its name in somebody's file.

use super::draft::Draft;
use super::given::Said;
use crate::config::{Key, by_name};
use crate::text::import as words;

/// Takes over the shipped model that a repository's name or a path means.
pub(super) fn read(said: &Said, draft: &mut Draft) {
    if draft.config.architecture.contains_key("model_type") {
        return draft.unsupported(said, words::MODEL_BY_FILE);
    }
    match by_name(&said.text()) {
        Some(named) => {
            draft.set_key(said, Key::Model, &named.preset.id);
            if !named.exact {
                draft.note_assumed(Key::Model.word(), &named.preset.id, words::BY_NAME);
            }
        }
        None => draft.unsupported(said, words::UNKNOWN_MODEL),
    }
}
