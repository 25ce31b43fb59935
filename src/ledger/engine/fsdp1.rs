//! FSDP1 (`torch.distributed.fsdp.FullyShardedDataParallel`): the parameters of each layer are one flat parameter, and
//! those around the layers another; a rank stores an equal part of each.
//!
//! Written as `torch/distributed/fsdp/_runtime_utils.py` and `_flat_param.py` (torch 2.15) run.

use super::script::{BufferId, Owner, Script, Side};
use super::units::{Storage, Unit, Units};
use super::{Accumulated, Fsdp, Shares, layer_kinds};
use crate::architecture::{Architecture, Half, Param, Weight};
use crate::ledger::{Block, Dtype, Group, Phase, Shape, Stage, Symbols};
use crate::text::tensors;

/// The buffers of one flat parameter.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    /// This rank's shard in the type that is gathered, where it is stored in another one.
    cast: Option<BufferId>,
    /// The flat parameter.
    parameters: BufferId,
    /// Its gradient, joined from those of the parameters.
    flat: BufferId,
    /// The same from micro-batches that were not reduced.
    whole: BufferId,
    /// The same in the reduced type, where that is another one.
    wide: Option<BufferId>,
    /// This rank's share of the sum, where it is cast afterwards.
    reduced: Option<BufferId>,
    /// The gradient of the shard.
    gradient: BufferId,
    trains: bool,
}

struct Run<'r> {
    script: Script,
    fsdp: &'r Fsdp,
    groups: Vec<Buffers>,
    gathered: Vec<bool>,
    layers: usize,
}

/// Each flat parameter starts every tensor at a multiple of so many bytes, when the parameters stay visible
/// (`_flat_param.py`, `_get_aligned_numel`).
const ALIGNMENT: u64 = 16;

impl Fsdp {
    /// Elements of which each tensor in a flat parameter takes a multiple.
    fn aligned(&self, stored: Dtype) -> u64 {
        if self.visible { (ALIGNMENT / self.gathered(stored).bytes()).max(1) } else { 1 }
    }

    /// What one rank stores: its part of each flat parameter.
    pub(super) fn flat_shares(
        &self,
        model: &Architecture,
        storage: Storage,
        stage: &Stage,
        numbers: &Symbols,
    ) -> Shares {
        let layers: Vec<usize> = stage.layers().collect();
        let units = Units::on(model, storage, stage);
        let mut shares = Shares::default();
        let mut add = |unit: &Unit, count: u64| {
            let part = |trained: bool| self.flat_parameter(unit, trained, count, numbers);
            if storage.adapters.is_some() {
                shares.base.extend(part(false));
                shares.adapters.extend(part(true));
            } else {
                shares.base.extend(part(true));
            }
            if self.visible {
                let others = self.tensors_in_part(unit, numbers).saturating_sub(1);
                shares.steps = shares.steps.saturating_add(others.saturating_mul(count));
            }
        };
        let order = layer_kinds(model);
        for (kind, unit) in units.kinds.iter().enumerate() {
            let same = |layer: &&usize| order.get(**layer) == Some(&kind);
            add(unit, layers.iter().filter(same).count() as u64);
        }
        add(&units.root(), 1);
        shares
    }

    /// The flat parameter of the trained tensors of a unit, or of the others.
    fn flat_parameter(&self, unit: &Unit, trained: bool, count: u64, numbers: &Symbols) -> Option<Weight> {
        let first = unit.params.iter().find(|stored| stored.trained == trained)?;
        let elements = unit.elements(trained, self.aligned(first.dtype), numbers);
        let path = if unit.name == "layers" { "layers.flat_param" } else { "model.flat_param" };
        let shape = Shape::flat(elements).sharded(self.shards);
        // What is around the layers has no adapters: what is trained of it are copies.
        let half = if first.weight.param.half == Half::Copy { Half::Copy } else { Half::Whole };
        Some(Weight { param: Param { path, group: Group::Other, shape, half, fp32: false }, count })
    }

