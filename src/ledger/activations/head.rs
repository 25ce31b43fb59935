//! The two ends of a causal language model: embedding and tables before the layers; norm, head and loss after them.

use super::super::tape::{Back, Role, SCALAR, Tape, Var};
use super::super::{Dim, Dtype, Group, Shape, Symbol};
use super::attention::rotary_table;
use super::loss::{Criterion, chunked, fused};
use super::{B, Run, S, STREAM, Samples, dropout, linear, norm};
use crate::architecture::{
    Architecture, Embedding, Linear, Norm, Output, Param, Pooler, RotaryTables, Stack, weights,
};
use crate::text::tensors;

const LOGITS: Shape = Shape::new(&[B, S, Dim::Sym(Symbol::V)]);
/// `[b, h]`: one vector a sequence.
const FIRST: Shape = Shape::new(&[B, Dim::Sym(Symbol::H)]);
const LABELS: Shape = Shape::new(&[B, S]);
const PADDED_LABELS: Shape = Shape::new(&[B, Dim::Plus(Symbol::S, 1)]);

/// The mask that all layers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    /// Numbers that eager attention adds to the scores: one mask for each kind of layer (with a window, without).
    Added { kinds: usize },
    /// Which token sees which: fused kernels make numbers of it, layer by layer. One for all sequences, or (padding)
    /// one for each.
    Chosen { each: bool },
}

/// Which stack of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The only one.
    Only,
    /// That of the source.
    Encoder,
    /// That of the target.
    Decoder,
}

/// The embeddings: of tokens, and of positions where they are learned. Kept are the positions' ids and the mask of a
/// dropout (the token ids are the program's).
pub(crate) fn embedding(tape: &mut Tape, of: &Embedding, run: &Run, side: Side) -> Var {
    if let Some(megatron) = &run.megatron {
        return super::megatron::embedding(tape, of, run, megatron);
    }
    let stream = run.compute.weight;
    let table = |tape: &mut Tape, weight: Param, shape| {
        tape.enter(weight.module(), Group::Embedding);
        let back = match run.dtensor {
            _ if run.freezes(&weight) => Back::Fresh,
            Some(dtensor) => Back::Weight(dtensor.gradient(weight, tape.numbers())),
            None => Back::Weight(weight),
        };
        tape.run("embedding", &[], shape, stream, back)
    };
    if of.image.is_some() {
        return patches(tape, of, run);
    }
    // The decoder of an encoder–decoder reads the labels, shifted by one token: a copy.
    let ids = (side == Side::Decoder).then(|| tape.constant("shift right", LABELS, Dtype::Int64));
    let mut x = table(tape, weights::EMBED, STREAM);
    x = super::dtensor::scattered(tape, x, run);
    if let Some(ids) = ids {
        tape.save(ids, &tensors::SHIFTED_LABELS);
        tape.drop(ids);
    }
    if let Some(&types) = of.tables.get(2) {
        let learned = table(tape, types, STREAM);
        let sum = tape.run("add", &[x, learned], STREAM, stream, Back::Through);
        tape.drop(x);
        tape.drop(learned);
        x = sum;
    }
    if let Some(&positions) = of.tables.get(1) {
        let numbered = if of.positions_by_row { Shape::new(&[B, S]) } else { Shape::new(&[S]) };
        // Those of packed samples come with the batch, which the program holds.
        let ids = (run.samples != Samples::Packed).then(|| tape.constant("arange", numbered, Dtype::Int64));
        let once = ids.is_some() && !of.positions_by_row;
        let shape = if once { Shape::new(&[S, Dim::Sym(Symbol::H)]) } else { STREAM };
        let learned = table(tape, positions, shape);
        if let Some(ids) = ids {
            tape.save(ids, &tensors::POSITION_IDS);
        }
        let back = if once { Back::Sum } else { Back::Through };
        let sum = tape.run("add", &[x, learned], STREAM, stream, back);
        for done in [x, learned].into_iter().chain(ids) {
            tape.drop(done);
        }
        x = sum;
    }
    if let Some(norm) = &of.norm {
        let normed = norm::norm(tape, x, norm, run);
        tape.drop(x);
        x = normed;
    }
    if of.dropout > 0.0 {
        // Where no norm belongs to the embedding, its dropout is a module beside it.
        let group = if of.norm.is_some() { Group::Embedding } else { Group::Other };
        tape.enter("drop", group);
        if side != Side::Only {
            // A variable of its stack's program (transformers, `T5Stack.forward`).
            let whole = tape.shape(x);
            let held = tape.view("inputs_embeds", x, whole, Back::Through);
            tape.hold_for_stack(held);
        }
        x = dropout(tape, x);
    }
    x
}

