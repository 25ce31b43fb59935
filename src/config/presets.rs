//! Shipped architectures (`presets.json`, each with its source).

use serde_json::{Map, Value};

/// One shipped model.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Contract id, e.g. `llama-3.1-8b`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Where the figures come from.
    pub source: String,
    /// The fields of its `config.json` that matter.
    pub config: Map<String, Value>,
}

/// Every preset, in order.
pub fn presets() -> &'static [Preset] {
    &[]
}

/// The preset with this id.
pub fn preset(id: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.id == id)
}
