//! A command that starts Megatron-LM (`megatron/training/arguments.py`; with Megatron-core's own settings,
//! `megatron/core/transformer/transformer_config.py`).

use super::draft::{Draft, Engine, Family, Half};
use super::given::{Given, Said};
use super::translate::Row;
use super::{megatron_model, translate};
use crate::config::{Key, Offload};
use crate::text::import as words;

/// Its options that are keys of ours (names with `_` for `-`).
pub(crate) const ROWS: &[Row] = &[
    Row::same("tensor_model_parallel_size", Key::Tp),
    Row::flag("sequence_parallel", Key::Sp),
    Row::same("pipeline_model_parallel_size", Key::Pp),
    Row::same("context_parallel_size", Key::Cp),
    Row::same("expert_model_parallel_size", Key::Ep),
    Row::same("expert_tensor_parallel_size", Key::Etp),
    Row::same("seq_length", Key::Seq),
    Row::words("recompute_granularity", Key::Recompute, &[("full", "full"), ("selective", "selective")]),
    Row::words(
        "optimizer",
        Key::Optimizer,
        &[
            ("adam", "adamw"),
            ("sgd", "sgd-momentum"),
            ("muon", "muon"),
            ("lion", "lion"),
            ("dist_muon", "muon"),
        ],
    ),
    Row::words(
        "attention_backend",
        Key::Attention,
        &[("flash", "flash"), ("fused", "sdpa"), ("unfused", "eager"), ("local", "eager")],
    ),
    Row::flag("distribute_saved_activations", Key::DistributeSavedActivations),
    Row::flag("cross_entropy_loss_fusion", Key::CrossEntropyLossFusion),
    Row::flag("overlap_grad_reduce", Key::OverlapGradReduce),
    Row::flag("overlap_param_gather", Key::OverlapParamGather),
    Row::opposite("no_gradient_accumulation_fusion", Key::GradientAccumulationFusion),
    Row::flag("moe_grouped_gemm", Key::MoeGroupedGemm),
    Row::same("moe_expert_capacity_factor", Key::MoeExpertCapacityFactor),
    Row::same("decoder_first_pipeline_num_layers", Key::DecoderFirstPipelineNumLayers),
    Row::same("decoder_last_pipeline_num_layers", Key::DecoderLastPipelineNumLayers),
    Row::words(
        "transformer_impl",
        Key::TransformerImpl,
        &[("transformer_engine", "transformer_engine"), ("local", "local")],
    ),
    Row::same("cp_comm_type", Key::CpCommType),
];

/// Its options that change no memory.
pub(super) const HARMLESS: &[&str] = &[
    "lr",
    "min_lr",
    "lr_*",
    "weight_decay*",
    "start_weight_decay",
    "end_weight_decay",
    "adam_*",
    "clip_grad",
    "train_iters",
    "train_samples",
    "log_*",
    "fp8_amax*",
    "fp8_margin",
    "fp8_interval",
    "tensorboard_*",
    "wandb_*",
    "save*",
    "load*",
    "eval_*",
    "exit_*",
    "data_path",
    "data_cache_path",
    "split",
    "seed",
    "init_method_std",
    "distributed_*",
    "tokenizer_*",
    "vocab_file",
    "merge_file",
    "num_workers",
    "no_load_*",
    "no_save_*",
    "finetune",
    "ckpt_*",
    "dist_ckpt_*",
    "use_dist_ckpt*",
    "async_save",
    "rotary_*",
    "no_position_embedding",
    "use_rotary_position_embeddings",
    "norm_epsilon",
    "initial_loss_scale",
    "min_loss_scale",
    "loss_scale*",
    "hysteresis",
    "timing_*",
    "profile*",
    "no_masked_softmax_fusion",
    "no_bias_*",
    "no_rope_fusion",
    "no_create_attention_mask_in_dataloader",
    "override_opt_param_scheduler",
    "use_checkpoint_args",
    "mock_data",
    "moe_router_*",
    "moe_aux_loss_coeff",
    "moe_z_loss_coeff",
    "moe_permute_fusion",
    "moe_per_layer_logging",
    "attention_softmax_in_fp32",
    "apply_query_key_layer_scaling",
    "manual_gc*",
    "check_for_nan*",
    "no_check_for_nan*",
    "dataloader_type",
    "reset_*",
    "eod_mask_loss",
    "enable_one_logger",
    "one_logger_*",
    "empty_unused_memory_level",
    "no_mmap_bin_files",
    "train_data_path",
    "valid_data_path",
    "test_data_path",
    "use_mcore_models",
    "use_legacy_models",
    "no_async_tensor_model_parallel_allreduce",
    "tp_comm_overlap*",
    "calculate_per_token_loss",
    "straggler_*",
    "nccl_*",
    "sharp_*",
    "delay_*",
    "no_initialization",
    "rampup_*",
    "per_split_data_args_path",
    "export_*",
    "no_pipeline_parallel*",
    "no_scatter_gather*",
    "auto_detect_ckpt_format",
    "untie_embeddings_and_output_weights",
    "position_embedding_type",
    "disable_bias_linear",
    "add_bias_linear",
    "moe_token_dispatcher_type",
    "high_priority_stream_groups",
];

