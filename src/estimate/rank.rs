//! What one rank holds whatever runs: weights, gradients, states, inputs; and what it needs while the optimizer steps.

use super::peak::Scene;
use super::setup::Setup;
use super::{BetweenSteps, live};
use crate::architecture::{Architecture, Weight};
use crate::ledger::rows::Rows;
use crate::ledger::tape::Gradients;
use crate::ledger::{Entry, Phase, Plan, Stage, Symbols, optimizer, quantized, weights};
use crate::timeline::Live;

/// What all ranks of a job have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'j> {
    pub(super) model: &'j Architecture,
    pub(super) setup: &'j Setup,
    pub(super) plan: &'j Plan,
    pub(super) symbols: &'j Symbols,
}

/// The rows of one rank.
#[derive(Debug)]
pub(super) struct Rank {
    /// The tensors behind the parameters, adapters included.
    weights: Vec<Weight>,
    parameters: Vec<Entry>,
    gradients: Vec<Entry>,
    states: Vec<Entry>,
    inputs: Vec<Entry>,
    /// Alive only while the optimizer steps.
    pub(super) temporaries: Vec<Entry>,
    /// Gradients live in a buffer that is never freed.
    buffered: bool,
    /// Offloaded bytes.
    pub(super) host: u64,
}

impl Job<'_> {
    /// The rows of a rank of this stage.
    pub(super) fn rank(&self, stage: &Stage) -> Rank {
        let Self { model, setup, plan, symbols } = *self;
        let layers: Vec<usize> = stage.layers().collect();
        let base = model.weights_in(&layers, stage.embeds(), stage.ends());
        let mut parameters = match setup.quantized {
            Some(stored) => quantized::parameters(&base, stored, setup.compute.weight, symbols),
            None => weights::parameters(&base, setup.compute.weight, symbols),
        };
        let adapters = setup.lora.map(|lora| (model.adapters_in(lora.targets, &layers), lora.dtype));
        if let Some((adapters, dtype)) = &adapters {
            parameters.extend(weights::parameters(adapters, *dtype, symbols));
        }
        let trained = adapters.as_ref().map_or(&base, |(adapters, _)| adapters);
        // Weights that are stepped on in backward have a gradient for an instant only: its row comes from there.
        let passing = matches!(plan.gradients, Gradients::Stepped { .. });
        let lasting = if passing { &[][..] } else { trained.as_slice() };
        let gradients = weights::gradients(lasting, setup.gradient, setup.gradient_buffer, symbols);
        let optimizer::States { rows: states, host } = optimizer::states(trained, setup.stepping, symbols);
        let temporaries = optimizer::temporaries(trained, setup.stepping, symbols);
        let inputs = weights::inputs(model, setup.compute.weight, symbols, plan.run.padding);
        let mut weights = base;
        weights.extend(adapters.into_iter().flat_map(|(adapters, _)| adapters));
        let buffered = setup.gradient_buffer;
        Rank { weights, parameters, gradients, states, inputs, temporaries, buffered, host }
    }
}

impl Rank {
    /// What is there throughout a step: a gradient buffer that is never freed, or gradients of the micro-batches
    /// before, are from the start.
    pub(super) fn always(&self, plan: &Plan) -> Live {
        let added = if plan.gradients == Gradients::Added { self.gradients.as_slice() } else { &[] };
        live(self.parameters.iter().chain(&self.states).chain(&self.inputs).chain(added))
    }

    /// What is there when no step runs, with the libraries' workspaces.
    pub(super) fn between_steps(&self, library: u64) -> BetweenSteps {
        let idle = live(self.parameters.iter().chain(&self.states).chain(&self.inputs));
        let idle = idle.by_block().sum().saturating_add(library);
        let gradients = self.gradients.iter().fold(0_u64, |sum, row| sum.saturating_add(row.bytes));
        let with_gradients = idle.saturating_add(gradients);
        BetweenSteps { with_gradients, without_gradients: if self.buffered { with_gradients } else { idle } }
    }

    /// Parameters that this rank holds a copy or a share of.
    pub(super) fn elements(&self, symbols: &Symbols) -> u64 {
        let of = |weight: &Weight| weight.param.shape.elements(symbols).saturating_mul(weight.count);
        self.weights.iter().fold(0, |sum, weight| sum.saturating_add(of(weight)))
    }

    /// All rows: these, and what runs.
    pub(super) fn ledger(self, scene: &Scene) -> Vec<Entry> {
        let mut ledger = self.parameters;
        ledger.extend(self.gradients);
        ledger.extend(self.states);
        scene.gradients(&mut ledger, scene.plan.gradients == Gradients::Added);
        let mut kept = Rows { entries: ledger };
        scene.activations(&mut kept);
        let mut ledger = kept.entries;
        let at_step = scene.worst.moment.phase == Phase::Optimizer;
        let at_peak = |row: Entry| Entry { at_peak: if at_step { row.bytes } else { 0 }, ..row };
        ledger.extend(self.temporaries.into_iter().map(at_peak));
        ledger.extend(self.inputs);
        ledger
    }
}
