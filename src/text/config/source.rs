//! Where a key's meaning is defined.

use crate::config::Key;

/// Where a key's meaning is defined, for the keys that a framework named.
pub const fn source(key: Key) -> Option<&'static str> {
    const AMP: &str = "https://docs.pytorch.org/docs/stable/amp.html";
    const DDP: &str =
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html";
    const DEEPSPEED: &str = "https://www.deepspeed.ai/docs/config-json/";
    const FSDP: &str = "https://docs.pytorch.org/docs/stable/fsdp.html";
    const FSDP2: &str = "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html";
    const LORA: &str = "https://huggingface.co/docs/peft/package_reference/lora";
    const MEGATRON: &str = "https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py";
    match key {
        Key::Architecture => Some("https://huggingface.co/docs/transformers/main_classes/configuration"),
        Key::OptimBits => Some("https://github.com/pytorch/ao/tree/main/torchao/optim"),
        Key::GaloreRank => Some("https://arxiv.org/abs/2403.03507"),
        Key::LoraRank | Key::LoraTargets | Key::LoraDtype | Key::LoraDropout | Key::ModulesToSave => {
            Some(LORA)
        }
        Key::PrepareModelForKbitTraining => {
            Some("https://huggingface.co/docs/peft/developer_guides/quantization")
        }
        Key::Quantization => Some("https://arxiv.org/abs/2305.14314"),
        Key::QuantMethod => Some("https://huggingface.co/docs/transformers/quantization/overview"),
        Key::Precision | Key::Autocast => Some(AMP),
        Key::OptimizerImpl => Some("https://docs.pytorch.org/docs/stable/optim.html"),
        Key::Attention => Some(
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        ),
        Key::Recompute | Key::RecomputeLayers => Some("https://docs.pytorch.org/docs/stable/checkpoint.html"),
        Key::Loss | Key::LossChunks => Some("https://arxiv.org/abs/2411.09009"),
        Key::Sp | Key::Tp => Some("https://arxiv.org/abs/2205.05198"),
        Key::Pp | Key::Vpp | Key::Schedule => Some("https://arxiv.org/abs/2104.04473"),
        Key::DataParallel => Some("https://arxiv.org/abs/1910.02054"),
        Key::ReduceDtype | Key::ReshardAfterForward => Some(FSDP2),
        Key::FsdpVersion | Key::FsdpWrapHead | Key::UseOrigParams | Key::NoSync | Key::ShardSize => {
            Some(FSDP)
        }
        Key::GradientAsBucketView => Some(DDP),
        Key::Engine
        | Key::Deepspeed
        | Key::ReduceBucketSize
        | Key::AllgatherBucketSize
        | Key::OverlapComm
        | Key::ContiguousGradients
        | Key::Stage3MaxLiveParameters
        | Key::Offload => Some(DEEPSPEED),
        Key::PaddedVocabSize
        | Key::RecomputeModules
        | Key::DistributeSavedActivations
        | Key::CrossEntropyLossFusion
        | Key::CrossEntropyFusionImpl
        | Key::OverlapGradReduce
        | Key::OverlapParamGather
        | Key::GradientAccumulationFusion
        | Key::MoeGroupedGemm
        | Key::MoeExpertCapacityFactor
        | Key::DecoderFirstPipelineNumLayers
        | Key::DecoderLastPipelineNumLayers
        | Key::TransformerImpl
        | Key::CpCommType
        | Key::Cp
        | Key::Ep
        | Key::Etp => Some(MEGATRON),
        Key::LossParallel => Some("https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html"),
        Key::FastKernels => Some("https://arxiv.org/abs/2410.10989"),
        Key::Compile => Some("https://docs.pytorch.org/docs/stable/generated/torch.compile.html"),
        Key::ExpandableSegments => {
            Some("https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management")
        }
        _ => None,
    }
}
