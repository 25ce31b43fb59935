//! The parts of one training step on one GPU: embedding, each distinct layer, head and loss (and, between the stacks of
//! an encoder–decoder, what ends the one and begins the other). Each is run once on a tape; the timeline strings them
//! together.

use super::activations::{self, Criterion, Kernel, Mask, Run, Shared, Side};
use super::tape::{Event, Gradients, Role, Storage, Tape};
use super::{Chunk, Dim, Dtype, Group, Layout, Phase, Shape, Symbol, Symbols};
use crate::architecture::{Architecture, Body, Embedding, Layer, ScoreBias, Stack, weights};
use std::ops::Range;

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
    /// What is before the first layer.
    pub(crate) embedding: Part<'n>,
    /// The distinct ways in which layers run.
    pub(crate) layers: Vec<Part<'n>>,
    /// For each layer from the first to the last, its index in `layers`.
    pub(crate) order: Vec<usize>,
    /// What is between the layers of an encoder and those of its decoder.
    pub(crate) middle: Option<Middle<'n>>,
    pub(crate) loss: Part<'n>,
}

/// Between two stacks.
#[derive(Debug)]
pub(crate) struct Middle<'n> {
    /// Position of the decoder's first layer.
    pub(crate) at: usize,
    /// Norm and dropout of the encoder's output.
    pub(crate) end: Part<'n>,
    /// The decoder's embedding.
    pub(crate) embedding: Part<'n>,
}

/// Layers of one stack that a chunk runs, with what it runs around them.
#[derive(Clone, Debug)]
pub(crate) struct Row<'p, 'n> {
    pub(crate) embedding: Option<&'p Part<'n>>,
    /// Forward and backward of the embedding.
    pub(crate) phases: [Phase; 2],
    /// Positions of its layers.
    pub(crate) layers: Range<usize>,
    /// What an encoder does after them.
    pub(crate) end: Option<&'p Part<'n>>,
}

/// What the parts depend on beside the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) run: Run,
    pub(crate) gradients: Gradients,
    /// Recompute this many of the first layers of each stage.
    pub(crate) recompute_layers: usize,
    /// What recomputation keeps of a layer is moved to the host.
    pub(crate) offloads_inputs: bool,
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

    /// Events of backward: with recomputation, gradients arrive, then the forward runs again, then backward.
    pub(crate) fn backward(&self) -> impl Iterator<Item = &Event> {
        let again = if self.bare.is_some() { self.tape.forward.as_slice() } else { &[] };
        let (arriving, rest) = self.tape.backward.split_at(self.tape.arriving.min(self.tape.backward.len()));
        arriving.iter().chain(again).chain(rest)
    }

    /// All its tapes.
    pub(crate) fn tapes(&self) -> impl Iterator<Item = &Tape<'n>> {
        std::iter::once(&self.tape).chain(&self.bare)
    }

    /// The gradients that backward makes and frees again, in the order in which they are freed.
    pub(crate) fn passed_gradients(&self) -> Vec<usize> {
        self.backward().filter(|event| self.passes(event)).map(|event| event.storage).collect()
    }

    /// Whether a gradient that lives no longer than its operator is freed here.
    pub(crate) fn passes(&self, event: &Event) -> bool {
        let storage = &self.tape.storages[event.storage];
        let gradient = std::ptr::eq(storage.tensor, &raw const crate::text::tensors::WEIGHT_GRADIENT);
        !event.born && gradient && storage.role == Role::Working && !self.tape.is_operand(event.storage)
    }

    /// Whether forward makes this storage.
    pub(crate) fn made_in_forward(&self, storage: usize) -> bool {
        self.tape.forward.iter().any(|event| event.storage == storage)
    }

    /// Bytes that its forward moves to the host.
    pub(crate) fn offloaded(&self) -> u64 {
        self.tapes().fold(0, |sum, tape| sum.saturating_add(tape.offloaded))
    }

    /// What backward keeps from forward.
    pub(crate) fn saved(&self) -> impl Iterator<Item = &Storage> {
        let tape = self.bare.as_ref().unwrap_or(&self.tape);
        let kept =
            |storage: &&Storage| matches!(storage.role, Role::Saved | Role::WeightCopy) && !storage.later;
        tape.storages.iter().filter(kept)
    }
}

