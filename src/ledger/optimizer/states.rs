//! What an optimizer keeps from step to step.

use super::super::weights::row;
use super::super::{Block, Dim, Dtype, Entry, Shape, Symbol, Symbols, Tensor};
use super::{Matrix, Rule, Stepping};
use crate::architecture::{Half, Weight};
use crate::text::tensors;

/// One number.
const SCALAR: Shape = Shape::new(&[]);
/// Values that 8 bits can stand for.
const CODE: Shape = Shape::new(&[Dim::Const(256)]);
/// Values that 4 bits can stand for.
const CODE_4_BIT: Shape = Shape::new(&[Dim::Const(16)]);
/// Elements that share one scale of torchao's 4-bit states (`torchao/optim/subclass_4bit.py`, `block_size`).
const PACKED_BLOCK: u16 = 128;
/// bitsandbytes keeps the states of smaller tensors in fp32 (`min_8bit_size`).
const LEAST_8_BIT: u64 = 4096;
/// Elements that share one statistic (`blockwise` states).
const BLOCK: u16 = 256;
/// From here on paged states are in managed memory (`Optimizer8bit.get_state_buffer`).
const PAGED_FROM: u64 = 100_000;

/// States on the GPU, row by row, and those that live in host memory.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// On the GPU.
    pub rows: Vec<Entry>,
    /// In managed memory that the driver moves in for the step (bytes).
    pub host: u64,
}

/// The states of every trained weight.
pub fn states(weights: &[Weight], stepping: Stepping, numbers: &Symbols) -> States {
    let mut out = States { rows: Vec::with_capacity(weights.len() * 4), host: 0 };
    let mut mapped = false;
    for weight in weights {
        let shape = weight.param.shape;
        let elements = shape.elements(numbers);
        let rows = &mut out.rows;
        let mut add = |tensor, shape, dtype| {
            rows.push(row(tensor, weight.param, Block::Optimizer, (shape, dtype), weight.count, numbers));
        };
        if stepping.master {
            add(&tensors::MASTER, shape, Dtype::Fp32);
        }
        match Rule::of(stepping, weight) {
            Rule::Blockwise { .. } if elements < LEAST_8_BIT => {
                add(&tensors::STATE1, shape, Dtype::Fp32);
                add(&tensors::STATE2, shape, Dtype::Fp32);
            }
            Rule::Blockwise { paged } => {
                if paged && elements >= PAGED_FROM {
                    out.host = out.host.saturating_add(elements.saturating_mul(2 * weight.count));
                } else {
                    add(&tensors::STATE1, shape, Dtype::Byte);
                    add(&tensors::STATE2, shape, Dtype::Byte);
                }
                add(&tensors::ABSMAX1, shape.per_block(BLOCK), Dtype::Fp32);
                add(&tensors::ABSMAX2, shape.per_block(BLOCK), Dtype::Fp32);
                // All tensors share the maps that the first one brings.
                if !mapped {
                    mapped = true;
                    let map = (CODE, Dtype::Fp32);
                    rows.push(row(&tensors::QMAP, weight.param, Block::Optimizer, map, 2, numbers));
                }
            }
            // Smaller tensors, and those that no whole number of blocks fills, keep theirs in the weight's type.
            Rule::Packed if elements >= LEAST_8_BIT && elements.is_multiple_of(u64::from(PACKED_BLOCK)) => {
                for (codes, scale) in
                    [(&tensors::STATE1, &tensors::ABSMAX1), (&tensors::STATE2, &tensors::ABSMAX2)]
                {
                    add(codes, shape.per_block(2), Dtype::Byte);
                    add(scale, shape.per_block(PACKED_BLOCK), Dtype::Fp32);
                    add(&tensors::QMAP_OWN, CODE_4_BIT, Dtype::Fp32);
                }
            }
            rule => kept(rule, weight, stepping, numbers, &mut add),
        }
    }
    out
}

