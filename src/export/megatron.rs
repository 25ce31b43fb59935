//! A command that starts Megatron-LM.

use serde_json::Value;

use super::megatron_model;
use super::sheet::{Sheet, global_batch, nodes};
use super::trainer::quoted;
use crate::config::{Config, DataParallel, GradDtype, Key, Offload, Precision, Recompute};
use crate::import::tables::MEGATRON;

/// Writes the command, an option a line.
pub(super) fn write(config: &Config) -> String {
    let mut sheet = Sheet::of(config);
    megatron_model::write(&mut sheet);
    sheet.put("seq_length", config.seq);
    sheet.put("micro_batch_size", config.batch);
    sheet.put("global_batch_size", global_batch(config));
    for (name, degree) in
        [("tensor_model_parallel_size", config.tp), ("pipeline_model_parallel_size", config.pp)]
    {
        sheet.put(name, degree);
    }
    precision(&mut sheet);
    sheet.rows(MEGATRON, "");
    recompute(&mut sheet);
    sharding(&mut sheet);
    if config.vpp > 1 {
        sheet.put("num_virtual_stages_per_pipeline_rank", config.vpp);
    }
    let (each, machines) = nodes(config);
    let mut lines = vec![format!("torchrun --nproc_per_node {each} --nnodes {machines} pretrain_gpt.py")];
    lines.extend(sheet.values.into_iter().filter_map(|(name, value)| {
        let name = name.replace('_', "-");
        match value {
            // Switches stand alone, and only where they are on.
            Value::Bool(on) => on.then(|| format!("  --{name}")),
            Value::String(text) => {
                let words: Vec<_> = text.split(' ').map(quoted).collect();
                Some(format!("  --{name} {}", words.join(" ")))
            }
            other => Some(format!("  --{name} {other}")),
        }
    }));
    lines.join(" \\\n") + "\n"
}

fn precision(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    sheet.switch("bf16", matches!(config.precision, Precision::Bf16Mixed | Precision::Fp8Mixed));
    sheet.switch("fp16", config.precision == Precision::Fp16Mixed);
    if config.precision == Precision::Fp8Mixed {
        sheet.put("fp8_format", "hybrid");
    }
    match config.grad_dtype {
        GradDtype::Auto => {}
        GradDtype::Fp32 => sheet.put("accumulate_allreduce_grads_in_fp32", true),
        GradDtype::Bf16 => sheet.put("grad_reduce_in_bf16", true),
        GradDtype::Fp16 => sheet.put("main_grads_dtype", "fp16"),
    }
}

fn recompute(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let modules = config.get(Key::RecomputeModules.word());
    if !modules.is_empty() {
        sheet.put("recompute_modules", modules.replace(',', " "));
    }
    if config.recompute != Recompute::Full {
        return;
    }
    match config.recompute_layers {
        Some(layers) if config.pp == 1 => {
            sheet.put("recompute_method", "block");
            sheet.put("recompute_num_layers", layers);
        }
        _ => {
            sheet.put("recompute_method", "uniform");
            sheet.put("recompute_num_layers", 1);
        }
    }
}

fn sharding(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let mut own = |strategy: &str| {
        sheet.put("use_megatron_fsdp", true);
        sheet.put("data_parallel_sharding_strategy", strategy);
    };
    match config.data_parallel {
        DataParallel::Ddp => {}
        DataParallel::Zero1 => sheet.put("use_distributed_optimizer", true),
        DataParallel::Zero2 => own("optim_grads"),
        DataParallel::Zero3 => own("optim_grads_params"),
        DataParallel::Fsdp | DataParallel::FsdpGradOp | DataParallel::Hsdp => {
            sheet.put("use_torch_fsdp2", true);
        }
    }
    sheet.switch("optimizer_cpu_offload", config.offload.contains(&Offload::Optimizer));
}
