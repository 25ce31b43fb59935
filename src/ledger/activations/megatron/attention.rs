//! Self attention (`transformer/attention.py`) and its core: flash kernels, or scores as tensors.

use super::super::super::tape::{Back, Tape, Var};
use super::super::super::{Dim, Dtype, Group, Shape, Symbol, Tensor};
use super::super::core::Kernel;
use super::super::{A, B, D, K, Run, S};
use super::{Megatron, Travel, column, normalised, perhaps_again, row};
use crate::architecture::{Attention, Qkv, Rotary};
use crate::text::tensors;

const Q: Shape = Shape::new(&[B, S, A, D]);
const KV: Shape = Shape::new(&[B, S, K, D]);
const QKV: Shape = Shape::new(&[B, S, Dim::Lin(Symbol::A, 2, Symbol::K), D]);
/// `[b, a, s, s]`
const SCORES: Shape = Shape::new(&[B, A, S, S]);

/// What the core of attention depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    pub(super) kernel: Kernel,
    pub(super) dropout: bool,
}

#[expect(clippy::many_single_char_names, reason = "q, k and v are the field's names")]
pub(super) fn attention(
    tape: &mut Tape,
    x: Var,
    attention: &Attention,
    run: &Run,
    megatron: &Megatron,
) -> Var {
    let (Qkv::Split(one) | Qkv::Fused(one) | Qkv::Separate([one, ..])) = attention.qkv;
    let mixed = column(tape, x, one, true, QKV, megatron, &tensors::LINEAR_INPUT);
    tape.enter("self_attention", Group::Attention);
    let dtype = tape.dtype(mixed);
    let [mut q, mut k, mut v] = tape.split("split", mixed, [Q, KV, KV]);
    tape.drop(mixed);
    let number = |symbol| tape.numbers().get(symbol);
    let (heads, kv_heads) = (number(Symbol::A), number(Symbol::K));
    // Groups of several queries each do not lie in a row: they are copied.
    if kv_heads > 1 && heads > kv_heads {
        q = replace(tape, q, |tape, q| tape.run("reshape", &[q], Q, dtype, Back::Through));
    }
    if let Some([q_norm, k_norm]) = &attention.qk_norm {
        q = replace(tape, q, |tape, q| normalised(tape, q, q_norm));
        k = replace(tape, k, |tape, k| normalised(tape, k, k_norm));
        tape.enter("self_attention", Group::Attention);
    }
    let rotary = attention.rotary != Rotary::None;
    if rotary {
        q = replace(tape, q, |tape, q| rotate(tape, q, megatron));
        k = replace(tape, k, |tape, k| rotate(tape, k, megatron));
        // Transformer Engine's kernels know no layout in which only v is part of a larger tensor: it is copied
        // (`dot_product_attention/utils.py`, `get_qkv_layout`).
        if megatron.engine && run.kernel != Kernel::Eager {
            v = replace(tape, v, |tape, v| tape.run("contiguous", &[v], KV, dtype, Back::Through));
        }
    }
    let core = Core { kernel: run.kernel, dropout: attention.dropout > 0.0 };
    let out = core_attention(tape, [q, k, v], core, megatron);
    let y = row(tape, out, attention.out, megatron, &tensors::ATTENTION_OUTPUT);
    for held in [out, q, k, v] {
        tape.drop(held);
    }
    y
}

fn replace(tape: &mut Tape, old: Var, make: impl FnOnce(&mut Tape, Var) -> Var) -> Var {
    let new = make(tape, old);
    tape.drop(old);
    new
}

