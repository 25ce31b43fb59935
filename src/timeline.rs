//! Instants of a training step, what is live at each, and the worst of them.
//!
//! The parts of the ledger are strung together in the order of a step: embedding, layers, loss, their backward in
//! reverse, the optimizer. What one part leaves behind is where the next begins, so the peak is found, not assumed.

pub use crate::ledger::Phase;

use crate::ledger::engine::{Act, BufferId, Owner, Script, Side};
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

/// The allocator hands out multiples of this (`kMinBlockSize` in `c10/cuda/CUDACachingAllocator.cpp`).
const ROUNDING: u64 = 512;
/// A request above this gets a segment of its own (`kMinLargeAlloc`) …
const OWN_SEGMENT: u64 = 10 << 20;
/// … of a multiple of this (`kRoundLarge`) …
const SEGMENT_ROUNDING: u64 = 2 << 20;
/// … and what is left of it is split off only above this (`kSmallSize`).
const SPLIT_ABOVE: u64 = 1 << 20;

/// What the allocator counts for one tensor in a block that others used before.
const fn rounded(bytes: u64) -> i128 {
    (bytes.div_ceil(ROUNDING) as i128) * (ROUNDING as i128)
}

/// What it counts for one that got its segment when memory was fresh and keeps it from step to step: weights,
/// states, gradients. A remainder too small to split is counted with it.
fn in_own_segment(bytes: u64) -> i128 {
    let block = rounded(bytes);
    let segment = i128::from(bytes.div_ceil(SEGMENT_ROUNDING)) * i128::from(SEGMENT_ROUNDING);
    if bytes > OWN_SEGMENT && segment - block <= i128::from(SPLIT_ABOVE) { segment } else { block }
}

/// Live bytes by block, and the same as the allocator counts them (rounded, operators' scratch included).
///
/// Signed and wide: a part can free what another made, and no input may overflow a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live {
    blocks: [i128; 5],
    counted: i128,
}

impl Live {
    /// Adds `count` tensors of `bytes` to a block, which come and go.
    fn add_passing(&mut self, block: Block, bytes: u64, count: u64) {
        self.blocks[block as usize] += i128::from(bytes) * i128::from(count);
        self.counted += rounded(bytes) * i128::from(count);
    }

    /// Adds `count` tensors of `bytes` to a block.
    pub(crate) fn add(&mut self, block: Block, bytes: u64, count: u64) {
        self.blocks[block as usize] += i128::from(bytes) * i128::from(count);
        self.counted += in_own_segment(bytes) * i128::from(count);
    }

    fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (mine, theirs) in sum.blocks.iter_mut().zip(other.blocks) {
            *mine += theirs;
        }
        sum.counted += other.counted;
        sum
    }

    fn minus(&self, other: &Self) -> Self {
        let mut rest = *self;
        for (mine, theirs) in rest.blocks.iter_mut().zip(other.blocks) {
            *mine -= theirs;
        }
        rest.counted -= other.counted;
        rest
    }

    fn times(&self, count: u64) -> Self {
        let mut product = *self;
        for block in &mut product.blocks {
            *block *= i128::from(count);
        }
        product.counted *= i128::from(count);
        product
    }

    fn total(&self) -> i128 {
        self.blocks.iter().sum()
    }

    fn apply(&mut self, tape: &Tape, event: &Event) {
        let storage = &tape.storages[event.storage];
        let sign = if event.born { 1 } else { -1 };
        let lasting = storage.role == Role::Gradient;
        self.counted += sign * if lasting { in_own_segment(storage.bytes) } else { rounded(storage.bytes) };
        if let Some(block) = block(storage.role) {
            self.blocks[block as usize] += sign * i128::from(storage.bytes);
        }
    }

    /// What a tape made is freed outside its own events.
    fn free(&mut self, tape: &Tape, storage: Id) {
        self.apply(tape, &Event { storage, born: false, place: 0 });
    }

    /// As sizes that can be shown.
    pub(crate) fn by_block(&self) -> ByBlock {
        let mut all = ByBlock::default();
        for (block, bytes) in Block::ALL.into_iter().zip(self.blocks) {
            all.add(block, clamp(bytes));
        }
        all
    }
}

