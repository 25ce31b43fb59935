//! The attention core: flash, memory-efficient, or scores as tensors.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Shape, Symbol};
use super::relative::{self, Bias};
use super::{A, B, S, replace};
use crate::architecture::{Param, Softmax};
use crate::text::tensors;

/// Which code computes the attention core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// `scaled_dot_product_attention`: flash where dtype, mask and heads allow, else memory-efficient.
    Sdpa,
    /// flash-attn: windows inside the kernel, no mask tensor.
    Flash,
    /// Scores and probabilities as tensors.
    Eager,
}

/// What the core depends on beside q, k and v.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of one operator")]
pub(super) struct Core {
    pub(super) kernel: Kernel,
    /// Element type of the products.
    pub(super) low: Dtype,
    /// A mask tensor is needed.
    pub(super) masked: bool,
    /// Attention weights pass through dropout.
    pub(super) dropout: bool,
    /// Softmax of eager attention.
    pub(super) softmax: Softmax,
    /// Scores pass through a tanh.
    pub(super) soft_cap: bool,
    /// Each token sees only those before it: eager attention adds a mask.
    pub(super) causal: bool,
    /// How q and k are laid out.
    pub(super) layout: Layout,
    /// Tokens that keys and values are made of.
    pub(super) keys: Dim,
    /// A score `[a]` beside those of the tokens; fused kernels do not know it.
    pub(super) sinks: Option<Param>,
    /// What is added to the scores: `[a, s, keys]`, for all sequences.
    pub(super) bias: Option<Bias>,
}

/// How q and k are laid out in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Token by token, straight from their projections.
    Projected,
    /// Token by token, rotated.
    Rotated,
    /// Head by head: joined by `cat`.
    Joined,
}

impl Core {
    /// `[b, a, s, keys]`
    pub(super) const fn scores(&self) -> Shape {
        Shape::new(&[B, A, S, self.keys])
    }
}

/// The widest head that flash attention takes.
const FLASH_WIDEST: u64 = 256;

/// q `[b, s, a, d]`, k and v (perhaps of fewer heads) → `[b, s, a, dv]`.
pub(super) fn core(tape: &mut Tape, qkv: [Var; 3], core: Core) -> Var {
    let width = |tape: &Tape, var| tape.shape(var).dims().last().map_or(0, |dim| dim.value(tape.numbers()));
    let (wide, narrow) = (width(tape, qkv[0]), width(tape, qkv[2]));
    let flash = match core.kernel {
        Kernel::Eager => return eager(tape, qkv, core),
        Kernel::Sdpa if core.sinks.is_some() => return eager(tape, qkv, core),
        _ if core.low == Dtype::Fp32 => false,
        Kernel::Flash => true,
        Kernel::Sdpa => !core.masked && core.bias.is_none() && wide == narrow && wide <= FLASH_WIDEST,
    };
    fused(tape, qkv, core, flash)
}

