//! Mixtures of experts, as transformers 5 runs them: tokens are sorted by expert and every projection is one grouped
//! matrix product (`integrations/moe.py`, `grouped_mm_experts_forward`). Each token is there once for each expert that
//! serves it, so that no size depends on the routing.

use super::super::tape::{Back, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::mlp::gated_mlp;
use super::{B, Run, S, STREAM, linear, replace};
use crate::architecture::{Moe, Param, Routing};
use crate::text::tensors;

const E: Dim = Dim::Sym(Symbol::E);
const TOP: Dim = Dim::Sym(Symbol::Top);
const H: Dim = Dim::Sym(Symbol::H);
const M: Dim = Dim::Sym(Symbol::M);
/// `[b, s, E]`: a score for each expert.
const SCORES: Shape = Shape::new(&[B, S, E]);
/// `[b, s, 1]`: one value for each token.
const SINGLE: Shape = Shape::new(&[B, S, Dim::Const(1)]);
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
    // A shared expert with a gate runs first (Qwen2-MoE), and so do ERNIE's.
    let first = moe.shared_gate.is_some() || moe.routing == Routing::SoftmaxFp32Clamped;
    let shared = |tape: &mut Tape| {
        moe.shared.as_ref().map(|shared| gated_mlp(tape, x, shared, run, Group::SharedExperts))
    };
    let dense = if first { shared(tape) } else { None };
    let weights = router(tape, x, moe, run);
    let out = experts(tape, x, weights, moe, run);
    tape.drop(weights);
    let Some(mut dense) = (if first { dense } else { shared(tape) }) else { return out };
    if let Some(gate) = moe.shared_gate {
        tape.enter(gate.weight.module(), Group::SharedExperts);
        let logit = linear(tape, x, gate, SINGLE, run, &tensors::LINEAR_INPUT);
        tape.enter("mlp", Group::Mlp);
        let dtype = tape.dtype(logit);
        let share = tape.run("sigmoid", &[logit], SINGLE, dtype, Back::Fresh);
        tape.save(share, &tensors::SHARED_GATE);
        tape.drop(logit);
        let weighed = tape.run("mul", &[share, dense], STREAM, tape.dtype(dense), Back::Fresh);
        tape.save_factors([(share, &tensors::SHARED_GATE), (dense, &tensors::SHARED_OUTPUT)]);
        tape.drop(share);
        tape.drop(dense);
        dense = weighed;
    }
    tape.enter("mlp", Group::SharedExperts);
    let dtype = tape.dtype(out);
    let sum = tape.run("add", &[out, dense], STREAM, dtype, Back::Through);
    tape.drop(out);
    tape.drop(dense);
    sum
}

/// Scores and the best K. Kept: the input, the scores, the indices, and what a renormalisation divides.
fn router(tape: &mut Tape, x: Var, moe: &Moe, run: &Run) -> Var {
    tape.enter("mlp.gate", Group::Router);
    let input = (moe.routing.fp32_input() && tape.dtype(x) != Dtype::Fp32)
        .then(|| tape.run("to fp32", &[x], STREAM, Dtype::Fp32, Back::Through));
    // ERNIE's router leaves autocast.
    let autocast = run.autocast && moe.routing != Routing::SoftmaxFp32Clamped;
    let run = Run { autocast, ..*run };
    let logits = linear(tape, input.unwrap_or(x), moe.router, SCORES, &run, &tensors::LINEAR_INPUT);
    let low = if matches!(moe.routing, Routing::SoftmaxFp32Clamped | Routing::TopFirst) {
        tape.dtype(x)
    } else {
        tape.dtype(logits)
    };
    let top = match moe.routing {
        Routing::TopFirst | Routing::TopFirstOwn => top_first(tape, logits, moe.routing),
        _ => scores_first(tape, logits, moe.routing),
    };
    let cast = matches!(
        moe.routing,
        Routing::SoftmaxRenormalisedCast
            | Routing::SoftmaxCast
            | Routing::TopFirst
            | Routing::SoftmaxFp32Clamped
    ) && low != tape.dtype(top);
    let top = if cast {
        replace(tape, top, |tape, x| tape.run("cast", &[x], ROUTES, low, Back::Through))
    } else {
        top
    };
    if let Some(input) = input {
        tape.drop(input);
    }
    top
}

/// The best K scores, then a softmax over them.
fn top_first(tape: &mut Tape, logits: Var, routing: Routing) -> Var {
    let low = tape.dtype(logits);
    let wide = if routing == Routing::TopFirst { widened(tape, logits) } else { logits };
    let best = tape.run("topk", &[wide], ROUTES, tape.dtype(wide), Back::Fresh);
    tape.save_new(&tensors::TOP_K_INDICES, ROUTES, Dtype::Int64);
    let soft = if routing == Routing::TopFirst { Dtype::Fp32 } else { low };
    let top = tape.run("softmax", &[best], ROUTES, soft, Back::Fresh);
    tape.save(top, &tensors::ROUTER_SOFTMAX);
    tape.drop(best);
    tape.drop(wide);
    top
}

/// An fp32 copy in place of a 16-bit tensor.
fn widened(tape: &mut Tape, x: Var) -> Var {
    if tape.dtype(x) == Dtype::Fp32 {
        return x;
    }
    replace(tape, x, |tape, x| tape.run("float", &[x], SCORES, Dtype::Fp32, Back::Through))
}