/// Options that matter and have no key.
const UNSUPPORTED: &[&str] = &[
    "fp8_param_gather",
    "fp8_recipe",
    "use_precision_aware_optimizer",
    "main_params_dtype",
    "exp_avg_dtype",
    "exp_avg_sq_dtype",
    "num_distributed_optimizer_instances",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "ddp_bucket_size",
    "ddp_average_in_collective",
    "cpu_offloading_num_layers",
    "overlap_moe_expert_parallel_comm",
    "moe_shared_expert_overlap",
    "hierarchical_context_parallel_sizes",
    "moe_pad_expert_input_to_capacity",
    "enable_cuda_graph",
    "external_cuda_graph",
    "cuda_graph_impl",
    "cuda_graph_scope",
    "pipeline_model_parallel_layout",
    "fine_grained_activation_offloading",
    "offload_modules",
    "mtp_num_layers",
    "first_last_layers_bf16",
    "fp4_format",
    "optimizer_offload_fraction",
    "use_te_activation_func",
    "defer_embedding_wgrad_compute",
    "microbatch_group_size_per_virtual_pipeline_stage",
];

/// Whether only Megatron has such options.
pub(super) fn recognises(given: &Given) -> bool {
    const NAMES: &[&str] = &[
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "micro_batch_size",
        "global_batch_size",
        "ffn_hidden_size",
        "num_layers",
        "hidden_size",
        "seq_length",
        "sequence_parallel",
        "use_distributed_optimizer",
        "recompute_granularity",
        "recompute_activations",
        "num_attention_heads",
    ];
    given.count(NAMES) >= 2
        || given.count(&["tensor_model_parallel_size", "recompute_granularity", "use_distributed_optimizer"])
            > 0
}

/// Takes its options.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    draft.facts.family = Some(Family::Megatron);
    draft.facts.engine = Some(Engine::Megatron);
    draft.facts.trains = true;
    draft.assume(Key::Stack.word(), "megatron-core", words::MEGATRON_DEFAULT);
    let comm = given.take("cp_comm_type");
    if let Some(said) = comm {
        // One word a layer, or one for all.
        let text = said.text();
        draft.set_key(&said, Key::CpCommType, text.split([',', ' ']).next().unwrap_or_default());
    }
    batch(given, draft);
    precision(given, draft);
    recompute(given, draft);
    translate::read(ROWS, given, draft);
    if let Some(said) = given.take("use_flash_attn").filter(|said| said.flag() == Some(true)) {
        draft.set_key(&said, Key::Attention, "flash");
    }
    dropout(given, draft);
    megatron_model::read(given, draft);
    pipeline(given, draft);
    sharding(given, draft);
    for name in UNSUPPORTED {
        if let Some(said) = given.take(name).filter(|said| said.flag() != Some(false)) {
            draft.unsupported(&said, words::NO_KEY);
        }
    }
}

fn batch(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("micro_batch_size") {
        draft.note_number(said, |facts| &mut facts.micro_batch);
    }
    if let Some(said) = given.take("global_batch_size") {
        draft.note_number(said, |facts| &mut facts.global_batch);
    }
}

fn precision(given: &mut Given, draft: &mut Draft) {
    for (name, half) in [("fp16", Half::Fp16), ("bf16", Half::Bf16)] {
        if let Some(said) = given.take(name).filter(|said| said.flag() == Some(true)) {
            draft.facts.compute = Some((said, Some(half)));
        }
    }
    if let Some(said) = given.take_first(&["fp8_format", "fp8_hybrid", "fp8_e4m3"]) {
        draft.facts.fp8 = Some(said);
    }
    if let Some(said) =
        given.take("accumulate_allreduce_grads_in_fp32").filter(|said| said.flag() == Some(true))
    {
        draft.set_key(&said, Key::GradDtype, "fp32");
    }
    if let Some(said) = given.take("main_grads_dtype") {
        super::trainer::choose(
            &[("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp16")],
            &said,
            Key::GradDtype,
            draft,
        );
    }
    if let Some(said) = given.take("grad_reduce_in_bf16").filter(|said| said.flag() == Some(true)) {
        draft.set_key(&said, Key::GradDtype, "bf16");
    }
}

