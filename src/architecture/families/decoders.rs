//! Dense causal decoders.

use super::decoder::{Decoder, HeadDim, KvHeads, LLAMA, Mlp, Norms, QkvNames, Width, Window};
use super::{Family, Switch, switches};
use crate::architecture::weights::{self, A, AD, AKK, D, F, H, K, KD, Names};
use crate::architecture::{Activation, Normalisation, Param, Rotary, RotaryTables, Softmax, linear, norm};
use crate::ledger::{Dim, Group, Symbol};

/// Norms over each head.
pub(super) const QK_NORM: [Names; 2] =
    [norm!("self_attn.q_norm", Attention, [D]), norm!("self_attn.k_norm", Attention, [D])];
/// Norms over all heads together.
pub(super) const FULL_QK_NORM: [Names; 2] =
    [norm!("self_attn.q_norm", Attention, [AD]), norm!("self_attn.k_norm", Attention, [KD])];

pub(super) const NO: Switch = Switch::Never;
pub(super) const YES: Switch = Switch::Always;

pub(super) const MISTRAL: Decoder =
    Decoder { qkv_bias: NO, out_bias: NO, mlp_bias: [NO; 2], window: Window::Every, ..LLAMA };

pub(super) const FUSED_MLP: Mlp = Mlp::GatedFused([
    linear!("mlp.gate_up_proj", Mlp, [Dim::Scale(2, Symbol::F)], H),
    linear!("mlp.down_proj", Mlp, [H], F),
]);

const QWEN2: Decoder =
    Decoder { qkv_bias: YES, out_bias: NO, mlp_bias: [NO; 2], window: Window::Opted, ..LLAMA };

/// `modeling_qwen.py` of Qwen-7B's repository.
const QWEN: Decoder = Decoder {
    qkv: QkvNames::Split(linear!("attn.c_attn", Attention, [AKK, D], H)),
    out: linear!("attn.c_proj", Attention, [H], AD),
    qkv_bias: YES,
    out_bias: Switch::Unless("no_bias"),
    kv_heads: KvHeads::All,
    mlp: Mlp::Gated([
        linear!("mlp.w2", Mlp, [F], H),
        linear!("mlp.w1", Mlp, [F], H),
        linear!("mlp.c_proj", Mlp, [H], F),
    ]),
    mlp_bias: [Switch::Unless("no_bias"); 2],
    width: Width::Half("intermediate_size"),
    norms: Norms::Before([norm!("ln_1", Norm, [H]), norm!("ln_2", Norm, [H])]),
    final_norm: Some(norm!("ln_f", FinalNorm, [H])),
    dropout: [("attn_dropout_prob", 0.0), ("", 0.0), ("emb_dropout_prob", 0.0)],
    ..LLAMA
};

/// `modeling_internlm2.py` of `InternLM2`'s repositories.
const INTERNLM2: Decoder = Decoder {
    qkv: QkvNames::Fused(linear!("attention.wqkv", Attention, [AKK, D], H)),
    out: linear!("attention.wo", Attention, [H], AD),
    qkv_bias: Switch::On("bias"),
    out_bias: Switch::On("bias"),
    mlp: Mlp::Gated([
        linear!("feed_forward.w1", Mlp, [F], H),
        linear!("feed_forward.w3", Mlp, [F], H),
        linear!("feed_forward.w2", Mlp, [H], F),
    ]),
    mlp_bias: [NO; 2],
    norms: Norms::Before([norm!("attention_norm", Norm, [H]), norm!("ffn_norm", Norm, [H])]),
    ..LLAMA
};

/// `modeling_baichuan.py` of Baichuan's repositories.
const BAICHUAN: Decoder = Decoder {
    qkv: QkvNames::Fused(linear!("self_attn.W_pack", Attention, [AKK, D], H)),
    qkv_bias: NO,
    out_bias: NO,
    kv_heads: KvHeads::All,
    mlp_bias: [NO; 2],
    ..LLAMA
};

