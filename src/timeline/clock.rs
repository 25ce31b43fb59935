//! Where a step stands: what is live, the worst so far, and what an engine holds.

use super::live::Live;
use super::profile::{Profile, Profiles};
use super::{Instant, Moment, Phase, most_waiting, waiting};
use crate::ledger::Stage;
use crate::ledger::engine::{Act, BufferId, Owner, Script, Side};

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

/// Counts of an engine's buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) most: Vec<u64>,
    pub(crate) at_step: Vec<u64>,
    pub(crate) after_step: Vec<u64>,
}

pub(super) struct Clock<'c> {
    pub(super) base: Live,
    pub(super) instants: Vec<Instant>,
    pub(super) worst: Worst,
    pub(super) counted: i128,
    pub(super) chunk: usize,
    pub(super) waiting: Vec<u64>,
    /// The largest of the moment that runs.
    pub(super) highest: Live,
    pub(super) script: Option<&'c Script>,
    pub(super) profiles: &'c Profiles,
    /// One of each buffer.
    pub(super) buffers: Vec<Live>,
    pub(super) engine: EngineState,
    /// All of the engine's buffers together.
    pub(super) held: Live,
    pub(super) most: Vec<u64>,
}

impl Clock<'_> {
    /// A run through a chunk begins, at the moment at which most waits; gives what waits.
    pub(super) fn begin(
        &mut self,
        left: Live,
        stage: &Stage,
        chunk: usize,
        backward: bool,
        nets: &[Live],
    ) -> Live {
        self.chunk = chunk;
        self.waiting = most_waiting(stage, chunk, backward, nets);
        let others = waiting(&self.waiting, nets);
        self.base = left.plus(&others);
        others
    }

    pub(super) fn pass(&mut self, phase: Phase, layer: Option<usize>, passing: &Profile) {
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
        let total = live.total();
        if total > self.highest.total() {
            self.highest = live;
        }
        if total > self.worst.live.total() {
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
                Act::Nothing => {}
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

    pub(super) fn hold(&mut self, buffer: BufferId) {
        let Some(alive) = self.engine.alive.get_mut(buffer) else { return };
        *alive += 1;
        self.most[buffer] = self.most[buffer].max(*alive);
        self.engine.made = Some(buffer);
        self.held = self.held.plus(&self.buffers[buffer]);
    }
}

/// One of each buffer of a script.
pub(super) fn one_of_each(script: Option<&Script>) -> Vec<Live> {
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
