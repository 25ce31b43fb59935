//! The parts of one training step on one GPU: embedding, each distinct layer, head and loss. Each is run once on a
//! tape; the timeline strings them together.

use super::activations::{self, Criterion, Kernel, Mask, Run, STREAM};
use super::tape::{Event, Gradients, Role, Storage, Tape};
use super::{Dtype, Group, Layout, Symbols};
use crate::architecture::{Architecture, Body, Layer, weights};

/// What happens when a part runs.
#[derive(Debug)]
pub(crate) struct Part<'n> {
    /// Storages, places and events of the forward that autograd follows.
    pub(crate) tape: Tape<'n>,
    /// With recomputation: the first forward, which keeps only its input.
    pub(crate) bare: Option<Tape<'n>>,
}

/// All parts of a step.
#[derive(Debug)]
pub(crate) struct Parts<'n> {
    pub(crate) embedding: Part<'n>,
    /// The distinct ways in which layers run.
    pub(crate) layers: Vec<Part<'n>>,
    /// For each layer from the first to the last, its index in `layers`.
    pub(crate) order: Vec<usize>,
    pub(crate) loss: Part<'n>,
}

/// What the parts depend on beside the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) run: Run,
    pub(crate) gradients: Gradients,
    /// Recompute this many of the first layers of each stage.
    pub(crate) recompute_layers: usize,
    /// The program holds the logits beyond the loss.
    pub(crate) keep_logits: bool,
    pub(crate) criterion: Criterion,
    /// The output embedding is the input embedding, and one rank runs both: their gradients become one.
    pub(crate) joined: bool,
}

impl Plan {
    fn tape<'n>(&self, numbers: &'n Symbols, weight: Dtype, tracked: bool) -> Tape<'n> {
        Tape::new(numbers, weight, tracked).counting_scratch(self.run.workspace)
    }

    /// Whether the layer at this place of a stage is recomputed.
    pub(crate) const fn recomputes(&self, layer: usize) -> bool {
        layer < self.recompute_layers
    }
}

impl<'n> Part<'n> {
    /// Events of forward.
    pub(crate) fn forward(&self) -> (&[Event], &Tape<'n>) {
        let tape = self.bare.as_ref().unwrap_or(&self.tape);
        (&tape.forward, tape)
    }

    /// Events of backward: with recomputation, the forward again and then backward.
    pub(crate) fn backward(&self) -> impl Iterator<Item = &Event> {
        let again = if self.bare.is_some() { self.tape.forward.as_slice() } else { &[] };
        again.iter().chain(&self.tape.backward)
    }

    /// What backward keeps from forward.
    pub(crate) fn saved(&self) -> impl Iterator<Item = &Storage> {
        let tape = self.bare.as_ref().unwrap_or(&self.tape);
        tape.storages.iter().filter(|storage| matches!(storage.role, Role::Saved | Role::WeightCopy))
    }
}

impl<'n> Parts<'n> {
    /// Runs every part of `model` once.
    pub(crate) fn of(model: &Architecture, numbers: &'n Symbols, plan: &Plan, layout: &Layout) -> Self {
        if !model.modelled() {
            // Nothing is known of what runs.
            let part = || Part { tape: plan.tape(numbers, plan.run.compute.weight, true), bare: None };
            let order = vec![0; model.order.len()];
            return Self { embedding: part(), layers: vec![part()], order, loss: part() };
        }
        let mut layers = Vec::new();
        let mut ways: Vec<Way> = Vec::new();
        let places = layout.places(model.order.len());
        let order = model.order.iter().enumerate().map(|(position, &kind)| {
            // Nothing before the first layer is trained: its input needs no gradient, unless recomputation asks for
            // it (transformers, `enable_input_require_grads`).
            let first = position == 0 && plan.run.frozen && plan.recompute_layers == 0;
            let way = Way { kind, recomputed: plan.recomputes(places[position]), first };
            ways.iter().position(|known| *known == way).unwrap_or_else(|| {
                layers.push(layer_part(&model.kinds[usize::from(kind)], numbers, plan, way));
                ways.push(way);
                ways.len() - 1
            })
        });
        let order = order.collect();
        Self {
            embedding: embedding_part(model, numbers, plan),
            layers,
            order,
            loss: loss_part(model, numbers, plan),
        }
    }

