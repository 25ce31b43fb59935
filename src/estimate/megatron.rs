//! What a configuration says of a Megatron run.

use super::setup::{flag, note, switch};
use crate::architecture::{Architecture, Body, Output, Weight, weights};
use crate::config::{Config, DataParallel, Method, Problem, Recompute, Stack};
use crate::ledger::activations::{Kernel, LossKernel, Megatron, Modules, Travel};
use crate::ledger::megatron::Buffers;
use crate::ledger::{Block, Dim, Dtype, Entry, Group, Layout, Shape, Stage, Symbol, Symbols};
use crate::text::{estimate as words, tensors};
use serde_json::Value;

/// Whether a configuration asks for Megatron-core, and it can build the model.
#[inline(never)] // apart: a first visit has none
pub(super) fn builds(model: &Architecture, config: &Config) -> bool {
    config.stack == Stack::MegatronCore && config.method == Method::Full && buildable(model)
}

/// Whether it is a GPT as Megatron-core builds them.
fn buildable(model: &Architecture) -> bool {
    let sublayers = || model.kinds.iter().flat_map(|kind| &kind.sublayers);
    model.modelled_by_megatron()
        && model.causal()
        && matches!(model.head.output, Output::Tokens(_))
        && model.head.transform.is_none()
        && model.kinds.iter().all(|kind| !kind.parallel)
        && sublayers().all(|sublayer| sublayer.after.is_none() && sublayer.on_sum.is_none())
        && sublayers().all(|sublayer| !matches!(sublayer.body, Body::CrossAttention(_) | Body::Counted(_)))
}

/// How it runs.
#[inline(never)] // apart: a first visit has none
pub(super) fn run(config: &Config, layout: &Layout, problems: &mut Vec<Problem>) -> Megatron {
    let text = |key: &str| config.advanced.get(key).and_then(Value::as_str);
    let engine = text("transformer_impl") != Some("local");
    let mut again = Modules::default();
    if config.recompute == Recompute::Selective {
        // `--recompute-activations` alone is the core of attention.
        for name in
            text("recompute_modules").unwrap_or("core_attn").split([',', ' ']).filter(|name| !name.is_empty())
        {
            if !again.add(name.trim()) {
                problems.push(note("recompute_modules", name, words::UNKNOWN_MODULE));
            }
        }
    }
    let divides = flag(config, "distribute_saved_activations") && layout.tp > 1 && !layout.sp;
    let fused_loss = flag(config, "cross_entropy_loss_fusion");
    Megatron {
        engine,
        split: layout.tp > 1,
        sequence: layout.sp,
        split_experts: layout.etp > 1,
        ep: layout.ep,
        context: (layout.cp > 1).then(|| match text("cp_comm_type") {
            Some("all_gather") => Travel::Gather,
            Some("a2a") => Travel::Exchange,
            _ => Travel::Ring,
        }),
        cp: u16::try_from(layout.cp).unwrap_or(u16::MAX),
        // On by default; Megatron's own modules stand for a machine without the kernels that do it.
        fused_gradients: switch(config, "gradient_accumulation_fusion").unwrap_or(engine),
        loss: match text("cross_entropy_fusion_impl") {
            Some("te") if fused_loss => LossKernel::InPlace,
            _ if fused_loss && engine => LossKernel::Compiled,
            _ => LossKernel::Plain,
        },
        grouped: flag(config, "moe_grouped_gemm"),
        capacity: config.advanced.contains_key("moe_expert_capacity_factor"),
        again,
        divided_inputs: divides.then(|| u16::try_from(layout.tp).unwrap_or(u16::MAX)),
    }
}

/// How its data parallel keeps weights, gradients and states.
#[inline(never)] // apart: a first visit has none
pub(super) fn buffers(config: &Config, megatron: &Megatron, weight: Dtype, gradient: Dtype) -> Buffers {
    Buffers {
        sharded: config.data_parallel != DataParallel::Ddp,
        overlapped: flag(config, "overlap_grad_reduce"),
        counted: !megatron.engine,
        expert_by_expert: megatron.engine || !megatron.grouped,
        weight,
        gradient,
    }
}

/// The copies of tokens that this rank's experts serve in a micro-batch: balanced, and of a capacity factor so many
/// times as many.
#[inline(never)] // apart: a first visit has none
pub(super) fn routed(config: &Config, layout: &Layout, numbers: &Symbols) -> u64 {
    let number = |symbol| numbers.get(symbol);
    let copies = number(Symbol::B).saturating_mul(number(Symbol::Split)).saturating_mul(number(Symbol::Top));
    let served = copies.saturating_mul(layout.etp);
    let factor = config.advanced.get("moe_expert_capacity_factor").and_then(Value::as_f64);
    match factor {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a factor of a count; a negative or absurd one saturates"
        )]
        Some(factor) => (served as f64 * factor).ceil() as u64,
        None => served,
    }
}

