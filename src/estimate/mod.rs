//! The answer: what one rank holds at its worst instant, by block, and whether it fits.

mod peak;
mod setup;
mod totals;

use crate::architecture::{Architecture, Weight};
use crate::config::{Config, Gpu, Problem, ProblemKind};
use crate::ledger::rows::Rows;
use crate::ledger::tape::Gradients;
use crate::ledger::{
    Block, ByBlock, Entry, Group, Parts, Phase, Symbol, Symbols, optimizer, quantized, weights,
};
use crate::text::architecture as words;
use crate::timeline::{self, Instant, Live, Moment};
use peak::Scene;
use setup::Setup;

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
pub fn estimate(config: &Config) -> Result<Estimate, Vec<Problem>> {
    let model = Architecture::of(config)?;
    Ok(of(&model, config))
}

/// Estimates one configuration of a model that was read already (its model keys are not looked at again).
pub fn of(model: &Architecture, config: &Config) -> Estimate {
    let mut symbols = model.symbols;
    symbols.set(Symbol::B, config.batch);
    // An image makes its own number of tokens.
    symbols.set(Symbol::S, model.embedding.image.map_or(config.seq, |image| image.tokens));
    let setup = Setup::of(config);
    if setup.lora.is_some() {
        symbols.set(Symbol::Lora, config.lora_rank);
    }
    let mut plan = setup.plan(model, config);
    if !model.modelled() {
        // No backward is known in which gradients could be born: they are there from the start.
        plan.gradients = Gradients::Added;
    }
    let base = model.weights();
    let adapters = setup.lora.map(|lora| (model.adapters(lora.targets), lora.dtype));

    let mut parameters = base_rows(&base, &setup, &symbols);
    if let Some((adapters, dtype)) = &adapters {
        parameters.extend(weights::parameters(adapters, *dtype, &symbols));
    }
    let trained = adapters.as_ref().map_or(&base, |(adapters, _)| adapters);
    // Weights that are stepped on in backward have a gradient for an instant only: its row comes from there.
    let passing = matches!(plan.gradients, Gradients::Stepped { .. });
    let lasting = if passing { &[][..] } else { trained.as_slice() };
    let gradients = weights::gradients(lasting, setup.gradient, setup.gradient_buffer, &symbols);
    let gradient_bytes = gradients.iter().fold(0_u64, |sum, row| sum.saturating_add(row.bytes));
    let optimizer::States { rows: states, host } = optimizer::states(trained, setup.stepping, &symbols);
    let temporaries = optimizer::temporaries(trained, setup.stepping, &symbols);
    let inputs = weights::inputs(model, setup.compute.weight, &symbols, plan.run.padding);

    let idle = live(parameters.iter().chain(&states).chain(&inputs));
    // A buffer that is never freed, or gradients of the micro-batches before: there from the start.
    let added = if plan.gradients == Gradients::Added { gradients.as_slice() } else { &[] };
    let always = live(parameters.iter().chain(&states).chain(&inputs).chain(added));

    let parts = Parts::of(model, &symbols, &plan);
    let step = timeline::run(&parts, &plan, always, &live(temporaries.iter()));
    let workspaces = totals::workspaces(totals::card(config));
    let scene = Scene { parts: &parts, plan: &plan, worst: &step.worst };
    let saved = peak::saved(&scene);
    let library = workspaces.bytes;
    let worst = Peak {
        bytes: step.worst.live.by_block().sum(),
        moment: step.worst.moment,
        operator: scene.operator(),
        stage: 0,
        blocks: step.worst.live.by_block(),
    };

    let mut ledger = parameters;
    ledger.extend(gradients);
    ledger.extend(states);
    scene.gradients(&mut ledger, plan.gradients == Gradients::Added);
    let mut kept = Rows { entries: ledger };
    scene.activations(&mut kept);
    let mut ledger = kept.entries;
    let at_step = step.worst.moment.phase == Phase::Optimizer;
    ledger.extend(
        temporaries.into_iter().map(|row| Entry { at_peak: if at_step { row.bytes } else { 0 }, ..row }),
    );
    ledger.extend(inputs);
    ledger.push(workspaces);

    let mut warnings = setup.warnings;
    if !model.modelled() {
        warnings.push(Problem {
            key: "model_type".to_owned(),
            value: model.model_type.clone(),
            kind: ProblemKind::Note(words::COUNTED_ONLY),
        });
    }
    let allocated = step.counted.saturating_add(library);
    let mut blocks = step.largest;
    // The allocator's rounding, and the libraries' workspaces: the rest of what its counter shows.
    blocks.add(Block::Overhead, library.saturating_add(step.counted.saturating_sub(worst.bytes)));
    let buffered = if setup.gradient_buffer { gradient_bytes } else { 0 };
    let idle = idle.by_block().sum().saturating_add(library).saturating_add(buffered);
    let reserved = totals::reserved(allocated);
    let device = totals::device(&reserved);
    Estimate {
        parameters: count(&base, adapters.as_ref().map(|(adapters, _)| adapters.as_slice()), &symbols),
        blocks,
        saved,
        peak: worst,
        between_steps: BetweenSteps {
            with_gradients: idle.saturating_add(gradient_bytes - buffered),
            without_gradients: idle,
        },
        allocated,
        reserved,
        device,
        host,
        fits: totals::fit(config, &device),
        timeline: step.instants,
        ledger,
        warnings,
        symbols,
    }
}

/// The model's own parameters as they are stored.
fn base_rows(base: &[Weight], setup: &Setup, symbols: &Symbols) -> Vec<Entry> {
    match setup.quantized {
        Some(stored) => quantized::parameters(base, stored, setup.compute.weight, symbols),
        None => weights::parameters(base, setup.compute.weight, symbols),
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

fn count(base: &[Weight], adapters: Option<&[Weight]>, symbols: &Symbols) -> Parameters {
    let mut by_group = [0_u64; Group::ALL.len()];
    for weight in base.iter().chain(adapters.unwrap_or_default()) {
        let elements = weight.param.shape.elements(symbols).saturating_mul(weight.count);
        let sum = &mut by_group[weight.param.group as usize];
        *sum = sum.saturating_add(elements);
    }
    let total = by_group.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let trainable = adapters.map_or(total, |_| by_group[Group::Adapter as usize]);
    // Experts are all alike, and a token passes the router's choice of them.
    let (experts, chosen) = (symbols.get(Symbol::E), symbols.get(Symbol::Top));
    let routed = by_group[Group::Experts as usize];
    let idle = routed.checked_div(experts).map_or(0, |each| each.saturating_mul(experts - chosen));
    let by_group = Group::ALL.into_iter().zip(by_group).filter(|(_, n)| *n > 0).collect();
    Parameters { total, trainable, active: total - idle, on_rank: total, by_group }
}
