//! RMS norms, as `LlamaRMSNorm` computes them (transformers, `modeling_llama.py`): in fp32, by Python operators.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Tensor};
use super::Run;
use crate::architecture::{Norm, Normalisation, Param};
use crate::text::tensors;

/// The norm that a layer has.
pub(super) fn norm(tape: &mut Tape, x: Var, norm: &Norm, run: &Run) -> Var {
    let frozen = run.freezes(&norm.weight);
    tape.enter(norm.weight.module(), norm.weight.group);
    match norm.kind {
        Normalisation::Rms if run.dtensor.is_some() => fused(tape, x, norm, frozen),
        Normalisation::Rms => rms_norm(tape, x, (norm.weight, frozen)),
        Normalisation::GemmaRms | Normalisation::WideRms | Normalisation::WideRmsCopied => {
            wide_norm(tape, x, (norm.weight, frozen), norm.kind)
        }
        Normalisation::WideLayer => wide_layer_norm(tape, x, (norm.weight, frozen)),
        Normalisation::T5Rms => t5_norm(tape, x, (norm.weight, frozen)),
        Normalisation::Layer => fused(tape, x, norm, frozen),
        Normalisation::Bare => bare_norm(tape, x),
    }
}

/// x in fp32: a copy when it is 16 bit, else itself; and what the ledger calls it when it is kept.
fn widened(tape: &mut Tape, x: Var) -> (Var, &'static Tensor) {
    if tape.dtype(x) == Dtype::Fp32 {
        return (x, &tensors::NORM_INPUT);
    }
    let shape = tape.shape(x);
    (tape.run("to fp32", &[x], shape, Dtype::Fp32, Back::Through), &tensors::NORM_FP32_INPUT)
}

/// `x²` averaged over what the weight spans (the last axis, or all heads together), and its inverse root: `rows` values
/// that backward reads.
fn inverse_rms(tape: &mut Tape, x32: Var, weight: Param, kept: &'static Tensor) -> (Var, Var) {
    let shape = tape.shape(x32);
    let row = shape.with_last(Dim::Const(1));
    let numbers = tape.numbers();
    let head = shape.dims().last().map_or(1, |width| width.value(numbers));
    let whole = weight.shape.elements(numbers) > head;
    let rows = if whole { row.with_heads(Dim::Const(1)) } else { row };
    let square = tape.run("pow", &[x32], shape, Dtype::Fp32, Back::Square);
    tape.save(x32, kept);
    let variance = tape.run("mean", &[square], rows, Dtype::Fp32, Back::Fresh);
    tape.drop(square);
    let shifted = tape.run("add", &[variance], rows, Dtype::Fp32, Back::Through);
    let scale = tape.run("rsqrt", &[shifted], rows, Dtype::Fp32, Back::Fresh);
    tape.save(scale, &tensors::NORM_RSQRT);
    tape.drop(shifted);
    (variance, scale)
}

/// `x · (1/rms)`, both kept.
fn normalise(tape: &mut Tape, x: Var, scale: Var, kept: &'static Tensor) -> Var {
    let shape = tape.shape(x);
    let normal = tape.run("mul", &[x, scale], shape, Dtype::Fp32, Back::Fresh);
    tape.save(x, kept);
    tape.save(scale, &tensors::NORM_RSQRT);
    tape.drop(scale);
    normal
}

/// `normal · weight`: the weight's gradient, where it is trained, needs the normalised x.
fn scaled(
    tape: &mut Tape,
    normal: Var,
    dtype: Dtype,
    (weight, frozen): (Param, bool),
    kept: &'static Tensor,
) -> Var {
    let cast = dtype != tape.weight_dtype();
    let back = if frozen { Back::Fresh } else { Back::Scale { weight, cast } };
    let shape = tape.shape(normal);
    let out = tape.run("scale", &[normal], shape, dtype, back);
    if !frozen {
        tape.save(normal, kept);
    }
    tape.drop(normal);
    out
}

/// `weight · (x / rms(x))` over the last axis.
///
/// Kept: x in fp32 (a copy when x is 16 bit), one value a row, and the normalised x in its own dtype.
fn rms_norm(tape: &mut Tape, x: Var, weight: (Param, bool)) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let low = dtype != Dtype::Fp32;
    let (x32, kept) = widened(tape, x);
    let (variance, scale) = inverse_rms(tape, x32, weight.0, kept);
    let mut normal = normalise(tape, x32, scale, kept);
    if low {
        tape.drop(x32);
        let cast = tape.run("cast", &[normal], shape, dtype, Back::Through);
        tape.drop(normal);
        normal = cast;
    }
    let out = scaled(tape, normal, tape.promoted(dtype), weight, &tensors::NORM_NORMALISED);
    tape.drop(variance);
    out
}

/// A 16-bit weight's copy in fp32, which the gradient of the normalised input is multiplied by.
fn copied_weight(tape: &mut Tape, weight: Param) {
    if tape.weight_dtype() != Dtype::Fp32 {
        tape.save_new(&tensors::NORM_FP32_WEIGHT, weight.shape, Dtype::Fp32);
    }
}

