//! Causal decoders of the years before Llama: layer norms, biases, plain feed-forwards.

use super::decoder::{Decoder, HeadDim, KvHeads, LLAMA, Mlp, Norms, QkvNames, Width};
use super::decoders::{GPT2, GPT2_NAMES, NO, YES};
use super::{Family, Switch, switches};
use crate::architecture::weights::{self, AD, AKK, D, F, H, Names};
use crate::architecture::{Activation, Normalisation, Rotary, RotaryTables, Softmax, linear, norm};

const QK_LAYERNORM: [Names; 2] =
    [norm!("self_attn.q_layernorm", Attention, [D]), norm!("self_attn.k_layernorm", Attention, [D])];

/// Feed-forward and norms as OPT names them.
pub(super) const FC_NAMES: [Names; 2] = [linear!("fc1", Mlp, [F], H), linear!("fc2", Mlp, [H], F)];
pub(super) const FC: Mlp = Mlp::Plain(FC_NAMES, Activation::Kernel);
pub(super) const OPT_NORMS: [Names; 2] =
    [norm!("self_attn_layer_norm", Norm, [H]), norm!("final_layer_norm", Norm, [H])];

pub(super) const NEOX: Decoder = Decoder {
    qkv: QkvNames::Split(linear!("attention.query_key_value", Attention, [AKK, D], H)),
    out: linear!("attention.dense", Attention, [H], AD),
    qkv_bias: Switch::On("attention_bias"),
    out_bias: Switch::On("attention_bias"),
    head_dim: HeadDim::Divided,
    kv_heads: KvHeads::All,
    rotary: Rotary::Joined,
    rotary_part: 0.25,
    mlp: Mlp::Plain(
        [linear!("mlp.dense_h_to_4h", Mlp, [F], H), linear!("mlp.dense_4h_to_h", Mlp, [H], F)],
        Activation::Kernel,
    ),
    mlp_bias: [YES; 2],
    parallel: Switch::On("use_parallel_residual"),
    norm: Normalisation::Layer,
    norm_bias: YES,
    final_norm: Some(norm!("final_layer_norm", FinalNorm, [H])),
    dropout: [("attention_dropout", 0.0), ("hidden_dropout", 0.0), ("", 0.0)],
    ..LLAMA
};

