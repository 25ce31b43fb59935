//! Dense causal decoders.

use super::decoder::{Decoder, HeadDim, KvHeads, LLAMA, Mlp, Norms, QkvNames, Width, Window};
use super::{Family, Switch};
use crate::architecture::weights::{self, AD, AKK, D, F, H, KD, Names};
use crate::architecture::{Activation, Normalisation, Rotary, Softmax, linear, norm};
use crate::ledger::{Dim, Symbol};

/// Norms over each head.
pub(super) const QK_NORM: [Names; 2] =
    [norm!("self_attn.q_norm", Attention, [D]), norm!("self_attn.k_norm", Attention, [D])];
/// Norms over all heads together.
pub(super) const FULL_QK_NORM: [Names; 2] =
    [norm!("self_attn.q_norm", Attention, [AD]), norm!("self_attn.k_norm", Attention, [KD])];

const NO: Switch = Switch::Never;
const YES: Switch = Switch::Always;

const MISTRAL: Decoder =
    Decoder { qkv_bias: NO, out_bias: NO, mlp_bias: [NO; 2], window: Window::Every, ..LLAMA };

const FUSED_MLP: Mlp = Mlp::GatedFused([
    linear!("mlp.gate_up_proj", Mlp, [Dim::Scale(2, Symbol::F)], H),
    linear!("mlp.down_proj", Mlp, [H], F),
]);

const GEMMA: Decoder = Decoder {
    head_dim: HeadDim::Field(Some(256)),
    mlp_bias: [NO; 2],
    norm: Normalisation::GemmaRms,
    scaled: true,
    tied: Switch::On("tie_word_embeddings"),
    ..LLAMA
};

const GEMMA2: Decoder = Decoder {
    norms: Norms::Around([
        weights::INPUT_NORM,
        weights::POST_ATTENTION_NORM,
        norm!("pre_feedforward_layernorm", Norm, [H]),
        norm!("post_feedforward_layernorm", Norm, [H]),
    ]),
    window: Window::AllBut("", 2),
    soft_caps: true,
    ..GEMMA
};

const GPT2: Decoder = Decoder {
    qkv: QkvNames::Split(linear!("attn.c_attn", Attention, [AKK, D], H)),
    out: linear!("attn.c_proj", Attention, [H], AD),
    qkv_bias: YES,
    out_bias: YES,
    head_dim: HeadDim::Divided,
    kv_heads: KvHeads::All,
    rotary: Rotary::None,
    positional_mask: true,
    softmax: Softmax::Own,
    mlp: Mlp::Plain(
        [linear!("mlp.c_fc", Mlp, [F], H), linear!("mlp.c_proj", Mlp, [H], F)],
        Activation::PythonGelu,
    ),
    mlp_bias: [YES; 2],
    width: Width::Or(4),
    norms: Norms::Before([norm!("ln_1", Norm, [H]), norm!("ln_2", Norm, [H])]),
    norm: Normalisation::Layer,
    norm_bias: YES,
    final_norm: Some(norm!("ln_f", FinalNorm, [H])),
    positions: Some(("max_position_embeddings", 0)),
    dropout: [("attn_pdrop", 0.1), ("resid_pdrop", 0.1), ("embd_pdrop", 0.1)],
    tied: Switch::On("tie_word_embeddings"),
    ..LLAMA
};

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::decoder("llama", &LLAMA),
    Family::decoder("mistral", &MISTRAL).default(&[("num_key_value_heads", 8), ("sliding_window", 4096)]),
    // q, k and v always have a bias here; no field says so.
    Family::decoder(
        "qwen2",
        &Decoder { qkv_bias: YES, out_bias: NO, mlp_bias: [NO; 2], window: Window::Opted, ..LLAMA },
    )
    .default(&[("sliding_window", 4096)]),
    // head_dim is 128 even when the file leaves it out.
    Family::decoder(
        "qwen3",
        &Decoder {
            mlp_bias: [NO; 2],
            qk_norm: Some((YES, QK_NORM)),
            head_dim: HeadDim::Field(Some(128)),
            window: Window::Opted,
            ..LLAMA
        },
    )
    .default(&[("sliding_window", 4096)]),
    Family::decoder(
        "phi3",
        &Decoder {
            qkv: QkvNames::Fused(linear!("self_attn.qkv_proj", Attention, [AKK, D], H)),
            qkv_bias: NO,
            out_bias: NO,
            mlp: FUSED_MLP,
            mlp_bias: [NO; 2],
            rotary: Rotary::Joined,
            window: Window::Every,
            dropout: [("attention_dropout", 0.0), ("resid_pdrop", 0.0), ("embd_pdrop", 0.0)],
            ..LLAMA
        },
    ),
    Family::decoder("gemma", &GEMMA),
    Family::decoder("gemma2", &GEMMA2).default(&[("num_key_value_heads", 4), ("sliding_window", 4096)]),
    Family::decoder(
        "gemma3_text",
        &Decoder {
            qk_norm: Some((YES, QK_NORM)),
            window: Window::AllBut("sliding_window_pattern", 6),
            soft_caps: false,
            local_rotary: true,
            ..GEMMA2
        },
    )
    .alias(&[("sliding_window_pattern", "_sliding_window_pattern")])
    .default(&[
        ("vocab_size", 262_208),
        ("num_attention_heads", 8),
        ("num_key_value_heads", 4),
        ("sliding_window", 4096),
    ]),
    Family::decoder("gpt2", &GPT2).alias(GPT2_NAMES).default(&[("max_position_embeddings", 1024)]),
];

/// Fields as GPT-2 spells them.
const GPT2_NAMES: &[(&str, &str)] = &[
    ("hidden_size", "n_embd"),
    ("num_hidden_layers", "n_layer"),
    ("num_attention_heads", "n_head"),
    ("intermediate_size", "n_inner"),
    ("max_position_embeddings", "n_positions"),
    ("hidden_act", "activation_function"),
];
