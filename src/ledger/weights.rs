//! Rows that live longer than a step: weights, and the gradients made of them.

use super::activations::{DTensor, Run};
use super::{Block, Dim, Dtype, Entry, Group, Phase, Shape, Symbol, Symbols, Tensor};
use crate::architecture::{Architecture, Body, Half, Layer, Output, Param, Routing, Weight};
use crate::text::tensors;

/// One row for `count` tensors shaped like a parameter.
pub(super) fn row(
    tensor: &'static Tensor,
    param: Param,
    block: Block,
    (shape, dtype): (Shape, Dtype),
    count: u64,
    numbers: &Symbols,
) -> Entry {
    let module = if param.half == Half::Whole { param.path } else { param.module() };
    let part = match param.half {
        Half::Whole => "",
        Half::A => "lora_A.weight",
        Half::B => "lora_B.weight",
        Half::Copy if param.path.rsplit('.').next() == Some("bias") => "modules_to_save.bias",
        Half::Copy => "modules_to_save.weight",
    };
    let row = Entry::lasting((tensor, module), (block, param.group), (shape, dtype), count, numbers);
    Entry { part, ..row }
}

/// The model's parameters.
pub(crate) fn parameters(weights: &[Weight], dtype: Dtype, numbers: &Symbols) -> Vec<Entry> {
    let of = |w: &Weight| {
        let tensor = match w.param.half {
            Half::Whole => &tensors::WEIGHT,
            Half::A => &tensors::LORA_A,
            Half::B => &tensors::LORA_B,
            Half::Copy => &tensors::MODULE_COPY,
        };
        row(tensor, w.param, Block::Parameters, (w.param.shape, w.param.dtype(dtype)), w.count, numbers)
    };
    weights.iter().map(of).collect()
}

/// Their gradients; `always`: in a buffer that is never freed.
pub(crate) fn gradients(weights: &[Weight], dtype: Dtype, always: bool, numbers: &Symbols) -> Vec<Entry> {
    let of = |w: &Weight| {
        let shape = (w.param.shape, w.param.dtype(dtype));
        let entry = row(&tensors::WEIGHT_GRADIENT, w.param, Block::Gradients, shape, w.count, numbers);
        if always {
            entry
        } else {
            Entry { from: Phase::Backward, until: Phase::Optimizer, at_peak: 0, ..entry }
        }
    };
    weights.iter().map(of).collect()
}

/// What the optimizer makes of gradients that do not lie as their weights do (`DTensor` redistributes them before the
/// step's operator): its own rows of the embedding's whole gradient, and the sum over ranks of those of norms, each of
/// which saw its own tokens.
pub(crate) fn redistributed(
    weights: &[Weight],
    dtensor: DTensor,
    dtype: Dtype,
    numbers: &Symbols,
) -> Vec<Entry> {
    let of = |w: &&Weight| {
        let norm = matches!(w.param.group, Group::Norm | Group::FinalNorm);
        (norm && dtensor.sequence) || dtensor.whole(w.param)
    };
    let made = |w: &Weight| {
        let shape = (w.param.shape, w.param.dtype(dtype));
        let entry = row(&tensors::REDISTRIBUTED_GRADIENT, w.param, Block::Overhead, shape, w.count, numbers);
        Entry { from: Phase::Optimizer, until: Phase::Optimizer, at_peak: 0, ..entry }
    };
    weights.iter().filter(of).map(made).collect()
}

/// The place of each gradient in buckets that are made once.
pub(crate) fn buckets(weights: &[Weight], dtype: Dtype, numbers: &Symbols) -> Vec<Entry> {
    let of = |w: &Weight| {
        let shape = (w.param.shape, w.param.dtype(dtype));
        row(&tensors::BUCKET, w.param, Block::Gradients, shape, w.count, numbers)
    };
    weights.iter().map(of).collect()
}

/// How many layers add a buffer to the scores by which experts are chosen, and how they route.
fn corrected(model: &Architecture) -> Option<(Routing, u64)> {
    let routing = |layer: &Layer| {
        layer.sublayers.iter().find_map(|sublayer| match &sublayer.body {
            Body::Moe(moe) if moe.routing.sigmoid() && moe.correction.is_none() => Some(moe.routing),
            _ => None,
        })
    };
    let kinds: Vec<_> = model.kinds.iter().map(routing).collect();
    let layers =
        model.order.iter().filter(|kind| kinds.get(usize::from(**kind)).is_some_and(Option::is_some));
    let layers = layers.count() as u64;
    kinds.into_iter().flatten().next().map(|routing| (routing, layers))
}

