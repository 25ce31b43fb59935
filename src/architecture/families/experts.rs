//! Decoders with mixtures of experts.

use super::decoder::{Decoder, HeadDim, KvHeads, LLAMA, Width, Window};
use super::decoders::{FULL_QK_NORM, QK_NORM};
use super::latent::Latent;
use super::moe::{Dense, Experts, SHARED, Shared};
use super::{Family, Switch};
use crate::architecture::weights::{A, D, E, H, M, Names};
use crate::architecture::{Normalisation, Param, Rotary, RotaryTables, Routing, linear, norm};
use crate::ledger::{Dim, Group, Symbol};

const TWO_M: Dim = Dim::Scale(2, Symbol::M);

const fn three(path: &'static str, axes: &[Dim]) -> Param {
    Param::new(path, Group::Experts, axes)
}

const ROUTER: Names = linear!("mlp.gate", Router, [E], H);
/// `DeepSeek`'s router stays fp32.
const FP32_ROUTER: Names = &(ROUTER.0.in_fp32(), ROUTER.1);

const MIXTRAL: Experts = Experts {
    count: "num_local_experts",
    top: "num_experts_per_tok",
    width: "intermediate_size",
    router: ROUTER,
    router_bias: false,
    routing: Routing::SoftmaxRenormalised,
    renormalised: Switch::Always,
    gate_up: &(
        three("mlp.experts.gate_up_proj", &[E, TWO_M, H]),
        three("mlp.experts.gate_up_proj_bias", &[E, TWO_M]),
    ),
    down: &(three("mlp.experts.down_proj", &[E, H, M]), three("mlp.experts.down_proj_bias", &[E, H])),
    biased: false,
    shared: Shared::None,
    shared_names: [
        linear!("mlp.shared_experts.gate_proj", SharedExperts, [SHARED], H),
        linear!("mlp.shared_experts.up_proj", SharedExperts, [SHARED], H),
        linear!("mlp.shared_experts.down_proj", SharedExperts, [H], SHARED),
    ],
    shared_gate: None,
    correction: None,
    dense: Dense::None,
};

