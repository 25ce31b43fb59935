//! Shipped architectures (`presets.json`, each with its source and its published number of parameters).

use std::sync::OnceLock;

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
    /// Published number of parameters, each shared tensor once: the check on the fields.
    pub parameters: u64,
    /// The fields of its `config.json` that matter.
    pub config: Map<String, Value>,
}

static PRESETS: OnceLock<Vec<Preset>> = OnceLock::new();

/// Every preset, in order.
pub fn presets() -> &'static [Preset] {
    PRESETS.get_or_init(|| match serde_json::from_str(include_str!("presets.json")) {
        Ok(Value::Array(rows)) => rows.into_iter().filter_map(row).collect(),
        _ => Vec::new(), // the tests below would not pass
    })
}

/// The preset with this id.
pub fn preset(id: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.id == id)
}

fn row(value: Value) -> Option<Preset> {
    let Value::Object(mut row) = value else { return None };
    let mut text = |key| match row.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (id, name, source) = (text("id")?, text("name")?, text("source")?);
    let parameters = row.get("parameters")?.as_u64()?;
    let Some(Value::Object(config)) = row.remove("config") else { return None };
    Some(Preset { id, name, source, parameters, config })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULT_MODEL;

    /// The sum of the shapes of a Llama-like decoder, written down independently of the estimator; `None` for other
    /// kinds, which the estimator counts against models that were built (`tests/parameters.rs`).
    fn count(config: &Map<String, Value>) -> Option<u64> {
        let get = |key: &str| config.get(key).and_then(Value::as_u64);
        let kind = config["model_type"].as_str().unwrap();
        if !["llama", "mistral", "mixtral", "qwen2", "qwen3", "phi3"].contains(&kind) {
            return None;
        }
        let [hidden, inner, layers, heads, kv_heads, vocabulary] = [
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "vocab_size",
        ]
        .map(|key| get(key).unwrap());
        let dim = get("head_dim").unwrap_or(hidden / heads);
        let tables = 2 - u64::from(config["tie_word_embeddings"].as_bool().unwrap());
        let extra = match kind {
            "qwen2" => (heads + 2 * kv_heads) * dim, // biases of q, k, v
            "qwen3" => 2 * dim,                      // norms of q and k
            _ => 0,
        };
        let attention = hidden * dim * (2 * heads + 2 * kv_heads);
        let feed_forward = match get("num_local_experts") {
            Some(experts) => experts * (3 * hidden * inner + hidden), // and a row of the router each
            None => 3 * hidden * inner,
        };
        let layer = 2 * hidden + attention + feed_forward + extra;
        Some(vocabulary * hidden * tables + layers * layer + hidden)
    }

    #[test]
    fn every_preset_has_its_published_number_of_parameters() {
        let rows = include_str!("presets.json").matches("\"id\"").count();
        assert_eq!(presets().len(), rows);
        assert!(rows >= 65);
        for (i, preset) in presets().iter().enumerate() {
            assert!(presets()[..i].iter().all(|other| other.id != preset.id), "{} twice", preset.id);
            assert!(preset.source.starts_with("https://"), "{}", preset.id);
            if let Some(count) = count(&preset.config) {
                assert_eq!(count, preset.parameters, "{}", preset.id);
            }
        }
        assert!(preset(DEFAULT_MODEL).is_some());
        assert!(preset("llama").is_none());
    }
}
