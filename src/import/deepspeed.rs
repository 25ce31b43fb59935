//! `DeepSpeed`'s JSON, alone or inside another file (<https://www.deepspeed.ai/docs/config-json/>;
//! `deepspeed/runtime/config.py`, `deepspeed/runtime/zero/config.py`).

use serde_json::{Map, Value};

use super::draft::{Draft, Engine, Half};
use super::given::{Given, Said};
use super::translate::{Row, word};
use super::{Why, translate};
use crate::config::{Key, Offload};
use crate::text::import as words;

/// Its settings that are keys of ours.
pub(crate) const ROWS: &[Row] = &[
    Row::same("zero_optimization.reduce_bucket_size", Key::ReduceBucketSize),
    Row::same("zero_optimization.allgather_bucket_size", Key::AllgatherBucketSize),
    Row::flag("zero_optimization.overlap_comm", Key::OverlapComm),
    Row::flag("zero_optimization.contiguous_gradients", Key::ContiguousGradients),
    Row::same("zero_optimization.stage3_max_live_parameters", Key::Stage3MaxLiveParameters),
    Row::same("tensor_parallel.autotp_size", Key::Tp),
    Row::words(
        "data_types.grad_accum_dtype",
        Key::GradDtype,
        &[("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp16"), ("float32", "fp32"), ("bfloat16", "bf16")],
    ),
    Row::words(
        "communication_data_type",
        Key::ReduceDtype,
        &[("fp32", "fp32"), ("bf16", "bf16"), ("float32", "fp32"), ("bfloat16", "bf16"), ("bfp16", "bf16")],
    ),
];

/// Its settings that move memory and have no key of their own: they stay together in our key `deepspeed`.
pub(crate) const KEPT: &[&str] = &[
    "zero_optimization.sub_group_size",
    "zero_optimization.stage3_prefetch_bucket_size",
    "zero_optimization.stage3_param_persistence_threshold",
    "zero_optimization.stage3_model_persistence_threshold",
    "zero_optimization.stage3_max_reuse_distance",
    "zero_optimization.stage3_module_granularity_threshold",
    "zero_optimization.round_robin_gradients",
    "zero_optimization.reduce_scatter",
    "zero_optimization.allgather_partitions",
    "zero_optimization.zero_hpz_partition_size",
    "zero_optimization.zero_quantized_weights",
    "zero_optimization.zero_quantized_nontrainable_weights",
    "zero_optimization.zero_quantized_gradients",
    "zero_optimization.memory_efficient_linear",
    "zero_optimization.mics_shard_size",
    "zero_optimization.offload_optimizer.ratio",
    "zero_optimization.offload_param.buffer_count",
    "zero_optimization.offload_param.buffer_size",
    "zero_optimization.offload_param.max_in_cpu",
];

/// Its settings that change no memory of the GPU.
pub(super) const HARMLESS: &[&str] = &[
    "steps_per_print",
    "wall_clock_breakdown",
    "dump_state",
    "gradient_clipping",
    "prescale_gradients",
    "gradient_predivide_factor",
    "scheduler.*",
    "optimizer.params*",
    "fp16.loss_scale*",
    "fp16.initial_scale_power",
    "fp16.hysteresis",
    "fp16.consecutive_hysteresis",
    "fp16.min_loss_scale",
    "fp16.auto_cast",
    "bf16.auto_cast",
    "bf16.check_grad_overflow",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "tensorboard.*",
    "wandb.*",
    "csv_monitor.*",
    "comet.*",
    "comms_logger.*",
    "flops_profiler.*",
    "monitor_config.*",
    "checkpoint.*",
    "load_universal_checkpoint",
    "aio.*",
    "autotuning.*",
    "elasticity.*",
    "seed",
    "memory_breakdown",
    "disable_allgather",
    "zero_optimization.stage3_gather_*",
    "zero_optimization.load_from_fp32_weights",
    "zero_optimization.elastic_checkpoint",
    "zero_optimization.ignore_unused_parameters",
    "zero_optimization.legacy_stage1",
    "zero_optimization.use_multi_rank*",
    "zero_optimization.offload_optimizer.*",
    "zero_optimization.offload_param.*",
    "zero_optimization.log_trace*",
    "zero_optimization.cpu_offload_use_pin_memory",
    "dataloader_drop_last",
    "use_data_before_expert_parallelism",
    "sparse_gradients",
    "hybrid_engine.*",
    "data_efficiency.*",
    "curriculum_learning.*",
    "zero_optimization.leaf_module*",
    "compression_training.*",
];

