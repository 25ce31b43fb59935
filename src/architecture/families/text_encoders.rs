//! Encoders of text beside BERT's own shape: counted.

use super::compose::{arrange, layers, symbols};
use super::counted::{Tensors, model, paths};
use super::{Dropout, Family};
use crate::architecture::fields::Fields;
use crate::architecture::weights::V;
use crate::architecture::{Architecture, Head, Linear, Output, Param};
use crate::ledger::{Dim, Group, Symbol, Symbols};

/// Every supported type of this kind.
pub(super) const FAMILIES: &[Family] = &[
    Family::own("electra", electra).default(&[
        ("embedding_size", 128),
        ("type_vocab_size", 2),
        ("max_position_embeddings", 512),
    ]),
    Family::own("albert", albert).default(&[
        ("embedding_size", 128),
        ("type_vocab_size", 2),
        ("max_position_embeddings", 512),
        ("num_hidden_groups", 1),
        ("inner_group_num", 1),
    ]),
    Family::own("deberta", |fields, _| deberta(fields, false)).default(&[("max_position_embeddings", 512)]),
    Family::own("deberta-v2", |fields, _| deberta(fields, true)).default(&[("max_position_embeddings", 512)]),
    Family::own("modernbert", modernbert),
    Family::own("esm", esm),
];

/// Sizes that all of them have.
struct Frame {
    hidden: u64,
    ffn: u64,
    layers: u64,
    heads: u64,
    vocab: u64,
    symbols: Symbols,
}

impl Frame {
    fn read(fields: &mut Fields) -> Option<Self> {
        let hidden = fields.needed("hidden_size");
        let ffn = fields.needed("intermediate_size");
        let layers = layers(fields, "num_hidden_layers");
        let heads = fields.needed("num_attention_heads");
        let vocab = fields.needed("vocab_size");
        let (hidden, ffn, layers, heads, vocab) = (hidden?, ffn?, layers?, heads?, vocab?);
        let symbols =
            symbols([(Symbol::H, hidden), (Symbol::F, ffn), (Symbol::A, heads), (Symbol::V, vocab)]);
        Some(Self { hidden, ffn, layers, heads, vocab, symbols })
    }

    /// Tables of tokens, positions and types with the norm of their sum.
    fn embedding(&self, width: u64, positions: u64, types: u64) -> Tensors {
        let mut t = Tensors::new(Group::Embedding);
        t.tensor("embeddings.word_embeddings.weight", &[self.vocab, width]);
        if positions > 0 {
            t.tensor("embeddings.position_embeddings.weight", &[positions, width]);
        }
        if types > 0 {
            t.tensor("embeddings.token_type_embeddings.weight", &[types, width]);
        }
        t.norm(paths!("embeddings.LayerNorm"), width, true);
        t
    }

    fn attention(&self, t: &mut Tensors) {
        let h = self.hidden;
        t.group(Group::Attention)
            .linear(paths!("attention.query"), h, h, true)
            .linear(paths!("attention.key"), h, h, true)
            .linear(paths!("attention.value"), h, h, true);
    }

    /// What follows the projections of attention: output, feed-forward, two norms.
    fn rest(&self, t: &mut Tensors) {
        let h = self.hidden;
        t.group(Group::Attention).linear(paths!("attention.output.dense"), h, h, true);
        t.group(Group::Mlp).linear(paths!("intermediate.dense"), self.ffn, h, true).linear(
            paths!("output.dense"),
            h,
            self.ffn,
            true,
        );
        t.group(Group::Norm).norm(paths!("attention.output.LayerNorm"), h, true).norm(
            paths!("output.LayerNorm"),
            h,
            true,
        );
    }

    /// Linear and norm before scores over the vocabulary, or what the class named in the file has instead.
    fn head(&self, fields: &mut Fields, width: u64, after: Vec<Param>, pooler: bool) -> Head {
        let class = fields.class();
        let h = self.hidden;
        let mut t = Tensors::new(Group::LmHead);
        let mut other = after;
        let labels = fields.labels().unwrap_or(2);
        let classifier = |t: &mut Tensors| t.linear(paths!("classifier"), labels, h, true).params();
        if class.ends_with("Model") && !class.ends_with("LMHeadModel") {
            if pooler {
                other.extend(t.group(Group::Other).linear(paths!("pooler.dense"), h, h, true).params());
            }
            return Head { transform: None, output: Output::None, other };
        }
        if class.ends_with("ForTokenClassification") || class.ends_with("ForQuestionAnswering") {
            other.extend(classifier(&mut t));
            return Head { transform: None, output: Output::None, other };
        }
        if class.ends_with("ForSequenceClassification") {
            t.linear(paths!("classifier.dense"), h, h, true);
            other.extend(classifier(&mut t));
            return Head { transform: None, output: Output::None, other };
        }
        t.linear(paths!("head.dense"), width, h, true).norm(paths!("head.LayerNorm"), width, true);
        other.extend(t.params());
        Head { transform: None, output: scores(width, true), other }
    }
}

