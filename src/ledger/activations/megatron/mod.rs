//! How Megatron-core runs a model, with its own modules (`local`) or Transformer Engine's: what each keeps, what is
//! gathered along the way, and what selective recomputation runs again. Sources: megatron-core 0.16.1, Transformer
//! Engine 2.9. Megatron lays tensors out `[s, b, h]`; shapes here are written `[b, s, h]` as everywhere.

mod attention;
mod ends;
mod latent;
mod mlp;
mod moe;

pub(crate) use ends::{embedding, loss};

use super::super::tape::{Back, Parallel, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol, Tensor};
use super::{B, Run, S, dropout};
use crate::architecture::{Body, Layer, Linear, Norm, Normalisation, Param, Sublayer};
use crate::text::tensors;

pub(super) const H: Dim = Dim::Sym(Symbol::H);
/// Tokens of one rank between the tensor-parallel parts.
pub(super) const SPLIT: Dim = Dim::Sym(Symbol::Split);
/// `[b, s′, h]`: the residual stream.
pub(crate) const STREAM: Shape = Shape::new(&[B, SPLIT, H]);
/// `[b, s, h]`: the same of all tensor-parallel ranks.
pub(super) const WHOLE: Shape = Shape::new(&[B, S, H]);

/// The choices of a Megatron run.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each of Megatron's own")]
pub(crate) struct Megatron {
    /// Transformer Engine's modules (`--transformer-impl transformer_engine`); functions that Megatron compiles
    /// (`jit_fuser`) are one kernel each. With its own (`local`) they run operator by operator, as where no compiler is.
    pub(crate) engine: bool,
    /// More than one tensor-parallel rank.
    pub(crate) split: bool,
    /// Sequence parallel.
    pub(crate) sequence: bool,
    /// More than one rank shares the experts' matrices.
    pub(crate) split_experts: bool,
    /// Ranks that the experts are divided among.
    pub(crate) ep: u64,
    /// More than one rank shares a sequence, and how keys and values travel.
    pub(crate) context: Option<Travel>,
    /// Ranks that share a sequence.
    pub(crate) cp: u16,
    /// Weight gradients are added to the gradient buffer by the product that makes them.
    pub(crate) fused_gradients: bool,
    /// What computes the loss.
    pub(crate) loss: LossKernel,
    /// Experts run as one grouped product each.
    pub(crate) grouped: bool,
    /// Each expert takes so many tokens and is padded to them.
    pub(crate) capacity: bool,
    /// What is run again in backward.
    pub(crate) again: Modules,
    /// Checkpointed inputs are divided among so many ranks.
    pub(crate) divided_inputs: Option<u16>,
}

/// Whose cross entropy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossKernel {
    /// Megatron's, operator by operator and in place where it can be (`tensor_parallel/cross_entropy.py`).
    Plain,
    /// The same as functions that a compiler fuses (`fusions/fused_cross_entropy.py`).
    Compiled,
    /// Transformer Engine's: gradients take the logits' place.
    InPlace,
}

/// How keys and values get to the ranks that share a sequence (`--cp-comm-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Travel {
    /// Around a ring, one rank's share at a time.
    Ring,
    /// All gathered.
    Gather,
    /// Heads are exchanged for tokens.
    Exchange,
}

/// Modules of `--recompute-modules`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set")]
pub(crate) struct Modules {
    pub(crate) core_attention: bool,
    pub(crate) expert_activation: bool,
    pub(crate) norm: bool,
    pub(crate) up_projection: bool,
    pub(crate) mlp: bool,
    pub(crate) moe: bool,
    pub(crate) shared_experts: bool,
}

impl Modules {
    /// Adds a module by its name; false when there is none of it.
    #[inline(never)] // apart: a first visit has none
    pub(crate) fn add(&mut self, name: &str) -> bool {
        let known = match name {
            "core_attn" => &mut self.core_attention,
            "moe_act" => &mut self.expert_activation,
            "layernorm" => &mut self.norm,
            "mla_up_proj" => &mut self.up_projection,
            "mlp" => &mut self.mlp,
            "moe" => &mut self.moe,
            "shared_experts" => &mut self.shared_experts,
            _ => return false,
        };
        *known = true;
        true
    }
}

