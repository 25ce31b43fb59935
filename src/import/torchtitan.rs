//! torchtitan's TOML, of every version that had one (`torchtitan/config/job_config.py`; before:
//! `torchtitan/config_manager.py`).

use super::draft::{Draft, Engine, Family, Half};
use super::given::{Given, Said};
use super::trainer::{choose, weights_are};
use super::translate::Row;
use super::{model_name, translate};
use crate::config::{Key, Offload, by_name};
use crate::text::import as words;

const ROWS: &[Row] = &[
    Row::same("training.seq_len", Key::Seq),
    Row::same("parallelism.tensor_parallel_degree", Key::Tp),
    Row::same("training.tensor_parallel_degree", Key::Tp),
    Row::same("parallelism.pipeline_parallel_degree", Key::Pp),
    Row::same("experimental.pipeline_parallel_degree", Key::Pp),
    Row::same("parallelism.context_parallel_degree", Key::Cp),
    Row::same("experimental.context_parallel_degree", Key::Cp),
    Row::same("parallelism.expert_parallel_degree", Key::Ep),
    Row::same("parallelism.expert_tensor_parallel_degree", Key::Etp),
    Row::opposite("parallelism.disable_loss_parallel", Key::LossParallel),
    Row::opposite("training.disable_loss_parallel", Key::LossParallel),
    Row::flag("compile.enable", Key::Compile),
    Row::flag("training.compile", Key::Compile),
    Row::words(
        "activation_checkpoint.mode",
        Key::Recompute,
        &[("none", "none"), ("selective", "selective"), ("full", "full")],
    ),
    Row::words(
        "training.mixed_precision_reduce",
        Key::ReduceDtype,
        &[("float32", "fp32"), ("bfloat16", "bf16")],
    ),
    Row::words("optimizer.name", Key::Optimizer, &[("adamw", "adamw"), ("adam", "adamw"), ("muon", "muon")]),
    Row::words(
        "optimizer.implementation",
        Key::OptimizerImpl,
        &[("fused", "fused"), ("foreach", "foreach"), ("for-loop", "for-loop")],
    ),
];

/// Its settings that change no memory.
pub(super) const HARMLESS: &[&str] = &[
    "job.*",
    "profiling.*",
    "metrics.*",
    "optimizer.lr",
    "optimizer.eps",
    "optimizer.beta*",
    "optimizer.weight_decay",
    "optimizer.fused",
    "optimizer.foreach",
    "lr_scheduler.*",
    "checkpoint.*",
    "comm.*",
    "validation.*",
    "training.steps",
    "training.warmup_steps",
    "training.max_norm",
    "training.dataset*",
    "training.seed",
    "training.deterministic",
    "training.gc_*",
    "training.warmup*",
    "model.tokenizer_path",
    "model.norm_type",
    "model.print_after_conversion",
    "model.hf_assets_path",
    "model.converters",
    "compile.components",
    "compile.backend",
    "memory_estimation.*",
    "fault_tolerance.*",
    "experimental.custom_*",
    "experimental.enable_async_tensor_parallel",
    "parallelism.enable_async_tensor_parallel",
    "activation_checkpoint.per_op_sac*",
    "activation_checkpoint.early_stop",
    "activation_checkpoint.visualize*",
    "parallelism.context_parallel_rotate_method",
    "debug.*",
    "experimental.context_parallel_rotate_method",
    "parallelism.pipeline_parallel_split_points",
    "activation_checkpoint.preserve_rng_state",
    "experimental.pipeline_parallel_split_points",
    "experimental.enable_compiled_autograd",
    "parallelism.enable_compiled_autograd",
];

/// Whether only torchtitan has such settings.
pub(super) fn recognises(given: &Given) -> bool {
    given.count(&["model.flavor", "model.name", "training.seq_len", "job.dump_folder"]) >= 2
        || given.count(&["parallelism", "activation_checkpoint"]) > 0
}