/// `modeling_chatglm.py` of ChatGLM2-6B and ChatGLM3-6B.
const CHATGLM: Decoder = Decoder {
    qkv: QkvNames::Split(linear!("self_attention.query_key_value", Attention, [AKK, D], H)),
    out: linear!("self_attention.dense", Attention, [H], AD),
    qkv_bias: Switch::Field("add_qkv_bias"),
    out_bias: Switch::Field("add_bias_linear"),
    rotary: Rotary::Joined,
    rotary_part: 0.5,
    mlp: Mlp::GatedFused([
        linear!("mlp.dense_h_to_4h", Mlp, [Dim::Scale(2, Symbol::F)], H),
        linear!("mlp.dense_4h_to_h", Mlp, [H], F),
    ]),
    mlp_bias: [Switch::Field("add_bias_linear"); 2],
    final_norm: Some(norm!("final_layernorm", FinalNorm, [H])),
    ..LLAMA
};

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

pub(super) const GPT2: Decoder = Decoder {
    qkv: QkvNames::Split(linear!("attn.c_attn", Attention, [AKK, D], H)),
    out: linear!("attn.c_proj", Attention, [H], AD),
    qkv_bias: YES,
    out_bias: YES,
    head_dim: HeadDim::Divided,
    kv_heads: KvHeads::All,
    rotary: Rotary::None,
    positional_mask: true,
    softmax: Softmax::Own,
    mlp: C_FC,
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

const UP_DOWN_NAMES: [Names; 2] =
    [linear!("mlp.up_proj", Mlp, [F], H), linear!("mlp.down_proj", Mlp, [H], F)];
pub(super) const UP_DOWN: Mlp = Mlp::Plain(UP_DOWN_NAMES, Activation::Kernel);
pub(super) const C_FC: Mlp = Mlp::Plain(
    [linear!("mlp.c_fc", Mlp, [F], H), linear!("mlp.c_proj", Mlp, [H], F)],
    Activation::PythonGelu,
);

pub(super) const QUERY_KEY_NORM: [Names; 2] =
    [norm!("self_attn.query_layernorm", Attention, [D]), norm!("self_attn.key_layernorm", Attention, [D])];

pub(super) const GLM: Decoder = Decoder {
    qkv_bias: Switch::On("attention_bias"),
    out_bias: NO,
    mlp: FUSED_MLP,
    mlp_bias: [NO; 2],
    head_dim: HeadDim::Field(Some(128)),
    tables: RotaryTables::Repeated,
    ..LLAMA
};

pub(super) const OLMO2: Decoder = Decoder {
    norm: Normalisation::WideRms,
    tables: RotaryTables::Fp32,
    mlp_bias: [NO; 2],
    qk_norm: Some((YES, FULL_QK_NORM)),
    norms: Norms::After([weights::POST_ATTENTION_NORM, norm!("post_feedforward_layernorm", Norm, [H])]),
    ..LLAMA
};

pub(super) const COHERE: Decoder = Decoder {
    mlp_bias: [NO; 2],
    norms: Norms::One(weights::INPUT_NORM),
    parallel: YES,
    norm: Normalisation::WideLayer,
    tied: Switch::On("tie_word_embeddings"),
    ..LLAMA
};

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::decoder("llama", &LLAMA),
    Family::decoder("mistral", &MISTRAL).default(&[("num_key_value_heads", 8), ("sliding_window", 4096)]),
    // q, k and v always have a bias here; no field says so.
    Family::decoder("qwen2", &QWEN2).default(&[("sliding_window", 4096)]),
    // Xiaomi's code inherits Qwen2's; layers for further tokens are no part of the forward.
    Family::decoder("mimo", &QWEN2).default(&[("sliding_window", 4096)]),
    Family::decoder("ministral3", &MISTRAL).default(&[("num_key_value_heads", 8)]),
    Family::decoder("cwm", &Decoder { qkv_bias: NO, out_bias: NO, window: Window::Every, ..LLAMA })
        .default(&[("num_key_value_heads", 8)]),
    // Read as Llama.
    Family::decoder("internlm3", &LLAMA),
    Family::decoder("exaone", &LLAMA),
    Family::decoder(
        "internlm",
        &Decoder { qkv_bias: Switch::On("bias"), out_bias: Switch::On("bias"), mlp_bias: [NO; 2], ..LLAMA },
    ),
    Family::decoder("internlm2", &INTERNLM2),
    Family::decoder("baichuan", &BAICHUAN),
    Family::decoder("chatglm", &CHATGLM).alias(&[
        ("num_hidden_layers", "num_layers"),
        ("intermediate_size", "ffn_hidden_size"),
        ("head_dim", "kv_channels"),
        ("num_key_value_heads", "multi_query_group_num"),
        ("vocab_size", "padded_vocab_size"),
    ]),
    Family::decoder("qwen", &QWEN).alias(&[("head_dim", "kv_channels")]),
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
    // GPT-3 as Megatron-LM's own arguments describe it.
    Family::decoder(
        "megatron-gpt",
        &Decoder {
            head_dim: HeadDim::Field(None),
            kv_heads: KvHeads::Field,
            tied: Switch::On("tie_word_embeddings"),
            ..GPT2
        },
    )
    .default(&[("max_position_embeddings", 2048)]),
    Family::decoder("ministral", &MISTRAL).default(&[("num_key_value_heads", 8), ("sliding_window", 4096)]),
    Family::decoder("granite", &LLAMA),
    Family::decoder("smollm3", &Decoder { tied: Switch::On("tie_word_embeddings"), ..LLAMA })
        .default(&[("num_key_value_heads", 4)]),
    Family::decoder("glm", &GLM).default(&[("num_key_value_heads", 2)]),
    Family::decoder(
        "glm4",
        &Decoder {
            norms: Norms::Around([
                weights::INPUT_NORM,
                norm!("post_self_attn_layernorm", Norm, [H]),
                weights::POST_ATTENTION_NORM,
                norm!("post_mlp_layernorm", Norm, [H]),
            ]),
            ..GLM
        },
    )
    .default(&[("num_key_value_heads", 2)]),
    // Its norms have no parameters.
    Family::decoder(
        "olmo",
        &Decoder { mlp_bias: [NO; 2], norm: Normalisation::Bare, tables: RotaryTables::Fp32, ..LLAMA },
    ),
    Family::decoder("olmo2", &OLMO2),
    Family::decoder("olmo3", &Decoder { window: Window::AllBut("", 4), local_rotary: true, ..OLMO2 })
        .default(&[("sliding_window", 4096)]),
    Family::decoder(
        "exaone4",
        &Decoder {
            qkv_bias: NO,
            out_bias: NO,
            qk_norm: Some((YES, QK_NORM)),
            window: Window::AllBut("", 4),
            norm: Normalisation::Rms,
            tables: RotaryTables::Own,
            ..OLMO2
        },
    ),
    Family::decoder(
        "ernie4_5",
        &Decoder {
            qkv_bias: Switch::Field("use_bias"),
            out_bias: Switch::Field("use_bias"),
            mlp_bias: [Switch::Field("use_bias"); 2],
            head_dim: HeadDim::Field(Some(128)),
            tables: RotaryTables::RepeatedFp32,
            tied: Switch::On("tie_word_embeddings"),
            ..LLAMA
        },
    )
    .default(&[("num_key_value_heads", 2)]),
    Family::decoder(
        "hunyuan_v1_dense",
        &Decoder { mlp_bias: [NO; 2], qk_norm: Some((YES, QUERY_KEY_NORM)), ..LLAMA },
    ),
    Family::decoder(
        "seed_oss",
        &Decoder {
            qkv_bias: Switch::On("attention_bias"),
            out_bias: Switch::Field("attention_out_bias"),
            head_dim: HeadDim::Field(Some(128)),
            dropout: [("attention_dropout", 0.1), ("residual_dropout", 0.1), ("", 0.0)],
            ..LLAMA
        },
    ),
    // Its output projection is square, whatever the heads' width.
    Family::decoder(
        "helium",
        &Decoder {
            out: linear!("self_attn.o_proj", Attention, [H], H),
            out_bias: NO,
            norm: Normalisation::WideRmsCopied,
            tables: RotaryTables::Repeated,
            ..LLAMA
        },
    ),
    Family::decoder("arcee", &Decoder { mlp: UP_DOWN, ..LLAMA }),
    Family::decoder(
        "apertus",
        &Decoder {
            mlp: UP_DOWN,
            mlp_bias: [NO; 2],
            qk_norm: Some((YES, QK_NORM)),
            norms: Norms::Before([
                norm!("attention_layernorm", Norm, [H]),
                norm!("feedforward_layernorm", Norm, [H]),
            ]),
            extra: &[
                Param::new("mlp.act_fn.alpha_p", Group::Mlp, &[Dim::Const(1)]),
                Param::new("mlp.act_fn.alpha_n", Group::Mlp, &[Dim::Const(1)]),
            ],
            ..LLAMA
        },
    ),
    Family::decoder(
        "bitnet",
        &Decoder {
            mlp_bias: [NO; 2],
            inner_norms: Some([
                norm!("self_attn.attn_sub_norm", Norm, [H]),
                norm!("mlp.ffn_sub_norm", Norm, [F]),
            ]),
            ..LLAMA
        },
    ),
    Family::decoder(
        "diffllama",
        &Decoder {
            mlp_bias: [NO; 2],
            extra: &[
                Param::new("self_attn.lambda_q1", Group::Attention, &[D]),
                Param::new("self_attn.lambda_k1", Group::Attention, &[D]),
                Param::new("self_attn.lambda_q2", Group::Attention, &[D]),
                Param::new("self_attn.lambda_k2", Group::Attention, &[D]),
            ],
            ..LLAMA
        },
    ),
    // Its norm runs by operators, with 1 + weight.
    Family::decoder(
        "nemotron",
        &Decoder {
            mlp: Mlp::Plain(UP_DOWN_NAMES, Activation::ReluSquared),
            norm: Normalisation::Layer,
            norm_bias: YES,
            counted_only: true,
            ..LLAMA
        },
    ),
    Family::decoder(
        "cohere",
        &Decoder {
            qk_norm: Some((
                Switch::Field("use_qk_norm"),
                [norm!("self_attn.q_norm", Attention, [A, D]), norm!("self_attn.k_norm", Attention, [K, D])],
            )),
            ..COHERE
        },
    ),
    Family::decoder("cohere2", &Decoder { window: Window::AllBut("sliding_window_pattern", 4), ..COHERE })
        .alias(&[("sliding_window_pattern", "_sliding_window_pattern")])
        .default(&[("sliding_window", 4096)]),
    Family::decoder(
        "starcoder2",
        &Decoder {
            qkv_bias: Switch::On("use_bias"),
            out_bias: Switch::On("use_bias"),
            mlp: C_FC,
            mlp_bias: [Switch::On("use_bias"); 2],
            norm: Normalisation::Layer,
            norm_bias: YES,
            window: Window::Every,
            dropout: [("attention_dropout", 0.0), ("residual_dropout", 0.0), ("embedding_dropout", 0.0)],
            tied: Switch::On("tie_word_embeddings"),
            ..LLAMA
        },
    )
    .default(&[("num_key_value_heads", 2)]),
    Family::switched("stablelm", switches::stablelm).default(&[("num_key_value_heads", 32)]),
];

/// Fields as GPT-2 spells them.
pub(super) const GPT2_NAMES: &[(&str, &str)] = &[
    ("hidden_size", "n_embd"),
    ("num_hidden_layers", "n_layer"),
    ("num_attention_heads", "n_head"),
    ("intermediate_size", "n_inner"),
    ("max_position_embeddings", "n_positions"),
    ("hidden_act", "activation_function"),
];
