//! Hybrids of attention with state-space mixers, linear attention or convolutions: counted.

use super::counted::{kinds, paths};
use super::frame::Frame;
use super::state_space::Mamba1;
use super::{Dropout, Family};
use crate::architecture::Architecture;
use crate::architecture::fields::Fields;
use crate::ledger::Group;

const MAMBA2: &[(&str, u64)] = &[
    ("mamba_n_heads", 128),
    ("mamba_n_groups", 1),
    ("mamba_d_state", 256),
    ("mamba_d_conv", 4),
    ("mamba_expand", 2),
    ("shared_intermediate_size", 1024),
    ("num_local_experts", 8),
    ("num_experts_per_tok", 2),
];

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("jamba", jamba).alias(&[("num_experts", "num_local_experts")]).default(&[
        ("num_experts", 16),
        ("num_experts_per_tok", 2),
        ("mamba_d_state", 16),
        ("mamba_d_conv", 4),
        ("mamba_expand", 2),
        ("attn_layer_period", 8),
        ("attn_layer_offset", 4),
        ("expert_layer_period", 2),
        ("expert_layer_offset", 1),
        ("num_key_value_heads", 8),
    ]),
    Family::own("bamba", bamba).default(MAMBA2),
    Family::own("falcon_h1", falcon_h1).default(MAMBA2),
    Family::own("granitemoehybrid", granite).default(MAMBA2),
    Family::own("qwen3_next", qwen3_next).default(&[
        ("head_dim", 256),
        ("linear_conv_kernel_dim", 4),
        ("linear_key_head_dim", 128),
        ("linear_value_head_dim", 128),
        ("linear_num_key_heads", 16),
        ("linear_num_value_heads", 32),
        ("moe_intermediate_size", 512),
        ("shared_expert_intermediate_size", 512),
        ("num_experts_per_tok", 10),
        ("num_experts", 512),
        ("num_key_value_heads", 2),
    ]),
    Family::own("minimax", minimax).alias(&[("num_local_experts", "num_experts")]).default(&[
        ("num_local_experts", 8),
        ("num_experts_per_tok", 2),
        ("num_key_value_heads", 8),
    ]),
    Family::own("lfm2", lfm2)
        .alias(&[("intermediate_size", "block_ff_dim"), ("tie_word_embeddings", "tie_embedding")])
        .default(&[("conv_L_cache", 3), ("block_multiple_of", 256), ("num_key_value_heads", 8)]),
];

/// Every `period`-th layer from `offset` on.
fn periodic(fields: &mut Fields, period: &'static str, offset: &'static str, layers: u64) -> Vec<bool> {
    let period = fields.size(period).unwrap_or(1);
    let offset = fields.count(offset);
    (0..layers).map(|layer| layer % period == offset % period).collect()
}

fn jamba(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let mut frame = Frame::read(fields)?;
    let experts = frame.experts(fields, "num_experts", frame.ffn);
    let rank = match fields.text("mamba_dt_rank") {
        Some("auto") => None,
        _ => fields.size("mamba_dt_rank"),
    };
    let mixer = Mamba1 {
        hidden: frame.hidden,
        inner: fields.needed("mamba_expand")?.saturating_mul(frame.hidden),
        state: fields.needed("mamba_d_state")?,
        kernel: fields.needed("mamba_d_conv")?,
        rank: rank.unwrap_or(frame.hidden.div_ceil(16)),
        proj_bias: fields.flag("mamba_proj_bias", false),
        conv_bias: fields.flag("mamba_conv_bias", true),
        norms: true,
    };
    let attention = periodic(fields, "attn_layer_period", "attn_layer_offset", frame.layers);
    let sparse = periodic(fields, "expert_layer_period", "expert_layer_offset", frame.layers);
    let kinds = attention.into_iter().zip(sparse).collect();
    Some(frame.model(fields, kinds, false, |t, (attention, sparse)| {
        frame.norms(t);
        if attention {
            frame.attention(t, 1, false);
        } else {
            mixer.count(t);
        }
        if sparse && experts.0 > 1 {
            frame.moe(t, experts);
        } else {
            frame.mlp(t, frame.ffn, false);
        }
    }))
}

