//! What a written file does not say: the keys that come back from reading it as something else.

use super::LeftOut;
use crate::architecture::Architecture;
use crate::config::{Config, Key, Section, Stack};
use crate::import::read;

/// Reads the text back and compares.
pub(super) fn left_out(text: &str, config: &Config) -> Vec<LeftOut> {
    let back = read(text).map(|import| import.config).unwrap_or_default();
    let keys = Key::ALL.iter().copied().filter(|key| key.section() != Section::Page);
    let mut left_out: Vec<_> = keys
        .filter(|key| !same(*key, config, &back))
        .map(|key| LeftOut { key: key.word(), value: shown(key, config), instead: shown(key, &back) })
        .collect();
    if model(config) == model(&back) {
        left_out.retain(|one| !MODEL.iter().any(|key| key.word() == one.key));
    } else if !left_out.iter().any(|one| MODEL.iter().any(|key| key.word() == one.key)) {
        let (value, instead) = (shown(Key::Model, config), shown(Key::Model, &back));
        left_out.insert(0, LeftOut { key: Key::Model.word(), value, instead });
    }
    left_out
}

/// Keys that say the model together: equal models may be said in several ways.
const MODEL: &[Key] = &[Key::Model, Key::Architecture, Key::Dropout];

fn model(config: &Config) -> Option<Architecture> {
    Architecture::of(config).ok()
}

/// Whether a key means the same: as it is, or by the default of a setting that was not given.
fn same(key: Key, ours: &Config, back: &Config) -> bool {
    let value = |config: &Config| {
        let text = config.get(key.word());
        if text.is_empty() { default(key, config) } else { text }
    };
    value(ours) == value(back)
}

/// What the contract says of an advanced setting that is not given.
fn default(key: Key, config: &Config) -> String {
    match key {
        Key::FsdpVersion => "2".to_owned(),
        Key::ReshardAfterForward => "true".to_owned(),
        Key::ShardSize => config.gpus_per_node.to_string(),
        Key::Engine if config.stack == Stack::MegatronCore => "megatron".to_owned(),
        _ => String::new(),
    }
}

fn shown(key: Key, config: &Config) -> String {
    let text = config.get(key.word());
    let text = if text.is_empty() { default(key, config) } else { text };
    if text.is_empty() { config.fallback(key.word()) } else { text }
}
