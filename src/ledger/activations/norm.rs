//! RMS norms, as `LlamaRMSNorm` computes them (transformers, `modeling_llama.py`): in fp32, by Python operators.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype};
use crate::architecture::Param;
use crate::text::tensors;

/// `weight · (x / rms(x))` over the last axis.
///
/// Kept: x in fp32 (a copy when x is 16 bit), one value a row, and the normalised x in its own dtype.
pub(super) fn rms_norm(tape: &mut Tape, x: Var, weight: Param) -> Var {
    tape.enter(weight.module(), weight.group);
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let rows = shape.with_last(Dim::Const(1));
    let low = dtype != Dtype::Fp32;
    let kept = if low { &tensors::NORM_FP32_INPUT } else { &tensors::NORM_INPUT };

    let x32 = if low { tape.run("to fp32", &[x], shape, Dtype::Fp32, Back::Through) } else { x };
    let square = tape.run("pow", &[x32], shape, Dtype::Fp32, Back::Square);
    tape.save(x32, kept);
    let variance = tape.run("mean", &[square], rows, Dtype::Fp32, Back::Fresh);
    tape.drop(square);
    let shifted = tape.run("add", &[variance], rows, Dtype::Fp32, Back::Through);
    let scale = tape.run("rsqrt", &[shifted], rows, Dtype::Fp32, Back::Fresh);
    tape.save(scale, &tensors::NORM_RSQRT);
    tape.drop(shifted);
    let mut normal = tape.run("mul", &[x32, scale], shape, Dtype::Fp32, Back::Fresh);
    tape.save(x32, kept);
    tape.save(scale, &tensors::NORM_RSQRT);
    tape.drop(scale);
    if low {
        tape.drop(x32);
        let cast = tape.run("cast", &[normal], shape, dtype, Back::Through);
        tape.drop(normal);
        normal = cast;
    }
    let out = tape.run("scale", &[normal], shape, tape.promoted(dtype), Back::Scale { weight });
    tape.save(normal, &tensors::NORM_NORMALISED);
    tape.drop(normal);
    tape.drop(variance);
    out
}