fn bamba(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let mixer = frame.mamba2(fields, None, true)?;
    let bias = fields.flag("attention_bias", false);
    let mlp_bias = fields.flag("mlp_bias", false);
    let kinds = if let Some(list) = kinds(fields, frame.layers) {
        list.iter().map(|kind| attends(kind)).collect()
    } else {
        let attention = fields.indices("attn_layer_indices");
        (0..frame.layers).map(|layer| attention.contains(&layer)).collect()
    };
    Some(frame.model(fields, kinds, false, |t, attention| {
        frame.norms(t);
        if attention {
            frame.attention(t, 1, bias);
        } else {
            mixer.count(t);
        }
        frame.mlp(t, frame.ffn, mlp_bias);
    }))
}

/// Whether a word of `layer_types` means full attention.
fn attends(kind: &str) -> bool {
    kind.contains("attention") && !kind.contains("linear")
}

/// Attention and a mixer side by side in every layer.
fn falcon_h1(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let inner = if fields.present("mamba_d_ssm", false) { fields.size("mamba_d_ssm") } else { Some(1024) };
    let norm = fields.flag("mamba_rms_norm", false);
    let mixer = frame.mamba2(fields, inner, norm)?;
    let bias = fields.flag("attention_bias", false);
    let mlp_bias = fields.flag("mlp_bias", false);
    let kinds = (0..frame.layers).map(|_| ()).collect();
    Some(frame.model(fields, kinds, false, |t, ()| {
        frame.norms(t);
        mixer.count(t);
        frame.attention(t, 1, bias);
        frame.mlp(t, frame.ffn, mlp_bias);
    }))
}

fn granite(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let mut frame = Frame::read(fields)?;
    let experts = frame.experts(fields, "num_local_experts", frame.ffn);
    let shared = fields.count("shared_intermediate_size");
    let mixer = frame.mamba2(fields, None, true)?;
    let bias = fields.flag("attention_bias", false);
    let kinds = kinds(fields, frame.layers).map_or_else(
        || (0..frame.layers).map(|_| false).collect(),
        |list| list.iter().map(|kind| attends(kind)).collect(),
    );
    Some(frame.model(fields, kinds, false, |t, attention| {
        frame.norms(t);
        if attention {
            frame.attention(t, 1, bias);
        } else {
            mixer.count(t);
        }
        frame.moe(t, experts);
        frame.shared(t, shared);
    }))
}

/// Gated `DeltaNet` in three of four layers; attention has an output gate.
fn qwen3_next(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let mut frame = Frame::read(fields)?;
    let width = fields.needed("moe_intermediate_size")?;
    let experts = frame.experts(fields, "num_experts", width);
    let shared = fields.count("shared_expert_intermediate_size");
    let key_heads = fields.needed("linear_num_key_heads")?;
    let value_heads = fields.needed("linear_num_value_heads")?;
    let key = fields.needed("linear_key_head_dim")?.saturating_mul(key_heads);
    let value_dim = fields.needed("linear_value_head_dim")?;
    let value = value_dim.saturating_mul(value_heads);
    let kernel = fields.needed("linear_conv_kernel_dim")?;
    let bias = fields.flag("attention_bias", false);
    let step = fields.size("decoder_sparse_step").unwrap_or(1);
    let dense = fields.indices("mlp_only_layers");
    let list = kinds(fields, frame.layers);
    let full = |layer: u64| match &list {
        Some(list) => usize::try_from(layer).is_ok_and(|layer| list[layer] == "full_attention"),
        None => (layer + 1).is_multiple_of(4),
    };
    let sparse = |layer: u64| (layer + 1).is_multiple_of(step) && !dense.contains(&layer) && experts.0 > 0;
    let kinds = (0..frame.layers).map(|layer| (full(layer), sparse(layer))).collect();
    let h = frame.hidden;
    Some(frame.model(fields, kinds, false, |t, (full, sparse)| {
        frame.norms(t);
        if full {
            frame.attention(t, 2, bias);
            frame.qk_norm(t);
        } else {
            t.group(Group::Attention)
                .linear(paths!("linear_attn.in_proj_qkvz"), 2 * key + 2 * value, h, false)
                .linear(paths!("linear_attn.in_proj_ba"), 2 * value_heads, h, false)
                .conv(paths!("linear_attn.conv1d"), &[2 * key + value, 1, kernel], false)
                .tensor("linear_attn.A_log", &[value_heads])
                .tensor("linear_attn.dt_bias", &[value_heads])
                .norm(paths!("linear_attn.norm"), value_dim, false)
                .linear(paths!("linear_attn.out_proj"), h, value, false);
        }
        if sparse {
            frame.moe(t, experts);
            t.group(Group::SharedExperts)
                .linear(paths!("mlp.shared_expert.gate_proj"), shared, h, false)
                .linear(paths!("mlp.shared_expert.up_proj"), shared, h, false)
                .linear(paths!("mlp.shared_expert.down_proj"), h, shared, false)
                .linear(paths!("mlp.shared_expert_gate"), 1, h, false);
        } else {
            frame.mlp(t, frame.ffn, false);
        }
    }))
}

