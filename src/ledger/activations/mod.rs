//! What each module keeps for backward, and what it needs meanwhile: one file a module, written as the framework
//! runs it.

mod attention;
mod head;
mod mlp;
mod norm;

pub(crate) use attention::Kernel;
pub(crate) use head::{Mask, embedding, loss, prologue};

use super::tape::{Back, Tape, Var};
use super::{Dim, Dtype, Shape, Symbol, Tensor};
use crate::architecture::{Body, Layer, Linear};
use crate::text::tensors;

/// In which element types the model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compute {
    /// Weights, and what the embedding gives: the residual stream.
    pub(crate) weight: Dtype,
    /// Matrix products.
    pub(crate) matmul: Dtype,
}

impl Compute {
    /// fp32 weights, 16-bit products: `torch.autocast`.
    pub(crate) fn autocast(self) -> bool {
        self.weight != self.matmul
    }
}

/// How a layer runs, whatever the layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) compute: Compute,
    pub(crate) kernel: Kernel,
    /// The batch has a padding mask, so every attention has a mask.
    pub(crate) padding: bool,
}

pub(crate) const B: Dim = Dim::Sym(Symbol::B);
pub(crate) const S: Dim = Dim::Sym(Symbol::S);
pub(crate) const A: Dim = Dim::Sym(Symbol::A);
pub(crate) const K: Dim = Dim::Sym(Symbol::K);
pub(crate) const D: Dim = Dim::Sym(Symbol::D);
/// `[b, s, h]`: the residual stream.
pub(crate) const STREAM: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::H)]);

/// Forward of one layer: the residual stream in, the residual stream out.
pub(crate) fn layer(tape: &mut Tape, layer: &Layer, x: Var, run: Run) -> Var {
    let mut stream = x;
    for sublayer in &layer.sublayers {
        let read = sublayer.before.as_ref().map(|before| norm::norm(tape, stream, before));
        let input = read.unwrap_or(stream);
        let mut added = match &sublayer.body {
            Body::Attention(attention) => attention::attention(tape, input, attention, run),
            Body::GatedMlp(mlp) => mlp::gated_mlp(tape, input, mlp, run.compute),
            Body::PlainMlp(mlp) => mlp::plain_mlp(tape, input, mlp, run.compute),
            // Only counted: nothing is known of what runs here.
            Body::LatentAttention(_) | Body::Moe(_) | Body::Counted(_) => {
                read.into_iter().for_each(|read| tape.drop(read));
                continue;
            }
        };
        read.into_iter().for_each(|read| tape.drop(read));
        if let Some(after) = &sublayer.after {
            let normed = norm::norm(tape, added, after);
            tape.drop(added);
            added = normed;
        }
        tape.enter("", super::Group::Residual);
        let sum = tape.run("residual add", &[stream, added], STREAM, run.compute.weight, Back::Through);
        tape.drop(added);
        // The layer's caller holds the layer's input until the layer is done.
        if stream != x {
            tape.drop(stream);
        }
        stream = sum;
    }
    tape.drop(x);
    stream
}

/// `torch.nn.functional.linear`: keeps its input, as `kept`. Under autocast input and weight are cast first, and it
/// is the copies that are kept: one per linear, for only casts of weights are shared.
pub(super) fn linear(
    tape: &mut Tape,
    x: Var,
    Linear { weight, bias }: Linear,
    out: Shape,
    compute: Compute,
    kept: &'static Tensor,
) -> Var {
    let cast = compute.autocast();
    let copied = tape.dtype(x) != compute.matmul;
    let shape = tape.shape(x);
    let input = if copied { tape.run("cast", &[x], shape, compute.matmul, Back::Through) } else { x };
    let copy = cast.then(|| tape.weight_copy(weight.shape, compute.matmul));
    if let Some(bias) = bias.filter(|_| cast) {
        tape.cache(bias.shape, compute.matmul);
    }
    let y = tape.run("linear", &[input], out, compute.matmul, Back::Linear { weight, bias, cast });
    tape.save(input, if copied { &tensors::AUTOCAST_INPUT } else { kept });
    if let Some(copy) = copy {
        tape.keep_weight_copy(copy);
    }
    if copied {
        tape.drop(input);
    }
    y
}
