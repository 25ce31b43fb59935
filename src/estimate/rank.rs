//! What one rank holds whatever runs: weights, gradients, states, inputs; and what it needs while the optimizer steps.

use super::peak::Scene;
use super::setup::Setup;
use super::{BetweenSteps, live, megatron};
use crate::allocator::Lasting;
use crate::architecture::{Architecture, Half, Weight};
use crate::config::{Config, OptimizerImpl};
use crate::ledger::activations::Megatron;
use crate::ledger::engine::{Engine, Script, Shares};
use crate::ledger::rows::{Rows, bytes};
use crate::ledger::tape::Gradients;
use crate::ledger::{
    Chunk, Entry, Layout, Parts, Phase, Plan, Stage, Symbols, optimizer, quantized, weights,
};
use crate::timeline::{Buffers, Live};

/// What all ranks of a job have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'j> {
    pub(super) model: &'j Architecture,
    pub(super) config: &'j Config,
    pub(super) layout: &'j Layout,
    pub(super) setup: &'j Setup,
    pub(super) plan: &'j Plan,
    pub(super) symbols: &'j Symbols,
    pub(super) engine: &'j Engine,
    /// What runs; without it what an engine plays stays out.
    pub(super) parts: Option<&'j Parts<'j>>,
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
    /// Bytes that the step leaves until gradients are dropped.
    left_by_step: u64,
    /// Offloaded bytes of this rank.
    pub(super) host: u64,
    /// What the engine makes and frees in a step; gradients are its own then.
    pub(super) script: Option<Script>,
    /// The numbers behind the letters of its rows.
    pub(super) symbols: Symbols,
}