/// Lightning attention in all layers but those that the file lists as full.
fn minimax(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let mut frame = Frame::read(fields)?;
    let experts = frame.experts(fields, "num_local_experts", frame.ffn);
    let list = kinds(fields, frame.layers);
    let full = |layer: u64| match &list {
        Some(list) => usize::try_from(layer).is_ok_and(|layer| list[layer] == "full_attention"),
        None => (layer + 1).is_multiple_of(2),
    };
    let kinds = (0..frame.layers).map(full).collect();
    let (h, wide) = (frame.hidden, frame.heads * frame.head_dim);
    Some(frame.model(fields, kinds, false, |t, full| {
        frame.norms(t);
        if full {
            frame.attention(t, 1, false);
        } else {
            t.group(Group::Attention)
                .linear(paths!("self_attn.qkv_proj"), 3 * wide, h, false)
                .linear(paths!("self_attn.output_gate"), wide, h, false)
                .norm(paths!("self_attn.norm"), wide, false)
                .linear(paths!("self_attn.out_proj"), h, wide, false);
        }
        frame.moe(t, experts);
    }))
}

/// Short convolutions in most layers; the feed-forward's width is adjusted.
fn lfm2(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let kernel = fields.needed("conv_L_cache")?;
    let bias = fields.flag("conv_bias", false);
    let multiple = fields.needed("block_multiple_of")?;
    let factor = fields.factor("block_ffn_dim_multiplier", 1.0);
    let ffn = if fields.flag("block_auto_adjust_ff_dim", true) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "int() of a size, as written"
        )]
        let scaled = ((2 * frame.ffn / 3) as f64 * factor) as u64;
        scaled.div_ceil(multiple).saturating_mul(multiple)
    } else {
        frame.ffn
    };
    let kinds = if let Some(list) = kinds(fields, frame.layers) {
        list.iter().map(|kind| *kind == "full_attention").collect()
    } else {
        let full = fields.indices("full_attn_idxs");
        let all = full.is_empty();
        (0..frame.layers).map(|layer| all || full.contains(&layer)).collect()
    };
    let h = frame.hidden;
    Some(frame.model(fields, kinds, true, |t, full| {
        frame.norms(t);
        if full {
            frame.attention(t, 1, false);
            frame.qk_norm(t);
        } else {
            t.group(Group::Other)
                .linear(paths!("conv.in_proj"), 3 * h, h, bias)
                .conv(paths!("conv.conv"), &[h, 1, kernel], bias)
                .linear(paths!("conv.out_proj"), h, h, bias);
        }
        frame.mlp(t, ffn, false);
    }))
}