fn recompute(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("recompute_activations").filter(|said| said.flag() == Some(true)) {
        draft.set_key(&said, Key::Recompute, "selective");
    }
    if let Some(said) = given.take("recompute_modules") {
        draft.set_key(&said, Key::RecomputeModules, &said.text().replace(' ', ","));
    }
    let full = given.peek("recompute_granularity").is_some_and(|said| said.word() == "full");
    let method = given.take("recompute_method");
    let number = given.take("recompute_num_layers");
    if !full {
        return;
    }
    let pipelined = given.peek("pipeline_model_parallel_size").and_then(Said::number).unwrap_or(1) > 1;
    match (method.as_ref().map(Said::word).as_deref(), number) {
        // The first n layers of a stage.
        (Some("block"), Some(said)) if !pipelined => draft.set_key(&said, Key::RecomputeLayers, &said.text()),
        // Every layer is a piece of its own, as it is here.
        (_, Some(said))
            if said.text() == "1" && method.as_ref().is_some_and(|said| said.word() == "uniform") => {}
        (_, Some(said)) => draft.unsupported(&said, words::RECOMPUTED_PIECES),
        (_, None) => {}
    }
}

/// Both probabilities are 0.1 where nothing is said.
fn dropout(given: &mut Given, draft: &mut Draft) {
    let hidden = given.take("hidden_dropout");
    let attention = given.take("attention_dropout");
    match (hidden, attention) {
        (Some(hidden), Some(attention)) => {
            let same = hidden.text().parse::<f64>().ok() == attention.text().parse::<f64>().ok();
            draft.set_key(&hidden, Key::Dropout, &hidden.text());
            if !same {
                draft.unsupported(&attention, words::ONE_DROPOUT);
            }
        }
        (Some(one), None) | (None, Some(one)) => {
            draft.set_key(&one, Key::Dropout, &one.text());
            if one.text().parse::<f64>().ok() != Some(0.1) {
                draft.unsupported(&one, words::ONE_DROPOUT);
            }
        }
        (None, None) => draft.assume(Key::Dropout.word(), "0.1", words::MEGATRON_DEFAULT),
    }
}

fn pipeline(given: &mut Given, draft: &mut Draft) {
    let chunks =
        given.take("num_virtual_stages_per_pipeline_rank").and_then(|said| said.number().map(|n| (said, n)));
    let layers =
        given.take("num_layers_per_virtual_pipeline_stage").and_then(|said| said.number().map(|n| (said, n)));
    let stages = chunks.or_else(|| {
        let (said, each) = layers?;
        let all = draft.config.get("num_hidden_layers").parse::<u64>().ok()?;
        let rows = each.saturating_mul(draft.config.pp).max(1);
        Some((said, all / rows))
    });
    if let Some((said, stages)) = stages.filter(|(_, stages)| *stages > 1) {
        draft.set_key(&said, Key::Vpp, &stages.to_string());
    }
}

fn sharding(given: &mut Given, draft: &mut Draft) {
    if let Some(said) = given.take("use_distributed_optimizer").filter(|said| said.flag() == Some(true)) {
        draft.set_key(&said, Key::DataParallel, "zero1");
    }
    if let Some(said) = given.take("use_torch_fsdp2").filter(|said| said.flag() == Some(true)) {
        draft.set_key(&said, Key::DataParallel, "fsdp");
    }
    let own =
        given.take_first(&["use_megatron_fsdp", "use_custom_fsdp"]).filter(|said| said.flag() == Some(true));
    let strategy = given.take("data_parallel_sharding_strategy");
    if let Some(said) = own {
        const STRATEGIES: &[(&str, &str)] = &[
            ("no_shard", "ddp"),
            ("optim", "zero1"),
            ("optim_grads", "zero2"),
            ("optim_grads_params", "zero3"),
        ];
        draft.set_key(&said, Key::Engine, "megatron");
        super::trainer::choose(
            STRATEGIES,
            &strategy.unwrap_or_else(|| Said { value: "no_shard".into(), ..said }),
            Key::DataParallel,
            draft,
        );
    }
    if let Some(said) = given.take("optimizer_cpu_offload").filter(|said| said.flag() == Some(true)) {
        draft.offload(&said, Offload::Optimizer);
    }
}
