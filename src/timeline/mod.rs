//! Instants of a training step, what is live at each, and the worst of them.
//!
//! The parts of the ledger are strung together in the order of a step: embedding, layers, loss, their backward in
//! reverse, the optimizer. What one part leaves behind is where the next begins, so the peak is found, not assumed.

mod clock;
mod live;
mod profile;

pub use crate::ledger::Phase;
pub(crate) use clock::{Buffers, EngineState, Worst};
pub(crate) use live::{Live, block};
pub(crate) use profile::Profiles;

use clock::{Clock, one_of_each};
use profile::{Passes, Profile, taken};

use crate::ledger::engine::Script;
use crate::ledger::tape::{Event, Id, Place, Role, Storage, Tape};
use crate::ledger::{Block, ByBlock, Chunk, Part, Parts, Plan, Row, Stage};
use std::fmt;

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

/// One step.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) instants: Vec<Instant>,
    pub(crate) worst: Worst,
    /// The allocator's counter at its maximum (bytes).
    pub(crate) counted: u64,
    /// Each block at its own largest.
    pub(crate) largest: ByBlock,
    /// How many times each buffer of the engine is alive at most, when the optimizer steps, and after it.
    pub(crate) buffers: Buffers,
}

/// Runs a step of one stage: `always` lives throughout, `stepping` only during the optimizer step. Micro-batches that
/// wait for their backward meanwhile are there from the start of each run through a chunk. An engine plays its `script`
/// around the parts.
pub(crate) fn run(
    (parts, profiles): (&Parts, &Profiles),
    plan: &Plan,
    stage: &Stage,
    script: Option<&Script>,
    always: Live,
    stepping: &Live,
) -> Timeline {
    let start = Moment { phase: Phase::Always, layer: None };
    let worst = Worst {
        moment: start,
        live: always,
        events: 0,
        chunk: 0,
        waiting: Vec::new(),
        side: None,
        engine: EngineState::default(),
    };
    let buffers = one_of_each(script);
    let mut clock = Clock {
        base: always,
        instants: Vec::new(),
        worst,
        counted: always.counted,
        chunk: 0,
        waiting: Vec::new(),
        highest: Live::default(),
        script,
        profiles,
        engine: EngineState { alive: vec![0; buffers.len()], ..EngineState::default() },
        most: vec![0; buffers.len()],
        buffers,
        held: Live::default(),
    };
    for (id, buffer) in script.iter().flat_map(|script| script.buffers.iter().enumerate()) {
        (0..buffer.at_start).for_each(|_| clock.hold(id));
    }
    clock.instants.reserve(2 * stage.layers().count() + 9);
    let walk = Walk { parts, profiles, early: plan.recompute_layers == 0 };
    let nets: Vec<Live> = stage.chunks.iter().map(|chunk| walk.net(chunk)).collect();
    // What chunks leave that are through: gradients, and what the program holds of the loss.
    let mut left = always;
    for (index, chunk) in stage.chunks.iter().enumerate() {
        clock.begin(left, stage, index, false, &nets);
        walk.forward(&mut clock, chunk);
    }
    for (index, chunk) in stage.chunks.iter().enumerate().rev() {
        let others = clock.begin(left, stage, index, true, &nets);
        clock.base = clock.base.plus(&nets[index]);
        walk.backward(&mut clock, chunk);
        left = clock.base.minus(&others);
    }
    // The program forgets the loss, and so the graph.
    if stage.ends() {
        let taken = taken(&parts.loss);
        let mut forgotten = left_by_loss(parts, true);
        forgotten.retain(|id| !taken.contains(id));
        release(&parts.loss.tape, &forgotten, &mut left);
    }
    for tape in stage.layers().flat_map(|layer| parts.layer(layer).tapes()) {
        release(tape, &tape.held_by_graph, &mut left);
    }
    clock.base = left;
    clock.waiting = Vec::new();
    let at_step = clock.engine.alive.clone();
    let step = Profile { peak: *stepping, counted_peak: stepping.counted, events: 1, ..Profile::default() };
    clock.pass(Phase::Optimizer, None, &step);

    let mut largest = ByBlock::default();
    for block in Block::ALL {
        let most = clock.instants.iter().map(|instant| instant.live.get(block)).max().unwrap_or(0);
        largest.add(block, most);
    }
    Timeline {
        instants: clock.instants,
        worst: clock.worst,
        counted: clock.counted.try_into().unwrap_or(u64::MAX),
        largest,
        buffers: Buffers { most: clock.most, at_step, after_step: clock.engine.alive },
    }
}

