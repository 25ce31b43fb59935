//! Megatron's buffers: weights, gradients and optimizer states as its data parallel keeps them
//! (`megatron/core/distributed/param_and_grad_buffer.py`, `optimizer/distrib_optimizer.py`).

use super::optimizer::{self, Stepping};
use super::weights::{self, row};
use super::{Block, Dim, Dtype, Entry, Group, Layout, Phase, Shape, Symbol, Symbols, Tensor};
use crate::architecture::{Param, Weight};
use crate::config::{Optimizer, OptimizerImpl};
use crate::text::tensors;

/// Weights start at a multiple of so many elements.
const START: u64 = 64;
/// Buckets end where every rank's share ends, and at a multiple of so many.
const END: u64 = 128;

/// How a job keeps them.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each of Megatron's own")]
pub(crate) struct Buffers {
    /// The distributed optimizer: each data-parallel rank steps on its share of a buffer.
    pub(crate) sharded: bool,
    /// Gradients are reduced bucket by bucket while backward goes on.
    pub(crate) overlapped: bool,
    /// Each expert's matrices are tensors of their own.
    pub(crate) expert_by_expert: bool,
    /// The optimizer counts steps on the GPU (PyTorch's fused AdamW does, Transformer Engine's does not).
    pub(crate) counted: bool,
    pub(crate) weight: Dtype,
    pub(crate) gradient: Dtype,
}

/// The rows of one rank.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) parameters: Vec<Entry>,
    pub(crate) gradients: Vec<Entry>,
    pub(crate) states: Vec<Entry>,
    pub(crate) temporaries: Vec<Entry>,
    /// fp32 copies of 16-bit gradients: made for the step, dropped with the gradients (bytes).
    pub(crate) main_gradients: u64,
}

/// One buffer: its elements with padding, without, and how many tensors the first rank's share meets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Buffer {
    padded: u64,
    plain: u64,
    met: u64,
}

impl Buffers {
    /// What a rank keeps that holds these tensors, chunk by chunk in the order of the model. `numbers` gets the length of
    /// its shares.
    #[inline(never)] // apart: a first visit has none
    pub(crate) fn kept(
        self,
        chunks: &[Vec<Param>],
        weights: &[Weight],
        layout: &Layout,
        stepping: Stepping,
        numbers: &mut Symbols,
    ) -> Kept {
        let mut kept = Kept {
            parameters: weights::parameters(weights, self.weight, numbers),
            gradients: weights::gradients(weights, self.gradient, true, numbers),
            ..Kept::default()
        };
        if self.gradient != Dtype::Fp32 && stepping.master {
            kept.temporaries = main_gradients(weights, if self.sharded { layout.dp_cp } else { 1 }, numbers);
            kept.main_gradients = kept.temporaries.iter().fold(0, |sum, row| row.bytes.saturating_add(sum));
        }
        if !self.sharded {
            kept.states = optimizer::states(weights, stepping, numbers).rows;
            kept.states.retain(|row| self.counted || !std::ptr::eq(row.tensor, &raw const tensors::STEP));
            kept.temporaries.extend(optimizer::temporaries(weights, stepping, numbers));
            return kept;
        }
        for experts in [false, true] {
            let ranks = if experts { layout.expert_dp } else { layout.dp_cp };
            let mut all = Buffer::default();
            for (place, chunk) in chunks.iter().enumerate() {
                let tensors = chunk.iter().filter(|param| (param.group == Group::Experts) == experts);
                let one = self.buffer(tensors, ranks, self.overlapped && place == 0, numbers);
                all.padded = all.padded.saturating_add(one.padded);
                all.plain = all.plain.saturating_add(one.plain);
                all.met = all.met.saturating_add(one.met);
            }
            if all.padded == 0 {
                continue;
            }
            let symbol = if experts { Symbol::ExpertShare } else { Symbol::Share };
            numbers.set(symbol, all.padded / ranks);
            let padding = Shape::flat(all.padded - all.plain);
            if all.padded > all.plain {
                let of = |block, dtype| {
                    Entry::lasting(
                        (&tensors::BUFFER_PADDING, ""),
                        (block, Group::Other),
                        (padding, dtype),
                        1,
                        numbers,
                    )
                };
                kept.parameters.push(of(Block::Parameters, self.weight));
                kept.gradients.push(of(Block::Gradients, self.gradient));
            }
            states(stepping, symbol, if self.counted { all.met } else { 0 }, numbers, &mut kept);
        }
        if !of_buffer(stepping.optimizer) {
            // No rule for a flat share: as if each tensor were divided.
            let ranks = u16::try_from(layout.dp_cp).unwrap_or(u16::MAX).max(1);
            let rows = optimizer::states(weights, stepping, numbers).rows;
            kept.states = rows.into_iter().map(|row| divided(row, ranks, numbers)).collect();
            kept.temporaries.extend(optimizer::temporaries(weights, stepping, numbers));
        }
        kept
    }