fn clamp(bytes: i128) -> u64 {
    u64::try_from(bytes.max(0)).unwrap_or(u64::MAX)
}

/// Which block a storage counts to (`None`: only the allocator counts it).
pub(crate) const fn block(role: Role) -> Option<Block> {
    match role {
        Role::Working => Some(Block::Overhead),
        Role::Saved | Role::WeightCopy => Some(Block::Activations),
        Role::Gradient | Role::Passing => Some(Block::Gradients),
        Role::Hidden => None,
    }
}

/// The same between two gradients that pass, one after another.
fn segments(part: &Part) -> Vec<Profile> {
    let mut all = Vec::new();
    let mut now = Profile::default();
    let mut most = i128::MIN;
    for (index, event) in part.backward().enumerate() {
        if part.passes(event) {
            all.push(std::mem::take(&mut now));
            all.last_mut().into_iter().for_each(|last| last.end = index);
            most = i128::MIN;
        }
        now.apply(&part.tape, event, index, &mut most);
    }
    all.push(now);
    all
}

/// What one run through a part adds: at its worst, and when it is over.
#[derive(Clone, Copy, Debug, Default)]
struct Profile {
    peak: Live,
    /// How many events had happened at the worst.
    events: usize,
    counted_peak: i128,
    net: Live,
    /// How many events had happened when it was over (of one segment of a part).
    end: usize,
}

impl Profile {
    fn apply(&mut self, tape: &Tape, event: &Event, index: usize, most: &mut i128) {
        self.net.apply(tape, event);
        if event.born {
            let total = self.net.total();
            if total > *most {
                *most = total;
                self.peak = self.net;
                self.events = index + 1;
            }
            self.counted_peak = self.counted_peak.max(self.net.counted);
        }
    }
}

fn profile<'e>(tape: &Tape, events: impl Iterator<Item = &'e Event>) -> Profile {
    let mut out = Profile::default();
    let mut most = i128::MIN;
    for (index, event) in events.enumerate() {
        out.apply(tape, event, index, &mut most);
    }
    out
}

/// The worst instant, and where in its part it is.
#[derive(Clone, Debug)]
pub(crate) struct Worst {
    pub(crate) moment: Moment,
    pub(crate) live: Live,
    /// Events of the part (forward or backward) that had happened.
    pub(crate) events: usize,
    /// Which chunk of the stage ran, and how many other micro-batches waited for their backward in each.
    pub(crate) chunk: usize,
    pub(crate) waiting: Vec<u64>,
    /// The engine acted, on this side of the part's run.
    pub(crate) side: Option<Side>,
    pub(crate) engine: EngineState,
}

/// What an engine holds at an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineState {
    /// How many times each buffer is alive.
    pub(crate) alive: Vec<u64>,
    /// What it made last.
    pub(crate) made: Option<BufferId>,
    /// The gradients of the running part, and of the loss, were taken.
    pub(crate) taken: [bool; 2],
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

/// Counts of an engine's buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) most: Vec<u64>,
    pub(crate) at_step: Vec<u64>,
    pub(crate) after_step: Vec<u64>,
}

struct Clock<'c> {
    base: Live,
    instants: Vec<Instant>,
    worst: Worst,
    counted: i128,
    chunk: usize,
    waiting: Vec<u64>,
    /// The largest of the moment that runs.
    highest: Live,
    script: Option<&'c Script>,
    profiles: &'c Profiles,
    /// One of each buffer.
    buffers: Vec<Live>,
    engine: EngineState,
    /// All of the engine's buffers together.
    held: Live,
    most: Vec<u64>,
}