impl Job<'_> {
    /// Whether two stages hold the same tensors: layers of the same kinds in the same order, and the same ends. (What an
    /// engine plays on them is another matter: it names their layers.)
    pub(super) fn alike(&self, one: &Stage, other: &Stage) -> bool {
        let kinds = |chunk: &Chunk| self.model.order.get(chunk.layers.clone());
        self.model.encoder.is_none()
            && one.chunks.len() == other.chunks.len()
            && one.chunks.iter().zip(&other.chunks).all(|(one, other)| {
                (one.embedding, one.loss) == (other.embedding, other.loss) && kinds(one) == kinds(other)
            })
    }

    /// The rows of a rank of this stage.
    pub(super) fn rank(&self, stage: &Stage) -> Rank {
        if let Some(run) = &self.setup.megatron {
            return self.megatron(stage, run);
        }
        let Self { model, setup, plan, symbols, engine, parts, .. } = *self;
        let shares = engine.shares(model, setup.storage(), stage, symbols);
        let (held, mut host) = engine.lasting(&shares, symbols);
        host = host.saturating_add(parts.map_or(0, |parts| parts.offloaded(stage)));
        let Shares { base, adapters, steps, stepped } = shares;
        let mut parameters = match setup.quantized {
            Some(stored) => quantized::parameters(&base, stored, setup.stored, symbols),
            None => weights::parameters(&base, setup.stored, symbols),
        };
        // Copies of modules come last, and have a type of their own.
        let (adapters, copies): (Vec<Weight>, Vec<Weight>) =
            adapters.into_iter().partition(|weight| weight.param.half != Half::Copy);
        parameters.extend(weights::parameters(&adapters, setup.adapter, symbols));
        parameters.extend(weights::parameters(&copies, setup.copy, symbols));
        let trained = if setup.lora.is_some() { &adapters } else { &base };
        let dtensor = plan.run.dtensor;
        let stream = (setup.compute.weight, dtensor);
        let script =
            parts.and_then(|parts| engine.script(model, (parts, stage), setup.storage(), stream, symbols));
        // Weights that are stepped on in backward have a gradient for an instant only: its row comes from there.
        let passing = engine.holds_gradients() || matches!(plan.gradients, Gradients::Stepped { .. });
        let laid_out = |weight: &Weight| match dtensor {
            Some(dtensor) => Weight { param: dtensor.gradient(weight.param, symbols), ..*weight },
            None => *weight,
        };
        let lasting: Vec<Weight> = if passing { Vec::new() } else { trained.iter().map(laid_out).collect() };
        let mut gradients = weights::gradients(&lasting, setup.gradient, setup.gradient_buffer, symbols);
        let alike = if passing { &[][..] } else { copies.as_slice() };
        gradients.extend(weights::gradients(alike, setup.copy, setup.gradient_buffer, symbols));
        // An engine that steps on a flat copy has them all in it.
        let apart = if stepped.is_some() { &[][..] } else { copies.as_slice() };
        let stepped = stepped.as_deref().unwrap_or(trained);
        let optimizer::States { rows: mut states, host: paged } =
            optimizer::states(stepped, setup.stepping, symbols);
        host = host.saturating_add(paged);
        states.extend(optimizer::steps(stepped, setup.stepping, steps, symbols));
        let mut temporaries = optimizer::temporaries(stepped, setup.stepping, symbols);
        if let Some(dtensor) = dtensor.filter(|_| matches!(engine, Engine::Alone) && !passing) {
            // They are gone before the step makes the rest.
            let moved = weights::redistributed(trained, dtensor, setup.gradient, symbols);
            if bytes(&moved) > bytes(&temporaries) {
                temporaries = moved;
            }
        }
        if !apart.is_empty() {
            let stepping = setup.stepping_of_copies(engine);
            let optimizer::States { rows, host: paged } = optimizer::states(apart, stepping, symbols);
            host = host.saturating_add(paged);
            states.extend(rows);
            states.extend(optimizer::steps(apart, stepping, 0, symbols));
            let own = optimizer::temporaries(apart, stepping, symbols);
            // Tensors of one type are stepped on together, but the list made for the first type is there until that of
            // the next has taken its name (`_multi_tensor_adam`); what is made tensor by tensor is gone before.
            if stepping.implementation == OptimizerImpl::Foreach {
                temporaries.extend(own);
            } else if bytes(&own) > bytes(&temporaries) {
                temporaries = own;
            }
        }
        let mut inputs = weights::inputs(model, setup.compute.weight, symbols, &plan.run);
        if engine.has_buckets() {
            inputs.extend(weights::buckets(trained, setup.gradient, symbols));
            inputs.extend(weights::buckets(&copies, setup.copy, symbols));
        }
        inputs.extend(held);
        let [offloads_parameters, offloads_states] = engine.offloads();
        if offloads_parameters {
            host = host.saturating_add(bytes(&parameters));
            parameters.clear();
        }
        if offloads_states {
            host = host.saturating_add(bytes(&states));
            states.clear();
            temporaries.clear();
        }
        let mut weights = base;
        weights.extend(adapters);
        weights.extend(copies);
        let buffered = setup.gradient_buffer;
        Rank {
            weights,
            parameters,
            gradients,
            states,
            inputs,
            temporaries,
            buffered,
            left_by_step: 0,
            host,
            script,
            symbols: *symbols,
        }
    }

    /// The same of Megatron, which keeps them in its own buffers.
    fn megatron(&self, stage: &Stage, run: &Megatron) -> Rank {
        let Self { model, config, layout, setup, plan, symbols, .. } = *self;
        let mut symbols = *symbols;
        let layers: Vec<usize> = stage.layers().collect();
        let base = model.weights_in(&layers, stage.embeds(), stage.ends());
        let chunks: Vec<_> = stage
            .chunks
            .iter()
            .map(|chunk| model.sequence(chunk.layers.clone(), chunk.embedding, chunk.loss))
            .collect();
        let buffers = megatron::buffers(config, run, setup.compute.weight, setup.gradient);
        let kept = buffers.kept(&chunks, &base, layout, setup.stepping, &mut symbols);
        let inputs = megatron::inputs(model, stage, run, plan.run.kernel, &base, &symbols);
        Rank {
            weights: base,
            parameters: kept.parameters,
            gradients: kept.gradients,
            states: kept.states,
            inputs,
            temporaries: kept.temporaries,
            buffered: true,
            left_by_step: kept.main_gradients,
            host: 0,
            script: None,
            symbols,
        }
    }
}