/// Rotary positions. One kernel keeps nothing but the frequencies, which all layers share (`fused_rope.py`); Megatron's
/// own operators cast cosines and sines for each of q and k, and keep those (`rope_utils.py`).
pub(super) fn rotate(tape: &mut Tape, x: Var, megatron: &Megatron) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    if megatron.engine {
        return tape.run("rope", &[x], shape, dtype, Back::Fresh);
    }
    let width = shape.dims().last().copied().unwrap_or(Dim::Const(1));
    let table = Shape::new(&[S, width]);
    let half = tape.run("rotate_half", &[x], shape, dtype, Back::Fresh);
    let straight = tape.run("mul cos", &[x], shape, dtype, Back::Fresh);
    tape.save_new(&tensors::ROTARY_COS_CAST, table, dtype);
    let crossed = tape.run("mul sin", &[half], shape, dtype, Back::Fresh);
    tape.save_new(&tensors::ROTARY_SIN_CAST, table, dtype);
    tape.drop(half);
    let sum = tape.run("add", &[straight, crossed], shape, dtype, Back::Through);
    tape.drop(straight);
    tape.drop(crossed);
    let joined = tape.run("cat", &[sum], shape, dtype, Back::Views);
    tape.drop(sum);
    joined
}

/// q, k, v → `[b, s, a, dv]`; with `recompute_modules core_attn` only q, k and v are kept.
pub(super) fn core_attention(tape: &mut Tape, qkv: [Var; 3], core: Core, megatron: &Megatron) -> Var {
    let [q, k, v] = qkv;
    tape.enter("self_attention.core_attention", Group::Attention);
    let kept: [(Var, &'static Tensor); 3] = [(q, &tensors::QUERY), (k, &tensors::KEY), (v, &tensors::VALUE)];
    perhaps_again(tape, megatron.again.core_attention, &kept, |tape| {
        tape.enter("self_attention.core_attention", Group::Attention);
        match core.kernel {
            Kernel::Eager => scores(tape, qkv, core, megatron),
            Kernel::Sdpa | Kernel::Flash => flash(tape, qkv, megatron),
        }
    })
}

/// The output of attention over q and v.
fn output(tape: &Tape, q: Var, v: Var) -> Shape {
    let last = tape.shape(v).dims().last().copied().unwrap_or(Dim::Const(1));
    tape.shape(q).with_last(last)
}

/// Kept: q, k, v, the output, one fp32 per head and token, two numbers of random state.
fn flash(tape: &mut Tape, [q, k, v]: [Var; 3], megatron: &Megatron) -> Var {
    if megatron.context == Some(Travel::Exchange) {
        return exchanged(tape, [q, k, v], megatron);
    }
    let travelling = travelling(tape, [q, k, v], megatron);
    let out = kernel(tape, [q, k, v], megatron);
    tape.drop_all(travelling);
    out
}

fn kernel(tape: &mut Tape, [q, k, v]: [Var; 3], megatron: &Megatron) -> Var {
    let (shape, dtype) = (output(tape, q, v), tape.dtype(q));
    let out = tape.run("flash attention", &[q, k, v], shape, dtype, Back::Fresh);
    tape.save(q, &tensors::QUERY);
    tape.save(k, &tensors::KEY);
    tape.save(v, &tensors::VALUE);
    tape.save(out, &tensors::ATTENTION_OUTPUT);
    tape.save_new(&tensors::LOGSUMEXP, Shape::new(&[B, A, S]), Dtype::Fp32);
    let wide = tape.shape(q).dims().last() != tape.shape(v).dims().last();
    // Heads of two widths: PyTorch's memory-efficient kernel, whose seeds are two tensors.
    let numbers = if wide || megatron.engine { 2 } else { 3 };
    tape.save_new(&tensors::RNG_STATE, Shape::new(&[Dim::Const(numbers)]), Dtype::Int64);
    out
}

/// Heads are exchanged for tokens before the kernel and back after it: each tensor has as many elements as before, and
/// the kernel keeps those that it sees, its output among them (`context_parallel.py`, `AttnFuncWithCPAndQKVOA2A`).
fn exchanged(tape: &mut Tape, qkv: [Var; 3], megatron: &Megatron) -> Var {
    let exchange = |tape: &mut Tape, x: Var| {
        let (shape, dtype) = (tape.shape(x), tape.dtype(x));
        tape.run("all-to-all", &[x], shape, dtype, Back::Fresh)
    };
    let own = qkv.map(|x| exchange(tape, x));
    let inner = kernel(tape, own, megatron);
    tape.drop_all(own);
    let out = exchange(tape, inner);
    tape.drop(inner);
    out
}

/// What the sequence's other ranks bring while the kernel runs: on a ring the shares of keys and values as they arrive,
/// and an output for each (`AttnFuncWithCPAndKVP2P`); or all keys and values at once (`AttnFuncWithCPAndKVAllGather`).
fn travelling(tape: &mut Tape, [q, k, v]: [Var; 3], megatron: &Megatron) -> Vec<Var> {
    let dtype = tape.dtype(k);
    let [keys, values] = [tape.shape(k), tape.shape(v)];
    let partial = output(tape, q, v);
    let mut shapes = Vec::new();
    for _ in 0..megatron.cp {
        match megatron.context {
            Some(Travel::Ring) => shapes.extend([keys, values, partial]),
            Some(Travel::Gather) => shapes.extend([keys, values]),
            Some(Travel::Exchange) | None => {}
        }
    }
    shapes.into_iter().map(|shape| tape.constant("other ranks' share", shape, dtype)).collect()
}

/// Scores and probabilities as tensors. Megatron's own (`dot_product_attention.py`) takes the softmax in fp32, keeps it,
/// and its 16-bit cast for the product; Transformer Engine's fused softmax keeps one of 16 bits (`softmax.py`).
fn scores(tape: &mut Tape, [q, k, v]: [Var; 3], core: Core, megatron: &Megatron) -> Var {
    let dtype = tape.dtype(q);
    let [keys, values] = [k, v].map(|x| repeated(tape, x));
    // `baddbmm` reads a buffer of this size that stays.
    let product = tape.run("baddbmm", &[q, keys], SCORES, dtype, Back::Fresh);
    tape.save_factors([(q, &tensors::QUERY), (keys, &tensors::KEY)]);
    let mut probabilities = if megatron.engine {
        let soft = tape.run("fused softmax", &[product], SCORES, dtype, Back::Through);
        tape.save(soft, &tensors::SOFTMAX);
        soft
    } else {
        let wide = tape.run("float", &[product], SCORES, Dtype::Fp32, Back::Through);
        // Its backward multiplies gradient and softmax first (`host_softmax_backward`).
        let product = Back::Beside(&tensors::SCRATCH, SCORES, Dtype::Fp32);
        let soft = tape.run("softmax", &[wide], SCORES, Dtype::Fp32, product);
        tape.save(soft, &tensors::SOFTMAX);
        let low = tape.run("cast", &[soft], SCORES, dtype, Back::Through);
        tape.drop(wide);
        tape.drop(soft);
        low
    };
    if core.dropout {
        probabilities = replace(tape, probabilities, |tape, x| {
            let dropped = tape.run("dropout", &[x], SCORES, dtype, Back::Fresh);
            tape.save_new(&tensors::DROPOUT_MASK, SCORES, Dtype::Bool);
            dropped
        });
    }
    let shape = output(tape, q, values);
    let mixed = tape.run("bmm", &[probabilities, values], shape, dtype, Back::Fresh);
    tape.save_factors([(probabilities, &tensors::PROBABILITIES), (values, &tensors::VALUE)]);
    let out = tape.run("contiguous", &[mixed], shape, dtype, Back::Through);
    for done in [mixed, probabilities, product, keys, values] {
        tape.drop(done);
    }
    out
}

/// Key/value heads, one for each query head.
fn repeated(tape: &mut Tape, x: Var) -> Var {
    let all = tape.shape(x).with_heads(A);
    if all.elements(tape.numbers()) == tape.shape(x).elements(tape.numbers()) {
        return tape.view("view", x, all, Back::Through);
    }
    let dtype = tape.dtype(x);
    tape.run("repeat_interleave", &[x], all, dtype, Back::Fresh)
}