const QWEN3: Experts = Experts {
    count: "num_experts",
    width: "moe_intermediate_size",
    routing: Routing::SoftmaxRenormalisedCast,
    renormalised: Switch::Field("norm_topk_prob"),
    dense: Dense::Step,
    ..MIXTRAL
};
const QWEN2: Experts = Experts {
    shared: Shared::Width("shared_expert_intermediate_size"),
    shared_names: [
        linear!("mlp.shared_expert.gate_proj", SharedExperts, [SHARED], H),
        linear!("mlp.shared_expert.up_proj", SharedExperts, [SHARED], H),
        linear!("mlp.shared_expert.down_proj", SharedExperts, [H], SHARED),
    ],
    shared_gate: Some(linear!("mlp.shared_expert_gate", SharedExperts, [Dim::Const(1)], H)),
    ..QWEN3
};
const DEEPSEEK_V2: Experts = Experts {
    count: "n_routed_experts",
    width: "moe_intermediate_size",
    routing: Routing::SoftmaxFp32Input,
    router: FP32_ROUTER,
    shared: Shared::Count("n_shared_experts"),
    dense: Dense::First("first_k_dense_replace", 0),
    ..MIXTRAL
};
const DEEPSEEK_V3: Experts = Experts {
    routing: Routing::SigmoidFp32Renormalised,
    renormalised: Switch::On("norm_topk_prob"),
    dense: Dense::First("first_k_dense_replace", 3),
    ..DEEPSEEK_V2
};
const GLM4: Experts = Experts { dense: Dense::First("first_k_dense_replace", 1), ..DEEPSEEK_V3 };
const DOTS1: Experts = Experts {
    renormalised: Switch::Field("norm_topk_prob"),
    dense: Dense::First("first_k_dense_replace", 0),
    ..DEEPSEEK_V3
};
const ERNIE: Experts = Experts {
    count: "num_experts",
    width: "moe_intermediate_size",
    routing: Routing::SoftmaxFp32Clamped,
    router: FP32_ROUTER,
    shared: Shared::Count("moe_num_shared_experts"),
    correction: Some(Param::new(
        "mlp.gate.moe_statics.e_score_correction_bias",
        Group::Router,
        &[Dim::Const(1), E],
    )),
    dense: Dense::First("moe_layer_start_index", 1),
    ..MIXTRAL
};
const HUNYUAN: Experts = Experts {
    count: "num_experts",
    router: linear!("mlp.gate.wg", Router, [E], H),
    shared: Shared::Width("intermediate_size"),
    shared_names: [
        linear!("mlp.shared_mlp.gate_proj", SharedExperts, [SHARED], H),
        linear!("mlp.shared_mlp.up_proj", SharedExperts, [SHARED], H),
        linear!("mlp.shared_mlp.down_proj", SharedExperts, [H], SHARED),
    ],
    ..MIXTRAL
};
const GPT_OSS: Experts = Experts {
    routing: Routing::TopFirstOwn,
    router: linear!("mlp.router", Router, [E], H),
    router_bias: true,
    gate_up: &(
        three("mlp.experts.gate_up_proj", &[E, H, TWO_M]),
        three("mlp.experts.gate_up_proj_bias", &[E, TWO_M]),
    ),
    down: &(three("mlp.experts.down_proj", &[E, M, H]), three("mlp.experts.down_proj_bias", &[E, H])),
    biased: true,
    ..MIXTRAL
};
const LLAMA4: Experts = Experts {
    router: linear!("feed_forward.router", Router, [E], H),
    routing: Routing::Sigmoid,
    shared: Shared::Width("intermediate_size"),
    dense: Dense::Interleaved("interleave_moe_layer_step"),
    ..MIXTRAL
};
const PHIMOE: Experts = Experts { router: linear!("mlp.router", Router, [E], H), ..MIXTRAL };
const GRANITE: Experts = Experts {
    routing: Routing::TopFirst,
    router: linear!("block_sparse_moe.router", Router, [E], H),
    ..MIXTRAL
};
const GRANITE_SHARED: Experts = Experts { shared: Shared::Width("shared_intermediate_size"), ..GRANITE };
const OLMOE: Experts = Experts {
    count: "num_experts",
    routing: Routing::SoftmaxRenormalisedCast,
    renormalised: Switch::Field("norm_topk_prob"),
    ..MIXTRAL
};
const MINIMAX_M2: Experts = Experts { routing: Routing::Sigmoid, ..MIXTRAL };
const PLAIN: Decoder =
    Decoder { qkv_bias: Switch::Never, out_bias: Switch::Never, mlp_bias: [Switch::Never; 2], ..LLAMA };

