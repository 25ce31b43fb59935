//! DeepSpeed: what its configuration says, and what each of its stages stores.

use super::script::{Script, Side};
use super::units::{Storage, Unit, Units};
use super::{Shares, zero};
use crate::architecture::Weight;
use crate::config::{Config, DataParallel, Offload, Precision};
use crate::ledger::{Block, Dtype, Entry, Group, Parts, Phase, Shape, Symbols};
use crate::text::tensors;
use serde_json::Value;

/// `deepspeed.initialize` with this configuration.
#[expect(clippy::struct_excessive_bools, reason = "the framework's own switches")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeepSpeed {
    /// Of ZeRO.
    pub(crate) stage: u8,
    /// Ranks that share.
    pub(crate) ranks: u64,
    /// `reduce_bucket_size`, in elements.
    pub(crate) bucket: u64,
    pub(crate) overlap: bool,
    /// `contiguous_gradients`
    pub(crate) contiguous: bool,
    /// The optimizer lives in host memory.
    pub(crate) offload: bool,
    pub(crate) offload_parameters: bool,
    /// Gradients are accumulated in fp32 (`data_types.grad_accum_dtype`).
    pub(crate) wide: bool,
    /// There are micro-batches before the last.
    pub(crate) accumulates: bool,
    /// Stage 3: the most elements that are gathered (`stage3_max_live_parameters`), how many ahead at a time
    /// (`stage3_prefetch_bucket_size`), within how many of their next use parameters stay
    /// (`stage3_max_reuse_distance`), and of how many elements they always do (`stage3_param_persistence_threshold`).
    pub(crate) live: u64,
    pub(crate) prefetch: u64,
    pub(crate) reuse: u64,
    pub(crate) persistence: u64,
    /// Elements of one rank that stage 3 steps on at a time (`sub_group_size`).
    pub(crate) group: u64,
    /// Element type of weights and gradients.
    pub(crate) low: Dtype,
}

/// Elements after which stage 0 reduces what it has flattened (`deepspeed/runtime/engine.py`,
/// `MEMORY_OPT_ALLREDUCE_SIZE`).
const ALLREDUCE: u64 = 500_000_000;

impl DeepSpeed {
    /// Reads `deepspeed` (its JSON) and the keys beside it, which go before; defaults are DeepSpeed's
    /// (`deepspeed/runtime/zero/config.py`).
    pub(super) fn of(config: &Config, ranks: u64) -> Self {
        let json = config.advanced.get("deepspeed");
        let zero = json.and_then(|json| json.get("zero_optimization"));
        let find = |key: &str| {
            let given = config.advanced.get(key);
            given.or_else(|| zero.and_then(|zero| zero.get(key))).filter(|value| !value.is_null())
        };
        let flag = |key: &str| find(key).and_then(Value::as_bool);
        // Sizes may be written as 5e8.
        let number = |key: &str| find(key).and_then(whole);
        let device = |key: &str| {
            let device = zero.and_then(|zero| zero.get(key)).and_then(|offload| offload.get("device"));
            device.and_then(Value::as_str).is_some_and(|device| device != "none")
        };
        let stage = match config.data_parallel {
            DataParallel::Zero1 => 1,
            DataParallel::Zero2 => 2,
            DataParallel::Zero3 => 3,
            _ => 0,
        };
        let accumulation =
            json.and_then(|json| json.get("data_types")).and_then(|types| types.get("grad_accum_dtype"));
        let low = match config.precision {
            Precision::Fp32 | Precision::Bf16Autocast | Precision::Fp16Autocast => Dtype::Fp32,
            Precision::Fp16 | Precision::Fp16Mixed => Dtype::Fp16,
            Precision::Bf16 | Precision::Bf16Mixed | Precision::Fp8Mixed => Dtype::Bf16,
        };
        let wide = accumulation.and_then(Value::as_str).is_some_and(|dtype| dtype == "fp32");
        Self {
            stage,
            ranks,
            bucket: number("reduce_bucket_size").unwrap_or(500_000_000).max(1),
            overlap: flag("overlap_comm").unwrap_or(stage == 3),
            contiguous: flag("contiguous_gradients").unwrap_or(true),
            offload: config.offload.contains(&Offload::Optimizer) || device("offload_optimizer"),
            offload_parameters: stage == 3
                && (config.offload.contains(&Offload::Parameters) || device("offload_param")),
            wide: wide && low != Dtype::Fp32,
            accumulates: config.accumulation > 1,
            live: number("stage3_max_live_parameters").unwrap_or(1_000_000_000),
            prefetch: number("stage3_prefetch_bucket_size").unwrap_or(50_000_000),
            reuse: number("stage3_max_reuse_distance").unwrap_or(1_000_000_000),
            persistence: number("stage3_param_persistence_threshold").unwrap_or(100_000),
            group: number("sub_group_size").unwrap_or(1_000_000_000).max(1),
            low,
        }
    }