/// Scores over the vocabulary.
fn scores(width: u64, bias: bool) -> Output {
    Output::Tokens(Linear {
        weight: Param::new("decoder.weight", Group::LmHead, &[V, Dim::of(width)]),
        bias: bias.then_some(Param::new("decoder.bias", Group::LmHead, &[V])),
    })
}

/// BERT with embeddings of their own width.
fn electra(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let width = fields.needed("embedding_size")?;
    let positions = fields.needed("max_position_embeddings")?;
    let types = fields.count("type_vocab_size");
    let mut embedding = frame.embedding(width, positions, types);
    if width != frame.hidden {
        embedding.linear(paths!("embeddings_project"), frame.hidden, width, true);
    }
    let stack = arrange((0..frame.layers).map(|_| ()), |()| {
        let mut t = Tensors::new(Group::Attention);
        frame.attention(&mut t);
        frame.rest(&mut t);
        t.layer()
    });
    let head = frame.head(fields, width, Vec::new(), false);
    let tied = fields.flag("tie_word_embeddings", true);
    Some(model(frame.symbols, embedding.params(), stack, head, tied))
}

/// All layers share the parameters of a group, of which there is mostly one.
fn albert(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let width = fields.needed("embedding_size")?;
    let positions = fields.needed("max_position_embeddings")?;
    let types = fields.count("type_vocab_size");
    let stored = layers(fields, "num_hidden_groups")?.saturating_mul(layers(fields, "inner_group_num")?);
    let mut embedding = frame.embedding(width, positions, types);
    embedding.linear(paths!("encoder.embedding_hidden_mapping_in"), frame.hidden, width, true);
    let stack = arrange((0..stored.min(10_000)).map(|_| ()), |()| {
        let mut t = Tensors::new(Group::Attention);
        frame.attention(&mut t);
        frame.rest(&mut t);
        t.layer()
    });
    let head = frame.head(fields, width, Vec::new(), true);
    let tied = fields.flag("tie_word_embeddings", true);
    Some(model(frame.symbols, embedding.params(), stack, head, tied))
}

/// Disentangled attention: relative positions have a table, and (first version, or without shared keys) projections
/// of their own.
fn deberta(fields: &mut Fields, second: bool) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let rows = fields.needed("max_position_embeddings")?;
    let positions = if fields.flag("position_biased_input", true) { rows } else { 0 };
    let types = fields.count("type_vocab_size");
    let h = frame.hidden;
    let width = fields.size("embedding_size").unwrap_or(h);
    let mut embedding = frame.embedding(width, positions, types);
    if width != h {
        embedding.linear(paths!("embeddings.embed_proj"), h, width, false);
    }
    let relative = fields.flag("relative_attention", false);
    let paths = fields.listed("pos_att_type");
    let [content, position] = ["c2p", "p2c"].map(|way| paths.contains(way));
    let buckets = fields.positive("position_buckets").filter(|_| second);
    let span = buckets.or_else(|| fields.positive("max_relative_positions")).unwrap_or(rows);
    let own = relative && !(second && fields.flag("share_att_key", false));
    let mut after = Tensors::new(Group::Embedding);
    if relative {
        after.tensor("encoder.rel_embeddings.weight", &[2 * span, h]);
    }
    if second && fields.listed("norm_rel_ebd").contains("layer_norm") {
        after.group(Group::Norm).norm(paths!("encoder.LayerNorm"), h, true);
    }
    if let Some(kernel) = fields.positive("conv_kernel_size").filter(|_| second) {
        after.group(Group::Other).conv(paths!("encoder.conv.conv"), &[h, h, kernel], true).norm(
            paths!("encoder.conv.LayerNorm"),
            h,
            true,
        );
    }
    let stack = arrange((0..frame.layers).map(|_| ()), |()| {
        let mut t = Tensors::new(Group::Attention);
        if second {
            frame.attention(&mut t);
        } else {
            t.linear(paths!("attention.self.in_proj"), 3 * h, h, false)
                .tensor("attention.self.q_bias", &[h])
                .tensor("attention.self.v_bias", &[h]);
        }
        if own && content {
            t.linear(paths!("attention.self.pos_key_proj"), h, h, second);
        }
        if own && position {
            t.linear(paths!("attention.self.pos_query_proj"), h, h, true);
        }
        frame.rest(&mut t);
        t.layer()
    });
    let head = frame.head(fields, h, after.params(), false);
    let tied = fields.flag("tie_word_embeddings", true);
    Some(model(frame.symbols, embedding.params(), stack, head, tied))
}

