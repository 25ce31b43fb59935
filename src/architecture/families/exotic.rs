//! Decoders with parts of their own: counted.

use super::Family;
use super::counted::{Paths, Tensors, kinds, paths};
use super::frame::Frame;
use super::state_space::Mamba2;
use crate::architecture::Architecture;
use crate::architecture::fields::Fields;
use crate::ledger::{Group, Symbol};

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("dbrx", |fields, _| dbrx(fields)).alias(&[
        ("hidden_size", "d_model"),
        ("num_attention_heads", "n_heads"),
        ("num_hidden_layers", "n_layers"),
    ]),
    Family::own("doge", |fields, _| doge(fields))
        .default(&[("num_experts", 16_384), ("num_experts_per_tok", 64)]),
    Family::own("gemma4_text", |fields, _| gemma4(fields))
        .alias(&[("num_experts_per_tok", "top_k_experts")])
        .default(&[
            ("head_dim", 256),
            ("global_head_dim", 512),
            ("num_attention_heads", 8),
            ("num_key_value_heads", 4),
            ("vocab_size", 262_144),
            ("vocab_size_per_layer_input", 262_144),
            ("hidden_size_per_layer_input", 256),
        ]),
    Family::own("zamba2", |fields, _| zamba2(fields)).default(&[
        ("mamba_d_state", 64),
        ("mamba_d_conv", 4),
        ("mamba_expand", 2),
        ("mamba_ngroups", 1),
        ("n_mamba_heads", 8),
        ("num_mem_blocks", 1),
        ("adapter_rank", 128),
    ]),
    Family::own("nemotron_h", |fields, _| nemotron_h(fields))
        .alias(&[("n_routed_experts", "num_local_experts")])
        .default(&[
            ("head_dim", 128),
            ("num_key_value_heads", 8),
            ("ssm_state_size", 128),
            ("mamba_num_heads", 128),
            ("mamba_head_dim", 64),
            ("n_groups", 8),
            ("conv_kernel", 4),
            ("n_routed_experts", 8),
            ("num_experts_per_tok", 2),
            ("moe_intermediate_size", 7688),
            ("moe_shared_expert_intermediate_size", 7688),
        ]),
];

/// Attention and experts each have an object of their own in the file.
fn dbrx(fields: &mut Fields) -> Option<Architecture> {
    let kv = fields.nested("attn_config").and_then(|nested| nested.positive("kv_n_heads"));
    let [ffn, count, top] = match fields.nested("ffn_config") {
        Some(nested) => ["ffn_hidden_size", "moe_num_experts", "moe_top_k"].map(|key| nested.positive(key)),
        None => [None; 3],
    };
    let ffn = ffn.unwrap_or(3584);
    let mut frame = Frame::with_width(fields, Some(ffn))?;
    if let Some(kv) = kv {
        frame.kv = kv;
    }
    let (count, top) = (count.unwrap_or(4), top.unwrap_or(1));
    for (symbol, size) in [(Symbol::E, count), (Symbol::Top, top.min(count)), (Symbol::M, ffn)] {
        frame.symbols.set(symbol, size);
    }
    let (h, wide) = (frame.hidden, frame.heads * frame.head_dim);
    let all = (0..frame.layers).map(|_| ()).collect();
    Some(frame.model(fields, all, false, |t, ()| {
        t.group(Group::Norm).norm(paths!("norm_attn_norm.norm_1"), h, false).norm(
            paths!("norm_attn_norm.norm_2"),
            h,
            false,
        );
        t.group(Group::Attention)
            .linear(paths!("norm_attn_norm.attn.Wqkv"), wide + 2 * frame.kv * frame.head_dim, h, false)
            .linear(paths!("norm_attn_norm.attn.out_proj"), h, wide, false);
        frame.moe(t, (count, ffn));
    }))
}

/// Scaled residuals, a dynamic mask, and experts that are rows of a table.
fn doge(fields: &mut Fields) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let bias = fields.flag("attention_bias", false);
    let mlp_bias = fields.flag("mlp_bias", false);
    let experts = if fields.flag("is_moe", false) { fields.needed("num_experts")? } else { 0 };
    // Product keys: the router scores two axes of this many.
    let keys = experts.isqrt();
    let (h, kv) = (frame.hidden, frame.kv);
    let all = (0..frame.layers).map(|_| ()).collect();
    Some(frame.model(fields, all, false, |t, ()| {
        frame.norms(t);
        frame.attention(t, 1, bias);
        frame.qk_norm(t);
        t.tensor("self_attn.A", &[kv]).linear(paths!("self_attn.dt_proj"), kv, kv * frame.head_dim, bias);
        t.group(Group::Other).tensor("input_residual", &[h]).tensor("post_attention_residual", &[h]);
        frame.mlp(t, frame.ffn, mlp_bias);
        if experts > 0 {
            t.linear(paths!("mlp.router_gate"), 2 * keys, h, false)
                .tensor("mlp.down_embed.weight", &[experts, h])
                .tensor("mlp.up_embed.weight", &[experts, h]);
        }
    }))
}