    /// How many buckets take turns.
    pub(super) fn buckets(&self) -> u64 {
        1 + u64::from(self.overlap)
    }

    /// Gradients stay as they are until backward is over.
    pub(super) const fn waits(&self) -> bool {
        self.stage == 1 && !self.overlap
    }

    /// Stage 0 keeps everything whole; from stage 1 on a rank steps on its part of a flat copy.
    pub(super) fn share(&self, shares: &mut Shares, storage: Storage, numbers: &Symbols) {
        if self.stage == 0 {
            return;
        }
        let trained = if storage.adapters.is_some() { &shares.adapters } else { &shares.base };
        if self.stage < 3 {
            shares.stepped = Some(vec![zero::share(elements(trained, numbers), self.ranks)]);
            return;
        }
        let parts = trained.iter().flat_map(|weight| {
            let part = weight.param.shape.elements(numbers).div_ceil(self.ranks);
            std::iter::repeat_n(part, usize::try_from(weight.count).unwrap_or(usize::MAX))
        });
        shares.stepped = Some(zero::groups(parts, self.group));
        for weight in shares.base.iter_mut().chain(&mut shares.adapters) {
            weight.param.shape = weight.param.shape.sharded(self.ranks);
        }
    }

    /// What stage 3 keeps gathered between its uses.
    pub(super) fn persistent(&self, units: &Units, order: &[usize], numbers: &Symbols) -> Option<Vec<Entry>> {
        let small = |unit: &Unit| {
            let params =
                unit.params.iter().map(|stored| (stored.shape.elements(numbers), stored.weight.count));
            let small = params.filter(|(elements, _)| *elements <= self.persistence);
            small.fold(0_u64, |sum, (elements, count)| sum.saturating_add(elements.saturating_mul(count)))
        };
        let layers = order.iter().map(|kind| &units.kinds[*kind]);
        let all = layers.chain([&units.embedding, &units.head]).map(small).fold(0, u64::saturating_add);
        let unit = Unit { name: "model", params: Vec::new() };
        let span = (Phase::Always, Phase::EmbeddingBackward);
        (self.stage == 3 && all > 0)
            .then(|| unit.flat(&tensors::PERSISTENT, Block::Overhead, (all, self.low), span, numbers))
    }

