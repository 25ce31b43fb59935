//! Encoder–decoders: T5, BART and their kin.

use super::compose::{arrange, layers, symbols, tokens};
use super::{Dropout, Family};
use crate::architecture::fields::Fields;
use crate::architecture::weights::{self, AD, E, F, H, Names};
use crate::architecture::{
    Activation, Architecture, Attention, Body, Embedding, GateUp, GatedMlp, Head, Layer, Linear, Norm,
    Normalisation, Output, Param, PlainMlp, Qkv, Rotary, RotaryTables, ScoreBias, Softmax, Stack, Sublayer,
    linear, norm,
};
use crate::ledger::{Dim, Group, Symbol};

/// Fields as T5 spells them.
const T5_NAMES: &[(&str, &str)] = &[
    ("hidden_size", "d_model"),
    ("num_hidden_layers", "num_layers"),
    ("num_attention_heads", "num_heads"),
    ("head_dim", "d_kv"),
    ("intermediate_size", "d_ff"),
];

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("t5", |fields, dropout| t5(fields, dropout, false, false)).alias(T5_NAMES).default(T5_SIZES),
    Family::own("mt5", |fields, dropout| t5(fields, dropout, true, false)).alias(T5_NAMES).default(T5_SIZES),
    Family::own("umt5", |fields, dropout| t5(fields, dropout, true, true)).alias(T5_NAMES).default(T5_SIZES),
    Family::own("longt5", longt5).alias(T5_NAMES).default(T5_SIZES),
    Family::own("switch_transformers", switch).alias(T5_NAMES).default(&[
        ("head_dim", 64),
        ("relative_attention_num_buckets", 32),
        ("num_experts", 8),
        ("num_sparse_encoder_layers", 3),
        ("num_sparse_decoder_layers", 3),
    ]),
];

const T5_SIZES: &[(&str, u64)] = &[("d_kv", 64), ("head_dim", 64), ("relative_attention_num_buckets", 32)];

const SELF: [Names; 4] = [
    linear!("layer.0.SelfAttention.q", Attention, [AD], H),
    linear!("layer.0.SelfAttention.k", Attention, [AD], H),
    linear!("layer.0.SelfAttention.v", Attention, [AD], H),
    linear!("layer.0.SelfAttention.o", Attention, [H], AD),
];
const CROSS: [Names; 4] = [
    linear!("layer.1.EncDecAttention.q", CrossAttention, [AD], H),
    linear!("layer.1.EncDecAttention.k", CrossAttention, [AD], H),
    linear!("layer.1.EncDecAttention.v", CrossAttention, [AD], H),
    linear!("layer.1.EncDecAttention.o", CrossAttention, [H], AD),
];

/// With global tokens in the encoder: a norm in every layer, a table in the first.
fn longt5(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    let mut model = t5(fields, dropout, false, false)?;
    model.counted_only = true;
    let global = fields.text("encoder_attention_type") == Some("transient-global");
    let buckets = Dim::of(fields.needed("relative_attention_num_buckets")?);
    let (norm, _) = *norm!("layer.0.TransientGlobalSelfAttention.global_input_layer_norm", Attention, [H]);
    let table = Param::new(
        "layer.0.TransientGlobalSelfAttention.global_relative_attention_bias.weight",
        Group::Attention,
        &[buckets, weights::A],
    );
    let kinds = model.encoder.iter_mut().flat_map(|encoder| &mut encoder.kinds);
    for (index, kind) in kinds.enumerate().filter(|_| global) {
        let params = if index == 0 { vec![norm, table] } else { vec![norm] };
        let body = Body::Counted(params);
        kind.sublayers.push(Sublayer {
            before: None,
            body,
            after: None,
            on_sum: None,
            dropout: 0.0,
            dropped_by_layer: false,
        });
    }
    Some(model)
}