/// What lives on the device beside the weights: rotary frequencies (twice, transformers keeps the original; torchtitan
/// has one table of complex numbers), token ids and labels, and what tells the samples apart.
pub(crate) fn inputs(model: &Architecture, dtype: Dtype, numbers: &Symbols, run: &Run) -> Vec<Entry> {
    let told = run.samples.masks();
    let fixed = |tensor, module, shape, dtype, count| {
        Entry::lasting((tensor, module), (Block::Overhead, Group::Other), (shape, dtype), count, numbers)
    };
    let half = Shape::new(&[Dim::Over(model.rotary_width(), 2)]);
    let tokens = Shape::new(&[Dim::Sym(Symbol::B), Dim::Sym(Symbol::S)]);
    let mut rows = Vec::with_capacity(3);
    if model.embedding.rotary_tables > 0 && run.dtensor.is_some() {
        // A pair of fp32 for each pair of dimensions.
        let table = Shape::new(&[Dim::Sym(Symbol::S), Dim::Sym(model.rotary_width())]);
        rows.push(fixed(&tensors::ROTARY_FREQUENCIES, "rotary_emb", table, Dtype::Fp32, 1));
    } else if model.embedding.rotary_rows > 0 {
        let rows_and_width = [Dim::of(model.embedding.rotary_rows), Dim::Sym(model.rotary_width())];
        rows.push(fixed(&tensors::BUFFER, "rotary_emb", Shape::new(&rows_and_width), Dtype::Fp32, 1));
    } else if model.embedding.rotary_tables > 0 {
        rows.push(fixed(
            &tensors::BUFFER,
            "rotary_emb",
            half,
            Dtype::Fp32,
            2 * model.embedding.rotary_tables,
        ));
    }
    // Encoders keep the ids of positions, and of token types, in buffers.
    if let Some(positions) = model.embedding.tables.get(1).filter(|_| !model.causal()) {
        let ids = Shape::new(&[positions.shape.dims().first().copied().unwrap_or(Dim::Const(1))]);
        let count = model.embedding.tables.len() as u64 - 1;
        rows.push(fixed(&tensors::POSITION_IDS, "embeddings", ids, Dtype::Int64, count));
    }
    if let Some((routing, layers)) = corrected(model) {
        let own = if routing.fp32_input() { Dtype::Fp32 } else { dtype };
        rows.push(fixed(&tensors::CORRECTION, "mlp.gate", Shape::new(&[Dim::Sym(Symbol::E)]), own, layers));
    }
    if model.embedding.scaled {
        rows.push(fixed(&tensors::EMBED_SCALE, "embed_tokens", Shape::new(&[]), dtype, 1));
    }
    if let Some(image) = model.embedding.image {
        let [channels, side] = [image.channels, image.side].map(Dim::of);
        let pixels = Shape::new(&[Dim::Sym(Symbol::B), channels, side, side]);
        rows.push(fixed(&tensors::PIXELS, "", pixels, dtype, 1));
        rows.push(fixed(&tensors::INPUT, "", Shape::new(&[Dim::Sym(Symbol::B)]), Dtype::Int64, 1));
        return rows;
    }
    if model.encoder.is_some() {
        // What is read and what is to be written, and which of the former is padding.
        let targets = Shape::new(&[Dim::Sym(Symbol::B), Dim::Sym(Symbol::T)]);
        rows.push(fixed(&tensors::INPUT, "", tokens, Dtype::Int64, 1 + u64::from(told)));
        rows.push(fixed(&tensors::INPUT, "labels", targets, Dtype::Int64, 1));
        return rows;
    }
    // Ids, what tells the samples apart (mask or position ids), and labels: of each token, or of the sequence.
    let labelled = !matches!(model.head.output, Output::Classes(_) | Output::Pooled(..));
    let count = 1 + u64::from(told) + u64::from(labelled);
    rows.push(fixed(&tensors::INPUT, "", tokens, Dtype::Int64, count));
    if !labelled {
        rows.push(fixed(&tensors::INPUT, "", Shape::new(&[Dim::Sym(Symbol::B)]), Dtype::Int64, 1));
    }
    rows
}
