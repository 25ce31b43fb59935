//! What T5 adds to the scores of attention (transformers, `T5Attention.compute_bias`): learned relative positions, made
//! by the first layer of a stack for all, and zeros for cross attention. Fused kernels read them as a mask.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Shape};
use super::core::Core;
use super::{A, Run, S, replace};
use crate::architecture::Param;
use crate::text::tensors;

/// `[s, s]`: one value for each pair of tokens.
const PAIRS: Shape = Shape::new(&[S, S]);

/// A bias of the scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bias {
    /// `[a, s, keys]`, for all sequences.
    pub(super) var: Var,
    /// It comes from a table, heads last: fused kernels need a copy in their order.
    pub(super) heads_last: bool,
}

/// Looks the bias of each pair up in a table. Kept: the pairs' buckets.
#[inline(never)] // apart: a first visit has none
pub(super) fn table(tape: &mut Tape, table: Param, causal: bool, run: &Run) -> Var {
    let row = Shape::new(&[S]);
    let [context, memory] = [(); 2].map(|()| tape.constant("arange", row, Dtype::Int64));
    let distance = tape.constant("sub", PAIRS, Dtype::Int64);
    let buckets = buckets(tape, causal);
    let dtype = tape.weight_dtype();
    tape.enter(table.module(), table.group);
    let back = if run.frozen { Back::Fresh } else { Back::Weight(table) };
    let values = tape.run("embedding", &[], Shape::new(&[S, S, A]), dtype, back);
    tape.save(buckets, &tensors::POSITION_BUCKETS);
    for done in [buckets, context, memory, distance] {
        tape.drop(done);
    }
    replace(tape, values, |tape, x| tape.view("permute", x, Shape::new(&[A, S, S]), Back::Through))
}

/// The bucket of each distance (`_relative_position_bucket`): exact for near ones, logarithmic for far ones. Seen both
/// ways, the sign is a bucket's half; causal, what lies ahead counts as 0.
#[inline(never)] // apart: a first visit has none
fn buckets(tape: &mut Tape, causal: bool) -> Var {
    let made = |tape: &mut Tape, name, dtype| tape.constant(name, PAIRS, dtype);
    let turned = |tape: &mut Tape, from: Var, name, dtype| {
        replace(tape, from, |tape, _| tape.constant(name, PAIRS, dtype))
    };
    let mut halves = None;
    let distance = if causal {
        let zeros = made(tape, "zeros_like", Dtype::Int64);
        let least = turned(tape, zeros, "min", Dtype::Int64);
        turned(tape, least, "neg", Dtype::Int64)
    } else {
        let ahead = made(tape, "gt", Dtype::Bool);
        let ahead = turned(tape, ahead, "to long", Dtype::Int64);
        let half = turned(tape, ahead, "mul", Dtype::Int64);
        halves = Some(turned(tape, half, "add", Dtype::Int64));
        made(tape, "abs", Dtype::Int64)
    };
    let near = made(tape, "lt", Dtype::Bool);
    let mut far = made(tape, "float", Dtype::Fp32);
    for name in ["div", "log", "div", "mul"] {
        far = turned(tape, far, name, Dtype::Fp32);
    }
    far = turned(tape, far, "to long", Dtype::Int64);
    far = turned(tape, far, "add", Dtype::Int64);
    let most = made(tape, "full_like", Dtype::Int64);
    let capped = made(tape, "min", Dtype::Int64);
    tape.drop(most);
    tape.drop(far);
    let chosen = made(tape, "where", Dtype::Int64);
    // Two halves are added to in place; to nothing, a new tensor is made.
    let out = match halves {
        Some(halves) => {
            tape.drop(chosen);
            halves
        }
        None => turned(tape, chosen, "add", Dtype::Int64),
    };
    for done in [near, capped, distance] {
        tape.drop(done);
    }
    out
}

/// Zeros for every pair of a token and a key. Under checkpointing those that others read as well (`kept`) ask for a
/// gradient (`T5Attention.forward`; UMT5's do not).
pub(super) fn zeros(tape: &mut Tape, keys: Dim, run: &Run, kept: bool) -> Var {
    let zeros = tape.constant("zeros", Shape::new(&[A, S, keys]), run.compute.matmul);
    if run.checkpointed && kept {
        tape.ask_gradient(zeros);
    }
    zeros
}

/// A bias as fused kernels read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    /// `[b, a, s, keys]`
    pub(super) read: Var,
    /// Where it had to be made first: in its own type, and cast.
    copies: [Option<Var>; 2],
}

impl Mask {
    /// Tensors that nobody but the kernel needs.
    pub(super) fn made(&self) -> impl Iterator<Item = Var> {
        std::iter::once(self.read).chain(self.copies.into_iter().flatten())
    }
}

/// transformers, `create_position_bias_mask`: what a token must not see is put out of reach, and the result laid out in
/// a row, anew in every layer.
#[inline(never)] // apart: a first visit has none
pub(super) fn as_mask(tape: &mut Tape, bias: Bias, core: Core) -> Mask {
    let dtype = tape.dtype(bias.var);
    let full = core.scores();
    let shape = if core.masked { full } else { tape.shape(bias.var) };
    let mut own = None;
    if core.causal || core.masked {
        let seen = core.causal.then(|| tape.constant("ge", Shape::new(&[S, core.keys]), Dtype::Bool));
        own = Some(tape.run("where", &[bias.var], shape, dtype, Back::Fresh));
        if let Some(seen) = seen {
            tape.save(seen, &tensors::CAUSAL_PAIRS);
            tape.drop(seen);
        }
    }
    if bias.heads_last {
        let from = own.unwrap_or(bias.var);
        let copy = tape.run("contiguous", &[from], shape, dtype, Back::Through);
        if let Some(own) = own {
            tape.drop(own);
        }
        own = Some(copy);
    }
    let mut last = own.unwrap_or(bias.var);
    let cast = (dtype != core.low).then(|| tape.run("cast", &[last], shape, core.low, Back::Through));
    last = cast.unwrap_or(last);
    // One for all sequences: its gradient is made for each and summed.
    let read = tape.view("expand", last, full, Back::Sum);
    Mask { read, copies: [own, cast] }
}
