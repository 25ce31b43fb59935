//! The remedies: what can be changed, and at which price.
//!
//! No row says what it saves: that is the difference of two estimates. Percentages of time are those of the source
//! named beside them.

use super::remedy::{Action, Price, Remedy, Slowdown};
use crate::config::{
    Attention, Config, DataParallel, GradDtype, Key, LoraDtype, Loss, Method, Precision, Stack,
};
use crate::text::doctor::{self as text, Words};

/// Every remedy, roughly from cheap to dear.
pub const REMEDIES: &[Remedy] = &[
    set("flash-attention", &text::FLASH, Price::Free, &[(Key::Attention, "flash")])
        .from("https://arxiv.org/abs/2205.14135")
        .common(),
    set("sdpa", &text::SDPA, Price::Free, &[(Key::Attention, "sdpa")])
        .from("https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html")
        .when(|config| config.attention == Attention::Eager),
    set("fused-loss", &text::FUSED_LOSS, Price::Free, &[(Key::Loss, "fused"), (Key::LossChunks, "")])
        .from("https://arxiv.org/abs/2410.10989")
        .common(),
    set("chunked-loss", &text::CHUNKED_LOSS, Price::Little, &[(Key::Loss, "chunked")])
        .from("torchtune/modules/loss/ce_chunked_output_loss.py")
        .when(|config| config.loss == Loss::Standard),
    set("fused-optimizer", &text::FUSED_OPTIMIZER, Price::Free, &[(Key::OptimizerImpl, "fused")])
        .from("https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html")
        .common(),
    set("for-loop-optimizer", &text::FOR_LOOP_OPTIMIZER, Price::Little, &[(Key::OptimizerImpl, "for-loop")])
        .from("https://docs.pytorch.org/docs/stable/optim.html"),
    set("forget-logits", &text::FORGET_LOGITS, Price::Free, &[(Key::KeepLogits, "")])
        .from("transformers/trainer.py: prediction_loss_only"),
    set("bucket-views", &text::BUCKET_VIEWS, Price::Free, &[(Key::GradientAsBucketView, "true")])
        .from("https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html")
        .when(|config| config.data_parallel == DataParallel::Ddp && replicas(config) > 1),
    set("expandable-segments", &text::EXPANDABLE, Price::Free, &[(Key::ExpandableSegments, "true")])
        .from("https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf")
        .common(),
    set("fused-cross-entropy", &text::FUSED_CROSS_ENTROPY, Price::Free, &[(Key::CrossEntropyLossFusion, "true")])
        .from("Megatron-LM/megatron/core/fusions/fused_cross_entropy.py")
        .when(|config| config.stack == Stack::MegatronCore),
    set("distributed-inputs", &text::DISTRIBUTED_INPUTS, Price::Links, &[(Key::DistributeSavedActivations, "true")])
        .from("Megatron-LM/megatron/core/tensor_parallel/random.py: CheckpointFunction")
        .when(|config| config.stack == Stack::MegatronCore && config.tp > 1),
    set("sequence-parallel", &text::SEQUENCE_PARALLEL, Price::Free, &[(Key::Sp, "true")])
        .from("https://arxiv.org/abs/2205.05198")
        .common()
        .when(|config| config.tp > 1),
    by("smaller-batch", &text::SMALLER_BATCH, Price::Little, &[Key::Batch], divisors, split_batch)
        .from("https://huggingface.co/docs/transformers/perf_train_gpu_one#gradient-accumulation")
        .common(),
    set("selective-recompute", &text::SELECTIVE, Price::Little, &[(Key::Recompute, "selective")])
        .from("https://arxiv.org/abs/2205.05198")
        .common()
        .when(|config| config.recompute_layers.is_none()),
    by("recompute-some", &text::RECOMPUTE_SOME, Price::Time, RECOMPUTE, quarters, recompute_part)
        .slower(30, 50)
        .from("https://arxiv.org/abs/2205.05198"),
    set("full-recompute", &text::FULL_RECOMPUTE, Price::Time, &[(Key::Recompute, "full"), (Key::RecomputeLayers, "")])
        .slower(30, 50)
        .from("https://arxiv.org/abs/2205.05198")
        .common(),
    set("step-in-backward", &text::IN_BACKWARD, Price::Recipe, &[(Key::OptimizerImpl, "in-backward")])
        .from("https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html")
        .when(|config| config.accumulation == 1),
    set("zero1", &text::ZERO1, Price::Links, &[(Key::DataParallel, "zero1")])
        .from(ZERO)
        .common()
        .when(|config| replicas(config) > 1),
    set("zero2", &text::ZERO2, Price::Links, &[(Key::DataParallel, "zero2")])
        .from(ZERO)
        .common()
        .when(|config| replicas(config) > 1),
    set("zero3", &text::ZERO3, Price::Links, &[(Key::DataParallel, "zero3")])
        .from(ZERO)
        .common()
        .when(|config| replicas(config) > 1),
    set("fsdp", &text::FSDP, Price::Links, &[(Key::DataParallel, "fsdp")])
        .from("https://arxiv.org/abs/2304.11277")
        .common()
        .when(|config| replicas(config) > 1),
    set("fsdp-grad-op", &text::FSDP_GRAD_OP, Price::Links, &[(Key::DataParallel, "fsdp-grad-op")])
        .from("https://arxiv.org/abs/2304.11277")
        .when(|config| replicas(config) > 1),
    set("reshard", &text::RESHARD, Price::Links, &[(Key::ReshardAfterForward, "true")])
        .from("https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html")
        .when(|config| config.data_parallel == DataParallel::Fsdp),
    by("tensor-parallel", &text::TENSOR_PARALLEL, Price::Links, &[Key::Tp, Key::Sp], within_node, |config, by| {
        config.sp = true;
        split_replicas(config, by, |config| &mut config.tp);
    })
    .from("https://arxiv.org/abs/2205.05198")
    .common()
    .when(|config| replicas(config) > 1),
    by("pipeline", &text::PIPELINE, Price::Links, &[Key::Pp], across, |config, by| {
        split_replicas(config, by, |config| &mut config.pp);
    })
    .from("https://arxiv.org/abs/2104.04473")
    .when(|config| replicas(config) > 1),
    by("context-parallel", &text::CONTEXT_PARALLEL, Price::Links, &[Key::Cp], within_node, |config, by| {
        split_replicas(config, by, |config| &mut config.cp);
    })
    .from("https://arxiv.org/abs/2310.01889")
    .common()
    .when(|config| replicas(config) > 1),
    by("expert-parallel", &text::EXPERT_PARALLEL, Price::Links, &[Key::Ep], across, |config, by| config.ep *= by)
        .from("https://arxiv.org/abs/2006.16668")
        .common()
        .when(|config| replicas(config) > 1),
    set("offload-optimizer", &text::OFFLOAD_OPTIMIZER, Price::Host, &[(Key::Offload, "optimizer")])
        .from("https://arxiv.org/abs/2101.06840")
        .common(),
    set("offload-parameters", &text::OFFLOAD_PARAMETERS, Price::Host, &[(Key::Offload, "optimizer,parameters")])
        .from("https://www.deepspeed.ai/docs/config-json/#parameter-offloading"),
    set("offload-activations", &text::OFFLOAD_ACTIVATIONS, Price::Host, &[(Key::Offload, "activations")])
        .from("https://docs.pytorch.org/torchtune/stable/tutorials/memory_optimizations.html#activation-offloading"),
    set("16-bit-gradients", &text::NARROW_GRADIENTS, Price::Rounding, &[(Key::GradDtype, "auto")])
        .from("https://www.deepspeed.ai/docs/config-json/#data-type-options")
        .common()
        .when(|config| config.grad_dtype == GradDtype::Fp32 && config.stack != Stack::MegatronCore),
    set("16-bit-gradient-buffers", &text::NARROW_GRADIENTS, Price::Rounding, &[(Key::GradDtype, "bf16")])
        .from("Megatron-LM/megatron/training/arguments.py: --grad-reduce-in-bf16")
        .when(|config| config.stack == Stack::MegatronCore && config.precision == Precision::Bf16Mixed),
    set("autocast", &text::AUTOCAST, Price::Rounding, &[(Key::Precision, "bf16-autocast")])
        .from("https://arxiv.org/abs/1710.03740")
        .when(|config| config.precision == Precision::Fp32),
    set("mixed-precision", &text::MIXED, Price::Rounding, &[(Key::Precision, "bf16-mixed")])
        .from("https://arxiv.org/abs/1710.03740")
        .when(|config| {
            matches!(config.precision, Precision::Fp32 | Precision::Bf16Autocast | Precision::Fp16Autocast)
        }),
    set("fp8", &text::FP8, Price::Rounding, &[(Key::Precision, "fp8-mixed")])
        .from("https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/examples/fp8_primer.html")
        .common()
        .when(|config| config.precision == Precision::Bf16Mixed),
    set("8-bit-adam", &text::ADAM_8BIT, Price::Rounding, &[(Key::Optimizer, "adamw-8bit")])
        .from("https://arxiv.org/abs/2110.02861")
        .common(),
    set("16-bit-adapters", &text::BF16_ADAPTERS, Price::Rounding, &[(Key::LoraDtype, "bf16")])
        .from("peft/tuners/tuners_utils.py: autocast_adapter_dtype")
        .common()
        .when(|config| adapters(config) && config.lora_dtype == LoraDtype::Fp32),
    set("pure-bf16", &text::PURE_BF16, Price::Recipe, &[(Key::Precision, "bf16"), (Key::GradDtype, "")])
        .from("https://arxiv.org/abs/2010.06192")
        .common(),
    set("adafactor", &text::ADAFACTOR, Price::Recipe, &[(Key::Optimizer, "adafactor")])
        .from("https://arxiv.org/abs/1804.04235"),
    set("adam-mini", &text::ADAM_MINI, Price::Recipe, &[(Key::Optimizer, "adam-mini")])
        .from("https://arxiv.org/abs/2406.16793"),
    set("lion", &text::LION, Price::Recipe, &[(Key::Optimizer, "lion")]).from("https://arxiv.org/abs/2302.06675"),
    set("muon", &text::MUON, Price::Recipe, &[(Key::Optimizer, "muon")]).from("https://arxiv.org/abs/2502.16982"),
    set("galore", &text::GALORE, Price::Recipe, &[(Key::Optimizer, "galore")])
        .from("https://arxiv.org/abs/2403.03507"),
    set("apollo", &text::APOLLO, Price::Recipe, &[(Key::Optimizer, "apollo")])
        .from("https://arxiv.org/abs/2412.05270"),
    set("sgd", &text::SGD, Price::Recipe, &[(Key::Optimizer, "sgd")]).from("https://arxiv.org/abs/1912.03194"),
    by("shorter-sequences", &text::SHORTER, Price::Recipe, &[Key::Seq], |config| halves(config.seq), |config, by| {
        config.seq /= by;
    }),
    by("lower-rank", &text::LOWER_RANK, Price::Recipe, &[Key::LoraRank], |config| halves(config.lora_rank), |config, by| {
        config.lora_rank /= by;
    })
    .from("https://arxiv.org/abs/2106.09685")
    .when(adapters),
    set("fewer-targets", &text::FEWER_TARGETS, Price::Recipe, &[(Key::LoraTargets, "q,v")])
        .from("https://arxiv.org/abs/2106.09685")
        .when(adapters),
    set("lora", &text::LORA, Price::Method, &[(Key::Method, "lora"), (Key::Quantization, "")])
        .from("https://arxiv.org/abs/2106.09685")
        .common()
        .when(|config| !adapters(config)),
    set("qlora", &text::QLORA, Price::Method, &[(Key::Method, "qlora"), (Key::Quantization, "nf4")])
        .from("https://arxiv.org/abs/2305.14314")
        .common()
        .when(|config| config.method != Method::Qlora),
    set("double-quantization", &text::DOUBLE_QUANTIZATION, Price::Rounding, &[(Key::Quantization, "nf4-double")])
        .from("https://arxiv.org/abs/2305.14314")
        .common()
        .when(|config| config.method == Method::Qlora),
];