    /// Staging of an offloaded optimizer: the largest gradient on the device (`temp_grad_buffer_for_gpu_offload`), and
    /// on the host an fp32 gradient and a 16-bit copy of the part beside its states.
    #[inline(never)] // apart: a first visit has none
    pub(super) fn lasting(&self, shares: &Shares, numbers: &Symbols) -> (Vec<Entry>, u64) {
        let part = shares.stepped.as_ref().map_or(0, |stepped| elements(stepped, numbers));
        let host = if self.offload { part.saturating_mul(4 + self.low.bytes()) } else { 0 };
        if self.stage == 3 {
            let mut rows = Vec::new();
            let unit = Unit { name: "optimizer", params: Vec::new() };
            let always = (Phase::Always, Phase::Always);
            let mut add = |tensor, elements| {
                let flat = unit.flat(tensor, Block::Gradients, (elements, self.low), always, numbers);
                rows.extend(flat.into_iter().map(|row| Entry { at_peak: row.bytes, ..row }));
            };
            if self.contiguous {
                add(&tensors::REDUCE_BUCKET, self.bucket);
            }
            if !self.offload {
                add(&tensors::GRADIENT_SHARD, part);
            }
            return (rows, host);
        }
        if self.stage == 0 || !self.offload {
            return (Vec::new(), 0);
        }
        let trained = if shares.adapters.is_empty() { &shares.base } else { &shares.adapters };
        let largest = trained.iter().map(|weight| weight.param.shape.elements(numbers)).max().unwrap_or(0);
        let place = (Block::Overhead, Group::Other);
        let shape = (Shape::flat(largest), self.low);
        let staging = Entry::lasting((&tensors::OFFLOAD_STAGING, "optimizer"), place, shape, 1, numbers);
        (vec![staging], host)
    }

    #[inline(never)] // apart: a first visit has none
    pub(super) fn script(
        &self,
        units: &Units,
        order: &[usize],
        parts: (&Parts, &[usize]),
        stream: Dtype,
        numbers: &Symbols,
    ) -> Script {
        match self.stage {
            0 => self.whole(units, order, stream, numbers),
            _ => zero::script(self, units, order, parts, stream, numbers),
        }
    }

    /// Stage 0: when backward is over, gradients are flattened to be reduced; the step makes fp32 copies of all
    /// (`deepspeed/runtime/fp16/unfused_optimizer.py`).
    #[inline(never)] // apart: a first visit has none
    fn whole(&self, units: &Units, order: &[usize], stream: Dtype, numbers: &Symbols) -> Script {
        let mut script = Script::new(order.len(), stream, numbers);
        let unit = Unit { name: "optimizer", params: Vec::new() };
        let layers = order.iter().map(|kind| &units.kinds[*kind]);
        let all = std::iter::once(&units.embedding).chain(layers).chain(std::iter::once(&units.head));
        let (mut sum, mut count, mut largest, mut total) = (0_u64, 0, 0, 0_u64);
        for stored in all.flat_map(Unit::trained) {
            let elements = stored.shape.elements(numbers).saturating_mul(stored.weight.count);
            (sum, count) = (sum.saturating_add(elements), count + 1);
            total = total.saturating_add(elements);
            if sum > ALLREDUCE {
                largest = largest.max(if count > 1 { sum } else { 0 });
                (sum, count) = (0, 0);
            }
        }
        largest = largest.max(if count > 1 { sum } else { 0 });
        let mut flat = |tensor, elements, dtype, span| {
            script.buffer(unit.flat(tensor, Block::Overhead, (elements, dtype), span, numbers))
        };
        let reduced = (Phase::EmbeddingBackward, Phase::EmbeddingBackward);
        let flattened = flat(&tensors::FLATTENED_GRADIENTS, largest, self.low, reduced);
        let wide = flat(&tensors::FP32_GRADIENTS, total, Dtype::Fp32, (Phase::Optimizer, Phase::Optimizer));
        script.at(Side::After, Phase::EmbeddingBackward, 0);
        script.make(flattened);
        script.free(flattened);
        script.at(Side::Before, Phase::Optimizer, 0);
        script.make(wide);
        script.at(Side::After, Phase::Optimizer, 0);
        script.free(wide);
        script.close();
        script
    }
}

/// A whole number, also one that JSON has as a fraction (`5e8`).
#[inline(never)] // apart: a first visit has none
fn whole(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size: cut off, never negative"
    )]
    value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
}

/// Elements of these tensors together.
fn elements(weights: &[Weight], numbers: &Symbols) -> u64 {
    let of = |weight: &Weight| weight.param.shape.elements(numbers).saturating_mul(weight.count);
    weights.iter().map(of).fold(0, u64::saturating_add)
}
