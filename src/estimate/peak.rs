//! What is alive at the worst instant, row by row.

use super::Saved;
use crate::ledger::rows::{Rows, Span};
use crate::ledger::tape::{Role, Storage};
use crate::ledger::{Block, Entry, Group, Part, Parts, Phase, Plan, Shape};
use crate::timeline::{self, Worst};

/// The parts of a step around its worst instant.
pub(super) struct Scene<'s, 'n> {
    pub(super) parts: &'s Parts<'n>,
    pub(super) plan: &'s Plan,
    pub(super) worst: &'s Worst,
}

impl<'s, 'n> Scene<'s, 'n> {
    /// The part that makes the worst instant (`None`: the optimizer, or nothing runs).
    fn here(&self) -> Option<&'s Part<'n>> {
        match (self.worst.moment.phase, self.layer()) {
            (Phase::Embedding | Phase::EmbeddingBackward, _) => Some(&self.parts.embedding),
            (Phase::Loss | Phase::LossBackward, _) => Some(&self.parts.loss),
            (Phase::Forward | Phase::Backward, Some(layer)) => Some(self.parts.layer(layer)),
            _ => None,
        }
    }

    fn layer(&self) -> Option<usize> {
        self.worst.moment.layer.and_then(|layer| usize::try_from(layer).ok())
    }

    fn backward(&self) -> bool {
        self.worst.moment.phase >= Phase::LossBackward
    }

    /// `module.operator` that made the worst instant.
    pub(super) fn operator(&self) -> String {
        let place = self.here().and_then(|part| timeline::operator(part, self.backward(), self.worst.events));
        place.map_or_else(String::new, |place| {
            let dot = if place.module.is_empty() { "" } else { "." };
            let suffix = if place.backward { " backward" } else { "" };
            format!("{}{dot}{}{suffix}", place.module, place.operator)
        })
    }

    /// Whether the layer at this position runs this part.
    fn runs(&self, layer: usize, part: &Part) -> bool {
        std::ptr::eq(self.parts.layer(layer), part)
    }

    /// The parts that layers run.
    fn layer_parts(&self) -> impl Iterator<Item = &'s Part<'n>> {
        self.parts.layers.iter()
    }

    /// How many layers of this part have finished forward but not begun backward, and how many layers run it.
    fn kept(&self, part: &Part) -> (u64, u64) {
        let layers = self.parts.order.len();
        let same = |layer: &usize| self.runs(*layer, part);
        let whole = match (self.worst.moment.phase, self.layer()) {
            (Phase::Forward | Phase::Backward, Some(layer)) => layer,
            (Phase::Loss | Phase::LossBackward, _) => layers,
            _ => 0,
        };
        ((0..whole).filter(same).count() as u64, (0..layers).filter(same).count() as u64)
    }

    /// Adds what backward keeps, and what only the worst instant holds.
    pub(super) fn activations(&self, rows: &mut Rows) {
        let phase = self.worst.moment.phase;
        let held = timeline::held(self.parts);
        let tables = phase > Phase::Embedding && phase < Phase::EmbeddingBackward;
        let working = phase == Phase::Forward || (tables && self.plan.recompute_layers > 0);
        rows.lasting(&self.parts.embedding.tape, &held, (tables, working));
        for part in self.layer_parts() {
            let (whole, all) = self.kept(part);
            rows.saved(part, Span { from: Phase::Forward, until: Phase::Backward }, all, whole);
        }
        self.left_behind(rows);
        let after_loss = Span { from: Phase::Loss, until: Phase::LossBackward };
        rows.saved(&self.parts.loss, after_loss, 1, 0);
        let Some(here) = self.here() else { return };
        let (_, first) = here.forward();
        if self.backward() && here.bare.is_some() {
            // The kept input of the layer that is being recomputed is alive beside what recomputation makes.
            rows.again(here, Phase::Backward);
        }
        let mut alive = timeline::alive(here, self.backward(), self.worst.events);
        if phase == Phase::EmbeddingBackward {
            // What the embedding made for the layers was freed with them.
            alive.iter_mut().zip(&held).for_each(|(alive, held)| *alive &= !held);
        }
        let tape = if self.backward() { &here.tape } else { first };
        rows.alive(tape, &alive, phase);
    }