/// What is made once for all layers: rotary tables (kept by the first layer that is not recomputed, else only held),
/// position ids, and the mask where one is needed.
pub(crate) fn prologue(tape: &mut Tape, run: &Run, model: &Architecture, mask: Option<Mask>, tables: Role) {
    let Run { compute, samples, .. } = *run;
    tape.enter("rotary_emb", Group::Attention);
    let kind = model.embedding.rotary_kind;
    if run.dtensor.is_some() {
        // Its one table is a buffer of the model.
    } else if kind == RotaryTables::Complex {
        let frequencies = rotary_table(Symbol::Dr, kind, samples);
        tape.lasting(&tensors::ROTARY_FREQUENCIES, frequencies, Dtype::Fp32, tables);
    } else {
        let table = rotary_table(model.rotary_width(), kind, samples);
        let dtype = if kind.fp32() { Dtype::Fp32 } else { compute.weight };
        let role = if kind.repeated() { Role::Working } else { tables };
        for _ in 0..model.embedding.rotary_tables {
            tape.lasting(&tensors::ROTARY_COS, table, dtype, role);
            tape.lasting(&tensors::ROTARY_SIN, table, dtype, role);
        }
    }
    if model.embedding.rotary_tables > 0 && run.dtensor.is_none() && samples != Samples::Packed {
        tape.enter("", Group::Other);
        tape.lasting(&tensors::POSITION_IDS, Shape::new(&[S]), Dtype::Int64, Role::Working);
    }
    tape.enter("mask", Group::Attention);
    // Where layers get the mask as an argument in its place, checkpointing keeps it with the input.
    let kept = model.positional_mask && tables == Role::Working;
    let role = if kept { Role::Saved } else { Role::Working };
    if kept {
        tape.enter("mask", Group::Residual);
    }
    match mask {
        Some(Mask::Added { kinds }) => {
            for _ in 0..kinds {
                tape.lasting(&tensors::CAUSAL_MASK, Shape::new(&[B, S, S]), compute.weight, role);
            }
        }
        Some(Mask::Chosen { each }) => {
            let shape = if each { Shape::new(&[B, S, S]) } else { Shape::new(&[S, S]) };
            tape.lasting(&tensors::BOOL_MASK, shape, Dtype::Bool, role);
        }
        None => {}
    }
}

/// The end of an encoder: its norm and dropout.
#[inline(never)] // apart: a first visit has none
pub(crate) fn encoder_end(tape: &mut Tape, x: Var, stack: &Stack, run: &Run) -> Var {
    let mut hidden = x;
    if let Some(last) = &stack.final_norm {
        hidden = norm::norm(tape, x, last, run);
        tape.drop(x);
    }
    stack_output(tape, hidden, stack.dropout)
}

/// Dropout of what a stack puts out.
#[inline(never)] // apart: a first visit has none
fn stack_output(tape: &mut Tape, hidden: Var, probability: f64) -> Var {
    if probability == 0.0 {
        return hidden;
    }
    tape.enter("drop", Group::Other);
    dropout(tape, hidden)
}