/// What lives beside the weights: a micro-batch, tables, buffers.
#[inline(never)] // apart: a first visit has none
pub(super) fn inputs(
    model: &Architecture,
    stage: &Stage,
    megatron: &Megatron,
    kernel: Kernel,
    held: &[Weight],
    numbers: &Symbols,
) -> Vec<Entry> {
    let [b, s] = [Symbol::B, Symbol::S].map(Dim::Sym);
    let tokens = Shape::new(&[b, s]);
    let place = (Block::Overhead, Group::Other);
    let of =
        |tensor, shape, dtype, count| Entry::lasting((tensor, ""), place, (shape, dtype), count, numbers);
    // Ids and positions where the embedding is, labels and mask where the loss is.
    let ids = if stage.embeds() { 2 } else { 0 } + u64::from(stage.ends());
    let mut rows = Vec::new();
    if ids > 0 {
        rows.push(of(&tensors::INPUT, tokens, Dtype::Int64, ids));
    }
    if stage.ends() {
        rows.push(of(&tensors::LOSS_MASK, tokens, Dtype::Fp32, 1));
    }
    if kernel == Kernel::Eager && !megatron.engine {
        rows.push(of(&tensors::BOOL_MASK, Shape::new(&[b, s, s]), Dtype::Bool, 1));
    }
    // A model remembers the last input that it got from the stage before, and that has its gradient.
    let receiving = stage.chunks.iter().filter(|chunk| !chunk.embedding).count() as u64;
    if receiving > 0 {
        let stream = Shape::new(&[b, Dim::Sym(Symbol::Split), Dim::Sym(Symbol::H)]);
        rows.push(of(&tensors::STAGE_INPUT, stream, Dtype::Bf16, 2 * receiving));
    }
    let chunks = stage.chunks.len() as u64;
    if model.embedding.rotary_tables > 0 {
        let width = if model.has_latent_attention() { Symbol::Dr } else { Symbol::D };
        rows.push(of(&tensors::ROTARY_CACHE, Shape::new(&[s, Dim::Sym(width)]), Dtype::Fp32, chunks));
        rows.push(of(&tensors::BUFFER, Shape::new(&[Dim::Over(width, 2)]), Dtype::Fp32, chunks));
    }
    rows.extend(global_buffer(megatron, kernel, numbers));
    if megatron.fused_gradients && megatron.engine {
        // A tied table is a linear's matrix where the head is.
        let tied = (stage.ends() && model.shares_head()).then_some(weights::LM_HEAD);
        let tied = tied.map(|param| Weight { param, count: 1 });
        rows.extend(stand_ins(held.iter().chain(&tied), numbers));
    }
    rows
}

/// Megatron's own linears gather into one buffer, and its attention's product reads one: of whichever is larger
/// (`megatron/core/utils.py`, `GlobalMemoryBuffer`).
fn global_buffer(megatron: &Megatron, kernel: Kernel, numbers: &Symbols) -> Option<Entry> {
    if megatron.engine {
        return None;
    }
    let [b, s, h, a] = [Symbol::B, Symbol::S, Symbol::H, Symbol::A].map(Dim::Sym);
    let gathered = megatron.sequence.then(|| Shape::new(&[b, s, h]));
    let scores = (kernel == Kernel::Eager).then(|| Shape::new(&[b, a, s, s]));
    let shape = gathered.into_iter().chain(scores).max_by_key(|shape| shape.elements(numbers))?;
    let place = (Block::Overhead, Group::Other);
    Some(Entry::lasting((&tensors::GLOBAL_BUFFER, ""), place, (shape, Dtype::Bf16), 1, numbers))
}

/// One tensor for each shape of a weight whose gradient a product adds to the buffer.
fn stand_ins<'w>(weights: impl Iterator<Item = &'w Weight>, numbers: &Symbols) -> Vec<Entry> {
    let mut shapes: Vec<(u64, u64)> = Vec::new();
    let mut rows = Vec::new();
    for weight in weights {
        let dims = weight.param.shape.dims();
        let (Some((columns, rest)), true) = (dims.split_last(), multiplies(weight)) else { continue };
        // Each expert's matrix is a tensor of its own.
        let rest = if weight.param.group == Group::Experts { rest.get(1..).unwrap_or(&[]) } else { rest };
        let outputs = Shape::new(rest).elements(numbers);
        let key = (outputs, columns.value(numbers));
        if shapes.contains(&key) {
            continue;
        }
        shapes.push(key);
        let mut axes = rest.to_vec();
        axes.push(*columns);
        let row = Entry::lasting(
            (&tensors::DUMMY_GRADIENT, weight.param.module()),
            (Block::Gradients, weight.param.group),
            (Shape::new(&axes), Dtype::Bf16),
            1,
            numbers,
        );
        rows.push(row);
    }
    rows
}

/// Whether it is the matrix of a linear that adds its own gradient.
fn multiplies(weight: &Weight) -> bool {
    let matrix = weight.param.shape.dims().len() >= 2;
    matrix
        && !matches!(weight.param.group, Group::Embedding | Group::Router)
        && weight.param.path.ends_with("weight")
}
