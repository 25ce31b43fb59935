//! `TrainingArguments` of transformers, with what TRL, peft and the usual training scripts add: as JSON, YAML, or the
//! options of a command (`transformers/training_args.py`; `trl/trainer/sft_config.py`, `trl/trainer/model_config.py`).

use super::draft::{Draft, Family, Half};
use super::given::{Given, Said};
use super::translate::{Row, word};
use super::{deepspeed, fsdp, model_name, translate};
use crate::config::{Key, Offload};
use crate::text::import as words;

/// Its settings that are keys of ours.
pub(crate) const ROWS: &[Row] = &[
    Row::words("gradient_checkpointing", Key::Recompute, &[("true", "full"), ("false", "none")]),
    Row::flag("torch_compile", Key::Compile),
    Row::words("attn_implementation", Key::Attention, ATTENTION),
    Row::flag("packing", Key::Packed),
    Row::same("lora_dropout", Key::LoraDropout),
    Row::same("lora_modules_to_save", Key::ModulesToSave),
];

/// transformers' names of attention kernels.
const ATTENTION: &[(&str, &str)] = &[
    ("eager", "eager"),
    ("sdpa", "sdpa"),
    ("flash_attention_2", "flash"),
    ("flash_attention_3", "flash"),
    ("flash_attention_4", "flash"),
    ("kernels-community/flash-attn", "flash"),
    ("kernels-community/flash-attn2", "flash"),
    ("kernels-community/flash-attn3", "flash"),
    ("kernels-community/vllm-flash-attn3", "flash"),
];

/// `--optim`: (name, optimizer, implementation; empty: not said). The first of several is the one to write
/// (`transformers.training_args.OptimizerNames`).
pub(crate) const OPTIMIZERS: &[(&str, &str, &str)] = &[
    ("adamw_torch_fused", "adamw", "fused"),
    ("adamw_torch", "adamw", "foreach"),
    ("adamw_hf", "adamw", "for-loop"),
    ("adamw", "adamw", ""),
    ("adamw_apex_fused", "adamw", "fused"),
    ("adamw_torch_npu_fused", "adamw", "fused"),
    ("adamw_bnb_8bit", "adamw-8bit", ""),
    ("adamw_8bit", "adamw-8bit", ""),
    ("paged_adamw_8bit", "adamw-paged-8bit", ""),
    ("adafactor", "adafactor", ""),
    ("sgd", "sgd", ""),
    ("lion_32bit", "lion", ""),
    ("lion", "lion", ""),
    ("galore_adamw", "galore", ""),
    ("galore_adamw_layerwise", "galore", "in-backward"),
    ("apollo_adamw", "apollo", ""),
    ("apollo_adamw_layerwise", "apollo", "in-backward"),
    ("lomo", "lomo", ""),
    ("muon", "muon", ""),
];

/// Its settings that change no memory.
pub(super) const HARMLESS: &[&str] = &[
    "output_dir",
    "overwrite_*",
    "do_*",
    "eval_*",
    "evaluation_*",
    "per_device_eval_batch_size",
    "learning_rate",
    "weight_decay",
    "adam_*",
    "max_grad_norm",
    "num_train_epochs",
    "num_epochs",
    "max_steps",
    "lr_*",
    "warmup_*",
    "log_*",
    "logging_*",
    "save_*",
    "seed",
    "data_seed",
    "report_to",
    "run_name",
    "project",
    "ddp_timeout",
    "ddp_backend",
    "dataloader_*",
    "tf32",
    "remove_unused_columns",
    "label_*",
    "load_best_model_at_end",
    "metric_for_best_model",
    "greater_is_better",
    "hub_*",
    "push_to_hub*",
    "resume_from_checkpoint",
    "disable_tqdm",
    "group_by_length",
    "length_column_name",
    "ignore_data_skip",
    "skip_memory_metrics",
    "include_*",
    "full_determinism",
    "restore_callback_states*",
    "accelerator_config*",
    "no_cuda",
    "use_cpu",
    "jit_mode_eval",
    "prediction_loss_only",
    "past_index",
    "debug",
    "average_tokens_across_devices",
    "neftune_noise_alpha",
    "optim_args",
    "torch_empty_cache_steps",
    "use_mps_device",
    "torch_compile_*",
    "gradient_checkpointing_kwargs*",
    "ddp_find_unused_parameters",
    "ddp_bucket_cap_mb",
    "ddp_broadcast_buffers",
    "local_rank",
    "fp16_backend",
    "half_precision_backend",
    "fp16_opt_level",
    "batch_eval_metrics",
    "train_file",
    "validation_*",
    "dataset*",
    "data_path",
    "data_dir",
    "max_train_samples",
    "max_eval_samples",
    "preprocessing_num_workers",
    "cache_dir",
    "token",
    "use_auth_token",
    "trust_remote_code",
    "model_revision",
    "tokenizer_*",
    "use_fast_tokenizer",
    "config_name",
    "lora_alpha",
    "lora_bias",
    "use_rslora",
    "lora_task_type",
    "chat_template*",
    "eos_token",
    "pad_token",
    "lazy_preprocess",
    "completion_only_loss",
    "assistant_only_loss",
    "low_cpu_mem_usage",
    "config",
    "system_prompt",
    "conv_template",
    "streaming",
    "train_sampling_strategy",
    "create_repo",
    "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_min_num_params",
    "parallelism_config",
    "keep_linebreaks",
];

