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
    /// Nothing: what would happen is on another stage of a pipeline.
    Nothing,
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
    /// For each layer of the model its place among those that this script is for.
    places: Vec<Option<usize>>,
    /// The residual stream between two parts, and its gradient.
    stream: Option<[BufferId; 2]>,
    open: Option<(Open, Option<BufferId>)>,
}

impl Script {
    /// An empty script for a model of so many layers; between parts, `stream` of this type is handed on.
    pub(crate) fn new(layers: usize, stream: Dtype, numbers: &Symbols) -> Self {
        let places = (0..layers).map(Some).collect();
        let mut script = Self { layers, places, hooks: vec![0..0; 10 + 4 * layers], ..Self::default() };
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
        let place = self.place(phase, layer);
        let index = place.and_then(|layer| self.index(Side::Before, phase, layer));
        let of = index.and_then(|index| self.gradients.get(index));
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

    /// The script of one stage of a pipeline, which holds the model's layers at these positions: what stands around an
    /// embedding, or a loss, that is on another stage moves to the stage's first, or last, layer.
    pub(crate) fn on_stage(mut self, positions: &[usize], embeds: bool, ends: bool) -> Self {
        let last = self.layers.saturating_sub(1);
        if !embeds {
            let rest = self.joined((Side::After, Phase::Backward, 0), Phase::EmbeddingBackward);
            self.silence(rest, Act::Release(Owner::Here));
            self.joined((Side::Before, Phase::Forward, 0), Phase::Embedding);
        }
        if !ends {
            self.joined((Side::After, Phase::Forward, last), Phase::Loss);
            self.joined((Side::Before, Phase::Backward, last), Phase::LossBackward);
            self.silence(0..self.acts.len(), Act::Release(Owner::Loss));
        }
        let length = positions.iter().max().map_or(0, |most| most + 1);
        self.places = vec![None; length];
        for (place, position) in positions.iter().enumerate() {
            self.places[*position] = Some(place);
        }
        self
    }

    /// The acts around a phase join those of a hook beside it; gives where they stand.
    fn joined(&mut self, (side, phase, layer): (Side, Phase, usize), other: Phase) -> Range<usize> {
        let [before, after] = [Side::Before, Side::After].map(|side| self.index(side, other, 0));
        let others = before.into_iter().chain(after).map(|index| self.hooks[index].clone());
        let others = others.filter(|range| range.start < range.end).reduce(|all, range| all.start..range.end);
        let (Some(own), Some(others)) = (self.index(side, phase, layer), others) else { return 0..0 };
        let hook = &mut self.hooks[own];
        // Acts are written down in the order in which they happen: the two are neighbours.
        *hook = if hook.start == hook.end {
            others.clone()
        } else {
            hook.start.min(others.start)..hook.end.max(others.end)
        };
        others
    }

    fn silence(&mut self, range: Range<usize>, act: Act) {
        let acts = self.acts.get_mut(range).unwrap_or_default();
        acts.iter_mut().filter(|own| **own == act).for_each(|own| *own = Act::Nothing);
    }

    /// The place of a layer of the model among those that this script is for.
    fn place(&self, phase: Phase, layer: usize) -> Option<usize> {
        let layered = matches!(phase, Phase::Forward | Phase::Backward);
        if layered { self.places.get(layer).copied().flatten() } else { Some(0) }
    }

    /// What happens on this side of this part's run.
    pub(crate) fn acts(&self, side: Side, phase: Phase, layer: usize) -> &[Act] {
        let range = self
            .place(phase, layer)
            .and_then(|layer| self.index(side, phase, layer))
            .and_then(|index| self.hooks.get(index).cloned());
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