    /// Working tensors that outlive their part: what autocast's cache holds until forward is over, and the loss
    /// with its gradient, which the program holds until backward is.
    fn left_behind(&self, rows: &mut Rows) {
        let phase = self.worst.moment.phase;
        if phase == Phase::Forward || phase == Phase::Loss {
            for part in self.layer_parts() {
                let (whole, _) = self.kept(part);
                let (_, tape) = part.forward();
                rows.working(tape, &tape.cached, Span { from: Phase::Forward, until: Phase::Loss }, whole);
            }
        }
        if phase == Phase::Backward || phase == Phase::EmbeddingBackward {
            let left = timeline::left_by_loss(self.parts, phase == Phase::EmbeddingBackward);
            rows.working(
                &self.parts.loss.tape,
                &left,
                Span { from: Phase::Loss, until: Phase::Optimizer },
                1,
            );
        }
    }

    /// Marks which gradients are alive.
    pub(super) fn gradients(&self, entries: &mut [Entry], always: bool) {
        let rows = entries.iter_mut().filter(|entry| entry.block == Block::Gradients);
        if always || self.worst.moment.phase == Phase::Optimizer {
            return rows.for_each(|row| row.at_peak = row.bytes);
        }
        if !self.backward() {
            return;
        }
        let phase = self.worst.moment.phase;
        let done = match (phase, self.layer()) {
            (Phase::Backward, Some(layer)) => layer + 1..self.parts.order.len(),
            (Phase::EmbeddingBackward, _) => 0..self.parts.order.len(),
            _ => 0..0,
        };
        let parts: Vec<(&Part, u64)> = self
            .layer_parts()
            .map(|part| (part, done.clone().filter(|layer| self.runs(*layer, part)).count() as u64))
            .collect();
        let alive = self.here().map(|part| (part, timeline::alive(part, true, self.worst.events)));
        for row in rows {
            let here = |part: &Part, alive: &[bool]| {
                let of = |(storage, alive): (&Storage, &bool)| {
                    *alive && storage.role == Role::Gradient && is(row, storage.module, storage.shape)
                };
                part.tape.storages.iter().zip(alive).filter(|pair| of(*pair)).count() as u64
            };
            let mut count = alive.as_ref().map_or(0, |(part, alive)| here(part, alive));
            for (part, layers) in &parts {
                count += layers * made(part, row);
            }
            if phase > Phase::LossBackward {
                count += made(&self.parts.loss, row);
            }
            row.at_peak = (row.bytes / row.count.max(1)).saturating_mul(count.min(row.count));
        }
    }
}

/// Whether a gradient row is that of a storage's weight.
fn is(row: &Entry, module: &str, shape: Shape) -> bool {
    // An adapter's row is named by its linear, any other by the weight's own path.
    let owner = if row.part.is_empty() {
        row.module.rsplit_once('.').map(|(owner, _)| owner)
    } else {
        Some(row.module)
    };
    row.shape == shape && owner == Some(module)
}

/// How many gradients of this row a part makes.
fn made(part: &Part, row: &Entry) -> u64 {
    let of = |storage: &&Storage| storage.role == Role::Gradient && is(row, storage.module, storage.shape);
    part.tape.storages.iter().filter(of).count() as u64
}

/// What backward keeps at the end of forward.
pub(super) fn saved(scene: &Scene) -> Saved {
    let mut by_group = [0_u64; Group::ALL.len()];
    let mut out = Saved::default();
    let mut add = |storage: &Storage, count: u64| {
        let bytes = storage.bytes.saturating_mul(count);
        if storage.role == Role::WeightCopy {
            out.autocast_weight_copies = out.autocast_weight_copies.saturating_add(bytes);
        } else {
            out.total = out.total.saturating_add(bytes);
            by_group[storage.group as usize] = by_group[storage.group as usize].saturating_add(bytes);
        }
    };
    scene.parts.embedding.saved().for_each(|storage| add(storage, 1));
    for part in scene.layer_parts() {
        let (_, count) = scene.kept(part);
        part.saved().for_each(|storage| add(storage, count));
    }
    scene.parts.loss.saved().for_each(|storage| add(storage, 1));
    out.by_group = Group::ALL.into_iter().zip(by_group).filter(|(_, bytes)| *bytes > 0).collect();
    out
}
