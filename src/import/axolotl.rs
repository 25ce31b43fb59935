//! axolotl's YAML (`axolotl/utils/schemas/*.py`, `axolotl/utils/config/__init__.py`).

use super::draft::{Draft, Family, Half};
use super::given::{Given, Said};
use super::trainer::{choose, lora_targets, optimizer, sequence, weights_are};
use super::translate::Row;
use super::{Why, deepspeed, fsdp, model_name, translate};
use crate::config::{Key, Offload};
use crate::text::import as words;

const ROWS: &[Row] = &[
    Row::same("lora_r", Key::LoraRank),
    Row::same("lora_dropout", Key::LoraDropout),
    Row::same("lora_modules_to_save", Key::ModulesToSave),
    Row::flag("sample_packing", Key::Packed),
    Row::flag("torch_compile", Key::Compile),
    Row::same("tensor_parallel_size", Key::Tp),
    Row::same("context_parallel_size", Key::Cp),
    Row::same("sequence_parallel_degree", Key::Cp),
    Row::same("expert_parallel_size", Key::Ep),
    Row::same("chunked_cross_entropy_num_chunks", Key::LossChunks),
];

/// Its names of attention kernels, each a switch of its own; `attn_implementation` is the newer way.
pub(crate) const ATTENTION: &[(&str, &str)] =
    &[("flash_attention", "flash"), ("sdp_attention", "sdpa"), ("eager_attention", "eager")];

/// Its settings that change no memory.
pub(super) const HARMLESS: &[&str] = &[
    "datasets",
    "dataset_*",
    "test_datasets",
    "val_set_size",
    "output_dir",
    "wandb_*",
    "mlflow_*",
    "comet_*",
    "num_epochs",
    "max_steps",
    "lr_scheduler*",
    "learning_rate",
    "embedding_lr*",
    "weight_decay",
    "adam_*",
    "max_grad_norm",
    "warmup_*",
    "save_*",
    "saves_per_epoch",
    "eval_*",
    "evals_per_epoch",
    "logging_steps",
    "special_tokens*",
    "tokens",
    "model_type",
    "tokenizer_*",
    "chat_template*",
    "tf32",
    "train_on_inputs",
    "group_by_length",
    "pad_to_sequence_len",
    "strict",
    "seed",
    "early_stopping_patience",
    "resume_from_checkpoint",
    "auto_resume_from_checkpoints",
    "local_rank",
    "debug",
    "hub_*",
    "hf_use_auth_token",
    "trust_remote_code",
    "lora_alpha",
    "lora_fan_in_fan_out",
    "lora_model_dir",
    "is_*_derived_model",
    "push_dataset_to_hub",
    "base_model_config",
    "base_model_ignore_patterns",
    "gradient_checkpointing_kwargs*",
    "plugins",
    "ddp_*",
    "dataloader_*",
    "include_tokens_per_second",
    "loss_watchdog_*",
    "use_tensorboard",
    "shuffle_*",
    "neftune_noise_alpha",
    "roles_to_train",
    "train_on_eos",
    "remove_unused_columns",
    "save_safetensors",
    "liger_rope",
    "peft_use_rslora",
    "rl",
    "dpo_*",
    "skip_prepare_dataset",
    "deepspeed",
    "fsdp",
    "adapter",
    "s2_attention",
    "xformers_attention",
    "ddp",
    "lora_target_linear",
    "revision_of_model",
    "overrides_of_model_config*",
];

/// Whether only axolotl has such settings.
pub(super) fn recognises(given: &Given) -> bool {
    given.has("base_model") || (given.has("sequence_len") && given.has("micro_batch_size"))
}

/// Takes its settings.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.family = Some(Family::Axolotl);
    draft.facts.trains = true;
    if let Some(said) = given.take("base_model") {
        model_name::read(&said, draft);
    }
    sequence(&["sequence_len"], given, draft);
    if let Some(said) = given.take("micro_batch_size") {
        draft.note_number(said, |facts| &mut facts.micro_batch);
    }
    if let Some(said) = given.take("gradient_accumulation_steps") {
        draft.note_number(said, |facts| &mut facts.accumulation);
    }
    if let Some(said) = given.take("batch_size") {
        draft.note_number(said, |facts| &mut facts.global_batch);
    }
    precision(given, draft);
    adapters(given, draft);
    if let Some(said) = given.take("optimizer") {
        optimizer(&said, draft);
    }
    checkpointing(given, draft);
    kernels(given, draft);
    sharding(given, draft);
    translate::read(ROWS, given, draft);
    for (name, what) in
        [("peft_use_dora", words::DORA), ("unsloth_lora_mlp", words::UNSLOTH), ("fp8", words::FP8)]
    {
        if let Some(said) = given.take(name).filter(|said| said.flag() != Some(false)) {
            draft.unsupported(&said, what);
        }
    }
    if let Some(said) = given.take("rl") {
        draft.unsupported(&said, words::MORE_MODELS);
    }
}

