//! Cross entropies that never hold all logits: in chunks of the sequence, or fused with the output embedding.

use super::super::tape::{Back, SCALAR, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::{B, Run, S};
use crate::architecture::Param;
use crate::text::tensors;

/// How the loss is computed from the last hidden state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Criterion {
    /// All logits at once (transformers, `ForCausalLMLoss`).
    Standard,
    /// So many parts of the sequence one after another (torchtune, `LinearCrossEntropyLoss`).
    Chunked(u64),
    /// Logits of a few tokens at a time, gradients made in forward (Liger, `LigerFusedLinearCrossEntropyFunction`).
    Fused,
}

/// More chunks than this are counted as this many: what it leaves out is less than one in 512 of the logits.
const MOST_CHUNKS: u64 = 512;

/// Output embedding and cross entropy, chunk by chunk: logits live for their chunk only, but each chunk's fp32
/// log-softmax is kept. The chunks' gradients of the weight are added up.
#[inline(never)] // apart: a first visit has none
pub(super) fn chunked(
    tape: &mut Tape,
    hidden: Var,
    weight: Param,
    labels: Var,
    chunks: u64,
    run: &Run,
) -> Var {
    let width = tape.shape(hidden).dims().last().copied().unwrap_or(Dim::Const(1));
    let (batch, seq) = (tape.numbers().get(Symbol::B), tape.numbers().get(Symbol::S));
    let each = seq.div_ceil(chunks.clamp(1, MOST_CHUNKS)).max(1);
    let sizes: Vec<u64> = (0..seq.div_ceil(each)).map(|chunk| each.min(seq - chunk * each)).collect();
    let low = if run.compute.autocast() { run.compute.matmul } else { tape.dtype(hidden) };
    let cast = run.compute.autocast();
    tape.enter("lm_head", Group::LmHead);
    let copy = cast.then(|| tape.weight_copy(weight.shape, low));
    let slices = sizes.iter().map(|size| Shape::new(&[B, Dim::of(*size), width]));
    let parts = tape.split_all("chunk", hidden, slices);
    let mut total: Option<Var> = None;
    for (index, (part, size)) in parts.into_iter().zip(sizes).enumerate() {
        let logits_shape = Shape::new(&[B, Dim::of(size), Dim::Sym(Symbol::V)]);
        tape.enter("lm_head", Group::LmHead);
        let shape = tape.shape(part);
        // A part of several sequences is not one piece of memory: a copy is multiplied. So is a cast.
        let copied = tape.dtype(part) != low || batch > 1;
        let input = if copied { tape.run("contiguous", &[part], shape, low, Back::Through) } else { part };
        let back = if run.frozen { Back::Fresh } else { Back::Shared { weight, cast, first: index == 0 } };
        let logits = tape.run("linear", &[input], logits_shape, low, back);
        tape.workspace();
        if !run.frozen {
            tape.save(input, if copied { &tensors::AUTOCAST_INPUT } else { &tensors::LINEAR_INPUT });
        }
        if let Some(copy) = copy {
            tape.share_weight_copy(copy);
        }
        if copied {
            tape.drop(input);
        }
        tape.drop(part);
        tape.enter("loss", Group::Loss);
        let wide = if low == Dtype::Fp32 {
            logits
        } else {
            let wide = tape.run("float", &[logits], logits_shape, Dtype::Fp32, Back::Through);
            tape.drop(logits);
            wide
        };
        let log_probabilities = tape.run("log_softmax", &[wide], logits_shape, Dtype::Fp32, Back::Fresh);
        tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
        let loss = tape.run("nll_loss", &[log_probabilities], SCALAR, Dtype::Fp32, Back::Fresh);
        tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
        tape.save(labels, &tensors::SHIFTED_LABELS);
        tape.save_new(&tensors::TOTAL_WEIGHT, SCALAR, Dtype::Fp32);
        tape.drop(wide);
        tape.drop(log_probabilities);
        let inputs = [Some(loss), total];
        let inputs: Vec<Var> = inputs.into_iter().flatten().collect();
        let sum = tape.run("add", &inputs, SCALAR, Dtype::Fp32, Back::Through);
        for done in inputs {
            tape.drop(done);
        }
        total = Some(sum);
    }
    if let Some(copy) = copy {
        tape.forget_weight_copy(copy);
    }
    let total = total.unwrap_or(labels);
    let mean = tape.run("div", &[total], SCALAR, Dtype::Fp32, Back::Fresh);
    tape.drop(total);
    mean
}

