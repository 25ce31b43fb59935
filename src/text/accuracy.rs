//! Words of the comparison with measured runs.

use super::Text;

/// Metric.
pub const ALLOCATED: Text = Text::new("allocated", "已分配");
/// Metric.
pub const RESERVED: Text = Text::new("reserved", "已保留");
/// Metric.
pub const DEVICE: Text = Text::new("device (nvidia-smi)", "整卡（nvidia-smi）");
/// Metric.
pub const UNSTATED: Text = Text::new("not said which", "来源未说明口径");
/// Metric.
pub const STATIC: Text = Text::new("between steps", "步间常驻");
/// Metric.
pub const WITHOUT_GRADIENTS: Text = Text::new("between steps, no gradients", "步间常驻（不含梯度）");

/// Regime.
pub const FULL: Text = Text::new("one GPU, full fine-tuning", "单卡 · 全量训练");
/// Regime.
pub const LORA: Text = Text::new("one GPU, LoRA", "单卡 · LoRA");
/// Regime.
pub const QLORA: Text = Text::new("one GPU, QLoRA", "单卡 · QLoRA");
/// Regime.
pub const REPLICATED: Text = Text::new("DDP", "DDP");
/// Regime.
pub const FSDP: Text = Text::new("FSDP", "FSDP");
/// Regime.
pub const ZERO: Text = Text::new("DeepSpeed ZeRO", "DeepSpeed ZeRO");
/// Regime.
pub const MEGATRON: Text = Text::new("Megatron-core", "Megatron-core");

/// Why an estimate misses.
pub const LENGTHS: Text = Text::new(
    "the source gives the longest sample it allows, the batches that were run are shorter",
    "来源只给出样本长度上限，实际批次更短",
);
/// Why an estimate misses.
pub const OLD_LOSS: Text = Text::new(
    "transformers before 4.50 copied the shifted logits in fp32 and held the 16-bit ones: two more tensors of \
     tokens × vocabulary",
    "transformers 4.50 之前会以 fp32 复制移位后的 logits 并保留 16 位 logits：多出两个 词元数 × 词表 的张量",
);
/// Why an estimate misses.
pub const OLD_CONTEXT: Text = Text::new(
    "an older CUDA loads every kernel at start: a context of 1 to 2 GB instead of about 0.5",
    "旧版 CUDA 启动时载入全部内核：上下文占 1–2 GB 而非约 0.5 GB",
);
/// Why an estimate misses.
pub const OWN_KERNELS: Text = Text::new(
    "the framework has a model code of its own, which keeps other tensors",
    "该框架使用自己的模型实现，保留的张量不同",
);
/// Why an estimate misses.
pub const NOT_MODELLED: Text = Text::new(
    "a setting of the run is not modelled yet (the warnings of the estimate name it)",
    "该运行的某项设置尚未建模（估算的警告会指出）",
);
/// Why an estimate misses.
pub const FRAGMENTATION: Text = Text::new(
    "the caching allocator held more than usual: sizes change from batch to batch",
    "缓存分配器持有的比通常多：各批次尺寸不同",
);
/// Why an estimate misses.
pub const LOADING: Text = Text::new(
    "the highest moment is before training, while the model is loaded or converted",
    "最高点出现在训练之前：加载或转换模型时",
);