/// Experts in each n-th layer, one of which serves a token.
fn switch(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    let mut model = t5(fields, dropout, false, false)?;
    model.counted_only = true;
    model.symbols.set(Symbol::E, fields.needed("num_experts")?);
    model.symbols.set(Symbol::Top, 1);
    let (classifier, bias) = *linear!("mlp.router.classifier", Router, [E], H);
    let mut experts = vec![
        classifier,
        Param::new("mlp.experts.wi.weight", Group::Experts, &[E, F, H]),
        Param::new("mlp.experts.wo.weight", Group::Experts, &[E, H, F]),
    ];
    if fields.flag("router_bias", false) {
        experts.push(bias);
    }
    let mut step = |step: &str, sparse: &str, layers: usize| {
        let layers = layers as u64;
        let sparse = fields.count(sparse);
        fields.size(step).unwrap_or(layers.checked_div(sparse).unwrap_or(layers))
    };
    let place = |kinds: &mut Vec<Layer>, order: &mut Vec<u8>, step: u64| {
        let keys = (0..order.len() as u64).map(|layer| (layer == 0, step == 1 || layer % step == 1));
        (*kinds, *order) = arrange(keys, |(first, sparse)| {
            let mut layer = kinds[usize::from(!first).min(kinds.len() - 1)].clone();
            if let Some(last) = layer.sublayers.last_mut().filter(|_| sparse) {
                last.body = Body::Counted(experts.clone());
            }
            layer
        });
    };
    if let Some(encoder) = &mut model.encoder {
        let each = step("encoder_sparse_step", "num_sparse_encoder_layers", encoder.order.len());
        place(&mut encoder.kinds, &mut encoder.order, each.max(1));
    }
    let each = step("decoder_sparse_step", "num_sparse_decoder_layers", model.order.len());
    place(&mut model.kinds, &mut model.order, each.max(1));
    Some(model)
}

/// Whether the feed-forward has a gate, and its activation function (`T5Config`: `gated-gelu` means `gelu_new`).
fn feed_forward(fields: &Fields, gated: bool) -> (bool, Activation) {
    let kind = fields.text("feed_forward_proj").unwrap_or(if gated { "gated-gelu" } else { "relu" });
    let (gated, name) = kind.strip_prefix("gated-").map_or((false, kind), |name| (true, name));
    let act = match name {
        "relu" => Activation::Relu,
        "gelu" if gated => Activation::PythonGelu,
        "gelu_new" => Activation::PythonGelu,
        _ => Activation::Kernel,
    };
    (gated, act)
}