/// Forward of one layer (`transformer_layer.py`): the residual stream in, the residual stream out.
#[inline(never)] // apart: a first visit has none
pub(crate) fn layer(tape: &mut Tape, layer: &Layer, x: Var, run: &Run, megatron: &Megatron) -> Var {
    let mut stream = x;
    for sublayer in &layer.sublayers {
        let Some((added, bias)) = sublayer_output(tape, sublayer, stream, run, megatron) else { continue };
        let sum = add(tape, added, stream, bias, sublayer.dropout > 0.0);
        if stream != x {
            tape.drop(stream);
        }
        stream = sum;
    }
    tape.drop(x);
    stream
}

/// What a sublayer adds, before its bias; and that bias.
fn sublayer_output(
    tape: &mut Tape,
    sublayer: &Sublayer,
    x: Var,
    run: &Run,
    megatron: &Megatron,
) -> Option<(Var, Option<Param>)> {
    let norm = sublayer.before.as_ref();
    // Transformer Engine's norm is part of the linear after it, except where several modules read it.
    let shared = matches!(sublayer.body, Body::Moe(_) | Body::LatentAttention(_));
    let again = megatron.again.norm && (shared || !megatron.engine);
    if let Body::GatedMlp(_) | Body::PlainMlp(_) = sublayer.body
        && megatron.again.mlp
    {
        return Some(mlp::checkpointed(tape, sublayer, x, megatron));
    }
    let remade = norm.filter(|_| again).map(|norm| {
        tape.enter(norm.weight.module(), Group::Norm);
        tape.remade(&[(x, &tensors::NORM_INPUT)], |tape| [normalised(tape, x, norm)])
    });
    let read = match (&remade, norm) {
        (Some(remade), _) => Some(remade.outputs[0]),
        (None, Some(norm)) => Some(normalised(tape, x, norm)),
        (None, None) => None,
    };
    let input = read.unwrap_or(x);
    let (added, bias) = match &sublayer.body {
        Body::Attention(attention) => {
            (attention::attention(tape, input, attention, run, megatron), attention.out.bias)
        }
        Body::LatentAttention(latent) => (latent::latent_attention(tape, input, latent, run, megatron), None),
        Body::GatedMlp(mlp) => (mlp::gated(tape, input, mlp, Group::Mlp, megatron), mlp.down.bias),
        Body::PlainMlp(mlp) => (mlp::plain(tape, input, mlp, megatron), mlp.down.bias),
        Body::Moe(moe) if megatron.again.moe => {
            tape.enter("mlp", Group::Residual);
            let added = tape
                .recomputed(&[(input, &tensors::MODULE_INPUT)], |tape| moe::moe(tape, input, moe, megatron));
            (added, None)
        }
        Body::Moe(moe) => (moe::moe(tape, input, moe, megatron), None),
        Body::CrossAttention(_) | Body::Counted(_) => {
            tape.drop_all(read);
            return None;
        }
    };
    if let Some(remade) = remade {
        tape.discard(&remade, added);
    }
    tape.drop_all(read);
    Some((added, bias))
}

/// `residual + dropout(added + bias)` (`fusions/fused_bias_dropout.py`).
#[inline(never)] // apart: a first visit has none
fn add(tape: &mut Tape, added: Var, residual: Var, bias: Option<Param>, dropped: bool) -> Var {
    tape.enter("", Group::Residual);
    let dtype = tape.dtype(residual);
    let mut x = added;
    if let Some(bias) = bias {
        x = tape.run("bias", &[added], STREAM, dtype, Back::Bias(bias));
        tape.drop(added);
    }
    if dropped {
        x = dropout(tape, x);
    }
    let sum = tape.run("residual add", &[residual, x], STREAM, dtype, Back::Through);
    tape.drop(x);
    sum
}