    /// Lays tensors out from the last of the model to the first.
    fn buffer<'p>(
        self,
        tensors: impl DoubleEndedIterator<Item = &'p Param>,
        ranks: u64,
        buckets: bool,
        numbers: &Symbols,
    ) -> Buffer {
        let multiple = lcm(ranks, END);
        let bucket = if buckets { (1_000_000_u64.saturating_mul(ranks)).max(40_000_000) } else { u64::MAX };
        let mut out = Buffer::default();
        let (mut at, mut begin) = (0_u64, 0_u64);
        // Ends of the tensors of the open bucket.
        let mut open: Vec<(u64, u64)> = Vec::new();
        let mut close = |at: u64, begin: u64, open: &mut Vec<(u64, u64)>| {
            let end = at.div_ceil(multiple).saturating_mul(multiple);
            let share = begin + (end - begin) / ranks;
            out.met += open.drain(..).filter(|(start, _)| *start < share).count() as u64;
            end
        };
        for param in tensors.rev() {
            let elements = param.shape.elements(numbers);
            let pieces = if self.expert_by_expert && param.group == Group::Experts {
                numbers.get(Symbol::E).max(1)
            } else {
                1
            };
            for _ in 0..pieces {
                let start = at.div_ceil(START).saturating_mul(START);
                at = start.saturating_add(elements / pieces);
                out.plain = out.plain.saturating_add(elements / pieces);
                open.push((start, at));
                if at - begin >= bucket {
                    at = close(at, begin, &mut open);
                    begin = at;
                }
            }
        }
        if at > begin {
            at = close(at, begin, &mut open);
        }
        out.padded = at;
        out
    }
}

/// Optimizers that step on a flat share.
const fn of_buffer(optimizer: Optimizer) -> bool {
    matches!(optimizer, Optimizer::Adamw | Optimizer::Sgd | Optimizer::SgdMomentum)
}

/// fp32 weights and moments of a rank's share of a buffer; of so many tensors steps are counted on the GPU.
fn states(stepping: Stepping, symbol: Symbol, counted: u64, numbers: &Symbols, kept: &mut Kept) {
    let share = Shape::new(&[Dim::Sym(symbol)]);
    let group = if symbol == Symbol::ExpertShare { Group::Experts } else { Group::Other };
    let of = |tensor: &'static Tensor, shape, dtype, count| {
        Entry::lasting((tensor, ""), (Block::Optimizer, group), (shape, dtype), count, numbers)
    };
    if stepping.master {
        kept.states.push(of(&tensors::MASTER, share, Dtype::Fp32, 1));
    }
    match stepping.optimizer {
        Optimizer::Adamw => {
            kept.states.push(of(&tensors::EXP_AVG, share, stepping.state, 1));
            kept.states.push(of(&tensors::EXP_AVG_SQ, share, stepping.state, 1));
            if stepping.implementation == OptimizerImpl::Fused && counted > 0 {
                kept.states.push(of(&tensors::STEP, Shape::new(&[]), Dtype::Fp32, counted));
            }
            if stepping.implementation == OptimizerImpl::Foreach {
                let row = Entry::lasting(
                    (&tensors::STEP_COPY, ""),
                    (Block::Overhead, group),
                    (share, stepping.state),
                    1,
                    numbers,
                );
                kept.temporaries.push(at_step(row));
            }
        }
        Optimizer::SgdMomentum => kept.states.push(of(&tensors::MOMENTUM, share, stepping.state, 1)),
        _ => {}
    }
}

/// 16-bit gradients are cast to fp32 for the step (`_copy_model_grads_to_main_grads`).
fn main_gradients(weights: &[Weight], ranks: u64, numbers: &Symbols) -> Vec<Entry> {
    let ranks = u16::try_from(ranks).unwrap_or(u16::MAX).max(1);
    let of = |weight: &Weight| {
        let shape = (weight.param.shape, Dtype::Fp32);
        let row = row(&tensors::MAIN_GRADIENT, weight.param, Block::Overhead, shape, weight.count, numbers);
        at_step(divided(row, ranks, numbers))
    };
    weights.iter().map(of).collect()
}

fn at_step(mut row: Entry) -> Entry {
    (row.from, row.until, row.at_peak) = (Phase::Optimizer, Phase::Optimizer, 0);
    row
}

/// The same row, divided among ranks.
fn divided(row: Entry, ranks: u16, numbers: &Symbols) -> Entry {
    if ranks == 1 {
        return row;
    }
    let shape = row.shape.per_block(ranks);
    let bytes = shape.elements(numbers).saturating_mul(row.dtype.bytes()).saturating_mul(row.count);
    Entry { shape, bytes, at_peak: bytes, ..row }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

const fn lcm(a: u64, b: u64) -> u64 {
    (a / gcd(a, b)).saturating_mul(b)
}
