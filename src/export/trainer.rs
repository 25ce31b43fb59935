//! `TrainingArguments` with TRL's and peft's settings, as JSON and as a command.

use serde_json::{Map, Value};

use super::sharding::{self, Engine};
use super::sheet::{Sheet, nodes};
use crate::config::{
    Config, Key, Loss, Method, Offload, Precision, Quantization, Recompute, preset, repository,
};
use crate::import::tables::{OPTIMIZERS, TRAINER};

/// Writes the JSON.
pub(super) fn json(config: &Config) -> String {
    format!("{:#}\n", Value::Object(settings(config)))
}

/// Writes the command, an option a line.
pub(super) fn command(config: &Config) -> String {
    let (each, machines) = nodes(config);
    let mut lines = vec![if config.gpus > 1 {
        format!("torchrun --nproc_per_node {each} --nnodes {machines} train.py")
    } else {
        "python train.py".to_owned()
    }];
    lines.extend(settings(config).into_iter().map(|(name, value)| match value {
        Value::String(text) => format!("  --{name} {}", quoted(&text)),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).map(quoted).collect();
            format!("  --{name} {}", items.join(" "))
        }
        other => format!("  --{name} {}", quoted(&other.to_string())),
    }));
    lines.join(" \\\n") + "\n"
}

/// A word of a shell; what is not plain stands in single quotes.
pub(super) fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@,:+=".contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn settings(config: &Config) -> Map<String, Value> {
    let mut sheet = Sheet::of(config);
    name_model(&mut sheet);
    batches(&mut sheet);
    sheet.put("max_length", config.seq);
    precision(&mut sheet);
    optimizer(&mut sheet);
    common(&mut sheet);
    adapters(&mut sheet);
    if config.recompute == Recompute::None {
        sheet.put("gradient_checkpointing", false);
    }
    sheet.switch(
        "activation_offloading",
        config.offload.contains(&Offload::Activations) && sharding::engine(config) != Engine::Fsdp,
    );
    if config.loss == Loss::Chunked {
        sheet.put("loss_type", "chunked_nll");
    }
    sheet.put("output_dir", "out");
    sheet.values
}

/// The repository of a shipped model that nothing was changed of.
pub(super) fn name_model(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let whole = config.architecture.is_empty();
    let id = config.model.as_deref().or(whole.then_some(crate::config::DEFAULT_MODEL));
    if let Some(repository) = id.filter(|_| whole).and_then(preset).and_then(repository) {
        sheet.put("model_name_or_path", repository);
    }
}

/// Micro-batch and accumulation.
pub(super) fn batches(sheet: &mut Sheet<'_>) {
    sheet.put("per_device_train_batch_size", sheet.config.batch);
    sheet.put("gradient_accumulation_steps", sheet.config.accumulation);
}

/// What LLaMA-Factory and TRL write the same way: sharding, kernels, compilation.
pub(super) fn common(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    sharding::write(sheet);
    sheet.rows(TRAINER, "");
    let liger = config.get(Key::FastKernels.word()) == "liger" && config.loss == Loss::Fused;
    sheet.switch("use_liger_kernel", liger);
}

/// `--optim`, of which there is one name for a state and an implementation.
pub(super) fn optimizer(sheet: &mut Sheet<'_>) {
    let (ours, how) = (sheet.config.optimizer.word(), sheet.config.optimizer_impl.word());
    let how = if how == "auto" { "" } else { how };
    let exact =
        OPTIMIZERS.iter().find(|(_, optimizer, implementation)| *optimizer == ours && *implementation == how);
    let near = OPTIMIZERS.iter().find(|(_, optimizer, _)| *optimizer == ours);
    // Nothing is what `auto` means: the framework's own choice.
    if how.is_empty() && ours == "adamw" {
        return;
    }
    if let Some((name, ..)) = exact.or(near) {
        sheet.put("optim", *name);
    }
}

/// Computation and weights (`conclude` of the import tells what they make together).
fn precision(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    let (half, weights) = match config.precision {
        Precision::Bf16Mixed => ("bf16", None),
        Precision::Fp16Mixed => ("fp16", None),
        Precision::Bf16Autocast => ("bf16", Some("float32")),
        Precision::Fp16Autocast => ("fp16", Some("float32")),
        Precision::Fp32 => ("", Some("float32")),
        Precision::Bf16 => ("", Some("bfloat16")),
        Precision::Fp16 => ("", Some("float16")),
        Precision::Fp8Mixed => return,
    };
    let beside = config.get(Key::Autocast.word());
    let half = match (half, beside.as_str(), config.precision) {
        ("", "bf16", Precision::Bf16) => "bf16",
        ("", "fp16", Precision::Fp16) => "fp16",
        (half, ..) => half,
    };
    if !half.is_empty() {
        sheet.put(half, true);
    }
    if let Some(weights) = weights {
        sheet.put("dtype", weights);
    }
}

fn adapters(sheet: &mut Sheet<'_>) {
    let config = sheet.config;
    if !matches!(config.method, Method::Lora | Method::Qlora) {
        return;
    }
    sheet.put("use_peft", true);
    sheet.put("lora_r", config.lora_rank);
    let targets =
        if config.lora_targets == "all-linear" { "all-linear".into() } else { list(&config.lora_targets) };
    sheet.put("lora_target_modules", targets);
    match config.quantization {
        Quantization::None => {}
        Quantization::Int8 => sheet.put("load_in_8bit", true),
        Quantization::Nf4 | Quantization::Nf4Double => {
            sheet.put("load_in_4bit", true);
            sheet.put("bnb_4bit_quant_type", "nf4");
            sheet.switch("use_bnb_nested_quant", config.quantization == Quantization::Nf4Double);
        }
    }
}

/// A comma list as a list.
pub(super) fn list(text: &str) -> Value {
    text.split(',').map(|item| Value::from(item.trim())).collect()
}