/// Takes its settings.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.family = Some(Family::Torchtitan);
    draft.facts.trains = true;
    model(given, draft);
    batch(given, draft);
    precision(given, draft);
    translate::read(ROWS, given, draft);
    sharding(given, draft);
    pipeline(given, draft);
    if let Some(said) = given.take("activation_checkpoint.selective_ac_option")
        && draft.config.recompute == crate::config::Recompute::Selective
    {
        draft.set_key(&said, Key::RecomputeModules, &said.text());
    }
    if let Some(said) =
        given.take("optimizer.early_step_in_backward").filter(|said| said.flag() == Some(true))
    {
        draft.set_key(&said, Key::OptimizerImpl, "in-backward");
    }
    if let Some(said) =
        given.take("training.enable_cpu_offload").or_else(|| given.take("experimental.enable_cpu_offload"))
        && said.flag() == Some(true)
    {
        draft.offload(&said, Offload::Parameters);
        draft.offload(&said, Offload::Optimizer);
    }
}

/// `name` and `flavor` are the model; a path to the tokenizer names it too.
fn model(given: &mut Given, draft: &mut Draft) {
    let name = given.take("model.name").map(|said| said.word());
    let assets = given.peek("model.hf_assets_path").or_else(|| given.peek("model.tokenizer_path")).cloned();
    let Some(flavor) = given.take("model.flavor") else {
        if let Some(said) = assets.filter(|said| by_name(&said.text()).is_some()) {
            model_name::read(&said, draft);
        }
        return;
    };
    // Sizes of Llama 3 and 3.1 are the same; the assets say which is meant, where they say anything.
    let candidates: &[&str] = match name.as_deref() {
        Some("llama3" | "llama3_ft" | "simple_fsdp.llama3") => &["llama-3.1-", "llama-3.2-"],
        Some("llama2") => &["llama-2-"],
        Some("qwen3") => &["qwen3-"],
        _ => &[],
    };
    let size = flavor.word();
    let named = assets.as_ref().and_then(|said| by_name(&said.text()));
    let same = |id: &str| id.ends_with(&format!("-{size}"));
    let preset = named
        .map(|named| named.preset)
        .filter(|preset| {
            same(&preset.id) && candidates.iter().any(|start| preset.id.starts_with(&start[..6]))
        })
        .or_else(|| candidates.iter().find_map(|start| crate::config::preset(&format!("{start}{size}"))));
    match preset {
        Some(preset) => draft.set_key(&flavor, Key::Model, &preset.id),
        None => draft.unsupported(&flavor, words::UNKNOWN_MODEL),
    }
}

fn batch(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take_first(&["training.local_batch_size", "training.batch_size"]) {
        draft.note_number(said, |facts| &mut facts.micro_batch);
    }
    // -1: no accumulation.
    if let Some(said) = given.take("training.global_batch_size").filter(|said| said.number().is_some()) {
        draft.note_number(said, |facts| &mut facts.global_batch);
    }
}

fn precision(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("training.dtype") {
        weights_are(said, draft);
    }
    if let Some(said) = given.take("training.mixed_precision_param") {
        match said.word().as_str() {
            "bfloat16" => draft.facts.compute = Some((said, Some(Half::Bf16))),
            "float16" => draft.facts.compute = Some((said, Some(Half::Fp16))),
            "float32" => draft.facts.compute = Some((said, None)),
            _ => draft.unsupported(&said, words::OTHER_VALUE),
        }
    }
    let converts = given.peek("model.converters").is_some_and(|said| said.word().contains("float8"));
    for section in ["float8", "quantize.linear.float8", "quantize"] {
        let on = given
            .peek(&format!("{section}.enable_float8_linear"))
            .is_some_and(|said| said.flag() == Some(true));
        let settings = given.section(section);
        if converts || on {
            settings.report_rest(&[], draft);
        }
    }
    if converts && let Some(said) = given.take("model.converters") {
        draft.unsupported(&said, words::FLOAT8);
    }
}

