//! Encoders that read a whole text at once: BERT and its kin.

use super::compose::{activation, head_dim, layers, symbols};
use super::{Dropout, Family, Switch};
use crate::architecture::fields::Fields;
use crate::architecture::weights::{self, AD, F, H, Names, V};
use crate::architecture::{
    Activation, Architecture, Attention, Body, Embedding, Head, Layer, Linear, Norm, Normalisation, Output,
    Param, PlainMlp, Pooler, Qkv, Rotary, RotaryTables, ScoreBias, Softmax, Sublayer, linear, norm,
};
use crate::ledger::{Dim, Group, Symbol};

/// An encoder whose norms follow the sums.
#[expect(clippy::struct_excessive_bools, reason = "a description: each is a fact of its own")]
#[derive(Clone, Copy, Debug)]
struct Encoder {
    qkv: [Names; 3],
    out: Names,
    attention_norm: Names,
    up: Names,
    down: Names,
    mlp_norm: Names,
    /// Token types are embedded.
    types: bool,
    /// What the first token's vector passes before it is classified.
    pooler: Names,
    /// The bare model has the pooler.
    bare_pools: bool,
    /// Dropout follows attention's projection too, not the feed-forward alone.
    attention_drops: bool,
    /// Dropout comes before the pooler as well as after it.
    classifier_drops_first: bool,
    /// Linear and norm of the masked language model's head; their width is the embedding's.
    transform: (Names, Names),
    /// Fields: attention weights, sublayers and embedding.
    dropout: [&'static str; 2],
    tied: Switch,
}

const BERT: Encoder = Encoder {
    qkv: [
        linear!("attention.self.query", Attention, [AD], H),
        linear!("attention.self.key", Attention, [AD], H),
        linear!("attention.self.value", Attention, [AD], H),
    ],
    out: linear!("attention.output.dense", Attention, [H], AD),
    attention_norm: norm!("attention.output.LayerNorm", Norm, [H]),
    up: linear!("intermediate.dense", Mlp, [F], H),
    down: linear!("output.dense", Mlp, [H], F),
    mlp_norm: norm!("output.LayerNorm", Norm, [H]),
    types: true,
    pooler: linear!("pooler.dense", Other, [H], H),
    bare_pools: true,
    attention_drops: true,
    classifier_drops_first: false,
    transform: (
        linear!("cls.predictions.transform.dense", LmHead, [H], H),
        norm!("cls.predictions.transform.LayerNorm", LmHead, [H]),
    ),
    dropout: ["attention_probs_dropout_prob", "hidden_dropout_prob"],
    tied: Switch::On("tie_word_embeddings"),
};

const ROBERTA: Encoder = Encoder {
    pooler: linear!("classifier.dense", LmHead, [H], H),
    classifier_drops_first: true,
    transform: (linear!("lm_head.dense", LmHead, [H], H), norm!("lm_head.layer_norm", LmHead, [H])),
    ..BERT
};

const DISTILBERT: Encoder = Encoder {
    qkv: [
        linear!("attention.q_lin", Attention, [AD], H),
        linear!("attention.k_lin", Attention, [AD], H),
        linear!("attention.v_lin", Attention, [AD], H),
    ],
    out: linear!("attention.out_lin", Attention, [H], AD),
    attention_norm: norm!("sa_layer_norm", Norm, [H]),
    up: linear!("ffn.lin1", Mlp, [F], H),
    down: linear!("ffn.lin2", Mlp, [H], F),
    mlp_norm: norm!("output_layer_norm", Norm, [H]),
    types: false,
    pooler: linear!("pre_classifier", LmHead, [H], H),
    bare_pools: false,
    attention_drops: false,
    transform: (linear!("vocab_transform", LmHead, [H], H), norm!("vocab_layer_norm", LmHead, [H])),
    dropout: ["attention_dropout", "dropout"],
    ..BERT
};

fn distilbert(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    DISTILBERT.compose(fields, dropout)
}

fn bert(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    BERT.compose(fields, dropout)
}

fn roberta(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    ROBERTA.compose(fields, dropout)
}

const SIZES: &[(&str, u64)] = &[("type_vocab_size", 2), ("max_position_embeddings", 512)];

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("bert", bert).default(SIZES),
    Family::own("roberta", roberta).default(SIZES),
    Family::own("xlm-roberta", roberta).default(SIZES),
    Family::own("camembert", roberta).default(SIZES),
    Family::own("distilbert", distilbert)
        .alias(&[
            ("hidden_size", "dim"),
            ("num_hidden_layers", "n_layers"),
            ("num_attention_heads", "n_heads"),
            ("intermediate_size", "hidden_dim"),
            ("hidden_act", "activation"),
            ("classifier_dropout", "seq_classif_dropout"),
        ])
        .default(SIZES),
];

