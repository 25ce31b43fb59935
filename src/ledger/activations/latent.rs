//! Multi-head latent attention (transformers, `modeling_deepseek_v2.py`): keys and values are made from a small latent;
//! q and k are wider than v, which flash attention refuses.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::core::{Core, Layout, core};
use super::norm::norm;
use super::{A, B, Run, S, STREAM, linear};
use crate::architecture::{LatentAttention, LatentQuery, Linear, Softmax};
use crate::text::tensors;

const DN: Dim = Dim::Sym(Symbol::Dn);
const DR: Dim = Dim::Sym(Symbol::Dr);
const R: Dim = Dim::Sym(Symbol::R);
/// `[b, s, a, dn + dr]`
const WIDE: Shape = Shape::new(&[B, S, A, Dim::Lin(Symbol::Dn, 1, Symbol::Dr)]);
/// `[b, s, r + dr]`
const COMPRESSED: Shape = Shape::new(&[B, S, Dim::Lin(Symbol::R, 1, Symbol::Dr)]);
/// `[b, s, a, dn + dv]`
const EXPANDED: Shape = Shape::new(&[B, S, A, Dim::Lin(Symbol::Dn, 1, Symbol::Dv)]);

#[inline(never)] // apart: a first visit has none
pub(super) fn latent_attention(tape: &mut Tape, x: Var, latent: &LatentAttention, run: &Run) -> Var {
    let project = |tape: &mut Tape, x, one: Linear, out| {
        tape.enter(one.weight.module(), Group::Attention);
        linear(tape, x, one, out, run, &tensors::LINEAR_INPUT)
    };
    let q = match &latent.query {
        LatentQuery::Direct(one) => project(tape, x, *one, WIDE),
        LatentQuery::LowRank(down, down_norm, up) => {
            let low = project(tape, x, *down, Shape::new(&[B, S, Dim::Sym(Symbol::Rq)]));
            let normed = norm(tape, low, down_norm, run);
            tape.drop(low);
            let q = project(tape, normed, *up, WIDE);
            tape.drop(normed);
            q
        }
    };
    tape.enter("self_attn", Group::Attention);
    let [plain_q, q_rope] = tape.split("split", q, [Shape::new(&[B, S, A, DN]), Shape::new(&[B, S, A, DR])]);
    let compressed = project(tape, x, latent.kv_a, COMPRESSED);
    let [inner, k_rope] = tape.split("split", compressed, [Shape::new(&[B, S, R]), Shape::new(&[B, S, DR])]);
    let normed = norm(tape, inner, &latent.kv_norm, run);
    let expanded = project(tape, normed, latent.kv_b, EXPANDED);
    tape.drop(normed);
    tape.drop(inner);
    tape.enter("self_attn", Group::Attention);
    let value_shape = Shape::new(&[B, S, A, Dim::Sym(Symbol::Dv)]);
    let [plain_k, v] = tape.split("split", expanded, [Shape::new(&[B, S, A, DN]), value_shape]);

    tape.enter("self_attn.rotary", Group::Attention);
    let rotated_q = rotate(tape, q_rope);
    let rotated_k = rotate(tape, k_rope);
    tape.drop(q_rope);
    tape.drop(k_rope);
    tape.enter("self_attn", Group::Attention);
    let dtype = tape.dtype(plain_q);
    let wide_q = tape.run("cat", &[plain_q, rotated_q], WIDE, dtype, Back::Views);
    let wide_k = tape.run("cat", &[plain_k, rotated_k], WIDE, dtype, Back::Views);
    let settings = Core {
        kernel: run.kernel,
        low: run.compute.matmul,
        masked: run.samples.masks(),
        dropout: latent.dropout > 0.0,
        softmax: Softmax::Fp32,
        soft_cap: false,
        causal: true,
        layout: Layout::Joined,
        keys: S,
        sinks: None,
        bias: None,
    };
    let out = core(tape, [wide_q, wide_k, v], settings);
    tape.enter(latent.out.weight.module(), Group::Attention);
    let y = linear(tape, out, latent.out, STREAM, run, &tensors::ATTENTION_OUTPUT);
    for held in [out, wide_q, wide_k, rotated_q, rotated_k, plain_k, v, expanded, compressed, plain_q, q] {
        tape.drop(held);
    }
    y
}

/// Rotary positions as complex numbers, in fp32; only the table is kept, once for all layers.
fn rotate(tape: &mut Tape, x: Var) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let wide = tape.run("to complex", &[x], shape, Dtype::Fp32, Back::Through);
    let turned = tape.run("mul freqs", &[wide], shape, Dtype::Fp32, Back::Fresh);
    tape.drop(wide);
    if dtype == Dtype::Fp32 {
        return turned;
    }
    let back = tape.run("cast", &[turned], shape, dtype, Back::Through);
    tape.drop(turned);
    back
}
