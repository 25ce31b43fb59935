//! The parts of the model that an engine treats as one: each layer, and what is around the layers.

use crate::architecture::adapters::{self, Copied, Targets};
use crate::architecture::{Architecture, Half, Param, Weight, weights};
use crate::ledger::quantized::Quantized;
use crate::ledger::weights::row;
use crate::ledger::{Block, Dtype, Entry, Group, Phase, Shape, Stage, Symbols, Tensor};

/// A parameter of one unit as one rank keeps it between steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) weight: Weight,
    /// Shape and element type of what is stored (packed, where it is quantised).
    pub(crate) shape: Shape,
    pub(crate) dtype: Dtype,
    pub(crate) trained: bool,
}

/// Parameters that are gathered, or reduced, together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// As in module paths: `layers`, `model`, …
    pub(crate) name: &'static str,
    pub(crate) params: Vec<Stored>,
}

/// How a model's parameters are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    /// The model's own.
    pub(crate) base: Dtype,
    /// Where its linears are quantised.
    pub(crate) quantized: Option<Quantized>,
    /// Which linears have adapters, and their type: then nothing else is trained but copies of modules.
    pub(crate) adapters: Option<(Targets, Dtype)>,
    /// Which modules have a trained copy, and its type.
    pub(crate) copied: (Copied, Dtype),
}

impl Storage {
    fn stored(self, weight: Weight) -> Stored {
        let param = weight.param;
        let trained = self.adapters.is_none();
        match self.quantized.filter(|_| Quantized::covers(&param)) {
            Some(quantized) => {
                let packed = if quantized.four_bit() { param.shape.per_block(2) } else { param.shape };
                Stored { weight, shape: packed, dtype: Dtype::Byte, trained }
            }
            None => Stored { weight, shape: param.shape, dtype: param.dtype(self.base), trained },
        }
    }

    /// The trained copy of a parameter.
    fn copied(self, param: Param) -> Stored {
        let param = Param { half: Half::Copy, ..param };
        let weight = Weight { param, count: 1 };
        Stored { weight, shape: param.shape, dtype: param.dtype(self.copied.1), trained: true }
    }

    /// Adds the trained copies of a unit's parameters.
    fn copy(self, unit: &mut Unit) {
        if self.copied.0.none() {
            return;
        }
        let own: Vec<Param> = unit.params.iter().map(|stored| stored.weight.param).collect();
        let own = own.into_iter().filter(|param| param.half == Half::Whole && self.copied.0.covers(param));
        own.for_each(|param| unit.add(self.copied(param)));
    }
}

/// The units of one rank's part of a model.
#[derive(Debug)]
pub(crate) struct Units {
    /// One for each kind of layer, in the model's order of kinds, an encoder's first.
    pub(crate) kinds: Vec<Unit>,
    /// What is before the first layer.
    pub(crate) embedding: Unit,
    /// What is after the last one.
    pub(crate) head: Unit,
    /// The output embedding is the input embedding.
    pub(crate) tied: bool,
}

impl Units {
    pub(crate) fn of(model: &Architecture, storage: Storage) -> Self {
        let kind = |kind: &crate::architecture::Layer| {
            let mut unit = Unit { name: "layers", params: Vec::with_capacity(16) };
            let mut add = |param| unit.add(storage.stored(Weight { param, count: 1 }));
            kind.sublayers.iter().for_each(|sublayer| sublayer.params(&mut add));
            if let Some((targets, dtype)) = storage.adapters {
                let own: Vec<Stored> = unit.params.clone();
                for stored in own.iter().filter(|stored| targets.covers(stored.weight.param.module())) {
                    if stored.weight.param.shape.dims().len() < 2 {
                        continue;
                    }
                    let (a, b) = adapters::of(stored.weight.param);
                    for param in [a, b] {
                        let weight = Weight { param, count: stored.weight.count };
                        unit.add(Stored { weight, shape: param.shape, dtype, trained: true });
                    }
                }
            }
            storage.copy(&mut unit);
            unit.in_declared_order();
            unit
        };
        let mut embedding = Unit { name: "embed_tokens", params: Vec::new() };
        model.embedding.params(&mut |param| embedding.add(storage.stored(Weight { param, count: 1 })));
        let encoder = model.encoder.as_ref();
        if let Some(last) = encoder.and_then(|encoder| encoder.final_norm.as_ref()) {
            last.params(&mut |param| embedding.add(storage.stored(Weight { param, count: 1 })));
        }
        let mut head = Unit { name: "lm_head", params: Vec::new() };
        let mut add = |param| head.add(storage.stored(Weight { param, count: 1 }));
        model.final_norm.iter().for_each(|norm| norm.params(&mut add));
        model.head.params(model.tied, &mut add);
        if model.shares_head() && storage.copied.0.head {
            head.add(storage.copied(weights::LM_HEAD));
        }
        for unit in [&mut embedding, &mut head] {
            storage.copy(unit);
        }
        let kinds = encoder.iter().flat_map(|encoder| &encoder.kinds).chain(&model.kinds);
        Self { kinds: kinds.map(kind).collect(), embedding, head, tied: model.tied }
    }