const ZERO: &str = "https://arxiv.org/abs/1910.02054";
const RECOMPUTE: &[Key] = &[Key::Recompute, Key::RecomputeLayers];

const fn set(
    id: &'static str,
    words: &Words,
    price: Price,
    values: &'static [(Key, &'static str)],
) -> Remedy {
    remedy(id, words, price, &[], Action::Set(values))
}

const fn by(
    id: &'static str,
    words: &Words,
    price: Price,
    axes: &'static [Key],
    numbers: fn(&Config) -> Vec<u64>,
    apply: fn(&mut Config, u64),
) -> Remedy {
    remedy(id, words, price, axes, Action::By { numbers, apply })
}

const fn remedy(
    id: &'static str,
    words: &Words,
    price: Price,
    axes: &'static [Key],
    action: Action,
) -> Remedy {
    Remedy {
        id,
        name: words.name,
        cost: words.cost,
        price,
        slowdown: None,
        source: "",
        common: false,
        axes,
        action,
        applies: |_| true,
    }
}

impl Remedy {
    const fn from(self, source: &'static str) -> Self {
        Self { source, ..self }
    }

    const fn slower(self, low: u64, high: u64) -> Self {
        Self { slowdown: Some(Slowdown { low, high }), ..self }
    }

    const fn common(self) -> Self {
        Self { common: true, ..self }
    }

