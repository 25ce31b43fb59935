//! Causal decoders: one description, of which each type fills the places.

use super::compose::{activation, arrange, causal_head, head_dim, layers, symbols};
use super::latent::{self, Latent};
use super::moe::Experts;
use super::{Dropout, Switch};
use crate::architecture::fields::Fields;
use crate::architecture::weights::{self, Names};
use crate::architecture::{
    Activation, Architecture, Attention, Body, Embedding, GateUp, GatedMlp, Layer, Linear, Norm,
    Normalisation, Param, PlainMlp, Qkv, Rotary, RotaryTables, ScoreBias, Softmax, Sublayer,
};
use crate::ledger::{Dim, Symbol, Symbols};
use crate::text::architecture as words;

/// Projections to queries, keys and values.
#[derive(Clone, Copy, Debug)]
pub(super) enum QkvNames {
    Separate([Names; 3]),
    Fused(Names),
    Split(Names),
}

/// How wide a head is.
#[derive(Clone, Copy, Debug)]
pub(super) enum HeadDim {
    /// `head_dim`, or this, or hidden size ÷ heads.
    Field(Option<u64>),
    /// Hidden size ÷ heads, whatever the file says.
    Divided,
}

/// How many key/value heads there are.
#[derive(Clone, Copy, Debug)]
pub(super) enum KvHeads {
    /// `num_key_value_heads`, or as many as query heads.
    Field,
    /// As many as query heads.
    All,
    /// One where the switch is on, else as many as query heads.
    OneIf(Switch),
}

/// Which layers slide a window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Window {
    Never,
    /// Every layer, when `sliding_window` is set.
    Every,
    /// The same, but only with `use_sliding_window`.
    EveryOpted,
    /// Only with `use_sliding_window`, from layer `max_window_layers` on.
    Opted,
    /// All but each n-th: the number in the field, or this.
    AllBut(&'static str, u64),
}

/// How wide the feed-forward is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Width {
    /// The field.
    Field(&'static str),
    /// `intermediate_size`, or this many times the hidden size.
    Or(u64),
    /// Half of what the field says: gate and up share it.
    Half(&'static str),
    /// Always this many times the hidden size.
    Times(u64),
}

/// The feed-forward.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mlp {
    Gated([Names; 3]),
    GatedFused([Names; 2]),
    Plain([Names; 2], Activation),
}

/// Where the norms of a layer are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Norms {
    /// Before attention, before the feed-forward.
    Before([Names; 2]),
    /// After attention, after the feed-forward.
    After([Names; 2]),
    /// Before and after attention, before and after the feed-forward.
    Around([Names; 4]),
    /// One, whose output attention and feed-forward both read.
    One(Names),
    /// None that has parameters.
    Bare,
}

