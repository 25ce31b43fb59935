//! LLaMA-Factory's YAML.

use super::sharding::{Engine, engine};
use super::sheet::Sheet;
use super::trainer::{batches, common, list, name_model, optimizer};
use super::yaml;
use crate::config::{
    Config, Key, LoraDtype, Method, Optimizer, OptimizerImpl, Precision, Quantization, Recompute,
};
use crate::import::tables::LLAMA_FACTORY;

/// Writes the whole file.
pub(super) fn write(config: &Config) -> String {
    let mut sheet = Sheet::of(config);
    name_model(&mut sheet);
    sheet.put("stage", "sft");
    sheet.put("do_train", true);
    method(&mut sheet);
    sheet.put("template", "default");
    sheet.put("cutoff_len", config.seq);
    batches(&mut sheet);
    precision(&mut sheet);
    let own = match config.optimizer {
        Optimizer::Galore => Some("use_galore"),
        Optimizer::Apollo => Some("use_apollo"),
        Optimizer::AdamMini => Some("use_adam_mini"),
        Optimizer::Muon => Some("use_muon"),
        _ => None,
    };
    match own {
        Some(name) => {
            sheet.put(name, true);
            let layerwise = config.optimizer_impl == OptimizerImpl::InBackward;
            let layered = layerwise && matches!(config.optimizer, Optimizer::Galore | Optimizer::Apollo);
            sheet.switch(&format!("{}_layerwise", name.trim_start_matches("use_")), layered);
        }
        None => optimizer(&mut sheet),
    }
    common(&mut sheet);
    // It has names of its own for these.
    for name in ["gradient_checkpointing", "attn_implementation", "lora_modules_to_save"] {
        sheet.values.shift_remove(name);
    }
    if sheet.values.shift_remove("use_liger_kernel").is_some() {
        sheet.put("enable_liger_kernel", true);
    }
    sheet.rows(LLAMA_FACTORY, "");
    if config.recompute == Recompute::None {
        sheet.put("disable_gradient_checkpointing", true);
    } else {
        sheet.values.shift_remove("disable_gradient_checkpointing");
    }
    sheet.put("output_dir", "out");
    yaml::write(&sheet.values)
}

fn method(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let kind = match config.method {
        Method::Full => "full",
        Method::Lora | Method::Qlora => "lora",
        Method::Freeze => "freeze",
    };
    sheet.put("finetuning_type", kind);
    if kind == "lora" {
        let all = config.lora_targets == "all-linear";
        sheet.put("lora_target", if all { "all".into() } else { list(&config.lora_targets) });
    }
    if config.method == Method::Qlora {
        sheet.put("quantization_bit", if config.quantization == Quantization::Int8 { 8 } else { 4 });
        if config.quantization == Quantization::Nf4 {
            sheet.put("double_quantization", false);
        }
    }
}

/// What is trained is cast to fp32 unless `pure_bf16`; adapters lie over 16-bit weights under autocast.
fn precision(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let adapters = matches!(config.method, Method::Lora | Method::Qlora);
    let beside = config.get(Key::Autocast.word());
    let engine = engine(config);
    match config.precision {
        Precision::Bf16Mixed if engine != Engine::None => sheet.put("bf16", true),
        Precision::Fp16Mixed if engine != Engine::None => sheet.put("fp16", true),
        Precision::Bf16Autocast => sheet.put("bf16", true),
        Precision::Fp16Autocast => sheet.put("fp16", true),
        Precision::Bf16 if adapters && beside == "bf16" && config.lora_dtype == LoraDtype::Fp32 => {
            sheet.put("bf16", true);
        }
        Precision::Fp16 if adapters && beside == "fp16" => sheet.put("fp16", true),
        Precision::Bf16 => sheet.put("pure_bf16", true),
        _ => {}
    }
}
