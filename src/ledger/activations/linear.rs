//! Linear layers: what they keep depends on whether the weight is trained, on autocast, and on adapters.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Shape, Symbol, Tensor};
use super::Run;
use crate::architecture::{Linear, Param, adapters};
use crate::ledger::quantized::{Library, Quantized};
use crate::text::tensors;

/// `torch.nn.functional.linear`: keeps its input, as `kept`, when the weight is trained. Under autocast input and
/// weight are cast first, and it is the copies that are kept: one per linear, for only casts of weights are shared.
///
/// With a LoRA adapter on it (peft, `tuners/lora/layer.py`), the adapter's own path is added to the output.
pub(super) fn linear(
    tape: &mut Tape,
    x: Var,
    linear: Linear,
    out: Shape,
    run: &Run,
    kept: &'static Tensor,
) -> Var {
    let adapted = run.lora.is_some_and(|lora| lora.targets.covers(linear.weight.module()));
    let base = match run.quantized.filter(|_| Quantized::covers(&linear.weight)) {
        Some(stored) => quantized(tape, x, linear.weight, out, stored, adapted),
        None => plain(tape, x, linear, out, run, run.compute.weight, kept),
    };
    match run.lora.filter(|lora| lora.targets.covers(linear.weight.module())) {
        None => base,
        Some(lora) => adapter(tape, x, base, linear, run, lora.dtype, lora.dropout),
    }
}

/// `stored`: element type of the weight.
fn plain(
    tape: &mut Tape,
    x: Var,
    linear: Linear,
    out: Shape,
    run: &Run,
    stored: Dtype,
    kept: &'static Tensor,
) -> Var {
    let Linear { weight, bias } = linear;
    let cast = run.autocast && stored == Dtype::Fp32;
    // Without autocast the product is of its input's type (an fp32 adapter in a 16-bit model).
    let dtype = if run.autocast { run.compute.matmul } else { tape.dtype(x) };
    let copied = tape.dtype(x) != dtype;
    let shape = tape.shape(x);
    let input = if copied { tape.run("cast", &[x], shape, dtype, Back::Through) } else { x };
    let copy = cast.then(|| tape.weight_copy(weight.shape, dtype));
    if let Some(bias) = bias.filter(|_| cast && !run.frozen) {
        tape.cache(bias.shape, dtype);
    }
    let back = if run.frozen { Back::Fresh } else { Back::Linear { weight, bias, cast } };
    let y = tape.run("linear", &[input], out, dtype, back);
    tape.workspace();
    if !run.frozen {
        tape.save(input, if copied { &tensors::AUTOCAST_INPUT } else { kept });
    }
    if let Some(copy) = copy {
        // Autocast's cache holds only copies of weights that are trained.
        tape.keep_weight_copy(copy, input, !run.frozen);
    }
    if copied {
        tape.drop(input);
    }
    y
}

/// A product in 16 bits of more rows than this makes the whole weight first; of fewer, a kernel reads the four bits
/// (bitsandbytes/backends/cuda/ops.py).
const DEQUANTIZES_ABOVE: u64 = 1536;