const GPTJ: Decoder = Decoder {
    qkv: QkvNames::Separate([
        linear!("attn.q_proj", Attention, [AD], H),
        linear!("attn.k_proj", Attention, [AD], H),
        linear!("attn.v_proj", Attention, [AD], H),
    ]),
    out: linear!("attn.out_proj", Attention, [H], AD),
    qkv_bias: NO,
    out_bias: NO,
    rotary: Rotary::Joined,
    tables: RotaryTables::RepeatedTwice,
    softmax: Softmax::WideScores,
    mlp: Mlp::Plain(
        [linear!("mlp.fc_in", Mlp, [F], H), linear!("mlp.fc_out", Mlp, [H], F)],
        Activation::PythonGelu,
    ),
    norms: Norms::One(norm!("ln_1", Norm, [H])),
    parallel: YES,
    positions: None,
    dropout: [("attn_pdrop", 0.0), ("resid_pdrop", 0.0), ("embd_pdrop", 0.0)],
    tied: Switch::Field("tie_word_embeddings"),
    head_bias: YES,
    ..GPT2
};

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::decoder("gpt_neox", &NEOX),
    Family::decoder(
        "persimmon",
        &Decoder {
            qkv: QkvNames::Fused(linear!("self_attn.query_key_value", Attention, [AKK, D], H)),
            out: linear!("self_attn.dense", Attention, [H], AD),
            qkv_bias: YES,
            out_bias: YES,
            qk_norm: Some((Switch::On("qk_layernorm"), QK_LAYERNORM)),
            parallel: NO,
            rotary_part: 0.5,
            final_norm: Some(norm!("final_layernorm", FinalNorm, [H])),
            ..NEOX
        },
    ),
    Family::decoder(
        "phi",
        &Decoder {
            qkv_bias: YES,
            out: linear!("self_attn.dense", Attention, [H], AD),
            out_bias: YES,
            qk_norm: Some((Switch::Field("qk_layernorm"), QK_LAYERNORM)),
            head_dim: HeadDim::Divided,
            rotary: Rotary::Joined,
            rotary_part: 0.5,
            mlp: Mlp::Plain(
                [linear!("mlp.fc1", Mlp, [F], H), linear!("mlp.fc2", Mlp, [H], F)],
                Activation::PythonGelu,
            ),
            mlp_bias: [YES; 2],
            norms: Norms::One(weights::INPUT_NORM),
            parallel: YES,
            norm: Normalisation::Layer,
            norm_bias: YES,
            final_norm: Some(norm!("final_layernorm", FinalNorm, [H])),
            dropout: [("attention_dropout", 0.0), ("resid_pdrop", 0.0), ("embd_pdrop", 0.0)],
            head_bias: YES,
            ..LLAMA
        },
    ),
    Family::decoder(
        "bloom",
        &Decoder {
            qkv: QkvNames::Fused(linear!("self_attention.query_key_value", Attention, [AKK, D], H)),
            out: linear!("self_attention.dense", Attention, [H], AD),
            qkv_bias: YES,
            out_bias: YES,
            rotary: Rotary::None,
            width: Width::Times(4),
            parallel: NO,
            final_norm: Some(norm!("ln_f", FinalNorm, [H])),
            embedding_norm: Some(norm!("word_embeddings_layernorm", Embedding, [H])),
            tied: Switch::On("tie_word_embeddings"),
            ..NEOX
        },
    )
    .alias(&[
        ("num_hidden_layers", "n_layer"),
        ("num_attention_heads", "n_head"),
        ("hidden_size", "n_embed"),
    ]),
    Family::switched("falcon", switches::falcon).alias(&[
        ("num_hidden_layers", "n_layer"),
        ("num_attention_heads", "n_head"),
        ("num_key_value_heads", "num_kv_heads"),
        ("num_key_value_heads", "n_head_kv"),
        ("intermediate_size", "ffn_hidden_size"),
    ]),
    Family::decoder(
        "mpt",
        &Decoder {
            qkv: QkvNames::Fused(linear!("attn.Wqkv", Attention, [AKK, D], H)),
            out: linear!("attn.out_proj", Attention, [H], AD),
            qkv_bias: NO,
            out_bias: NO,
            rotary: Rotary::None,
            mlp: Mlp::Plain(
                [linear!("ffn.up_proj", Mlp, [F], H), linear!("ffn.down_proj", Mlp, [H], F)],
                Activation::Kernel,
            ),
            mlp_bias: [NO; 2],
            width: Width::Times(4),
            norms: Norms::Before([norm!("norm_1", Norm, [H]), norm!("norm_2", Norm, [H])]),
            parallel: NO,
            norm_bias: NO,
            final_norm: Some(norm!("norm_f", FinalNorm, [H])),
            tied: Switch::On("tie_word_embeddings"),
            counted_only: true,
            ..NEOX
        },
    )
    .alias(&[
        ("hidden_size", "d_model"),
        ("num_hidden_layers", "n_layers"),
        ("num_attention_heads", "n_heads"),
    ]),
    // Every second layer sees a window, through a mask of its own.
    Family::decoder(
        "gpt_neo",
        &Decoder {
            qkv: QkvNames::Separate([
                linear!("attn.attention.q_proj", Attention, [AD], H),
                linear!("attn.attention.k_proj", Attention, [AD], H),
                linear!("attn.attention.v_proj", Attention, [AD], H),
            ]),
            out: linear!("attn.attention.out_proj", Attention, [H], AD),
            qkv_bias: NO,
            counted_only: true,
            ..GPT2
        },
    )
    .alias(&[
        ("num_hidden_layers", "num_layers"),
        ("num_attention_heads", "num_heads"),
        ("hidden_act", "activation_function"),
    ])
    .default(&[("max_position_embeddings", 2048)]),
    Family::decoder("gptj", &GPTJ).alias(GPT2_NAMES),
    Family::decoder(
        "codegen",
        &Decoder { qkv: QkvNames::Fused(linear!("attn.qkv_proj", Attention, [AKK, D], H)), ..GPTJ },
    )
    .alias(GPT2_NAMES),
    Family::decoder(
        "gpt_bigcode",
        &Decoder {
            kv_heads: KvHeads::OneIf(Switch::On("multi_query")),
            softmax: Softmax::Fp32,
            mlp: Mlp::Plain(
                [linear!("mlp.c_fc", Mlp, [F], H), linear!("mlp.c_proj", Mlp, [H], F)],
                Activation::Kernel,
            ),
            ..GPT2
        },
    )
    .alias(GPT2_NAMES)
    .default(&[("max_position_embeddings", 1024)]),
    // Its positions are computed and added.
    Family::decoder(
        "xglm",
        &Decoder {
            qkv_bias: YES,
            out: linear!("self_attn.out_proj", Attention, [H], AD),
            out_bias: YES,
            head_dim: HeadDim::Divided,
            kv_heads: KvHeads::All,
            rotary: Rotary::None,
            mlp: FC,
            mlp_bias: [YES; 2],
            norms: Norms::Before(OPT_NORMS),
            norm: Normalisation::Layer,
            norm_bias: YES,
            final_norm: Some(norm!("layer_norm", FinalNorm, [H])),
            dropout: [("attention_dropout", 0.1), ("dropout", 0.1), ("", 0.0)],
            tied: Switch::On("tie_word_embeddings"),
            counted_only: true,
            ..LLAMA
        },
    )
    .alias(&[
        ("hidden_size", "d_model"),
        ("num_hidden_layers", "num_layers"),
        ("num_attention_heads", "attention_heads"),
        ("intermediate_size", "ffn_dim"),
    ]),
    Family::own("opt", switches::opt)
        .alias(&[("intermediate_size", "ffn_dim"), ("hidden_act", "activation_function")]),
];