/// The shape of the output: q's heads, v's width.
fn output(tape: &Tape, q: Var, v: Var) -> Shape {
    let last = tape.shape(v).dims().last().copied().unwrap_or(Dim::Const(1));
    tape.shape(q).with_last(last)
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

/// The fused kernels: q, k, v, the output and one fp32 per head and token are kept; no scores.
fn fused(tape: &mut Tape, qkv: [Var; 3], core: Core, flash: bool) -> Var {
    let [q, mut k, mut v] = qkv.map(|x| lowered(tape, x, core.low));
    if !flash && core.masked {
        k = replace(tape, k, repeat);
        v = replace(tape, v, repeat);
    }
    let name = if flash { "flash attention" } else { "efficient attention" };
    let shape = output(tape, q, v);
    let bias = core.bias.map(|bias| relative::as_mask(tape, bias, core));
    let inputs: Vec<Var> = [q, k, v].into_iter().chain(bias.as_ref().map(|bias| bias.read)).collect();
    // In 16 bits the efficient kernel adds up the gradient of q in fp32, 64 rows at a time
    // (pytorch/aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_backward.h, `workspace_elements_gq`).
    let width = tape.shape(q).dims().last().copied().unwrap_or(Dim::Const(1));
    let sums = Shape::new(&[B, Dim::RoundUp(Symbol::S, 64), A, width]);
    let back = if flash || core.low == Dtype::Fp32 {
        Back::Fresh
    } else {
        Back::FreshWithScratch(sums, Dtype::Fp32)
    };
    let out = tape.run(name, &inputs, shape, core.low, back);
    tape.save(q, &tensors::QUERY);
    tape.save(k, &tensors::KEY);
    tape.save(v, &tensors::VALUE);
    tape.save(out, &tensors::ATTENTION_OUTPUT);
    if let Some(bias) = &bias {
        tape.save(bias.read, &tensors::POSITION_BIAS);
    }
    if flash {
        tape.save_new(&tensors::LOGSUMEXP, Shape::new(&[B, A, S]), Dtype::Fp32);
        tape.save_new(&tensors::RNG_STATE, Shape::new(&[Dim::Const(3)]), Dtype::Int64);
    } else {
        tape.save_new(&tensors::LOGSUMEXP, Shape::new(&[B, A, Dim::RoundUp(Symbol::S, 32)]), Dtype::Fp32);
        // With dropout its seeds live on the host.
        if !core.dropout {
            tape.save_new(&tensors::RNG_STATE, Shape::new(&[Dim::Const(2)]), Dtype::Int64);
        }
        if core.masked && bias.is_none() {
            tape.save_mask(&tensors::EXPANDED_MASK, Shape::new(&[B, S, core.keys]), core.low);
        }
    }
    for done in [q, k, v].into_iter().chain(bias.iter().flat_map(relative::Mask::made)) {
        tape.drop(done);
    }
    // Flash attention writes its output in q's layout; the output projection needs token by token.
    if flash && core.layout == Layout::Joined {
        return replace(tape, out, |tape, x| tape.run("contiguous", &[x], shape, core.low, Back::Fresh));
    }
    out
}

/// As [`lowered`], for a batched product: it needs its factors head by head, so that of several sequences that are laid
/// out token by token (`scattered`), or inside a wider tensor, a copy is made.
fn in_a_row(tape: &mut Tape, x: Var, low: Dtype, scattered: bool) -> Var {
    let x = lowered(tape, x, low);
    if tape.numbers().get(Symbol::B) == 1 || !(scattered || tape.is_part(x)) {
        return x;
    }
    replace(tape, x, |tape, x| tape.run("contiguous", &[x], tape.shape(x), low, Back::Through))
}

/// Heads before tokens. The gradient of a product comes head by head and is copied on its way back to the projection
/// (one transposed product's, of one sequence, lies right).
fn by_head(tape: &mut Tape, x: Var, copied: bool) -> Var {
    let back = if copied { Back::Fresh } else { Back::Through };
    tape.view("transpose", x, tape.shape(x), back)
}

/// Key/value heads repeated to the number of query heads.
fn repeat(tape: &mut Tape, x: Var) -> Var {
    let all = tape.shape(x).with_heads(A);
    if all.elements(tape.numbers()) == tape.shape(x).elements(tape.numbers()) {
        return tape.view("view", x, all, Back::Through);
    }
    let dtype = tape.dtype(x);
    tape.run("repeat_kv", &[x], all, dtype, Back::Fresh)
}

/// Scores as tensors: the softmax and what multiplies the values are kept, both `b·a·s²`.
///
/// Language models take the softmax in fp32 and cast it; older ones take it in their own type, which autocast makes
/// fp32 all the same.
#[inline(never)] // apart: a first visit has none
fn eager(tape: &mut Tape, qkv: [Var; 3], core: Core) -> Var {
    let low = core.low;
    let shape = core.scores();
    let [q, k, v] = qkv;
    let projected = core.layout == Layout::Projected;
    let several = tape.numbers().get(Symbol::B) > 1;
    let [q, k] = [(q, projected), (k, projected && several)].map(|(x, copied)| by_head(tape, x, copied));
    let alone = core.layout != Layout::Joined || (several && tape.is_part(v));
    let v = by_head(tape, v, alone);
    let repeated = tape.shape(k) != tape.shape(k).with_heads(A);
    let [k, v] = [k, v].map(|x| replace(tape, x, repeat));
    let scattered = core.layout != Layout::Joined;
    let low_q = in_a_row(tape, q, low, scattered);
    let low_k = in_a_row(tape, k, low, scattered && !repeated);
    let [low_q, low_k] = if core.softmax == Softmax::WideScores && tape.weight_dtype() == low {
        [low_q, low_k].map(|x| {
            replace(tape, x, |tape, x| tape.run("to fp32", &[x], tape.shape(x), Dtype::Fp32, Back::Through))
        })
    } else {
        [low_q, low_k]
    };
    let wide = tape.dtype(low_q);
    let product = tape.run("matmul", &[low_q, low_k], shape, wide, Back::Fresh);
    tape.save_factors([(low_q, &tensors::QUERY), (low_k, &tensors::KEY)]);
    tape.drop(low_q);
    tape.drop(low_k);
    let scores = replace(tape, product, |tape, x| tape.run("scale", &[x], shape, wide, Back::Fresh));
    let scores = added(tape, scores, core);
    let own = tape.dtype(scores);
    if let Some(sinks) = core.sinks {
        let factor = beside_sinks(tape, scores, sinks, core);
        return mixed(tape, factor, [q, k, v], core, scattered && !repeated);
    }
    let wide = core.softmax != Softmax::Own || tape.weight_dtype() != low;
    let soft = if wide { Dtype::Fp32 } else { low };
    let input = if soft == own { scores } else { tape.run("to fp32", &[scores], shape, soft, Back::Through) };
    let mut probabilities = tape.run("softmax", &[input], shape, soft, Back::FreshWithScratch(shape, soft));
    tape.save(probabilities, &tensors::SOFTMAX);
    if input != scores {
        tape.drop(input);
    }
    let cast_first = core.softmax != Softmax::Own;
    if cast_first && soft != low {
        probabilities =
            replace(tape, probabilities, |tape, x| tape.run("cast", &[x], shape, low, Back::Through));
    }
    tape.drop(scores);
    if core.dropout {
        probabilities = replace(tape, probabilities, |tape, x| {
            let dtype = tape.dtype(x);
            let dropped = tape.run("dropout", &[x], shape, dtype, Back::Fresh);
            tape.save_new(&tensors::DROPOUT_MASK, shape, Dtype::Bool);
            dropped
        });
    }
    // Autocast casts what the product reads.
    mixed(tape, probabilities, [q, k, v], core, scattered && !repeated)
}

/// The softmax over the scores and one more, `sinks`, after their maximum was taken off; that one is cut off again
/// (transformers, `modeling_gpt_oss.py`). Kept: the softmax, and where each maximum was.
#[inline(never)] // apart: a first visit has none
fn beside_sinks(tape: &mut Tape, scores: Var, sinks: Param, core: Core) -> Var {
    let more = match core.keys {
        Dim::Sym(symbol) => Dim::Plus(symbol, 1),
        other => other,
    };
    let wider = core.scores().with_last(more);
    let dtype = tape.promoted(tape.dtype(scores));
    let column = core.scores().with_last(Dim::Const(1));
    let learned = tape.view("expand", scores, column, Back::Bias(sinks));
    let combined = tape.run("cat", &[scores, learned], wider, dtype, Back::Views);
    tape.drop(learned);
    tape.drop(scores);
    let largest = tape.run("max", &[combined], column, dtype, Back::Fresh);
    tape.save_new(&tensors::SINK_MAXIMUM, column, Dtype::Int64);
    let shifted = tape.run("sub", &[combined, largest], wider, dtype, Back::Through);
    tape.drop(largest);
    tape.drop(combined);
    let soft = tape.run("softmax", &[shifted], wider, dtype, Back::Fresh);
    tape.save(soft, &tensors::SOFTMAX);
    tape.drop(shifted);
    let cut = tape.view("slice", soft, core.scores(), Back::Fresh);
    tape.drop(soft);
    cut
}

/// The product of probabilities and values.
fn mixed(tape: &mut Tape, probabilities: Var, [q, k, v]: [Var; 3], core: Core, scattered: bool) -> Var {
    let low = core.low;
    let factor = lowered(tape, probabilities, low);
    let low_v = in_a_row(tape, v, low, scattered);
    let shape = output(tape, q, v);
    let mixed = tape.run("matmul", &[factor, low_v], shape, low, Back::Fresh);
    tape.save_factors([(factor, &tensors::PROBABILITIES), (low_v, &tensors::VALUE)]);
    tape.drop(factor);
    tape.drop(low_v);
    let out = tape.run("contiguous", &[mixed], shape, low, Back::Through);
    for done in [mixed, q, k, v] {
        tape.drop(done);
    }
    tape.hold_in_layer(Some(probabilities));
    out
}

/// What is done to the scores before the softmax: a tanh, a bias, a mask.
fn added(tape: &mut Tape, mut scores: Var, core: Core) -> Var {
    let shape = core.scores();
    let low = core.low;
    if core.soft_cap {
        scores = replace(tape, scores, |tape, x| tape.run("div cap", &[x], shape, low, Back::Fresh));
        scores = replace(tape, scores, |tape, x| {
            let tanh = tape.run("tanh", &[x], shape, low, Back::Fresh);
            tape.save(tanh, &tensors::SOFT_CAP_TANH);
            tanh
        });
        scores = replace(tape, scores, |tape, x| tape.run("mul cap", &[x], shape, low, Back::Fresh));
    }
    if let Some(bias) = core.bias {
        // A table in fp32 makes the scores fp32, whatever the product was.
        let dtype = if tape.dtype(bias.var) == Dtype::Fp32 { Dtype::Fp32 } else { low };
        scores =
            replace(tape, scores, |tape, x| tape.run("bias add", &[x, bias.var], shape, dtype, Back::Sum));
    }
    if core.causal {
        let dtype = tape.dtype(scores);
        scores = replace(tape, scores, |tape, x| tape.run("mask add", &[x], shape, dtype, Back::Through));
    }
    scores
}
