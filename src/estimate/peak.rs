//! What is alive at the worst instant, row by row.

use super::Saved;
use crate::ledger::engine::{Script, Side};
use crate::ledger::rows::{Rows, Span};
use crate::ledger::tape::{Role, Storage};
use crate::ledger::{Block, Chunk, Entry, Group, Part, Parts, Phase, Plan, Shape, Stage};
use crate::timeline::{self, Worst};
use std::ops::Range;

/// The parts of a step around its worst instant.
pub(super) struct Scene<'s, 'n> {
    pub(super) parts: &'s Parts<'n>,
    pub(super) plan: &'s Plan,
    pub(super) stage: &'s Stage,
    pub(super) worst: &'s Worst,
    pub(super) script: Option<&'s Script>,
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
        if let Some(script) = self.script.filter(|_| self.worst.side.is_some()) {
            let made = self.worst.engine.made.and_then(|made| script.buffers.get(made));
            return made.and_then(|made| made.rows.first()).map(Entry::name).unwrap_or_default();
        }
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

    /// How many micro-batches wait for their backward in a chunk, beside the one that runs.
    fn waiting(&self, chunk: usize) -> u64 {
        self.worst.waiting.get(chunk).copied().unwrap_or(0)
    }

    /// The chunk that runs at the worst instant.
    fn chunk(&self) -> Option<&'s Chunk> {
        self.stage.chunks.get(self.worst.chunk)
    }

    /// How many layers of a chunk run this part.
    fn layers_of(&self, layers: Range<usize>, part: &Part) -> u64 {
        layers.filter(|layer| self.runs(*layer, part)).count() as u64
    }

    /// Layers of the running micro-batch that have finished forward but not begun backward.
    fn done(&self) -> Range<usize> {
        let Some(chunk) = self.chunk() else { return 0..0 };
        match (self.worst.moment.phase, self.layer()) {
            (Phase::Forward | Phase::Backward, Some(layer)) => chunk.layers.start..layer,
            (Phase::Loss | Phase::LossBackward, _) => chunk.layers.clone(),
            _ => 0..0,
        }
    }

    /// How many layers of this part are whole at the worst instant, of every micro-batch, and of how many micro-batches
    /// and layers backward keeps something at that time.
    fn kept(&self, part: &Part) -> (u64, u64) {
        let mut whole = self.layers_of(self.done(), part);
        let mut all = 0;
        for (index, chunk) in self.stage.chunks.iter().enumerate() {
            let (layers, waiting) = (self.layers_of(chunk.layers.clone(), part), self.waiting(index));
            whole = whole.saturating_add(layers.saturating_mul(waiting));
            all = layers.saturating_mul(waiting.saturating_add(1)).saturating_add(all);
        }
        (whole, all)
    }

    /// How many other micro-batches wait in the chunk of which `which` holds.
    fn waiting_where(&self, which: impl Fn(&Chunk) -> bool) -> u64 {
        self.stage.chunks.iter().position(which).map_or(0, |chunk| self.waiting(chunk))
    }

    /// Adds what backward keeps, and what only the worst instant holds.
    pub(super) fn activations(&self, rows: &mut Rows) {
        let phase = self.worst.moment.phase;
        let mut held = vec![false; self.parts.embedding.tape.storages.len()];
        if self.stage.embeds() {
            held = timeline::held(self.parts);
            let runs = self.chunk().is_some_and(|chunk| chunk.embedding);
            let waiting = self.waiting_where(|chunk| chunk.embedding);
            let tables = runs && phase > Phase::Embedding && phase < Phase::EmbeddingBackward;
            let lingers = self.plan.recompute_layers > 0;
            let working = runs && phase == Phase::Forward || (tables && lingers);
            let masks = if lingers { waiting } else { 0 } + u64::from(working);
            rows.lasting(
                &self.parts.embedding.tape,
                &held,
                (waiting + u64::from(tables), masks),
                waiting + 1,
            );
        }
        for part in self.layer_parts() {
            let (whole, all) = self.kept(part);
            rows.saved(part, Span { from: Phase::Forward, until: Phase::Backward }, all, whole);
        }
        self.left_behind(rows);
        if self.stage.ends() {
            let after_loss = Span { from: Phase::Loss, until: Phase::LossBackward };
            let waiting = self.waiting_where(|chunk| chunk.loss);
            rows.saved(&self.parts.loss, after_loss, waiting + 1, waiting);
        }
        let Some(here) = self.here() else { return };
        let (_, first) = here.forward();
        if self.backward() && here.bare.is_some() && self.worst.side != Some(Side::After) {
            // The kept input of the layer that is being recomputed is alive beside what recomputation makes.
            rows.again(here, Phase::Backward);
        }
        let mut alive = timeline::alive(here, self.backward(), self.worst.events);
        if phase == Phase::EmbeddingBackward {
            // What the embedding made for the layers was freed with them.
            alive.iter_mut().zip(&held).for_each(|(alive, held)| *alive &= !held);
        }
        let tape = if self.backward() { &here.tape } else { first };
        if self.taken(here) {
            alive
                .iter_mut()
                .zip(&tape.storages)
                .for_each(|(alive, storage)| *alive &= storage.role != Role::Passing);
        }
        rows.alive(tape, &alive, phase);
    }

    /// Working tensors that outlive their part: what autocast's cache holds until forward is over, and the loss
    /// with its gradient, which the program holds until backward is.
    fn left_behind(&self, rows: &mut Rows) {
        let phase = self.worst.moment.phase;
        if phase == Phase::Forward || phase == Phase::Loss {
            for part in self.layer_parts() {
                let whole = self.layers_of(self.done(), part);
                let (_, tape) = part.forward();
                rows.working(tape, &tape.cached, Span { from: Phase::Forward, until: Phase::Loss }, whole);
            }
        }
        let loss = self.chunk().is_some_and(|chunk| chunk.loss);
        if loss && (phase == Phase::Backward || phase == Phase::EmbeddingBackward) {
            let mut left = timeline::left_by_loss(self.parts, phase == Phase::EmbeddingBackward);
            if self.taken(&self.parts.loss) {
                left.retain(|storage| self.parts.loss.tape.storages[*storage].role != Role::Passing);
            }
            rows.working(
                &self.parts.loss.tape,
                &left,
                Span { from: Phase::Loss, until: Phase::Optimizer },
                1,
            );
        }
    }

    /// Whether the engine has taken the gradients that this part left.
    fn taken(&self, part: &Part) -> bool {
        let [here, loss] = self.worst.engine.taken;
        let runs = self.here().is_some_and(|here| std::ptr::eq(here, part));
        (here && runs) || (loss && std::ptr::eq(part, &raw const self.parts.loss))
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
        let Some(chunk) = self.chunk() else { return };
        let done = match (phase, self.layer()) {
            (Phase::Backward, Some(layer)) => layer + 1..chunk.layers.end,
            (Phase::EmbeddingBackward, _) => chunk.layers.clone(),
            _ => 0..0,
        };
        // Chunks behind this one are through.
        let behind = self.stage.chunks.iter().skip(self.worst.chunk + 1);
        let done: Vec<usize> = behind.flat_map(|chunk| chunk.layers.clone()).chain(done).collect();
        let parts: Vec<(&Part, u64)> = self
            .layer_parts()
            .map(|part| (part, done.iter().filter(|layer| self.runs(**layer, part)).count() as u64))
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
            if self.stage.ends() && (phase > Phase::LossBackward || !chunk.loss) {
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
    if scene.stage.embeds() {
        scene.parts.embedding.saved().for_each(|storage| add(storage, 1));
    }
    for part in scene.layer_parts() {
        let count = scene.stage.layers().filter(|layer| scene.runs(*layer, part)).count() as u64;
        part.saved().for_each(|storage| add(storage, count));
    }
    if scene.stage.ends() {
        scene.parts.loss.saved().for_each(|storage| add(storage, 1));
    }
    out.by_group = Group::ALL.into_iter().zip(by_group).filter(|(_, bytes)| *bytes > 0).collect();
    out
}