/// Of the moments in which a chunk runs, what waits in the one where it is most.
fn most_waiting(stage: &Stage, chunk: usize, backward: bool, nets: &[Live]) -> Vec<u64> {
    let turns = stage.turns.iter().filter(|turn| turn.chunk == chunk && turn.backward == backward);
    let most = turns.max_by_key(|turn| waiting(&turn.waiting, nets).counted);
    most.map(|turn| turn.waiting.clone()).unwrap_or_default()
}

/// What micro-batches hold together that wait for their backward.
fn waiting(counts: &[u64], nets: &[Live]) -> Live {
    let mut sum = Live::default();
    for (count, net) in counts.iter().zip(nets) {
        sum = sum.plus(&net.times(*count));
    }
    sum
}

/// Runs through chunks.
struct Walk<'w, 'n> {
    parts: &'w Parts<'n>,
    profiles: &'w Profiles,
    /// Masks are let go of when the layers' forward is over.
    early: bool,
}

impl Walk<'_, '_> {
    fn forward(&self, clock: &mut Clock, chunk: &Chunk) {
        for row in self.parts.rows(chunk) {
            if row.embedding.is_some() {
                clock.pass(row.phases[0], None, &self.profiles.before(&row).forward);
            }
            for layer in row.layers.clone() {
                clock.pass(Phase::Forward, Some(layer), &self.layer(layer).forward);
            }
            self.after_layers(&row, &mut clock.base);
            if row.end.is_some() {
                clock.pass(Phase::EncoderEnd, None, &self.profiles.end().forward);
            }
        }
        if chunk.loss {
            clock.pass(Phase::Loss, None, &self.profiles.loss.forward);
        }
    }

    /// What a stack's program lets go of when its layers' forward is over. Masks are the program's; with recomputation
    /// its closures hold them until the layers are done.
    fn after_layers(&self, row: &Row, base: &mut Live) {
        if let Some(embedding) = row.embedding {
            release(&embedding.tape, &embedding.tape.held_by_stack, base);
            if self.early {
                let_go(embedding, Role::Working, base);
            }
        }
        for layer in row.layers.clone() {
            let (_, tape) = self.parts.layer(layer).forward();
            release(tape, &tape.held_by_stack, base);
        }
    }

    /// What a micro-batch holds of a chunk between its forward and its backward.
    fn net(&self, chunk: &Chunk) -> Live {
        let mut net = Live::default();
        // Autocast's context ends with forward: its cache lets go.
        let uncache = |net: &mut Live, part: &Part| {
            let (_, tape) = part.forward();
            release(tape, &tape.cached, net);
        };
        for row in self.parts.rows(chunk) {
            if row.embedding.is_some() {
                net = net.plus(&self.profiles.before(&row).forward.net);
            }
            for layer in row.layers.clone() {
                net = net.plus(&self.layer(layer).forward.net);
                uncache(&mut net, self.parts.layer(layer));
            }
            self.after_layers(&row, &mut net);
            if row.end.is_some() {
                net = net.plus(&self.profiles.end().forward.net);
            }
        }
        if chunk.loss {
            net = net.plus(&self.profiles.loss.forward.net);
            uncache(&mut net, &self.parts.loss);
        }
        net
    }

    fn backward(&self, clock: &mut Clock, chunk: &Chunk) {
        if chunk.loss {
            clock.pass(Phase::LossBackward, None, &self.profiles.loss.backward);
        }
        for row in self.parts.rows(chunk).iter().rev() {
            if row.end.is_some() {
                clock.pass(Phase::EncoderEndBackward, None, &self.profiles.end().backward);
            }
            for layer in row.layers.clone().rev() {
                clock.pass(Phase::Backward, Some(layer), &self.layer(layer).backward);
            }
            let Some(embedding) = row.embedding else { continue };
            let_go(embedding, Role::Saved, &mut clock.base);
            if !self.early {
                let_go(embedding, Role::Working, &mut clock.base);
            }
            // The gradient that parts after made of the same table is counted by the embedding's backward from here on.
            if let Some(storage) = embedding.tape.awaited() {
                clock.base.free(&embedding.tape, storage);
            }
            clock.pass(row.phases[1], None, &self.profiles.before(row).backward);
        }
    }

