//! Gated feed-forward: `down(act(gate(x)) · up(x))`.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol, Tensor};
use super::norm::norm;
use super::{B, Run, S, STREAM, dropout, linear, replace};
use crate::architecture::{Activation, GateUp, GatedMlp, Linear, PlainMlp};
use crate::text::tensors;

/// `[b, s, f]`
const WIDE: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::F)]);

/// Kept: the input (once, or once a linear under autocast), gate, act(gate), up and their product.
pub(super) fn gated_mlp(tape: &mut Tape, x: Var, mlp: &GatedMlp, run: &Run, group: Group) -> Var {
    let [gate_proj, up_proj] = match mlp.gate_up {
        GateUp::Separate(both) => both,
        GateUp::Fused(one) => return fused_mlp(tape, x, one, mlp.down, run),
    };
    let wide = Shape::new(&[B, S, mlp.width]);
    tape.enter(gate_proj.weight.module(), group);
    let gate = linear(tape, x, gate_proj, wide, run, &tensors::LINEAR_INPUT);
    tape.enter(owner(gate_proj), group);
    let active = activation(tape, gate, mlp.act, &tensors::MLP_GATE, run);
    tape.drop(gate);
    tape.enter(up_proj.weight.module(), group);
    let up = linear(tape, x, up_proj, wide, run, &tensors::LINEAR_INPUT);
    tape.enter(owner(up_proj), group);
    let dtype = tape.dtype(active);
    let product = tape.run("mul", &[active, up], wide, dtype, Back::Fresh);
    tape.save(active, &tensors::MLP_ACTIVE);
    tape.save(up, &tensors::MLP_UP);
    tape.drop(active);
    tape.drop(up);
    let mut product = dropped(tape, product, mlp.dropout);
    if let Some(inner) = &mlp.norm {
        product = replace(tape, product, |tape, x| norm(tape, x, inner, run));
    }
    tape.enter(mlp.down.weight.module(), group);
    let out = linear(tape, product, mlp.down, STREAM, run, &tensors::MLP_PRODUCT);
    tape.drop(product);
    out
}

/// The module that owns a projection: `mlp` of `mlp.gate_proj`.
fn owner(linear: Linear) -> &'static str {
    let module = linear.weight.module();
    module.rsplit_once('.').map_or(module, |(owner, _)| owner)
}

/// The same with one input projection `[2f, h]` whose output is split: both halves stay while either is needed.
#[inline(never)] // apart: a first visit has none
fn fused_mlp(tape: &mut Tape, x: Var, gate_up: Linear, down: Linear, run: &Run) -> Var {
    const BOTH: Shape = Shape::new(&[B, S, Dim::Scale(2, Symbol::F)]);
    tape.enter("mlp.gate_up_proj", Group::Mlp);
    let both = linear(tape, x, gate_up, BOTH, run, &tensors::LINEAR_INPUT);
    let [gate, up] = tape.split("chunk", both, [WIDE; 2]);
    tape.drop(both);
    tape.enter("mlp.activation_fn", Group::Mlp);
    let dtype = tape.dtype(gate);
    let active = tape.run("act", &[gate], WIDE, dtype, Back::Fresh);
    tape.save(gate, &tensors::MLP_GATE_UP);
    tape.enter("mlp", Group::Mlp);
    let dtype = tape.dtype(active);
    let product = tape.run("mul", &[up, active], WIDE, dtype, Back::Fresh);
    tape.save(active, &tensors::MLP_ACTIVE);
    tape.save(up, &tensors::MLP_GATE_UP);
    for done in [active, gate, up] {
        tape.drop(done);
    }
    tape.enter("mlp.down_proj", Group::Mlp);
    let out = linear(tape, product, down, STREAM, run, &tensors::MLP_PRODUCT);
    tape.drop(product);
    out
}

/// Without a gate: kept are the input, what the activation function keeps, and its output.
#[inline(never)] // apart: a first visit has none
pub(super) fn plain_mlp(tape: &mut Tape, x: Var, mlp: &PlainMlp, run: &Run) -> Var {
    tape.enter(mlp.up.weight.module(), Group::Mlp);
    let wide = linear(tape, x, mlp.up, WIDE, run, &tensors::LINEAR_INPUT);
    tape.enter("mlp.act", Group::Mlp);
    let active = activation(tape, wide, mlp.act, &tensors::MLP_PRE_ACT, run);
    tape.drop(wide);
    let active = dropped(tape, active, mlp.dropout);
    tape.enter(mlp.down.weight.module(), Group::Mlp);
    let out = linear(tape, active, mlp.down, STREAM, run, &tensors::MLP_ACTIVE);
    tape.drop(active);
    out
}

