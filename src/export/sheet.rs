//! The settings that are being written, in order.

use serde_json::{Map, Value};

use crate::config::{Config, Key, Kind};
use crate::import::tables::{Row, Turn, nest};

/// The settings of one file.
pub(super) struct Sheet<'c> {
    pub(super) config: &'c Config,
    pub(super) values: Map<String, Value>,
}

impl<'c> Sheet<'c> {
    pub(super) fn of(config: &'c Config) -> Self {
        Self { config, values: Map::new() }
    }

    /// Adds a setting under its dotted name.
    pub(super) fn put(&mut self, name: &str, value: impl Into<Value>) {
        nest(&mut self.values, name, value.into());
    }

    /// Adds a switch where it is on.
    pub(super) fn switch(&mut self, name: &str, on: bool) {
        if on {
            self.put(name, true);
        }
    }

    /// Adds every key of a table that is given, and of them those that the table has a word for.
    pub(super) fn rows(&mut self, rows: &[Row], prefix: &str) {
        let default = Config::default();
        for row in rows {
            let word = row.key.word();
            let text = self.config.get(word);
            if text.is_empty() || text == default.get(word) {
                continue;
            }
            let value = match row.turn {
                Turn::Same => Some(number(row.key, &text)),
                Turn::Flag => Some(Value::Bool(text == "true")),
                Turn::Opposite => Some(Value::Bool(text != "true")),
                Turn::Words(pairs) => {
                    pairs.iter().find(|(_, ours)| *ours == text).map(|(theirs, _)| switch_or_word(theirs))
                }
            };
            if let Some(value) = value {
                self.put(&format!("{prefix}{}", row.theirs), value);
            }
        }
    }
}

/// Ranks that hold copies of, or share, the same data: GPUs over those that share a replica.
pub(super) fn replicas(config: &Config) -> u64 {
    let group = config.tp.saturating_mul(config.pp).saturating_mul(config.cp).max(1);
    (config.gpus / group).max(1)
}

/// Sequences of one step, of all ranks.
pub(super) fn global_batch(config: &Config) -> u64 {
    config.batch.saturating_mul(config.accumulation).saturating_mul(replicas(config))
}

/// Processes of one node, and nodes.
pub(super) fn nodes(config: &Config) -> (u64, u64) {
    if config.gpus <= config.gpus_per_node || !config.gpus.is_multiple_of(config.gpus_per_node) {
        return (config.gpus, 1);
    }
    (config.gpus_per_node, config.gpus / config.gpus_per_node)
}

/// Whole numbers stand as such; the link's short forms (`2B`) are for people.
fn number(key: Key, text: &str) -> Value {
    match key.kind() {
        Kind::Count { .. } | Kind::Tokens { .. } => {
            crate::units::parse_count(text).map_or_else(|_| text.into(), Value::from)
        }
        Kind::Probability | Kind::Number => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        _ => text.into(),
    }
}

fn switch_or_word(word: &str) -> Value {
    match word {
        "true" => true.into(),
        "false" => false.into(),
        word => word.parse::<u64>().map_or_else(|_| word.into(), Value::from),
    }
}
