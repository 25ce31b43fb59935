//! Mixtures of experts, as transformers 5 runs them: tokens are sorted by expert and every projection is one grouped
//! matrix product (`integrations/moe.py`, `grouped_mm_experts_forward`). Each token is there once for each expert that
//! serves it, so that no size depends on the routing.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::mlp::gated_mlp;
use super::{B, Run, S, STREAM, linear};
use crate::architecture::{Moe, Param, Routing};
use crate::text::tensors;

const E: Dim = Dim::Sym(Symbol::E);
const TOP: Dim = Dim::Sym(Symbol::Top);
const H: Dim = Dim::Sym(Symbol::H);
const M: Dim = Dim::Sym(Symbol::M);
/// `[b, s, E]`: a score for each expert.
const SCORES: Shape = Shape::new(&[B, S, E]);
/// `[b, s, K]`: one value for each copy of a token.
const ROUTES: Shape = Shape::new(&[B, S, TOP]);
/// `[b, s, K, 1]`
const ROUTE_SCALE: Shape = Shape::new(&[B, S, TOP, Dim::Const(1)]);
/// `[b, s, K, h]`: the copies themselves.
const COPIES: Shape = Shape::new(&[B, S, TOP, H]);
/// `[b, s, K, 2m]`
const GATE_UP: Shape = Shape::new(&[B, S, TOP, Dim::Scale(2, Symbol::M)]);
/// `[b, s, K, m]`
const INNER: Shape = Shape::new(&[B, S, TOP, M]);

#[inline(never)] // apart: a first visit has none
pub(super) fn moe(tape: &mut Tape, x: Var, moe: &Moe, run: &Run) -> Var {
    let weights = router(tape, x, moe, run);
    let mut out = experts(tape, x, weights, moe, run);
    tape.drop(weights);
    if let Some(shared) = &moe.shared {
        let dense = gated_mlp(tape, x, shared, run, Group::SharedExperts);
        tape.enter("mlp", Group::SharedExperts);
        let dtype = tape.dtype(out);
        let sum = tape.run("add", &[out, dense], STREAM, dtype, Back::Through);
        tape.drop(out);
        tape.drop(dense);
        out = sum;
    }
    out
}

/// Scores, softmax in fp32, the best K. Kept: the input, the softmax, the indices, and what a renormalisation divides.
fn router(tape: &mut Tape, x: Var, moe: &Moe, run: &Run) -> Var {
    tape.enter("mlp.gate", Group::Router);
    let input = match moe.routing {
        Routing::SoftmaxFp32Input if tape.dtype(x) != Dtype::Fp32 => {
            Some(tape.run("to fp32", &[x], STREAM, Dtype::Fp32, Back::Through))
        }
        _ => None,
    };
    let logits = linear(tape, input.unwrap_or(x), moe.router, SCORES, run, &tensors::LINEAR_INPUT);
    let low = tape.dtype(logits);
    let wide = if low == Dtype::Fp32 {
        logits
    } else {
        tape.run("float", &[logits], SCORES, Dtype::Fp32, Back::Through)
    };
    let scores = tape.run("softmax", &[wide], SCORES, Dtype::Fp32, Back::Fresh);
    tape.save(scores, &tensors::ROUTER_SOFTMAX);
    if wide != logits {
        tape.drop(wide);
    }
    tape.drop(logits);
    let mut top = tape.run("topk", &[scores], ROUTES, Dtype::Fp32, Back::Fresh);
    tape.save_new(&tensors::TOP_K_INDICES, ROUTES, Dtype::Int64);
    if matches!(moe.routing, Routing::SoftmaxRenormalised | Routing::SoftmaxRenormalisedCast) {
        let single = ROUTES.with_last(Dim::Const(1));
        let sum = tape.run("sum", &[top], single, Dtype::Fp32, Back::Fresh);
        let share = tape.run("div", &[top, sum], ROUTES, Dtype::Fp32, Back::Fresh);
        tape.save(top, &tensors::TOP_K_WEIGHTS);
        tape.save(sum, &tensors::TOP_K_SUM);
        tape.drop(sum);
        tape.drop(top);
        top = share;
    }
    if matches!(moe.routing, Routing::SoftmaxRenormalisedCast | Routing::SoftmaxCast) && low != Dtype::Fp32 {
        let cast = tape.run("cast", &[top], ROUTES, low, Back::Through);
        tape.drop(top);
        top = cast;
    }
    tape.drop(scores);
    if let Some(input) = input {
        tape.drop(input);
    }
    top
}

