//! Encoder–decoders beside T5: BART and its kin, speech, mixtures of experts: counted.

use super::Family;
use super::compose::{arrange, layers, symbols};
use super::counted::{Tensors, model, paths};
use crate::architecture::fields::Fields;
use crate::architecture::{Architecture, Head, Layer, Linear, Output, weights};
use crate::ledger::{Group, Symbol, Symbols};

/// What one type has that another has not.
#[expect(clippy::struct_excessive_bools, reason = "a description: each is a fact of its own")]
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Rows of position tables beyond those in the file; `None`: positions are computed.
    positions: Option<u64>,
    embedding_norm: bool,
    final_norm: bool,
    /// Keys have a bias.
    key_bias: bool,
    /// Two convolutions before the encoder, and two fields for the rows of positions.
    speech: bool,
    /// Experts in each n-th layer.
    sparse: bool,
}

const BART: Kind = Kind {
    positions: Some(2),
    embedding_norm: true,
    final_norm: false,
    key_bias: true,
    speech: false,
    sparse: false,
};
const MBART: Kind = Kind { final_norm: true, ..BART };
const PEGASUS: Kind = Kind { positions: Some(0), embedding_norm: false, ..MBART };
const MARIAN: Kind = Kind { final_norm: false, ..PEGASUS };
const M2M: Kind = Kind { positions: None, embedding_norm: false, ..MBART };
const NLLB: Kind = Kind { sparse: true, ..M2M };
const WHISPER: Kind = Kind { key_bias: false, speech: true, ..PEGASUS };

const SIZES: &[(&str, u64)] = &[
    ("max_position_embeddings", 1024),
    ("num_mel_bins", 80),
    ("max_source_positions", 1500),
    ("max_target_positions", 448),
    ("num_experts", 128),
    ("encoder_sparse_step", 4),
    ("decoder_sparse_step", 4),
];

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("bart", |fields, _| compose(fields, BART)).default(SIZES),
    Family::own("mbart", |fields, _| compose(fields, MBART)).default(SIZES),
    Family::own("pegasus", |fields, _| compose(fields, PEGASUS)).default(SIZES),
    Family::own("marian", |fields, _| compose(fields, MARIAN)).default(SIZES),
    Family::own("m2m_100", |fields, _| compose(fields, M2M)).default(SIZES),
    Family::own("nllb-moe", |fields, _| compose(fields, NLLB)).default(SIZES),
    Family::own("whisper", |fields, _| compose(fields, WHISPER)).default(SIZES),
];

/// One side of the model.
#[derive(Clone, Copy, Debug)]
struct Side {
    hidden: u64,
    ffn: u64,
    key_bias: bool,
    cross: bool,
    experts: u64,
}

impl Side {
    fn layer(self, sparse: bool) -> Layer {
        let h = self.hidden;
        let mut t = Tensors::new(Group::Attention);
        t.linear(paths!("self_attn.q_proj"), h, h, true)
            .linear(paths!("self_attn.k_proj"), h, h, self.key_bias)
            .linear(paths!("self_attn.v_proj"), h, h, true)
            .linear(paths!("self_attn.out_proj"), h, h, true);
        t.group(Group::Norm).norm(paths!("self_attn_layer_norm"), h, true);
        if self.cross {
            t.norm(paths!("encoder_attn_layer_norm"), h, true);
            t.group(Group::CrossAttention)
                .linear(paths!("encoder_attn.q_proj"), h, h, true)
                .linear(paths!("encoder_attn.k_proj"), h, h, self.key_bias)
                .linear(paths!("encoder_attn.v_proj"), h, h, true)
                .linear(paths!("encoder_attn.out_proj"), h, h, true);
        }
        if sparse {
            let (e, ffn) = (self.experts, self.ffn);
            t.group(Group::Router).linear(paths!("ffn.router.classifier"), e, h, false);
            t.group(Group::Experts)
                .tensor("ffn.experts.fc1.weight", &[e, ffn, h])
                .tensor("ffn.experts.fc1.bias", &[e, ffn])
                .tensor("ffn.experts.fc2.weight", &[e, h, ffn])
                .tensor("ffn.experts.fc2.bias", &[e, h]);
        } else {
            t.group(Group::Mlp).linear(paths!("fc1"), self.ffn, h, true).linear(
                paths!("fc2"),
                h,
                self.ffn,
                true,
            );
        }
        t.group(Group::Norm).norm(paths!("final_layer_norm"), h, true);
        t.layer()
    }
}

