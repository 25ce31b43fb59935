//! What one run through a part adds, whatever stage runs it.

use super::live::Live;
use super::{Phase, alive};
use crate::ledger::tape::{Event, Id, Role, Tape};
use crate::ledger::{Part, Parts, Row};

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
pub(super) struct Profile {
    pub(super) peak: Live,
    /// How many events had happened at the worst.
    pub(super) events: usize,
    pub(super) counted_peak: i128,
    pub(super) net: Live,
    /// How many events had happened when it was over (of one segment of a part).
    pub(super) end: usize,
}

impl Profile {
    pub(super) fn apply(&mut self, tape: &Tape, event: &Event, index: usize, most: &mut i128) {
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

/// What forward and backward of one part add.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passes {
    pub(super) forward: Profile,
    pub(super) backward: Profile,
    /// The gradients that backward leaves for an engine to take.
    pub(super) gradients: Live,
}

/// What every part of a step adds, whatever stage runs it.
#[derive(Debug)]
pub(crate) struct Profiles {
    pub(super) embedding: Passes,
    /// Of an encoder's end, and its decoder's embedding.
    pub(super) middle: Option<[Passes; 2]>,
    pub(super) loss: Passes,
    pub(super) layers: Vec<Passes>,
    pub(super) order: Vec<usize>,
    /// The backward of each part from one gradient that passes to the next, where an engine acts in between: of the
    /// embedding, the loss, and the layers.
    pub(super) segments: Vec<Vec<Profile>>,
}

impl Profiles {
    /// Looks at each part's backward gradient by gradient.
    pub(crate) fn by_gradient(&mut self, parts: &Parts) {
        let ends = [&parts.embedding, &parts.loss];
        self.segments = ends.into_iter().chain(&parts.layers).map(segments).collect();
    }

    pub(super) fn segments(&self, phase: Phase, layer: usize) -> &'_ [Profile] {
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
    pub(super) fn before(&self, row: &Row) -> &Passes {
        match &self.middle {
            Some([_, decoder]) if row.phases[0] == Phase::DecoderEmbedding => decoder,
            _ => &self.embedding,
        }
    }

    /// Of what an encoder does after its layers.
    pub(super) fn end(&self) -> &Passes {
        self.middle.as_ref().map_or(&self.embedding, |[end, _]| end)
    }

    /// The gradients that a part's backward leaves for an engine to take. (What is between two stacks is taken with the
    /// embedding.)
    pub(super) fn gradients(&self, phase: Phase, layer: usize) -> Live {
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
    pub(super) fn of(part: &Part) -> Self {
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
pub(super) fn taken(part: &Part) -> Vec<Id> {
    let passing = |id: &Id| part.tape.storages[*id].role == Role::Passing;
    let mut all = (0..part.tape.storages.len()).filter(passing).peekable();
    if all.peek().is_none() {
        return Vec::new();
    }
    let end = alive(part, true, usize::MAX);
    all.filter(|id| end[*id] && !part.tape.waits(*id)).collect()
}
