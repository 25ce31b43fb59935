//! DeepSpeed ZeRO stages 1 and 2: a rank keeps an equal part of one flat fp32 copy of all trained parameters, and of
//! their states; gradients pass through a bucket on their way to the rank that steps on them.
//!
//! Written as `deepspeed/runtime/zero/stage_1_and_2.py` (0.19.8) runs, for the first rank.

use super::DeepSpeed;
use super::gather::{Change, Gather, Step, steps};
use super::script::{BufferId, Script, Side};
use super::units::{Unit, Units};
use crate::architecture::{Half, Param, Weight};
use crate::ledger::{Block, Dtype, Group, Part, Parts, Phase, Shape, Symbols, Tensor};
use crate::text::tensors;

/// One trained parameter of the model.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Where it starts in the flat copy.
    start: u64,
    elements: u64,
    /// Its gradient lives in a tensor of its own.
    kept: Option<BufferId>,
}

impl Slot {
    /// How many of its elements the partition holds that starts and ends here.
    fn within(self, start: u64, end: u64) -> u64 {
        let last = self.start.saturating_add(self.elements);
        last.min(end).saturating_sub(self.start.max(start))
    }
}

/// The parameters in the order of the flat copy.
#[derive(Debug, Default)]
struct Slots {
    all: Vec<Slot>,
    end: u64,
}

impl Slots {
    /// Adds a unit's trained parameters; gives the index of the first.
    fn add(&mut self, unit: &Unit, numbers: &Symbols) -> usize {
        let first = self.all.len();
        for stored in unit.trained() {
            for _ in 0..stored.weight.count {
                let elements = stored.shape.elements(numbers);
                self.all.push(Slot { start: self.end, elements, kept: None });
                self.end = self.end.saturating_add(elements);
            }
        }
        first
    }
}

/// Where the framework stands.
struct Run<'r> {
    script: Script,
    zero: &'r DeepSpeed,
    numbers: &'r Symbols,
    /// All parameters, as rows are named.
    unit: Unit,
    slots: Vec<Slot>,
    /// Elements of one rank's part.
    part: u64,
    bucket: BufferId,
    /// Gradients that this rank steps on.
    partition: BufferId,
    /// Tensors of other sizes: what they are, their elements, and type.
    sized: Vec<(&'static Tensor, u64, Dtype, BufferId)>,
    begun: bool,
    copied: bool,
    /// Elements in the bucket, and the parameters that they are of.
    elements: u64,
    filled: Vec<usize>,
    /// Stage 3's parameters.
    gather: Option<Gather>,
    /// Small parameters that stay gathered from the end of a step to the end of the next backward.
    persistent: Option<BufferId>,
}

/// DeepSpeed aligns the flat copy to so many elements times the ranks (`nccl_start_alignment_factor`).
const ALIGNMENT: u64 = 2;

/// Elements of the flat copy that each rank steps on.
fn partition(elements: u64, ranks: u64) -> u64 {
    let multiple = ranks.saturating_mul(ALIGNMENT).max(1);
    elements.div_ceil(multiple).saturating_mul(multiple) / ranks.max(1)
}

/// The part of the flat copy that one rank steps on.
pub(super) fn share(elements: u64, ranks: u64) -> Weight {
    let shape = Shape::flat(partition(elements, ranks));
    let path = "optimizer.partition";
    Weight { param: Param { path, group: Group::Other, shape, half: Half::Whole, fp32: false }, count: 1 }
}

/// Stage 3 steps on groups of whole parameters' parts, each as soon as it has so many elements.
pub(super) fn groups(parts: impl Iterator<Item = u64>, least: u64) -> Vec<Weight> {
    let mut groups: Vec<Weight> = Vec::new();
    let mut add = |elements: u64| {
        let mut group = share(0, 1);
        group.param.shape = Shape::flat(elements);
        match groups.iter_mut().find(|known| known.param == group.param) {
            Some(known) => known.count += 1,
            None => groups.push(group),
        }
    };
    let mut sum = 0_u64;
    for part in parts {
        sum = sum.saturating_add(part);
        if sum >= least {
            add(std::mem::take(&mut sum));
        }
    }
    if sum > 0 {
        add(sum);
    }
    groups
}