/// Pre-norm with rotary positions; the first layer reads the embedding's norm.
fn modernbert(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let (h, ffn) = (frame.hidden, frame.ffn);
    let norm_bias = fields.flag("norm_bias", false);
    let attention_bias = fields.flag("attention_bias", false);
    let mlp_bias = fields.flag("mlp_bias", false);
    let mut embedding = Tensors::new(Group::Embedding);
    embedding.tensor("embeddings.tok_embeddings.weight", &[frame.vocab, h]).norm(
        paths!("embeddings.norm"),
        h,
        norm_bias,
    );
    let stack = arrange((0..frame.layers).map(|layer| layer == 0), |first| {
        let mut t = Tensors::new(Group::Norm);
        if !first {
            t.norm(paths!("attn_norm"), h, norm_bias);
        }
        t.norm(paths!("mlp_norm"), h, norm_bias);
        t.group(Group::Attention).linear(paths!("attn.Wqkv"), 3 * h, h, attention_bias).linear(
            paths!("attn.Wo"),
            h,
            h,
            attention_bias,
        );
        t.group(Group::Mlp).linear(paths!("mlp.Wi"), 2 * ffn, h, mlp_bias).linear(
            paths!("mlp.Wo"),
            h,
            ffn,
            mlp_bias,
        );
        t.layer()
    });
    let mut t = Tensors::new(Group::FinalNorm);
    t.norm(paths!("final_norm"), h, norm_bias);
    let class = fields.class();
    let head = if class.ends_with("Model") {
        Head { transform: None, output: Output::None, other: t.params() }
    } else {
        let bias = fields.flag("classifier_bias", false);
        t.group(Group::LmHead).linear(paths!("head.dense"), h, h, bias).norm(
            paths!("head.norm"),
            h,
            norm_bias,
        );
        let output = if class.contains("Classification") {
            let labels = fields.labels().unwrap_or(2);
            t.linear(paths!("classifier"), labels, h, true);
            Output::None
        } else {
            scores(h, fields.flag("decoder_bias", true))
        };
        Head { transform: None, output, other: t.params() }
    };
    let tied = fields.flag("tie_word_embeddings", true);
    Some(model(frame.symbols, embedding.params(), stack, head, tied))
}

/// Protein language models: norms before attention and feed-forward, a head on the attention maps.
fn esm(fields: &mut Fields, _: &Dropout) -> Option<Architecture> {
    let frame = Frame::read(fields)?;
    let h = frame.hidden;
    let rotary = fields.text("position_embedding_type") == Some("rotary");
    let mut embedding = Tensors::new(Group::Embedding);
    embedding.tensor("embeddings.word_embeddings.weight", &[frame.vocab, h]);
    if !rotary {
        let rows = fields.size("max_position_embeddings").unwrap_or(1026);
        embedding.tensor("embeddings.position_embeddings.weight", &[rows, h]);
    }
    if fields.flag("emb_layer_norm_before", false) {
        embedding.norm(paths!("embeddings.layer_norm"), h, true);
    }
    let stack = arrange((0..frame.layers).map(|_| ()), |()| {
        let mut t = Tensors::new(Group::Attention);
        frame.attention(&mut t);
        frame.rest(&mut t);
        t.layer()
    });
    let mut after = Tensors::new(Group::FinalNorm);
    after.norm(paths!("encoder.emb_layer_norm_after"), h, true);
    after.group(Group::Other).linear(
        paths!("contact_head.regression"),
        1,
        frame.layers.saturating_mul(frame.heads),
        true,
    );
    let head = frame.head(fields, h, after.params(), true);
    let tied = fields.flag("tie_word_embeddings", true);
    Some(model(frame.symbols, embedding.params(), stack, head, tied))
}