/// T5: RMS norms, no biases, relative positions in the first layer of each stack (or, UMT5, in every).
#[expect(clippy::too_many_lines, reason = "one description, read from top to bottom")]
fn t5(fields: &mut Fields, dropout: &Dropout, gated: bool, everywhere: bool) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size");
    let ffn = fields.needed("intermediate_size");
    let encoder_layers = layers(fields, "num_hidden_layers");
    let heads = fields.needed("num_attention_heads");
    let vocab = fields.needed("vocab_size");
    let (hidden, ffn, encoder_layers, heads) = (hidden?, ffn?, encoder_layers?, heads?);
    let decoder_layers = match fields.size("num_decoder_layers") {
        Some(_) => layers(fields, "num_decoder_layers")?,
        None => encoder_layers,
    };
    let symbols = symbols([
        (Symbol::H, hidden),
        (Symbol::F, ffn),
        (Symbol::A, heads),
        (Symbol::K, heads),
        (Symbol::D, fields.needed("head_dim")?),
        (Symbol::V, vocab?),
    ]);
    let buckets = Dim::of(fields.needed("relative_attention_num_buckets")?);
    let table = Param::new(
        "layer.0.SelfAttention.relative_attention_bias.weight",
        Group::Attention,
        &[buckets, weights::A],
    );
    let rate = dropout.read(fields, ("dropout_rate", 0.1));
    // mT5 does without, whatever its file says.
    let may_scale = everywhere || !gated;
    let (gated, act) = feed_forward(fields, gated);
    let norm = |names| Norm::new(Normalisation::T5Rms, names, false);
    let sublayer = |before, body| Sublayer {
        before: Some(norm(before)),
        body,
        after: None,
        on_sum: None,
        dropout: rate,
        dropped_by_layer: true,
    };
    let attention = |[q, k, v, o]: [Names; 4], causal, bias| Attention {
        qkv: Qkv::Separate([q, k, v].map(|names| Linear::new(names, false))),
        out: Linear::new(o, false),
        qk_norm: None,
        rotary: Rotary::None,
        tables: RotaryTables::Own,
        out_norm: None,
        window: None,
        dropout: rate,
        softmax: Softmax::Own,
        soft_cap: false,
        causal,
        bias,
    };
    let mlp = |[gate, up, plain, down]: [Names; 4]| {
        let [gate, up, plain, down] = [gate, up, plain, down].map(|names| Linear::new(names, false));
        if gated {
            Body::GatedMlp(GatedMlp {
                width: Dim::Sym(Symbol::F),
                gate_up: GateUp::Separate([gate, up]),
                act,
                down,
                dropout: rate,
                norm: None,
            })
        } else {
            Body::PlainMlp(PlainMlp { up: plain, act, down, dropout: rate })
        }
    };
    let layer = |first: bool, decoder: bool| {
        let bias = if first || everywhere { ScoreBias::Own(table) } else { ScoreBias::Shared };
        let own = attention(SELF, decoder, bias);
        let mut sublayers = vec![sublayer(norm!("layer.0.layer_norm", Norm, [H]), Body::Attention(own))];
        if decoder {
            let zeros = if first || everywhere { ScoreBias::Zeros } else { ScoreBias::Shared };
            let cross = attention(CROSS, false, zeros);
            sublayers.push(sublayer(norm!("layer.1.layer_norm", Norm, [H]), Body::CrossAttention(cross)));
            let mlp = mlp([
                linear!("layer.2.DenseReluDense.wi_0", Mlp, [F], H),
                linear!("layer.2.DenseReluDense.wi_1", Mlp, [F], H),
                linear!("layer.2.DenseReluDense.wi", Mlp, [F], H),
                linear!("layer.2.DenseReluDense.wo", Mlp, [H], F),
            ]);
            sublayers.push(sublayer(norm!("layer.2.layer_norm", Norm, [H]), mlp));
        } else {
            let mlp = mlp([
                linear!("layer.1.DenseReluDense.wi_0", Mlp, [F], H),
                linear!("layer.1.DenseReluDense.wi_1", Mlp, [F], H),
                linear!("layer.1.DenseReluDense.wi", Mlp, [F], H),
                linear!("layer.1.DenseReluDense.wo", Mlp, [H], F),
            ]);
            sublayers.push(sublayer(norm!("layer.1.layer_norm", Norm, [H]), mlp));
        }
        Layer { sublayers, parallel: false }
    };
    let tied = fields.flag("tie_word_embeddings", true);
    let scaled = fields.flag("scale_decoder_outputs", tied) && may_scale;
    let (kinds, order) = arrange((0..encoder_layers).map(|i| i == 0), |first| layer(first, false));
    let encoder = Stack {
        // The tokens' table is the decoder's.
        embedding: Embedding { dropout: rate, ..Embedding::default() },
        kinds,
        order,
        final_norm: Some(norm(norm!("encoder.final_layer_norm", FinalNorm, [H]))),
        dropout: rate,
        scaled_head: scaled,
    };
    let (kinds, order) = arrange((0..decoder_layers).map(|i| i == 0), |first| layer(first, true));
    Some(Architecture {
        model_type: String::new(),
        symbols,
        kinds,
        order,
        embedding: Embedding { dropout: rate, ..tokens() },
        final_norm: Some(norm(norm!("decoder.final_layer_norm", FinalNorm, [H]))),
        head: Head::plain(Output::Tokens(Linear { weight: weights::LM_HEAD, bias: None })),
        tied,
        final_soft_cap: false,
        positional_mask: true,
        encoder: Some(encoder),
        counted_only: false,
    })
}
