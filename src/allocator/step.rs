//! Training steps, allocation by allocation.

use super::{Allocator, Id};
use crate::ledger::tape::{Event, Gradients, Role, Tape};
use crate::ledger::{Chunk, Entry, Part, Parts, Plan, Row};
use crate::timeline::held;

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
    pub(crate) workspaces: &'r [Entry],
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
    take_rows(&mut run.allocator, lasting.workspaces);
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
            self.finish(part, slots);
            return;
        }
        self.finish(part, vec![None; part.tape.storages.len()]);
        let kept = 0..slots.len();
        self.free(&mut slots, kept);
    }

    /// Backward on these storages; what is left is gradients. Gives the one that waits for another part's share.
    fn finish(&mut self, part: &Part, mut slots: Slots) -> Option<Id> {
        self.play(&mut slots, &part.tape, part.backward());
        self.leave(part, &mut slots)
    }

    /// What is left of a part is gradients. Gives the one that waits for another part's share.
    fn leave(&mut self, part: &Part, slots: &mut Slots) -> Option<Id> {
        let mut waits = None;
        for (storage, slot) in slots.iter_mut().enumerate() {
            let Some(block) = slot.take() else { continue };
            match part.tape.storages[storage].role {
                _ if part.tape.waits(storage) => waits = Some(block),
                Role::Gradient => self.gradients.push(block),
                _ => self.allocator.give(block),
            }
        }
        waits
    }

    /// What an embedding leaves for the layers after it, of one role.
    fn let_go(&mut self, embedding: &Part, slots: &mut Slots, role: Role) {
        let held = held(embedding);
        let of = |storage: &usize| held[*storage] && embedding.tape.storages[*storage].role == role;
        self.free(slots, (0..held.len()).filter(of));
    }

    /// Forward of one stack's layers, and of what is around them.
    fn stack(&mut self, row: &Row) -> Stack {
        let early = self.plan.recompute_layers == 0;
        let mut embedding = row.embedding.map(|part| self.forward(part));
        let layers = row.layers.clone().map(|layer| self.parts.layer(layer));
        let mut layers: Vec<Slots> = layers.map(|part| self.forward(part)).collect();
        if let Some((part, slots)) = row.embedding.zip(embedding.as_mut()) {
            self.free(slots, part.tape.held_by_stack.iter().copied());
            if early {
                self.let_go(part, slots, Role::Working);
            }
        }
        for (layer, slots) in row.layers.clone().zip(&mut layers) {
            let (_, tape) = self.parts.layer(layer).forward();
            self.free(slots, tape.held_by_stack.iter().copied());
        }
        let end = row.end.map(|part| self.forward(part));
        Stack { embedding, layers, end }
    }

    /// Its backward. `waits`: the gradient so far of a table that several parts read.
    fn stack_backward(&mut self, row: &Row, stack: Stack, waits: &mut Option<Id>) {
        if let Some((part, slots)) = row.end.zip(stack.end) {
            self.finish(part, slots);
        }
        for (layer, slots) in row.layers.clone().zip(stack.layers).rev() {
            self.backward(self.parts.layer(layer), slots);
        }
        let Some((part, mut slots)) = row.embedding.zip(stack.embedding) else { return };
        self.let_go(part, &mut slots, Role::Saved);
        if self.plan.recompute_layers > 0 {
            self.let_go(part, &mut slots, Role::Working);
        }
        if let Some(awaited) = part.tape.awaited() {
            slots[awaited] = waits.take();
        }
        let left = self.finish(part, slots);
        *waits = left.or(waits.take());
    }

    fn micro_batch(&mut self) {
        let Self { parts, chunk, .. } = *self;
        let rows = parts.rows(chunk);
        let mut stacks: Vec<Stack> = rows.iter().map(|row| self.stack(row)).collect();
        let mut loss = self.forward(&parts.loss);
        for (row, stack) in rows.iter().zip(&mut stacks) {
            for (layer, slots) in row.layers.clone().zip(&mut stack.layers) {
                let (_, tape) = parts.layer(layer).forward();
                self.free(slots, tape.cached.iter().copied());
            }
        }
        self.free(&mut loss, parts.loss.tape.cached.iter().copied());

        self.play(&mut loss, &parts.loss.tape, parts.loss.backward());
        // The head's share of a tied gradient is the embedding's; the loss itself is the program's until the end.
        let waiting = (0..loss.len()).find(|storage| parts.loss.tape.waits(*storage));
        let mut waits = waiting.and_then(|storage| loss[storage].take());
        for (row, stack) in rows.iter().zip(stacks).rev() {
            self.stack_backward(row, stack, &mut waits);
        }
        self.gradients.extend(waits);
        self.leave(&parts.loss, &mut loss);
    }
}

/// The blocks behind the parts of one stack.
struct Stack {
    embedding: Option<Slots>,
    layers: Vec<Slots>,
    end: Option<Slots>,
}