/// A step. `order` gives for each layer its kind.
#[inline(never)] // apart: a first visit has none
pub(super) fn script(
    zero: &DeepSpeed,
    units: &Units,
    order: &[usize],
    (parts, positions): (&Parts, &[usize]),
    stream: Dtype,
    numbers: &Symbols,
) -> Script {
    let mut slots = Slots::default();
    let embedding = slots.add(&units.embedding, numbers);
    let layers: Vec<usize> = order.iter().map(|kind| slots.add(&units.kinds[*kind], numbers)).collect();
    let head = slots.add(&units.head, numbers);

    let unit = Unit { name: "optimizer", params: Vec::new() };
    let part = partition(slots.end, zero.ranks);
    let inside = slots.all.iter().filter(|slot| slot.within(0, part) > 0).map(|slot| slot.elements).sum();
    // fp32 accumulation keeps exactly the part; otherwise whole gradients of what overlaps it.
    let (size, dtype) = if zero.wide { (part, Dtype::Fp32) } else { (inside, zero.low) };
    let mut script = Script::new(order.len(), stream, numbers);
    let mut flat = |tensor, elements, dtype, until| {
        let span = (Phase::LossBackward, until);
        script.buffer(unit.flat(tensor, Block::Gradients, (elements, dtype), span, numbers))
    };
    let bucket = flat(&tensors::REDUCE_BUCKET, zero.bucket, zero.low, Phase::EmbeddingBackward);
    let partition = flat(&tensors::GRADIENT_PARTITION, size, dtype, Phase::Optimizer);
    let gather = (zero.stage == 3).then(|| {
        let names = [&units.embedding].into_iter().chain(order.iter().map(|kind| &units.kinds[*kind]));
        let firsts = std::iter::once(embedding).chain(layers.iter().copied()).chain(std::iter::once(head));
        let mut modules: Vec<Vec<Step>> =
            names.chain([&units.head]).zip(firsts).map(|(unit, first)| steps(unit, first)).collect();
        // A tied head reads the embedding's table.
        if let Some(head) = modules.last_mut().filter(|_| units.tied) {
            head.push(Step { params: vec![embedding] });
        }
        let recomputed: Vec<bool> =
            positions.iter().map(|layer| parts.layer(*layer).bare.is_some()).collect();
        let elements = slots.all.iter().map(|slot| slot.elements).collect();
        Gather::new(zero, elements, &modules, &recomputed)
    });
    let mut run = Run {
        script,
        zero,
        numbers,
        unit,
        slots: slots.all,
        part,
        bucket,
        partition,
        sized: Vec::new(),
        begun: false,
        copied: false,
        elements: 0,
        filled: Vec::new(),
        gather,
        persistent: None,
    };
    run.persistent = zero.persistent(units, order, numbers).map(|rows| run.script.buffer(rows));
    if let Some(persistent) = run.persistent {
        run.script.buffers[persistent].at_start = 1;
    }
    run.accumulated();
    run.forward(order.len());
    run.gather_in((Side::Before, Phase::LossBackward, 0), Gather::before_loss_backward);
    run.backward((Phase::LossBackward, 0), &parts.loss, &units.head, head);
    run.gather_in((Side::After, Phase::LossBackward, 0), Gather::after_loss_backward);
    for (layer, kind) in order.iter().enumerate().rev() {
        run.gather_in((Side::Before, Phase::Backward, layer), |gather| gather.before_backward(layer));
        run.backward(
            (Phase::Backward, layer),
            parts.layer(positions[layer]),
            &units.kinds[*kind],
            layers[layer],
        );
        run.gather_in((Side::After, Phase::Backward, layer), |gather| gather.after_backward(layer));
    }
    run.gather_in((Side::Before, Phase::EmbeddingBackward, 0), Gather::before_embedding_backward);
    run.backward((Phase::EmbeddingBackward, 0), &parts.embedding, &units.embedding, embedding);
    run.script.at(Side::After, Phase::EmbeddingBackward, 0);
    if let Some(persistent) = run.persistent {
        run.script.free(persistent);
    }
    run.epilogue();
    run.step();
    run.script.close();
    run.script
}

