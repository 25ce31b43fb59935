//! LLaMA-Factory's YAML (`llamafactory/hparams/*.py`; `llamafactory/model/adapter.py`).

use super::draft::{Draft, Engine, Family};
use super::given::{Given, Said};
use super::trainer::{choose, common, lora_targets, sequence};
use super::translate::Row;
use super::{model_name, translate};
use crate::config::{Key, Method};
use crate::text::import as words;

/// Its settings that are keys of ours.
pub(crate) const ROWS: &[Row] = &[
    Row::words("finetuning_type", Key::Method, &[("full", "full"), ("lora", "lora"), ("freeze", "freeze")]),
    Row::same("lora_rank", Key::LoraRank),
    Row::same("lora_dropout", Key::LoraDropout),
    Row::same("additional_target", Key::ModulesToSave),
    Row::words(
        "flash_attn",
        Key::Attention,
        &[
            ("sdpa", "sdpa"),
            ("fa2", "flash"),
            ("disabled", "eager"),
            ("fa3", "flash"),
            ("true", "flash"),
            ("false", "eager"),
        ],
    ),
    Row::words("disable_gradient_checkpointing", Key::Recompute, &[("true", "none"), ("false", "full")]),
];

/// Its own settings that change no memory (those of `TrainingArguments` come besides).
pub(super) const HARMLESS: &[&str] = &[
    "template",
    "dataset*",
    "stage",
    "do_*",
    "preprocessing_*",
    "overwrite_*",
    "plot_loss",
    "lora_alpha",
    "save_*",
    "logging_*",
    "max_samples",
    "val_size",
    "tokenized_path",
    "mix_strategy",
    "interleave_probs",
    "ignore_pad_token_for_loss",
    "train_on_prompt",
    "mask_history",
    "swanlab_*",
    "use_swanlab",
    "loraplus_*",
    "use_rslora",
    "new_special_tokens*",
    "cache_dir",
    "use_fast_tokenizer",
    "trust_remote_code",
    "media_dir",
    "image_*",
    "video_*",
    "infer_*",
    "export_*",
    "ray_*",
    "resize_vocab",
    "rope_scaling",
    "buffer_size",
    "streaming",
    "enable_thinking",
    "default_system",
    "tool_format",
    "galore_update_interval",
    "galore_scale",
    "galore_proj_type",
    "galore_target",
    "apollo_update_interval",
    "apollo_scale*",
    "apollo_proj*",
    "apollo_target",
    "freeze_vision_tower",
    "freeze_multi_modal_projector",
    "quantization_method",
    "use_reentrant_gc",
    "pref_*",
    "early_stopping_steps",
    "compute_accuracy",
    "disable_shuffling",
    "init_special_tokens",
    "hub_*",
    "hf_hub_token",
    "pissa_*",
];

/// Whether only LLaMA-Factory has such settings.
pub(super) fn recognises(given: &Given) -> bool {
    given.count(&["finetuning_type", "cutoff_len", "pure_bf16", "disable_gradient_checkpointing"]) > 0
        || (given.has("template") && given.has("model_name_or_path"))
}

/// Takes its settings.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.family = Some(Family::LlamaFactory);
    if let Some(said) = given.take("model_name_or_path") {
        model_name::read(&said, draft);
    }
    sequence(&["cutoff_len"], given, draft);
    let pure = given.take("pure_bf16").filter(|said| said.flag() == Some(true));
    common(given, draft);
    translate::read(ROWS, given, draft);
    if !draft.is_given(Key::Method.word()) {
        draft.assume(Key::Method.word(), "lora", words::LLAMA_FACTORY_DEFAULT);
    }
    if let Some(said) = given.take_first(&["lora_target", "lora_target_modules"]) {
        lora_targets(&said, draft);
    }
    quantization(given, draft);
    weights(pure, draft);
    optimizers(given, draft);
    if let Some(said) =
        given.take_first(&["neat_packing", "packing"]).filter(|said| said.flag() == Some(true))
    {
        draft.set_key(&said, Key::Packed, "true");
    }
    given.take("packing");
    draft.assume(Key::Recompute.word(), "full", words::LLAMA_FACTORY_DEFAULT);
    stages(given, draft);
}

fn quantization(given: &mut Given, draft: &mut Draft) {
    const BITS: &[(&str, &str)] = &[("4", "nf4-double"), ("8", "int8")];
    let double = given.take("double_quantization");
    let kind = given.take("quantization_type").filter(|said| said.word() != "nf4");
    let Some(said) = given.take("quantization_bit") else { return };
    draft.set_key(&said, Key::Method, "qlora");
    choose(BITS, &said, Key::Quantization, draft);
    if let Some(said) = double.filter(|double| double.flag() == Some(false) && said.text() == "4") {
        draft.set_key(&said, Key::Quantization, "nf4");
    }
    if let Some(said) = kind {
        draft.unsupported(&said, words::OTHER_VALUE);
    }
}

/// The model is loaded in the compute type; what is trained is cast to fp32 unless `pure_bf16` or `ZeRO`-3
/// (`init_adapter`).
fn weights(pure: Option<Said>, draft: &mut Draft) {
    let adapters = matches!(draft.config.method, Method::Lora | Method::Qlora);
    if let Some(said) = pure {
        draft.facts.compute = Some((said.clone(), None));
        draft.facts.weights = Some((said.clone(), Some(super::draft::Half::Bf16)));
        if adapters {
            draft.set_key(&said, Key::LoraDtype, "bf16");
        }
    } else if let Some((said, half)) = draft.facts.compute.clone()
        && adapters
        && draft.facts.engine != Some(Engine::Deepspeed)
    {
        draft.facts.weights = Some((said, half));
    }
}

fn optimizers(given: &mut Given, draft: &mut Draft) {
    for (name, ours) in [
        ("use_galore", "galore"),
        ("use_apollo", "apollo"),
        ("use_adam_mini", "adam-mini"),
        ("use_muon", "muon"),
    ] {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.set_key(&said, Key::Optimizer, ours);
        }
    }
    for name in ["galore_layerwise", "apollo_layerwise"] {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.set_key(&said, Key::OptimizerImpl, "in-backward");
        }
    }
    for (name, what) in [
        ("galore_rank", words::PROJECTION_RANK),
        ("apollo_rank", words::PROJECTION_RANK),
        ("use_badam", words::OPTIMIZER),
        ("use_unsloth", words::UNSLOTH),
        ("use_unsloth_gc", words::UNSLOTH),
        ("use_dora", words::DORA),
        ("use_llama_pro", words::SOME_MODULES),
        ("freeze_trainable_layers", words::SOME_MODULES),
        ("freeze_trainable_modules", words::SOME_MODULES),
        ("freeze_extra_modules", words::SOME_MODULES),
        ("upcast_layernorm", words::OTHER_VALUE),
        ("upcast_lmhead_output", words::OTHER_VALUE),
        ("shift_attn", words::OTHER_VALUE),
        ("mixture_of_depths", words::OTHER_VALUE),
    ] {
        if let Some(said) = given.take(name).filter(|said| said.flag() != Some(false)) {
            draft.unsupported(&said, what);
        }
    }
}

/// Preference and reward training hold more than one forward pass.
fn stages(given: &mut Given, draft: &mut Draft) {
    let more = given.peek("stage").is_some_and(|said| !["sft", "pt"].contains(&said.word().as_str()));
    if let Some(said) = given.take("stage").filter(|_| more) {
        draft.unsupported(&said, words::MORE_MODELS);
    }
}