fn compose(fields: &mut Fields, kind: Kind) -> Option<Architecture> {
    let hidden = fields.needed("d_model");
    let vocab = fields.needed("vocab_size");
    let encoder_layers = layers(fields, "encoder_layers");
    let decoder_layers = layers(fields, "decoder_layers");
    let encoder_ffn = fields.needed("encoder_ffn_dim");
    let decoder_ffn = fields.needed("decoder_ffn_dim");
    let heads = fields.needed("decoder_attention_heads");
    let (h, vocab, encoder_layers, decoder_layers) = (hidden?, vocab?, encoder_layers?, decoder_layers?);
    let (encoder_ffn, decoder_ffn) = (encoder_ffn?, decoder_ffn?);
    let experts = if kind.sparse { fields.needed("num_experts")? } else { 0 };
    // A decoder alone reads no encoder.
    let alone = fields.class().ends_with("ForCausalLM");
    let bare = fields.class().ends_with("Model") && !fields.class().ends_with("MTModel");
    let mut sizes: Symbols = symbols([
        (Symbol::H, h),
        (Symbol::F, decoder_ffn),
        (Symbol::A, heads?),
        (Symbol::V, vocab),
        (Symbol::E, experts),
    ]);
    // The router takes two, as the code says.
    sizes.set(Symbol::Top, experts.min(2));

    let mut before = Tensors::new(Group::Embedding);
    before.tensor("shared.weight", &[vocab, h]);
    let rows = |fields: &mut Fields, key| {
        let key = if kind.speech { key } else { "max_position_embeddings" };
        Some(kind.positions?.saturating_add(fields.needed(key)?))
    };
    let source = rows(fields, "max_source_positions");
    let target = rows(fields, "max_target_positions");
    let mut around = |positions, last| {
        if let Some(rows) = positions {
            before.group(Group::Embedding).tensor("embed_positions.weight", &[rows, h]);
        }
        if kind.embedding_norm {
            before.group(Group::Embedding).norm(paths!("layernorm_embedding"), h, true);
        }
        if kind.final_norm {
            before.group(Group::FinalNorm).norm(last, h, true);
        }
    };
    if !alone {
        around(source, paths!("encoder.layer_norm"));
    }
    around(target, paths!("decoder.layer_norm"));
    if kind.speech && !alone {
        let bins = fields.needed("num_mel_bins")?;
        before.group(Group::Embedding).conv(paths!("encoder.conv1"), &[h, bins, 3], true).conv(
            paths!("encoder.conv2"),
            &[h, h, 3],
            true,
        );
    }

    let [encoder_step, decoder_step] =
        ["encoder_sparse_step", "decoder_sparse_step"].map(|key| fields.size(key).unwrap_or(1));
    let side = |ffn, cross| Side { hidden: h, ffn, key_bias: kind.key_bias, cross, experts };
    let encoder = (0..if alone { 0 } else { encoder_layers })
        .map(|layer| (true, kind.sparse && (layer + 1).is_multiple_of(encoder_step)));
    let decoder =
        (0..decoder_layers).map(|layer| (false, kind.sparse && (layer + 1).is_multiple_of(decoder_step)));
    let stack = arrange(encoder.chain(decoder), |(encoder, sparse)| {
        let side = if encoder { side(encoder_ffn, false) } else { side(decoder_ffn, true) };
        side.layer(sparse)
    });
    let output =
        if bare { Output::None } else { Output::Tokens(Linear { weight: weights::LM_HEAD, bias: None }) };
    let tied = fields.flag("tie_word_embeddings", true);
    Some(model(sizes, before.params(), stack, Head::plain(output), tied))
}
