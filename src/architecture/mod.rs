//! A model as weights: what `config.json` says, as layers made of a small vocabulary of modules.
//!
//! A family (`families`) composes modules; nothing downstream asks which family it was.

pub mod adapters;
mod families;
mod fields;
mod modules;
pub mod weights;

pub use families::{FAMILIES, Family};
pub use modules::*;
pub use weights::{Half, Param, Weight};

use crate::config::{Config, DEFAULT_MODEL, Problem, ProblemKind, preset};
use crate::ledger::{Symbol, Symbols};
use crate::text::architecture as words;
use fields::Fields;
use serde_json::{Map, Value};

/// A model: sizes, and the order of its layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    /// `model_type` of `config.json`.
    pub model_type: String,
    /// The sizes that shapes are made of (`b` and `s` are left 0: they are no part of a model).
    pub symbols: Symbols,
    /// The distinct layers.
    pub kinds: Vec<Layer>,
    /// For each layer from the first to the last, its index in `kinds`.
    pub order: Vec<u8>,
    /// The norm after the last layer.
    pub final_norm: Norm,
    /// The output embedding is the input embedding.
    pub tied: bool,
}

impl Architecture {
    /// The model that a configuration asks for: its preset with the given fields laid over it, or the fields alone.
    ///
    /// # Errors
    /// Every field that is missing, impossible or unsupported, by its `config.json` name.
    pub fn of(config: &Config) -> Result<Self, Vec<Problem>> {
        let own = &config.architecture;
        let id = match (&config.model, own.contains_key("model_type")) {
            (Some(id), _) => Some(id.as_str()),
            (None, true) => None,
            (None, false) => Some(DEFAULT_MODEL),
        };
        let Some(id) = id else { return Self::read(own, config.dropout) };
        let Some(preset) = preset(id) else {
            return Err(vec![Problem {
                key: "model".to_owned(),
                value: id.to_owned(),
                kind: ProblemKind::Note(words::UNKNOWN_MODEL),
            }]);
        };
        if own.is_empty() {
            return Self::read(&preset.config, config.dropout);
        }
        let mut merged = preset.config.clone();
        merged.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
        Self::read(&merged, config.dropout)
    }

    /// Reads the fields of one `config.json`; `dropout` replaces the file's attention dropout.
    ///
    /// # Errors
    /// As for [`Architecture::of`].
    pub fn read(json: &Map<String, Value>, dropout: Option<f64>) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::new(json);
        let model_type = fields.text("model_type").unwrap_or("llama").to_owned();
        let Some(family) = FAMILIES.iter().find(|family| family.model_type == model_type) else {
            return Err(vec![Problem {
                key: "model_type".to_owned(),
                value: model_type,
                kind: ProblemKind::Note(words::UNSUPPORTED_TYPE),
            }]);
        };
        let architecture = family.compose(&mut fields, dropout);
        match (architecture, fields.problems) {
            (Some(architecture), problems) if problems.is_empty() => Ok(architecture),
            (_, problems) => Err(problems),
        }
    }

    /// Number of layers.
    pub fn layers(&self) -> u64 {
        self.order.len() as u64
    }

    /// How many layers are of this kind.
    pub fn count_of(&self, kind: usize) -> u64 {
        self.order.iter().filter(|&&k| usize::from(k) == kind).count() as u64
    }

    /// The size behind a symbol.
    pub fn size(&self, symbol: Symbol) -> u64 {
        self.symbols.get(symbol)
    }
}
