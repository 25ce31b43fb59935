//! Optimizer states, and what a step needs meanwhile.

use super::weights::row;
use super::{Block, Dtype, Entry, Phase, Shape, Symbols, Tensor};
use crate::architecture::Weight;
use crate::config::{Optimizer, OptimizerImpl};
use crate::text::tensors;

/// What the optimizer is asked to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepping {
    pub(crate) optimizer: Optimizer,
    /// `auto` resolved.
    pub(crate) implementation: OptimizerImpl,
    /// Element type of the states: the weights', or fp32 beside a master copy.
    pub(crate) state: Dtype,
    /// The optimizer holds an fp32 copy of the weights.
    pub(crate) master: bool,
}

/// One number.
const SCALAR: Shape = Shape::new(&[]);

/// The states of every trained weight.
pub(crate) fn states(weights: &[Weight], stepping: Stepping, numbers: &Symbols) -> Vec<Entry> {
    let moments: &[&'static Tensor] = match stepping.optimizer {
        Optimizer::Sgd => &[],
        Optimizer::SgdMomentum => &[&tensors::MOMENTUM],
        _ => &[&tensors::EXP_AVG, &tensors::EXP_AVG_SQ],
    };
    // Fused AdamW counts its steps on the GPU, one fp32 a tensor (torch/optim/adam.py, `_init_group`).
    let counted = moments.len() == 2 && stepping.implementation == OptimizerImpl::Fused;
    let mut rows = Vec::with_capacity(weights.len() * 4);
    for weight in weights {
        let mut add = |tensor, shape| {
            rows.push(row(tensor, weight.param, Block::Optimizer, shape, weight.count, numbers));
        };
        let shape = weight.param.shape;
        if stepping.master {
            add(&tensors::MASTER, (shape, Dtype::Fp32));
        }
        for moment in moments {
            add(moment, (shape, weight.param.dtype(stepping.state)));
        }
        if counted {
            add(&tensors::STEP, (SCALAR, Dtype::Fp32));
        }
    }
    rows
}

/// What lives only while the optimizer steps.
///
/// foreach AdamW makes the square roots of all second moments at once; for-loop makes one tensor's square root and
/// its quotient; fused AdamW and SGD make nothing (torch/optim/adam.py, sgd.py).
pub(crate) fn temporaries(weights: &[Weight], stepping: Stepping, numbers: &Symbols) -> Vec<Entry> {
    let adam = !matches!(stepping.optimizer, Optimizer::Sgd | Optimizer::SgdMomentum);
    let make = |weight: &Weight, count| {
        let shape = (weight.param.shape, weight.param.dtype(stepping.state));
        let entry = row(&tensors::STEP_COPY, weight.param, Block::Overhead, shape, count, numbers);
        Entry { from: Phase::Optimizer, until: Phase::Optimizer, at_peak: 0, ..entry }
    };
    match stepping.implementation {
        OptimizerImpl::Foreach if adam => weights.iter().map(|weight| make(weight, weight.count)).collect(),
        OptimizerImpl::ForLoop if adam => {
            let largest = weights.iter().max_by_key(|weight| weight.param.shape.elements(numbers));
            largest.map(|weight| make(weight, 2)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
