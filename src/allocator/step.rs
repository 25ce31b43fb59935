//! Training steps, allocation by allocation.

use super::{Allocator, Id};
use crate::ledger::tape::{Event, Gradients, Role, Tape};
use crate::ledger::{Chunk, Entry, Part, Parts, Plan};
use crate::text::tensors;
use crate::timeline::{held, left_by_loss};

/// In which order memory is first asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As a training program does: the optimizer makes its states at the end of the first step, in memory that the
    /// step's activations left.
    Training,
    /// States are there, and nothing else is cached, before the step.
    StatesFirst,
}

/// The card and its allocator's settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Card {
    /// What it has room for (bytes).
    pub(crate) room: u64,
    /// `PYTORCH_ALLOC_CONF=expandable_segments:True`
    pub(crate) expandable: bool,
}

/// What a rank holds whatever runs, row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lasting<'r> {
    pub(crate) parameters: &'r [Entry],
    pub(crate) gradients: &'r [Entry],
    pub(crate) states: &'r [Entry],
    pub(crate) inputs: &'r [Entry],
    /// Only while the optimizer steps.
    pub(crate) temporaries: &'r [Entry],
    /// Of each of the libraries' workspaces (bytes).
    pub(crate) workspaces: &'r Entry,
    /// Gradients live in a buffer that is never freed.
    pub(crate) buffered: bool,
}

/// Bytes that the allocator has asked of CUDA after some steps through `chunk`.
pub(crate) fn reserved(
    (parts, plan, chunk): (&Parts, &Plan, &Chunk),
    lasting: &Lasting,
    card: Card,
    order: Order,
) -> u64 {
    let allocator = Allocator::new(card.room, card.expandable);
    let mut run = Run { parts, plan, chunk, allocator, gradients: Vec::new() };
    take_rows(&mut run.allocator, lasting.parameters);
    take_rows(&mut run.allocator, lasting.inputs);
    take_rows(&mut run.allocator, std::slice::from_ref(lasting.workspaces));
    if lasting.buffered {
        take_rows(&mut run.allocator, lasting.gradients);
    }
    let steps = match order {
        Order::Training => 2,
        Order::StatesFirst => {
            take_rows(&mut run.allocator, lasting.states);
            1
        }
    };
    for step in 0..steps {
        let accumulated = plan.gradients == Gradients::Added && !lasting.buffered;
        let earlier = if accumulated { take_rows(&mut run.allocator, lasting.gradients) } else { Vec::new() };
        run.micro_batch();
        if step == 0 && order == Order::Training {
            take_rows(&mut run.allocator, lasting.states);
        }
        for done in take_rows(&mut run.allocator, lasting.temporaries) {
            run.allocator.give(done);
        }
        let gradients = std::mem::take(&mut run.gradients);
        for gradient in gradients.into_iter().chain(earlier) {
            run.allocator.give(gradient);
        }
    }
    run.allocator.most_reserved()
}

/// Takes every tensor of some rows, layer by layer: the first of each row, the second of each row …
fn take_rows(allocator: &mut Allocator, rows: &[Entry]) -> Vec<Id> {
    let most = rows.iter().map(|row| row.count).max().unwrap_or(0);
    let mut taken = Vec::new();
    for turn in 0..most {
        for row in rows.iter().filter(|row| turn < row.count && row.bytes > 0) {
            taken.push(allocator.take(row.bytes / row.count));
        }
    }
    taken
}

struct Run<'r, 'n> {
    parts: &'r Parts<'n>,
    plan: &'r Plan,
    chunk: &'r Chunk,
    allocator: Allocator,
    /// Gradients of the step so far.
    gradients: Vec<Id>,
}

/// The blocks behind a tape's storages.
type Slots = Vec<Option<Id>>;

impl Run<'_, '_> {
    fn play<'e>(&mut self, slots: &mut Slots, tape: &Tape, events: impl Iterator<Item = &'e Event>) {
        for event in events {
            let slot = &mut slots[event.storage];
            if event.born {
                if slot.is_none() {
                    *slot = Some(self.allocator.take(tape.storages[event.storage].bytes));
                }
            } else if let Some(block) = slot.take() {
                self.allocator.give(block);
            }
        }
    }

    fn free(&mut self, slots: &mut Slots, which: impl Iterator<Item = usize>) {
        for storage in which {
            if let Some(block) = slots.get_mut(storage).and_then(Option::take) {
                self.allocator.give(block);
            }
        }
    }

    fn forward(&mut self, part: &Part) -> Slots {
        let (events, tape) = part.forward();
        let mut slots = vec![None; tape.storages.len()];
        self.play(&mut slots, tape, events.iter());
        slots
    }

    fn backward(&mut self, part: &Part, mut slots: Slots) {
        if part.bare.is_none() {
            return self.finish(part, slots);
        }
        self.finish(part, vec![None; part.tape.storages.len()]);
        let kept = 0..slots.len();
        self.free(&mut slots, kept);
    }

    /// Backward on these storages; what is left is gradients.
    fn finish(&mut self, part: &Part, mut slots: Slots) {
        self.play(&mut slots, &part.tape, part.backward());
        for (storage, slot) in slots.iter_mut().enumerate() {
            if let Some(block) = slot.take() {
                match part.tape.storages[storage].role {
                    Role::Gradient => self.gradients.push(block),
                    _ => self.allocator.give(block),
                }
            }
        }
    }

    fn micro_batch(&mut self) {
        let Self { parts, plan, chunk, .. } = *self;
        let early = plan.recompute_layers == 0;
        let held = held(parts);
        let holding = |role: Role| {
            let of = |(storage, held): (usize, &bool)| {
                (*held && parts.embedding.tape.storages[storage].role == role).then_some(storage)
            };
            held.iter().enumerate().filter_map(of).collect::<Vec<_>>()
        };
        let mut embedding = self.forward(&parts.embedding);
        let mut layers: Vec<Slots> =
            chunk.layers.clone().map(|layer| self.forward(parts.layer(layer))).collect();
        if early {
            self.free(&mut embedding, holding(Role::Working).into_iter());
        }
        let mut loss = self.forward(&parts.loss);
        for (layer, slots) in chunk.layers.clone().zip(&mut layers) {
            let (_, tape) = parts.layer(layer).forward();
            self.free(slots, tape.cached.iter().copied());
        }
        self.free(&mut loss, parts.loss.tape.cached.iter().copied());

        self.play(&mut loss, &parts.loss.tape, parts.loss.backward());
        for (layer, slots) in chunk.layers.clone().zip(layers).rev() {
            self.backward(parts.layer(layer), slots);
        }
        self.free(&mut embedding, holding(Role::Saved).into_iter());
        if !early {
            self.free(&mut embedding, holding(Role::Working).into_iter());
        }
        // The head's share of a tied gradient is the embedding's from here on.
        if let Some(awaited) = parts.embedding.tape.awaited() {
            let share = left_by_loss(parts, false)
                .into_iter()
                .find(|storage| parts.loss.tape.storages[*storage].tensor == &tensors::WEIGHT_GRADIENT);
            embedding[awaited] = share.and_then(|share| loss[share].take());
        }
        self.finish(&parts.embedding, embedding);
        for (storage, slot) in loss.iter_mut().enumerate() {
            if let Some(block) = slot.take() {
                match parts.loss.tape.storages[storage].role {
                    Role::Gradient => self.gradients.push(block),
                    _ => self.allocator.give(block),
                }
            }
        }
    }
}
