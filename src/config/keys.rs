//! The vocabulary: one table of every key, in the order of the contract.

use super::Config;
use super::choices::{
    Attention, DataParallel, GradDtype, LoraDtype, Loss, Method, Offload, Optimizer, OptimizerImpl,
    Precision, Quantization, Recompute, Schedule, Stack, Theme, Units, View,
};
use super::kind::Kind;
use super::slot::Slot;

/// Part of the contract (and of the form) that a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// What is trained on.
    Model,
    /// How.
    Training,
    /// Where.
    Cluster,
    /// Settings under their framework's name.
    Advanced,
    /// How the page shows it; changes no figure.
    Page,
}

/// Does a key already change the figures?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    Yes,
    /// Not yet: any value but the default is reported.
    NotYet,
    /// These values do; the others are reported.
    Only(&'static [&'static str]),
}

use Effect::{NotYet, Only, Yes};

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

/// A degree of parallelism.
const DEGREE: Kind = count(1, 65_536);
const LAYERS: Kind = count(0, 10_000);
/// Buckets and limits that frameworks count in elements.
const ELEMENTS: Kind = count(1, 1_000_000_000_000);

/// Declares [`Key`] and what the table says of each: variant, word, section, kind, effect, field of [`Config`]
/// (advanced keys have none: they live in [`Config::advanced`]).
macro_rules! keys {
    ($($variant:ident $word:literal, $section:ident, $kind:expr, $effect:expr $(, $($field:ident).+)?;)+) => {
        /// A key of the contract (the fields of `config.json` have their own list, [`super::FIELDS`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // `text::config::help` describes each
        pub enum Key { $($variant),+ }

        impl Key {
            /// Every key, in the contract's order: the order of links.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The contract's name.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The key with this name.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            /// Where it belongs.
            pub const fn section(self) -> Section {
                match self { $(Self::$variant => Section::$section),+ }
            }

            /// What it accepts.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => $kind),+ }
            }

            /// Whether it already changes the figures.
            pub const fn effect(self) -> Effect {
                match self { $(Self::$variant => $effect),+ }
            }

            pub(super) fn slot(self, config: &mut Config) -> Option<&mut dyn Slot> {
                match self { $(Self::$variant => keys!(@slot config $(, $($field).+)?)),+ }
            }

            pub(super) fn view(self, config: &Config) -> Option<&dyn Slot> {
                match self { $(Self::$variant => keys!(@view config $(, $($field).+)?)),+ }
            }
        }
    };
    (@slot $config:ident) => { None };
    (@slot $config:ident, $($field:ident).+) => { Some(&mut $config.$($field).+) };
    (@view $config:ident) => { None };
    (@view $config:ident, $($field:ident).+) => { Some(&$config.$($field).+) };
}