/// `bf16: auto` is on wherever the card can (`resolve_dtype`); the model is then loaded in that type as well.
fn precision(given: &mut Given, draft: &mut Draft) {
    let mut half = None;
    for (name, kind) in
        [("fp16", Half::Fp16), ("float16", Half::Fp16), ("bfloat16", Half::Bf16), ("bf16", Half::Bf16)]
    {
        // Where both are on, bf16 goes before.
        let Some(said) = given.take_any(name) else { continue };
        match (said.word().as_str(), said.flag()) {
            ("auto", _) if half.is_none() => {
                draft.facts.assumed_half = Some(words::AUTO_BF16);
                half = Some((said, kind, true));
            }
            ("auto", _) => draft.ignore(&said, Why::Automatic),
            ("full", _) => half = Some((said, kind, false)),
            (_, Some(true)) => half = Some((said, kind, true)),
            (_, Some(false)) => draft.ignore(&said, Why::Harmless),
            _ => draft.unsupported(&said, words::OTHER_VALUE),
        }
    }
    if let Some((said, kind, mixed)) = half {
        draft.facts.weights = Some((said.clone(), Some(kind)));
        draft.facts.compute = Some((said, mixed.then_some(kind)));
    }
    if let Some(said) = given.take("torch_dtype") {
        weights_are(said, draft);
    }
}

fn adapters(given: &mut Given, draft: &mut Draft) {
    let on = |name: &str, given: &mut Given| given.take(name).filter(|said| said.flag() == Some(true));
    let (four, eight) = (on("load_in_4bit", given), on("load_in_8bit", given));
    let adapter = given.take("adapter");
    match adapter.as_ref().map(Said::word).as_deref() {
        Some("qlora" | "lora") => {
            if let Some(said) = &adapter {
                let quantized = four.is_some() || eight.is_some() || said.word() == "qlora";
                draft.set_key(said, Key::Method, if quantized { "qlora" } else { "lora" });
            }
        }
        Some(_) => {
            if let Some(said) = &adapter {
                draft.unsupported(said, words::OTHER_VALUE);
            }
        }
        None => {}
    }
    let quantized = match (&four, &eight) {
        (Some(said), _) => Some((said, "nf4-double")),
        (None, Some(said)) => Some((said, "int8")),
        (None, None) => {
            adapter.as_ref().filter(|said| said.word() == "qlora").map(|said| (said, "nf4-double"))
        }
    };
    if let Some((said, ours)) = quantized {
        draft.set_key(said, Key::Quantization, ours);
    }
    let linear = on("lora_target_linear", given);
    match (given.take("lora_target_modules"), linear) {
        (_, Some(said)) => draft.set_key(&said, Key::LoraTargets, "all-linear"),
        (Some(said), None) => lora_targets(&said, draft),
        (None, None) => {}
    }
    if let Some(said) = given.take("unfrozen_parameters") {
        draft.set_key(&said, Key::Method, "freeze");
        draft.unsupported(&said, words::SOME_MODULES);
    }
}

fn checkpointing(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("gradient_checkpointing") {
        match (said.word().as_str(), said.flag()) {
            ("offload" | "offload_disk", _) => {
                draft.set_key(&said, Key::Recompute, "full");
                draft.offload(&said, Offload::Activations);
            }
            (_, Some(true)) => draft.set_key(&said, Key::Recompute, "full"),
            (_, Some(false)) => draft.set_key(&said, Key::Recompute, "none"),
            _ => draft.unsupported(&said, words::UNSLOTH),
        }
    }
    if let Some(said) = given.take("activation_offloading").filter(|said| said.flag() != Some(false)) {
        draft.offload(&said, Offload::Activations);
    }
}

fn kernels(given: &mut Given, draft: &mut Draft) {
    for (name, ours) in ATTENTION {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.set_key(&said, Key::Attention, ours);
        }
    }
    if let Some(said) = given.take("attn_implementation") {
        let pairs = [
            ("flash_attention_2", "flash"),
            ("flash_attention_3", "flash"),
            ("sdpa", "sdpa"),
            ("eager", "eager"),
        ];
        choose(&pairs, &said, Key::Attention, draft);
    }
    let mut fused = Vec::new();
    for name in
        ["liger_rms_norm", "liger_glu_activation", "liger_swiglu", "liger_layer_norm", "liger_cross_entropy"]
    {
        fused.extend(given.take(name).filter(|said| said.flag() == Some(true)));
    }
    if let Some(said) = fused.first() {
        draft.set_key(said, Key::FastKernels, "liger");
    }
    for (name, ours) in [
        ("liger_fused_linear_cross_entropy", "fused"),
        ("cut_cross_entropy", "fused"),
        ("chunked_cross_entropy", "chunked"),
    ] {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.set_key(&said, Key::Loss, ours);
        }
    }
    for name in ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"] {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.unsupported(&said, words::LORA_KERNELS);
        }
    }
}

fn sharding(given: &mut Given, draft: &mut Draft) {
    if given.has_section("deepspeed") {
        let mut section = given.section("deepspeed");
        deepspeed::read(&mut section, draft);
        section.report_rest(deepspeed::HARMLESS, draft);
    } else if let Some(said) = given.take("deepspeed").filter(|said| !said.text().is_empty()) {
        deepspeed::named(&said, draft);
    }
    if let Some(said) = given.take("fsdp").filter(|said| !said.text().is_empty()) {
        fsdp::options(&said, draft);
    }
    if given.has_section("fsdp_config") {
        if let Some(said) = given.take("fsdp_version") {
            given.insert("fsdp_config.version".to_owned(), said);
        }
        // The section alone switches it on (`fsdp` is the older list).
        if !draft.is_given(Key::DataParallel.word())
            && let Some(said) = given.peek("fsdp_config.version").cloned()
        {
            draft.facts.engine = Some(super::draft::Engine::Fsdp);
            draft.set_key(&said, Key::DataParallel, "fsdp");
        }
        fsdp::section(given, draft);
    }
    let replicas = given.take("dp_replicate_size");
    let shards = given.take("dp_shard_size");
    draft.mesh(replicas, shards);
}