/// Final norm, output embedding and cross entropy (transformers, `ForCausalLMLoss`): logits are cast to fp32, and
/// the log-softmax over the vocabulary is kept.
pub(crate) fn loss(
    tape: &mut Tape,
    x: Var,
    run: &Run,
    model: &Architecture,
    criterion: Criterion,
    keep_logits: bool,
) -> Var {
    if let Some(megatron) = &run.megatron {
        return super::megatron::loss(tape, x, model, megatron);
    }
    let compute = run.compute;
    let mut hidden = x;
    if let Some(last) = &model.final_norm {
        hidden = norm::norm(tape, x, last, run);
        tape.drop(x);
    }
    if let Some(pair) = &model.encoder {
        hidden = stack_output(tape, hidden, pair.dropout);
        if pair.scaled_head {
            tape.enter("", Group::LmHead);
            let dtype = tape.dtype(hidden);
            let scaled = tape.run("scale", &[hidden], STREAM, dtype, Back::Fresh);
            // The decoder's output is a variable of the model's program.
            tape.hold_for_model(hidden);
            hidden = scaled;
        }
    }
    // A copy is a weight of its own, also where the original is the embedding's.
    let copied = run.copied().head;
    let run = &Run { frozen: run.frozen && !copied, ..*run };
    match model.head.output {
        Output::Classes(classifier) => return classes(tape, hidden, None, classifier, run, keep_logits),
        Output::Pooled(pooler, classifier) => {
            return classes(tape, hidden, Some(pooler), classifier, run, keep_logits);
        }
        Output::Tokens(_) | Output::None => {}
    }
    hidden = super::dtensor::gathered(tape, hidden, run);
    tape.enter("lm_head", Group::LmHead);
    let weight = if model.shares_head() && !copied { weights::EMBED } else { weights::LM_HEAD };
    if criterion != Criterion::Standard {
        // The labels are shifted first.
        let labels = tape.constant("shift", LABELS, Dtype::Int64);
        let loss = match criterion {
            Criterion::Chunked(chunks) => chunked(tape, hidden, weight, labels, chunks, run),
            _ => fused(tape, hidden, weight, run),
        };
        tape.drop(labels);
        tape.drop(hidden);
        return loss;
    }
    if let Some((dense, norm)) = &model.head.transform {
        hidden = transform(tape, hidden, *dense, norm, run);
        tape.enter("lm_head", Group::LmHead);
    }
    let bias = match model.head.output {
        Output::Tokens(Linear { bias, .. }) => bias,
        _ => None,
    };
    let logits = linear(tape, hidden, Linear { weight, bias }, LOGITS, run, &tensors::LINEAR_INPUT);
    if !model.causal() || model.encoder.is_some() {
        let loss = own_type_loss(tape, logits, LOGITS, run);
        tape.drop(hidden);
        if !keep_logits {
            tape.drop(logits);
        }
        return loss;
    }
    if let Some(dtensor) = run.dtensor {
        tape.drop(hidden);
        return super::dtensor::cross_entropy(tape, logits, dtensor);
    }
    let logits = if model.final_soft_cap { capped(tape, logits) } else { logits };
    tape.enter("loss", Group::Loss);
    let wide = if compute.matmul == Dtype::Fp32 {
        logits
    } else {
        tape.run("float", &[logits], LOGITS, Dtype::Fp32, Back::Through)
    };
    let labels = tape.constant("pad", PADDED_LABELS, Dtype::Int64);
    // One sequence: the shifted labels are a view of the padded ones; more: a copy.
    let single = tape.numbers().get(Symbol::B) == 1;
    let shifted = if single { labels } else { tape.constant("contiguous", LABELS, Dtype::Int64) };
    let log_probabilities = tape.run("log_softmax", &[wide], LOGITS, Dtype::Fp32, Back::Fresh);
    tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
    let loss = tape.run("nll_loss", &[log_probabilities], SCALAR, Dtype::Fp32, Back::Fresh);
    tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
    tape.save(shifted, &tensors::SHIFTED_LABELS);
    tape.save_new(&tensors::TOTAL_WEIGHT, SCALAR, Dtype::Fp32);
    if wide != logits {
        tape.drop(wide);
    }
    if !single {
        tape.drop(shifted);
    }
    for done in [log_probabilities, labels, hidden] {
        tape.drop(done);
    }
    // A program that looks at the output later holds the logits until then.
    if !keep_logits {
        tape.drop(logits);
    }
    loss
}

/// `cap · tanh(logits / cap)`: tanh keeps its output.
#[inline(never)] // apart: a first visit has none
fn capped(tape: &mut Tape, logits: Var) -> Var {
    let dtype = tape.dtype(logits);
    tape.enter("loss", Group::Loss);
    let small = tape.run("div cap", &[logits], LOGITS, dtype, Back::Fresh);
    tape.drop(logits);
    let tanh = tape.run("tanh", &[small], LOGITS, dtype, Back::Fresh);
    tape.save(tanh, &tensors::LOGITS_TANH);
    tape.drop(small);
    let out = tape.run("mul cap", &[tanh], LOGITS, dtype, Back::Fresh);
    tape.drop(tanh);
    out
}

/// Dense, activation and norm before the output embedding (BERT, `BertPredictionHeadTransform`).
#[inline(never)] // apart: a first visit has none
fn transform(tape: &mut Tape, x: Var, dense: Linear, last: &Norm, run: &Run) -> Var {
    tape.enter(dense.weight.module(), Group::LmHead);
    let wide = linear(tape, x, dense, STREAM, run, &tensors::LINEAR_INPUT);
    tape.drop(x);
    let dtype = tape.dtype(wide);
    let active = tape.run("act", &[wide], STREAM, dtype, Back::Fresh);
    tape.save(wide, &tensors::MLP_PRE_ACT);
    tape.drop(wide);
    let out = norm::norm(tape, active, last, run);
    tape.drop(active);
    out
}

/// Cross entropy over masked tokens (transformers, `BertForMaskedLM`): the logits are not cast, so that the log-softmax
/// is kept in their own type; under autocast the loss reads, and keeps, an fp32 copy of it.
#[inline(never)] // apart: a first visit has none
fn own_type_loss(tape: &mut Tape, logits: Var, shape: Shape, run: &Run) -> Var {
    tape.enter("loss", Group::Loss);
    let low = tape.dtype(logits);
    let log_probabilities = tape.run("log_softmax", &[logits], shape, low, Back::Fresh);
    tape.save(log_probabilities, &tensors::LOG_SOFTMAX);
    let wide = if run.compute.autocast() {
        tape.run("cast", &[log_probabilities], shape, Dtype::Fp32, Back::Through)
    } else {
        log_probabilities
    };
    let dtype = tape.dtype(wide);
    let loss = tape.run("nll_loss", &[wide], SCALAR, dtype, Back::Fresh);
    tape.save(wide, &tensors::LOG_SOFTMAX);
    tape.save_new(&tensors::TOTAL_WEIGHT, SCALAR, dtype);
    if wide != log_probabilities {
        tape.drop(wide);
    }
    tape.drop(log_probabilities);
    loss
}