impl<'n> Parts<'n> {
    /// Runs every part of `model` once. `numbers`: as its first stack sees them, and (an encoder–decoder) its second.
    pub(crate) fn of(model: &Architecture, numbers: [&'n Symbols; 2], plan: &Plan, layout: &Layout) -> Self {
        let [own, exchanged] = numbers;
        if !model.modelled() && plan.run.megatron.is_none() {
            // Nothing is known of what runs.
            let part = || Part { tape: plan.tape(own, plan.run.compute.weight, true), bare: None };
            let order = vec![0; model.layers()];
            return Self { embedding: part(), layers: vec![part()], order, middle: None, loss: part() };
        }
        let places = layout.places(model.layers());
        let mut layers = Layers { plan, places, parts: Vec::new(), ways: Vec::new(), order: Vec::new() };
        let Some(encoder) = &model.encoder else {
            layers.stack(&model.kinds, &model.order, (own, Side::Only));
            return Self {
                embedding: embedding_part(model, &model.embedding, (own, Side::Only), plan),
                layers: layers.parts,
                order: layers.order,
                middle: None,
                loss: loss_part(model, own, plan),
            };
        };
        layers.stack(&encoder.kinds, &encoder.order, (own, Side::Encoder));
        layers.stack(&model.kinds, &model.order, (exchanged, Side::Decoder));
        let middle = Middle {
            at: encoder.order.len(),
            end: end_part(encoder, own, plan),
            embedding: embedding_part(model, &model.embedding, (exchanged, Side::Decoder), plan),
        };
        Self {
            embedding: embedding_part(model, &encoder.embedding, (own, Side::Encoder), plan),
            layers: layers.parts,
            order: layers.order,
            middle: Some(middle),
            loss: loss_part(model, exchanged, plan),
        }
    }

    /// Bytes of activations that a rank of this stage has in host memory at most: of the micro-batch that runs, and of
    /// those that wait for their backward.
    pub(crate) fn offloaded(&self, stage: &super::Stage) -> u64 {
        let of = |chunk: &Chunk| {
            let layers = chunk.layers.clone().map(|layer| self.layer(layer).offloaded());
            layers.fold(0, u64::saturating_add)
        };
        let each: Vec<u64> = stage.chunks.iter().map(of).collect();
        let at = |turn: &super::schedule::Turn| {
            let waiting = each.iter().zip(&turn.waiting).map(|(bytes, waits)| bytes.saturating_mul(*waits));
            waiting.fold(each.get(turn.chunk).copied().unwrap_or(0), u64::saturating_add)
        };
        stage.turns.iter().map(at).max().unwrap_or(0)
    }

    /// The part that the layer at this position runs.
    pub(crate) fn layer(&self, position: usize) -> &Part<'n> {
        &self.layers[self.order[position]]
    }

    /// Where a layer's part comes in the order of forward, counted from the embedding (0).
    pub(crate) fn place_of_layer(&self, layer: usize) -> usize {
        let second = self.middle.as_ref().is_some_and(|middle| layer >= middle.at);
        1 + layer + if second { 2 } else { 0 }
    }

    /// Where the end of an encoder comes; its decoder's embedding follows.
    pub(crate) fn place_of_end(&self) -> usize {
        1 + self.middle.as_ref().map_or(self.order.len(), |middle| middle.at)
    }

    /// Where head and loss come.
    pub(crate) fn place_of_loss(&self) -> usize {
        self.place_of_layer(self.order.len())
    }

    /// What a chunk runs before the loss, stack by stack.
    pub(crate) fn rows(&self, chunk: &Chunk) -> Vec<Row<'_, 'n>> {
        let Range { start, end } = chunk.layers;
        let at = self.middle.as_ref().map_or(end, |middle| middle.at);
        let mut rows = Vec::with_capacity(2);
        if chunk.embedding || start < at {
            rows.push(Row {
                embedding: chunk.embedding.then_some(&self.embedding),
                phases: [Phase::Embedding, Phase::EmbeddingBackward],
                layers: start..end.min(at).max(start),
                end: self
                    .middle
                    .as_ref()
                    .filter(|_| (start + 1..=end).contains(&at))
                    .map(|middle| &middle.end),
            });
        }
        if let Some(middle) = self.middle.as_ref().filter(|_| end > at) {
            rows.push(Row {
                embedding: (start..end).contains(&at).then_some(&middle.embedding),
                phases: [Phase::DecoderEmbedding, Phase::DecoderEmbeddingBackward],
                layers: start.max(at)..end,
                end: None,
            });
        }
        rows
    }
}

