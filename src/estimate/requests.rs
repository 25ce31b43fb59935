//! Every tensor that one step asks the allocator for, alive at the peak or not: what a failed request can have been.

use super::{Estimate, Ground, timeline};
use crate::architecture::Architecture;
use crate::config::{Config, Problem};
use crate::ledger::tape::{Event, Tape};
use crate::ledger::{Block, Entry, Group, Part, Parts, Phase, Shape};
use crate::text::tensors;

/// The rows of an answer, and beside them every tensor that operators make while they run, on whichever stage of a
/// pipeline. `from` is when it is asked for, `count` how often in one step.
///
/// # Errors
/// When the model cannot be read: as for [`super::estimate`].
pub fn requests(config: &Config, answer: &Estimate) -> Result<Vec<Entry>, Vec<Problem>> {
    let model = Architecture::of(config)?;
    let Ground { layout, built, setup, symbols, plan, .. } = Ground::of(&model, config);
    let exchanged = symbols.exchanged();
    let parts = Parts::of(built.as_ref().unwrap_or(&model), [&symbols, &exchanged], &plan, &layout);
    let mut all = Asked::default();
    for (index, part) in parts.layers.iter().enumerate() {
        let times = parts.order.iter().filter(|&&layer| layer == index).count() as u64;
        all.part(part, times, [Phase::Forward, Phase::Backward]);
    }
    all.part(&parts.embedding, 1, [Phase::Embedding, Phase::EmbeddingBackward]);
    if let Some(middle) = &parts.middle {
        all.part(&middle.end, 1, [Phase::EncoderEnd, Phase::EncoderEndBackward]);
        all.part(&middle.embedding, 1, [Phase::DecoderEmbedding, Phase::DecoderEmbeddingBackward]);
    }
    all.part(&parts.loss, 1, [Phase::Loss, Phase::LossBackward]);
    // What no operator makes: weights, states, buffers.
    let made = all.entries.len();
    for row in &answer.ledger {
        if !all.entries[..made].iter().any(|known| same(known, row)) {
            all.entries.push(row.clone());
        }
    }
    // Some engines join all of them into one tensor. (A row of the ledger that is as large is the same in other words.)
    let counts = &answer.parameters;
    let mut flat = vec![counts.on_rank, counts.trainable];
    flat.dedup();
    for elements in flat.into_iter().filter(|elements| *elements > 0) {
        let place = (Block::Gradients, Group::Other);
        let kind = (Shape::flat(elements), setup.compute.weight);
        all.entries.push(Entry::lasting((&tensors::FLAT_BUFFER, ""), place, kind, 1, &symbols));
    }
    Ok(all.entries)
}

/// Whether two rows are of one tensor, whenever it is asked for.
fn same(one: &Entry, other: &Entry) -> bool {
    std::ptr::eq(one.tensor, other.tensor)
        && one.module == other.module
        && (one.shape, one.dtype) == (other.shape, other.dtype)
}

/// Rows of what is asked for; equal tensors of one phase are one row.
#[derive(Default)]
struct Asked {
    entries: Vec<Entry>,
}

impl Asked {
    /// What a part asks for when it runs so often.
    fn part(&mut self, part: &Part, times: u64, [forward, backward]: [Phase; 2]) {
        let (events, tape) = part.forward();
        self.add(tape, events.iter(), forward, times);
        self.add(&part.tape, part.backward(), backward, times);
    }

    fn add<'e>(&mut self, tape: &Tape, events: impl Iterator<Item = &'e Event>, phase: Phase, times: u64) {
        for event in events.filter(|event| event.born) {
            let Some(storage) = tape.storages.get(event.storage) else { continue };
            let bytes = storage.bytes.saturating_mul(times);
            let same = |row: &&mut Entry| {
                std::ptr::eq(row.tensor, storage.tensor)
                    && row.module == storage.module
                    && (row.shape, row.dtype, row.from) == (storage.shape, storage.dtype, phase)
            };
            if let Some(row) = self.entries.iter_mut().find(same) {
                row.count = row.count.saturating_add(times);
                row.bytes = row.bytes.saturating_add(bytes);
                continue;
            }
            let block = timeline::block(storage.role).unwrap_or(Block::Overhead);
            let (shape, dtype) = (storage.shape, storage.dtype);
            self.entries.push(Entry {
                tensor: storage.tensor,
                module: storage.module,
                part: "",
                block,
                group: storage.group,
                shape,
                dtype,
                count: times,
                bytes,
                from: phase,
                until: phase,
                at_peak: 0,
            });
        }
    }
}
