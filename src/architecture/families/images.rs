//! Vision models beside the plain transformer, and pairs of text and vision: counted.

use super::compose::{arrange, layers, symbols};
use super::counted::{Tensors, model, paths};
use super::{Family, pairs};
use crate::architecture::fields::Fields;
use crate::architecture::{Architecture, Head, Output};
use crate::ledger::{Group, Symbol, Symbols};

const SIZES: &[(&str, u64)] = &[
    ("num_channels", 3),
    ("image_size", 224),
    ("patch_size", 16),
    ("window_size", 7),
    ("embed_dim", 96),
    ("embedding_size", 64),
];

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("dinov2", |fields, _| dinov2(fields)).default(&[
        ("num_channels", 3),
        ("image_size", 224),
        ("patch_size", 14),
    ]),
    Family::own("swin", |fields, _| swin(fields)).default(&[
        ("num_channels", 3),
        ("image_size", 224),
        ("patch_size", 4),
        ("window_size", 7),
        ("embed_dim", 96),
    ]),
    Family::own("convnext", |fields, _| convnext(fields)).default(&[("num_channels", 3), ("patch_size", 4)]),
    Family::own("resnet", |fields, _| resnet(fields)).default(SIZES),
    Family::own("clip", |fields, _| pairs::pair(fields, false)),
    Family::own("siglip", |fields, _| pairs::pair(fields, true)),
];

/// The head that the class named in the file puts on vectors of this width; a bare file tells `ImageNet`'s classes
/// apart.
pub(super) fn head(fields: &mut Fields, width: u64, mut t: Tensors) -> Head {
    if !fields.class().ends_with("Model") && !fields.class().ends_with("Backbone") {
        let default = if fields.class().is_empty() { super::vision::IMAGENET } else { 2 };
        let labels = fields.labels().unwrap_or(default);
        t.group(Group::LmHead).linear(paths!("classifier"), labels, width, true);
    }
    Head { transform: None, output: Output::None, other: t.params() }
}

/// Projections of a transformer over `h`, and its two norms.
pub(super) fn attention(t: &mut Tensors, h: u64, qkv_bias: bool) {
    t.group(Group::Attention)
        .linear(paths!("attention.q_proj"), h, h, qkv_bias)
        .linear(paths!("attention.k_proj"), h, h, qkv_bias)
        .linear(paths!("attention.v_proj"), h, h, qkv_bias)
        .linear(paths!("attention.o_proj"), h, h, true);
    t.group(Group::Norm).norm(paths!("norm1"), h, true).norm(paths!("norm2"), h, true);
}

pub(super) fn mlp(t: &mut Tensors, h: u64, ffn: u64) {
    t.group(Group::Mlp).linear(paths!("mlp.fc1"), ffn, h, true).linear(paths!("mlp.fc2"), h, ffn, true);
}

/// `int(width · factor)`, as the code has it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size times a small factor")]
fn times(width: u64, factor: f64) -> u64 {
    (width as f64 * factor) as u64
}

