//! Pairs of a text tower and an image tower: CLIP and `SigLIP`, counted.

use super::compose::{arrange, layers};
use super::counted::{Tensors, model, paths};
use super::images::{attention, head, mlp, sizes};
use crate::architecture::fields::Fields;
use crate::architecture::{Architecture, Head, Output};
use crate::ledger::Group;

/// Sizes of one tower.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tower {
    hidden: u64,
    ffn: u64,
    layers: u64,
    heads: u64,
}

impl Tower {
    /// Reads a tower's own fields; where one is absent the class default stands.
    fn read(fields: &mut Fields, defaults: &'static [(&'static str, u64)]) -> Option<Self> {
        fields.defaults = defaults;
        Some(Self {
            hidden: fields.needed("hidden_size")?,
            ffn: fields.needed("intermediate_size")?,
            layers: layers(fields, "num_hidden_layers")?,
            heads: fields.needed("num_attention_heads")?,
        })
    }
}

const CLIP_TEXT: &[(&str, u64)] = &[
    ("hidden_size", 512),
    ("intermediate_size", 2048),
    ("num_hidden_layers", 12),
    ("num_attention_heads", 8),
    ("vocab_size", 49_408),
    ("max_position_embeddings", 77),
];
const CLIP_VISION: &[(&str, u64)] = &[
    ("hidden_size", 768),
    ("intermediate_size", 3072),
    ("num_hidden_layers", 12),
    ("num_attention_heads", 12),
    ("num_channels", 3),
    ("image_size", 224),
    ("patch_size", 32),
];
const SIGLIP_TEXT: &[(&str, u64)] = &[
    ("hidden_size", 768),
    ("intermediate_size", 3072),
    ("num_hidden_layers", 12),
    ("num_attention_heads", 12),
    ("vocab_size", 32_000),
    ("max_position_embeddings", 64),
];
const SIGLIP_VISION: &[(&str, u64)] = &[
    ("hidden_size", 768),
    ("intermediate_size", 3072),
    ("num_hidden_layers", 12),
    ("num_attention_heads", 12),
    ("num_channels", 3),
    ("image_size", 224),
    ("patch_size", 16),
];

/// CLIP and `SigLIP`: a tower for text, one for images, and what compares them.
pub(super) fn pair(fields: &mut Fields, siglip: bool) -> Option<Architecture> {
    let classifier = fields.class().ends_with("ForImageClassification");
    let empty = serde_json::Map::new();
    let mut text = fields
        .nested("text_config")
        .or_else(|| fields.nested("text_config_dict"))
        .unwrap_or(Fields::new(&empty));
    let mut vision = fields
        .nested("vision_config")
        .or_else(|| fields.nested("vision_config_dict"))
        .unwrap_or(Fields::new(&empty));
    let words = Tower::read(&mut text, if siglip { SIGLIP_TEXT } else { CLIP_TEXT });
    let image = Tower::read(&mut vision, if siglip { SIGLIP_VISION } else { CLIP_VISION });
    let vocab = text.needed("vocab_size");
    let rows = text.needed("max_position_embeddings");
    let [channels, side, patch] = ["num_channels", "image_size", "patch_size"].map(|key| vision.needed(key));
    let projection = text.size("projection_size");
    let pooled = vision.flag("vision_use_head", true);
    fields.problems.append(&mut text.problems);
    fields.problems.append(&mut vision.problems);
    let (words, image, vocab, rows) = (words?, image?, vocab?, rows?);
    let (channels, side, patch) = (channels?, side?, patch?);
    let h = image.hidden;

    let mut before = Tensors::new(Group::Embedding);
    let mut after = Tensors::new(Group::FinalNorm);
    if !classifier {
        before
            .tensor("text_model.embeddings.token_embedding.weight", &[vocab, words.hidden])
            .tensor("text_model.embeddings.position_embedding.weight", &[rows, words.hidden]);
        after.norm(paths!("text_model.final_layer_norm"), words.hidden, true);
    }
    let grid = side / patch;
    let class_tokens = u64::from(!siglip);
    before
        .conv(paths!("vision_model.embeddings.patch_embedding"), &[h, channels, patch, patch], siglip)
        .tensor("vision_model.embeddings.position_embedding.weight", &[grid * grid + class_tokens, h]);
    if siglip {
        after.norm(paths!("vision_model.post_layernorm"), h, true);
        if pooled {
            after
                .group(Group::Other)
                .tensor("vision_model.head.probe", &[1, 1, h])
                .conv(paths!("vision_model.head.attention.in_proj"), &[3 * h, h], true)
                .linear(paths!("vision_model.head.attention.out_proj"), h, h, true)
                .norm(paths!("vision_model.head.layernorm"), h, true)
                .linear(paths!("vision_model.head.mlp.fc1"), image.ffn, h, true)
                .linear(paths!("vision_model.head.mlp.fc2"), h, image.ffn, true);
        }
        if !classifier {
            let width = projection.unwrap_or(words.hidden);
            after
                .group(Group::Other)
                .linear(paths!("text_model.head"), width, words.hidden, true)
                .tensor("logit_scale", &[1])
                .tensor("logit_bias", &[1]);
        }
    } else {
        before.tensor("vision_model.embeddings.class_embedding", &[h]).norm(
            paths!("vision_model.pre_layrnorm"),
            h,
            true,
        );
        after.norm(paths!("vision_model.post_layernorm"), h, true);
        if !classifier {
            let width = fields.size("projection_dim").unwrap_or(512);
            after
                .group(Group::Other)
                .linear(paths!("text_projection"), width, words.hidden, false)
                .linear(paths!("visual_projection"), width, h, false)
                .tensor("logit_scale", &[]);
        }
    }
    let of_text = if classifier { 0 } else { words.layers };
    let towers = (0..of_text).map(|_| words).chain((0..image.layers).map(|_| image));
    let stack = arrange(towers, |tower| {
        let mut t = Tensors::new(Group::Attention);
        attention(&mut t, tower.hidden, true);
        mlp(&mut t, tower.hidden, tower.ffn);
        t.layer()
    });
    let head = if classifier {
        head(fields, h, after)
    } else {
        Head { transform: None, output: Output::None, other: after.params() }
    };
    Some(model(sizes(h, image.ffn, image.heads), before.params(), stack, head, false))
}
