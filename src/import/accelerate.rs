//! The YAML that `accelerate config` writes (`accelerate/commands/config/cluster.py`).

use super::draft::{Draft, Engine, Half};
use super::given::{Given, Said};
use super::translate::Row;
use super::{Why, deepspeed, fsdp, launcher, translate};
use crate::config::{Key, Offload};
use crate::text::import as words;

/// Settings that change no memory.
pub(super) const HARMLESS: &[&str] = &[
    "compute_environment",
    "debug",
    "downcast_bf16",
    "enable_cpu_affinity",
    "machine_rank",
    "main_process_*",
    "main_training_function",
    "rdzv_backend",
    "same_network",
    "tpu_*",
    "use_cpu",
    "gpu_ids",
    "mpirun_config.*",
    "command_file",
    "commands",
    "deepspeed_config.zero3_*",
    "deepspeed_config.gradient_clipping",
    "deepspeed_config.deepspeed_multinode_launcher",
    "deepspeed_config.deepspeed_hostfile",
    "deepspeed_config.offload_*_nvme_path",
    "dynamo_config.*",
    "fsdp_config",
    "deepspeed_config",
    "megatron_lm_config",
    "deepspeed_config.deepspeed_moe_layer_cls_names",
    "deepspeed_config.offload_optimizer_nvme_path",
    "deepspeed_config.offload_param_nvme_path",
    "distributed_type",
    "tpu_env",
];

/// Its groups of processes.
const GROUPS: &[Row] = &[
    Row::same("parallelism_config.parallelism_config_tp_size", Key::Tp),
    Row::same("parallelism_config.parallelism_config_cp_size", Key::Cp),
];

/// Whether only accelerate has such settings.
pub(super) fn recognises(given: &Given) -> bool {
    given.count(&["compute_environment", "distributed_type", "main_training_function", "machine_rank"]) > 0
        || (given.has_section("fsdp_config") && given.count(&["num_processes", "mixed_precision"]) > 0)
}

/// Takes its settings.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.trains = true;
    let kind = given.peek("distributed_type").map(Said::word).unwrap_or_default();
    launcher::read(given, draft);
    match kind.as_str() {
        "deepspeed" => own_deepspeed(given, draft),
        "fsdp" => {
            draft.facts.engine = Some(Engine::Fsdp);
            if let Some(said) = given.peek("distributed_type").cloned() {
                draft.set_key(&said, Key::DataParallel, "fsdp");
            }
            fsdp::section(given, draft);
        }
        "megatron_lm" | "tpu" | "xla" | "multi_cpu" => {
            if let Some(said) = given.take("distributed_type") {
                draft.unsupported(&said, words::OTHER_VALUE);
            }
        }
        _ => {}
    }
    mesh(given, draft);
    if given.has_section("dynamo_config")
        && let Some(said) = given.take("dynamo_config.dynamo_backend").filter(|said| said.word() != "no")
    {
        draft.set_key(&said, Key::Compile, "true");
    }
    translate::read(GROUPS, given, draft);
}

/// A word or a switch of accelerate's own, wherever it stands.
pub(super) fn mixed_precision(said: &Said, draft: &mut Draft) {
    match said.word().as_str() {
        "bf16" => draft.facts.compute = Some((said.clone(), Some(Half::Bf16))),
        "fp16" => draft.facts.compute = Some((said.clone(), Some(Half::Fp16))),
        // YAML reads `no` as a switch.
        "no" | "false" => draft.facts.compute = Some((said.clone(), None)),
        "fp8" => draft.facts.fp8 = Some(said.clone()),
        _ => draft.unsupported(said, words::OTHER_VALUE),
    }
}

/// `accelerate launch --use_fsdp …`, `--use_deepspeed …`.
pub(super) fn switches(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("use_fsdp").filter(|said| said.flag() == Some(true)) {
        draft.facts.engine = Some(Engine::Fsdp);
        draft.set_key(&said, Key::DataParallel, "fsdp");
        let names =
            ["version", "sharding_strategy", "reshard_after_forward", "offload_params", "use_orig_params"];
        for name in names.iter().chain(&["activation_checkpointing", "auto_wrap_policy", "state_dict_type"]) {
            if let Some(said) = given.take_any(&format!("fsdp_{name}")) {
                given.insert(format!("fsdp_config.{name}"), said);
            }
        }
        fsdp::section(given, draft);
    }
    if given.take("use_deepspeed").is_some_and(|said| said.flag() == Some(true)) {
        for name in
            ["zero_stage", "offload_optimizer_device", "offload_param_device", "gradient_accumulation_steps"]
        {
            if let Some(said) = given.take_any(name) {
                given.insert(format!("deepspeed_config.{name}"), said);
            }
        }
        own_deepspeed(given, draft);
    }
}

fn own_deepspeed(given: &mut Given, draft: &mut Draft) {
    draft.facts.engine = Some(Engine::Deepspeed);
    if let Some(said) = given.take("deepspeed_config.deepspeed_config_file") {
        deepspeed::named(&said, draft);
    }
    let stage = given.take("deepspeed_config.zero_stage");
    let number = stage.as_ref().and_then(Said::number).unwrap_or_default();
    if let Some(said) = stage {
        deepspeed::stage_is(&said, draft);
    }
    if let Some(said) = given.take("deepspeed_config.gradient_accumulation_steps") {
        draft.note_number(said, |facts| &mut facts.accumulation);
    }
    for (name, part, least) in [
        ("offload_optimizer_device", Offload::Optimizer, 2),
        ("offload_param_device", Offload::Parameters, 3),
    ] {
        match given.take(&format!("deepspeed_config.{name}")) {
            Some(said) if said.word() == "none" => draft.ignore(&said, Why::Harmless),
            Some(said) if number < least => draft.unsupported(&said, words::OFFLOAD_NEEDS_STAGE),
            Some(said) => draft.offload(&said, part),
            None => {}
        }
    }
}

/// Replicas of sharded groups: accelerate's mesh.
fn mesh(given: &mut Given, draft: &mut Draft) {
    let replicas = given.take("parallelism_config.parallelism_config_dp_replicate_size");
    let shards = given.take("parallelism_config.parallelism_config_dp_shard_size");
    draft.mesh(replicas, shards);
}