/// Layer scales, a mask token, and in the largest a gated feed-forward.
fn dinov2(fields: &mut Fields) -> Option<Architecture> {
    let hidden = fields.needed("hidden_size");
    let layers = layers(fields, "num_hidden_layers");
    let heads = fields.needed("num_attention_heads");
    let [channels, image, patch] = ["num_channels", "image_size", "patch_size"].map(|key| fields.needed(key));
    let (h, layers, channels, image, patch) = (hidden?, layers?, channels?, image?, patch?);
    let ffn = times(h, fields.factor("mlp_ratio", 4.0));
    let gated = fields.flag("use_swiglu_ffn", false);
    let qkv_bias = fields.flag("qkv_bias", true);
    let side = image / patch;
    let mut before = Tensors::new(Group::Embedding);
    before
        .tensor("embeddings.cls_token", &[1, 1, h])
        .tensor("embeddings.position_embeddings", &[1, side * side + 1, h])
        .conv(paths!("embeddings.patch_embeddings.projection"), &[h, channels, patch, patch], true);
    if fields.flag("use_mask_token", true) {
        before.tensor("embeddings.mask_token", &[1, h]);
    }
    let stack = arrange((0..layers).map(|_| ()), |()| {
        let mut t = Tensors::new(Group::Attention);
        attention(&mut t, h, qkv_bias);
        if gated {
            let width = (ffn * 2 / 3).div_ceil(8) * 8;
            t.group(Group::Mlp)
                .linear(paths!("mlp.gate_proj"), width, h, true)
                .linear(paths!("mlp.up_proj"), width, h, true)
                .linear(paths!("mlp.down_proj"), h, width, true);
        } else {
            mlp(&mut t, h, ffn);
        }
        t.group(Group::Other).tensor("layer_scale1.lambda1", &[h]).tensor("layer_scale2.lambda1", &[h]);
        t.layer()
    });
    let mut after = Tensors::new(Group::FinalNorm);
    after.norm(paths!("layernorm"), h, true);
    // Class token and mean of the patches side by side.
    let head = head(fields, 2 * h, after);
    Some(model(sizes(h, ffn, heads?), before.params(), stack, head, false))
}

pub(super) fn sizes(hidden: u64, ffn: u64, heads: u64) -> Symbols {
    symbols([(Symbol::H, hidden), (Symbol::F, ffn), (Symbol::A, heads)])
}

/// The depth of each stage, not more layers than can be laid out.
fn depths(fields: &mut Fields) -> Option<Vec<u64>> {
    let depths = fields.sizes("depths")?;
    if depths.iter().sum::<u64>() > 10_000 {
        fields.note("depths", String::new(), crate::text::architecture::NOT_SIZES);
        return None;
    }
    Some(depths)
}

/// Windows with relative positions; each stage halves the image and doubles the width.
fn swin(fields: &mut Fields) -> Option<Architecture> {
    let depths = depths(fields)?;
    let heads = fields.sizes("num_heads")?;
    let [width, channels, image, patch, window] =
        ["embed_dim", "num_channels", "image_size", "patch_size", "window_size"]
            .map(|key| fields.needed(key));
    let (width, channels, image, patch, window) = (width?, channels?, image?, patch?, window?);
    let ratio = fields.factor("mlp_ratio", 4.0);
    let qkv_bias = fields.flag("qkv_bias", true);
    let mut before = Tensors::new(Group::Embedding);
    before
        .conv(paths!("embeddings.patch_embeddings.projection"), &[width, channels, patch, patch], true)
        .norm(paths!("embeddings.norm"), width, true);
    if fields.flag("use_absolute_embeddings", false) {
        let side = image / patch;
        before.tensor("embeddings.position_embeddings", &[1, side * side, width]);
    }
    let stages = depths.len().min(heads.len()).min(16);
    let last = stages.saturating_sub(1);
    let keys = (0..stages).flat_map(|stage| (0..depths[stage]).map(move |layer| (stage, layer)));
    let stack = arrange(
        keys.map(|(stage, layer)| (stage, layer + 1 == depths[stage] && stage < last)),
        |(stage, merges)| {
            let h = width << stage;
            let mut t = Tensors::new(Group::Attention);
            attention(&mut t, h, qkv_bias);
            mlp(&mut t, h, times(h, ratio));
            let span = 2 * window - 1;
            t.group(Group::Embedding)
                .tensor("attention.relative_position_bias_table", &[span.saturating_mul(span), heads[stage]]);
            if merges {
                t.group(Group::Other).norm(paths!("downsample.norm"), 4 * h, true).linear(
                    paths!("downsample.reduction"),
                    2 * h,
                    4 * h,
                    false,
                );
            }
            t.layer()
        },
    );
    let h = width << last;
    let mut after = Tensors::new(Group::FinalNorm);
    after.norm(paths!("layernorm"), h, true);
    let head = head(fields, h, after);
    let heads = heads.first().copied().unwrap_or(1);
    Some(model(sizes(width, times(width, ratio), heads), before.params(), stack, head, false))
}

