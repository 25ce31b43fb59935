//! The parameter tensors of a model.

use super::{Architecture, Layer, Stack};
use crate::ledger::{Dim, Dtype, Group, Shape, Symbol};

/// One parameter tensor of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Path below the layer (or the model), e.g. `self_attn.q_proj.weight`.
    pub path: &'static str,
    /// Part of the model.
    pub group: Group,
    /// Shape, as the framework stores it.
    pub shape: Shape,
    /// The tensor itself, or half of the adapter on it.
    pub half: Half,
    /// Stays fp32 in a 16-bit model (transformers, `_keep_in_fp32_modules`).
    pub fp32: bool,
}

/// What a parameter is of the linear that its path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The tensor itself.
    Whole,
    /// The adapter's first matrix, down to the rank.
    A,
    /// The adapter's second matrix, up to the output.
    B,
    /// A copy of the tensor, trained in its place (peft, `modules_to_save`).
    Copy,
}

/// A parameter tensor and how many layers have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The tensor.
    pub param: Param,
    /// How many of it.
    pub count: u64,
}

impl Weight {
    /// Adds `count` more of a tensor to a list that holds each once.
    pub(super) fn merge(all: &mut Vec<Self>, param: Param, count: u64) {
        match all.iter_mut().find(|weight| weight.param == param) {
            Some(weight) => weight.count += count,
            None => all.push(Self { param, count }),
        }
    }
}

/// Weight and bias of one linear layer; a reference, since tables of families name the same ones over and over.
pub(super) type Names = &'static (Param, Param);

impl Param {
    pub(super) const fn new(path: &'static str, group: Group, axes: &[Dim]) -> Self {
        Self { path, group, shape: Shape::new(axes), half: Half::Whole, fp32: false }
    }

    /// The same, kept in fp32 whatever the model's type.
    pub(super) const fn in_fp32(mut self) -> Self {
        self.fp32 = true;
        self
    }

    /// Its element type in a model of this type.
    pub const fn dtype(&self, model: Dtype) -> Dtype {
        if self.fp32 { Dtype::Fp32 } else { model }
    }

    /// The module that owns it: the path without its last word.
    pub fn module(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(module, _)| module)
    }
}

/// Weight and bias of a linear layer: `linear!("mlp.up_proj", Mlp, [F], H)` is `[f, h]` and `[f]`.
macro_rules! linear {
    ($path:literal, $group:ident, [$($out:expr),+], $in:expr) => {
        const { &(
            $crate::architecture::Param::new(
                concat!($path, ".weight"),
                $crate::ledger::Group::$group,
                &[$($out,)+ $in],
            ),
            $crate::architecture::Param::new(
                concat!($path, ".bias"),
                $crate::ledger::Group::$group,
                &[$($out),+],
            ),
        ) }
    };
}

/// Scale and shift of a norm: `norm!("ln_1", Norm, [H])`.
macro_rules! norm {
    ($path:literal, $group:ident, [$($axis:expr),+]) => {
        const { &(
            $crate::architecture::Param::new(
                concat!($path, ".weight"),
                $crate::ledger::Group::$group,
                &[$($axis),+],
            ),
            $crate::architecture::Param::new(
                concat!($path, ".bias"),
                $crate::ledger::Group::$group,
                &[$($axis),+],
            ),
        ) }
    };
}
pub(super) use {linear, norm};

pub(super) const H: Dim = Dim::Sym(Symbol::H);
pub(super) const F: Dim = Dim::Sym(Symbol::F);
pub(super) const V: Dim = Dim::Sym(Symbol::V);
pub(super) const A: Dim = Dim::Sym(Symbol::A);
pub(super) const K: Dim = Dim::Sym(Symbol::K);
pub(super) const D: Dim = Dim::Sym(Symbol::D);
pub(super) const E: Dim = Dim::Sym(Symbol::E);
pub(super) const M: Dim = Dim::Sym(Symbol::M);
/// `a·d`
pub(super) const AD: Dim = Dim::Mul(Symbol::A, Symbol::D);
/// `k·d`
pub(super) const KD: Dim = Dim::Mul(Symbol::K, Symbol::D);
/// `a + 2k`: heads of a fused projection.
pub(super) const AKK: Dim = Dim::Lin(Symbol::A, 2, Symbol::K);

/// Token embedding `[V, h]`.
pub const EMBED: Param = Param::new("embed_tokens.weight", Group::Embedding, &[V, H]);
/// Output embedding `[V, h]`.
pub const LM_HEAD: Param = Param::new("lm_head.weight", Group::LmHead, &[V, H]);