/// A frozen linear of bitsandbytes: nothing is kept but the weight itself, which backward makes wide again. The output
/// has the input's type. (`adapted`: peft clones the output of a 4-bit linear before it adds to it.)
#[inline(never)] // apart: a first visit has none
fn quantized(tape: &mut Tape, x: Var, weight: Param, out: Shape, stored: Quantized, adapted: bool) -> Var {
    let (own, shape) = (tape.dtype(x), tape.shape(x));
    if stored.rounds_input() {
        // LLM.int8 rounds an fp16 copy of the input (bitsandbytes/autograd/_functions.py, `MatMul8bitLt`).
        let half = tape.constant("half", shape, Dtype::Fp16);
        let rounded = tape.constant("int8", shape, Dtype::Byte);
        tape.drop(half);
        let y =
            tape.run("linear 8-bit", &[x], out, own, Back::Beside(&tensors::DEQUANTIZED, weight.shape, own));
        // `ctx.A`: no saved tensor, so recomputation does not release it.
        tape.keep(x, &tensors::LINEAR_INPUT, &tensors::INT8_INPUT);
        tape.drop(rounded);
        return y;
    }
    let low = stored.compute;
    let copied = own != low;
    let input = if copied { tape.run("cast", &[x], shape, low, Back::Through) } else { x };
    let width = shape.dims().last().map_or(1, |dim| dim.value(tape.numbers())).max(1);
    let bnb = stored.library == Library::Bitsandbytes;
    let wide = !bnb || shape.elements(tape.numbers()) / width > DEQUANTIZES_ABOVE;
    let scales = (wide && stored.nested()).then(|| {
        let scales = weight.shape.per_block(64);
        [(); 2].map(|()| tape.constant("dequantize scales", scales, Dtype::Fp32))
    });
    let whole = wide.then(|| tape.constant("dequantize", weight.shape, low));
    let mut y =
        tape.run("linear 4-bit", &[input], out, low, Back::Beside(&tensors::DEQUANTIZED, weight.shape, low));
    if wide {
        tape.workspace();
    }
    for done in whole.into_iter().chain(scales.into_iter().flatten()) {
        tape.drop(done);
    }
    if copied {
        tape.drop(input);
        let cast = tape.run("cast", &[y], out, own, Back::Through);
        tape.drop(y);
        y = cast;
    }
    if adapted && bnb {
        let clone = tape.run("clone", &[y], out, own, Back::Through);
        tape.drop(y);
        y = clone;
    }
    y
}

/// `base + B(A(dropout(x)))·scale`, in the adapter's type; then cast back.
#[inline(never)] // apart: a first visit has none
fn adapter(
    tape: &mut Tape,
    x: Var,
    base: Var,
    linear: Linear,
    run: &Run,
    dtype: Dtype,
    dropout: bool,
) -> Var {
    let (low, out) = (tape.dtype(base), tape.shape(base));
    let (a, b) = adapters::of(linear.weight);
    let shape = tape.shape(x);
    // peft's adapters on linears of bitsandbytes leave the cast to autocast (peft/tuners/lora/bnb.py).
    let left = run.quantized.is_some() && run.autocast;
    let stored = dtype;
    let dtype = if left { tape.dtype(x) } else { stored };
    let copied = tape.dtype(x) != dtype;
    let mut input = if copied { tape.run("to adapter dtype", &[x], shape, dtype, Back::Through) } else { x };
    if dropout {
        let dropped = tape.run("dropout", &[input], shape, dtype, Back::Fresh);
        tape.save_new(&tensors::DROPOUT_MASK, shape, Dtype::Bool);
        if copied {
            tape.drop(input);
        }
        input = dropped;
    }
    let owned = copied || dropout;
    let narrow = Shape::new(&[super::B, super::S, Dim::Sym(Symbol::Lora)]);
    let trained = Run { frozen: false, lora: None, ..*run };
    let kept = if copied || dropout { &tensors::LORA_INPUT } else { &tensors::LINEAR_INPUT };
    let inner = plain(tape, input, Linear { weight: a, bias: None }, narrow, &trained, stored, kept);
    let wide =
        plain(tape, inner, Linear { weight: b, bias: None }, out, &trained, stored, &tensors::LORA_INNER);
    tape.drop(inner);
    let wide_dtype = tape.dtype(wide);
    let scaled = tape.run("scale", &[wide], out, wide_dtype, Back::Fresh);
    tape.drop(wide);
    let sum_dtype = if wide_dtype == Dtype::Fp32 { Dtype::Fp32 } else { low };
    let sum = tape.run("add", &[base, scaled], out, sum_dtype, Back::Through);
    tape.drop(scaled);
    tape.drop(base);
    let result = if sum_dtype == low {
        sum
    } else {
        let result = tape.run("cast", &[sum], out, low, Back::Through);
        tape.drop(sum);
        result
    };
    if owned {
        tape.drop(input);
    }
    result
}
