//! LoRA adapters: which linears get one, and the two matrices of each; which modules are trained as copies beside them.

use super::modules::{Body, GateUp, Linear, Qkv};
use super::weights::{EMBED, Half, LM_HEAD, Param, Weight};
use super::{Architecture, LatentQuery};
use crate::ledger::{Dim, Group, Shape, Symbol};

/// The most names that a list of targets may hold.
const MOST: usize = 18;

/// Which linears get an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// Bit i: the i-th of [`NAMES`].
    chosen: u32,
}

/// Linears that can be named, by the last word of their path.
const NAMES: [&str; MOST] = [
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
    "qkv_proj",
    "gate_up_proj",
    "c_attn",
    "c_proj",
    "c_fc",
    "kv_a_proj_with_mqa",
    "kv_b_proj",
    "q_a_proj",
    "q_b_proj",
    "w1",
    "w2",
];

impl Targets {
    /// Reads `all-linear`, or a list of module names (`q_proj,v_proj`, or short: `q,v`); names that no linear has are
    /// given back.
    pub fn parse(text: &str) -> (Self, Vec<&str>) {
        let mut chosen = 0;
        let mut unknown = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if word == "all-linear" {
                chosen = u32::MAX;
                continue;
            }
            let last = word.rsplit('.').next().unwrap_or(word);
            let named = |name: &&str| **name == *last || name.strip_suffix("_proj") == Some(last);
            match NAMES.iter().position(named) {
                Some(index) => chosen |= 1 << index,
                None => unknown.push(word),
            }
        }
        (Self { chosen }, unknown)
    }

    /// Whether the linear of this module path gets one. The output embedding never does.
    pub fn covers(self, module: &str) -> bool {
        let last = module.rsplit('.').next().unwrap_or(module);
        NAMES.iter().position(|name| *name == last).is_some_and(|index| self.chosen & (1 << index) != 0)
    }
}

/// Modules that are trained beside the adapters, as copies of the model's own, which stay (peft, `modules_to_save`;
/// `peft/utils/other.py`, `ModulesToSaveWrapper`). A name stands for every module whose path ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The embedding of tokens.
    pub embedding: bool,
    /// The output embedding, or the classifier.
    pub head: bool,
    /// Every norm whose path ends with `norm`.
    pub norms: bool,
}

/// What model types call their embedding of tokens.
const EMBEDDINGS: [&str; 6] =
    ["embed_tokens", "wte", "embed_in", "word_embeddings", "tok_embeddings", "shared"];
/// What they call what is after the last layer.
const HEADS: [&str; 5] = ["lm_head", "embed_out", "output_layer", "score", "classifier"];

impl Copied {
    /// Reads a list of module names; those that are of none of these kinds are given back.
    pub fn parse(text: &str) -> (Self, Vec<&str>) {
        let mut copied = Self::default();
        let mut unknown = Vec::new();
        let quoting = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"' | '\'');
        for word in text.split(',').map(|word| word.trim_matches(quoting)).filter(|word| !word.is_empty()) {
            match word.rsplit('.').next().unwrap_or(word) {
                last if EMBEDDINGS.contains(&last) => copied.embedding = true,
                last if HEADS.contains(&last) => copied.head = true,
                "norm" => copied.norms = true,
                _ => unknown.push(word),
            }
        }
        (copied, unknown)
    }

    /// Whether a parameter of the model has a trained copy. (A tied output embedding is a module of its own: see
    /// [`Copied::head`].)
    pub fn covers(self, param: &Param) -> bool {
        let module = param.module();
        match param.group {
            Group::Embedding => self.embedding && *param == EMBED,
            Group::LmHead => self.head && HEADS.contains(&module),
            _ => self.norms && module.ends_with("norm"),
        }
    }

    /// Whether there is none.
    pub fn none(self) -> bool {
        self == Self::default()
    }
}