/// Patches through a convolution, class tokens before them, positions added (`ViTEmbeddings`): nothing is kept but the
/// image, which is the program's.
#[inline(never)] // apart: a first visit has none
fn patches(tape: &mut Tape, of: &Embedding, run: &Run) -> Var {
    let stream = run.compute.weight;
    let cast = run.compute.autocast();
    tape.enter("embeddings", Group::Embedding);
    let trained = |weight| if run.frozen { Back::Fresh } else { Back::Weight(weight) };
    let mut others = of.other.iter().copied();
    // Beside the convolution's weight and bias, each other parameter is one more token.
    let count = (of.other.len() as u64).saturating_sub(2);
    let count = of.image.map_or(0, |image| image.tokens).saturating_sub(count);
    let shape = Shape::new(&[B, Dim::of(count), Dim::Sym(Symbol::H)]);
    let (Some(weight), bias) = (others.next(), others.next()) else {
        return tape.run("embedding", &[], STREAM, stream, Back::Fresh);
    };
    let convolution = if run.frozen { Back::Fresh } else { Back::Linear { weight, bias, cast } };
    let copy = cast.then(|| tape.weight_copy(weight.shape, run.compute.matmul));
    let projected = tape.run("conv2d", &[], shape, run.compute.matmul, convolution);
    if let Some(copy) = copy {
        // A convolution keeps its weight even where, as here, its input needs no gradient.
        tape.share_weight_copy(copy);
        tape.forget_weight_copy(copy);
    }
    if let Some(image) = of.image.filter(|_| cast) {
        let [channels, side] = [image.channels, image.side].map(Dim::of);
        tape.save_new(&tensors::AUTOCAST_INPUT, Shape::new(&[B, channels, side, side]), run.compute.matmul);
    }
    let mut x = tape.run("cat", &[projected], STREAM, stream, Back::Through);
    tape.drop(projected);
    // Class tokens, and the table of positions: added, their gradients summed over the images.
    for weight in others.chain(of.tables.iter().copied()) {
        let learned = tape.run("expand", &[], weight.shape, stream, trained(weight));
        let sum = tape.run("add", &[x, learned], STREAM, stream, Back::Sum);
        tape.drop(x);
        tape.drop(learned);
        x = sum;
    }
    if of.dropout > 0.0 {
        x = dropout(tape, x);
    }
    x
}

/// The first token's vector through a linear, and cross entropy over classes (`ViTForImageClassification`); or through
/// a pooler first (`BertForSequenceClassification`).
#[inline(never)] // apart: a first visit has none
fn classes(
    tape: &mut Tape,
    hidden: Var,
    pooler: Option<Pooler>,
    classifier: Linear,
    run: &Run,
    keep_logits: bool,
) -> Var {
    tape.enter("lm_head", Group::LmHead);
    let mut first = tape.view("slice", hidden, FIRST, Back::Fresh);
    if let Some(pooler) = pooler {
        first = pooled(tape, first, pooler, run);
        tape.enter("classifier", Group::LmHead);
    }
    let count = classifier.weight.shape.dims().first().copied().unwrap_or(Dim::Const(1));
    let scores = Shape::new(&[B, count]);
    let logits = linear(tape, first, classifier, scores, run, &tensors::LINEAR_INPUT);
    tape.drop(first);
    let loss = own_type_loss(tape, logits, scores, run);
    tape.drop(hidden);
    if !keep_logits {
        tape.drop(logits);
    }
    loss
}

#[inline(never)] // apart: a first visit has none
fn pooled(tape: &mut Tape, mut x: Var, pooler: Pooler, run: &Run) -> Var {
    let [before, after] = pooler.dropout;
    tape.enter(pooler.dense.weight.module(), pooler.dense.weight.group);
    if before > 0.0 {
        x = dropout(tape, x);
    }
    let dense = linear(tape, x, pooler.dense, FIRST, run, &tensors::LINEAR_INPUT);
    tape.drop(x);
    let dtype = tape.dtype(dense);
    let active = tape.run("tanh", &[dense], FIRST, dtype, Back::Fresh);
    tape.save(active, &tensors::POOLER_TANH);
    tape.drop(dense);
    if after > 0.0 { dropout(tape, active) } else { active }
}