keys! {
    Model "model", Model, Kind::Model, Yes, model;
    Params "params", Model, count(1, 1_000_000_000_000_000), Yes, params;
    Architecture "architecture", Model, Kind::Object, Yes;

    Method "method", Training, Kind::Choice(Method::WORDS), Only(&["full", "lora", "qlora"]), method;
    LoraRank "lora_rank", Training, count(1, 65_536), Yes, lora_rank;
    LoraTargets "lora_targets", Training, Kind::Text, Yes, lora_targets;
    LoraDtype "lora_dtype", Training, Kind::Choice(LoraDtype::WORDS), Yes, lora_dtype;
    Quantization "quantization", Training, Kind::Choice(Quantization::WORDS), Yes, quantization;
    Precision "precision", Training, Kind::Choice(Precision::WORDS),
        Only(&["bf16-mixed", "fp16-mixed", "bf16-autocast", "fp16-autocast", "fp32", "bf16", "fp16"]), precision;
    GradDtype "grad_dtype", Training, Kind::Choice(GradDtype::WORDS), Yes, grad_dtype;
    Optimizer "optimizer", Training, Kind::Choice(Optimizer::WORDS), Yes, optimizer;
    OptimizerImpl "optimizer_impl", Training, Kind::Choice(OptimizerImpl::WORDS), Yes, optimizer_impl;
    Batch "batch", Training, count(1, 1_000_000), Yes, batch;
    Seq "seq", Training, Kind::Tokens { min: 1, max: 1 << 24 }, Yes, seq;
    Accumulation "accumulation", Training, count(1, 1_000_000), Yes, accumulation;
    Attention "attention", Training, Kind::Choice(Attention::WORDS), Yes, attention;
    Recompute "recompute", Training, Kind::Choice(Recompute::WORDS), Yes, recompute;
    RecomputeLayers "recompute_layers", Training, LAYERS, Yes, recompute_layers;
    Loss "loss", Training, Kind::Choice(Loss::WORDS), Yes, loss;
    LossChunks "loss_chunks", Training, count(1, 1_000_000), Yes, loss_chunks;
    Stack "stack", Training, Kind::Choice(Stack::WORDS), Yes, stack;
    Dropout "dropout", Training, Kind::Probability, Yes, dropout;

    Gpu "gpu", Cluster, Kind::Gpu, Yes, gpu;
    GpuMemory "gpu_memory", Cluster, Kind::Bytes { min: 1 << 20, max: 1 << 44 }, Yes, gpu_memory;
    Gpus "gpus", Cluster, count(1, 1_000_000), Yes, gpus;
    GpusPerNode "gpus_per_node", Cluster, count(1, 1024), Yes, gpus_per_node;
    Tp "tp", Cluster, DEGREE, Yes, tp;
    Sp "sp", Cluster, Kind::Flag, Yes, sp;
    Pp "pp", Cluster, DEGREE, Yes, pp;
    Vpp "vpp", Cluster, DEGREE, Yes, vpp;
    Schedule "schedule", Cluster, Kind::Choice(Schedule::WORDS), Yes, schedule;
    Cp "cp", Cluster, DEGREE, Yes, cp;
    Ep "ep", Cluster, DEGREE, Yes, ep;
    Etp "etp", Cluster, DEGREE, Yes, etp;
    DataParallel "data_parallel", Cluster, Kind::Choice(DataParallel::WORDS), Yes, data_parallel;
    Offload "offload", Cluster, Kind::List(Offload::WORDS), Yes, offload;

    ReduceDtype "reduce_dtype", Advanced, Kind::Choice(&["fp32", "bf16"]), Yes;
    FsdpVersion "fsdp_version", Advanced, count(1, 2), Yes;
    ReshardAfterForward "reshard_after_forward", Advanced, Kind::Flag, Yes;
    FsdpWrapHead "fsdp_wrap_head", Advanced, Kind::Flag, Yes;
    UseOrigParams "use_orig_params", Advanced, Kind::Flag, Yes;
    NoSync "no_sync", Advanced, Kind::Flag, Yes;
    ShardSize "shard_size", Advanced, DEGREE, Yes;
    GradientAsBucketView "gradient_as_bucket_view", Advanced, Kind::Flag, Yes;
    Engine "engine", Advanced, Kind::Choice(&["deepspeed", "megatron", "fsdp"]), Only(&["deepspeed", "fsdp"]);
    Deepspeed "deepspeed", Advanced, Kind::Object, Yes;
    ReduceBucketSize "reduce_bucket_size", Advanced, ELEMENTS, Yes;
    AllgatherBucketSize "allgather_bucket_size", Advanced, ELEMENTS, Yes;
    OverlapComm "overlap_comm", Advanced, Kind::Flag, Yes;
    ContiguousGradients "contiguous_gradients", Advanced, Kind::Flag, Yes;
    Stage3MaxLiveParameters "stage3_max_live_parameters", Advanced, ELEMENTS, Yes;
    PaddedVocabSize "padded_vocab_size", Advanced, count(1, 1 << 24), Yes;
    RecomputeModules "recompute_modules", Advanced, Kind::Text, Yes;
    DistributeSavedActivations "distribute_saved_activations", Advanced, Kind::Flag, Yes;
    CrossEntropyLossFusion "cross_entropy_loss_fusion", Advanced, Kind::Flag, Yes;
    CrossEntropyFusionImpl "cross_entropy_fusion_impl", Advanced, Kind::Choice(&["native", "te"]), Yes;
    OverlapGradReduce "overlap_grad_reduce", Advanced, Kind::Flag, Yes;
    OverlapParamGather "overlap_param_gather", Advanced, Kind::Flag, Yes;
    GradientAccumulationFusion "gradient_accumulation_fusion", Advanced, Kind::Flag, Yes;
    MoeGroupedGemm "moe_grouped_gemm", Advanced, Kind::Flag, Yes;
    MoeExpertCapacityFactor "moe_expert_capacity_factor", Advanced, Kind::Number, Yes;
    DecoderFirstPipelineNumLayers "decoder_first_pipeline_num_layers", Advanced, LAYERS, Yes;
    DecoderLastPipelineNumLayers "decoder_last_pipeline_num_layers", Advanced, LAYERS, Yes;
    TransformerImpl "transformer_impl", Advanced, Kind::Choice(&["transformer_engine", "local"]), Yes;
    CpCommType "cp_comm_type", Advanced, Kind::Text, Yes;
    LossParallel "loss_parallel", Advanced, Kind::Flag, Yes;
    OptimBits "optim_bits", Advanced, Kind::Choice(&["32", "8", "4"]), Yes;
    GaloreRank "galore_rank", Advanced, count(1, 65_536), Yes;
    LoraDropout "lora_dropout", Advanced, Kind::Probability, Yes;
    ModulesToSave "modules_to_save", Advanced, Kind::Text, Yes;
    PrepareModelForKbitTraining "prepare_model_for_kbit_training", Advanced, Kind::Flag, Yes;
    QuantMethod "quant_method", Advanced, Kind::Choice(&["bitsandbytes", "gptq", "awq"]), Yes;
    Autocast "autocast", Advanced, Kind::Text, Yes;
    FastKernels "fast_kernels", Advanced, Kind::Text, NotYet;
    Compile "compile", Advanced, Kind::Flag, NotYet;
    Packed "packed", Advanced, Kind::Flag, Yes;
    PaddingMask "padding_mask", Advanced, Kind::Flag, Yes;
    KeepLogits "keep_logits", Advanced, Kind::Flag, Yes;
    MaxTargetLength "max_target_length", Advanced, Kind::Tokens { min: 1, max: 1 << 24 }, Yes;
    ExpandableSegments "expandable_segments", Advanced, Kind::Flag, Yes;

    Lang "lang", Page, Kind::Choice(&["en", "zh"]), Yes, page.lang;
    Theme "theme", Page, Kind::Choice(Theme::WORDS), Yes, page.theme;
    Units "units", Page, Kind::Choice(Units::WORDS), Yes, page.units;
    View "view", Page, Kind::Choice(View::WORDS), Yes, page.view;
    Embed "embed", Page, Kind::Flag, Yes, page.embed;
}