/// The distinct ways in which the layers of all stacks run.
struct Layers<'n, 'p> {
    plan: &'p Plan,
    /// For each layer its place among those of its stage.
    places: Vec<usize>,
    parts: Vec<Part<'n>>,
    ways: Vec<Way>,
    order: Vec<usize>,
}

impl<'n> Layers<'n, '_> {
    fn stack(&mut self, kinds: &[Layer], order: &[u8], (numbers, side): (&'n Symbols, Side)) {
        let common = Common::of(kinds);
        let start = self.order.len();
        let any = common.any();
        for (index, &kind) in order.iter().enumerate() {
            let position = start + index;
            let recomputes =
                |position: usize| self.places.get(position).is_some_and(|place| self.plan.recomputes(*place));
            let way = Way {
                kind,
                side,
                recomputed: recomputes(position),
                // Nothing before the first layer is trained: its input needs no gradient, unless recomputation asks for
                // it (transformers, `enable_input_require_grads`).
                first: position == 0 && !self.plan.run.trains_embedding() && self.plan.recompute_layers == 0,
                opens: any && index == 0,
                follows: any && index == 1,
                closes: any && index + 1 == order.len(),
                handed_on: any && index == 0 && order.len() > 1 && recomputes(position + 1),
            };
            let known = self.ways.iter().position(|known| *known == way);
            self.order.push(known.unwrap_or(self.parts.len()));
            if known.is_none() {
                let run = Turn { numbers, plan: self.plan, way, common };
                self.parts.push(run.part(&kinds[usize::from(kind)]));
                self.ways.push(way);
            }
        }
    }
}

/// What distinguishes the runs of two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "where a layer stands: each says one independent thing")]
struct Way {
    kind: u8,
    side: Side,
    recomputed: bool,
    /// The input needs no gradient.
    first: bool,
    /// It makes what the others of its stack read,
    opens: bool,
    /// is the second to read it,
    follows: bool,
    /// or the last: no gradient of it has been made yet.
    closes: bool,
    /// The next layer's checkpoint keeps what this one made.
    handed_on: bool,
}

/// What layers of a stack read that one of them, or the other stack, made.
#[derive(Clone, Copy, Debug)]
struct Common {
    /// Relative positions.
    bias: bool,
    /// The bias of cross attention.
    cross_bias: bool,
    /// The encoder's output.
    source: bool,
}

impl Common {
    fn of(kinds: &[Layer]) -> Self {
        let has = |what: &dyn Fn(&Body) -> bool| {
            kinds.iter().flat_map(|kind| &kind.sublayers).any(|sublayer| what(&sublayer.body))
        };
        Self {
            bias: has(&|body| matches!(body, Body::Attention(a) if a.bias == ScoreBias::Shared)),
            cross_bias: has(&|body| matches!(body, Body::CrossAttention(a) if a.bias == ScoreBias::Shared)),
            source: has(&|body| matches!(body, Body::CrossAttention(_))),
        }
    }

    const fn any(self) -> bool {
        self.bias || self.cross_bias || self.source
    }
}

/// `[a, s, s]`
const BIAS: Shape = Shape::new(&[Dim::Sym(Symbol::A), Dim::Sym(Symbol::S), Dim::Sym(Symbol::S)]);
/// `[a, s, t]`
const CROSS_BIAS: Shape = Shape::new(&[Dim::Sym(Symbol::A), Dim::Sym(Symbol::S), Dim::Sym(Symbol::T)]);
/// `[b, t, h]`: the encoder's output.
const SOURCE: Shape = Shape::new(&[Dim::Sym(Symbol::B), Dim::Sym(Symbol::T), Dim::Sym(Symbol::H)]);

/// One run of one layer.
struct Turn<'n, 'p> {
    numbers: &'n Symbols,
    plan: &'p Plan,
    way: Way,
    common: Common,
}

