//! `DeepSpeed`'s JSON.

use serde_json::{Map, Value, json};

use super::sheet::{Sheet, global_batch};
use crate::config::{Config, DataParallel, Key, Offload, Optimizer, OptimizerImpl, Precision};
use crate::import::tables::{DEEPSPEED, KEPT, nest};

/// Writes the whole file.
pub(super) fn write(config: &Config) -> String {
    let mut sheet = Sheet::of(config);
    sheet.put("train_micro_batch_size_per_gpu", config.batch);
    sheet.put("gradient_accumulation_steps", config.accumulation);
    sheet.put("train_batch_size", global_batch(config));
    match config.precision {
        Precision::Bf16Mixed => sheet.put("bf16.enabled", true),
        Precision::Fp16Mixed => sheet.put("fp16.enabled", true),
        Precision::Fp32 => sheet.put("bf16.enabled", false),
        _ => {}
    }
    zero(&mut sheet);
    optimizer(&mut sheet);
    format!("{:#}\n", Value::Object(sheet.values))
}

/// The section inside another program's settings, which decide batch and precision.
pub(super) fn nested(config: &Config) -> Map<String, Value> {
    let mut sheet = Sheet::of(config);
    for name in ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size"] {
        sheet.put(name, "auto");
    }
    sheet.put("bf16.enabled", "auto");
    sheet.put("fp16.enabled", "auto");
    zero(&mut sheet);
    sheet.values
}

/// The stage of `ZeRO` that a strategy is, or comes nearest to.
pub(super) const fn stage(parallel: DataParallel) -> u64 {
    match parallel {
        DataParallel::Ddp => 0,
        DataParallel::Zero1 => 1,
        DataParallel::Zero2 | DataParallel::FsdpGradOp => 2,
        DataParallel::Zero3 | DataParallel::Fsdp | DataParallel::Hsdp => 3,
    }
}

fn zero(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let stage = stage(config.data_parallel);
    sheet.put("zero_optimization.stage", stage);
    let offloaded = |part| config.offload.contains(&part);
    if offloaded(Offload::Optimizer) && stage >= 1 {
        sheet.put("zero_optimization.offload_optimizer", json!({"device": "cpu", "pin_memory": true}));
    }
    if offloaded(Offload::Parameters) && stage == 3 {
        sheet.put("zero_optimization.offload_param", json!({"device": "cpu", "pin_memory": true}));
    }
    if let Some(half) = match config.precision {
        Precision::Bf16Autocast => Some("bfloat16"),
        Precision::Fp16Autocast => Some("float16"),
        _ => None,
    } {
        sheet.put("torch_autocast", json!({"enabled": true, "dtype": half}));
    }
    sheet.rows(DEEPSPEED, "");
    if let Some(kept) = config.advanced.get(Key::Deepspeed.word()) {
        for name in KEPT {
            if let Some(value) = kept.pointer(&format!("/{}", name.replace('.', "/"))) {
                nest(&mut sheet.values, name, value.clone());
            }
        }
    }
}

/// Nothing where the program that starts `DeepSpeed` may bring its own.
fn optimizer(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let (name, parameters) = match (config.optimizer, config.optimizer_impl) {
        (Optimizer::Adamw, OptimizerImpl::Fused) => ("AdamW", json!({})),
        (Optimizer::Adamw, OptimizerImpl::Foreach) => ("AdamW", json!({"torch_adam": true})),
        (Optimizer::Lion, _) => ("Lion", json!({})),
        (Optimizer::Muon, _) => ("Muon", json!({})),
        (Optimizer::Sgd, _) => ("SGD", json!({"lr": 1e-3})),
        (Optimizer::SgdMomentum, _) => ("SGD", json!({"lr": 1e-3, "momentum": 0.9})),
        _ => return,
    };
    sheet.put("optimizer.type", name);
    sheet.put("optimizer.params", parameters);
}