    /// The part that the layer at this position runs.
    pub(crate) fn layer(&self, position: usize) -> &Part<'n> {
        &self.layers[self.order[position]]
    }
}

/// What distinguishes the runs of two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    kind: u8,
    recomputed: bool,
    /// The input needs no gradient.
    first: bool,
}

fn layer_part<'n>(layer: &Layer, numbers: &'n Symbols, plan: &Plan, way: Way) -> Part<'n> {
    let stream = plan.run.compute.weight;
    let mut tape = plan.tape(numbers, stream, true);
    tape.enter("", Group::Residual);
    if !way.recomputed {
        let x = tape.handed(STREAM, stream, !way.first);
        let y = activations::layer(&mut tape, layer, x, &plan.run);
        tape.hand_over(y);
        tape.run_backward(y, Some(x), plan.gradients);
        return Part { tape, bare: None };
    }
    // The recomputed forward reads the kept input, which is counted by the first.
    let x = tape.foreign(STREAM, stream, !way.first);
    let y = activations::layer(&mut tape, layer, x, &plan.run);
    tape.stop_early();
    tape.run_backward(y, Some(x), plan.gradients);

    let mut bare = plan.tape(numbers, stream, false);
    bare.enter("", Group::Residual);
    let x = bare.handed(STREAM, stream, true);
    bare.keep_for_recomputation(x);
    let y = activations::layer(&mut bare, layer, x, &plan.run);
    bare.hand_over(y);
    Part { tape, bare: Some(bare) }
}

fn embedding_part<'n>(model: &Architecture, numbers: &'n Symbols, plan: &Plan) -> Part<'n> {
    let compute = plan.run.compute;
    let mut tape = plan.tape(numbers, compute.weight, true);
    let y = activations::embedding(&mut tape, model, &plan.run);
    let role = if plan.recompute_layers < model.order.len() { Role::Saved } else { Role::Working };
    activations::prologue(&mut tape, compute, model, mask(model, numbers, plan.run), role);
    tape.hand_over(y);
    if !plan.run.frozen {
        if plan.joined {
            tape.await_tied(weights::EMBED, compute.weight, compute.autocast(), plan.gradients);
        }
        tape.run_backward(y, None, plan.gradients);
    }
    Part { tape, bare: None }
}

/// The mask that the model makes before its layers run.
fn mask(model: &Architecture, numbers: &Symbols, run: Run) -> Option<Mask> {
    let bodies = || model.kinds.iter().flat_map(|kind| &kind.sublayers).map(|sublayer| &sublayer.body);
    match run.kernel {
        Kernel::Eager if !model.causal() => None,
        Kernel::Eager => {
            let windowed = |with: bool| {
                bodies().any(|body| matches!(body, Body::Attention(a) if a.window.is_some() == with))
            };
            Some(Mask::Added { kinds: if windowed(true) && windowed(false) { 2 } else { 1 } })
        }
        Kernel::Flash => None,
        Kernel::Sdpa => {
            let masked = bodies().any(|body| body.masked(numbers, run.padding));
            masked.then_some(Mask::Chosen { each: run.padding })
        }
    }
}

fn loss_part<'n>(model: &Architecture, numbers: &'n Symbols, plan: &Plan) -> Part<'n> {
    let stream: Dtype = plan.run.compute.weight;
    let mut tape = plan.tape(numbers, stream, true);
    tape.enter("", Group::Residual);
    let x = tape.handed(STREAM, stream, true);
    let loss = activations::loss(&mut tape, x, &plan.run, model, plan.criterion, plan.keep_logits);
    // A tied head's gradient waits for the embedding's.
    if plan.joined {
        tape.leave_waiting(weights::EMBED);
    }
    tape.run_backward(loss, Some(x), plan.gradients);
    Part { tape, bare: None }
}