/// Whether only `DeepSpeed` has such settings.
pub(super) fn recognises(given: &Given) -> bool {
    const NAMES: &[&str] = &[
        "zero_optimization",
        "train_micro_batch_size_per_gpu",
        "train_batch_size",
        "zero_allow_untested_optimizer",
        "bf16.enabled",
        "fp16.enabled",
        "bfloat16.enabled",
        "steps_per_print",
        "wall_clock_breakdown",
    ];
    given.count(NAMES) > 0
}

/// Takes its settings.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.engine = Some(Engine::Deepspeed);
    draft.facts.trains = true;
    batch(given, draft);
    precision(given, draft);
    zero(given, draft);
    optimizer(given, draft);
    translate::read(ROWS, given, draft);
    keep(given, draft);
    activations(given, draft);
}

fn batch(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("train_micro_batch_size_per_gpu") {
        draft.note_number(said, |facts| &mut facts.micro_batch);
    }
    if let Some(said) = given.take("gradient_accumulation_steps") {
        draft.note_number(said, |facts| &mut facts.accumulation);
    }
    if let Some(said) = given.take("train_batch_size") {
        draft.note_number(said, |facts| &mut facts.global_batch);
    }
}

fn precision(given: &mut Given, draft: &mut Draft) {
    for (section, half) in [("fp16", Half::Fp16), ("bf16", Half::Bf16), ("bfloat16", Half::Bf16)] {
        let name = format!("{section}.enabled");
        draft.facts.automatic_half |= given.peek(&name).is_some_and(|said| said.word() == "auto");
        let Some(said) = given.take(&name) else { continue };
        match said.flag() {
            Some(true) => draft.facts.compute = Some((said, Some(half))),
            Some(false) if draft.facts.compute.is_none() => draft.facts.compute = Some((said, None)),
            Some(false) => {}
            None => draft.unsupported(&said, words::OTHER_VALUE),
        }
    }
    let cast = given.take("torch_autocast.enabled");
    let dtype = given.take("torch_autocast.dtype");
    if let Some(said) = cast
        && said.flag() == Some(true)
    {
        draft.facts.autocast = true;
        let half = match dtype.as_ref().map(Said::word).as_deref() {
            Some("float16" | "torch.float16" | "fp16") => Half::Fp16,
            _ => Half::Bf16,
        };
        draft.facts.compute = Some((dtype.unwrap_or(said), Some(half)));
    }
    for name in [
        "bf16.bf16_master_weights_and_grads",
        "bf16.bf16_optimizer_states",
        "fp16.fp16_master_weights_and_grads",
    ] {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.unsupported(&said, words::MASTER_IN_16_BIT);
        }
    }
    if let Some(said) = given.take("amp.enabled").filter(|said| said.flag() == Some(true)) {
        draft.unsupported(&said, words::APEX);
    }
}

fn zero(given: &mut Given, draft: &mut Draft) {
    let stage = given.take("zero_optimization.stage");
    let mut sharded = 0;
    if let Some(said) = stage {
        sharded = said.number().unwrap_or_default();
        stage_is(&said, draft);
    } else if let Some(said) = given.take("zero_optimization").filter(|said| said.flag() == Some(true)) {
        // Before 0.3 the section was a switch: stage 1.
        draft.set_key(&said, Key::DataParallel, "zero1");
    } else if given.has_section("zero_optimization") {
        draft.assume(Key::DataParallel.word(), "ddp", words::STAGE_0);
    }
    let device = |name: &str, given: &mut Given| {
        given.take(&format!("zero_optimization.{name}.device")).filter(|said| said.word() != "none")
    };
    let old = |name: &str, given: &mut Given| {
        given.take(&format!("zero_optimization.{name}")).filter(|said| said.flag() == Some(true))
    };
    let optimizer = device("offload_optimizer", given).or_else(|| old("cpu_offload", given));
    let parameters = (device("offload_param", given))
        .or_else(|| old("cpu_offload_params", given))
        .or_else(|| old("cpu_offload_param", given));
    for (said, part, least) in [(optimizer, Offload::Optimizer, 1), (parameters, Offload::Parameters, 3)] {
        match said {
            // DeepSpeed itself ignores the section below these stages.
            Some(said) if sharded < least => draft.unsupported(&said, words::OFFLOAD_NEEDS_STAGE),
            Some(said) => draft.offload(&said, part),
            None => {}
        }
    }
}

