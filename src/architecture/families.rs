//! The model types that are understood: each a composition of modules, described as data.
//!
//! Source of every row: the modelling file of that type in Hugging Face transformers 5.24.0, checked against
//! parameter counts of built models.

use super::fields::Fields;
use super::{
    Architecture, Attention, Body, GateUp, GatedMlp, Layer, Linear, Norm, Qkv, Softmax, Sublayer, weights,
};
use crate::ledger::{Dim, Symbol, Symbols};
use crate::text::architecture as words;

/// Where a bias or a switch comes from.
#[derive(Clone, Copy, Debug)]
enum Switch {
    Never,
    Always,
    /// The field decides; off when absent.
    Field(&'static str),
}

/// How a type decides which layers slide a window.
#[derive(Clone, Copy, Debug)]
enum Window {
    Never,
    /// Every layer, when `sliding_window` is set.
    Every,
    /// Only with `use_sliding_window`, from layer `max_window_layers` on.
    Opted,
}

/// One model type.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// `model_type` of `config.json`.
    pub model_type: &'static str,
    qkv_bias: Switch,
    out_bias: Switch,
    mlp_bias: Switch,
    qk_norm: bool,
    head_dim: Option<u64>,
    window: Window,
}

const DENSE: Family = Family {
    model_type: "llama",
    qkv_bias: Switch::Field("attention_bias"),
    out_bias: Switch::Field("attention_bias"),
    mlp_bias: Switch::Field("mlp_bias"),
    qk_norm: false,
    head_dim: None,
    window: Window::Never,
};

/// Every supported type.
pub const FAMILIES: &[Family] = &[
    DENSE,
    Family {
        model_type: "mistral",
        qkv_bias: Switch::Never,
        out_bias: Switch::Never,
        mlp_bias: Switch::Never,
        window: Window::Every,
        ..DENSE
    },
    // q, k and v always have a bias here; no field says so.
    Family {
        model_type: "qwen2",
        qkv_bias: Switch::Always,
        out_bias: Switch::Never,
        mlp_bias: Switch::Never,
        window: Window::Opted,
        ..DENSE
    },
    // head_dim is 128 even when the file leaves it out.
    Family {
        model_type: "qwen3",
        mlp_bias: Switch::Never,
        qk_norm: true,
        head_dim: Some(128),
        window: Window::Opted,
        ..DENSE
    },
];

impl Switch {
    fn read(self, fields: &mut Fields) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Field(key) => fields.flag(key, false),
        }
    }
}

impl Family {
    /// Builds the model from its fields; `None` when a needed one is missing (then `fields.problems` says which).
    pub(super) fn compose(&self, fields: &mut Fields, dropout: Option<f64>) -> Option<Architecture> {
        let hidden = fields.needed("hidden_size");
        let ffn = fields.needed("intermediate_size");
        let layers = fields.needed("num_hidden_layers");
        let heads = fields.needed("num_attention_heads");
        let vocab = fields.needed("vocab_size");
        let (hidden, ffn, layers, heads, vocab) = (hidden?, ffn?, layers?, heads?, vocab?);
        if layers > 10_000 {
            fields.note("num_hidden_layers", layers.to_string(), words::TOO_MANY_LAYERS);
            return None;
        }
        let kv_heads = fields.size("num_key_value_heads").unwrap_or(heads);
        if heads % kv_heads != 0 {
            fields.note("num_key_value_heads", kv_heads.to_string(), words::HEADS_DO_NOT_DIVIDE);
        }
        let head_dim = match fields.size("head_dim").or(self.head_dim) {
            Some(head_dim) => head_dim,
            None if hidden % heads == 0 => hidden / heads,
            None => {
                fields.note("num_attention_heads", heads.to_string(), words::HIDDEN_DOES_NOT_DIVIDE);
                return None;
            }
        };
        let mut symbols = Symbols::default();
        for (symbol, value) in [
            (Symbol::H, hidden),
            (Symbol::F, ffn),
            (Symbol::A, heads),
            (Symbol::K, kv_heads),
            (Symbol::D, head_dim),
            (Symbol::V, vocab),
        ] {
            symbols.set(symbol, value);
        }
        let (qkv_bias, out_bias) = (self.qkv_bias.read(fields), self.out_bias.read(fields));
        let mlp_bias = self.mlp_bias.read(fields);
        let full = Attention {
            qkv: Qkv::Separate(weights::QKV.map(|names| Linear::new(names, qkv_bias))),
            out: Linear::new(weights::O_PROJ, out_bias),
            qk_norm: self.qk_norm.then(|| weights::QK_NORM.map(Norm::rms)),
            rotary: true,
            window: None,
            dropout: dropout.unwrap_or_else(|| fields.probability("attention_dropout")),
            softmax: Softmax::Fp32,
            soft_cap: false,
        };
        let [gate, up, down] = weights::MLP.map(|names| Linear::new(names, mlp_bias));
        let width = Dim::Sym(Symbol::F);
        let mlp = GatedMlp { width, gate_up: GateUp::Separate([gate, up]), down };
        let (windows, order) = self.windows(fields, layers);
        let kinds = windows.into_iter().map(|window| layer(&Attention { window, ..full }, &mlp)).collect();
        let tied = fields.flag("tie_word_embeddings", false);
        let final_norm = Norm::rms(weights::FINAL_NORM);
        Some(Architecture { model_type: self.model_type.to_owned(), symbols, kinds, order, final_norm, tied })
    }

    /// The distinct windows, and which of them each layer has.
    fn windows(&self, fields: &mut Fields, layers: u64) -> (Vec<Option<u64>>, Vec<u8>) {
        let count = usize::try_from(layers).unwrap_or(usize::MAX);
        let none = (vec![None], vec![0; count]);
        let size = match self.window {
            Window::Never => return none,
            Window::Every => fields.size("sliding_window"),
            Window::Opted if fields.flag("use_sliding_window", false) => fields.size("sliding_window"),
            Window::Opted => None,
        };
        let Some(size) = size else { return none };
        let slides: Vec<bool> = match (fields.words("layer_types"), self.window) {
            (Some(types), _) if types.len() == count => {
                types.iter().map(|t| t.starts_with("sliding")).collect()
            }
            (_, Window::Opted) => {
                let from = fields.size("max_window_layers").unwrap_or(28);
                (0..layers).map(|layer| layer >= from).collect()
            }
            _ => vec![true; count],
        };
        match (slides.contains(&true), slides.contains(&false)) {
            (true, true) => (vec![None, Some(size)], slides.into_iter().map(u8::from).collect()),
            (true, false) => (vec![Some(size)], vec![0; count]),
            _ => none,
        }
    }
}

fn layer(attention: &Attention, mlp: &GatedMlp) -> Layer {
    Layer {
        sublayers: vec![
            Sublayer::pre_norm(Norm::rms(weights::INPUT_NORM), Body::Attention(*attention)),
            Sublayer::pre_norm(Norm::rms(weights::POST_ATTENTION_NORM), Body::GatedMlp(*mlp)),
        ],
    }
}