/// The adapter of a linear `[out, in]`: A `[R, in]` and B `[out, R]`.
pub fn of(weight: Param) -> (Param, Param) {
    let rank = Dim::Sym(Symbol::Lora);
    let half = |half, shape| Param { half, group: Group::Adapter, shape, ..weight };
    let inputs = weight.shape.dims().last().copied().unwrap_or(Dim::Const(1));
    // All axes but the last are the output's.
    (half(Half::A, Shape::new(&[rank, inputs])), half(Half::B, weight.shape.with_last(rank)))
}

impl Body {
    /// Calls `each` with every linear that can have an adapter.
    fn linears(&self, each: &mut dyn FnMut(Linear)) {
        match self {
            Self::Attention(attention) | Self::CrossAttention(attention) => {
                match attention.qkv {
                    Qkv::Separate(three) => three.into_iter().for_each(&mut *each),
                    Qkv::Fused(one) | Qkv::Split(one) => each(one),
                }
                each(attention.out);
            }
            Self::GatedMlp(mlp) => {
                match mlp.gate_up {
                    GateUp::Separate(two) => two.into_iter().for_each(&mut *each),
                    GateUp::Fused(one) => each(one),
                }
                each(mlp.down);
            }
            Self::PlainMlp(mlp) => [mlp.up, mlp.down].into_iter().for_each(each),
            Self::LatentAttention(latent) => {
                match latent.query {
                    LatentQuery::Direct(one) => each(one),
                    LatentQuery::LowRank(down, _, up) => [down, up].into_iter().for_each(&mut *each),
                }
                [latent.kv_a, latent.kv_b, latent.out].into_iter().for_each(each);
            }
            // peft's `all-linear` leaves experts that are one tensor alone.
            Self::Moe(moe) => {
                if let Some(shared) = moe.shared {
                    Self::GatedMlp(shared).linears(each);
                }
            }
            Self::Counted(_) => {}
        }
    }
}

impl Architecture {
    /// What is trained beside the frozen model: the adapters' tensors, and copies of modules.
    pub fn trained(&self, targets: Targets, copied: Copied) -> Vec<Weight> {
        let all: Vec<usize> = (0..self.layers()).collect();
        let mut trained = self.adapters_in(targets, &all);
        trained.extend(self.copies_in(copied, &all, true, true));
        trained
    }

    /// The adapters' tensors of these layers.
    #[inline(never)] // apart: a first visit has none
    pub fn adapters_in(&self, targets: Targets, layers: &[usize]) -> Vec<Weight> {
        let mut all = Vec::new();
        let own = self.kinds.iter().zip(self.counts(layers));
        let encoder =
            self.encoder.iter().flat_map(|encoder| encoder.kinds.iter().zip(encoder.counts(layers)));
        for (kind, count) in encoder.chain(own).filter(|(_, count)| *count > 0) {
            let mut add = |linear: Linear| {
                if targets.covers(linear.weight.module()) {
                    let (a, b) = of(linear.weight);
                    for param in [a, b] {
                        Weight::merge(&mut all, param, count);
                    }
                }
            };
            kind.sublayers.iter().for_each(|sublayer| sublayer.body.linears(&mut add));
        }
        all
    }

    /// The trained copies of these layers' modules, and of what is before the first (`embedding`) and after the last one
    /// (`head`). A tied output embedding that is copied is tied no longer.
    #[inline(never)] // apart: a first visit has none
    pub fn copies_in(&self, copied: Copied, layers: &[usize], embedding: bool, head: bool) -> Vec<Weight> {
        if copied.none() {
            return Vec::new();
        }
        let mut own = self.weights_in(layers, embedding, head);
        if self.shares_head() && head {
            own.retain(|weight| embedding || weight.param != EMBED);
            own.push(Weight { param: LM_HEAD, count: 1 });
        }
        own.retain(|weight| copied.covers(&weight.param));
        for weight in &mut own {
            weight.param.half = Half::Copy;
        }
        own
    }
}
