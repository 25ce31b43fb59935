//! The answer: what one rank holds at its worst instant, by block, and whether it fits.

use crate::config::{Gpu, Problem};
use crate::ledger::{Block, ByBlock, Entry, Group, Symbols};
use crate::timeline::{Instant, Moment};

/// Parameter counts (elements, not bytes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// All parameters, each shared tensor once.
    pub total: u64,
    /// Those that receive a gradient.
    pub trainable: u64,
    /// Those that one token uses (fewer than `total` for mixtures of experts).
    pub active: u64,
    /// Those that the fullest rank holds.
    pub on_rank: u64,
    /// By part of the model; sums to `total`.
    pub by_group: Vec<(Group, u64)>,
}

/// What autograd holds at the end of forward, on one micro-batch (bytes).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Without autocast's weight copies.
    pub total: u64,
    /// 16-bit copies of fp32 weights that autocast keeps while the graph lives.
    pub autocast_weight_copies: u64,
    /// By part of the model; sums to `total`.
    pub by_group: Vec<(Group, u64)>,
}

/// The worst instant of a step in the steady state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Sum of live tensors (bytes).
    pub bytes: u64,
    /// When.
    pub moment: Moment,
    /// Which operator of that moment, as `module.operator` (empty when the moment has only one).
    pub operator: String,
    /// Pipeline stage of the fullest rank.
    pub stage: u64,
    /// What is live together then; sums to `bytes`.
    pub blocks: ByBlock,
}

/// A total that is only known as a range (bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    /// The least that is plausible.
    pub low: u64,
    /// The most likely.
    pub expected: u64,
    /// The most that is plausible.
    pub high: u64,
}

/// Does it fit the chosen GPU?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Even the high end of the device band fits.
    Yes,
    /// The expected total fits, the high end does not.
    Tight,
    /// The expected total does not fit.
    No,
}

/// The chosen GPU against the device band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The card (`None` when only `gpu_memory` was given).
    pub gpu: Option<&'static Gpu>,
    /// Its memory (bytes).
    pub capacity: u64,
    /// Yes, tight or no.
    pub verdict: Verdict,
    /// Capacity minus the expected device total (bytes; negative: missing).
    pub spare: i64,
}

/// What the allocator counts when no step is running (bytes, workspaces included).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BetweenSteps {
    /// Gradients kept.
    pub with_gradients: u64,
    /// Gradients freed (`zero_grad(set_to_none=True)`).
    pub without_gradients: u64,
}

/// The whole answer for one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Parameter counts.
    pub parameters: Parameters,
    /// Each block at its own largest: the rule of thumb's sum, an upper bound of the peak.
    pub blocks: ByBlock,
    /// What backward keeps.
    pub saved: Saved,
    /// The worst instant.
    pub peak: Peak,
    /// Between steps.
    pub between_steps: BetweenSteps,
    /// The framework's own counter at its maximum (bytes).
    pub allocated: u64,
    /// With the caching allocator.
    pub reserved: Band,
    /// With what lives outside the allocator.
    pub device: Band,
    /// Offloaded bytes per node.
    pub host: u64,
    /// Against the GPU.
    pub fits: Fit,
    /// Live bytes over one step.
    pub timeline: Vec<Instant>,
    /// Every tensor.
    pub ledger: Vec<Entry>,
    /// What was ignored, replaced or is not yet taken into account.
    pub warnings: Vec<Problem>,
    /// The numbers behind the symbols of the formulas.
    pub symbols: Symbols,
}

impl Estimate {
    /// The largest sum of one block over the step (bytes).
    pub fn block(&self, block: Block) -> u64 {
        self.blocks.get(block)
    }
}

/// Estimates one configuration.
///
/// # Errors
/// When no figure can be given at all: the model cannot be read, or its numbers exclude each other. Each problem
/// names its key.
pub fn estimate(config: &crate::config::Config) -> Result<Estimate, Vec<Problem>> {
    let _ = config;
    Err(Vec::new())
}
