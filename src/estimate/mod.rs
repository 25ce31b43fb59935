//! The answer: what one rank holds at its worst instant, by block, and whether it fits.

mod megatron;
mod peak;
mod rank;
mod requests;
mod reserve;
mod setup;
mod sharding;
mod totals;
mod walk;

use crate::architecture::{Architecture, Weight};
use crate::config::{Config, Gpu, Problem};
use crate::ledger::engine::Engine;
use crate::ledger::tape::Gradients;
use crate::ledger::{Block, ByBlock, Entry, Group, Layout, Parts, Plan, Symbol, Symbols};
use crate::timeline::{self, Instant, Live, Moment};
use peak::Scene;
use rank::Job;
use setup::Setup;
use walk::{Walked, walk};

pub use requests::requests;
pub use reserve::{Reserve, adopt, of_with, refine, refined, replay_one_step};
pub use walk::{Brief, brief, is_hopeless};

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

impl Verdict {
    /// Whether it is this good or better.
    pub fn is_at_worst(self, worst: Self) -> bool {
        self as u8 <= worst as u8
    }
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

/// What one stage of a pipeline holds, and what it needs (bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagePeak {
    /// Its number, from 0.
    pub stage: u64,
    /// How many of the model's layers it holds, embedding and head not counted.
    pub layers: u64,
    /// Parts that run without a break: one, or one for each virtual stage.
    pub chunks: u64,
    /// Forward passes of a chunk that wait for their backward at most, the running one counted: micro-batches in
    /// flight where a stage is one chunk.
    pub in_flight: u64,
    /// Live tensors at its worst instant.
    pub peak: u64,
    /// What is live together then; sums to `peak`.
    pub blocks: ByBlock,
    /// The framework's own counter at its maximum.
    pub allocated: u64,
    /// With the caching allocator and with what lives outside it.
    pub device: Band,
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
    /// Every stage of the pipeline; all other figures are those of the fullest.
    pub stages: Vec<StagePeak>,
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
pub fn estimate(config: &Config) -> Result<Estimate, Vec<Problem>> {
    let model = Architecture::of(config)?;
    Ok(of(&model, config))
}

/// How a model runs under a configuration: what each rank has, its sizes, its element types, and what follows from
/// the keys.
struct Ground {
    layout: Layout,
    /// The model as Megatron-core builds it, where that runs it.
    built: Option<Architecture>,
    /// It is known what its parts run.
    modelled: bool,
    setup: Setup,
    symbols: Symbols,
    plan: Plan,
    engine: Engine,
}

impl Ground {
    fn of(model: &Architecture, config: &Config) -> Self {
        let layout = Layout::of(model, config);
        let built =
            megatron::builds(model, config).then(|| model.as_megatron(&config.architecture, layout.ep));
        // Megatron keeps its replicas itself.
        let engine = if built.is_some() { Engine::Alone } else { Engine::of(config, layout.dp_cp) };
        let setup = Setup::of(config, &engine, &layout, built.is_some());
        let modelled = built.is_some() || model.modelled();
        let model = built.as_ref().unwrap_or(model);
        let mut symbols = layout.symbols(model, config);
        if built.is_some() {
            symbols.set(Symbol::Routed, megatron::routed(config, &layout, &symbols));
        }
        if setup.lora.is_some() {
            symbols.set(Symbol::Lora, config.lora_rank);
        }
        let mut plan = setup.plan(model, config, &layout, &engine);
        if !modelled {
            // No backward is known in which gradients could be born: they are there from the start.
            plan.gradients = Gradients::Added;
        }
        Self { layout, built, modelled, setup, symbols, plan, engine }
    }

    /// The model that runs, of the one that was read.
    fn model<'g>(&'g self, read: &'g Architecture) -> &'g Architecture {
        self.built.as_ref().unwrap_or(read)
    }

    /// What all ranks have in common; without `parts`, what an engine plays stays out.
    fn job<'g>(
        &'g self,
        read: &'g Architecture,
        config: &'g Config,
        parts: Option<&'g Parts<'g>>,
    ) -> Job<'g> {
        let Self { layout, setup, symbols, plan, engine, .. } = self;
        Job { model: self.model(read), config, layout, setup, plan, symbols, engine, parts }
    }
}

/// Estimates one configuration of a model that was read already (its model keys are not looked at again).
pub fn of(model: &Architecture, config: &Config) -> Estimate {
    walk(model, config, all_of)
}

/// Everything that there is to say of it.
fn all_of(walked: Walked) -> Estimate {
    let warnings = walked.warnings();
    let (allocated, reserved, device) = walked.totals();
    let Walked {
        whole, config, setup, plan, parts, workspaces, library, stages, stage, mut rank, step, ..
    } = walked;
    let between_steps = rank.between_steps(library, &step.buffers);
    let script = rank.script.take();
    let scene = Scene { parts, plan, stage, worst: &step.worst, script: script.as_ref() };
    let saved = peak::saved(&scene);
    let worst = Peak {
        bytes: step.worst.live.by_block().sum(),
        moment: step.worst.moment,
        operator: scene.operator(),
        stage: stage.rank,
        blocks: step.worst.live.by_block(),
    };
    // Every rank of a node has its own.
    let host = rank.host.saturating_mul(config.gpus_per_node.min(config.gpus).max(1));
    let (on_rank, symbols) = (rank.elements(), rank.symbols);
    let mut ledger = rank.ledger(&scene, &step.buffers);
    ledger.extend(workspaces);
    let mut blocks = step.largest;
    // The allocator's rounding, and the libraries' workspaces: the rest of what its counter shows.
    blocks.add(Block::Overhead, library.saturating_add(step.counted.saturating_sub(worst.bytes)));
    Estimate {
        parameters: count(whole, setup, on_rank, config.lora_rank),
        blocks,
        saved,
        peak: worst,
        between_steps,
        allocated,
        reserved,
        device,
        host,
        fits: totals::fit(config, &device),
        stages,
        timeline: step.instants,
        ledger,
        warnings,
        symbols,
    }
}

/// What rows hold together.
fn live<'r>(rows: impl Iterator<Item = &'r Entry>) -> Live {
    let mut sum = Live::default();
    for row in rows {
        sum.add(row.block, row.bytes / row.count.max(1), row.count);
    }
    sum
}

/// The whole model's parameters, however many ranks share them.
fn count(model: &Architecture, setup: &Setup, on_rank: u64, lora_rank: u64) -> Parameters {
    let mut symbols = model.symbols;
    symbols.set(Symbol::Lora, lora_rank);
    let adapters = setup.lora.map(|lora| model.trained(lora.targets, lora.copied));
    let mut by_group = [0_u64; Group::ALL.len()];
    let elements = |weight: &Weight| weight.param.shape.elements(&symbols).saturating_mul(weight.count);
    for weight in model.weights().iter().chain(adapters.iter().flatten()) {
        let sum = &mut by_group[weight.param.group as usize];
        *sum = sum.saturating_add(elements(weight));
    }
    let total = by_group.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let trainable = adapters.map_or(total, |trained| {
        trained.iter().fold(0_u64, |sum, weight| sum.saturating_add(elements(weight)))
    });
    // Experts are all alike, and a token passes the router's choice of them.
    let (experts, chosen) = (symbols.get(Symbol::E), symbols.get(Symbol::Top));
    let routed = by_group[Group::Experts as usize];
    let idle = routed.checked_div(experts).map_or(0, |each| each.saturating_mul(experts - chosen));
    let by_group = Group::ALL.into_iter().zip(by_group).filter(|(_, n)| *n > 0).collect();
    Parameters { total, trainable, active: total - idle, on_rank, by_group }
}