/// Depthwise convolutions and wide pointwise ones, with a scale.
fn convnext(fields: &mut Fields) -> Option<Architecture> {
    let depths = depths(fields)?;
    let widths = fields.sizes("hidden_sizes")?;
    let [channels, patch] = ["num_channels", "patch_size"].map(|key| fields.needed(key));
    let (channels, patch) = (channels?, patch?);
    let scale = fields.probability("layer_scale_init_value", 1e-6) > 0.0;
    let stages = depths.len().min(widths.len());
    let (first, last) = (*widths.first()?, *widths.last()?);
    let mut before = Tensors::new(Group::Embedding);
    before.conv(paths!("embeddings.patch_embeddings"), &[first, channels, patch, patch], true).norm(
        paths!("embeddings.layernorm"),
        first,
        true,
    );
    let keys = (0..stages).flat_map(|stage| (0..depths[stage]).map(move |layer| (stage, layer == 0)));
    let stack = arrange(keys, |(stage, begins)| {
        let h = widths[stage];
        let mut t = Tensors::new(Group::Other);
        if begins && stage > 0 {
            let before = widths[stage - 1];
            t.norm(paths!("downsampling_layer.0"), before, true).conv(
                paths!("downsampling_layer.1"),
                &[h, before, 2, 2],
                true,
            );
        }
        t.conv(paths!("dwconv"), &[h, 1, 7, 7], true);
        if scale {
            t.tensor("layer_scale_parameter", &[h]);
        }
        t.group(Group::Norm).norm(paths!("layernorm"), h, true);
        t.group(Group::Mlp).linear(paths!("pwconv1"), 4 * h, h, true).linear(
            paths!("pwconv2"),
            h,
            4 * h,
            true,
        );
        t.layer()
    });
    let mut after = Tensors::new(Group::FinalNorm);
    after.norm(paths!("layernorm"), last, true);
    let head = head(fields, last, after);
    Some(model(sizes(first, 4 * first, 1), before.params(), stack, head, false))
}

/// Residual blocks of two 3 × 3 convolutions, or of three with a bottleneck.
fn resnet(fields: &mut Fields) -> Option<Architecture> {
    let depths = depths(fields)?;
    let widths = fields.sizes("hidden_sizes")?;
    let [channels, stem] = ["num_channels", "embedding_size"].map(|key| fields.needed(key));
    let (channels, stem) = (channels?, stem?);
    let bottleneck = fields.text("layer_type") != Some("basic");
    let early = fields.flag("downsample_in_first_stage", false);
    let stages = depths.len().min(widths.len());
    let last = *widths.last()?;
    let mut before = Tensors::new(Group::Embedding);
    before.conv(paths!("embedder.convolution"), &[stem, channels, 7, 7], false).norm(
        paths!("embedder.normalization"),
        stem,
        true,
    );
    let keys = (0..stages).flat_map(|stage| (0..depths[stage]).map(move |layer| (stage, layer == 0)));
    let stack = arrange(keys, |(stage, begins)| {
        let out = widths[stage];
        let from = match (begins, stage) {
            (false, _) => out,
            (true, 0) => stem,
            (true, _) => widths[stage - 1],
        };
        let mut t = Tensors::new(Group::Other);
        if from != out || (begins && (stage > 0 || early)) {
            t.conv(paths!("shortcut.convolution"), &[out, from, 1, 1], false).norm(
                paths!("shortcut.normalization"),
                out,
                true,
            );
        }
        let narrow = out / 4;
        let convolutions: &[[u64; 3]] = if bottleneck {
            &[[narrow, from, 1], [narrow, narrow, 3], [out, narrow, 1]]
        } else {
            &[[out, from, 3], [out, out, 3]]
        };
        for [out, from, side] in convolutions {
            t.conv(paths!("layer.convolution"), &[*out, *from, *side, *side], false).norm(
                paths!("layer.normalization"),
                *out,
                true,
            );
        }
        t.layer()
    });
    let head = head(fields, last, Tensors::new(Group::Other));
    Some(model(sizes(stem, last, 1), before.params(), stack, head, false))
}
