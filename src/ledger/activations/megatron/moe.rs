//! Mixtures of experts (`transformer/moe/`): router, dispatch by all-to-all, experts, and back. Routing is taken to be
//! balanced: this rank's experts serve `n` copies of tokens, as many as each other rank's.

use super::super::super::tape::{Back, Tape, Var};
use super::super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::super::B;
use super::mlp::gated;
use super::{H, Megatron, SPLIT, STREAM, duplicated};
use crate::architecture::Moe;
use crate::architecture::megatron::all_experts;
use crate::text::tensors;

const TOP: Dim = Dim::Sym(Symbol::Top);
const M: Dim = Dim::Sym(Symbol::M);
const N: Dim = Dim::Sym(Symbol::Routed);
/// `[b, s′, K]`: one value for each copy of a token.
const ROUTES: Shape = Shape::new(&[B, SPLIT, TOP]);
/// `[b, s′, K, h]`: the copies on their own rank.
const COPIES: Shape = Shape::new(&[B, SPLIT, TOP, H]);
/// `[n, h]`: the copies that this rank's experts serve.
const SERVED: Shape = Shape::new(&[N, H]);
const INNER: Shape = Shape::new(&[N, M]);
const PROBABILITIES: Shape = Shape::new(&[N, Dim::Const(1)]);

pub(super) fn moe(tape: &mut Tape, x: Var, moe: &Moe, megatron: &Megatron) -> Var {
    let probabilities = router(tape, x, moe, megatron);
    let shared = moe.shared.as_ref().map(|shared| {
        if megatron.again.shared_experts {
            tape.enter("mlp.shared_experts", Group::SharedExperts);
            tape.recomputed(&[(x, &tensors::MODULE_INPUT)], |tape| {
                gated(tape, x, shared, Group::SharedExperts, megatron)
            })
        } else {
            gated(tape, x, shared, Group::SharedExperts, megatron)
        }
    });
    let out = routed(tape, x, probabilities, moe, megatron);
    let Some(shared) = shared else { return out };
    tape.enter("mlp", Group::SharedExperts);
    let dtype = tape.dtype(out);
    let sum = tape.run("add", &[out, shared], STREAM, dtype, Back::Through);
    tape.drop(out);
    tape.drop(shared);
    sum
}

/// Scores and the best K (`router.py`, `moe_utils.py`, `topk_routing_with_score_function`). Kept: the input; the scores
/// in fp32, for the auxiliary loss or the sigmoid; indices; the weights of the best; which expert serves which token.
fn router(tape: &mut Tape, x: Var, moe: &Moe, megatron: &Megatron) -> Var {
    let all = Shape::new(&[B, SPLIT, all_experts(megatron.ep)]);
    let logits = duplicated(tape, x, moe.router, all, megatron, &tensors::LINEAR_INPUT);
    tape.enter("mlp.router", Group::Router);
    let low = tape.dtype(logits);
    let scores = tape.run("scores", &[logits], all, Dtype::Fp32, Back::Fresh);
    tape.save(scores, &tensors::ROUTER_SOFTMAX);
    tape.drop(logits);
    let best = tape.run("topk", &[scores], ROUTES, low, Back::Fresh);
    tape.save_new(&tensors::TOP_K_INDICES, ROUTES, Dtype::Int64);
    tape.drop(scores);
    let weights = tape.run("weights", &[best], ROUTES, Dtype::Fp32, Back::Fresh);
    tape.save(weights, &tensors::TOP_K_WEIGHTS);
    if moe.routing.sigmoid() {
        tape.save_new(&tensors::TOP_K_SUM, ROUTES.with_last(Dim::Const(1)), Dtype::Fp32);
    }
    tape.drop(best);
    let map = tape.run("scatter", &[weights], all, low, Back::Fresh);
    tape.save_new(&tensors::ROUTING_MAP, all, Dtype::Bool);
    tape.drop(weights);
    if megatron.capacity {
        // The first tokens of each expert (`apply_router_token_dropping`).
        tape.save_new(&tensors::CAPACITY_INDICES, ROUTES, Dtype::Int64);
        tape.save_new(&tensors::CAPACITY_INDICES, ROUTES, Dtype::Int64);
    }
    tape.save_new(&tensors::TOKENS_PER_EXPERT, Shape::new(&[all_experts(megatron.ep)]), Dtype::Int64);
    map
}

