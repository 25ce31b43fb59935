//! Embedding and loss of Megatron: both share the vocabulary among tensor-parallel ranks.

use super::super::super::tape::{Back, SCALAR, Tape, Var};
use super::super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::super::{B, Run, S, dropout};
use super::{H, LossKernel, Megatron, STREAM, WHOLE, column, normalised};
use crate::architecture::{Architecture, Embedding, Linear, weights};
use crate::text::tensors;

const LOGITS: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::V)]);
const TOKENS: Shape = Shape::new(&[B, S]);

/// Token embedding, learned positions where there are any, dropout (`embeddings/language_model_embedding.py`).
pub(crate) fn embedding(tape: &mut Tape, of: &Embedding, run: &Run, megatron: &Megatron) -> Var {
    let dtype = run.compute.weight;
    tape.enter(weights::EMBED.module(), Group::Embedding);
    let mut x = tape.run("embedding", &[], WHOLE, dtype, Back::Weight(weights::EMBED));
    if megatron.split {
        // Which tokens are other ranks' (`tensor_parallel/layers.py`, `VocabParallelEmbedding`).
        tape.save_new(&tensors::FOREIGN_TOKENS, TOKENS, Dtype::Bool);
        tape.save_new(&tensors::OWN_TOKENS, TOKENS, Dtype::Int64);
    }
    if let Some(&positions) = of.tables.get(1) {
        tape.enter(positions.module(), Group::Embedding);
        let learned = tape.run("embedding", &[], Shape::new(&[S, H]), dtype, Back::Weight(positions));
        let sum = tape.run("add", &[x, learned], WHOLE, dtype, Back::Sum);
        tape.drop(x);
        tape.drop(learned);
        x = sum;
    }
    if megatron.sequence {
        let own = tape.run("scatter", &[x], STREAM, dtype, Back::Fresh);
        tape.drop(x);
        x = own;
    }
    if of.dropout > 0.0 {
        tape.enter("embedding_dropout", Group::Embedding);
        x = dropout(tape, x);
    }
    x
}

/// Final norm, output layer and vocabulary-parallel cross entropy (`tensor_parallel/cross_entropy.py`): the logits in
/// fp32 become the softmax in place, and the softmax the gradient. Transformer Engine's loss leaves the gradient in the
/// 16-bit logits' place (`pytorch/cross_entropy.py`).
pub(crate) fn loss(tape: &mut Tape, x: Var, model: &Architecture, megatron: &Megatron) -> Var {
    let mut hidden = x;
    if let Some(last) = &model.final_norm {
        hidden = normalised(tape, x, last);
        tape.drop(x);
    }
    let weight = if model.shares_head() { weights::EMBED } else { weights::LM_HEAD };
    let head = Linear { weight, bias: None };
    let logits = column(tape, hidden, head, false, LOGITS, megatron, &tensors::LINEAR_INPUT);
    tape.drop(hidden);
    tape.enter("loss", Group::Loss);
    // Labels are laid out like the logits, token by token: of several sequences a copy.
    let labels =
        (tape.numbers().get(Symbol::B) > 1).then(|| tape.constant("transpose", TOKENS, Dtype::Int64));
    let losses = match megatron.loss {
        LossKernel::InPlace => in_place(tape, logits),
        LossKernel::Compiled => {
            // Compiled functions give their results in new tensors: the logits stay beside the softmax.
            let wide = tape.constant("float", LOGITS, Dtype::Fp32);
            let losses = vocabulary_parallel(tape, logits);
            tape.drop(wide);
            losses
        }
        LossKernel::Plain => vocabulary_parallel(tape, logits),
    };
    tape.drop_all(labels);
    let masked = tape.run("mul mask", &[losses], TOKENS, Dtype::Fp32, Back::Fresh);
    tape.drop(losses);
    let loss = tape.run("sum", &[masked], SCALAR, Dtype::Fp32, Back::Fresh);
    tape.drop(masked);
    tape.drop(logits);
    loss
}

fn vocabulary_parallel(tape: &mut Tape, logits: Var) -> Var {
    let per_token = |tape: &mut Tape, name, dtype| tape.constant(name, TOKENS, dtype);
    let softmax = tape.run("float", &[logits], LOGITS, Dtype::Fp32, Back::Through);
    let maximum = per_token(tape, "max", Dtype::Fp32);
    let mask = per_token(tape, "target mask", Dtype::Bool);
    let target = per_token(tape, "masked target", Dtype::Int64);
    let places = per_token(tape, "arange", Dtype::Int64);
    let predicted = per_token(tape, "predicted logits", Dtype::Fp32);
    let sums = per_token(tape, "sum exp", Dtype::Fp32);
    tape.drop(places);
    let logarithm = per_token(tape, "log", Dtype::Fp32);
    let losses = tape.run("cross entropy", &[softmax], TOKENS, Dtype::Fp32, Back::InPlace);
    tape.save(softmax, &tensors::VOCABULARY_SOFTMAX);
    tape.save(mask, &tensors::TARGET_MASK);
    tape.save(target, &tensors::MASKED_TARGET);
    for done in [softmax, maximum, mask, target, predicted, sums, logarithm] {
        tape.drop(done);
    }
    losses
}

fn in_place(tape: &mut Tape, logits: Var) -> Var {
    /// Maximum, sum and own logit of each token, for the other ranks.
    const PARTS: Shape = Shape::new(&[B, S, Dim::Const(3)]);
    let parts = tape.constant("online softmax", PARTS, Dtype::Fp32);
    let losses = tape.run("cross entropy", &[logits], TOKENS, Dtype::Fp32, Back::InPlace);
    tape.save(logits, &tensors::LOGITS_GRADIENT);
    tape.drop(parts);
    losses
}
