//! Self attention with rotary positions: the projections, and three kernels.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol, Symbols};
use super::norm::norm;
use super::{A, B, D, K, Run, S, STREAM, linear};
use crate::architecture::{Attention, Body, Qkv};
use crate::text::tensors;

/// Which code computes the attention core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// `scaled_dot_product_attention`: flash where dtype and mask allow, else memory-efficient.
    Sdpa,
    /// flash-attn: windows inside the kernel, no mask tensor.
    Flash,
    /// Scores and probabilities as tensors.
    Eager,
}

/// `[b, s, a·d]`
const Q: Shape = Shape::new(&[B, S, A, D]);
/// `[b, s, k·d]`
const KV: Shape = Shape::new(&[B, S, K, D]);
/// `[b, s, (a + 2k)·d]`
const QKV: Shape = Shape::new(&[B, S, Dim::Lin(Symbol::A, 2, Symbol::K), D]);
/// `[b, a, s, s]`
const SCORES: Shape = Shape::new(&[B, A, S, S]);
/// Rotary cosines or sines, for every layer.
pub(super) const ROTARY: Shape = Shape::new(&[S, D]);

impl Attention {
    /// Whether it needs a mask: for padding, or for a window that some token is outside of.
    fn masked(&self, numbers: &Symbols, padding: bool) -> bool {
        padding || self.window.is_some_and(|window| numbers.get(Symbol::S) >= window)
    }
}

impl Body {
    /// Whether a fused kernel needs a mask for it.
    pub(crate) fn masked(&self, numbers: &Symbols, padding: bool) -> bool {
        matches!(self, Self::Attention(attention) if attention.masked(numbers, padding))
    }
}

#[expect(clippy::many_single_char_names, reason = "q, k and v are the field's names")]
pub(super) fn attention(tape: &mut Tape, x: Var, attention: &Attention, run: &Run) -> Var {
    let [mut q, mut k, v] = match attention.qkv {
        Qkv::Separate(three) => {
            let shapes = [Q, KV, KV];
            std::array::from_fn(|i| {
                tape.enter(three[i].weight.module(), Group::Attention);
                linear(tape, x, three[i], shapes[i], run, &tensors::LINEAR_INPUT)
            })
        }
        Qkv::Fused(one) => {
            tape.enter(one.weight.module(), Group::Attention);
            let all = linear(tape, x, one, QKV, run, &tensors::LINEAR_INPUT);
            let parts = tape.slices("slice", all, [Q, KV, KV]);
            tape.drop(all);
            parts
        }
    };
    if let Some([q_norm, k_norm]) = &attention.qk_norm {
        q = replace(tape, q, |tape, q| norm(tape, q, q_norm, run.frozen));
        k = replace(tape, k, |tape, k| norm(tape, k, k_norm, run.frozen));
    }
    if attention.rotary {
        tape.enter("self_attn.rotary", Group::Attention);
        let table = run.compute.weight;
        let (plain_q, plain_k) = (q, k);
        q = rotate(tape, q, table);
        k = rotate(tape, k, table);
        tape.drop(plain_q);
        tape.drop(plain_k);
    }

    tape.enter("self_attn", Group::Attention);
    let low = run.compute.matmul;
    let masked = attention.masked(tape.numbers(), run.padding);
    let flash = match run.kernel {
        Kernel::Eager => None,
        _ if low == Dtype::Fp32 => Some(false),
        Kernel::Flash => Some(true),
        Kernel::Sdpa => Some(!masked && flash_takes(tape)),
    };
    let out = match flash {
        None => eager(tape, [q, k, v], low, attention),
        Some(true) => fused(tape, [q, k, v], low, Fused::Flash),
        Some(false) => fused(tape, [q, k, v], low, Fused::Efficient { masked }),
    };
    tape.enter(attention.out.weight.module(), Group::Attention);
    let y = linear(tape, out, attention.out, STREAM, run, &tensors::ATTENTION_OUTPUT);
    for held in [out, q, k, v] {
        tape.drop(held);
    }
    y
}

/// flash attention's limit on the head dimension.
fn flash_takes(tape: &Tape) -> bool {
    tape.numbers().get(Symbol::D) <= 256
}

fn replace(tape: &mut Tape, old: Var, make: impl FnOnce(&mut Tape, Var) -> Var) -> Var {
    let new = make(tape, old);
    tape.drop(old);
    new
}

/// `x·cos + rotate_half(x)·sin`: keeps only the tables, which are counted once for all layers.
fn rotate(tape: &mut Tape, projected: Var, table: Dtype) -> Var {
    let shape = tape.shape(projected);
    let half = shape.with_last(Dim::Over(Symbol::D, 2));
    let wide = if table == Dtype::Fp32 { Dtype::Fp32 } else { tape.dtype(projected) };
    // [b, a, s, d] here, [b, s, a·d] in the projection: the gradient is copied on its way back.
    let x = tape.view("transpose", projected, shape, Back::Fresh);
    let tables = tape.foreign(ROTARY, table, false);
    let straight = tape.run("mul cos", &[x, tables], shape, wide, Back::Fresh);
    let first = tape.view("slice", x, half, Back::Fresh);
    let second = tape.view("slice", x, half, Back::Fresh);
    let dtype = tape.dtype(x);
    let negated = tape.run("neg", &[second], half, dtype, Back::Fresh);
    let turned = tape.run("cat", &[negated, first], shape, dtype, Back::Views);
    for done in [negated, first, second] {
        tape.drop(done);
    }
    let crossed = tape.run("mul sin", &[turned, tables], shape, wide, Back::Fresh);
    tape.drop(turned);
    let out = tape.run("add", &[straight, crossed], shape, wide, Back::Through);
    for done in [straight, crossed, x] {
        tape.drop(done);
    }
    out
}

