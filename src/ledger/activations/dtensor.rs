//! What torchtitan's program and its `DTensor` tensor parallelism (`torch/distributed/tensor/parallel`) do otherwise than
//! transformers' one: complex rotary numbers, inputs gathered before a product and kept whole, a loss whose vocabulary
//! ranks share.

use super::super::tape::{Back, SCALAR, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol, Symbols};
use super::{B, Run, S, megatron};
use crate::architecture::{Param, weights};
use crate::text::tensors;

const LOGITS: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::V)]);

/// The choices of a torchtitan run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DTensor {
    /// Sequence parallel.
    pub(crate) sequence: bool,
    /// Ranks share the loss's vocabulary (`loss_parallel`).
    pub(crate) vocabulary: bool,
    /// Tensor-parallel ranks.
    pub(crate) ranks: u64,
    /// The embedding's gradient is made for the whole vocabulary: its operator knows the rows of all ranks
    /// (`RowwiseParallel` of ids that are replicated), and the rank's rows are a view that keeps it.
    pub(crate) whole_embedding: bool,
}

impl DTensor {
    /// Whether this weight's gradient has the rows of all ranks.
    pub(crate) fn whole(self, weight: Param) -> bool {
        self.whole_embedding && weight.path == weights::EMBED.path
    }

    /// The weight as its gradient is.
    pub(crate) fn gradient(self, weight: Param, numbers: &Symbols) -> Param {
        let [rows, columns] = *weight.shape.dims() else { return weight };
        if !self.whole(weight) {
            return weight;
        }
        let all = Dim::of(rows.value(numbers).saturating_mul(self.ranks));
        Param { shape: Shape::new(&[all, columns]), ..weight }
    }
}

fn sequence(run: &Run) -> bool {
    run.dtensor.is_some_and(|dtensor| dtensor.sequence)
}

/// All tokens before a product (`PrepareModuleInput`). Unlike Megatron's, it is this tensor that the product keeps.
pub(super) fn gathered(tape: &mut Tape, x: Var, run: &Run) -> Var {
    if !sequence(run) {
        return x;
    }
    let dtype = tape.dtype(x);
    super::replace(tape, x, |tape, x| tape.run("all-gather", &[x], super::STREAM, dtype, Back::Fresh))
}

/// One rank's tokens of what all ranks have made (`RowwiseParallel` with `Shard(1)`).
pub(super) fn scattered(tape: &mut Tape, x: Var, run: &Run) -> Var {
    if !sequence(run) {
        return x;
    }
    let dtype = tape.dtype(x);
    super::replace(tape, x, |tape, x| tape.run("reduce-scatter", &[x], megatron::STREAM, dtype, Back::Fresh))
}

/// `x · e^(iθ)` in fp32 pairs, then cast back: only the frequencies are kept, by all layers one tensor.
pub(super) fn rotated(tape: &mut Tape, x: Var) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let wide = if dtype == Dtype::Fp32 {
        tape.view("view_as_complex", x, shape, Back::Through)
    } else {
        tape.run("float", &[x], shape, Dtype::Fp32, Back::Through)
    };
    let turned = tape.run("mul", &[wide], shape, Dtype::Fp32, Back::Fresh);
    tape.drop(wide);
    if dtype == Dtype::Fp32 {
        return turned;
    }
    super::replace(tape, turned, |tape, x| tape.run("type_as", &[x], shape, dtype, Back::Through))
}

/// Cross entropy over fp32 logits. Where ranks share the vocabulary (`torch/distributed/tensor/parallel/loss.py`) the
/// log-softmax is made operator by operator, and both backwards are one that adds an exponential.
pub(super) fn cross_entropy(tape: &mut Tape, mut logits: Var, dtensor: DTensor) -> Var {
    let mut shape = LOGITS;
    if dtensor.ranks > 1 && !dtensor.vocabulary {
        let whole = tape.numbers().get(Symbol::V).saturating_mul(dtensor.ranks);
        shape = shape.with_last(Dim::of(whole));
        let dtype = tape.dtype(logits);
        logits =
            super::replace(tape, logits, |tape, x| tape.run("all-gather", &[x], shape, dtype, Back::Fresh));
    }
    tape.enter("loss", Group::Loss);
    let own = tape.dtype(logits) == Dtype::Fp32;
    let wide = if own { logits } else { tape.run("float", &[logits], shape, Dtype::Fp32, Back::Through) };
    let steps = dtensor.vocabulary.then(|| {
        let shifted = tape.constant("shift", shape, Dtype::Fp32);
        let exponential = tape.constant("exp", shape, Dtype::Fp32);
        tape.drop(exponential);
        shifted
    });
    let back = if dtensor.vocabulary { Back::Through } else { Back::Fresh };
    let log_probabilities = tape.run("log_softmax", &[wide], shape, Dtype::Fp32, back);
    if let Some(shifted) = steps {
        tape.drop(shifted);
    } else {
        tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
    }
    let back = if dtensor.vocabulary { Back::ParallelLoss } else { Back::Fresh };
    let loss = tape.run("nll_loss", &[log_probabilities], SCALAR, Dtype::Fp32, back);
    tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
    tape.save_new(&tensors::TOTAL_WEIGHT, SCALAR, Dtype::Fp32);
    tape.drop(log_probabilities);
    if wide != logits {
        tape.drop(wide);
    }
    // The program holds the logits until the loss is there.
    tape.drop(logits);
    loss
}
