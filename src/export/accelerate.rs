//! The YAML of `accelerate config`.

use super::sharding::{Engine, engine, offloads, section, version};
use super::sheet::{Sheet, nodes};
use super::{deepspeed, yaml};
use crate::config::{Config, DataParallel, Key, Offload, Precision};

/// Writes the whole file.
pub(super) fn write(config: &Config) -> String {
    let mut sheet = Sheet::of(config);
    let engine = engine(config);
    sheet.put("compute_environment", "LOCAL_MACHINE");
    let kind = match engine {
        Engine::Deepspeed => "DEEPSPEED",
        Engine::Fsdp => "FSDP",
        Engine::None if config.gpus > 1 => "MULTI_GPU",
        Engine::None => "NO",
    };
    sheet.put("distributed_type", kind);
    match engine {
        Engine::Deepspeed => zero(&mut sheet),
        Engine::Fsdp => fsdp(&mut sheet),
        Engine::None => {}
    }
    let precision = match config.precision {
        Precision::Bf16Mixed | Precision::Bf16Autocast => "bf16",
        Precision::Fp16Mixed | Precision::Fp16Autocast => "fp16",
        Precision::Fp8Mixed => "fp8",
        Precision::Fp32 | Precision::Bf16 | Precision::Fp16 => "no",
    };
    sheet.put("mixed_precision", precision);
    let (_, machines) = nodes(config);
    sheet.put("num_machines", machines);
    sheet.put("num_processes", config.gpus);
    for (name, degree) in [("tp", config.tp), ("cp", config.cp)] {
        if degree > 1 {
            sheet.put(&format!("parallelism_config.parallelism_config_{name}_size"), degree);
        }
    }
    if config.get(Key::Compile.word()) == "true" {
        sheet.put("dynamo_config.dynamo_backend", "INDUCTOR");
    }
    yaml::write(&sheet.values)
}

fn zero(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let stage = deepspeed::stage(config.data_parallel);
    sheet.put("deepspeed_config.zero_stage", stage);
    sheet.put("deepspeed_config.gradient_accumulation_steps", config.accumulation);
    for (name, part, least) in [("optimizer", Offload::Optimizer, 2), ("param", Offload::Parameters, 3)] {
        if config.offload.contains(&part) && stage >= least {
            sheet.put(&format!("deepspeed_config.offload_{name}_device"), "cpu");
        }
    }
}

fn fsdp(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    section(sheet, "fsdp_config.fsdp_");
    sheet.put("fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
    if offloads(config) {
        sheet.put("fsdp_config.fsdp_offload_params", true);
    }
    if version(config) == 1 {
        let strategy = match config.data_parallel {
            DataParallel::FsdpGradOp => "SHARD_GRAD_OP",
            DataParallel::Hsdp => "HYBRID_SHARD",
            _ => "FULL_SHARD",
        };
        sheet.put("fsdp_config.fsdp_sharding_strategy", strategy);
    } else if config.data_parallel == DataParallel::Hsdp {
        let given = config.get(Key::ShardSize.word()).parse().ok();
        let shard: u64 = given.unwrap_or(config.gpus_per_node).max(1);
        sheet.put("parallelism_config.parallelism_config_dp_shard_size", shard);
        let replicas = (super::sheet::replicas(config) / shard).max(1);
        sheet.put("parallelism_config.parallelism_config_dp_replicate_size", replicas);
    }
}