impl Encoder {
    fn compose(&self, fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
        let hidden = fields.needed("hidden_size");
        let ffn = fields.needed("intermediate_size");
        let layers = layers(fields, "num_hidden_layers");
        let heads = fields.needed("num_attention_heads");
        let vocab = fields.needed("vocab_size");
        let rows = fields.needed("max_position_embeddings");
        let (hidden, ffn, layers, heads, vocab, rows) = (hidden?, ffn?, layers?, heads?, vocab?, rows?);
        let head_dim = head_dim(fields, "num_attention_heads", hidden, heads)?;
        let symbols = symbols([
            (Symbol::H, hidden),
            (Symbol::F, ffn),
            (Symbol::A, heads),
            (Symbol::K, heads),
            (Symbol::D, head_dim),
            (Symbol::V, vocab),
        ]);
        let [at_attention, at_sum] = self.dropout.map(|key| dropout.read(fields, (key, 0.1)));
        let types = if self.types { fields.count("type_vocab_size") } else { 0 };
        let mut tables = vec![weights::EMBED, weights::positions(Dim::of(rows))];
        if types > 0 {
            tables.push(Param::new("token_type_embeddings.weight", Group::Embedding, &[Dim::of(types), H]));
        }
        let norm = |names| Norm::new(Normalisation::Layer, names, true);
        let embedding = Embedding {
            tables,
            other: Vec::new(),
            norm: Some(norm(norm!("embeddings.LayerNorm", Embedding, [H]))),
            dropout: at_sum,
            ..Embedding::default()
        };
        let sublayer = |body, on_sum, drops| Sublayer {
            before: None,
            body,
            after: None,
            on_sum: Some(norm(on_sum)),
            dropout: if drops { at_sum } else { 0.0 },
            dropped_by_layer: false,
        };
        let attention = Attention {
            qkv: Qkv::Separate(self.qkv.map(|names| Linear::new(names, true))),
            out: Linear::new(self.out, true),
            qk_norm: None,
            rotary: Rotary::None,
            tables: RotaryTables::Own,
            out_norm: None,
            window: None,
            dropout: at_attention,
            softmax: Softmax::Own,
            soft_cap: false,
            causal: fields.flag("is_decoder", false),
            bias: ScoreBias::None,
        };
        let mlp = PlainMlp {
            up: Linear::new(self.up, true),
            act: activation(fields, Activation::Kernel),
            down: Linear::new(self.down, true),
            dropout: 0.0,
        };
        let layer = Layer {
            sublayers: vec![
                sublayer(Body::Attention(attention), self.attention_norm, self.attention_drops),
                sublayer(Body::PlainMlp(mlp), self.mlp_norm, true),
            ],
            parallel: false,
        };
        Some(Architecture {
            model_type: String::new(),
            symbols,
            kinds: vec![layer],
            order: vec![0; usize::try_from(layers).unwrap_or(0)],
            embedding,
            final_norm: None,
            head: self.head(fields, dropout),
            tied: self.tied.read(fields),
            final_soft_cap: false,
            positional_mask: false,
            encoder: None,
            counted_only: false,
        })
    }

    fn head(&self, fields: &mut Fields, dropout: &Dropout) -> Head {
        let class = fields.class();
        let labels = Dim::of(fields.labels().unwrap_or(2));
        let classifier = Linear {
            weight: Param::new("classifier.weight", Group::LmHead, &[labels, H]),
            bias: Some(Param::new("classifier.bias", Group::LmHead, &[labels])),
        };
        let (weight, bias) = *self.pooler;
        let pooled = || vec![weight, bias];
        if class.ends_with("Model") && !class.ends_with("LMHeadModel") {
            let other = if self.bare_pools { pooled() } else { Vec::new() };
            return Head { transform: None, output: Output::None, other };
        }
        if class.ends_with("ForMultipleChoice") {
            return Head { transform: None, output: Output::Classes(classifier), other: pooled() };
        }
        if class.ends_with("ForSequenceClassification") {
            let hidden = dropout.read(fields, (self.dropout[1], 0.1));
            let after = fields.probability("classifier_dropout", hidden);
            let before = if self.classifier_drops_first { after } else { 0.0 };
            let dense = Linear::new(self.pooler, true);
            return Head::plain(Output::Pooled(Pooler { dense, dropout: [before, after] }, classifier));
        }
        if class.ends_with("ForTokenClassification") || class.ends_with("ForQuestionAnswering") {
            return Head::plain(Output::Classes(classifier));
        }
        let (dense, norm) = self.transform;
        Head {
            transform: Some((Linear::new(dense, true), Norm::new(Normalisation::Layer, norm, true))),
            output: Output::Tokens(Linear {
                weight: weights::LM_HEAD,
                bias: Some(Param::new("lm_head.bias", Group::LmHead, &[V])),
            }),
            other: Vec::new(),
        }
    }
}
