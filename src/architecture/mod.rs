//! A model as weights: what `config.json` says, as layers made of a small vocabulary of modules.
//!
//! A family (`families`) composes modules; nothing downstream asks which family it was.

pub mod adapters;
mod ends;
mod families;
mod fields;
pub(crate) mod megatron;
mod modules;
pub mod weights;

pub use ends::*;
pub use families::{Family, supported};
pub use modules::*;
pub use weights::{Half, Param, Weight};
use weights::{linear, norm};

use crate::config::{Config, DEFAULT_MODEL, Problem, preset};
use crate::ledger::{Symbol, Symbols};
use fields::Fields;
use serde_json::{Map, Value};

/// A model: sizes, and the order of its layers.
#[expect(clippy::struct_excessive_bools, reason = "a description: each is a fact of its own")]
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
    /// What is before the first layer.
    pub embedding: Embedding,
    /// The norm after the last layer.
    pub final_norm: Option<Norm>,
    /// What is after it.
    pub head: Head,
    /// The output embedding is the input embedding.
    pub tied: bool,
    /// Logits pass through a tanh.
    pub final_soft_cap: bool,
    /// Layers get the mask as an argument in its place, so that checkpointing keeps it.
    pub positional_mask: bool,
    /// The stack whose output cross attention reads.
    pub encoder: Option<Stack>,
    /// Parameters are all that is known: what runs has parts that no module here describes (parallel residuals,
    /// scans, scaled branches, …).
    pub counted_only: bool,
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
            return Err(vec![Problem::unknown_model(id)]);
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
        let model_type = fields.text("model_type").unwrap_or("llama");
        let architecture = families::compose(model_type, &mut fields, dropout);
        match (architecture, fields.problems) {
            (Some(architecture), problems) if problems.is_empty() => Ok(architecture),
            (_, problems) => Err(problems),
        }
    }

    /// Whether the ledger knows what runs in it; if not, its parameters are counted and nothing else.
    pub fn modelled(&self) -> bool {
        let plain = self.embedding.tables.len() <= 3
            && self.embedding.other.is_empty() != self.embedding.image.is_some()
            && self.encoder.as_ref().is_none_or(|encoder| encoder.embedding.other.is_empty())
            && self.head.other.is_empty()
            && match self.head.output {
                Output::Tokens(_) | Output::Pooled(..) => self.embedding.image.is_none(),
                Output::Classes(_) => self.embedding.image.is_some(),
                Output::None => false,
            }
            && !self.counted_only;
        let kinds = self.kinds.iter().chain(self.encoder.iter().flat_map(|encoder| &encoder.kinds));
        plain && kinds.flat_map(|kind| &kind.sublayers).all(Sublayer::modelled)
    }

    /// Whether each token sees only those before it: then the loss compares each with the next.
    pub fn causal(&self) -> bool {
        let mut bodies = self.kinds.iter().flat_map(|kind| &kind.sublayers).map(|sublayer| &sublayer.body);
        !bodies.any(|body| matches!(body, Body::Attention(attention) if !attention.causal))
    }

    /// Whether one weight is the input embedding and the output's.
    pub const fn shares_head(&self) -> bool {
        self.tied && matches!(self.head.output, Output::Tokens(_))
    }

    /// Whether its attention goes through latents, with rotary positions of their own width.
    pub fn has_latent_attention(&self) -> bool {
        let bodies = self.kinds.iter().flat_map(|kind| &kind.sublayers).map(|sublayer| &sublayer.body);
        bodies.into_iter().any(|body| matches!(body, Body::LatentAttention(_)))
    }

    /// Whether transformers has no fused attention for it: the scores pass through a tanh, or beside one more.
    pub fn eager_alone(&self) -> bool {
        let bodies = self.kinds.iter().flat_map(|kind| &kind.sublayers).map(|sublayer| &sublayer.body);
        bodies.into_iter().any(|body| match body {
            Body::Attention(attention) => attention.soft_cap || matches!(attention.bias, ScoreBias::Sinks(_)),
            _ => false,
        })
    }

    /// How many dimensions of a head rotary positions turn: all of them, or a part.
    pub fn rotary_width(&self) -> Symbol {
        let bodies = self.kinds.iter().flat_map(|kind| &kind.sublayers).map(|sublayer| &sublayer.body);
        let part = bodies.into_iter().any(|body| match body {
            Body::LatentAttention(_) => true,
            Body::Attention(attention) => attention.rotary == Rotary::Partial,
            _ => false,
        });
        if part { Symbol::Dr } else { Symbol::D }
    }

    /// Number of layers of all stacks, an encoder's first.
    pub fn layers(&self) -> usize {
        self.encoder_layers() + self.order.len()
    }

    /// Number of layers of the encoder beside it.
    pub fn encoder_layers(&self) -> usize {
        self.encoder.as_ref().map_or(0, |encoder| encoder.order.len())
    }

    /// The size behind a symbol.
    pub fn size(&self, symbol: Symbol) -> u64 {
        self.symbols.get(symbol)
    }
}