/// A norm that is one kernel: the input and one or two fp32 a row are kept (`torch.nn.RMSNorm`, `torch.nn.LayerNorm`,
/// `transformer_engine/pytorch/module/_common.py`).
fn normalised(tape: &mut Tape, x: Var, norm: &Norm) -> Var {
    tape.enter(norm.weight.module(), norm.weight.group);
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let rows = shape.with_last(Dim::Const(1));
    let back = Back::Linear { weight: norm.weight, bias: norm.bias, cast: false };
    let out = tape.run("norm", &[x], shape, dtype, back);
    tape.save(x, &tensors::NORM_INPUT);
    if norm.kind == Normalisation::Layer {
        tape.save_new(&tensors::NORM_MEAN, rows, Dtype::Fp32);
    }
    tape.save_new(&tensors::NORM_RSTD, rows, Dtype::Fp32);
    out
}

/// A linear whose outputs ranks share: the input is every rank's, or (sequence parallel) one rank's tokens, which are
/// gathered for the product and again in backward. The bias is left to whoever reads the output, unless `biased`.
fn column(
    tape: &mut Tape,
    x: Var,
    one: Linear,
    biased: bool,
    out: Shape,
    megatron: &Megatron,
    kept: &'static Tensor,
) -> Var {
    tape.enter(one.weight.module(), one.weight.group);
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let whole = megatron.sequence.then(|| gathered(shape));
    // Megatron's own modules gather into a buffer that stays.
    let temporary = whole.filter(|_| megatron.engine).map(|whole| tape.constant("all-gather", whole, dtype));
    let parallel = Parallel {
        weight: one.weight,
        bias: one.bias.filter(|_| biased),
        whole,
        regathers: megatron.engine,
        fused: megatron.fused_gradients,
    };
    let y = tape.run("linear", &[x], out, dtype, Back::Parallel(parallel));
    tape.workspace();
    tape.save(x, kept);
    if biased && one.bias.is_some() && !megatron.engine {
        // `output + bias` is a tensor of its own.
        let sum = tape.run("bias", &[y], out, dtype, Back::Through);
        tape.drop(y);
        tape.drop_all(temporary);
        return sum;
    }
    tape.drop_all(temporary);
    y
}

/// A linear whose inputs ranks share: each makes a part of every output, which are summed by an all-reduce in place, or
/// (sequence parallel) a reduce-scatter. The bias is left to whoever reads the output.
fn row(tape: &mut Tape, x: Var, one: Linear, megatron: &Megatron, kept: &'static Tensor) -> Var {
    tape.enter(one.weight.module(), one.weight.group);
    let dtype = tape.dtype(x);
    let parallel = Parallel {
        weight: one.weight,
        bias: None,
        whole: None,
        regathers: false,
        fused: megatron.fused_gradients,
    };
    let out = if megatron.sequence { WHOLE } else { STREAM };
    let y = tape.run("linear", &[x], out, dtype, Back::Parallel(parallel));
    tape.workspace();
    tape.save(x, kept);
    scattered(tape, y, megatron)
}

/// The sum of what ranks have made of all tokens.
fn scattered(tape: &mut Tape, y: Var, megatron: &Megatron) -> Var {
    if !megatron.sequence {
        return y;
    }
    let dtype = tape.dtype(y);
    let own = tape.run("reduce-scatter", &[y], STREAM, dtype, Back::Fresh);
    tape.drop(y);
    own
}

/// The same axes with every rank's tokens.
fn gathered(shape: Shape) -> Shape {
    shape.with_tokens(S)
}

/// A linear that every rank has whole.
fn duplicated(
    tape: &mut Tape,
    x: Var,
    one: Linear,
    out: Shape,
    megatron: &Megatron,
    kept: &'static Tensor,
) -> Var {
    tape.enter(one.weight.module(), one.weight.group);
    let dtype = tape.dtype(x);
    let parallel = Parallel {
        weight: one.weight,
        bias: None,
        whole: None,
        regathers: false,
        fused: megatron.fused_gradients,
    };
    let y = tape.run("linear", &[x], out, dtype, Back::Parallel(parallel));
    tape.workspace();
    tape.save(x, kept);
    y
}

/// Runs `run` as it is, or keeps only its inputs and runs it again in backward.
fn perhaps_again(
    tape: &mut Tape,
    again: bool,
    kept: &[(Var, &'static Tensor)],
    run: impl Fn(&mut Tape) -> Var,
) -> Var {
    if again { tape.recomputed(kept, run) } else { run(tape) }
}