    /// How many of a unit's trained tensors this rank's part of the flat parameter holds something of: that of the
    /// first rank, which no padding makes smaller.
    fn tensors_in_part(&self, unit: &Unit, numbers: &Symbols) -> u64 {
        let Some(first) = unit.trained().next() else { return 0 };
        let aligned = self.aligned(first.dtype);
        let part = unit.elements(true, aligned, numbers).div_ceil(self.shards);
        let (mut start, mut count) = (0_u64, 0);
        for stored in unit.trained() {
            let one = stored.shape.elements(numbers).div_ceil(aligned).saturating_mul(aligned);
            for _ in 0..stored.weight.count {
                count += u64::from(start < part);
                start = start.saturating_add(one);
            }
        }
        count
    }
}

/// A step. `order` gives for each layer its kind.
#[inline(never)] // apart: a first visit has none
pub(super) fn script(
    fsdp: &Fsdp,
    units: &Units,
    order: &[usize],
    stream: Dtype,
    numbers: &Symbols,
) -> Script {
    let layers = order.len();
    let mut run = Run {
        script: Script::new(layers, stream, numbers),
        fsdp,
        groups: Vec::with_capacity(layers + 1),
        gathered: vec![false; layers + 1],
        layers,
    };
    let kinds: Vec<Buffers> = units.kinds.iter().map(|unit| run.declare(unit, numbers)).collect();
    run.groups.extend(order.iter().map(|kind| kinds[*kind]));
    let root = run.declare(&units.root(), numbers);
    run.groups.push(root);
    let stays = fsdp.visible && fsdp.accumulated == Accumulated::No;
    for buffers in &run.groups {
        let there = match fsdp.accumulated {
            Accumulated::Whole => Some(buffers.whole),
            Accumulated::Reduced => Some(buffers.gradient),
            // `zero_grad` frees what the program sees, which is views: the flat gradient lives until the next forward.
            Accumulated::No => stays.then_some(buffers.gradient),
        };
        if let Some(there) = there.filter(|_| !fsdp.offload) {
            run.script.buffers[there].at_start += 1;
        }
    }
    run.forward(stays);
    run.backward(stays);
    run.script
}