    /// Those of one stage of a pipeline.
    pub(crate) fn on(model: &Architecture, storage: Storage, stage: &Stage) -> Self {
        let mut units = Self::of(model, storage);
        if !stage.ends() {
            units.head.params.clear();
        } else if !stage.embeds() && units.tied {
            // A tied table is there twice.
            units.head.params.extend(units.embedding.params.first());
        }
        if !stage.embeds() {
            units.embedding.params.clear();
        }
        units.tied &= stage.embeds() && stage.ends();
        units
    }

    /// What is around the layers, as one; a tied output embedding once.
    pub(crate) fn root(&self) -> Unit {
        let params = self.embedding.params.iter().chain(&self.head.params).copied().collect();
        Unit { name: "model", params }
    }
}

impl Unit {
    fn add(&mut self, stored: Stored) {
        match self.params.iter_mut().find(|own| own.weight.param == stored.weight.param) {
            Some(own) => own.weight.count += stored.weight.count,
            None => self.params.push(stored),
        }
    }

    /// The order in which the framework meets them, which decides where a flat buffer is cut: the modelling files of
    /// Llama's kin declare attention and feed-forward before the norms that run before them.
    fn in_declared_order(&mut self) {
        let place = |stored: &Stored| match stored.weight.param.path.split('.').next() {
            Some("self_attn") => 0,
            Some("mlp") => 1,
            _ => 2,
        };
        if self.params.iter().any(|stored| place(stored) == 0) {
            self.params.sort_by_key(place);
        }
    }

    /// Its trained parameters.
    pub(crate) fn trained(&self) -> impl Iterator<Item = &Stored> {
        self.params.iter().filter(|stored| stored.trained)
    }

    /// Elements of its parameters (trained ones, or the others), one after another in a flat tensor, each rounded up to
    /// a multiple of `aligned`.
    pub(crate) fn elements(&self, trained: bool, aligned: u64, numbers: &Symbols) -> u64 {
        let of = |stored: &Stored| {
            let one = stored.shape.elements(numbers).div_ceil(aligned).saturating_mul(aligned);
            one.saturating_mul(stored.weight.count)
        };
        let params = self.params.iter().filter(|stored| stored.trained == trained);
        params.map(of).fold(0, u64::saturating_add)
    }

    /// One row for something flat that stands for the whole unit.
    pub(crate) fn flat(
        &self,
        tensor: &'static Tensor,
        block: Block,
        (elements, dtype): (u64, Dtype),
        (from, until): (Phase, Phase),
        numbers: &Symbols,
    ) -> Vec<Entry> {
        if elements == 0 {
            return Vec::new();
        }
        let shape = (Shape::flat(elements), dtype);
        let row = Entry::lasting((tensor, self.name), (block, Group::Other), shape, 1, numbers);
        vec![Entry { from, until, at_peak: 0, ..row }]
    }

    /// A row for each trained parameter, of the shape that `split` makes of its own.
    pub(crate) fn gradients(
        &self,
        tensor: &'static Tensor,
        dtype: impl Fn(&Stored) -> Dtype,
        split: impl Fn(Shape) -> Shape,
        numbers: &Symbols,
    ) -> Vec<Entry> {
        let of = |stored: &Stored| {
            let Weight { param, count } = stored.weight;
            let shape = (split(param.shape), dtype(stored));
            let row = row(tensor, param, Block::Gradients, shape, count, numbers);
            Entry { from: Phase::Backward, until: Phase::Optimizer, at_peak: 0, ..row }
        };
        self.trained().map(of).collect()
    }
}