    fn layer(&self, layer: usize) -> &Passes {
        &self.profiles.layers[self.parts.order[layer]]
    }
}

/// What an embedding's forward leaves for all layers: rotary tables, masks.
pub(crate) fn held(embedding: &Part) -> Vec<bool> {
    let tape = &embedding.tape;
    let mut held = replay(tape.storages.len(), tape.forward.iter());
    let own = tape.backward.iter().filter(|event| !event.born).map(|event| event.storage);
    own.chain(tape.held_by_stack.iter().copied()).for_each(|storage| held[storage] = false);
    held
}

/// What its forward keeps for its own backward.
pub(crate) fn kept(embedding: &Part) -> Vec<bool> {
    let tape = &embedding.tape;
    let alive = replay(tape.storages.len(), tape.forward.iter());
    let held = held(embedding);
    let kept = |(id, storage): (usize, &Storage)| alive[id] && !held[id] && storage.role != Role::Working;
    tape.storages.iter().enumerate().map(kept).collect()
}

/// Frees what [`held`] says, of one role.
fn let_go(embedding: &Part, role: Role, base: &mut Live) {
    let tape = &embedding.tape;
    for (storage, held) in held(embedding).into_iter().enumerate() {
        if held && tape.storages[storage].role == role {
            base.free(tape, storage);
        }
    }
}

/// Frees these storages of a tape.
fn release(tape: &Tape, which: &[Id], base: &mut Live) {
    for &storage in which {
        base.free(tape, storage);
    }
}

/// What the loss leaves working when its backward is over: itself and its gradient, which the program holds, and the
/// gradient of a weight that others read as well, which waits for theirs until one of them takes it over (`taken`).
pub(crate) fn left_by_loss(parts: &Parts, taken: bool) -> Vec<Id> {
    let left = |id: &Id| !(taken && parts.loss.tape.waits(*id));
    left_working(&parts.loss).into_iter().filter(left).collect()
}

/// The gradient of a table that the embedding before it reads as well: it waits for that one's share.
pub(crate) fn waiting_gradient(embedding: &Part) -> Vec<Id> {
    left_working(embedding).into_iter().filter(|id| embedding.tape.waits(*id)).collect()
}

fn left_working(part: &Part) -> Vec<Id> {
    let end = alive(part, true, usize::MAX);
    let working = |id: &Id| matches!(part.tape.storages[*id].role, Role::Working | Role::Passing);
    (0..end.len()).filter(|id| end[*id] && working(id)).collect()
}

/// Which storages of a part are alive after so many events of its forward or backward.
pub(crate) fn alive(part: &Part, backward: bool, events: usize) -> Vec<bool> {
    let (forward, tape) = part.forward();
    if !backward {
        return replay(tape.storages.len(), forward.iter().take(events));
    }
    let first = if part.bare.is_some() { &[] } else { forward };
    let mut alive = replay(part.tape.storages.len(), first.iter().chain(part.backward().take(events)));
    // Autocast's cache let go when forward was over, and so did the program.
    if part.bare.is_none() {
        let gone = part.tape.cached.iter().chain(&part.tape.held_by_stack);
        gone.for_each(|&storage| alive[storage] = false);
    }
    alive
}

fn replay<'e>(storages: usize, events: impl Iterator<Item = &'e Event>) -> Vec<bool> {
    let mut alive = vec![false; storages];
    events.for_each(|event| alive[event.storage] = event.born);
    alive
}

/// The operator that made the worst instant.
pub(crate) fn operator(part: &Part, backward: bool, events: usize) -> Option<Place> {
    let last = events.checked_sub(1)?;
    let (forward, tape) = part.forward();
    let (tape, event) =
        if backward { (&part.tape, part.backward().nth(last)?) } else { (tape, forward.get(last)?) };
    tape.places.get(event.place).copied()
}
