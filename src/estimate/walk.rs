//! A step of every stage, run through once: what whole answers and brief ones are told from.

use super::rank::Rank;
use super::setup::Setup;
use super::{Band, Fit, Ground, StagePeak, live, sharding, totals};
use crate::architecture::Architecture;
use crate::config::{Attention, Config, Problem, ProblemKind, Stack};
use crate::ledger::engine::Engine;
use crate::ledger::rows::bytes;
use crate::ledger::{Entry, Layout, Parts, Plan, Stage};
use crate::text::architecture as words;
use crate::timeline::{self, Profiles, Timeline};

/// What decides whether a configuration fits, without the rows behind it: the same figures as [`super::of`] has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Live tensors at the worst instant (bytes).
    pub peak: u64,
    /// With what lives outside the allocator.
    pub device: Band,
    /// Against the GPU.
    pub fits: Fit,
    /// What was ignored, replaced or is not yet taken into account.
    pub warnings: Vec<Problem>,
}

/// The figures of [`super::of`] that a search asks for, in a fraction of its time.
pub fn brief(model: &Architecture, config: &Config) -> Brief {
    walk(model, config, |walked| walked.brief())
}

/// Whether what the first stage holds throughout a step (weights, optimizer states, inputs) is more than the card has
/// already. Then the peak is, too; what runs is not looked at.
pub fn is_hopeless(model: &Architecture, config: &Config) -> bool {
    let ground = Ground::of(model, config);
    let job = ground.job(model, config, None);
    let stage = ground.layout.stages.first();
    stage
        .is_some_and(|stage| job.rank(stage).always(&ground.plan).by_block().sum() > totals::capacity(config))
}

/// A step of every stage, run through: what answers are told from.
pub(super) struct Walked<'w> {
    /// The model as it was read.
    pub(super) whole: &'w Architecture,
    pub(super) config: &'w Config,
    pub(super) layout: &'w Layout,
    pub(super) setup: &'w Setup,
    pub(super) plan: &'w Plan,
    pub(super) engine: &'w Engine,
    pub(super) parts: &'w Parts<'w>,
    /// It is known what its parts run.
    pub(super) modelled: bool,
    pub(super) workspaces: Vec<Entry>,
    /// Bytes of the workspaces.
    pub(super) library: u64,
    pub(super) stages: Vec<StagePeak>,
    /// The fullest stage, its rows and its step.
    pub(super) stage: &'w Stage,
    pub(super) rank: Rank,
    pub(super) step: Timeline,
}

/// Runs through a step of every stage.
pub(super) fn walk<T>(model: &Architecture, config: &Config, tell: impl FnOnce(Walked) -> T) -> T {
    let ground = Ground::of(model, config);
    let Ground { layout, modelled, setup, symbols, plan, engine, .. } = &ground;
    let exchanged = symbols.exchanged();
    let parts = Parts::of(ground.model(model), [symbols, &exchanged], plan, layout);
    let mut profiles = Profiles::of(&parts);
    if engine.passes_gradients() {
        profiles.by_gradient(&parts);
    }
    let job = ground.job(model, config, Some(&parts));
    let workspaces = totals::workspaces(totals::card(config), setup.megatron.as_ref());
    let library = bytes(&workspaces);
    let mut stages = Vec::with_capacity(layout.stages.len());
    let mut ranks: Vec<(&Stage, Rank)> = Vec::new();
    let mut fullest: Option<(&Stage, usize, Timeline)> = None;
    for stage in &layout.stages {
        // Stages of the same parts hold the same rows.
        let known = ranks.iter().position(|(other, rank)| rank.script.is_none() && job.alike(stage, other));
        let index = known.unwrap_or_else(|| {
            ranks.push((stage, job.rank(stage)));
            ranks.len() - 1
        });
        let Some((_, rank)) = ranks.get(index) else { continue };
        let step = timeline::run(
            (&parts, &profiles),
            plan,
            stage,
            rank.script.as_ref(),
            rank.always(plan),
            &live(rank.temporaries.iter()),
        );
        let blocks = step.worst.live.by_block();
        let allocated = step.counted.saturating_add(library);
        stages.push(StagePeak {
            stage: stage.rank,
            layers: stage.layers().count() as u64,
            chunks: stage.chunks.len() as u64,
            in_flight: stage.in_flight(),
            peak: blocks.sum(),
            blocks,
            allocated,
            device: totals::device(&totals::reserved(allocated)),
        });
        if fullest.as_ref().is_none_or(|(.., most)| step.counted > most.counted) {
            fullest = Some((stage, index, step));
        }
    }
    let Some((stage, index, step)) = fullest else { unreachable!("a pipeline has a stage") };
    let (_, rank) = ranks.swap_remove(index);
    tell(Walked {
        whole: model,
        config,
        layout,
        setup,
        plan,
        engine,
        parts: &parts,
        modelled: *modelled,
        workspaces,
        library,
        stages,
        stage,
        rank,
        step,
    })
}

impl Walked<'_> {
    /// What was ignored, replaced or is not yet taken into account.
    pub(super) fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.setup.warnings.clone();
        warnings.extend(self.layout.problems.iter().cloned());
        if !self.modelled {
            warnings.push(Problem {
                key: "model_type".to_owned(),
                value: self.whole.model_type.clone(),
                kind: ProblemKind::Note(words::COUNTED_ONLY),
            });
        }
        let Self { config, engine, rank, step, .. } = self;
        let sdpa = config.attention == Attention::Sdpa && config.stack == Stack::Transformers;
        if sdpa && self.modelled && self.whole.eager_alone() {
            warnings.push(Problem {
                key: "attention".to_owned(),
                value: config.attention.word().to_owned(),
                kind: ProblemKind::Note(words::EAGER_ALONE),
            });
        }
        let script = rank.script.as_ref();
        warnings.extend(sharding::raises(config, engine, rank, script, &step.worst, &step.buffers));
        warnings
    }

    /// The framework's own counter, what the allocator reserves, and what the device holds.
    pub(super) fn totals(&self) -> (u64, Band, Band) {
        let allocated = self.step.counted.saturating_add(self.library);
        let reserved = totals::reserved(allocated);
        (allocated, reserved, totals::device(&reserved))
    }

    fn brief(&self) -> Brief {
        let (_, _, device) = self.totals();
        let peak = self.step.worst.live.by_block().sum();
        Brief { peak, device, fits: totals::fit(self.config, &device), warnings: self.warnings() }
    }
}