/// Permute, exchange, serve, exchange, put back (`token_dispatcher.py`, `MoEAlltoAllTokenDispatcher`).
fn routed(tape: &mut Tape, x: Var, probabilities: Var, moe: &Moe, megatron: &Megatron) -> Var {
    tape.enter("mlp", Group::Experts);
    let dtype = tape.dtype(x);
    let order = tape.constant("sorted indices", ROUTES, Dtype::Int64);
    let mut served = tape.run("permute", &[x], COPIES, dtype, Back::Fresh);
    tape.save(order, &tensors::ROUTE_INDEX);
    let chosen = tape.run("permute probabilities", &[probabilities], PROBABILITIES, dtype, Back::Fresh);
    if megatron.capacity {
        tape.save_new(&tensors::ROUTE_INDEX, ROUTES, Dtype::Int64);
    }
    tape.drop(probabilities);
    let sorted = tape.numbers().get(Symbol::E) > 1;
    for name in dispatch(megatron, sorted) {
        let next = tape.run(name, &[served], SERVED, dtype, Back::Fresh);
        tape.drop(served);
        served = next;
    }
    let mut out = experts(tape, served, chosen, moe, megatron);
    tape.drop(served);
    tape.drop(chosen);
    tape.enter("mlp", Group::Experts);
    for name in dispatch(megatron, sorted).into_iter().rev() {
        let shape = if name == "all-to-all" { COPIES } else { SERVED };
        let next = tape.run(name, &[out], shape, dtype, Back::Fresh);
        tape.drop(out);
        out = next;
    }
    let restored = tape.run("unpermute", &[out], STREAM, dtype, Back::Fresh);
    tape.save(order, &tensors::ROUTE_INDEX);
    tape.drop(order);
    tape.drop(out);
    restored
}

/// The copies that a token's way to its expert makes.
fn dispatch(megatron: &Megatron, sorted: bool) -> Vec<&'static str> {
    let steps =
        [(megatron.ep > 1, "all-to-all"), (megatron.split_experts, "all-gather"), (sorted, "sort by expert")];
    steps.into_iter().filter_map(|(runs, name)| runs.then_some(name)).collect()
}

/// Two grouped products with the activation between, each copy weighed there.
fn experts(tape: &mut Tape, x: Var, chosen: Var, moe: &Moe, megatron: &Megatron) -> Var {
    let gate = moe.gate_up.weight.shape.dims().get(1).copied();
    let gated = gate != Some(M);
    let both_shape = Shape::new(&[N, if gated { Dim::Scale(2, Symbol::M) } else { M }]);
    let both = duplicated(tape, x, moe.gate_up, both_shape, megatron, &tensors::EXPERT_INPUT);
    tape.enter("mlp.experts", Group::Experts);
    let run = |tape: &mut Tape| {
        tape.enter("mlp.experts", Group::Experts);
        // Megatron's own grouped experts call functions that keep what each operator keeps (`GroupedMLP`).
        if gated && (megatron.engine || !megatron.grouped) {
            weighed_swiglu(tape, both, chosen, megatron)
        } else {
            by_operators(tape, both, chosen, gated)
        }
    };
    let kept: [(Var, &'static crate::ledger::Tensor); 2] =
        [(both, &tensors::EXPERT_GATE_UP), (chosen, &tensors::SORTED_WEIGHTS)];
    let remade = megatron.again.expert_activation.then(|| tape.remade(&kept, |tape| [run(tape)]));
    let active = remade.as_ref().map_or_else(|| run(tape), |remade| remade.outputs[0]);
    let out = duplicated(tape, active, moe.down, SERVED, megatron, &tensors::EXPERT_PRODUCT);
    if let Some(remade) = &remade {
        tape.discard(remade, out);
    }
    tape.drop(active);
    tape.drop(both);
    out
}

/// One function that keeps its inputs (`fused_bias_swiglu.py`, `WeightedSwiGLUFunction`).
fn weighed_swiglu(tape: &mut Tape, both: Var, chosen: Var, megatron: &Megatron) -> Var {
    const STEPS: Shape = Shape::new(&[N, Dim::Scale(2, Symbol::M)]);
    let dtype = tape.dtype(both);
    let back =
        if megatron.engine { Back::Fresh } else { Back::Beside(&tensors::ACTIVATION_STEPS, STEPS, dtype) };
    let product = tape.run("weighed swiglu", &[both, chosen], INNER, dtype, back);
    tape.save(both, &tensors::EXPERT_GATE_UP);
    tape.save(chosen, &tensors::SORTED_WEIGHTS);
    product
}

fn by_operators(tape: &mut Tape, both: Var, chosen: Var, gated: bool) -> Var {
    let dtype = tape.dtype(both);
    let product = if gated {
        let [gate, up] = tape.split("chunk", both, [INNER; 2]);
        let active = tape.run("silu", &[gate], INNER, dtype, Back::Fresh);
        tape.save(gate, &tensors::EXPERT_GATE_UP);
        let product = tape.run("mul", &[active, up], INNER, dtype, Back::Fresh);
        tape.save(active, &tensors::EXPERT_ACTIVE);
        tape.save(up, &tensors::EXPERT_GATE_UP);
        for done in [active, gate, up] {
            tape.drop(done);
        }
        product
    } else {
        let active = tape.run("gelu", &[both], INNER, dtype, Back::Fresh);
        tape.save(both, &tensors::EXPERT_GATE_UP);
        active
    };
    let weighed = tape.run("mul probabilities", &[product, chosen], INNER, dtype, Back::Fresh);
    tape.save(product, &tensors::EXPERT_ACTIVE);
    tape.save(chosen, &tensors::SORTED_WEIGHTS);
    tape.drop(product);
    weighed
}
