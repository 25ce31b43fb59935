//! What each module keeps for backward, and what it needs meanwhile: one file a module, written as the framework
//! runs it.

mod attention;
mod core;
mod dtensor;
mod head;
mod latent;
mod linear;
mod loss;
mod megatron;
mod mlp;
mod moe;
mod norm;
mod relative;

pub(crate) use self::core::Kernel;
pub(crate) use dtensor::DTensor;
pub(crate) use head::{Mask, Side, embedding, encoder_end, loss, prologue};
pub(crate) use loss::Criterion;
pub(crate) use megatron::{LossKernel, Megatron, Modules, Travel};

use linear::linear;

use super::quantized::Quantized;
use super::tape::{Back, Tape, Var};
use super::{Dim, Dtype, Shape, Symbol};
use crate::architecture::adapters::{Copied, Targets};
use crate::architecture::{Body, Layer, Param, Sublayer};

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

/// What tells the samples of a batch apart, and from what fills them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Samples {
    /// Each is a row of the full length.
    Rows,
    /// A padding mask `[b, s]`: every attention but a flash kernel has a mask of its own for each row.
    Padded,
    /// Position ids `[b, s]` that begin anew with each sample of a row (transformers, `masking_utils.py`,
    /// `find_packed_sequence_indices`): masks as for padding, and tables of rotation for each row.
    Packed,
}

impl Samples {
    /// Whether attention has to be told which tokens a token may see, beyond what is causal.
    pub(crate) fn masks(self) -> bool {
        self != Self::Rows
    }
}

/// How a layer runs, whatever the layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) compute: Compute,
    /// Forward runs under `torch.autocast`: products cast fp32 weights, and what meets them.
    pub(crate) autocast: bool,
    pub(crate) kernel: Kernel,
    /// What tells the samples of a batch apart.
    pub(crate) samples: Samples,
    /// The model's own weights are not trained.
    pub(crate) frozen: bool,
    /// Adapters that are.
    pub(crate) lora: Option<Lora>,
    /// The model was asked to checkpoint its layers.
    pub(crate) checkpointed: bool,
    /// How bitsandbytes stores the frozen linears, where it does.
    pub(crate) quantized: Option<Quantized>,
    /// What the matrix library asks for while a product runs, where that is counted (see [`Tape::workspace`]).
    pub(crate) workspace: Option<u64>,
    /// torchtitan runs it.
    pub(crate) dtensor: Option<DTensor>,
    /// Megatron runs it.
    pub(crate) megatron: Option<Megatron>,
}

impl Run {
    /// Shape of the residual stream between layers.
    pub(crate) const fn stream(&self) -> Shape {
        if self.megatron.is_some() || self.dtensor.is_some() { megatron::STREAM } else { STREAM }
    }

    /// Modules that are trained as copies.
    pub(crate) fn copied(&self) -> Copied {
        self.lora.map_or_else(Copied::default, |lora| lora.copied)
    }

    /// Whether a gradient flows back to the embedding of tokens.
    pub(crate) fn trains_embedding(&self) -> bool {
        !self.frozen || self.copied().embedding
    }

    /// Whether a parameter of the model is not trained (its copy neither).
    fn freezes(&self, param: &Param) -> bool {
        self.frozen && !self.copied().covers(param)
    }
}

/// LoRA adapters on some linears.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lora {
    pub(crate) targets: Targets,
    /// Element type of their weights, to which each casts its input.
    pub(crate) dtype: Dtype,
    /// Their input passes through dropout.
    pub(crate) dropout: bool,
    /// What is trained beside them.
    pub(crate) copied: Copied,
}

pub(crate) const B: Dim = Dim::Sym(Symbol::B);
pub(crate) const S: Dim = Dim::Sym(Symbol::S);
pub(crate) const A: Dim = Dim::Sym(Symbol::A);
pub(crate) const K: Dim = Dim::Sym(Symbol::K);
pub(crate) const D: Dim = Dim::Sym(Symbol::D);
/// `[b, s, h]`: the residual stream.
pub(crate) const STREAM: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::H)]);

/// What the layers of a stack share beside the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    /// Relative positions of self attention: made by the first layer, read by the others.
    pub(crate) bias: Option<Var>,
    /// The same of cross attention.
    pub(crate) cross_bias: Option<Var>,
    /// What cross attention reads: the encoder's output.
    pub(crate) source: Option<Var>,
    /// Others read what this layer makes; else each layer makes its own.
    pub(crate) kept: bool,
}

impl Shared {
    /// Forgets what no other layer reads.
    fn forget(&mut self, tape: &mut Tape) {
        if !self.kept {
            for made in [self.bias.take(), self.cross_bias.take()].into_iter().flatten() {
                tape.drop(made);
            }
        }
    }
}

/// `old` is no longer needed once something has been made of it.
fn replace(tape: &mut Tape, old: Var, make: impl FnOnce(&mut Tape, Var) -> Var) -> Var {
    let new = make(tape, old);
    tape.drop(old);
    new
}