/// `(x - mean(x)) / deviation(x) · weight`, all in fp32, then cast back (transformers, `CohereLayerNorm`).
///
/// Kept: the difference, which is made twice, one value a row, the normalised x, and a 16-bit weight's fp32 copy.
#[inline(never)] // apart: a first visit has none
fn wide_layer_norm(tape: &mut Tape, x: Var, weight: (Param, bool)) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let low = dtype != Dtype::Fp32;
    let rows = shape.with_last(Dim::Const(1));
    let (x32, _) = widened(tape, x);
    let mean = tape.run("mean", &[x32], rows, Dtype::Fp32, Back::Fresh);
    let first = tape.run("sub", &[x32, mean], shape, Dtype::Fp32, Back::Through);
    let square = tape.run("pow", &[first], shape, Dtype::Fp32, Back::Square);
    tape.save(first, &tensors::NORM_CENTRED);
    tape.drop(first);
    let variance = tape.run("mean", &[square], rows, Dtype::Fp32, Back::Fresh);
    tape.drop(square);
    let second = tape.run("sub", &[x32, mean], shape, Dtype::Fp32, Back::Through);
    let shifted = tape.run("add", &[variance], rows, Dtype::Fp32, Back::Through);
    let scale = tape.run("rsqrt", &[shifted], rows, Dtype::Fp32, Back::Fresh);
    tape.save(scale, &tensors::NORM_RSQRT);
    tape.drop(shifted);
    if low {
        tape.drop(x32);
    }
    let normal = normalise(tape, second, scale, &tensors::NORM_CENTRED);
    tape.drop(second);
    let out = scaled(tape, normal, Dtype::Fp32, weight, &tensors::NORM_FP32_NORMALISED);
    copied_weight(tape, weight.0);
    let out = if low {
        let back = tape.run("cast", &[out], shape, dtype, Back::Through);
        tape.drop(out);
        back
    } else {
        out
    };
    tape.drop(mean);
    tape.drop(variance);
    out
}

/// `x / rms(x) · weight`, all in fp32, then cast back (transformers, `Olmo2RMSNorm`), or `· (1 + weight)`
/// (`Gemma3RMSNorm`), or with an fp32 copy of the weight (`HeliumRMSNorm`).
///
/// Kept: x in fp32, one value a row, the normalised x in fp32, and `1 + weight` in fp32.
#[inline(never)] // apart: a first visit has none
fn wide_norm(tape: &mut Tape, x: Var, weight: (Param, bool), kind: Normalisation) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let low = dtype != Dtype::Fp32;
    let (x32, kept) = widened(tape, x);
    let (variance, scale) = inverse_rms(tape, x32, weight.0, kept);
    tape.drop(variance);
    let normal = normalise(tape, x32, scale, kept);
    if low {
        tape.drop(x32);
    }
    let out = scaled(tape, normal, Dtype::Fp32, weight, &tensors::NORM_FP32_NORMALISED);
    match kind {
        Normalisation::GemmaRms => {
            tape.save_new(&tensors::NORM_ONE_PLUS_WEIGHT, weight.0.shape, Dtype::Fp32);
        }
        Normalisation::WideRmsCopied => copied_weight(tape, weight.0),
        _ => {}
    }
    if !low {
        return out;
    }
    let back = tape.run("cast", &[out], shape, dtype, Back::Through);
    tape.drop(out);
    back
}

/// As T5 has it (transformers, `T5LayerNorm`): the 16-bit x is multiplied, so it is kept beside its fp32 copy.
#[inline(never)] // apart: a first visit has none
fn t5_norm(tape: &mut Tape, x: Var, weight: (Param, bool)) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let low = dtype != Dtype::Fp32;
    let (x32, kept) = widened(tape, x);
    let (variance, scale) = inverse_rms(tape, x32, weight.0, kept);
    if low {
        tape.drop(x32);
    }
    let mut normal = normalise(tape, x, scale, &tensors::NORM_INPUT);
    if tape.weight_dtype() != Dtype::Fp32 {
        let cast = tape.run("cast", &[normal], shape, dtype, Back::Through);
        tape.drop(normal);
        normal = cast;
    }
    let out = scaled(tape, normal, tape.promoted(dtype), weight, &tensors::NORM_NORMALISED);
    tape.drop(variance);
    out
}

/// `torch.nn.LayerNorm`, `torch.nn.RMSNorm`: one kernel; its input and fp32 statistics (two, one) a row are kept.
#[inline(never)] // apart: a first visit has none
fn fused(tape: &mut Tape, x: Var, norm: &Norm, frozen: bool) -> Var {
    let shape = tape.shape(x);
    let dtype = tape.promoted(tape.dtype(x));
    let rows = shape.with_last(Dim::Const(1));
    let trained = Back::Linear { weight: norm.weight, bias: norm.bias, cast: false };
    let back = if frozen { Back::Fresh } else { trained };
    // Autocast runs it in fp32: a 16-bit input is cast, and the copy is kept.
    let copied = tape.dtype(x) != dtype;
    let input = if copied { tape.run("to fp32", &[x], shape, dtype, Back::Through) } else { x };
    let out = tape.run("norm", &[input], shape, dtype, back);
    tape.save(input, if copied { &tensors::NORM_FP32_INPUT } else { &tensors::NORM_INPUT });
    if copied {
        tape.drop(input);
    }
    if norm.kind == Normalisation::Layer {
        tape.save_new(&tensors::NORM_MEAN, rows, Dtype::Fp32);
    }
    tape.save_new(&tensors::NORM_RSTD, rows, Dtype::Fp32);
    out
}

/// A layer norm without a weight, of an fp32 copy, cast back (transformers, `OlmoLayerNorm`).
#[inline(never)] // apart: a first visit has none
fn bare_norm(tape: &mut Tape, x: Var) -> Var {
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let rows = shape.with_last(Dim::Const(1));
    let (x32, kept) = widened(tape, x);
    let out = tape.run("layer_norm", &[x32], shape, Dtype::Fp32, Back::Fresh);
    tape.save(x32, kept);
    tape.save_new(&tensors::NORM_MEAN, rows, Dtype::Fp32);
    tape.save_new(&tensors::NORM_RSTD, rows, Dtype::Fp32);
    if dtype == Dtype::Fp32 {
        return out;
    }
    tape.drop(x32);
    let back = tape.run("cast", &[out], shape, dtype, Back::Through);
    tape.drop(out);
    back
}