impl<'n> Turn<'n, '_> {
    fn tape(&self, tracked: bool) -> Tape<'n> {
        let target = self.way.side == Side::Decoder;
        let mut tape = self.plan.tape(self.numbers, self.stream(), tracked).of_target(target);
        tape.enter("", Group::Residual);
        tape
    }

    const fn stream(&self) -> Dtype {
        self.plan.run.compute.weight
    }

    fn part(&self, layer: &Layer) -> Part<'n> {
        let run = &self.plan.run;
        let needs_grad = !self.way.first;
        let mut tape = self.tape(true);
        if !self.way.recomputed {
            let x = tape.handed(run.stream(), self.stream(), needs_grad);
            let mut shared = self.shared(&mut tape, true);
            let y = activations::layer(&mut tape, layer, x, run, &mut shared);
            tape.hand_over(y);
            self.leave(&mut tape, &shared);
            tape.run_backward(y, Some(x), self.plan.gradients);
            return Part { tape, bare: None };
        }
        // The recomputed forward reads the kept input, which is counted by the first.
        let divided = run.megatron.and_then(|megatron| megatron.divided_inputs);
        let offloaded = self.plan.offloads_inputs && run.megatron.is_none();
        let x = match divided {
            // The kept part is gathered first.
            Some(_) => tape.gathered(run.stream(), self.stream()),
            None if offloaded => tape.brought_back(run.stream(), self.stream()),
            None => tape.foreign(run.stream(), self.stream(), needs_grad),
        };
        let mut shared = self.shared(&mut tape, false);
        let y = activations::layer(&mut tape, layer, x, run, &mut shared);
        if self.way.opens {
            // Made once more, for this layer alone.
            for made in [shared.bias, shared.cross_bias].into_iter().flatten() {
                tape.hand_over(made);
            }
        }
        if run.megatron.is_some() {
            // Megatron's checkpoint runs all of the forward again, and holds what comes out.
            tape.run_backward(y, Some(x), self.plan.gradients);
            tape.drop(y);
        } else if offloaded {
            // So does the one that offloads (ArcticTraining, `CheckpointFunctionWithCPUOffload`): PyTorch's reentrant
            // checkpoint, which holds the input that it brought back as well, and leaves autocast before backward.
            tape.leave_autocast();
            self.add_up(&mut tape, &shared);
            tape.run_backward(y, Some(x), self.plan.gradients);
            tape.drop(y);
            tape.drop(x);
        } else {
            tape.stop_early();
            self.add_up(&mut tape, &shared);
            tape.run_backward(y, Some(x), self.plan.gradients);
        }

        let mut bare = self.tape(false);
        let x = bare.handed(run.stream(), self.stream(), true);
        match divided {
            Some(parts) => bare.keep_part_for_recomputation(x, parts),
            None if offloaded => bare.offload_for_recomputation(x),
            None => bare.keep_for_recomputation(x),
        }
        let mut shared = self.shared(&mut bare, true);
        let y = activations::layer(&mut bare, layer, x, run, &mut shared);
        bare.hand_over(y);
        self.leave(&mut bare, &shared);
        Part { tape, bare: Some(bare) }
    }

    /// What this layer reads of what others made. `counted`: storages that the layer is the one to count are handed to
    /// it; else all are somebody else's.
    fn shared(&self, tape: &mut Tape, counted: bool) -> Shared {
        let way = self.way;
        let mut read = |shape, dtype, own: bool, needs_grad| {
            if !(own && counted) {
                return tape.foreign(shape, dtype, needs_grad);
            }
            let var = tape.handed(shape, dtype, needs_grad);
            if way.recomputed {
                tape.keep_for_recomputation(var);
            }
            var
        };
        let compute = self.plan.run.compute;
        // What the first made is kept by the second's checkpoint, the earliest that has it as an argument.
        let kept = way.follows && way.recomputed;
        let asked = self.plan.run.checkpointed;
        let source = self.common.source.then(|| read(SOURCE, compute.weight, way.opens, true));
        let later = |present: bool| present && !way.opens;
        let frozen = self.plan.run.frozen;
        let bias = later(self.common.bias).then(|| read(BIAS, compute.weight, kept, !frozen));
        let cross_bias =
            later(self.common.cross_bias).then(|| read(CROSS_BIAS, compute.matmul, kept && !asked, asked));
        Shared { bias, cross_bias, source, kept: self.common.bias || self.common.cross_bias }
    }

    /// After forward: who holds what this layer read or made, and which gradients arrive.
    fn leave(&self, tape: &mut Tape, shared: &Shared) {
        if self.way.opens {
            if let Some(source) = shared.source {
                tape.hold_for_model(source);
            }
            for made in [shared.bias, shared.cross_bias].into_iter().flatten() {
                let asked = self.plan.run.checkpointed && Some(made) == shared.cross_bias;
                if asked {
                    tape.keep_for_recomputation(made);
                    tape.hold_for_graph(made);
                } else if self.way.handed_on {
                    tape.hand_over(made);
                } else {
                    tape.hold_for_stack(made);
                }
            }
        } else if self.way.follows && self.way.recomputed {
            for read in [shared.bias, shared.cross_bias].into_iter().flatten() {
                tape.hold_for_stack(read);
            }
        }
        self.add_up(tape, shared);
    }

    /// Which gradients are added up from layer to layer.
    fn add_up(&self, tape: &mut Tape, shared: &Shared) {
        let arrives = !self.way.closes;
        for read in [shared.source, shared.bias].into_iter().flatten() {
            tape.share(read, arrives);
        }
        if let Some(zeros) = shared.cross_bias.filter(|_| self.plan.run.checkpointed) {
            tape.share_leaf(zeros, arrives, self.way.opens);
        }
    }
}