/// Heads of two widths, and an embedding for each layer.
fn gemma4(fields: &mut Fields) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let wide = fields.needed("global_head_dim")?;
    let bias = fields.flag("attention_bias", false);
    let per_layer = fields.count("hidden_size_per_layer_input");
    let vocab = fields.needed("vocab_size_per_layer_input")?;
    let list = kinds(fields, frame.layers);
    let end = frame.layers.saturating_sub(1);
    // The last layer sees everything, whatever the list says.
    let full = |layer: u64| {
        layer == end
            || match &list {
                Some(list) => usize::try_from(layer).is_ok_and(|layer| list[layer] == "full_attention"),
                None => (layer + 1).is_multiple_of(6),
            }
    };
    let all = (0..frame.layers).map(full).collect();
    let h = frame.hidden;
    let mut model = frame.model(fields, all, true, |t, full| {
        let sized = Frame { head_dim: if full { wide } else { frame.head_dim }, ..frame };
        frame.norms(t);
        t.norm(paths!("pre_feedforward_layernorm"), h, false).norm(
            paths!("post_feedforward_layernorm"),
            h,
            false,
        );
        sized.attention(t, 1, bias);
        sized.qk_norm(t);
        frame.mlp(t, frame.ffn, false);
        if per_layer > 0 {
            t.group(Group::Other)
                .linear(paths!("per_layer_input_gate"), per_layer, h, false)
                .linear(paths!("per_layer_projection"), h, per_layer, false)
                .norm(paths!("post_per_layer_input_norm"), h, false);
        }
    });
    if per_layer > 0 {
        let all = per_layer.saturating_mul(frame.layers);
        let mut t = Tensors::new(Group::Embedding);
        t.tensor("embed_tokens_per_layer.weight", &[vocab, all])
            .linear(paths!("per_layer_model_projection"), all, h, false)
            .norm(paths!("per_layer_projection_norm"), per_layer, false);
        model.embedding.other.extend(t.params());
    }
    Some(model)
}

/// Adapters on queries, keys and values: down to the rank, and up again.
const ADAPTERS: [[Paths; 2]; 3] = [
    [
        paths!("shared_transformer.self_attn.linear_q_adapter_list.0"),
        paths!("shared_transformer.self_attn.linear_q_adapter_list.1"),
    ],
    [
        paths!("shared_transformer.self_attn.linear_k_adapter_list.0"),
        paths!("shared_transformer.self_attn.linear_k_adapter_list.1"),
    ],
    [
        paths!("shared_transformer.self_attn.linear_v_adapter_list.0"),
        paths!("shared_transformer.self_attn.linear_v_adapter_list.1"),
    ],
];