/// Gather, two grouped products with the gate between, weigh, put back, sum over the copies.
fn experts(tape: &mut Tape, x: Var, top: Var, moe: &Moe, run: &Run) -> Var {
    tape.enter("mlp.experts", Group::Experts);
    let (dtype, weight_dtype) = (tape.dtype(x), tape.dtype(top));
    let grouped = |weight: Param| match run.quantized {
        // One expert's matrix is made wide at a time.
        Some(stored) => Back::Beside(&tensors::DEQUANTIZED, one_expert(weight.shape), stored.compute),
        None if run.frozen => Back::Fresh,
        None => Back::Linear { weight, bias: None, cast: false },
    };
    let [expert_index, order] = [(); 2].map(|()| tape.constant("sort", ROUTES, Dtype::Int64));
    let token_index = tape.constant("floor_divide", ROUTES, Dtype::Int64);
    let sorted = tape.run("index tokens", &[x], COPIES, dtype, Back::Put);
    tape.save(token_index, &tensors::ROUTE_INDEX);
    tape.drop(token_index);
    let weights = tape.run("index weights", &[top], ROUTES, weight_dtype, Back::Put);
    tape.save(order, &tensors::ROUTE_INDEX);
    let narrow = tape.constant("int", ROUTES, Dtype::Int32);
    let offsets = tape.constant("cumsum", Shape::new(&[E]), Dtype::Int32);

    let both = grouped_product(tape, "grouped gate_up", sorted, GATE_UP, grouped(moe.gate_up.weight));
    tape.save(sorted, &tensors::EXPERT_INPUT);
    tape.save(offsets, &tensors::EXPERT_OFFSETS);
    let [gate, up] = tape.split("chunk", both, [INNER; 2]);
    let active = tape.run("act", &[gate], INNER, dtype, Back::Fresh);
    tape.save(gate, &tensors::EXPERT_GATE_UP);
    let product = tape.run("mul", &[active, up], INNER, dtype, Back::Fresh);
    tape.save(active, &tensors::EXPERT_ACTIVE);
    tape.save(up, &tensors::EXPERT_GATE_UP);
    for done in [active, gate, up] {
        tape.drop(done);
    }
    let down = grouped_product(tape, "grouped down", product, COPIES, grouped(moe.down.weight));
    tape.save(product, &tensors::EXPERT_PRODUCT);
    tape.save(offsets, &tensors::EXPERT_OFFSETS);
    let scale = tape.view("unsqueeze", weights, ROUTE_SCALE, Back::Through);
    let weighed_dtype = if weight_dtype == Dtype::Fp32 { Dtype::Fp32 } else { dtype };
    let weighed = tape.run("mul weights", &[down, scale], COPIES, weighed_dtype, Back::Fresh);
    tape.save_factors([(down, &tensors::EXPERT_OUTPUT), (scale, &tensors::SORTED_WEIGHTS)]);
    tape.drop(scale);
    tape.drop(down);
    let back_order = tape.constant("empty_like", ROUTES, Dtype::Int64);
    tape.scratch(ROUTES, Dtype::Int64);
    let restored = tape.run("index back", &[weighed], COPIES, weighed_dtype, Back::Put);
    tape.save(back_order, &tensors::ROUTE_INDEX);
    tape.drop(weighed);
    let sum = tape.run("sum", &[restored], STREAM, weighed_dtype, Back::Fresh);
    let out = if weighed_dtype == dtype {
        sum
    } else {
        let out = tape.run("cast", &[sum], STREAM, dtype, Back::Through);
        tape.drop(sum);
        out
    };
    for done in [restored, product, both, offsets, narrow, sorted, weights, back_order, order, expert_index] {
        tape.drop(done);
    }
    out
}

/// A product of each token's copy with its expert's matrix, of the copies' own type.
fn grouped_product(tape: &mut Tape, name: &'static str, x: Var, out: Shape, back: Back) -> Var {
    let dtype = tape.dtype(x);
    let wide = match back {
        Back::Beside(_, shape, low) => Some(tape.constant("dequantize", shape, low)),
        _ => None,
    };
    let y = tape.run(name, &[x], out, dtype, back);
    if let Some(wide) = wide {
        tape.drop(wide);
    }
    y
}

/// `[out, in]` of one of the experts `[E, out, in]`.
fn one_expert(all: Shape) -> Shape {
    Shape::new(all.dims().get(1..).unwrap_or_default())
}
