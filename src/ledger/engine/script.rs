//! What an engine makes and frees as a step goes on: a list of acts around each part of the step.
//!
//! The timeline plays it beside the parts' own tensors, so that the worst instant is found and not asserted.

use crate::ledger::activations::STREAM;
use crate::ledger::{Block, Dtype, Entry, Group, Phase, Symbols};
use crate::text::tensors;
use std::ops::Range;

/// Tensors that live and die together.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Their rows, for one time that they are alive.
    pub(crate) rows: Vec<Entry>,
    /// How many times they are alive when a step begins.
    pub(crate) at_start: u64,
    /// What one part hands to the next.
    pub(crate) between_parts: bool,
}

/// Index of a [`Buffer`] in its script.
pub(crate) type BufferId = usize;

/// Whose gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The part beside whose run the act stands.
    Here,
    /// Final norm, head and loss.
    Loss,
}

/// One thing that an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Tensors are born.
    Make(BufferId),
    /// A gradient that is there already is kept in one.
    Keep(BufferId),
    /// They are freed.
    Free(BufferId),
    /// The gradients that backward left are freed.
    Release(Owner),
}

/// Before or after the run of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// The hook that acts are added to.
#[derive(Clone, Copy, Debug)]
enum Open {
    Side(usize),
    Gradient(usize, usize),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) buffers: Vec<Buffer>,
    acts: Vec<Act>,
    /// For each hook (see [`Script::index`]) its acts.
    hooks: Vec<Range<usize>>,
    /// For each hook of a backward, the acts beside each of the gradients that pass.
    gradients: Vec<Vec<Range<usize>>>,
    layers: usize,
    /// The residual stream between two parts, and its gradient.
    stream: Option<[BufferId; 2]>,
    open: Option<(Open, Option<BufferId>)>,
}

impl Script {
    /// An empty script for a model of so many layers; between parts, `stream` of this type is handed on.
    pub(crate) fn new(layers: usize, stream: Dtype, numbers: &Symbols) -> Self {
        let mut script = Self { layers, hooks: vec![0..0; 10 + 4 * layers], ..Self::default() };
        let mut handed = |tensor| {
            let place = (Block::Overhead, Group::Residual);
            let row = Entry::lasting((tensor, ""), place, (STREAM, stream), 1, numbers);
            let id = script.buffer(vec![row]);
            script.buffers[id].between_parts = true;
            id
        };
        let stream = [handed(&tensors::OUTPUT), handed(&tensors::GRADIENT)];
        Self { stream: Some(stream), ..script }
    }

    /// Declares tensors.
    pub(crate) fn buffer(&mut self, rows: Vec<Entry>) -> BufferId {
        self.buffers.push(Buffer { rows, at_start: 0, between_parts: false });
        self.buffers.len() - 1
    }

    /// Acts from here on, until [`Script::close`], stand on this side of this part's run.
    pub(crate) fn at(&mut self, side: Side, phase: Phase, layer: usize) {
        self.close();
        let nothing = matches!(
            (phase, side),
            (Phase::Embedding | Phase::LossBackward, Side::Before)
                | (Phase::Loss | Phase::EmbeddingBackward, Side::After)
        );
        let handed = self.stream.filter(|_| !nothing).and_then(|[forward, backward]| match phase {
            Phase::Embedding | Phase::Forward | Phase::Loss => Some(forward),
            Phase::LossBackward | Phase::Backward | Phase::EmbeddingBackward => Some(backward),
            Phase::Always
            | Phase::Optimizer
            | Phase::EncoderEnd
            | Phase::DecoderEmbedding
            | Phase::DecoderEmbeddingBackward
            | Phase::EncoderEndBackward => None,
        });
        let Some(index) = self.index(side, phase, layer) else { return };
        self.hooks[index] = self.acts.len()..self.acts.len();
        self.open = Some((Open::Side(index), handed));
        if let Some(handed) = handed {
            self.make(handed);
        }
    }

    /// Ends the acts of a hook.
    pub(crate) fn close(&mut self) {
        if let Some((open, handed)) = self.open.take() {
            if let Some(handed) = handed {
                self.free(handed);
            }
            let end = self.acts.len();
            match open {
                Open::Side(index) => self.hooks[index].end = end,
                Open::Gradient(index, gradient) => self.gradients[index][gradient].end = end,
            }
        }
    }

    /// Acts from here on stand where the n-th of the gradients that pass in this backward is there, before it is freed.
    pub(crate) fn at_gradient(&mut self, phase: Phase, layer: usize, gradient: usize) {
        self.close();
        let Some(index) = self.index(Side::Before, phase, layer) else { return };
        if self.gradients.is_empty() {
            self.gradients = vec![Vec::new(); self.hooks.len()];
        }
        let (acts, of) = (self.acts.len(), &mut self.gradients[index]);
        while of.len() <= gradient {
            of.push(acts..acts);
        }
        of[gradient] = acts..acts;
        self.open = Some((Open::Gradient(index, gradient), None));
    }

    /// What happens where the n-th gradient of a backward is there.
    pub(crate) fn gradient_acts(&self, phase: Phase, layer: usize, gradient: usize) -> &[Act] {
        let of = self.index(Side::Before, phase, layer).and_then(|index| self.gradients.get(index));
        let range = of.and_then(|of| of.get(gradient).cloned());
        range.and_then(|range| self.acts.get(range)).unwrap_or_default()
    }

    pub(crate) fn make(&mut self, buffer: BufferId) {
        self.acts.push(Act::Make(buffer));
    }

    pub(crate) fn keep(&mut self, buffer: BufferId) {
        self.acts.push(Act::Keep(buffer));
    }

    pub(crate) fn free(&mut self, buffer: BufferId) {
        self.acts.push(Act::Free(buffer));
    }

    pub(crate) fn release(&mut self, owner: Owner) {
        self.acts.push(Act::Release(owner));
    }

    /// What happens on this side of this part's run.
    pub(crate) fn acts(&self, side: Side, phase: Phase, layer: usize) -> &[Act] {
        let range = self.index(side, phase, layer).and_then(|index| self.hooks.get(index).cloned());
        range.and_then(|range| self.acts.get(range)).unwrap_or_default()
    }

    fn index(&self, side: Side, phase: Phase, layer: usize) -> Option<usize> {
        let slot = match phase {
            Phase::Always
            | Phase::EncoderEnd
            | Phase::DecoderEmbedding
            | Phase::DecoderEmbeddingBackward
            | Phase::EncoderEndBackward => return None,
            Phase::Embedding => 0,
            Phase::Loss => 1,
            Phase::LossBackward => 2,
            Phase::EmbeddingBackward => 3,
            Phase::Optimizer => 4,
            Phase::Forward => 5 + layer,
            Phase::Backward => 5 + self.layers + layer,
        };
        let index = 2 * slot + usize::from(side == Side::After);
        (index < self.hooks.len()).then_some(index)
    }
}