/// Mamba-2 layers, some of which pass through transformer blocks that they share: those count once, each use has
/// adapters of its own.
fn zamba2(fields: &mut Fields) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size")?;
    let ffn = fields.size("intermediate_size").unwrap_or(4 * hidden);
    let frame = Frame::with_width(fields, Some(ffn))?;
    let h = frame.hidden;
    let mixer = Mamba2 {
        hidden: h,
        inner: fields.needed("mamba_expand")?.saturating_mul(h),
        heads: fields.needed("n_mamba_heads")?,
        groups: fields.needed("mamba_ngroups")?,
        state: fields.needed("mamba_d_state")?,
        kernel: fields.needed("mamba_d_conv")?,
        proj_bias: fields.flag("add_bias_linear", false),
        conv_bias: fields.flag("use_conv_bias", true),
        norm: true,
    };
    let blocks = fields.needed("num_mem_blocks")?;
    let rank = fields.needed("adapter_rank")?;
    let attention_adapters = fields.flag("use_shared_attention_adapter", false);
    let bias = fields.flag("add_bias_linear", false);
    let list = kinds(fields, frame.layers);
    let hybrid = |layer: u64| match &list {
        Some(list) => usize::try_from(layer).is_ok_and(|layer| list[layer] == "hybrid"),
        None => layer.is_multiple_of(6) && layer > 0,
    };
    let hybrids = (0..frame.layers).filter(|layer| hybrid(*layer)).count() as u64;
    // Heads of the shared blocks read stream and embedding side by side.
    let wide = 2 * h;
    let kv = wide / frame.heads * frame.kv;
    let all = (0..frame.layers).map(hybrid).collect();
    let mut model = frame.model(fields, all, true, |t, hybrid| {
        t.group(Group::Norm).norm(paths!("input_layernorm"), h, false);
        mixer.count(t);
        if hybrid {
            t.linear(paths!("linear"), h, h, false);
            t.group(Group::Mlp)
                .linear(paths!("shared_transformer.feed_forward.gate_up_proj_adapter_list.0"), rank, h, false)
                .linear(
                    paths!("shared_transformer.feed_forward.gate_up_proj_adapter_list.1"),
                    2 * ffn,
                    rank,
                    false,
                );
            for [down, up] in ADAPTERS.iter().filter(|_| attention_adapters) {
                t.group(Group::Attention).linear(*down, rank, wide, false).linear(*up, wide, rank, false);
            }
        }
    });
    let mut shared = Tensors::new(Group::Norm);
    for _ in 0..blocks.min(hybrids) {
        shared.group(Group::Norm).norm(paths!("shared_transformer.input_layernorm"), wide, false).norm(
            paths!("shared_transformer.pre_ff_layernorm"),
            h,
            false,
        );
        shared
            .group(Group::Attention)
            .linear(paths!("shared_transformer.self_attn.q_proj"), wide, wide, false)
            .linear(paths!("shared_transformer.self_attn.k_proj"), kv, wide, false)
            .linear(paths!("shared_transformer.self_attn.v_proj"), kv, wide, false)
            .linear(paths!("shared_transformer.self_attn.o_proj"), h, wide, false);
        shared
            .group(Group::Mlp)
            .linear(paths!("shared_transformer.feed_forward.gate_up_proj"), 2 * ffn, h, bias)
            .linear(paths!("shared_transformer.feed_forward.down_proj"), h, ffn, bias);
    }
    model.head.other.extend(shared.params());
    Some(model)
}

/// One block a layer: Mamba-2, attention, feed-forward or experts.
fn nemotron_h(fields: &mut Fields) -> Option<Architecture> {
    let list: Vec<&str> = match (fields.words("layers_block_type"), fields.text("hybrid_override_pattern")) {
        (Some(list), _) => list,
        (None, Some(pattern)) => pattern
            .chars()
            .map(|letter| match letter {
                'M' => "mamba",
                '*' => "attention",
                'E' => "moe",
                _ => "mlp",
            })
            .collect(),
        (None, None) => vec!["mamba", "moe", "attention", "mlp"],
    };
    let layers = list.len() as u64;
    let ffn = fields.needed("intermediate_size")?;
    let mut frame = Frame::with_layers(fields, layers, ffn)?;
    let h = frame.hidden;
    let inner = fields.needed("mamba_num_heads")?.saturating_mul(fields.needed("mamba_head_dim")?);
    let mixer = Mamba2 {
        hidden: h,
        inner,
        heads: fields.needed("mamba_num_heads")?,
        groups: fields.needed("n_groups")?,
        state: fields.needed("ssm_state_size")?,
        kernel: fields.needed("conv_kernel")?,
        proj_bias: fields.flag("use_bias", false),
        conv_bias: fields.flag("use_conv_bias", true),
        norm: true,
    };
    let bias = fields.flag("attention_bias", false);
    let mlp_bias = fields.flag("mlp_bias", false);
    let width = fields.needed("moe_intermediate_size")?;
    let shared = fields.count("moe_shared_expert_intermediate_size");
    let experts = frame.experts(fields, "n_routed_experts", width);
    let mut model = frame.model(fields, list, false, |t, kind| {
        t.group(Group::Norm).norm(paths!("norm"), h, false);
        match kind {
            "attention" | "full_attention" => frame.attention(t, 1, bias),
            "mlp" => {
                t.group(Group::Mlp).linear(paths!("mixer.up_proj"), frame.ffn, h, mlp_bias).linear(
                    paths!("mixer.down_proj"),
                    h,
                    frame.ffn,
                    mlp_bias,
                );
            }
            "moe" => {
                let (count, width) = experts;
                t.group(Group::Router).linear(paths!("mixer.gate"), count, h, false);
                t.group(Group::Experts)
                    .tensor("mixer.experts.up_proj", &[count, width, h])
                    .tensor("mixer.experts.down_proj", &[count, h, width]);
                t.group(Group::SharedExperts)
                    .linear(paths!("mixer.shared_experts.up_proj"), shared, h, mlp_bias)
                    .linear(paths!("mixer.shared_experts.down_proj"), h, shared, mlp_bias);
            }
            _ => mixer.count(t),
        }
    });
    // The class ties nothing, whatever the file says.
    model.tied = false;
    Some(model)
}
