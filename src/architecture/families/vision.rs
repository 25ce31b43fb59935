//! Vision transformers and convolutional networks.

use super::compose::{activation, head_dim, layers, symbols};
use super::{Dropout, Family};
use crate::architecture::fields::Fields;
use crate::architecture::weights::{AD, F, H, Names};
use crate::architecture::{
    Activation, Architecture, Attention, Body, Embedding, Head, Image, Layer, Linear, Norm, Normalisation,
    Output, Param, PlainMlp, Qkv, Rotary, RotaryTables, ScoreBias, Softmax, Sublayer, linear, norm,
};
use crate::ledger::{Dim, Group, Symbol};

/// Classes of ImageNet-1k, for which nearly all classifiers of images are published.
pub(super) const IMAGENET: u64 = 1000;

const QKV: [Names; 3] = [
    linear!("attention.q_proj", Attention, [AD], H),
    linear!("attention.k_proj", Attention, [AD], H),
    linear!("attention.v_proj", Attention, [AD], H),
];
const OUT: Names = linear!("attention.o_proj", Attention, [H], AD);

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] =
    &[Family::own("vit", vit).default(SIZES), Family::own("deit", deit).default(SIZES)];

const SIZES: &[(&str, u64)] = &[("num_channels", 3), ("image_size", 224), ("patch_size", 16)];

fn vit(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    transformer(fields, dropout, 1)
}

fn deit(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    transformer(fields, dropout, 2)
}

/// Number of classes: what the file says, the class default, or (a bare file) `ImageNet`'s.
fn labels(fields: &mut Fields) -> u64 {
    let default = if fields.class().is_empty() { IMAGENET } else { 2 };
    fields.labels().unwrap_or(default)
}

/// Patches through a convolution and so many class tokens before them.
fn transformer(fields: &mut Fields, dropout: &Dropout, tokens: u64) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size");
    let ffn = fields.needed("intermediate_size");
    let layers = layers(fields, "num_hidden_layers");
    let heads = fields.needed("num_attention_heads");
    let [channels, image, patch] = ["num_channels", "image_size", "patch_size"].map(|key| fields.needed(key));
    let (hidden, ffn, layers, heads) = (hidden?, ffn?, layers?, heads?);
    let (channels, image, patch) = (channels?, image?, patch?);
    let head_dim = head_dim(fields, "num_attention_heads", hidden, heads)?;
    let symbols = symbols([
        (Symbol::H, hidden),
        (Symbol::F, ffn),
        (Symbol::A, heads),
        (Symbol::K, heads),
        (Symbol::D, head_dim),
    ]);
    let one = Dim::Const(1);
    let patches = (image / patch).saturating_mul(image / patch);
    let side = Dim::of(patch);
    let embedded = |path, axes: &[Dim]| Param::new(path, Group::Embedding, axes);
    let mut other = vec![
        embedded("embeddings.patch_embeddings.projection.weight", &[H, Dim::of(channels), side, side]),
        embedded("embeddings.patch_embeddings.projection.bias", &[H]),
        embedded("embeddings.cls_token", &[one, one, H]),
    ];
    if tokens > 1 {
        other.push(embedded("embeddings.distillation_token", &[one, one, H]));
    }
    let positions =
        embedded("embeddings.position_embeddings", &[one, Dim::of(patches.saturating_add(tokens)), H]);
    let at_sum = dropout.read(fields, ("hidden_dropout_prob", 0.0));
    let norm = |names| Norm::new(Normalisation::Layer, names, true);
    let sublayer = |before, body| Sublayer {
        before: Some(norm(before)),
        body,
        after: None,
        on_sum: None,
        dropout: at_sum,
        dropped_by_layer: false,
    };
    let qkv_bias = fields.flag("qkv_bias", true);
    let attention = Attention {
        qkv: Qkv::Separate(QKV.map(|names| Linear::new(names, qkv_bias))),
        out: Linear::new(OUT, true),
        qk_norm: None,
        rotary: Rotary::None,
        tables: RotaryTables::Own,
        out_norm: None,
        window: None,
        dropout: dropout.read(fields, ("attention_probs_dropout_prob", 0.0)),
        softmax: Softmax::Fp32,
        soft_cap: false,
        causal: false,
        bias: ScoreBias::None,
    };
    let mlp = PlainMlp {
        up: Linear::new(linear!("mlp.fc1", Mlp, [F], H), true),
        act: activation(fields, Activation::Kernel),
        down: Linear::new(linear!("mlp.fc2", Mlp, [H], F), true),
        dropout: 0.0,
    };
    let layer = Layer {
        sublayers: vec![
            sublayer(norm!("layernorm_before", Norm, [H]), Body::Attention(attention)),
            sublayer(norm!("layernorm_after", Norm, [H]), Body::PlainMlp(mlp)),
        ],
        parallel: false,
    };
    Some(Architecture {
        model_type: String::new(),
        symbols,
        kinds: vec![layer],
        order: vec![0; usize::try_from(layers).unwrap_or(0)],
        embedding: Embedding {
            tables: vec![positions],
            other,
            norm: None,
            dropout: at_sum,
            image: Some(Image { channels, side: image, tokens: patches.saturating_add(tokens) }),
            ..Embedding::default()
        },
        final_norm: Some(norm(norm!("layernorm", FinalNorm, [H]))),
        head: head(fields),
        tied: false,
        final_soft_cap: false,
        positional_mask: false,
        encoder: None,
        counted_only: false,
    })
}

/// What the class named in the file puts after the last norm.
fn head(fields: &mut Fields) -> Head {
    let class = fields.class();
    let labels = Dim::of(labels(fields));
    if class.ends_with("Model") {
        let width = fields.size("pooler_output_size").map_or(H, Dim::of);
        let weight = Param::new("pooler.dense.weight", Group::Other, &[width, H]);
        let bias = Param::new("pooler.dense.bias", Group::Other, &[width]);
        let other = vec![weight, bias];
        return Head { transform: None, output: Output::None, other };
    }
    let classifier = |path, axes: &[Dim]| Param::new(path, Group::LmHead, axes);
    let output = Output::Classes(Linear {
        weight: classifier("classifier.weight", &[labels, H]),
        bias: Some(classifier("classifier.bias", &[labels])),
    });
    let other = if class.ends_with("WithTeacher") {
        vec![
            classifier("distillation_classifier.weight", &[labels, H]),
            classifier("distillation_classifier.bias", &[labels]),
        ]
    } else {
        Vec::new()
    };
    Head { transform: None, output, other }
}