fn embedding_part<'n>(
    model: &Architecture,
    embedding: &Embedding,
    (numbers, side): (&'n Symbols, Side),
    plan: &Plan,
) -> Part<'n> {
    let compute = plan.run.compute;
    let mut tape = plan.tape(numbers, compute.weight, true).of_target(side == Side::Decoder);
    let source = (side == Side::Decoder).then(|| {
        // On its way from the encoder to the first layer that reads it.
        tape.enter("encoder", Group::Residual);
        let source = tape.handed(SOURCE, compute.weight, true);
        tape.share(source, true);
        source
    });
    let y = activations::embedding(&mut tape, embedding, &plan.run, side);
    let role = if plan.recompute_layers < model.layers() { Role::Saved } else { Role::Working };
    if side != Side::Encoder && plan.run.megatron.is_none() {
        activations::prologue(&mut tape, &plan.run, model, mask(model, numbers, plan.run), role);
    }
    if let Some(source) = source {
        tape.hand_over(source);
    }
    tape.hand_over(y);
    if plan.run.trains_embedding() {
        // Both stacks, and a tied head, read one table: its gradient is added up from part to part.
        if plan.joined || side == Side::Encoder {
            let in_place = compute.autocast() || side == Side::Encoder;
            tape.await_tied(weights::EMBED, compute.weight, in_place, plan.gradients);
        }
        if side == Side::Decoder {
            tape.leave_waiting(weights::EMBED);
        }
        tape.run_backward(y, None, plan.gradients);
        keep_whole(&mut tape, embedding, plan);
    }
    Part { tape, bare: None }
}

/// Of a single image, the gradient of a class token is a slice of the stream's, which stays for its sake
/// (`AccumulateGrad` of PyTorch takes a gradient over as it is). Of several, it is a sum.
fn keep_whole(tape: &mut Tape, embedding: &Embedding, plan: &Plan) {
    let Some(image) = embedding.image else { return };
    // Beside the convolution's weight and bias, each other parameter is one more token.
    let slices = (embedding.other.len() as u64).saturating_sub(2);
    if slices > 0 && plan.gradients == Gradients::Born && tape.numbers().get(Symbol::B) == 1 {
        let rest = Dim::of(image.tokens.saturating_sub(slices));
        tape.keep_beside_gradients(activations::STREAM.with_heads(rest), plan.run.compute.weight);
    }
}

/// Norm and dropout of an encoder's output.
fn end_part<'n>(encoder: &Stack, numbers: &'n Symbols, plan: &Plan) -> Part<'n> {
    let stream = plan.run.compute.weight;
    let mut tape = plan.tape(numbers, stream, true);
    tape.enter("", Group::Residual);
    let x = tape.handed(plan.run.stream(), stream, true);
    let y = activations::encoder_end(&mut tape, x, encoder, &plan.run);
    tape.hand_over(y);
    tape.run_backward(y, Some(x), plan.gradients);
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
            let masked = bodies().any(|body| body.masked(numbers, run.samples.masks()));
            masked.then_some(Mask::Chosen { each: run.samples.masks() })
        }
    }
}

fn loss_part<'n>(model: &Architecture, numbers: &'n Symbols, plan: &Plan) -> Part<'n> {
    let stream: Dtype = plan.run.compute.weight;
    let mut tape = plan.tape(numbers, stream, true).of_target(model.encoder.is_some());
    tape.enter("", Group::Residual);
    let x = tape.handed(plan.run.stream(), stream, true);
    let loss = activations::loss(&mut tape, x, &plan.run, model, plan.criterion, plan.keep_logits);
    // A tied head's gradient waits for the embedding's.
    if plan.joined {
        tape.leave_waiting(weights::EMBED);
    }
    tape.run_backward(loss, Some(x), plan.gradients);
    Part { tape, bare: None }
}