/// A 16-bit copy where autocast's rotary left fp32, else one more holder of the same tensor.
fn lowered(tape: &mut Tape, x: Var, low: Dtype) -> Var {
    let shape = tape.shape(x);
    if tape.dtype(x) == low {
        tape.view("view", x, shape, Back::Through)
    } else {
        tape.run("cast", &[x], shape, low, Back::Through)
    }
}

#[derive(Clone, Copy)]
enum Fused {
    Flash,
    Efficient { masked: bool },
}

/// The fused kernels: q, k, v, the output and one fp32 per head and token are kept; no scores.
fn fused(tape: &mut Tape, qkv: [Var; 3], low: Dtype, kernel: Fused) -> Var {
    let [q, mut k, mut v] = qkv.map(|x| lowered(tape, x, low));
    if let Fused::Efficient { masked: true } = kernel {
        k = replace(tape, k, repeat);
        v = replace(tape, v, repeat);
    }
    let name = match kernel {
        Fused::Flash => "flash attention",
        Fused::Efficient { .. } => "efficient attention",
    };
    let out = tape.run(name, &[q, k, v], Q, low, Back::Fresh);
    tape.save(q, &tensors::QUERY);
    tape.save(k, &tensors::KEY);
    tape.save(v, &tensors::VALUE);
    tape.save(out, &tensors::ATTENTION_OUTPUT);
    match kernel {
        Fused::Flash => {
            tape.save_new(&tensors::LOGSUMEXP, Shape::new(&[B, A, S]), Dtype::Fp32);
            tape.save_new(&tensors::RNG_STATE, Shape::new(&[Dim::Const(3)]), Dtype::Int64);
        }
        Fused::Efficient { masked } => {
            tape.save_new(&tensors::LOGSUMEXP, Shape::new(&[B, A, Dim::RoundUp(Symbol::S, 32)]), Dtype::Fp32);
            tape.save_new(&tensors::RNG_STATE, Shape::new(&[Dim::Const(2)]), Dtype::Int64);
            if masked {
                tape.save_mask(&tensors::EXPANDED_MASK, Shape::new(&[B, S, S]), low);
            }
        }
    }
    for done in [q, k, v] {
        tape.drop(done);
    }
    out
}

/// Key/value heads repeated to the number of query heads.
fn repeat(tape: &mut Tape, x: Var) -> Var {
    if tape.numbers().get(Symbol::K) == tape.numbers().get(Symbol::A) {
        return tape.view("view", x, Q, Back::Through);
    }
    let dtype = tape.dtype(x);
    tape.run("repeat_kv", &[x], Q, dtype, Back::Fresh)
}

/// Scores as tensors: `softmax(q·kᵀ, fp32)` and its 16-bit copy are kept, both `b·a·s²`.
fn eager(tape: &mut Tape, qkv: [Var; 3], low: Dtype, attention: &Attention) -> Var {
    let [q, k, v] = qkv;
    let k = repeat(tape, k);
    let v = repeat(tape, v);
    let [low_q, low_k] = [q, k].map(|x| lowered(tape, x, low));
    let product = tape.run("matmul", &[low_q, low_k], SCORES, low, Back::Fresh);
    tape.save_factors([(low_q, &tensors::QUERY), (low_k, &tensors::KEY)]);
    tape.drop(low_q);
    tape.drop(low_k);
    let scaled = tape.run("scale", &[product], SCORES, low, Back::Fresh);
    tape.drop(product);
    let masked = tape.run("mask add", &[scaled], SCORES, low, Back::Through);
    tape.drop(scaled);
    let mut scores = masked;
    if low != Dtype::Fp32 {
        let wide = tape.run("to fp32", &[masked], SCORES, Dtype::Fp32, Back::Through);
        scores = wide;
    }
    let mut probabilities = tape.run("softmax", &[scores], SCORES, Dtype::Fp32, Back::FreshWithScratch);
    tape.save(probabilities, &tensors::SOFTMAX_FP32);
    tape.drop(scores);
    if low != Dtype::Fp32 {
        let cast = tape.run("cast", &[probabilities], SCORES, low, Back::Through);
        tape.drop(probabilities);
        tape.drop(masked);
        probabilities = cast;
    }
    if attention.dropout > 0.0 {
        let dropped = tape.run("dropout", &[probabilities], SCORES, low, Back::Fresh);
        tape.save_new(&tensors::DROPOUT_MASK, SCORES, Dtype::Bool);
        tape.drop(probabilities);
        probabilities = dropped;
    }
    let mixed = tape.run("matmul", &[probabilities, v], Q, low, Back::Fresh);
    tape.save_factors([(probabilities, &tensors::PROBABILITIES), (v, &tensors::VALUE)]);
    let out = tape.run("contiguous", &[mixed], Q, low, Back::Through);
    for done in [mixed, probabilities, k, v] {
        tape.drop(done);
    }
    out
}