/// A causal decoder.
#[expect(clippy::struct_excessive_bools, reason = "a description: each is a fact of its own")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoder {
    pub(super) qkv: QkvNames,
    pub(super) out: Names,
    pub(super) qkv_bias: Switch,
    pub(super) out_bias: Switch,
    pub(super) qk_norm: Option<(Switch, [Names; 2])>,
    pub(super) latent: Option<Latent>,
    pub(super) head_dim: HeadDim,
    pub(super) kv_heads: KvHeads,
    pub(super) rotary: Rotary,
    /// The share of a head that they turn, unless the file says another.
    pub(super) rotary_part: f64,
    pub(super) softmax: Softmax,
    pub(super) window: Window,
    /// Scores and logits pass through a tanh unless the file sets the caps to null; otherwise only if it sets them.
    pub(super) soft_caps: bool,
    /// Layers with a window have rotary tables of their own.
    pub(super) local_rotary: bool,
    pub(super) tables: RotaryTables,
    /// The embedding is multiplied by a number that is kept in a buffer.
    pub(super) scaled: bool,
    /// Layers get the mask as an argument in its place.
    pub(super) positional_mask: bool,
    pub(super) mlp: Mlp,
    pub(super) mlp_bias: [Switch; 2],
    pub(super) width: Width,
    pub(super) experts: Option<&'static Experts>,
    pub(super) norms: Norms,
    /// Attention and feed-forward both read the layer's input.
    pub(super) parallel: Switch,
    pub(super) norm: Normalisation,
    pub(super) norm_bias: Switch,
    pub(super) final_norm: Option<Names>,
    /// A table of learned positions, the field with its rows, and rows beyond those.
    pub(super) positions: Option<(&'static str, u64)>,
    pub(super) embedding_norm: Option<Names>,
    /// Fields and class defaults: attention weights, sublayers, embedding.
    pub(super) dropout: [(&'static str, f64); 3],
    /// Norms of what the output projections of attention and feed-forward read.
    pub(super) inner_norms: Option<[Names; 2]>,
    /// Positions are looked up for every row of the batch.
    pub(super) positions_by_row: bool,
    /// Dropout of sublayers is a call of the layer's own.
    pub(super) dropped_by_layer: bool,
    /// A score beside those of the tokens.
    pub(super) sinks: Option<Param>,
    /// More parameters in each layer.
    pub(super) extra: &'static [Param],
    /// More parameters outside the layers.
    pub(super) outside: &'static [Param],
    pub(super) tied: Switch,
    pub(super) head_bias: Switch,
    pub(super) counted_only: bool,
}

/// The decoder that most others vary: Llama.
pub(super) const LLAMA: Decoder = Decoder {
    qkv: QkvNames::Separate(weights::QKV),
    out: weights::O_PROJ,
    qkv_bias: Switch::Field("attention_bias"),
    out_bias: Switch::Field("attention_bias"),
    qk_norm: None,
    latent: None,
    head_dim: HeadDim::Field(None),
    kv_heads: KvHeads::Field,
    rotary: Rotary::Whole,
    rotary_part: 1.0,
    softmax: Softmax::Fp32,
    window: Window::Never,
    soft_caps: false,
    local_rotary: false,
    tables: RotaryTables::Own,
    scaled: false,
    positional_mask: false,
    mlp: Mlp::Gated(weights::MLP),
    mlp_bias: [Switch::Field("mlp_bias"); 2],
    width: Width::Field("intermediate_size"),
    experts: None,
    norms: Norms::Before([weights::INPUT_NORM, weights::POST_ATTENTION_NORM]),
    parallel: Switch::Never,
    norm: Normalisation::Rms,
    norm_bias: Switch::Never,
    final_norm: Some(weights::FINAL_NORM),
    positions: None,
    embedding_norm: None,
    dropout: [("attention_dropout", 0.0), ("", 0.0), ("", 0.0)],
    inner_norms: None,
    positions_by_row: false,
    dropped_by_layer: false,
    sinks: None,
    extra: &[],
    outside: &[],
    tied: Switch::Field("tie_word_embeddings"),
    head_bias: Switch::Never,
    counted_only: false,
};

impl Decoder {
    pub(super) fn compose(&self, fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
        let hidden = fields.needed("hidden_size");
        let ffn = self.width.read(fields, hidden);
        let layers = layers(fields, "num_hidden_layers");
        let heads = fields.needed("num_attention_heads");
        let vocab = fields.needed("vocab_size");
        let (hidden, ffn, layers, heads, vocab) = (hidden?, ffn?, layers?, heads?, vocab?);
        let kv_heads = self.kv_heads.read(fields, heads);
        if heads % kv_heads != 0 {
            fields.note("num_key_value_heads", kv_heads.to_string(), words::HEADS_DO_NOT_DIVIDE);
        }
        let given = match self.head_dim {
            HeadDim::Field(default) => fields.size("head_dim").or(default),
            HeadDim::Divided => None,
        };
        let head_dim = match given {
            Some(head_dim) => head_dim,
            None if self.latent.is_some() => 0,
            None => head_dim(fields, "num_attention_heads", hidden, heads)?,
        };
        let mut symbols = symbols([
            (Symbol::H, hidden),
            (Symbol::F, ffn),
            (Symbol::A, heads),
            (Symbol::K, kv_heads),
            (Symbol::D, head_dim),
            (Symbol::V, vocab),
        ]);
        let rotary = self.rotary(fields, &mut symbols);
        let attention = match &self.latent {
            None => Body::Attention(Attention { rotary, ..self.attention(fields, dropout) }),
            Some(latent) => Body::LatentAttention(latent::compose(latent, fields, &mut symbols, dropout)?),
        };
        let mlp = self.mlp(fields);
        let moe = match self.experts {
            None => None,
            Some(experts) => experts.compose(fields, &mut symbols)?,
        };
        let sparse = self.experts.filter(|_| moe.is_some()).map(|experts| experts.sparse(fields, layers));
        let windows = self.windows(fields, layers);
        let frame = Frame {
            norm_bias: self.norm_bias.read(fields),
            dropout: dropout.read(fields, self.dropout[1]),
            parallel: self.parallel.read(fields),
        };
        let keys = (0..layers).map(|layer| {
            let sparse = sparse.as_ref().is_some_and(|sparse| sparse.holds(layer));
            (windows.of(layer), sparse)
        });
        let (kinds, order) = arrange(keys, |(window, sparse)| {
            let attention = match attention {
                Body::Attention(attention) => Body::Attention(Attention { window, ..attention }),
                ref other => other.clone(),
            };
            let body = match &moe {
                Some(moe) if sparse => moe.clone(),
                _ => mlp.clone(),
            };
            self.layer(attention, body, frame)
        });
        let mut embedding = Embedding { tables: vec![weights::EMBED], ..Embedding::default() };
        if let Some((key, more)) = self.positions {
            let rows = fields.needed(key)?.saturating_add(more);
            embedding.tables.push(weights::positions(Dim::of(rows)));
        }
        embedding.norm = self.embedding_norm.map(|names| Norm::new(self.norm, names, frame.norm_bias));
        embedding.dropout = dropout.read(fields, self.dropout[2]);
        embedding.positions_by_row = self.positions_by_row;
        embedding.other = self.outside.to_vec();
        embedding.scaled = self.scaled;
        embedding.rotary_kind = self.tables;
        if self.tables == RotaryTables::RepeatedTwice {
            embedding.rotary_rows = fields.size("max_position_embeddings").unwrap_or(2048);
        }
        embedding.rotary_tables = match self.rotary {
            Rotary::None => 0,
            _ if self.local_rotary => 2,
            _ => 1,
        };
        let head_bias = self.head_bias.read(fields);
        Some(Architecture {
            model_type: String::new(),
            symbols,
            kinds,
            order,
            embedding,
            final_norm: self.final_norm.map(|names| Norm::new(self.norm, names, frame.norm_bias)),
            head: causal_head(fields, head_bias),
            tied: self.tied.read(fields),
            final_soft_cap: fields.present("final_logit_softcapping", self.soft_caps),
            positional_mask: self.positional_mask,
            encoder: None,
            counted_only: self.counted_only || !self.extra.is_empty(),
        })
    }

    /// Rotary positions, and with a part of a head turned, how wide it is: `partial_rotary_factor`, `rotary_pct`, or
    /// `rotary_dim`.
    fn rotary(&self, fields: &mut Fields, symbols: &mut Symbols) -> Rotary {
        let whole = symbols.get(Symbol::D);
        if self.rotary == Rotary::None || self.latent.is_some() {
            return self.rotary;
        }
        let named = fields.factor("rotary_pct", self.rotary_part);
        let share = fields.factor("partial_rotary_factor", named);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "as the frameworks do: int(head_dim · share)"
        )]
        let part = fields.size("rotary_dim").unwrap_or((whole as f64 * share) as u64);
        if part == 0 || part >= whole {
            return self.rotary;
        }
        symbols.set(Symbol::Dr, part);
        symbols.set(Symbol::Dn, whole - part);
        Rotary::Partial
    }

    fn attention(&self, fields: &mut Fields, dropout: &Dropout) -> Attention {
        let qkv_bias = self.qkv_bias.read(fields);
        let out_bias = self.out_bias.read(fields);
        let norm_bias = self.norm_bias.read(fields);
        let qk_norm = self.qk_norm.filter(|(switch, _)| switch.read(fields));
        Attention {
            qkv: match self.qkv {
                QkvNames::Separate(all) => Qkv::Separate(all.map(|names| Linear::new(names, qkv_bias))),
                QkvNames::Fused(one) => Qkv::Fused(Linear::new(one, qkv_bias)),
                QkvNames::Split(one) => Qkv::Split(Linear::new(one, qkv_bias)),
            },
            out: Linear::new(self.out, out_bias),
            qk_norm: qk_norm.map(|(_, both)| both.map(|names| Norm::new(self.norm, names, norm_bias))),
            rotary: self.rotary,
            tables: self.tables,
            out_norm: self.inner_norms.map(|[names, _]| Norm::new(self.norm, names, false)),
            window: None,
            dropout: dropout.read(fields, self.dropout[0]),
            softmax: self.softmax,
            soft_cap: fields.present("attn_logit_softcapping", self.soft_caps),
            causal: true,
            bias: self.sinks.map_or(ScoreBias::None, ScoreBias::Sinks),
        }
    }

    fn mlp(&self, fields: &mut Fields) -> Body {
        let [up_bias, down_bias] = self.mlp_bias.map(|switch| switch.read(fields));
        let width = Dim::Sym(Symbol::F);
        match self.mlp {
            Mlp::Gated([gate, up, down]) => Body::GatedMlp(GatedMlp {
                width,
                gate_up: GateUp::Separate([Linear::new(gate, up_bias), Linear::new(up, up_bias)]),
                act: activation(fields, Activation::Kernel),
                down: Linear::new(down, down_bias),
                dropout: 0.0,
                norm: self.inner_norms.map(|[_, names]| Norm::new(self.norm, names, false)),
            }),
            Mlp::GatedFused([gate_up, down]) => Body::GatedMlp(GatedMlp {
                width,
                gate_up: GateUp::Fused(Linear::new(gate_up, up_bias)),
                act: activation(fields, Activation::Kernel),
                down: Linear::new(down, down_bias),
                dropout: 0.0,
                norm: None,
            }),
            Mlp::Plain([up, down], default) => Body::PlainMlp(PlainMlp {
                up: Linear::new(up, up_bias),
                act: activation(fields, default),
                down: Linear::new(down, down_bias),
                dropout: 0.0,
            }),
        }
    }

    fn layer(&self, attention: Body, mlp: Body, frame: Frame) -> Layer {
        let norm = |names| Some(Norm::new(self.norm, names, frame.norm_bias));
        let [before_attention, after_attention, before_mlp, after_mlp] = match self.norms {
            Norms::Before([attention, mlp]) => [norm(attention), None, norm(mlp), None],
            Norms::After([attention, mlp]) => [None, norm(attention), None, norm(mlp)],
            Norms::Around(four) => four.map(norm),
            Norms::One(one) => [norm(one), None, None, None],
            Norms::Bare => [None; 4],
        };
        let sublayer = |before, body, after| Sublayer {
            before,
            body,
            after,
            on_sum: None,
            dropout: frame.dropout,
            dropped_by_layer: self.dropped_by_layer,
        };
        let mut sublayers = vec![
            sublayer(before_attention, attention, after_attention),
            sublayer(before_mlp, mlp, after_mlp),
        ];
        if !self.extra.is_empty() {
            sublayers.push(sublayer(None, Body::Counted(self.extra.to_vec()), None));
        }
        Layer { sublayers, parallel: frame.parallel }
    }

    fn windows(&self, fields: &mut Fields, layers: u64) -> Windows {
        let size = match self.window {
            Window::Never => None,
            Window::Opted | Window::EveryOpted if !fields.flag("use_sliding_window", false) => None,
            _ => Some(fields.count("sliding_window")).filter(|size| *size > 0),
        };
        let Some(size) = size else { return Windows { size: None, slides: Vec::new() } };
        let slides = match (fields.words("layer_types"), self.window) {
            (Some(types), _) if types.len() as u64 == layers => {
                types.iter().map(|kind| kind.starts_with("sliding")).collect()
            }
            (_, Window::Opted) => {
                let from = fields.size("max_window_layers").unwrap_or(28);
                (0..layers).map(|layer| layer >= from).collect()
            }
            (_, Window::AllBut(key, default)) => {
                let each = fields.size(key).unwrap_or(default);
                (0..layers).map(|layer| !(layer + 1).is_multiple_of(each)).collect()
            }
            _ => Vec::new(),
        };
        Windows { size: Some(size), slides }
    }
}