/// Whether a file or a command has such settings.
pub(super) fn recognises(given: &Given) -> bool {
    const NAMES: &[&str] = &[
        "per_device_train_batch_size",
        "output_dir",
        "gradient_checkpointing",
        "num_train_epochs",
        "bf16",
        "fp16",
        "per_gpu_train_batch_size",
        "model_name_or_path",
        "gradient_accumulation_steps",
        "fsdp",
        "optim",
        "learning_rate",
        "use_peft",
    ];
    given.count(NAMES) > 0
}

/// Takes its settings.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.family = Some(Family::Trainer);
    if let Some(said) =
        given.take_first(&["model_name_or_path", "model_id", "base_model", "model_name", "model"])
    {
        model_name::read(&said, draft);
    }
    sequence(
        &["max_length", "max_seq_length", "model_max_length", "block_size", "max_seq_len", "source_max_len"],
        given,
        draft,
    );
    common(given, draft);
    let weights = given.take_first(&["torch_dtype", "dtype"]);
    if let Some(said) = weights {
        weights_are(said, draft);
    }
    adapters(given, draft);
    if let Some(said) = given.take("loss_type") {
        match said.word().as_str() {
            "nll" => draft.set_key(&said, Key::Loss, "standard"),
            "chunked_nll" => draft.set_key(&said, Key::Loss, "chunked"),
            _ => draft.unsupported(&said, words::OTHER_VALUE),
        }
    }
    if let Some(said) = given.take("activation_offloading").filter(|said| said.flag() == Some(true)) {
        draft.offload(&said, Offload::Activations);
    }
    if let Some(said) = given.take("padding_free").filter(|said| said.flag() == Some(true)) {
        draft.set_key(&said, Key::Packed, "true");
    }
}

/// What every program that builds on `TrainingArguments` reads the same way.
pub(super) fn common(given: &mut Given, draft: &mut Draft) {
    draft.facts.trains = true;
    if let Some(said) = given.take_first(&["per_device_train_batch_size", "per_gpu_train_batch_size"]) {
        draft.note_number(said, |facts| &mut facts.micro_batch);
    }
    if let Some(said) = given.take("gradient_accumulation_steps") {
        draft.note_number(said, |facts| &mut facts.accumulation);
    }
    if let Some(said) = given.take("auto_find_batch_size").filter(|said| said.flag() == Some(true)) {
        draft.unsupported(&said, words::FOUND_AT_RUN_TIME);
    }
    for (name, half) in [("fp16", Half::Fp16), ("bf16", Half::Bf16)] {
        if let Some(said) = given.take(name) {
            computes(said, half, draft);
        }
    }
    if let Some(said) = given.take_first(&["optim", "optimizer"]) {
        optimizer(&said, draft);
    }
    if let Some(said) = given.take("optim_target_modules") {
        draft.unsupported(&said, words::SOME_MODULES);
    }
    if let Some(said) = given.take_first(&["use_liger_kernel", "use_liger", "enable_liger_kernel"]) {
        liger(&said, draft);
    }
    if let Some(said) = given.take("fsdp") {
        fsdp::options(&said, draft);
    }
    if given.has_section("fsdp_config") {
        fsdp::section(given, draft);
    } else if let Some(said) = given.take("fsdp_config") {
        sub_file(&said, "fsdp_config", fsdp::section, draft);
    }
    if given.has_section("deepspeed") {
        let mut section = given.section("deepspeed");
        deepspeed::read(&mut section, draft);
        section.report_rest(deepspeed::HARMLESS, draft);
    } else if let Some(said) = given.take("deepspeed") {
        // On a command line the JSON itself may stand in the file's place.
        if said.text().trim_start().starts_with('{') {
            sub_file(&said, "", inline_deepspeed, draft);
        } else if said.flag() != Some(true) {
            deepspeed::named(&said, draft);
        }
    }
    translate::read(ROWS, given, draft);
}

fn inline_deepspeed(given: &mut Given, draft: &mut Draft) {
    deepspeed::read(given, draft);
    std::mem::take(given).report_rest(deepspeed::HARMLESS, draft);
}

/// A setting that is a file's name, or the file's JSON itself.
fn sub_file(said: &Said, section: &str, read: fn(&mut Given, &mut Draft), draft: &mut Draft) {
    match serde_json::from_str::<serde_json::Value>(&said.text()) {
        Ok(json @ serde_json::Value::Object(_)) => {
            let json = if section.is_empty() { json } else { serde_json::json!({ section: json }) };
            read(&mut Given::flat(json), draft);
        }
        _ => draft.ignore(said, super::Why::Elsewhere),
    }
}

