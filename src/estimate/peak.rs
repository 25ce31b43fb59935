//! What is alive at the worst instant, row by row.

use super::Saved;
use crate::ledger::engine::{Script, Side};
use crate::ledger::rows::{Rows, Span};
use crate::ledger::tape::{Role, Storage};
use crate::ledger::{Block, Chunk, Entry, Group, Part, Parts, Phase, Plan, Row, Shape, Stage};
use crate::timeline::{self, Worst};

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
        let middle = self.parts.middle.as_ref();
        match (self.worst.moment.phase, self.layer()) {
            (Phase::Embedding | Phase::EmbeddingBackward, _) => Some(&self.parts.embedding),
            (Phase::EncoderEnd | Phase::EncoderEndBackward, _) => middle.map(|middle| &middle.end),
            (Phase::DecoderEmbedding | Phase::DecoderEmbeddingBackward, _) => {
                middle.map(|middle| &middle.embedding)
            }
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

    /// How far the chunk has come: the place of the running part in the order of forward, whichever way the step goes.
    /// What a part before it made is alive; so are, in backward, the gradients that a part after it made.
    fn at(&self) -> usize {
        match (self.worst.moment.phase, self.layer()) {
            (Phase::Forward | Phase::Backward, Some(layer)) => self.parts.place_of_layer(layer),
            (Phase::EncoderEnd | Phase::EncoderEndBackward, _) => self.parts.place_of_end(),
            (Phase::DecoderEmbedding | Phase::DecoderEmbeddingBackward, _) => self.parts.place_of_end() + 1,
            (Phase::Loss | Phase::LossBackward, _) => self.parts.place_of_loss(),
            _ => 0,
        }
    }

    /// How many micro-batches wait for their backward in a chunk, beside the one that runs.
    fn waiting(&self, chunk: usize) -> u64 {
        self.worst.waiting.get(chunk).copied().unwrap_or(0)
    }

    /// The chunk that runs at the worst instant (`None`: the optimizer, or nothing).
    fn chunk(&self) -> Option<&'s Chunk> {
        let runs = !matches!(self.worst.moment.phase, Phase::Always | Phase::Optimizer);
        self.stage.chunks.get(self.worst.chunk).filter(|_| runs)
    }

    /// The places of a chunk's layers that run this part.
    fn places<'c>(&'c self, chunk: &Chunk, part: &'c Part<'n>) -> impl Iterator<Item = usize> + 'c {
        let layers = chunk.layers.clone().filter(|layer| std::ptr::eq(self.parts.layer(*layer), part));
        layers.map(|layer| self.parts.place_of_layer(layer))
    }

    /// How many layers of the running chunk run this part at a place of which `which` holds.
    fn layers_where(&self, part: &Part<'n>, which: impl Fn(usize) -> bool) -> u64 {
        let places = self.chunk().into_iter().flat_map(|chunk| self.places(chunk, part));
        places.filter(|place| which(*place)).count() as u64
    }

    /// How many layers of this part are whole at the worst instant, of every micro-batch, and of how many micro-batches
    /// and layers backward keeps something at that time.
    fn kept(&self, part: &Part<'n>) -> (u64, u64) {
        let mut whole = self.layers_where(part, |place| place < self.at());
        let mut all = 0;
        for (index, chunk) in self.stage.chunks.iter().enumerate() {
            let (layers, waiting) = (self.places(chunk, part).count() as u64, self.waiting(index));
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
        for (index, chunk) in self.stage.chunks.iter().enumerate() {
            let runs = index == self.worst.chunk && self.chunk().is_some();
            for row in self.parts.rows(chunk) {
                self.around(&row, (runs, self.waiting(index)), rows);
            }
        }
        for part in &self.parts.layers {
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
        if matches!(phase, Phase::EmbeddingBackward | Phase::DecoderEmbeddingBackward) {
            // What the embedding made for the layers was freed with them.
            let held = timeline::held(here);
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

    /// What a stack's embedding leaves for its layers (tables, masks), what it keeps for its own backward, what the
    /// stack's program holds until its layers have run, and what is kept of the end of an encoder.
    fn around(&self, row: &Row<'_, 'n>, (runs, waiting): (bool, u64), rows: &mut Rows) {
        let at = self.at();
        let place = self.parts.place_of_layer(row.layers.start).saturating_sub(1);
        let last = place + row.layers.len();
        let after = runs && at > place;
        let running = after && !self.backward() && at <= last;
        if let Some(embedding) = row.embedding {
            let tape = &embedding.tape;
            let lingers = self.plan.recompute_layers > 0;
            let masks = if lingers { waiting } else { 0 } + u64::from(running || (after && lingers));
            let tables = waiting + u64::from(after);
            rows.lasting(tape, &timeline::held(embedding), (tables, masks), waiting + 1);
            rows.lasting(tape, &timeline::kept(embedding), (tables, 0), waiting + 1);
            let span = Span { from: row.phases[0], until: Phase::Forward };
            rows.working(tape, &tape.held_by_stack, span, u64::from(running));
        }
        for part in self.parts.layers.iter().filter(|_| running) {
            let ran = self.layers_where(part, |other| (place..at).contains(&other));
            let (_, tape) = part.forward();
            let span = Span { from: Phase::Forward, until: Phase::Forward };
            rows.working(tape, &tape.held_by_stack, span, ran);
        }
        if let Some(end) = row.end {
            let span = Span { from: Phase::EncoderEnd, until: Phase::EncoderEndBackward };
            let whole = u64::from(runs && at > self.parts.place_of_end());
            rows.saved(end, span, waiting + 1, waiting + whole);
        }
    }

    /// Working tensors that outlive their part: what the program and autocast's cache hold until forward is over, the
    /// loss with its gradient, which the program holds until backward is, and leaves of the graph.
    fn left_behind(&self, rows: &mut Rows) {
        if self.worst.moment.phase == Phase::Optimizer && self.stage.embeds() {
            let tape = &self.parts.embedding.tape;
            let span = Span { from: Phase::EmbeddingBackward, until: Phase::Optimizer };
            rows.working(tape, &tape.beside_gradients, span, 1);
        }
        if self.chunk().is_none() {
            return;
        }
        let at = self.at();
        for part in &self.parts.layers {
            if self.backward() {
                let span = Span { from: Phase::Forward, until: Phase::Optimizer };
                let through = self.layers_where(part, |place| place > at) > 0;
                for tape in part.tapes().filter(|_| through) {
                    rows.left(tape, &tape.held_by_graph, span);
                }
            } else {
                let whole = self.layers_where(part, |place| place < at);
                let (_, tape) = part.forward();
                rows.working(tape, &tape.cached, Span { from: Phase::Forward, until: Phase::Loss }, whole);
            }
        }
        // Other micro-batches hold their loss until its backward.
        let waiting = self.waiting_where(|chunk| chunk.loss);
        if self.stage.ends() && waiting > 0 {
            let kept = timeline::left_by_loss(self.parts, false);
            let span = Span { from: Phase::Loss, until: Phase::LossBackward };
            let losses: Vec<_> = kept.into_iter().filter(|id| self.parts.loss.made_in_forward(*id)).collect();
            rows.working(&self.parts.loss.tape, &losses, span, waiting);
        }
        if !self.backward() || at == self.parts.place_of_loss() {
            return;
        }
        let span = Span { from: Phase::Loss, until: Phase::Optimizer };
        let middle = self.parts.middle.as_ref();
        if let Some(middle) = middle.filter(|_| (1..=self.parts.place_of_end()).contains(&at)) {
            let left = timeline::waiting_gradient(&middle.embedding);
            rows.working(&middle.embedding.tape, &left, span, 1);
        }
        if self.stage.ends() {
            let taken = at == 0 || (middle.is_some() && at <= self.parts.place_of_end() + 1);
            let mut left = timeline::left_by_loss(self.parts, taken);
            if self.taken(&self.parts.loss) {
                left.retain(|storage| self.parts.loss.tape.storages[*storage].role != Role::Passing);
            }
            rows.working(&self.parts.loss.tape, &left, span, 1);
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
        let Some(chunk) = self.chunk() else { return };
        let at = self.at();
        // Chunks behind this one are through.
        let behind = || self.stage.chunks.iter().skip(self.worst.chunk + 1);
        let through = |part| {
            let before: u64 = behind().map(|chunk| self.places(chunk, part).count() as u64).sum();
            before + self.layers_where(part, |place| place > at)
        };
        let mut parts: Vec<(&Part, u64)> =
            self.parts.layers.iter().map(|part| (part, through(part))).collect();
        let ended = self.stage.ends() && (self.worst.moment.phase > Phase::LossBackward || !chunk.loss);
        parts.push((&self.parts.loss, u64::from(ended)));
        if let Some(middle) = &self.parts.middle {
            let has = |chunk: &Chunk| chunk.layers.contains(&middle.at);
            let gone = |place: usize| u64::from(behind().any(has) || (has(chunk) && place > at));
            let end = self.parts.place_of_end();
            parts.extend([(&middle.end, gone(end)), (&middle.embedding, gone(end + 1))]);
        }
        let alive = self.here().map(|part| (part, timeline::alive(part, true, self.worst.events)));
        for row in rows {
            let here = |part: &Part, alive: &[bool]| {
                let of = |(storage, alive): (&Storage, &bool)| {
                    *alive && storage.role == Role::Gradient && is(row, storage.module, storage.shape)
                };
                part.tape.storages.iter().zip(alive).filter(|pair| of(*pair)).count() as u64
            };
            let mut count = alive.as_ref().map_or(0, |(part, alive)| here(part, alive));
            for (part, times) in &parts {
                count += times * made(part, row);
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
    for row in scene.stage.chunks.iter().flat_map(|chunk| scene.parts.rows(chunk)) {
        let around = row.embedding.into_iter().chain(row.end).flat_map(Part::saved);
        around.for_each(|storage| add(storage, 1));
    }
    for part in &scene.parts.layers {
        let count: usize = scene.stage.chunks.iter().map(|chunk| scene.places(chunk, part).count()).sum();
        part.saved().for_each(|storage| add(storage, count as u64));
    }
    if scene.stage.ends() {
        scene.parts.loss.saved().for_each(|storage| add(storage, 1));
    }
    out.by_group = Group::ALL.into_iter().zip(by_group).filter(|(_, bytes)| *bytes > 0).collect();
    out
}