    const fn when(self, applies: fn(&Config) -> bool) -> Self {
        Self { applies, ..self }
    }
}

fn adapters(config: &Config) -> bool {
    matches!(config.method, Method::Lora | Method::Qlora)
}

/// Data-parallel ranks.
fn replicas(config: &Config) -> u64 {
    let group = config.tp.saturating_mul(config.pp).saturating_mul(config.cp).max(1);
    config.gpus / group
}

/// 2, 4, 8, … up to a half.
fn halves(value: u64) -> Vec<u64> {
    (1..=3).map(|power| 1 << power).filter(|by| *by <= value).collect()
}

/// Powers of two into which the micro-batch can be split.
fn divisors(config: &Config) -> Vec<u64> {
    let batch = config.batch;
    (1..=20).map(|power| 1 << power).filter(|by| batch.is_multiple_of(*by)).collect()
}

/// The same sequences a step in smaller portions.
fn split_batch(config: &mut Config, by: u64) {
    config.batch /= by;
    config.accumulation = config.accumulation.saturating_mul(by);
}

fn quarters(config: &Config) -> Vec<u64> {
    if config.layers().is_some_and(|layers| layers >= 4) { vec![25, 50, 75] } else { Vec::new() }
}

fn recompute_part(config: &mut Config, percent: u64) {
    let layers = config.layers().unwrap_or(0);
    config.recompute = crate::config::Recompute::Full;
    config.recompute_layers = Some(layers.saturating_mul(percent).div_ceil(100));
}

/// Powers of two that divide the replicas, within a node.
fn within_node(config: &Config) -> Vec<u64> {
    let room = config.gpus_per_node / config.tp.saturating_mul(config.cp).max(1);
    across(config).into_iter().filter(|by| *by <= room).collect()
}

/// Powers of two that divide the replicas.
fn across(config: &Config) -> Vec<u64> {
    let replicas = replicas(config);
    (1..=4).map(|power| 1 << power).filter(|by| replicas.is_multiple_of(*by)).collect()
}

/// Replicas become parts of larger ones; each takes more micro-batches, so that a step sees the same sequences.
fn split_replicas(config: &mut Config, by: u64, degree: fn(&mut Config) -> &mut u64) {
    let degree = degree(config);
    *degree = degree.saturating_mul(by);
    config.accumulation = config.accumulation.saturating_mul(by);
}