/// A stage of `ZeRO`, wherever it is said.
pub(super) fn stage_is(said: &Said, draft: &mut Draft) {
    const STAGES: &[(&str, &str)] = &[("0", "ddp"), ("1", "zero1"), ("2", "zero2"), ("3", "zero3")];
    match word(STAGES, said) {
        Some(ours) => draft.set_key(said, Key::DataParallel, ours),
        None => draft.unsupported(said, words::OTHER_VALUE),
    }
}

fn optimizer(given: &mut Given, draft: &mut Draft) {
    const TYPES: &[(&str, &str)] =
        &[("adamw", "adamw"), ("adam", "adamw"), ("lion", "lion"), ("muon", "muon"), ("sgd", "sgd")];
    let torch = given.take("optimizer.params.torch_adam").filter(|said| said.flag() == Some(true));
    let momentum = given.peek("optimizer.params.momentum").is_some_and(|said| said.text() != "0");
    let Some(said) = given.take("optimizer.type") else { return };
    match word(TYPES, &said) {
        Some("sgd") if momentum => draft.set_key(&said, Key::Optimizer, "sgd-momentum"),
        Some(ours) => draft.set_key(&said, Key::Optimizer, ours),
        None => return draft.unsupported(&said, words::OPTIMIZER),
    }
    match torch {
        Some(said) => draft.set_key(&said, Key::OptimizerImpl, "foreach"),
        None if said.word().starts_with("adam") => {
            draft.assume(Key::OptimizerImpl.word(), "fused", words::FUSED_ADAM);
        }
        None => {}
    }
}

fn keep(given: &mut Given, draft: &mut Draft) {
    let mut kept = match draft.config.advanced.get(Key::Deepspeed.word()) {
        Some(Value::Object(kept)) => kept.clone(),
        _ => Map::new(),
    };
    for name in KEPT {
        // Without its `stage3_`, a name is DeepSpeed's own alias.
        let said = given.take(name).or_else(|| given.take(&name.replace("stage3_", "")));
        let Some(said) = said else { continue };
        let number = said.number().filter(|_| !said.value.is_boolean());
        nest(&mut kept, name, number.map_or_else(|| said.value.clone(), Value::from));
        draft.set_key(&said, Key::Deepspeed, &Value::Object(kept.clone()).to_string());
    }
}

/// Puts a value under a dotted name.
pub(crate) fn nest(into: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(into.insert(name.to_owned(), value)),
        Some((section, rest)) => {
            let inner = into.entry(section).or_insert_with(|| Map::new().into());
            if !inner.is_object() {
                *inner = Map::new().into();
            }
            if let Value::Object(inner) = inner {
                nest(inner, rest, value);
            }
        }
    }
}

/// Its own checkpointing works only where the model's code calls it.
fn activations(given: &mut Given, draft: &mut Draft) {
    for name in
        ["partition_activations", "cpu_checkpointing", "contiguous_memory_optimization", "number_checkpoints"]
    {
        if let Some(said) = given.take(&format!("activation_checkpointing.{name}"))
            && said.flag() != Some(false)
        {
            draft.unsupported(&said, words::OWN_CHECKPOINTING);
        }
    }
    for name in ["synchronize_checkpoint_boundary", "profile"] {
        if let Some(said) = given.take(&format!("activation_checkpointing.{name}")) {
            draft.ignore(&said, Why::Harmless);
        }
    }
}

/// A file of `DeepSpeed` settings that is only named. Its name often says the stage (`zero3.json`,
/// `ds_z2_offload_config.json`); that is an assumption, which the file itself replaces.
pub(super) fn named(said: &Said, draft: &mut Draft) {
    draft.facts.engine = Some(Engine::Deepspeed);
    draft.ignore(said, Why::Elsewhere);
    let path = said.word();
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let stage = ["zero", "zero_", "zero-", "z", "stage", "stage_"].iter().find_map(|word| {
        name.match_indices(word).find_map(|(at, word)| {
            let digit = name[at + word.len()..].chars().next()?;
            let starts = name[..at].chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
            (starts && ('0'..='3').contains(&digit)).then_some(digit)
        })
    });
    let Some(stage) = stage else { return };
    let parallel = if stage == '0' { "ddp".to_owned() } else { format!("zero{stage}") };
    draft.assume(Key::DataParallel.word(), &parallel, words::BY_FILE_NAME);
    if name.contains("offload") && stage != '0' {
        let parts = match (name.contains("offload_opt"), stage) {
            (true, _) | (_, '1' | '2') => "optimizer",
            _ => "optimizer,parameters",
        };
        draft.assume(Key::Offload.word(), parts, words::BY_FILE_NAME);
    }
}