/// A softmax over all scores or a sigmoid of each, then the best K, perhaps divided by their sum.
fn scores_first(tape: &mut Tape, logits: Var, routing: Routing) -> Var {
    let single = ROUTES.with_last(Dim::Const(1));
    let own = matches!(routing, Routing::SigmoidFp32 | Routing::SigmoidFp32Renormalised);
    let logits = if own { logits } else { widened(tape, logits) };
    let dtype = tape.dtype(logits);
    let name = if routing.sigmoid() { "sigmoid" } else { "softmax" };
    let scores = tape.run(name, &[logits], SCORES, dtype, Back::Fresh);
    tape.save(scores, &tensors::ROUTER_SOFTMAX);
    tape.drop(logits);
    let best = tape.run("topk", &[scores], ROUTES, dtype, Back::Fresh);
    tape.save_new(&tensors::TOP_K_INDICES, ROUTES, Dtype::Int64);
    tape.drop(scores);
    match routing {
        Routing::SoftmaxRenormalised | Routing::SoftmaxRenormalisedCast | Routing::SoftmaxFp32Clamped => {
            let mut sum = tape.run("sum", &[best], single, Dtype::Fp32, Back::Fresh);
            if routing == Routing::SoftmaxFp32Clamped {
                let least = tape.run("clamp", &[sum], single, Dtype::Fp32, Back::Fresh);
                tape.save(sum, &tensors::TOP_K_SUM);
                tape.drop(sum);
                sum = least;
            }
            let share = tape.run("div", &[best, sum], ROUTES, Dtype::Fp32, Back::Fresh);
            tape.save(best, &tensors::TOP_K_WEIGHTS);
            tape.save(sum, &tensors::TOP_K_SUM);
            tape.drop(sum);
            tape.drop(best);
            share
        }
        // Divided in place: what stood there before is copied for backward.
        Routing::Sigmoid | Routing::SigmoidFp32Renormalised => {
            let sum = tape.run("sum", &[best], single, Dtype::Fp32, Back::Fresh);
            let share = tape.run("div", &[best, sum], ROUTES, dtype, Back::Fresh);
            tape.save(best, &tensors::TOP_K_WEIGHTS);
            tape.save(sum, &tensors::TOP_K_SUM);
            tape.drop(sum);
            tape.drop(best);
            share
        }
        _ => best,
    }
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
    let (both, bias) = biased(tape, both, moe.gate_up.bias, expert_index);
    let [gate, up] = tape.split("chunk", both, [INNER; 2]);
    let product = if bias.is_some() { clamped_gate(tape, gate, up) } else { plain_gate(tape, gate, up) };
    tape.drop(gate);
    tape.drop(up);
    tape.drop_all(bias);
    let down = grouped_product(tape, "grouped down", product, COPIES, grouped(moe.down.weight));
    tape.save(product, &tensors::EXPERT_PRODUCT);
    tape.save(offsets, &tensors::EXPERT_OFFSETS);
    let (down, bias) = biased(tape, down, moe.down.bias, expert_index);
    tape.drop_all(bias);
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

/// Adds each copy's expert's bias in place; the second is the biases themselves, one row a copy. Kept: which expert.
fn biased(tape: &mut Tape, x: Var, bias: Option<Param>, expert_index: Var) -> (Var, Option<Var>) {
    let Some(bias) = bias else { return (x, None) };
    let (shape, dtype) = (tape.shape(x), tape.dtype(x));
    let rows = tape.constant("index bias", shape, dtype);
    let sum = tape.view("add_", x, shape, Back::Bias(bias));
    tape.save(expert_index, &tensors::ROUTE_INDEX);
    tape.drop(x);
    (sum, Some(rows))
}

/// `act(gate) · up`
fn plain_gate(tape: &mut Tape, gate: Var, up: Var) -> Var {
    let dtype = tape.dtype(gate);
    let active = tape.run("act", &[gate], INNER, dtype, Back::Fresh);
    tape.save(gate, &tensors::EXPERT_GATE_UP);
    let product = tape.run("mul", &[active, up], INNER, dtype, Back::Fresh);
    tape.save(active, &tensors::EXPERT_ACTIVE);
    tape.save(up, &tensors::EXPERT_GATE_UP);
    tape.drop(active);
    product
}

/// `(clamp(up) + 1) · gate · sigmoid(α·gate)` of a clamped gate, operator by operator (transformers,
/// `GptOssExperts._apply_gate`).
#[inline(never)] // apart: a first visit has none
fn clamped_gate(tape: &mut Tape, gate: Var, up: Var) -> Var {
    let dtype = tape.dtype(gate);
    let low_gate = tape.run("clamp", &[gate], INNER, dtype, Back::Fresh);
    tape.save(gate, &tensors::EXPERT_GATE_UP);
    let low_up = tape.run("clamp", &[up], INNER, dtype, Back::Fresh);
    tape.save(up, &tensors::EXPERT_GATE_UP);
    let scaled = tape.run("mul α", &[low_gate], INNER, dtype, Back::Fresh);
    let open = tape.run("sigmoid", &[scaled], INNER, dtype, Back::Fresh);
    tape.save(open, &tensors::EXPERT_OPEN);
    tape.drop(scaled);
    let active = tape.run("mul", &[low_gate, open], INNER, dtype, Back::Fresh);
    tape.save_factors([(low_gate, &tensors::EXPERT_CLAMPED), (open, &tensors::EXPERT_OPEN)]);
    tape.drop(open);
    let more = tape.run("add 1", &[low_up], INNER, dtype, Back::Through);
    let product = tape.run("mul", &[more, active], INNER, dtype, Back::Fresh);
    tape.save_factors([(more, &tensors::EXPERT_CLAMPED), (active, &tensors::EXPERT_ACTIVE)]);
    for done in [low_gate, low_up, active, more] {
        tape.drop(done);
    }
    product
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
