//! Every tensor that one GPU holds during a training step.
//!
//! An [`Entry`] is one row: what the tensor is, its shape in symbols, how many there are, when it is born and freed,
//! why it is kept and what would release it. Blocks, the peak, figures and exports are all views of these rows.

pub(crate) mod activations;
pub(crate) mod engine;
mod layout;
pub(crate) mod megatron;
pub mod optimizer;
mod parts;
mod phase;
pub mod quantized;
pub(crate) mod rows;
mod schedule;
mod shape;
pub(crate) mod tape;
pub(crate) mod weights;

pub(crate) use layout::{Chunk, Layout, Stage};
pub(crate) use parts::{Part, Parts, Plan, Row};
pub use phase::Phase;
pub use shape::{Dim, Dtype, Shape, Symbol, Symbols};

use crate::text::Text;

/// The blocks of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Block {
    /// Weights.
    Parameters,
    /// Gradients of trainable weights.
    Gradients,
    /// Moments, master copies, step counters.
    Optimizer,
    /// What backward keeps from forward.
    Activations,
    /// Working tensors, buffers, inputs, library workspaces.
    Overhead,
}

impl Block {
    /// In the order of the figure.
    pub const ALL: [Self; 5] =
        [Self::Parameters, Self::Gradients, Self::Optimizer, Self::Activations, Self::Overhead];

    /// The report's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
            Self::Overhead => "overhead",
        }
    }
}

/// Bytes by [`Block`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByBlock([u64; 5]);

impl ByBlock {
    /// Bytes of one block.
    pub const fn get(&self, block: Block) -> u64 {
        self.0[block as usize]
    }

    /// Adds bytes to one block.
    pub const fn add(&mut self, block: Block, bytes: u64) {
        self.0[block as usize] = self.0[block as usize].saturating_add(bytes);
    }

    /// All blocks together.
    pub fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Each block and its bytes, in the figure's order.
    pub fn iter(&self) -> impl Iterator<Item = (Block, u64)> + '_ {
        Block::ALL.into_iter().map(|block| (block, self.get(block)))
    }
}

/// Part of the model that a tensor belongs to (the report's `by_group` names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names are the contract's
pub enum Group {
    Embedding,
    Residual,
    Norm,
    Attention,
    CrossAttention,
    Mlp,
    Experts,
    SharedExperts,
    Router,
    FinalNorm,
    LmHead,
    Adapter,
    Loss,
    Other,
}

impl Group {
    /// In the report's order.
    pub const ALL: [Self; 14] = [
        Self::Embedding,
        Self::Residual,
        Self::Norm,
        Self::Attention,
        Self::CrossAttention,
        Self::Mlp,
        Self::Experts,
        Self::SharedExperts,
        Self::Router,
        Self::FinalNorm,
        Self::LmHead,
        Self::Adapter,
        Self::Loss,
        Self::Other,
    ];

    /// The report's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Residual => "residual",
            Self::Norm => "norm",
            Self::Attention => "attention",
            Self::CrossAttention => "cross_attention",
            Self::Mlp => "mlp",
            Self::Experts => "experts",
            Self::SharedExperts => "shared_experts",
            Self::Router => "router",
            Self::FinalNorm => "final_norm",
            Self::LmHead => "lm_head",
            Self::Adapter => "adapter",
            Self::Loss => "loss",
            Self::Other => "other",
        }
    }
}

/// What a kind of tensor is: said once, shared by every row of that kind.
#[derive(Debug)]
pub struct Tensor {
    /// Stable English id, unique within a module, e.g. `fp32_input`.
    pub id: &'static str,
    /// Name for people.
    pub name: Text,
    /// More of it. A function, so that a page that shows none of it needs to load none of it.
    pub about: fn() -> About,
}

/// Kinds are told apart by their place: each is said once.
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Tensor {}

/// What is to be said of a kind of tensor.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Why it is kept, in a sentence.
    pub why: Text,
    /// What would release it, in a sentence.
    pub release: Text,
    /// Where the size comes from (framework file, paper, or oracle case family).
    pub source: &'static str,
}

impl Tensor {
    /// Why it is kept, in a sentence.
    pub fn why(&self) -> Text {
        (self.about)().why
    }

    /// What would release it, in a sentence.
    pub fn release(&self) -> Text {
        (self.about)().release
    }

    /// Where the size comes from.
    pub fn source(&self) -> &'static str {
        (self.about)().source
    }
}

/// One row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub tensor: &'static Tensor,
    /// Module path below the layer, in the framework's words, e.g. `self_attn.q_proj` (may be empty).
    pub module: &'static str,
    /// Which half of an adapter on that module, or which copy of its own, as a path (`lora_A.weight`); empty otherwise.
    pub part: &'static str,
    /// Block of the figure.
    pub block: Block,
    /// Part of the model.
    pub group: Group,
    /// Shape of one tensor, in symbols.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
    /// How many such tensors.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Born in this phase.
    pub from: Phase,
    /// Freed in this phase.
    pub until: Phase,
    /// Alive at the peak (bytes of the `count` tensors that are).
    pub at_peak: u64,
}

impl Entry {
    /// `count` tensors that live always.
    pub(crate) fn lasting(
        (tensor, module): (&'static Tensor, &'static str),
        (block, group): (Block, Group),
        (shape, dtype): (Shape, Dtype),
        count: u64,
        numbers: &Symbols,
    ) -> Self {
        let bytes = shape.elements(numbers).saturating_mul(dtype.bytes()).saturating_mul(count);
        let (from, until) = (Phase::Always, Phase::Always);
        Self {
            tensor,
            module,
            part: "",
            block,
            group,
            shape,
            dtype,
            count,
            bytes,
            from,
            until,
            at_peak: bytes,
        }
    }

    /// `module.tensor`, e.g. `input_layernorm.fp32_input`.
    pub fn name(&self) -> String {
        // A weight is named by its path alone: its tensor adds no word.
        let words = [self.module, self.part, self.tensor.id];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(".")
    }

    /// The formula in symbols: `32 · b·s·h · 2 B`.
    pub fn formula(&self) -> String {
        self.shape.formula(self.count, self.dtype, None)
    }

    /// The same formula with the reader's numbers: `32 · 4·2048·4096 · 2 B`.
    pub fn values(&self, symbols: &Symbols) -> String {
        self.shape.formula(self.count, self.dtype, Some(symbols))
    }
}
