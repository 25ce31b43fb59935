//! Linear layers: what they keep depends on whether the weight is trained, on autocast, and on adapters.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Shape, Symbol, Tensor};
use super::Run;
use crate::architecture::{Linear, adapters};
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
    let base = plain(tape, x, linear, out, run, kept);
    match run.lora.filter(|lora| lora.targets.covers(linear.weight.module())) {
        None => base,
        Some(lora) => adapter(tape, x, base, linear, run, lora.dtype, lora.dropout),
    }
}

fn plain(tape: &mut Tape, x: Var, linear: Linear, out: Shape, run: &Run, kept: &'static Tensor) -> Var {
    let Linear { weight, bias } = linear;
    let cast = run.compute.autocast();
    // Without autocast the product is of its input's type (an fp32 adapter in a 16-bit model).
    let dtype = if cast { run.compute.matmul } else { tape.dtype(x) };
    let copied = tape.dtype(x) != dtype;
    let shape = tape.shape(x);
    let input = if copied { tape.run("cast", &[x], shape, dtype, Back::Through) } else { x };
    let copy = cast.then(|| tape.weight_copy(weight.shape, dtype));
    if let Some(bias) = bias.filter(|_| cast && !run.frozen) {
        tape.cache(bias.shape, dtype);
    }
    let back = if run.frozen { Back::Fresh } else { Back::Linear { weight, bias, cast } };
    let y = tape.run("linear", &[input], out, dtype, back);
    if !run.frozen {
        tape.save(input, if copied { &tensors::AUTOCAST_INPUT } else { kept });
    }
    if let Some(copy) = copy {
        // Autocast's cache holds only copies of weights that are trained.
        tape.keep_weight_copy(copy, !run.frozen);
    }
    if copied {
        tape.drop(input);
    }
    y
}

/// `base + B(A(dropout(x)))·scale`, in the adapter's type; then cast back.
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
    let inner = plain(tape, input, Linear { weight: a, bias: None }, narrow, &trained, kept);
    let wide = plain(tape, inner, Linear { weight: b, bias: None }, out, &trained, &tensors::LORA_INNER);
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