const GLM4_MOE: Decoder = Decoder {
    out_bias: Switch::Never,
    mlp_bias: [Switch::Never; 2],
    qk_norm: Some((Switch::Field("use_qk_norm"), QK_NORM)),
    rotary: Rotary::Joined,
    rotary_part: 0.5,
    experts: Some(&GLM4),
    ..LLAMA
};

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::decoder("mixtral", &Decoder { experts: Some(&MIXTRAL), window: Window::Every, ..PLAIN })
        .alias(&[("num_local_experts", "num_experts")])
        .default(&[("num_key_value_heads", 8), ("num_experts_per_tok", 2), ("num_local_experts", 8)]),
    Family::decoder(
        "qwen2_moe",
        &Decoder { qkv_bias: Switch::On("qkv_bias"), experts: Some(&QWEN2), window: Window::Opted, ..PLAIN },
    )
    .alias(&[("num_experts", "num_local_experts")])
    .default(&[
        ("num_key_value_heads", 16),
        ("num_experts", 60),
        ("num_experts_per_tok", 4),
        ("moe_intermediate_size", 1408),
        ("shared_expert_intermediate_size", 5632),
        ("sliding_window", 4096),
    ]),
    Family::decoder(
        "qwen3_moe",
        &Decoder {
            mlp_bias: [Switch::Never; 2],
            qk_norm: Some((Switch::Always, QK_NORM)),
            experts: Some(&QWEN3),
            window: Window::EveryOpted,
            ..LLAMA
        },
    )
    .alias(&[("num_experts", "num_local_experts")])
    .default(&[
        ("num_key_value_heads", 4),
        ("num_experts", 128),
        ("num_experts_per_tok", 8),
        ("moe_intermediate_size", 768),
        ("sliding_window", 4096),
    ]),
    Family::decoder(
        "deepseek_v2",
        &Decoder {
            latent: Some(Latent { bias: Switch::Field("attention_bias") }),
            head_dim: HeadDim::Divided,
            kv_heads: KvHeads::All,
            tables: RotaryTables::Complex,
            experts: Some(&DEEPSEEK_V2),
            ..LLAMA
        },
    )
    .alias(&[("n_routed_experts", "num_experts"), ("n_routed_experts", "num_local_experts")])
    .default(&[
        ("n_routed_experts", 64),
        ("n_shared_experts", 2),
        ("moe_intermediate_size", 1407),
        ("kv_lora_rank", 512),
        ("qk_nope_head_dim", 128),
        ("qk_rope_head_dim", 64),
        ("v_head_dim", 128),
    ]),
    Family::decoder(
        "deepseek_v3",
        &Decoder {
            latent: Some(Latent { bias: Switch::Field("attention_bias") }),
            head_dim: HeadDim::Divided,
            kv_heads: KvHeads::All,
            mlp_bias: [Switch::Never; 2],
            experts: Some(&DEEPSEEK_V3),
            ..LLAMA
        },
    )
    .alias(&[("n_routed_experts", "num_local_experts"), ("n_routed_experts", "num_experts")])
    .default(&[
        ("n_routed_experts", 256),
        ("n_shared_experts", 1),
        ("num_experts_per_tok", 8),
        ("moe_intermediate_size", 2048),
        ("kv_lora_rank", 512),
        ("qk_nope_head_dim", 128),
        ("qk_rope_head_dim", 64),
        ("v_head_dim", 128),
    ]),
    Family::decoder("glm4_moe", &GLM4_MOE)
        .alias(&[("n_routed_experts", "num_local_experts"), ("n_routed_experts", "num_experts")])
        .default(&[("n_routed_experts", 128), ("n_shared_experts", 1), ("num_experts_per_tok", 8)]),
    // The class of GLM-4.5 builds it.
    Family::decoder(
        "sarvam_moe",
        &Decoder { qk_norm: Some((Switch::On("use_qk_norm"), QK_NORM)), ..GLM4_MOE },
    )
    .alias(&[("n_routed_experts", "num_local_experts"), ("n_routed_experts", "num_experts")])
    .default(&[("n_routed_experts", 128), ("n_shared_experts", 1), ("num_experts_per_tok", 6)]),
    Family::decoder(
        "dots1",
        &Decoder {
            mlp_bias: [Switch::Never; 2],
            qk_norm: Some((Switch::Always, QK_NORM)),
            experts: Some(&DOTS1),
            ..LLAMA
        },
    )
    .alias(&[("n_routed_experts", "num_local_experts"), ("n_routed_experts", "num_experts")]),
    Family::decoder(
        "phimoe",
        &Decoder {
            norm: Normalisation::Layer,
            norm_bias: Switch::Always,
            experts: Some(&PHIMOE),
            window: Window::Every,
            head_bias: Switch::Field("lm_head_bias"),
            ..LLAMA
        },
    )
    .alias(&[("num_local_experts", "num_experts")])
    .default(&[("num_local_experts", 16), ("num_experts_per_tok", 2)]),
    Family::decoder("granitemoe", &Decoder { experts: Some(&GRANITE), ..LLAMA })
        .alias(&[("num_local_experts", "num_experts")]),
    Family::decoder("granitemoeshared", &Decoder { experts: Some(&GRANITE_SHARED), ..LLAMA })
        .alias(&[("num_local_experts", "num_experts")]),
    Family::decoder(
        "olmoe",
        &Decoder { qk_norm: Some((Switch::Always, FULL_QK_NORM)), experts: Some(&OLMOE), ..LLAMA },
    )
    .alias(&[("num_experts", "num_local_experts")])
    .default(&[("num_experts", 64), ("num_experts_per_tok", 8)]),
    Family::decoder(
        "minimax_m2",
        &Decoder {
            head_dim: HeadDim::Field(Some(128)),
            qk_norm: Some((Switch::Always, FULL_QK_NORM)),
            rotary: Rotary::Joined,
            experts: Some(&MINIMAX_M2),
            ..PLAIN
        },
    )
    .alias(&[("num_local_experts", "num_experts")])
    .default(&[("num_local_experts", 256), ("num_experts_per_tok", 8)]),
    Family::decoder(
        "ernie4_5_moe",
        &Decoder {
            qkv_bias: Switch::Field("use_bias"),
            out_bias: Switch::Field("use_bias"),
            mlp_bias: [Switch::Field("use_bias"); 2],
            experts: Some(&ERNIE),
            tied: Switch::On("tie_word_embeddings"),
            ..LLAMA
        },
    )
    .alias(&[("num_experts", "moe_num_experts"), ("num_experts_per_tok", "moe_k")])
    .default(&[
        ("num_experts", 64),
        ("num_experts_per_tok", 6),
        ("moe_num_shared_experts", 2),
        ("moe_intermediate_size", 1536),
    ]),
    Family::decoder(
        "hunyuan_v1_moe",
        &Decoder {
            mlp_bias: [Switch::Never; 2],
            qk_norm: Some((
                Switch::Always,
                [
                    norm!("self_attn.query_layernorm", Attention, [D]),
                    norm!("self_attn.key_layernorm", Attention, [D]),
                ],
            )),
            experts: Some(&HUNYUAN),
            ..LLAMA
        },
    )
    .alias(&[("num_experts_per_tok", "moe_topk"), ("num_experts", "num_local_experts")])
    .default(&[("num_experts", 1), ("num_experts_per_tok", 1)]),
    Family::decoder(
        "gpt_oss",
        &Decoder {
            qkv_bias: Switch::On("attention_bias"),
            out_bias: Switch::On("attention_bias"),
            head_dim: HeadDim::Field(Some(64)),
            sinks: Some(Param::new("self_attn.sinks", Group::Attention, &[A])),
            norm: Normalisation::WideRms,
            tables: RotaryTables::Half,
            experts: Some(&GPT_OSS),
            window: Window::AllBut("", 2),
            ..LLAMA
        },
    )
    .alias(&[("num_local_experts", "num_experts")])
    .default(&[
        ("num_local_experts", 128),
        ("num_experts_per_tok", 4),
        ("num_key_value_heads", 8),
        ("sliding_window", 128),
    ]),
    Family::decoder(
        "llama4_text",
        &Decoder {
            head_dim: HeadDim::Field(Some(128)),
            mlp_bias: [Switch::Never; 2],
            width: Width::Field("intermediate_size_mlp"),
            experts: Some(&LLAMA4),
            counted_only: true,
            ..LLAMA
        },
    )
    .alias(&[("num_local_experts", "num_experts")])
    .default(&[
        ("intermediate_size_mlp", 16_384),
        ("num_local_experts", 16),
        ("num_experts_per_tok", 1),
        ("num_key_value_heads", 8),
    ]),
];
