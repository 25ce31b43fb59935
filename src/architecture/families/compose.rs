//! Pieces that every kind of family needs.

use crate::architecture::fields::Fields;
use crate::architecture::{Activation, Embedding, Head, Layer, Linear, Output, Param, weights};
use crate::ledger::{Dim, Group, Symbol, Symbols};
use crate::text::architecture as words;

/// More layers than any model has; `order` holds one byte for each.
pub(super) const MOST_LAYERS: u64 = 10_000;

/// A number of layers that can be laid out.
pub(super) fn layers(fields: &mut Fields, key: &'static str) -> Option<u64> {
    // None is allowed where it is said: what stands around the layers is a model too.
    let layers = if fields.zero(key) { 0 } else { fields.needed(key)? };
    if layers > MOST_LAYERS {
        fields.note(key, layers.to_string(), words::TOO_MANY_LAYERS);
        return None;
    }
    Some(layers)
}

/// `hidden / heads`, where it is whole.
pub(super) fn head_dim(fields: &mut Fields, key: &'static str, hidden: u64, heads: u64) -> Option<u64> {
    if !hidden.is_multiple_of(heads) {
        fields.note(key, heads.to_string(), words::HIDDEN_DOES_NOT_DIVIDE);
        return None;
    }
    Some(hidden / heads)
}

/// The sizes of a model.
pub(super) fn symbols<const N: usize>(sizes: [(Symbol, u64); N]) -> Symbols {
    let mut symbols = Symbols::default();
    for (symbol, value) in sizes {
        symbols.set(symbol, value);
    }
    symbols
}

/// Token embedding alone.
pub(super) fn tokens() -> Embedding {
    Embedding { tables: vec![weights::EMBED], ..Embedding::default() }
}

/// The activation function of a plain feed-forward: those that are Python operators, and all others.
pub(super) fn activation(fields: &Fields, default: Activation) -> Activation {
    match fields.text("hidden_act") {
        None => default,
        Some("gelu_new" | "gelu_fast" | "quick_gelu") => Activation::PythonGelu,
        Some("relu") => Activation::Relu,
        Some("relu2") => Activation::ReluSquared,
        Some(_) => Activation::Kernel,
    }
}

/// The distinct layers and their order, from one key a layer.
pub(super) fn arrange<K: PartialEq + Copy>(
    keys: impl Iterator<Item = K>,
    mut make: impl FnMut(K) -> Layer,
) -> (Vec<Layer>, Vec<u8>) {
    let mut seen: Vec<K> = Vec::new();
    let mut kinds = Vec::new();
    let order = keys.map(|key| {
        let found = seen.iter().position(|other| *other == key);
        let index = found.unwrap_or_else(|| {
            seen.push(key);
            kinds.push(make(key));
            seen.len() - 1
        });
        // A key is one of a handful of kinds.
        u8::try_from(index).unwrap_or(u8::MAX)
    });
    let order = order.collect();
    (kinds, order)
}

/// What the class named in the file puts after a causal decoder.
pub(super) fn causal_head(fields: &mut Fields, bias: bool) -> Head {
    let class = fields.class();
    let labels = Dim::of(fields.labels().unwrap_or(2));
    let score = |group| Param::new("score.weight", group, &[labels, weights::H]);
    Head::plain(if class.ends_with("ForSequenceClassification") {
        Output::Classes(Linear { weight: score(Group::LmHead), bias: None })
    } else if class.ends_with("ForTokenClassification") {
        let bias = Param::new("score.bias", Group::LmHead, &[labels]);
        Output::Classes(Linear { weight: score(Group::LmHead), bias: Some(bias) })
    } else if class.ends_with("Model") && !class.ends_with("LMHeadModel") {
        Output::None
    } else {
        let bias = bias.then_some(Param::new("lm_head.bias", Group::LmHead, &[weights::V]));
        Output::Tokens(Linear { weight: weights::LM_HEAD, bias })
    })
}