/// A switch of 16-bit computation.
pub(super) fn computes(said: Said, half: Half, draft: &mut Draft) {
    match said.flag() {
        Some(true) => draft.facts.compute = Some((said, Some(half))),
        Some(false) if draft.facts.compute.is_none() => draft.facts.compute = Some((said, None)),
        Some(false) => {}
        None => draft.unsupported(&said, words::OTHER_VALUE),
    }
}

/// The type that weights are loaded in.
pub(super) fn weights_are(said: Said, draft: &mut Draft) {
    match said.word().trim_start_matches("torch.") {
        "bfloat16" | "bf16" => draft.facts.weights = Some((said, Some(Half::Bf16))),
        "float16" | "fp16" | "half" => draft.facts.weights = Some((said, Some(Half::Fp16))),
        "float32" | "fp32" | "float" => draft.facts.weights = Some((said, None)),
        _ => draft.unsupported(&said, words::OTHER_VALUE),
    }
}

/// The longest sequence.
pub(super) fn sequence(names: &[&str], given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take_first(names) {
        draft.set_key(&said, Key::Seq, &said.text());
    }
}

/// `--optim`.
pub(super) fn optimizer(said: &Said, draft: &mut Draft) {
    let named = said.word();
    let Some((_, ours, implementation)) = OPTIMIZERS.iter().find(|(theirs, ..)| *theirs == named) else {
        return draft.unsupported(said, words::OPTIMIZER);
    };
    draft.set_key(said, Key::Optimizer, ours);
    if !implementation.is_empty() {
        draft.set_key(said, Key::OptimizerImpl, implementation);
    }
}

/// Liger's kernels: the loss is fused with the head, norms and gates are kernels of its own.
pub(super) fn liger(said: &Said, draft: &mut Draft) {
    if said.flag() == Some(true) {
        draft.set_key(said, Key::Loss, "fused");
        draft.set_key(said, Key::FastKernels, "liger");
    } else {
        draft.ignore(said, super::Why::Harmless);
    }
}

/// peft and bitsandbytes by TRL's names, and by those of the first QLoRA script.
fn adapters(given: &mut Given, draft: &mut Draft) {
    let bits = given.take("bits");
    let named = |name: &str, number: &str| {
        bits.as_ref()
            .filter(|said| said.text() == number)
            .cloned()
            .map(|said| Said { name: name.to_owned(), ..said })
    };
    let four =
        given.take("load_in_4bit").filter(|said| said.flag() == Some(true)).or_else(|| named("bits", "4"));
    let eight =
        given.take("load_in_8bit").filter(|said| said.flag() == Some(true)).or_else(|| named("bits", "8"));
    let kind = given.take_first(&["bnb_4bit_quant_type", "quant_type"]);
    let double = given.take_first(&["use_bnb_nested_quant", "double_quant", "bnb_4bit_use_double_quant"]);
    let lora = given.take_first(&["use_peft", "use_lora", "lora"]).filter(|said| said.flag() == Some(true));
    let rank = given.take_first(&["lora_r", "lora_rank"]);
    let targets = given.take_first(&["lora_target_modules", "lora_target", "lora_modules"]);
    let full = given.take("full_finetune");
    match (four, eight) {
        (Some(said), _) => {
            draft.set_key(&said, Key::Method, "qlora");
            if let Some(kind) = kind.filter(|said| said.word() != "nf4") {
                draft.unsupported(&kind, words::OTHER_VALUE);
            }
            match double.filter(|said| said.flag() == Some(true)) {
                Some(said) => draft.set_key(&said, Key::Quantization, "nf4-double"),
                None => draft.set_key(&said, Key::Quantization, "nf4"),
            }
        }
        (None, Some(said)) => {
            draft.set_key(&said, Key::Method, "qlora");
            draft.set_key(&said, Key::Quantization, "int8");
        }
        (None, None) => {
            if let Some(said) = &lora {
                draft.set_key(said, Key::Method, "lora");
            } else if let Some(said) = full.filter(|said| said.flag() == Some(false)) {
                draft.set_key(&said, Key::Method, "lora");
            }
        }
    }
    if let Some(said) = rank {
        draft.set_key(&said, Key::LoraRank, &said.text());
    } else if lora.is_some() {
        draft.assume(Key::LoraRank.word(), "16", words::TRL_DEFAULT);
    }
    if let Some(said) = targets {
        lora_targets(&said, draft);
    }
}

/// Modules that adapters lie over.
pub(super) fn lora_targets(said: &Said, draft: &mut Draft) {
    let text = said.text();
    let all = ["all", "all-linear", "all_linear"].contains(&text.trim());
    let list: Vec<_> = text.split([',', ' ']).filter(|name| !name.is_empty()).collect();
    let joined = list.join(",");
    draft.set_key(said, Key::LoraTargets, if all { "all-linear" } else { &joined });
}

/// A choice that another framework's word stands for.
pub(super) fn choose(pairs: &[(&'static str, &'static str)], said: &Said, key: Key, draft: &mut Draft) {
    match word(pairs, said) {
        Some(ours) => draft.set_key(said, key, ours),
        None => draft.unsupported(said, words::OTHER_VALUE),
    }
}
