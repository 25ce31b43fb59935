//! What lives only while the optimizer steps.

use super::super::rows::bytes;
use super::super::weights::row;
use super::super::{Block, Dim, Dtype, Entry, Phase, Shape, Symbols, Tensor};
use super::states::Space;
use super::{Matrix, Rule, Stepping};
use crate::architecture::Weight;
use crate::config::OptimizerImpl;
use crate::text::tensors;

/// One number.
const SCALAR: Shape = Shape::new(&[]);

/// Tensors of one kind that are alive together.
type Piece = (&'static Tensor, Shape, Dtype, u64);

/// What lives only while the optimizer steps, at its worst: tensors made for all weights at once (foreach), or those
/// for the one weight that needs most. (In backward, the tape makes them beside each gradient.)
pub fn temporaries(weights: &[Weight], stepping: Stepping, numbers: &Symbols) -> Vec<Entry> {
    if stepping.in_backward() {
        return Vec::new();
    }
    let entry = |weight: &Weight, (tensor, shape, dtype, count): Piece, times: u64| {
        let of = (shape, dtype);
        let entry = row(tensor, weight.param, Block::Overhead, of, count * times, numbers);
        Entry { from: Phase::Optimizer, until: Phase::Optimizer, at_peak: 0, ..entry }
    };
    let mut together = Vec::new();
    let mut largest = Vec::new();
    for weight in weights {
        let (at_once, alone) = made(weight, stepping, numbers);
        together.extend(at_once.map(|piece| entry(weight, piece, weight.count)));
        let alone: Vec<Entry> = alone.into_iter().map(|piece| entry(weight, piece, 1)).collect();
        if bytes(&alone) > bytes(&largest) {
            largest = alone;
        }
    }
    if bytes(&together) >= bytes(&largest) { together } else { largest }
}

/// What one weight needs: beside all others' at the same time, and by itself.
fn made(weight: &Weight, stepping: Stepping, numbers: &Symbols) -> (Option<Piece>, Vec<Piece>) {
    let (shape, own) = (weight.param.shape, weight.param.dtype(stepping.state));
    let copies = |tensor, count| (tensor, shape, own, count);
    let foreach = stepping.implementation == OptimizerImpl::Foreach;
    let fused = stepping.implementation == OptimizerImpl::Fused;
    match Rule::of(stepping, weight) {
        // SGD and bitsandbytes make nothing, and neither does a fused kernel; torchao compiles the step of a tensor.
        Rule::Plain | Rule::Momentum | Rule::Blockwise { .. } | Rule::Packed => (None, Vec::new()),
        Rule::Adam | Rule::Sign if fused => (None, Vec::new()),
        // The square roots of all second moments (torch/optim/adam.py, `_multi_tensor_adam`).
        Rule::Adam if foreach => (Some(copies(&tensors::STEP_COPY, 1)), Vec::new()),
        // The square root and its quotient (`_single_tensor_adam`).
        Rule::Adam => (None, vec![copies(&tensors::STEP_COPY_ALONE, 2)]),
        Rule::Sign if foreach => (Some(copies(&tensors::SIGN_UPDATE, 1)), Vec::new()),
        Rule::Sign => (None, vec![copies(&tensors::SIGN_UPDATE, 1)]),
        Rule::Unprojected => (Some(copies(&tensors::STEP_COPY, 2)), Vec::new()),
        Rule::Blocks => (None, vec![copies(&tensors::STEP_COPY_ALONE, 1)]),
        Rule::Factored => (None, factored(shape, own, numbers)),
        Rule::Orthogonal => (None, orthogonal(shape, own, numbers)),
        Rule::Projected { random } => {
            let mut pieces = vec![copies(&tensors::PROJECTED_BACK, 1)];
            if let Some(space) = Space::of(weight, random, stepping.rank, numbers) {
                pieces.push((&tensors::PROJECTED_UPDATE, space.moment, own, 2));
            }
            if random {
                pieces.push((&tensors::PROJECTED_UPDATE, SCALAR, own, 2));
            }
            (None, pieces)
        }
    }
}

/// Adafactor (transformers/optimization.py, `Adafactor.step`): fp32 copies of a 16-bit gradient and weight throughout;
/// of a matrix, either the squared gradient while its columns are summed, or it and the update made from both sums.
#[inline(never)] // apart: a first visit has none
fn factored(shape: Shape, own: Dtype, numbers: &Symbols) -> Vec<Piece> {
    let update = |count| (&tensors::ADAFACTOR_UPDATE as &'static Tensor, shape, Dtype::Fp32, count);
    let wide = if own == Dtype::Fp32 { 0 } else { 2 };
    let Some(matrix) = Matrix::of(shape, numbers) else { return vec![update(2 + wide)] };
    let sums = |shape| (&tensors::ADAFACTOR_SUMS as &'static Tensor, shape, Dtype::Fp32, 1);
    let staging = staging(matrix.rows, matrix.columns);
    let whole = matrix.rows.saturating_mul(matrix.columns).saturating_mul(4);
    if staging.saturating_add(SEMAPHORES) > whole.saturating_add(matrix.rows.saturating_mul(4)) {
        let staged = |bytes| (&tensors::REDUCTION_STAGING as &'static Tensor, bytes, Dtype::Byte, 1);
        let flat = |bytes| Shape::new(&[Dim::of(bytes)]);
        return vec![update(1 + wide), sums(matrix.column), staged(flat(staging)), staged(flat(SEMAPHORES))];
    }
    vec![update(2 + wide), sums(matrix.row), sums(matrix.column)]
}

/// Semaphores of a reduction that several thread blocks share, when it has them: 4 bytes a column of blocks.
const SEMAPHORES: u64 = 128;

/// Bytes that a sum over the rows of an fp32 matrix stages in memory, where several thread blocks share one output
/// (pytorch/aten/src/ATen/native/cuda/Reduce.cuh, `setReduceConfig`; 132 multiprocessors of 2048 threads, as on an
/// H100: other cards differ in the number of blocks).
#[inline(never)] // apart: a first visit has none
fn staging(rows: u64, columns: u64) -> u64 {
    const PROCESSORS: u64 = 132;
    const THREADS: u64 = 2048;
    let vector = if columns.is_multiple_of(4) {
        4
    } else if columns.is_multiple_of(2) {
        2
    } else {
        1
    };
    let most = 512 / vector;
    let power = |n: u64| 1_u64 << n.max(1).min(most).ilog2();
    let (across, down) = (power(columns / vector), power(rows));
    let width = across.min(32);
    let height = down.min(most / width);
    let width = across.min(most / height);
    // Each thread sums so many values, if the rows are split over the block's height.
    let mut values = rows;
    if values < (height * 16).min(256) {
        return 0;
    }
    values = values.div_ceil(height);
    let grid = (columns / vector).div_ceil(width);
    let target = PROCESSORS * (THREADS / (width * height));
    if values < 256 || grid > target {
        return 0;
    }
    let shared = target.div_ceil(grid).min(values.div_ceil(16)).max(values.div_ceil(256));
    if shared < 2 {
        return 0;
    }
    [4, columns, shared, width, vector].into_iter().fold(1, u64::saturating_mul)
}

/// Muon (torch/optim/_muon.py): the update in the weight's type, and in bf16 the matrix before and after an iteration
/// with its product by its own transpose, once plain and once combined.
#[inline(never)] // apart: a first visit has none
fn orthogonal(shape: Shape, own: Dtype, numbers: &Symbols) -> Vec<Piece> {
    let side = match *shape.dims() {
        [rows, columns] if rows.value(numbers) < columns.value(numbers) => rows,
        [_, columns] => columns,
        _ => Dim::Const(0),
    };
    vec![
        (&tensors::MUON_UPDATE, shape, own, 1),
        (&tensors::MUON_ORTHOGONAL, shape, Dtype::Bf16, 2),
        (&tensors::MUON_GRAM, Shape::new(&[side, side]), Dtype::Bf16, 2),
    ]
}
