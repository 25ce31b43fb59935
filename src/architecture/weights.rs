//! The parameter tensors of a model.

use super::Architecture;
use crate::ledger::{Dim, Group, Shape, Symbol};

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

impl Param {
    const fn new(path: &'static str, group: Group, axes: &[Dim]) -> Self {
        Self { path, group, shape: Shape::new(axes), half: Half::Whole }
    }

    /// The module that owns it: the path without its last word.
    pub fn module(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(module, _)| module)
    }
}

const H: Dim = Dim::Sym(Symbol::H);
const F: Dim = Dim::Sym(Symbol::F);
const V: Dim = Dim::Sym(Symbol::V);
const D: Dim = Dim::Sym(Symbol::D);
const AD: Dim = Dim::Mul(Symbol::A, Symbol::D);
const KD: Dim = Dim::Mul(Symbol::K, Symbol::D);

/// Token embedding `[V, h]`.
pub const EMBED: Param = Param::new("embed_tokens.weight", Group::Embedding, &[V, H]);
/// Output embedding `[V, h]`.
pub const LM_HEAD: Param = Param::new("lm_head.weight", Group::LmHead, &[V, H]);
/// The norm after the last layer.
pub const FINAL_NORM: Param = Param::new("norm.weight", Group::FinalNorm, &[H]);

/// q, k, v projections: weight and bias.
pub const QKV: [(Param, Param); 3] = [
    (
        Param::new("self_attn.q_proj.weight", Group::Attention, &[AD, H]),
        Param::new("self_attn.q_proj.bias", Group::Attention, &[AD]),
    ),
    (
        Param::new("self_attn.k_proj.weight", Group::Attention, &[KD, H]),
        Param::new("self_attn.k_proj.bias", Group::Attention, &[KD]),
    ),
    (
        Param::new("self_attn.v_proj.weight", Group::Attention, &[KD, H]),
        Param::new("self_attn.v_proj.bias", Group::Attention, &[KD]),
    ),
];
/// Output projection: weight and bias.
pub const O_PROJ: (Param, Param) = (
    Param::new("self_attn.o_proj.weight", Group::Attention, &[H, AD]),
    Param::new("self_attn.o_proj.bias", Group::Attention, &[H]),
);
/// Norms over the heads of q and k.
pub const QK_NORM: [Param; 2] = [
    Param::new("self_attn.q_norm.weight", Group::Attention, &[D]),
    Param::new("self_attn.k_norm.weight", Group::Attention, &[D]),
];
/// gate, up, down projections: weight and bias.
pub const MLP: [(Param, Param); 3] = [
    (
        Param::new("mlp.gate_proj.weight", Group::Mlp, &[F, H]),
        Param::new("mlp.gate_proj.bias", Group::Mlp, &[F]),
    ),
    (Param::new("mlp.up_proj.weight", Group::Mlp, &[F, H]), Param::new("mlp.up_proj.bias", Group::Mlp, &[F])),
    (
        Param::new("mlp.down_proj.weight", Group::Mlp, &[H, F]),
        Param::new("mlp.down_proj.bias", Group::Mlp, &[H]),
    ),
];

/// The norm before attention.
pub const INPUT_NORM: Param = Param::new("input_layernorm.weight", Group::Norm, &[H]);
/// The norm before the feed-forward.
pub const POST_ATTENTION_NORM: Param = Param::new("post_attention_layernorm.weight", Group::Norm, &[H]);

impl Architecture {
    /// Every parameter tensor, each shared tensor once.
    pub fn weights(&self) -> Vec<Weight> {
        let mut all = vec![Weight { param: EMBED, count: 1 }];
        for (index, kind) in self.kinds.iter().enumerate() {
            let count = self.count_of(index);
            let mut add = |param: Param| Weight::merge(&mut all, param, count);
            kind.sublayers.iter().for_each(|sublayer| sublayer.params(&mut add));
        }
        self.final_norm.params(&mut |param| all.push(Weight { param, count: 1 }));
        if !self.tied {
            all.push(Weight { param: LM_HEAD, count: 1 });
        }
        all
    }
}