impl Clock<'_> {
    /// A run through a chunk begins, at the moment at which most waits; gives what waits.
    fn begin(&mut self, left: Live, stage: &Stage, chunk: usize, backward: bool, nets: &[Live]) -> Live {
        self.chunk = chunk;
        self.waiting = most_waiting(stage, chunk, backward, nets);
        let others = waiting(&self.waiting, nets);
        self.base = left.plus(&others);
        others
    }

    fn pass(&mut self, phase: Phase, layer: Option<usize>, passing: &Profile) {
        let moment = Moment { phase, layer: layer.and_then(|layer| u32::try_from(layer).ok()) };
        self.highest = Live::default();
        self.engine.taken[0] = false;
        self.play(moment, Side::Before);
        let segments = self.profiles.segments(phase, layer.unwrap_or(0));
        for (gradient, segment) in segments.iter().enumerate() {
            self.through(moment, segment);
            if let Some(script) = self.script {
                let acts = script.gradient_acts(phase, layer.unwrap_or(0), gradient);
                self.act(moment, acts, (None, segment.end));
            }
        }
        if segments.is_empty() {
            self.through(moment, passing);
        } else {
            // What the part's own events do not free.
            let parts = segments.iter().fold(Live::default(), |sum, segment| sum.plus(&segment.net));
            self.base = self.base.plus(&passing.net.minus(&parts));
        }
        self.play(moment, Side::After);
        self.instants.push(Instant { moment, live: self.highest.by_block() });
    }

    fn through(&mut self, moment: Moment, passing: &Profile) {
        // Of a part in which nothing is made there is no instant.
        if passing.events > 0 {
            let counted = self.base.counted + self.held.counted + passing.counted_peak;
            self.rise(moment, &passing.peak, counted, (None, passing.events));
        }
        self.base = self.base.plus(&passing.net);
    }

    /// What is alive now, with `more` that the running part holds: is it the most so far?
    fn rise(&mut self, moment: Moment, more: &Live, counted: i128, (side, events): (Option<Side>, usize)) {
        let live = self.base.plus(&self.held).plus(more);
        if live.total() > self.highest.total() {
            self.highest = live;
        }
        if live.total() > self.worst.live.total() {
            self.worst.moment = moment;
            self.worst.live = live;
            self.worst.events = events;
            self.worst.chunk = self.chunk;
            self.worst.waiting.clone_from(&self.waiting);
            self.worst.side = side;
            self.worst.engine.clone_from(&self.engine);
        }
        self.counted = self.counted.max(counted);
    }

    /// What the engine does on one side of a part's run.
    fn play(&mut self, moment: Moment, side: Side) {
        let Some(script) = self.script else { return };
        let layer = moment.layer.and_then(|layer| usize::try_from(layer).ok()).unwrap_or(0);
        let events = if side == Side::Before { 0 } else { usize::MAX };
        self.act(moment, script.acts(side, moment.phase, layer), (Some(side), events));
    }

    fn act(&mut self, moment: Moment, acts: &[Act], at: (Option<Side>, usize)) {
        let layer = moment.layer.and_then(|layer| usize::try_from(layer).ok()).unwrap_or(0);
        for act in acts {
            match *act {
                Act::Make(buffer) => {
                    self.hold(buffer);
                    let counted = self.base.counted + self.held.counted;
                    self.rise(moment, &Live::default(), counted, at);
                }
                Act::Keep(buffer) => self.hold(buffer),
                Act::Free(buffer) => {
                    if let Some(alive) = self.engine.alive.get_mut(buffer).filter(|alive| **alive > 0) {
                        *alive -= 1;
                        self.held = self.held.minus(&self.buffers[buffer]);
                    }
                }
                Act::Release(owner) => {
                    let here = self.profiles.gradients(
                        if owner == Owner::Loss { Phase::LossBackward } else { moment.phase },
                        layer,
                    );
                    self.base = self.base.minus(&here);
                    self.engine.taken[usize::from(owner == Owner::Loss)] = true;
                }
            }
        }
    }

    fn hold(&mut self, buffer: BufferId) {
        let Some(alive) = self.engine.alive.get_mut(buffer) else { return };
        *alive += 1;
        self.most[buffer] = self.most[buffer].max(*alive);
        self.engine.made = Some(buffer);
        self.held = self.held.plus(&self.buffers[buffer]);
    }
}