impl Run<'_> {
    fn declare(&mut self, unit: &Unit, numbers: &Symbols) -> Buffers {
        let fsdp = self.fsdp;
        let part = |trained: bool| {
            let stored = unit.params.iter().find(|stored| stored.trained == trained)?;
            let elements = unit.elements(trained, fsdp.aligned(stored.dtype), numbers);
            Some((elements.div_ceil(fsdp.shards), stored.dtype))
        };
        let (trained, frozen) = (part(true), part(false));
        // Frozen and trained parameters are flat parameters of their own; they are gathered together.
        let parts = || trained.into_iter().chain(frozen);
        let dtype = parts().next().map_or(Dtype::Byte, |(_, stored)| fsdp.gathered(stored));
        let local = parts().fold(0_u64, |sum, (elements, stored)| {
            let width = fsdp.gathered(stored).bytes() / dtype.bytes().min(fsdp.gathered(stored).bytes());
            sum.saturating_add(elements.saturating_mul(width))
        });
        let casts = parts().any(|(_, stored)| fsdp.gathered(stored) != stored);
        let (share, stored) = trained.unwrap_or((0, dtype));
        let (low, reduced) = (fsdp.gathered(stored), fsdp.reduced(stored));
        let whole = share.saturating_mul(fsdp.shards);
        let sharded = fsdp.shards > 1;

        let script = &mut self.script;
        let mut flat = |tensor, block, elements, dtype, span| {
            script.buffer(unit.flat(tensor, block, (elements, dtype), span, numbers))
        };
        let runs = (Phase::Embedding, Phase::EmbeddingBackward);
        let backward = (Phase::Backward, Phase::EmbeddingBackward);
        let lasting = (Phase::Backward, Phase::Optimizer);
        let cast = (sharded && (casts || fsdp.offload))
            .then(|| flat(&tensors::ALL_GATHER_INPUT, Block::Overhead, local, dtype, runs));
        // One rank's shard is all there is: it is only cast.
        let gathered = if sharded || casts { local.saturating_mul(fsdp.shards) } else { 0 };
        let parameters = flat(&tensors::GATHERED, Block::Overhead, gathered, dtype, runs);
        let joined = flat(&tensors::FLAT_GRADIENT, Block::Gradients, whole, low, backward);
        let kept =
            flat(&tensors::WHOLE_GRADIENT, Block::Gradients, whole, low, (Phase::Backward, Phase::Backward));
        // Without shards the wide gradient is what the optimizer reads, unless it is cast again.
        let differs = reduced != stored;
        let wide = (reduced != low && share > 0 && (sharded || differs))
            .then(|| flat(&tensors::REDUCE_INPUT, Block::Overhead, whole, reduced, backward));
        let cast_back = (sharded && differs && share > 0)
            .then(|| flat(&tensors::REDUCE_OUTPUT, Block::Overhead, share, reduced, backward));
        let gradient = flat(&tensors::WEIGHT_GRADIENT, Block::Gradients, share, stored, lasting);
        Buffers {
            cast,
            parameters,
            flat: joined,
            whole: kept,
            wide,
            reduced: cast_back,
            gradient,
            trains: share > 0,
        }
    }

    fn forward(&mut self, stays: bool) {
        let root = self.layers;
        self.script.at(Side::Before, Phase::Embedding, 0);
        if stays {
            self.free_gradients();
        }
        self.unshard(root);
        for layer in 0..self.layers {
            self.script.at(Side::Before, Phase::Forward, layer);
            self.unshard(layer);
            if self.fsdp.reshard {
                self.script.at(Side::After, Phase::Forward, layer);
                self.reshard(layer);
            }
        }
        // The root keeps its parameters; a copy that is no gathered one is made again.
        if self.fsdp.shards == 1 {
            self.script.at(Side::After, Phase::Loss, 0);
            self.reshard(root);
        }
    }

    fn backward(&mut self, stays: bool) {
        let root = self.layers;
        self.script.at(Side::Before, Phase::LossBackward, 0);
        self.unshard(root);
        if let Some(last) = self.layers.checked_sub(1) {
            self.unshard(last);
        }
        for layer in (0..self.layers).rev() {
            self.script.at(Side::Before, Phase::Backward, layer);
            self.unshard(layer);
            // `BackwardPrefetch.BACKWARD_PRE`
            if let Some(before) = layer.checked_sub(1) {
                self.unshard(before);
            }
            self.script.at(Side::After, Phase::Backward, layer);
            self.post_backward(layer, &[Owner::Here]);
        }
        self.script.at(Side::After, Phase::EmbeddingBackward, 0);
        self.post_backward(root, &[Owner::Here, Owner::Loss]);
        if !stays {
            self.script.at(Side::After, Phase::Optimizer, 0);
            self.free_gradients();
        }
        self.script.close();
    }

    fn free_gradients(&mut self) {
        for group in 0..self.groups.len() {
            self.script.free(self.groups[group].gradient);
        }
    }

    /// `FlatParamHandle.pre_unshard`, `unshard`, `post_unshard`.
    fn unshard(&mut self, group: usize) {
        if std::mem::replace(&mut self.gathered[group], true) {
            return;
        }
        let Buffers { cast, parameters, .. } = self.groups[group];
        if let Some(cast) = cast {
            self.script.make(cast);
        }
        self.script.make(parameters);
        if let Some(cast) = cast {
            self.script.free(cast);
        }
    }

    fn reshard(&mut self, group: usize) {
        if std::mem::take(&mut self.gathered[group]) {
            self.script.free(self.groups[group].parameters);
        }
    }

    /// `_post_backward_hook`, `_reduce_grad`.
    fn post_backward(&mut self, group: usize, owners: &[Owner]) {
        let buffers = self.groups[group];
        if buffers.trains {
            self.script.make(buffers.flat);
        }
        for owner in owners {
            self.script.release(*owner);
        }
        self.reshard(group);
        if !buffers.trains {
            return;
        }
        let mut flat = buffers.flat;
        if self.fsdp.accumulated == Accumulated::Whole {
            self.script.free(flat);
            flat = buffers.whole;
        }
        if let Some(wide) = buffers.wide {
            self.script.make(wide);
        }
        if let Some(reduced) = buffers.reduced {
            self.script.make(reduced);
        } else {
            self.script.make(buffers.gradient);
        }
        if let Some(wide) = buffers.wide {
            self.script.free(wide);
        }
        if let Some(reduced) = buffers.reduced {
            self.script.make(buffers.gradient);
            self.script.free(reduced);
        }
        if self.fsdp.offload || self.fsdp.accumulated == Accumulated::Reduced {
            self.script.free(buffers.gradient);
        }
        self.script.free(flat);
    }
}