/// Forward of one layer: the residual stream in, the residual stream out.
pub(crate) fn layer(tape: &mut Tape, layer: &Layer, x: Var, run: &Run, shared: &mut Shared) -> Var {
    if let Some(megatron) = &run.megatron {
        return megatron::layer(tape, layer, x, run, megatron);
    }
    if layer.parallel {
        let out = parallel(tape, layer, x, run, shared);
        tape.hold_in_layer(None);
        return out;
    }
    let mut stream = x;
    for sublayer in &layer.sublayers {
        let read = sublayer.before.as_ref().map(|before| norm::norm(tape, stream, before, run));
        let read = read.map(|read| dtensor::gathered(tape, read, run));
        let added = contribution(tape, read.unwrap_or(stream), sublayer, run, shared);
        if let Some(read) = read {
            tape.drop(read);
        }
        let Some(mut added) = added else { continue };
        added = dtensor::scattered(tape, added, run);
        if let Some(after) = &sublayer.after {
            let normed = norm::norm(tape, added, after, run);
            tape.drop(added);
            added = normed;
        }
        tape.enter("", super::Group::Residual);
        let sum = tape.run("residual add", &[stream, added], run.stream(), run.compute.weight, Back::Through);
        let mut out = sum;
        if let Some(norm) = &sublayer.on_sum {
            // Both are variables of the program that calls the norm.
            out = norm::norm(tape, sum, norm, run);
            tape.drop(sum);
        }
        tape.drop(added);
        // The layer's caller holds the layer's input until the layer is done.
        if stream != x {
            tape.drop(stream);
        }
        stream = out;
    }
    tape.hold_in_layer(None);
    tape.drop(x);
    stream
}

/// All sublayers read the layer's input, through a norm of their own or the one before them; what they give is added
/// up last to first, and then to the input (transformers, `modeling_gpt_neox.py`, `modeling_phi.py`).
fn parallel(tape: &mut Tape, layer: &Layer, x: Var, run: &Run, shared: &mut Shared) -> Var {
    let mut held = Vec::with_capacity(4);
    let mut input = x;
    let mut parts = Vec::with_capacity(2);
    for (index, sublayer) in layer.sublayers.iter().enumerate() {
        let own = sublayer.before.as_ref().map(|before| norm::norm(tape, x, before, run));
        input = own.unwrap_or(input);
        parts.extend(contribution(tape, input, sublayer, run, shared));
        // Whoever reads the same norm next keeps it.
        let reread = layer.sublayers.get(index + 1).is_some_and(|next| next.before.is_none());
        match own {
            Some(own) if reread => held.push(own),
            Some(own) => tape.drop(own),
            None => {}
        }
    }
    tape.enter("", super::Group::Residual);
    let add = |tape: &mut Tape, pair: [Var; 2]| {
        tape.run("residual add", &pair, STREAM, run.compute.weight, Back::Through)
    };
    let mut sum = None;
    for &part in parts.iter().rev() {
        sum = Some(match sum {
            None => part,
            Some(sum) => {
                let both = add(tape, [sum, part]);
                held.push(both);
                both
            }
        });
    }
    let out = sum.map(|sum| add(tape, [sum, x]));
    parts.into_iter().chain(held).for_each(|done| tape.drop(done));
    out.map_or(x, |out| {
        tape.drop(x);
        out
    })
}

/// What a sublayer adds to the residual stream (`None`: it is only counted, nothing is known of what runs).
fn contribution(
    tape: &mut Tape,
    input: Var,
    sublayer: &Sublayer,
    run: &Run,
    shared: &mut Shared,
) -> Option<Var> {
    let added = match &sublayer.body {
        Body::Attention(attention) => attention::attention(tape, input, attention, run, shared),
        Body::CrossAttention(cross) => attention::cross_attention(tape, input, cross, run, shared),
        Body::GatedMlp(mlp) => mlp::gated_mlp(tape, input, mlp, run, super::Group::Mlp),
        Body::PlainMlp(mlp) => mlp::plain_mlp(tape, input, mlp, run),
        Body::LatentAttention(latent) => latent::latent_attention(tape, input, latent, run),
        Body::Moe(moe) => moe::moe(tape, input, moe, run),
        Body::Counted(_) => return None,
    };
    shared.forget(tape);
    if sublayer.dropped_by_layer {
        tape.enter("", super::Group::Residual);
    }
    Some(if sublayer.dropout > 0.0 { dropout(tape, added) } else { added })
}

/// `native_dropout`: a mask of one byte an element is kept.
pub(super) fn dropout(tape: &mut Tape, x: Var) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let out = tape.run("dropout", &[x], shape, dtype, Back::Fresh);
    tape.save_new(&crate::text::tensors::DROPOUT_MASK, shape, Dtype::Bool);
    tape.drop(x);
    out
}
