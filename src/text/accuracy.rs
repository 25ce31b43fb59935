//! Words of the comparison with measured runs.

use super::Text;

/// Heading on the page.
pub const TITLE: Text = Text::new("How right is it?", "估得准吗？");
/// What the numbers are.
pub const INTRODUCTION: Text = Text::new(
    "Runs that other people measured on real GPUs and published, against what is estimated for the same settings. \
     Nothing is fitted to them. Near: as close as the source, with what it leaves open, lets anyone come.",
    "他人在真实 GPU 上测得并公开的运行，与相同设置下的估算对比。程序没有针对它们做任何拟合。“接近”指误差不超过来源未交代之处所允许的范围。",
);
/// Heading of the single cases.
pub const WORST: Text = Text::new("Case by case, the worst first", "逐例列出，误差最大者在前");
/// The table is being fetched.
pub const WAITING: Text = Text::new("Fetching the table…", "正在获取表格……");
/// It could not be.
pub const FAILED: Text = Text::new(
    "The table can't be fetched; open this again to try once more",
    "表格获取失败；重新展开可再试一次",
);
/// Button: shows every case.
pub const ALL: Text = Text::new("Show all {count}", "显示全部 {count} 例");
/// Columns of the groups.
pub const GROUP_COLUMNS: [Text; 7] = [
    Text::new("How it ran", "运行方式"),
    Text::new("Figure", "口径"),
    Text::new("Cases", "例数"),
    Text::new("Median error", "误差中位数"),
    Text::new("Median size of errors", "误差绝对值中位数"),
    Text::new("Nine of ten within", "九成以内"),
    Text::new("Near", "接近的比例"),
];
/// Columns of the cases.
pub const CASE_COLUMNS: [Text; 7] = [
    Text::new("Error", "误差"),
    Text::new("How it ran", "运行方式"),
    Text::new("Figure", "口径"),
    Text::new("Measured", "实测"),
    Text::new("Estimated", "估算"),
    Text::new("Why, where it was found", "原因（若已查明）"),
    Text::new("Source", "来源"),
];

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
