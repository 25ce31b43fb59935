//! Gated feed-forward: `down(act(gate(x)) · up(x))`.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Group, Shape, Symbol};
use super::{B, Compute, S, STREAM, linear};
use crate::architecture::{GatedMlp, weights};
use crate::text::tensors;

/// `[b, s, f]`
const WIDE: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::F)]);

/// Kept: the input (once, or once a linear under autocast), gate, act(gate), up and their product.
pub(super) fn gated_mlp(tape: &mut Tape, x: Var, mlp: GatedMlp, compute: Compute) -> Var {
    let [gate_proj, up_proj, down_proj] =
        weights::MLP.map(|(weight, bias)| (weight, mlp.bias.then_some(bias)));
    tape.enter("mlp.gate_proj", Group::Mlp);
    let gate = linear(tape, x, gate_proj, WIDE, compute, &tensors::LINEAR_INPUT);
    tape.enter("mlp.act_fn", Group::Mlp);
    let active = tape.run("act", &[gate], WIDE, compute.matmul, Back::Fresh);
    tape.save(gate, &tensors::MLP_GATE);
    tape.drop(gate);
    tape.enter("mlp.up_proj", Group::Mlp);
    let up = linear(tape, x, up_proj, WIDE, compute, &tensors::LINEAR_INPUT);
    tape.enter("mlp", Group::Mlp);
    let product = tape.run("mul", &[active, up], WIDE, compute.matmul, Back::Fresh);
    tape.save(active, &tensors::MLP_ACTIVE);
    tape.save(up, &tensors::MLP_UP);
    tape.drop(active);
    tape.drop(up);
    tape.enter("mlp.down_proj", Group::Mlp);
    let out = linear(tape, product, down_proj, STREAM, compute, &tensors::MLP_PRODUCT);
    tape.drop(product);
    out
}