/// One of each buffer of a script.
fn one_of_each(script: Option<&Script>) -> Vec<Live> {
    let buffers = script.map_or(&[][..], |script| &script.buffers);
    let one = |buffer: &crate::ledger::engine::Buffer| {
        let mut live = Live::default();
        for row in &buffer.rows {
            live.add_passing(row.block, row.bytes / row.count.max(1), row.count);
        }
        live
    };
    buffers.iter().map(one).collect()
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

/// What forward and backward of one part add.
#[derive(Clone, Copy, Debug)]
struct Passes {
    forward: Profile,
    backward: Profile,
    /// The gradients that backward leaves for an engine to take.
    gradients: Live,
}

/// What every part of a step adds, whatever stage runs it.
#[derive(Debug)]
pub(crate) struct Profiles {
    embedding: Passes,
    /// Of an encoder's end, and its decoder's embedding.
    middle: Option<[Passes; 2]>,
    loss: Passes,
    layers: Vec<Passes>,
    order: Vec<usize>,
    /// The backward of each part from one gradient that passes to the next, where an engine acts in between: of the
    /// embedding, the loss, and the layers.
    segments: Vec<Vec<Profile>>,
}

impl Profiles {
    /// Looks at each part's backward gradient by gradient.
    pub(crate) fn by_gradient(&mut self, parts: &Parts) {
        let ends = [&parts.embedding, &parts.loss];
        self.segments = ends.into_iter().chain(&parts.layers).map(segments).collect();
    }

    fn segments(&self, phase: Phase, layer: usize) -> &'_ [Profile] {
        let part = match phase {
            Phase::EmbeddingBackward => Some(0),
            Phase::LossBackward => Some(1),
            Phase::Backward => self.order.get(layer).map(|part| 2 + part),
            _ => None,
        };
        part.and_then(|part| self.segments.get(part)).map_or(&[], Vec::as_slice)
    }

    /// Replays every part once.
    pub(crate) fn of(parts: &Parts) -> Self {
        let middle = parts.middle.as_ref();
        Self {
            segments: Vec::new(),
            embedding: Passes::of(&parts.embedding),
            middle: middle.map(|middle| [&middle.end, &middle.embedding].map(Passes::of)),
            loss: Passes::of(&parts.loss),
            layers: parts.layers.iter().map(Passes::of).collect(),
            order: parts.order.clone(),
        }
    }

    /// Of the embedding before these layers.
    fn before(&self, row: &Row) -> &Passes {
        match &self.middle {
            Some([_, decoder]) if row.phases[0] == Phase::DecoderEmbedding => decoder,
            _ => &self.embedding,
        }
    }

    /// Of what an encoder does after its layers.
    fn end(&self) -> &Passes {
        self.middle.as_ref().map_or(&self.embedding, |[end, _]| end)
    }

    /// The gradients that a part's backward leaves for an engine to take. (What is between two stacks is taken with the
    /// embedding.)
    fn gradients(&self, phase: Phase, layer: usize) -> Live {
        match phase {
            Phase::EmbeddingBackward => {
                let between = self.middle.iter().flatten();
                between.fold(self.embedding.gradients, |sum, passes| sum.plus(&passes.gradients))
            }
            Phase::LossBackward => self.loss.gradients,
            Phase::Backward => {
                let part = self.order.get(layer).and_then(|part| self.layers.get(*part));
                part.map(|passes| passes.gradients).unwrap_or_default()
            }
            _ => Live::default(),
        }
    }
}

impl Passes {
    fn of(part: &Part) -> Self {
        let (events, tape) = part.forward();
        let forward = profile(tape, events.iter());
        let mut backward = profile(&part.tape, part.backward());
        // The kept input is freed with its layer's backward.
        if let Some(bare) = &part.bare {
            let kept =
                |id: &usize| bare.storages[*id].role == Role::Saved && !bare.held_by_graph.contains(id);
            for storage in (0..bare.storages.len()).filter(kept) {
                backward.net.free(bare, storage);
            }
        }
        let mut gradients = Live::default();
        for storage in taken(part) {
            gradients.apply(&part.tape, &Event { storage, born: true, place: 0 });
        }
        Self { forward, backward, gradients }
    }
}

/// The gradients that backward of a part leaves for an engine to take. (One of a tied weight is the embedding's.)
fn taken(part: &Part) -> Vec<Id> {
    let passing = |id: &Id| part.tape.storages[*id].role == Role::Passing;
    let mut all = (0..part.tape.storages.len()).filter(passing).peekable();
    if all.peek().is_none() {
        return Vec::new();
    }
    let end = alive(part, true, usize::MAX);
    all.filter(|id| end[*id] && !part.tape.waits(*id)).collect()
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