/// Output embedding and cross entropy in one: the gradients of both are made in forward and kept; of the logits only a
/// few tokens' worth ever exists (`liger_kernel/ops/fused_linear_cross_entropy.py`).
#[inline(never)] // apart: a first visit has none
pub(super) fn fused(tape: &mut Tape, hidden: Var, weight: Param, run: &Run) -> Var {
    let shape = tape.shape(hidden);
    let width = shape.dims().last().map_or(1, |dim| dim.value(tape.numbers())).max(1);
    let numbers = tape.numbers();
    let tokens = numbers.get(Symbol::B).saturating_mul(numbers.get(Symbol::S));
    // About as many logits at a time as there are hidden values.
    let parts = numbers.get(Symbol::V).div_ceil(width).max(1);
    let chunk = tokens.div_ceil(parts).max(1).checked_next_power_of_two().unwrap_or(tokens).min(tokens);
    let cast = run.compute.autocast();
    let low = if cast { run.compute.matmul } else { tape.dtype(hidden) };
    tape.enter("lm_head", Group::LmHead);
    let (own, weights) = (tape.dtype(hidden), tape.weight_dtype());
    let input_gradient = tape.constant("zeros_like", shape, own);
    let weight_gradient = (!run.frozen).then(|| tape.constant("zeros_like", weight.shape, weights));
    tape.enter("loss", Group::Loss);
    let losses = tape.constant("zeros", Shape::new(&[B, S]), Dtype::Fp32);
    let counted = tape.constant("ne", Shape::new(&[B, S]), Dtype::Bool);
    let logits_shape = Shape::new(&[Dim::of(chunk), Dim::Sym(Symbol::V)]);
    // Autocast caches only leaves: the transposed weight is cast anew for each product.
    let copy = cast.then(|| tape.constant("cast", weight.shape, low));
    let logits = tape.constant("linear", logits_shape, low);
    tape.workspace();
    if let Some(copy) = copy {
        tape.drop(copy);
    }
    tape.drop(logits);
    let loss = tape.run(
        "fused_linear_cross_entropy",
        &[hidden],
        SCALAR,
        Dtype::Fp32,
        Back::Made((!run.frozen).then_some(weight)),
    );
    tape.save(input_gradient, &tensors::EARLY_INPUT_GRADIENT);
    if let Some(weight_gradient) = weight_gradient {
        tape.save(weight_gradient, &tensors::EARLY_WEIGHT_GRADIENT);
        tape.drop(weight_gradient);
    }
    for done in [input_gradient, losses, counted] {
        tape.drop(done);
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::weights;
    use crate::ledger::Symbols;
    use crate::ledger::activations::{Compute, Kernel, Samples};
    use crate::ledger::tape::{Event, Gradients};
    use serde_json::Value;

    fn number(value: &Value) -> u64 {
        value.as_u64().expect("a whole number")
    }

    /// Most and last of the live bytes over these events, above what is live before.
    fn over(tape: &Tape, events: &[Event], before: i64) -> (i64, i64) {
        let (mut live, mut most) = (before, before);
        for event in events {
            let bytes = i64::try_from(tape.storages[event.storage].bytes).expect("small");
            live += if event.born { bytes } else { -bytes };
            most = most.max(live);
        }
        (most - before, live - before)
    }

    /// The rows of one kind: live bytes of forward at most and at its end, and of backward at most and at its end.
    fn check(rows: &str, count: usize, workspace: i64, criterion: impl Fn(&Value) -> Criterion) {
        let all = include_str!("../../../tests/data/components.jsonl").lines();
        let all = all.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let all: Vec<Value> =
            all.filter(|row| row["id"].as_str().is_some_and(|id| id.starts_with(rows))).collect();
        assert_eq!(all.len(), count, "the data holds the rows that this test is about");
        for row in all {
            let setting = &row["setting"];
            let mut numbers = Symbols::default();
            for (symbol, key) in [(Symbol::S, "T"), (Symbol::H, "h"), (Symbol::V, "V")] {
                numbers.set(symbol, number(&setting[key]));
            }
            numbers.set(Symbol::B, 1);
            let compute = Compute { weight: Dtype::Bf16, matmul: Dtype::Bf16 };
            let frozen = setting["frozen"] == true;
            let run = Run {
                compute,
                autocast: compute.autocast(),
                kernel: Kernel::Sdpa,
                samples: Samples::Rows,
                frozen,
                lora: None,
                checkpointed: false,
                quantized: None,
                workspace: None,
                dtensor: None,
                megatron: None,
            };
            let mut tape = Tape::new(&numbers, Dtype::Bf16, true);
            let leaf = tape.foreign(super::super::STREAM, Dtype::Bf16, true);
            let labels = tape.foreign(Shape::new(&[B, S]), Dtype::Int64, false);
            let loss = match criterion(setting) {
                Criterion::Chunked(chunks) => {
                    let hidden = tape.run("mul", &[leaf], super::super::STREAM, Dtype::Bf16, Back::Fresh);
                    let loss = chunked(&mut tape, hidden, weights::LM_HEAD, labels, chunks, &run);
                    tape.drop(hidden);
                    loss
                }
                _ => fused(&mut tape, leaf, weights::LM_HEAD, &run),
            };
            tape.run_backward(loss, Some(leaf), Gradients::Born);
            let (most, kept) = over(&tape, &tape.forward, 0);
            let (most_after, _) = over(&tape, &tape.backward, kept);
            let found = |phase: &str, what: &str| {
                let value = |key: &str| i64::try_from(number(&row[phase][key])).expect("small");
                value(what) - value("requested_start")
            };
            let id = &row["id"];
            assert_eq!(most + workspace, found("forward", "requested_peak"), "{id}: forward");
            assert_eq!(kept, found("forward", "requested"), "{id}: kept");
            assert_eq!(most_after, found("backward", "requested_peak"), "{id}: backward");
        }
    }

    #[test]
    fn chunks_keep_every_log_softmax_and_add_up_the_weights_gradient() {
        check("chunked-torchtune", 8, 0, |setting| Criterion::Chunked(number(&setting["chunks"])));
    }

    /// The rows count cuBLAS's workspace as a temporary of the product; the ledger has a row of its own for it.
    #[test]
    fn fused_loss_makes_gradients_in_forward_and_few_logits() {
        check("liger-flce", 10, 32 << 20, |_| Criterion::Fused);
    }
}