/// What all sublayers of a decoder share.
#[derive(Clone, Copy)]
struct Frame {
    norm_bias: bool,
    dropout: f64,
    parallel: bool,
}

/// The window of each layer.
struct Windows {
    size: Option<u64>,
    /// Which layers slide; empty: all.
    slides: Vec<bool>,
}

impl Windows {
    fn of(&self, layer: u64) -> Option<u64> {
        let slides = usize::try_from(layer).ok().and_then(|layer| self.slides.get(layer));
        self.size.filter(|_| slides.is_none_or(|slides| *slides))
    }
}

impl Width {
    fn read(self, fields: &mut Fields, hidden: Option<u64>) -> Option<u64> {
        let times = |n: u64| hidden.map(|hidden| hidden.saturating_mul(n));
        match self {
            Self::Field(key) => fields.needed(key),
            Self::Half(key) => fields.needed(key).map(|width| width / 2),
            Self::Or(n) => fields.size("intermediate_size").or(times(n)),
            Self::Times(n) => times(n),
        }
    }
}

impl KvHeads {
    fn read(self, fields: &mut Fields, heads: u64) -> u64 {
        match self {
            Self::Field => fields.size("num_key_value_heads").unwrap_or(heads),
            Self::OneIf(switch) if switch.read(fields) => 1,
            Self::All | Self::OneIf(_) => heads,
        }
    }
}
