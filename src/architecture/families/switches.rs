//! Decoders whose shape depends on switches in the file.

use super::decoder::{Decoder, HeadDim, KvHeads, LLAMA, Mlp, Norms, QkvNames, Width};
use super::older::{FC_NAMES, NEOX, OPT_NORMS};
use super::{Dropout, Switch};
use crate::architecture::fields::Fields;
use crate::architecture::weights::{self, A, AD, AKK, D, H, K, V};
use crate::architecture::{
    Activation, Architecture, Linear, Normalisation, Output, Param, Rotary, linear, norm,
};
use crate::ledger::{Dim, Group, Symbol};

/// `StableLM`: with a parallel residual there is no second norm; queries and keys have one norm for each head.
pub(super) fn stablelm(fields: &mut Fields) -> Decoder {
    let norms = [weights::INPUT_NORM, weights::POST_ATTENTION_NORM];
    let parallel = fields.flag("use_parallel_residual", false);
    Decoder {
        qkv_bias: Switch::Field("use_qkv_bias"),
        out_bias: Switch::Never,
        mlp_bias: [Switch::Never; 2],
        head_dim: HeadDim::Divided,
        norms: if parallel { Norms::One(norms[0]) } else { Norms::Before(norms) },
        parallel: Switch::Field("use_parallel_residual"),
        norm: Normalisation::Layer,
        norm_bias: Switch::Always,
        extra: if fields.flag("qk_layernorm", false) {
            const {
                &[
                    Param::new("self_attn.q_layernorm.norms.weight", Group::Attention, &[A, D]),
                    Param::new("self_attn.k_layernorm.norms.weight", Group::Attention, &[K, D]),
                ]
            }
        } else {
            &[]
        },
        ..LLAMA
    }
}

/// Falcon: the new architecture has two norms before a parallel block and as many key/value heads as the file says.
pub(super) fn falcon(fields: &mut Fields) -> Decoder {
    let new = fields.flag("new_decoder_architecture", false);
    let parallel = new || fields.flag("parallel_attn", true);
    let norms = match (new, parallel) {
        (true, _) if fields.size("num_ln_in_parallel_attn") != Some(1) => {
            Norms::Before([norm!("ln_attn", Norm, [H]), norm!("ln_mlp", Norm, [H])])
        }
        (_, true) => Norms::One(weights::INPUT_NORM),
        (_, false) => Norms::Before([weights::INPUT_NORM, weights::POST_ATTENTION_NORM]),
    };
    let bias = Switch::Field("bias");
    Decoder {
        qkv: QkvNames::Fused(linear!("self_attention.query_key_value", Attention, [AKK, D], H)),
        out: linear!("self_attention.dense", Attention, [H], AD),
        qkv_bias: bias,
        out_bias: bias,
        kv_heads: if new { KvHeads::Field } else { KvHeads::OneIf(Switch::On("multi_query")) },
        rotary: if fields.flag("alibi", false) { Rotary::None } else { Rotary::Joined },
        mlp_bias: [bias; 2],
        width: Width::Or(4),
        norms,
        parallel: if parallel { Switch::Always } else { Switch::Never },
        final_norm: Some(norm!("ln_f", FinalNorm, [H])),
        tied: Switch::On("tie_word_embeddings"),
        counted_only: true,
        ..NEOX
    }
}

/// OPT: two rows of positions more than the file says; embeddings of another width are projected, and post-norm
/// models have no last norm.
pub(super) fn opt(fields: &mut Fields, dropout: &Dropout) -> Option<Architecture> {
    let before = fields.flag("do_layer_norm_before", true);
    let affine = fields.flag("layer_norm_elementwise_affine", true);
    let removed = fields.flag("_remove_final_layer_norm", false);
    let bias = Switch::On("enable_bias");
    let decoder = Decoder {
        qkv_bias: bias,
        out: linear!("self_attn.out_proj", Attention, [H], AD),
        out_bias: bias,
        head_dim: HeadDim::Divided,
        kv_heads: KvHeads::All,
        rotary: Rotary::None,
        mlp: Mlp::Plain(FC_NAMES, Activation::Relu),
        mlp_bias: [bias; 2],
        norms: match (affine, before) {
            (true, true) => Norms::Before(OPT_NORMS),
            (true, false) => Norms::After(OPT_NORMS),
            (false, _) => Norms::Bare,
        },
        norm: Normalisation::Layer,
        norm_bias: Switch::Always,
        final_norm: (before && affine && !removed).then_some(norm!("final_layer_norm", FinalNorm, [H])),
        positions: Some(("max_position_embeddings", 2)),
        positions_by_row: true,
        dropped_by_layer: true,
        dropout: [("attention_dropout", 0.0), ("dropout", 0.1), ("", 0.0)],
        tied: Switch::On("tie_word_embeddings"),
        // Post-norm models norm the sum, not the branch.
        counted_only: !before || !affine,
        ..LLAMA
    };
    let mut model = decoder.compose(fields, dropout)?;
    let hidden = model.size(Symbol::H);
    if let Some(width) = fields.size("word_embed_proj_dim").filter(|width| *width != hidden) {
        let width = Dim::of(width);
        let inward = Param::new("project_in.weight", Group::Embedding, &[H, width]);
        let outward = Param::new("project_out.weight", Group::LmHead, &[width, H]);
        model.embedding.tables[0] = Param::new("embed_tokens.weight", Group::Embedding, &[V, width]);
        model.embedding.other = vec![inward];
        model.head.other = vec![outward];
        if let Output::Tokens(Linear { weight, .. }) = &mut model.head.output {
            *weight = Param::new("lm_head.weight", Group::LmHead, &[V, width]);
        }
    }
    Some(model)
}
