//! Instants of a training step and what is live at each.

use crate::ledger::ByBlock;
use std::fmt;

/// A part of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Before and after the step: what lives always.
    Always,
    /// The embedding's forward.
    Embedding,
    /// A layer's forward.
    Forward,
    /// Final norm, head and loss.
    Loss,
    /// Backward of loss, head and final norm.
    LossBackward,
    /// A layer's backward (with its recomputation).
    Backward,
    /// The embedding's backward: the end of backward.
    EmbeddingBackward,
    /// The optimizer step.
    Optimizer,
}

impl Phase {
    /// The report's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Embedding => "forward:embedding",
            Self::Forward => "forward",
            Self::Loss => "forward:loss",
            Self::LossBackward => "backward:loss",
            Self::Backward => "backward",
            Self::EmbeddingBackward => "backward:embedding",
            Self::Optimizer => "optimizer",
        }
    }
}

/// A phase, and the layer where it has many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// Part of the step.
    pub phase: Phase,
    /// Layer index, from 0, for `Forward` and `Backward`.
    pub layer: Option<u32>,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layer {
            Some(layer) => write!(f, "{}:{layer}", self.phase.word()),
            None => f.write_str(self.phase.word()),
        }
    }
}

/// The most that is live within one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// When.
    pub moment: Moment,
    /// What is live at its worst operator, by block (bytes).
    pub live: ByBlock,
}