fn sharding(given: &mut Given, draft: &mut Draft) {
    let replicas = given.take_first(&[
        "parallelism.data_parallel_replicate_degree",
        "training.data_parallel_replicate_degree",
    ]);
    let shards = given.take_first(&[
        "parallelism.data_parallel_shard_degree",
        "training.data_parallel_shard_degree",
        "training.data_parallel_degree",
    ]);
    let alone = shards.as_ref().and_then(Said::number) == Some(1);
    draft.facts.engine = (!alone).then_some(Engine::Fsdp);
    let copies = replicas.as_ref().and_then(Said::number).unwrap_or(1);
    match (&shards, shards.as_ref().and_then(Said::number)) {
        (Some(said), Some(1)) => draft.set_key(said, Key::DataParallel, "ddp"),
        (Some(said), Some(degree)) => {
            draft.set_key(said, Key::DataParallel, if copies > 1 { "hsdp" } else { "fsdp" });
            if copies > 1 {
                draft.set_key(said, Key::ShardSize, &degree.to_string());
            }
            let group = [draft.config.tp, draft.config.pp, draft.config.cp];
            let all =
                group.iter().fold(degree.saturating_mul(copies), |all, degree| all.saturating_mul(*degree));
            draft.facts.gpus.get_or_insert_with(|| (said.clone(), all));
        }
        // -1, or nothing: whatever is left of the GPUs.
        _ => draft.assume(
            Key::DataParallel.word(),
            if copies > 1 { "hsdp" } else { "fsdp" },
            words::TITAN_DEFAULT,
        ),
    }
    if let Some(said) = replicas.filter(|_| copies > 1) {
        let ours = if alone { "ddp" } else { "hsdp" };
        draft.set_key(&said, Key::DataParallel, ours);
    }
    if let Some(said) = given.take("parallelism.fsdp_reshard_after_forward") {
        match said.word().as_str() {
            "never" => draft.set_key(&said, Key::ReshardAfterForward, "false"),
            "always" => draft.set_key(&said, Key::ReshardAfterForward, "true"),
            // Not under a pipeline, where each micro-batch would gather anew (`apply_fsdp`).
            _ => draft.set_key(
                &said,
                Key::ReshardAfterForward,
                if draft.config.pp > 1 { "false" } else { "true" },
            ),
        }
    }
    // Sequence parallelism comes with its tensor parallelism.
    if draft.config.tp > 1 {
        draft.assume(Key::Sp.word(), "true", words::TITAN_DEFAULT);
    }
}

fn pipeline(given: &mut Given, draft: &mut Draft) {
    const SCHEDULES: &[(&str, &str)] = &[
        ("1f1b", "1f1b"),
        ("gpipe", "gpipe"),
        ("interleaved1f1b", "interleaved"),
        ("interleavedzerobubble", "zero-bubble"),
        ("zbvzerobubble", "zero-bubble"),
    ];
    let schedule = given
        .take_first(&["parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"]);
    let piece = given.take_first(&[
        "parallelism.pipeline_parallel_microbatch_size",
        "experimental.pipeline_parallel_microbatches",
    ]);
    if draft.config.pp == 1 {
        return;
    }
    if let Some(said) = schedule {
        choose(SCHEDULES, &said, Key::Schedule, draft);
        // Schedules of several stages a rank have two (`pipeline_llm`).
        if ["interleaved1f1b", "interleavedzerobubble", "zbvzerobubble"].contains(&said.word().as_str()) {
            draft.assume(Key::Vpp.word(), "2", words::TITAN_DEFAULT);
        }
    }
    // A step's local batch goes through the pipeline in micro-batches.
    let local = draft.facts.micro_batch.as_ref().map_or(8, |(_, local)| *local);
    if let Some(said) = piece
        && let Some(number) = said.number().filter(|&number| number > 0)
    {
        let counts = said.name.ends_with("microbatches");
        let micro = if counts { local / number } else { number }.max(1);
        draft.facts.accumulation = Some((said.clone(), (local / micro).max(1)));
        draft.facts.micro_batch = Some((said, micro));
    }
}