/// The activation function; what it keeps of its input is called `kept`.
fn activation(tape: &mut Tape, x: Var, act: Activation, kept: &'static Tensor, run: &Run) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    match act {
        Activation::Kernel => {
            let active = tape.run("act", &[x], shape, dtype, Back::Fresh);
            tape.save(x, kept);
            active
        }
        Activation::Relu => {
            let active = tape.run("relu", &[x], shape, dtype, Back::Fresh);
            tape.save(active, &tensors::MLP_ACTIVE);
            active
        }
        Activation::ReluSquared => relu_squared(tape, x, run),
        Activation::PythonGelu => python_gelu(tape, x, run),
    }
}

/// `relu(x)²` (transformers, `ReLUSquaredActivation`): both keep relu's output, the second in fp32 under autocast.
#[inline(never)] // apart: a first visit has none
fn relu_squared(tape: &mut Tape, x: Var, run: &Run) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let wide = if run.compute.autocast() { Dtype::Fp32 } else { dtype };
    let relu = tape.run("relu", &[x], shape, dtype, Back::Fresh);
    tape.save(relu, &tensors::MLP_ACTIVE);
    let base = if wide == dtype { relu } else { tape.run("cast", &[relu], shape, wide, Back::Through) };
    let square = tape.run("square", &[base], shape, wide, Back::Square);
    tape.save(base, &tensors::MLP_ACTIVE);
    if base != relu {
        tape.drop(base);
    }
    tape.drop(relu);
    square
}

/// Dropout before the output projection. T5 then casts to that projection's type, which under autocast makes an fp32
/// copy of a 16-bit tensor only to make it 16 bit again (transformers, `T5DenseActDense`).
#[inline(never)] // apart: a first visit has none
fn dropped(tape: &mut Tape, x: Var, probability: f64) -> Var {
    if probability == 0.0 {
        return x;
    }
    let out = dropout(tape, x);
    let own = tape.promoted(tape.dtype(out));
    if tape.dtype(out) == own {
        return out;
    }
    let shape = tape.shape(out);
    replace(tape, out, |tape, x| tape.run("to weight dtype", &[x], shape, own, Back::Through))
}

/// `0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))`, operator by operator (transformers, `NewGELUActivation`).
///
/// Under autocast `pow` runs in fp32, and so does all that follows.
#[inline(never)] // apart: a first visit has none
fn python_gelu(tape: &mut Tape, x: Var, run: &Run) -> Var {
    let low = run.compute.matmul;
    let shape = tape.shape(x);
    let wide = if run.compute.autocast() { Dtype::Fp32 } else { low };
    let half = tape.run("mul 0.5", &[x], shape, low, Back::Fresh);
    let base = if wide == low { x } else { tape.run("cast", &[x], shape, wide, Back::Through) };
    let cube = tape.run("pow 3", &[base], shape, wide, Back::Square);
    tape.save(base, &tensors::MLP_PRE_ACT);
    if base != x {
        tape.drop(base);
    }
    let scaled = tape.run("mul 0.044715", &[cube], shape, wide, Back::Fresh);
    tape.drop(cube);
    let sum = tape.run("add", &[x, scaled], shape, wide, Back::Through);
    tape.drop(scaled);
    let inner = tape.run("mul √(2/π)", &[sum], shape, wide, Back::Fresh);
    tape.drop(sum);
    let tanh = tape.run("tanh", &[inner], shape, wide, Back::Fresh);
    tape.save(tanh, &tensors::GELU_TANH);
    tape.drop(inner);
    let shifted = tape.run("add 1", &[tanh], shape, wide, Back::Through);
    tape.drop(tanh);
    let out = tape.run("mul", &[half, shifted], shape, wide, Back::Fresh);
    tape.save(half, &tensors::GELU_HALF);
    tape.save(shifted, &tensors::GELU_SHIFTED);
    tape.drop(half);
    tape.drop(shifted);
    out
}