/// `count` more step counters: an optimizer that sees the tensors in a flat one counts for each.
pub fn steps(weights: &[Weight], stepping: Stepping, count: u64, numbers: &Symbols) -> Option<Entry> {
    let weight = weights.first().filter(|_| count > 0 && stepping.counts_on_device())?;
    (Rule::of(stepping, weight) == Rule::Adam)
        .then(|| row(&tensors::STEP, weight.param, Block::Optimizer, (SCALAR, Dtype::Fp32), count, numbers))
}

/// The states of one tensor under the rules that depend on nothing else.
fn kept(
    rule: Rule,
    weight: &Weight,
    stepping: Stepping,
    numbers: &Symbols,
    add: &mut dyn FnMut(&'static Tensor, Shape, Dtype),
) {
    let (shape, own) = (weight.param.shape, weight.param.dtype(stepping.state));
    match rule {
        Rule::Plain | Rule::Blockwise { .. } => {}
        Rule::Momentum => add(&tensors::MOMENTUM, shape, own),
        Rule::Sign => add(&tensors::LION_MOMENTUM, shape, own),
        Rule::Orthogonal => add(&tensors::MUON_MOMENTUM, shape, own),
        Rule::Adam | Rule::Unprojected | Rule::Packed => {
            add(&tensors::EXP_AVG, shape, own);
            add(&tensors::EXP_AVG_SQ, shape, own);
            if rule == Rule::Adam && stepping.counts_on_device() {
                add(&tensors::STEP, SCALAR, Dtype::Fp32);
            }
        }
        Rule::Factored => {
            match Matrix::of(shape, numbers) {
                Some(matrix) => {
                    add(&tensors::EXP_AVG_SQ_ROW, matrix.row, Dtype::Fp32);
                    add(&tensors::EXP_AVG_SQ_COL, matrix.column, Dtype::Fp32);
                }
                None => add(&tensors::EXP_AVG_SQ, shape, Dtype::Fp32),
            }
            add(&tensors::PARAMETER_RMS, SCALAR, Dtype::Fp32);
        }
        Rule::Blocks => {
            add(&tensors::EXP_AVG, shape, own);
            add(&tensors::BLOCK_SECOND_MOMENT, blocks(weight, numbers), own);
        }
        Rule::Projected { random } => {
            let Some(space) = Space::of(weight, random, stepping.rank, numbers) else { return };
            add(&tensors::PROJECTOR, space.projector, own);
            add(&tensors::PROJECTED_EXP_AVG, space.moment, own);
            add(&tensors::PROJECTED_EXP_AVG_SQ, space.moment, own);
            if random {
                add(&tensors::SCALING_GRAD, SCALAR, own);
            }
        }
    }
}

/// One value for each block of Adam-mini's partition (its paper, section 2.3): a head of query and key, an output
/// neuron of any other matrix, a token of the embeddings; a vector is one block.
fn blocks(weight: &Weight, numbers: &Symbols) -> Shape {
    let whole = weight.param.half == Half::Whole;
    match weight.param.module() {
        module if whole && module.ends_with("q_proj") => Shape::new(&[Dim::Sym(Symbol::A)]),
        module if whole && module.ends_with("k_proj") => Shape::new(&[Dim::Sym(Symbol::K)]),
        _ => Matrix::of(weight.param.shape, numbers).map_or(SCALAR, |matrix| matrix.row),
    }
}

/// The space that a matrix's gradient is projected into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    projector: Shape,
    pub(super) moment: Shape,
}

impl Space {
    /// The shorter side is projected; a singular vector exists only as often as the shorter side is long, a random
    /// one as often as asked (`pytorch_optimizer`, `galore_utils.py`).
    pub(super) fn of(weight: &Weight, random: bool, rank: u64, numbers: &Symbols) -> Option<Self> {
        let [rows, columns] = *weight.param.shape.dims() else { return None };
        let (height, width) = (rows.value(numbers), columns.value(numbers));
        let rank = Dim::of(if random { rank } else { rank.min(height).min(width) });
        Some(if height >= width {
            Self { projector: Shape::new(&[rank, columns]), moment: Shape::new(&[rows, rank]) }
        } else {
            Self { projector: Shape::new(&[rows, rank]), moment: Shape::new(&[rank, columns]) }
        })
    }
}
