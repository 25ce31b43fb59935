//! `fsdp` and `deepspeed` inside settings of transformers.

use serde_json::json;

use super::deepspeed;
use super::sheet::Sheet;
use crate::config::{Config, DataParallel, Key, Offload, Precision, Recompute};
use crate::import::tables::FSDP;

/// Who shards a configuration, among those that transformers knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    None,
    Deepspeed,
    Fsdp,
}

/// The engine of a configuration. Weights of 16 bits with a master copy beside them are `DeepSpeed`'s, even where
/// nothing is sharded.
pub(super) fn engine(config: &Config) -> Engine {
    let masters = matches!(config.precision, Precision::Bf16Mixed | Precision::Fp16Mixed);
    match config.data_parallel {
        DataParallel::Zero1 | DataParallel::Zero2 | DataParallel::Zero3 => Engine::Deepspeed,
        DataParallel::Fsdp | DataParallel::FsdpGradOp | DataParallel::Hsdp => Engine::Fsdp,
        DataParallel::Ddp if masters => Engine::Deepspeed,
        DataParallel::Ddp => Engine::None,
    }
}

/// The version of FSDP: the newer one unless the older is asked.
pub(super) fn version(config: &Config) -> u64 {
    config.advanced.get(Key::FsdpVersion.word()).and_then(serde_json::Value::as_u64).unwrap_or(2)
}

/// Whether FSDP's offloading, which takes all or nothing, is meant.
pub(super) fn offloads(config: &Config) -> bool {
    [Offload::Optimizer, Offload::Parameters].iter().all(|part| config.offload.contains(part))
}

/// Writes `fsdp` and `fsdp_config`, or `deepspeed`.
pub(super) fn write(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    match engine(config) {
        Engine::None => {}
        Engine::Deepspeed => sheet.put("deepspeed", deepspeed::nested(config)),
        Engine::Fsdp => {
            let strategy = match config.data_parallel {
                DataParallel::FsdpGradOp => "shard_grad_op",
                DataParallel::Hsdp => "hybrid_shard",
                _ => "full_shard",
            };
            let offload = if offloads(config) { " offload" } else { "" };
            sheet.put("fsdp", format!("{strategy} auto_wrap{offload}"));
            section(sheet, "fsdp_config.");
        }
    }
}

/// The settings of the section that both transformers and accelerate know.
pub(super) fn section(sheet: &mut Sheet<'_>, prefix: &str) {
    let config = sheet.config;
    let version = version(config);
    sheet.put(&format!("{prefix}version"), version);
    if version == 2 && config.data_parallel != DataParallel::Hsdp {
        let reshards = config.data_parallel == DataParallel::Fsdp;
        sheet.put(&format!("{prefix}reshard_after_forward"), reshards);
    }
    sheet.rows(FSDP, prefix);
    if version == 2 && config.recompute == Recompute::Full && config.offload.contains(&Offload::Activations) {
        sheet.put(&format!("{prefix}activation_checkpointing_offload"), json!(true));
    }
}