impl Rank {
    /// What is there throughout a step: a gradient buffer that is never freed, or gradients of the micro-batches
    /// before, are from the start.
    pub(super) fn always(&self, plan: &Plan) -> Live {
        let added = if plan.gradients == Gradients::Added { self.gradients.as_slice() } else { &[] };
        live(self.parameters.iter().chain(&self.states).chain(&self.inputs).chain(added))
    }

    /// What it holds, for the allocator.
    pub(super) fn lasting<'r>(&'r self, workspaces: &'r [Entry]) -> Lasting<'r> {
        Lasting {
            parameters: &self.parameters,
            gradients: &self.gradients,
            states: &self.states,
            inputs: &self.inputs,
            temporaries: &self.temporaries,
            workspaces,
            buffered: self.buffered,
        }
    }

    /// What is there when no step runs, with the libraries' workspaces.
    pub(super) fn between_steps(&self, library: u64, buffers: &Buffers) -> BetweenSteps {
        let idle = live(self.parameters.iter().chain(&self.states).chain(&self.inputs));
        let idle = idle.by_block().sum().saturating_add(library);
        let gradients = bytes(&self.gradients);
        let with_gradients = idle.saturating_add(gradients);
        let kept = if self.buffered { with_gradients } else { idle };
        let without_gradients = kept.saturating_add(self.held(&buffers.after_step));
        // A step may end with more than it began with: what stays gathered is gathered again.
        let with_gradients = with_gradients
            .saturating_add(self.left_by_step)
            .saturating_add(self.held(&buffers.at_step))
            .max(without_gradients);
        BetweenSteps { with_gradients, without_gradients }
    }

    /// Bytes of the parameters, and of the optimizer's states.
    pub(super) fn stored(&self) -> [u64; 2] {
        [&self.parameters, &self.states].map(bytes)
    }

    /// Bytes of a reduction bucket that lives always.
    pub(super) fn bucket(&self) -> u64 {
        let bucket = |row: &&Entry| std::ptr::eq(row.tensor, &raw const crate::text::tensors::REDUCE_BUCKET);
        bytes(self.inputs.iter().filter(bucket))
    }

    /// What the engine's buffers hold when each is alive so many times.
    fn held(&self, alive: &[u64]) -> u64 {
        let buffers = self.script.iter().flat_map(|script| &script.buffers);
        let each = buffers.zip(alive).map(|(buffer, alive)| bytes(&buffer.rows).saturating_mul(*alive));
        each.fold(0, u64::saturating_add)
    }

    /// Parameters that this rank holds a copy or a share of.
    pub(super) fn elements(&self) -> u64 {
        let of = |weight: &Weight| weight.param.shape.elements(&self.symbols).saturating_mul(weight.count);
        self.weights.iter().fold(0, |sum, weight| sum.saturating_add(of(weight)))
    }

    /// All rows: these, and what runs.
    pub(super) fn ledger(self, scene: &Scene, buffers: &Buffers) -> Vec<Entry> {
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
        let alive = scene.worst.engine.alive.iter().copied().chain(std::iter::repeat(0));
        for ((buffer, most), alive) in
            scene.script.iter().flat_map(|script| &script.buffers).zip(&buffers.most).zip(alive)
        {
            // What passes from part to part has rows of its own, unless that is where the worst instant is.
            if *most == 0 || (buffer.between_parts && alive == 0) {
                continue;
            }
            ledger.extend(buffer.rows.iter().map(|row| Entry {
                count: row.count.saturating_mul(*most),
                bytes: row.bytes.saturating_mul(*most),
                at_peak: row.bytes.saturating_mul(alive),
                ..row.clone()
            }));
        }
        ledger
    }
}