/// A table of learned positions.
pub(super) const fn positions(rows: Dim) -> Param {
    Param::new("embed_positions.weight", Group::Embedding, &[rows, H])
}

/// The norm before attention.
pub(super) const INPUT_NORM: Names = norm!("input_layernorm", Norm, [H]);
/// The norm before the feed-forward.
pub(super) const POST_ATTENTION_NORM: Names = norm!("post_attention_layernorm", Norm, [H]);
/// The norm after the last layer.
pub(super) const FINAL_NORM: Names = norm!("norm", FinalNorm, [H]);

/// q, k, v projections.
pub(super) const QKV: [Names; 3] = [
    linear!("self_attn.q_proj", Attention, [AD], H),
    linear!("self_attn.k_proj", Attention, [KD], H),
    linear!("self_attn.v_proj", Attention, [KD], H),
];
/// Output projection.
pub(super) const O_PROJ: Names = linear!("self_attn.o_proj", Attention, [H], AD);
/// gate, up, down projections.
pub(super) const MLP: [Names; 3] = [
    linear!("mlp.gate_proj", Mlp, [F], H),
    linear!("mlp.up_proj", Mlp, [F], H),
    linear!("mlp.down_proj", Mlp, [H], F),
];

impl Architecture {
    /// Every parameter tensor, each shared tensor once.
    pub fn weights(&self) -> Vec<Weight> {
        let all: Vec<usize> = (0..self.layers()).collect();
        self.weights_in(&all, true, true)
    }

    /// The parameter tensors of these layers, and of what is before the first (`embedding`) and after the last one
    /// (`head`). A tied output embedding counts where the embedding is, and on its own where only the head is.
    pub fn weights_in(&self, layers: &[usize], embedding: bool, head: bool) -> Vec<Weight> {
        let mut all = Vec::with_capacity(32);
        let mut add = |param: Param, count: u64| Weight::merge(&mut all, param, count);
        if embedding {
            self.embedding.params(&mut |param| add(param, 1));
        }
        if let Some(encoder) = &self.encoder {
            if embedding {
                encoder.embedding.params(&mut |param| add(param, 1));
            }
            add_layers(&encoder.kinds, &encoder.counts(layers), &mut add);
            if layers.contains(&encoder.order.len().saturating_sub(1)) {
                encoder.final_norm.iter().for_each(|norm| norm.params(&mut |param| add(param, 1)));
            }
        }
        add_layers(&self.kinds, &self.counts(layers), &mut add);
        if head {
            self.final_norm.iter().for_each(|norm| norm.params(&mut |param| add(param, 1)));
            if self.shares_head() && !embedding {
                add(EMBED, 1);
            }
            self.head.params(self.tied, &mut |param| add(param, 1));
        }
        all
    }

    /// The parameter tensors one by one, in the order of forward.
    pub fn sequence(&self, layers: std::ops::Range<usize>, embedding: bool, head: bool) -> Vec<Param> {
        let mut all = Vec::new();
        let mut add = |param| all.push(param);
        if embedding {
            self.embedding.params(&mut add);
        }
        let kinds = layers.filter_map(|layer| self.kinds.get(usize::from(*self.order.get(layer)?)));
        kinds.flat_map(|kind| &kind.sublayers).for_each(|sublayer| sublayer.params(&mut add));
        if head {
            self.final_norm.iter().for_each(|norm| norm.params(&mut add));
            if self.shares_head() && !embedding {
                add(EMBED);
            }
            self.head.params(self.tied, &mut add);
        }
        all
    }

    /// How many of these layers are of each kind.
    pub(super) fn counts(&self, layers: &[usize]) -> Vec<u64> {
        let first = self.encoder_layers();
        counts(self.kinds.len(), layers.iter().filter_map(|layer| self.order.get(layer.checked_sub(first)?)))
    }
}

impl Stack {
    /// How many of these layers are of each kind of this stack, which comes first.
    pub(super) fn counts(&self, layers: &[usize]) -> Vec<u64> {
        counts(self.kinds.len(), layers.iter().filter_map(|layer| self.order.get(*layer)))
    }
}

fn counts<'o>(kinds: usize, order: impl Iterator<Item = &'o u8>) -> Vec<u64> {
    let mut counts = vec![0_u64; kinds];
    for kind in order {
        if let Some(count) = counts.get_mut(usize::from(*kind)) {
            *count += 1;
        }
    }
    counts
}

fn add_layers(kinds: &[Layer], counts: &[u64], add: &mut dyn FnMut(Param, u64)) {
    for (kind, count) in kinds.iter().zip(counts).filter(|(_, count)| **count > 0) {
        kind.sublayers.iter().for_each(|sublayer| sublayer.params(&mut |param| add(param, *count)));
    }
}
