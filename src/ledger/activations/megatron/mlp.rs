//! Feed-forwards (`transformer/mlp.py`).

use super::super::super::tape::{Back, Tape, Var};
use super::super::super::{Dim, Group, Shape, Symbol};
use super::super::{B, S};
use super::{Megatron, column, normalised, row};
use crate::architecture::{Body, GateUp, GatedMlp, Linear, Param, PlainMlp, Sublayer};
use crate::text::tensors;

const F: Dim = Dim::Sym(Symbol::F);

/// Twice a width.
pub(super) const fn twice(width: Dim) -> Dim {
    match width {
        Dim::Sym(symbol) => Dim::Scale(2, symbol),
        other => other,
    }
}

/// Norm and feed-forward of which only the input is kept (`recompute_modules mlp`). Transformer Engine's norm belongs to
/// the first linear, so that it is run again with it.
pub(super) fn checkpointed(
    tape: &mut Tape,
    sublayer: &Sublayer,
    x: Var,
    megatron: &Megatron,
) -> (Var, Option<Param>) {
    let inside = sublayer.before.as_ref().filter(|_| megatron.engine);
    let outside = sublayer.before.as_ref().filter(|_| !megatron.engine);
    let read = outside.map(|norm| normalised(tape, x, norm));
    let input = read.unwrap_or(x);
    let run = |tape: &mut Tape| {
        let normed = inside.map(|norm| normalised(tape, input, norm));
        let from = normed.unwrap_or(input);
        let out = match &sublayer.body {
            Body::PlainMlp(mlp) => plain(tape, from, mlp, megatron),
            Body::GatedMlp(mlp) => gated(tape, from, mlp, Group::Mlp, megatron),
            _ => from,
        };
        tape.drop_all(normed);
        out
    };
    tape.enter("mlp", Group::Mlp);
    let out = tape.recomputed(&[(input, &tensors::MODULE_INPUT)], run);
    tape.drop_all(read);
    let bias = match &sublayer.body {
        Body::PlainMlp(mlp) => mlp.down.bias,
        Body::GatedMlp(mlp) => mlp.down.bias,
        _ => None,
    };
    (out, bias)
}

/// `fc2(silu(gate) · up)`: kept are the inputs of both linears and the first one's output.
pub(super) fn gated(tape: &mut Tape, x: Var, mlp: &GatedMlp, group: Group, megatron: &Megatron) -> Var {
    let fc1 = match mlp.gate_up {
        GateUp::Fused(one) | GateUp::Separate([one, _]) => one,
    };
    if fc1.weight.shape.dims().first() == Some(&mlp.width) {
        let one = PlainMlp { up: fc1, act: mlp.act, down: mlp.down, dropout: mlp.dropout };
        return plain(tape, x, &one, megatron);
    }
    let shape = Shape::new(&[B, S, twice(mlp.width)]);
    let both = column(tape, x, fc1, false, shape, megatron, &tensors::LINEAR_INPUT);
    tape.enter(owner(fc1), group);
    let wide = Shape::new(&[B, S, mlp.width]);
    let product = swiglu(tape, both, shape, wide, megatron);
    tape.drop(both);
    let out = row(tape, product, mlp.down, megatron, &tensors::MLP_PRODUCT);
    tape.drop(product);
    out
}

/// One function that keeps its input alone (`fusions/fused_bias_swiglu.py`). Run operator by operator, its backward has
/// two tensors of half the input's width beside the gradient.
fn swiglu(tape: &mut Tape, both: Var, shape: Shape, wide: Shape, megatron: &Megatron) -> Var {
    let dtype = tape.dtype(both);
    let silu = (!megatron.engine).then(|| tape.constant("silu", wide, dtype));
    let back =
        if megatron.engine { Back::Fresh } else { Back::Beside(&tensors::ACTIVATION_STEPS, shape, dtype) };
    let product = tape.run("swiglu", &[both], wide, dtype, back);
    tape.save(both, &tensors::MLP_GATE_UP);
    tape.drop_all(silu);
    product
}

/// `fc2(gelu(fc1(x) + bias))`: with a bias one function that keeps its input alone (`fusions/fused_bias_gelu.py`);
/// without one the activation keeps it all the same.
pub(super) fn plain(tape: &mut Tape, x: Var, mlp: &PlainMlp, megatron: &Megatron) -> Var {
    /// Tensors of the input's size in the backward of `bias_gelu`, run operator by operator.
    const STEPS: Shape = Shape::new(&[B, S, Dim::Scale(6, Symbol::F)]);
    let width = mlp.up.weight.shape.dims().first().copied().unwrap_or(F);
    let shape = Shape::new(&[B, S, width]);
    let wide = column(tape, x, mlp.up, false, shape, megatron, &tensors::LINEAR_INPUT);
    tape.enter(owner(mlp.up), mlp.up.weight.group);
    let dtype = tape.dtype(wide);
    let back = match mlp.up.bias {
        Some(_) if !megatron.engine => Back::Beside(&tensors::ACTIVATION_STEPS, STEPS, dtype),
        _ => Back::Fresh,
    };
    let active = tape.run("gelu", &[wide], shape, dtype, back);
    tape.save(wide, &tensors::MLP_PRE_ACT);
    tape.drop(wide);
    let out = row(tape, active, mlp.down, megatron, &tensors::MLP_ACTIVE);
    tape.drop(active);
    out
}

/// The module that owns a linear: `mlp` of `mlp.linear_fc1`.
fn owner(linear: Linear) -> &'static str {
    let module = linear.weight.module();
    module.rsplit_once('.').map_or(module, |(owner, _)| owner)
}