impl Run<'_> {
    fn forward(&mut self, layers: usize) {
        self.gather_in((Side::Before, Phase::Embedding, 0), Gather::before_embedding);
        self.gather_in((Side::After, Phase::Embedding, 0), |gather| gather.after(0));
        for layer in 0..layers {
            self.gather_in((Side::Before, Phase::Forward, layer), |gather| gather.before(layer + 1));
            self.gather_in((Side::After, Phase::Forward, layer), |gather| gather.after(layer + 1));
        }
        self.gather_in((Side::Before, Phase::Loss, 0), |gather| gather.before(layers + 1));
        self.gather_in((Side::After, Phase::Loss, 0), |gather| gather.after(layers + 1));
    }

    /// Lets stage 3 fetch and release parameters on this side of a part's run.
    fn gather_in(&mut self, (side, phase, layer): (Side, Phase, usize), what: impl FnOnce(&mut Gather)) {
        if self.gather.is_some() {
            self.script.at(side, phase, layer);
            self.changes(what);
        }
    }

    fn changes(&mut self, what: impl FnOnce(&mut Gather)) {
        let Some(mut gather) = self.gather.take() else { return };
        what(&mut gather);
        for change in std::mem::take(&mut gather.coordinator.changes) {
            let low = self.zero.low;
            match change {
                Change::Gathered(elements) => {
                    let id = self.tensor(&tensors::LIVE, elements, low);
                    self.script.make(id);
                }
                Change::Released(elements) => {
                    let id = self.tensor(&tensors::LIVE, elements, low);
                    self.script.free(id);
                }
                Change::Flat(elements) => {
                    let id = self.tensor(&tensors::FETCHED, elements, low);
                    self.script.make(id);
                }
                Change::FlatFreed(elements) => {
                    let id = self.tensor(&tensors::FETCHED, elements, low);
                    self.script.free(id);
                }
            }
        }
        self.gather = Some(gather);
    }

    /// A tensor of this size, the same one each time.
    fn tensor(&mut self, tensor: &'static Tensor, elements: u64, dtype: Dtype) -> BufferId {
        let same = |known: &&(&'static Tensor, u64, Dtype, BufferId)| {
            std::ptr::eq(known.0, tensor) && known.1 == elements && known.2 == dtype
        };
        if let Some((.., id)) = self.sized.iter().find(same) {
            return *id;
        }
        let block = if std::ptr::eq(tensor, &raw const tensors::WEIGHT_GRADIENT) {
            Block::Gradients
        } else {
            Block::Overhead
        };
        let span = (Phase::LossBackward, Phase::Optimizer);
        let id = self.script.buffer(self.unit.flat(tensor, block, (elements, dtype), span, self.numbers));
        self.sized.push((tensor, elements, dtype, id));
        id
    }

    /// A tensor that is freed at once.
    fn pass(&mut self, tensor: &'static Tensor, elements: u64, dtype: Dtype) {
        let id = self.tensor(tensor, elements, dtype);
        self.script.make(id);
        self.script.free(id);
    }

    /// What the micro-batches before have left.
    fn accumulated(&mut self) {
        if !self.zero.accumulates || self.zero.offload || self.zero.stage == 3 {
            return;
        }
        if self.zero.waits() {
            // The bucket is there until the gradients are reduced.
            self.begun = true;
            self.script.buffers[self.bucket].at_start = u64::from(self.zero.contiguous);
            for slot in 0..self.slots.len() {
                let id = self.own(slot);
                self.script.buffers[id].at_start += 1;
                self.slots[slot].kept = Some(id);
            }
        } else {
            self.script.buffers[self.partition].at_start = 1;
            self.copied = self.zero.wide;
        }
    }

    /// The gradient of a parameter in a tensor of its own.
    fn own(&mut self, slot: usize) -> BufferId {
        self.tensor(&tensors::WEIGHT_GRADIENT, self.slots[slot].elements, self.zero.low)
    }

    /// Each gradient, as soon as it is there.
    fn backward(&mut self, (phase, layer): (Phase, usize), part: &Part, unit: &Unit, first: usize) {
        for (index, id) in part.passed_gradients().into_iter().enumerate() {
            let made = part.tape.storages[id];
            let of = |stored: &super::units::Stored| {
                stored.weight.param.module() == made.module && stored.weight.param.shape == made.shape
            };
            let Some(place) = unit.trained().position(of) else { continue };
            self.script.at_gradient(phase, layer, index);
            if !std::mem::replace(&mut self.begun, true) && self.zero.contiguous && self.zero.stage < 3 {
                for _ in 0..self.zero.buckets() {
                    self.script.make(self.bucket);
                }
            }
            self.gradient(first + place);
        }
    }

    fn gradient(&mut self, slot: usize) {
        if self.zero.waits() {
            // Stage 1 reduces when backward is over.
            if self.slots[slot].kept.is_none() {
                self.keep(slot);
            }
        } else {
            self.enqueue(slot);
        }
    }

    fn keep(&mut self, slot: usize) {
        let id = self.own(slot);
        self.script.keep(id);
        self.slots[slot].kept = Some(id);
    }

    fn forget(&mut self, slot: usize) {
        if let Some(id) = self.slots[slot].kept.take() {
            self.script.free(id);
        }
    }

    /// `reduce_independent_p_g_buckets_and_remove_grads`: into the bucket, which is reduced first when it is full.
    fn enqueue(&mut self, slot: usize) {
        let elements = self.slots[slot].elements;
        if self.elements.saturating_add(elements) > self.zero.bucket {
            self.reduce();
        }
        if self.zero.contiguous && elements <= self.zero.bucket {
            self.forget(slot);
        } else if self.slots[slot].kept.is_none() {
            // What is larger than the bucket is reduced where it is.
            self.keep(slot);
        }
        self.elements = self.elements.saturating_add(elements);
        self.filled.push(slot);
    }

    /// `reduce_ipg_grads`: slices for several ranks are flattened into one tensor to be reduced.
    fn reduce(&mut self) {
        let filled = std::mem::take(&mut self.filled);
        let sum = std::mem::take(&mut self.elements);
        if self.zero.stage == 3 {
            return self.scatter(&filled, sum);
        }
        for elements in self.flattened(&filled) {
            self.pass(&tensors::FLATTENED_GRADIENTS, elements, self.zero.low);
        }
        for slot in filled {
            let mine = self.slots[slot].within(0, self.part);
            if mine > 0 && self.zero.offload {
                // Norm in fp64, then an fp32 copy on its way to the host.
                self.pass(&tensors::NORM_COPY, mine, Dtype::Fp64);
                self.pass(&tensors::FP32_GRADIENTS, mine, Dtype::Fp32);
                self.forget(slot);
            } else if mine > 0 && self.zero.contiguous {
                if !std::mem::replace(&mut self.copied, true) {
                    self.script.make(self.partition);
                }
                self.forget(slot);
            } else if mine == 0 && self.zero.stage > 1 {
                self.forget(slot);
            }
        }
    }

    /// Stage 3 (`reduce_scatter_coalesced`, `partition_grads`): several gradients are laid out rank by rank, then each
    /// share goes to the buffer of gradients, or by way of norm and fp32 copy to the host.
    fn scatter(&mut self, filled: &[usize], sum: u64) {
        let flat = (filled.len() > 1).then(|| self.tensor(&tensors::FLATTENED_GRADIENTS, sum, self.zero.low));
        if let Some(flat) = flat {
            self.script.make(flat);
        }
        for &slot in filled {
            if self.zero.offload {
                let share = self.slots[slot].elements.div_ceil(self.zero.ranks);
                let copy = self.tensor(&tensors::FLATTENED_GRADIENTS, share, self.zero.low);
                self.script.make(copy);
                self.pass(&tensors::NORM_COPY, share, Dtype::Fp64);
                self.pass(&tensors::FP32_GRADIENTS, share, Dtype::Fp32);
                self.script.free(copy);
            }
            self.forget(slot);
        }
        if let Some(flat) = flat {
            self.script.free(flat);
        }
    }

    /// Elements of each tensor that is flattened from several slices (`average_tensor`, `allreduce_and_scatter`).
    fn flattened(&self, filled: &[usize]) -> Vec<u64> {
        let mut slices: Vec<(u64, u64)> = Vec::new();
        for slot in filled.iter().map(|slot| self.slots[*slot]) {
            let mut at = slot.start;
            let end = slot.start.saturating_add(slot.elements);
            while at < end {
                let rank = at / self.part.max(1);
                let next = (rank + 1).saturating_mul(self.part.max(1)).min(end);
                match slices.last_mut() {
                    Some((last, elements)) if *last == rank && self.zero.contiguous => *elements += next - at,
                    _ => slices.push((rank, next - at)),
                }
                at = next;
            }
        }
        let mut out = Vec::new();
        let (mut sum, mut count) = (0_u64, 0);
        for (_, elements) in slices {
            sum = sum.saturating_add(elements);
            count += 1;
            if sum > self.zero.bucket {
                out.extend((count > 1).then_some(sum));
                (sum, count) = (0, 0);
            }
        }
        out.extend((count > 1).then_some(sum));
        out
    }

    /// `independent_gradient_partition_epilogue`
    fn epilogue(&mut self) {
        if self.zero.waits() {
            (0..self.slots.len()).for_each(|slot| self.enqueue(slot));
        }
        self.reduce();
        if self.zero.stage == 3 {
            return;
        }
        if !self.copied && !self.zero.offload && self.zero.contiguous {
            self.script.make(self.partition);
        }
        // Added to those of the micro-batches before.
        if self.zero.accumulates && !self.zero.waits() && !self.zero.wide && !self.zero.offload {
            self.script.free(self.partition);
        }
        if self.begun && self.zero.contiguous {
            for _ in 0..self.zero.buckets() {
                self.script.free(self.bucket);
            }
        }
        for slot in 0..self.slots.len() {
            if self.zero.contiguous || self.slots[slot].within(0, self.part) == 0 {
                self.forget(slot);
            }
        }
    }

    /// `step`: the norm is taken tensor by tensor in fp64; the gradients of the part are flattened, then made fp32.
    fn step(&mut self) {
        if self.zero.offload {
            self.gather_in((Side::Before, Phase::Optimizer, 0), |gather| gather.coordinator.reset());
            return;
        }
        self.script.at(Side::Before, Phase::Optimizer, 0);
        // The embedding's own hook does not fire: token ids have no gradient.
        self.changes(|gather| gather.coordinator.reset());
        if self.zero.stage == 3 {
            let shares = self.slots.iter().map(|slot| slot.elements.div_ceil(self.zero.ranks));
            let (largest, groups) = (shares.clone().max().unwrap_or(0), groups(shares, self.zero.group));
            self.pass(&tensors::NORM_COPY, largest, Dtype::Fp64);
            let of = |group: &Weight| group.param.shape.elements(self.numbers);
            let group = groups.iter().map(of).max().unwrap_or(0);
            // `_prepare_fp32_grad_for_sub_group`, for one group at a time.
            let flat = self.tensor(&tensors::FLATTENED_GRADIENTS, group, self.zero.low);
            let wide = self.tensor(&tensors::FP32_GRADIENTS, group, Dtype::Fp32);
            self.script.make(flat);
            self.script.make(wide);
            self.script.free(flat);
            self.script.at(Side::After, Phase::Optimizer, 0);
            self.script.free(wide);
            if let Some(persistent) = self.persistent {
                self.script.make(persistent);
            }
            return;
        }
        let largest = self.slots.iter().map(|slot| slot.within(0, self.part)).max().unwrap_or(0);
        self.pass(&tensors::NORM_COPY, largest, Dtype::Fp64);
        let parts = self.slots.iter().filter(|slot| slot.within(0, self.part) > 0).count();
        if self.zero.wide {
            self.script.at(Side::After, Phase::Optimizer, 0);
            self.script.free(self.partition);
            return;
        }
        let wide = self.tensor(&tensors::FP32_GRADIENTS, self.part, Dtype::Fp32);
        let flat = (parts > 1).then(|| self.tensor(&tensors::FLATTENED_GRADIENTS, self.part, self.zero.low));
        if let Some(flat) = flat {
            self.script.make(flat);
        }
        self.script.make(wide);
        if let Some(flat) = flat {
            self.script.free(flat);
        }
        self.script.free(self.partition);
        for slot in 0..self.slots.len() {
            self.forget(slot);
        }
        self.script.at(Side::After, Phase::Optimizer, 0);
        self.script.free(wide);
    }
}
