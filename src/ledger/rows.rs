//! Rows of the ledger made from the tapes: what backward keeps, and what only the worst instant holds.

use super::tape::{Role, Storage, Tape};
use super::{Block, Entry, Part, Phase};

/// Bytes of rows together.
pub(crate) fn bytes<'e>(rows: impl IntoIterator<Item = &'e Entry>) -> u64 {
    rows.into_iter().fold(0, |sum, row| sum.saturating_add(row.bytes))
}

/// Collects rows; equal tensors of different layers become one row with a count.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) entries: Vec<Entry>,
}

/// When the tensors of one part live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: Phase,
    pub(crate) until: Phase,
}

impl Rows {
    /// What backward keeps of one part that runs `count` times, `at_peak` of which are whole at the worst instant.
    pub(crate) fn saved(&mut self, part: &Part, span: Span, count: u64, at_peak: u64) {
        for storage in part.saved() {
            self.add(storage, Block::Activations, span, count, at_peak);
        }
    }

    /// Tensors of a tape that outlive it, made by so many micro-batches; of how many the kept and the working ones are
    /// alive at the worst instant.
    pub(crate) fn lasting(&mut self, tape: &Tape, which: &[bool], (kept, working): (u64, u64), count: u64) {
        for (storage, _) in tape.storages.iter().zip(which).filter(|(_, which)| **which) {
            let (block, at_peak) = match storage.role {
                Role::Working => (Block::Overhead, working),
                _ => (Block::Activations, kept),
            };
            let span = Span { from: Phase::Embedding, until: Phase::Backward };
            self.add(storage, block, span, count, at_peak);
        }
    }

    /// Working tensors of `count` runs of a tape that are alive at the worst instant.
    pub(crate) fn working(&mut self, tape: &Tape, which: &[usize], span: Span, count: u64) {
        if count > 0 {
            for &id in which {
                let storage = &tape.storages[id];
                let block = if storage.role == Role::Passing { Block::Gradients } else { Block::Overhead };
                self.add(storage, block, span, count, count);
            }
        }
    }

    /// Storages of a tape that are alive beyond it, kept or not.
    pub(crate) fn left(&mut self, tape: &Tape, which: &[usize], span: Span) {
        for &id in which {
            let storage = &tape.storages[id];
            match storage.role {
                Role::Saved | Role::WeightCopy => self.add_to_peak(storage, span),
                _ => self.add(storage, Block::Overhead, span, 1, 1),
            }
        }
    }

    /// One more of each tensor that a part keeps is alive.
    pub(crate) fn again(&mut self, part: &Part, phase: Phase) {
        part.saved().for_each(|storage| self.add_to_peak(storage, Span { from: phase, until: phase }));
    }

    /// Storages that are alive at the worst instant, inside the part that makes it.
    pub(crate) fn alive(&mut self, tape: &Tape, alive: &[bool], phase: Phase) {
        let within = Span { from: phase, until: phase };
        for (storage, _) in tape.storages.iter().zip(alive).filter(|(_, alive)| **alive) {
            match storage.role {
                Role::Working => self.add(storage, Block::Overhead, within, 1, 1),
                Role::Passing => self.add(storage, Block::Gradients, within, 1, 1),
                Role::Saved | Role::WeightCopy => self.add_to_peak(storage, within),
                // Counted by the gradients' own rows.
                Role::Gradient | Role::Hidden => {}
            }
        }
    }

    fn add(&mut self, storage: &Storage, block: Block, span: Span, count: u64, at_peak: u64) {
        let bytes = storage.bytes.saturating_mul(count);
        let live = storage.bytes.saturating_mul(at_peak);
        if let Some(row) = self.find(storage, block) {
            row.count = row.count.saturating_add(count);
            row.bytes = row.bytes.saturating_add(bytes);
            row.at_peak = row.at_peak.saturating_add(live);
            return;
        }
        let Storage { tensor, module, group, shape, dtype, .. } = *storage;
        let Span { from, until } = span;
        self.entries.push(Entry {
            tensor,
            module,
            part: "",
            block,
            group,
            shape,
            dtype,
            count,
            bytes,
            from,
            until,
            at_peak: live,
        });
    }

    /// One more of a kept tensor is alive: in the row that has it, or (recomputed) in one of its own.
    fn add_to_peak(&mut self, storage: &Storage, span: Span) {
        match self.find(storage, Block::Activations) {
            Some(row) => row.at_peak = row.at_peak.saturating_add(storage.bytes),
            None => self.add(storage, Block::Activations, span, 1, 1),
        }
    }

    fn find(&mut self, storage: &Storage, block: Block) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|row| {
            std::ptr::eq(row.tensor, storage.tensor)
                && row.module == storage.module
                && row.block == block
                && row.shape == storage.shape
                && row.dtype == storage.dtype
        })
    }
}
