//! Sentences of the doctor: what to change, what it costs, why it saves nothing.

use super::Text;
use crate::doctor::Price;

/// What a remedy does, and its price.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// What to do.
    pub name: Text,
    /// Its price.
    pub cost: Text,
}

macro_rules! words {
    ($($name:ident: $en:literal, $zh:literal; $cost_en:literal, $cost_zh:literal.)+) => { $(
        #[doc = concat!("“", $en, "”")]
        pub const $name: Words = Words { name: Text::new($en, $zh), cost: Text::new($cost_en, $cost_zh) };
    )+ };
}

words! {
    FLASH:
        "Use flash attention", "改用 flash attention";
        "Exact, and faster; needs 16-bit compute and a supported card", "结果不变且更快；需要 16 位计算和受支持的显卡".
    SDPA:
        "Let PyTorch choose the attention kernel (sdpa)", "让 PyTorch 选择注意力内核（sdpa）";
        "Exact, and faster than held scores", "结果不变，比保存注意力分数更快".
    FUSED_LOSS:
        "Fuse head and loss (Liger, cut cross-entropy)", "融合输出层与损失（Liger、cut cross-entropy）";
        "The same result, no slower; needs the kernel's package", "结果不变，速度不减；需安装相应内核包".
    CHUNKED_LOSS:
        "Compute the loss in chunks", "分块计算损失";
        "The same result; a few more kernels to launch", "结果不变；多启动几个内核".
    FUSED_OPTIMIZER:
        "Use the fused optimizer", "使用 fused 优化器";
        "The same result, and faster", "结果不变且更快".
    FOR_LOOP_OPTIMIZER:
        "Step tensor by tensor (for-loop)", "逐个张量更新（for-loop）";
        "The same result; a slower optimizer step", "结果不变；优化器更新变慢".
    FORGET_LOGITS:
        "Do not keep the logits after the loss", "损失之后不再保留 logits";
        "Nothing, unless metrics read them", "无代价，除非指标要用到它们".
    BUCKET_VIEWS:
        "Let gradients be views of DDP's buckets", "让梯度成为 DDP 桶的视图";
        "Nothing, unless gradients are detached in place", "无代价，除非对梯度做原地 detach".
    EXPANDABLE:
        "Turn on expandable segments", "启用 expandable_segments";
        "Nothing: less fragmentation", "无代价：减少碎片".
    FUSED_CROSS_ENTROPY:
        "Fuse the cross entropy", "融合交叉熵";
        "The same result, no slower", "结果不变，速度不减".
    DISTRIBUTED_INPUTS:
        "Spread kept layer inputs over the tensor-parallel ranks", "把保存的层输入分摊到张量并行各卡";
        "One more all-gather a layer in backward", "反向时每层多一次 all-gather".
    SEQUENCE_PARALLEL:
        "Add sequence parallelism", "启用序列并行";
        "As much communication as before", "通信量不变".
    SMALLER_BATCH:
        "Split the micro-batch by {value}, accumulate as many times", "微批大小除以 {value}，并相应增加梯度累积";
        "The same sequences a step; smaller matrix products are less efficient", "每步样本不变；矩阵变小，效率略降".
    SELECTIVE:
        "Recompute selectively", "选择性重计算";
        "A few percent more time", "时间增加百分之几".
    RECOMPUTE_SOME:
        "Recompute the first {value} % of the layers", "重计算前 {value}% 的层";
        "One more forward of these layers", "这些层多做一次前向".
    FULL_RECOMPUTE:
        "Recompute every layer", "全部重计算";
        "One more forward of every layer", "所有层多做一次前向".
    IN_BACKWARD:
        "Step within backward", "在反向中更新参数";
        "No accumulation, and no clipping by the norm of all gradients", "不能梯度累积，也不能按全局梯度范数裁剪".
    ZERO1:
        "Shard the optimizer states (ZeRO-1)", "切分优化器状态（ZeRO-1）";
        "As much communication as data parallelism", "通信量与数据并行相同".
    ZERO2:
        "Shard states and gradients (ZeRO-2)", "切分优化器状态与梯度（ZeRO-2）";
        "As much communication as data parallelism", "通信量与数据并行相同".
    ZERO3:
        "Shard states, gradients and parameters (ZeRO-3)", "切分优化器状态、梯度与参数（ZeRO-3）";
        "1.5 times the communication of data parallelism", "通信量为数据并行的 1.5 倍".
    FSDP:
        "Shard everything (FSDP)", "全部切分（FSDP）";
        "1.5 times the communication of data parallelism", "通信量为数据并行的 1.5 倍".
    FSDP_GRAD_OP:
        "Shard gradients and states (FSDP, gather once)", "切分梯度与优化器状态（FSDP，只聚合一次）";
        "As much communication as data parallelism", "通信量与数据并行相同".
    RESHARD:
        "Free gathered parameters after forward", "前向之后释放聚合的参数";
        "One more all-gather a layer", "每层多一次 all-gather".
    TENSOR_PARALLEL:
        "Split every layer over {value} times as many GPUs (tensor and sequence parallelism)", "把每层再切到 {value} 倍的卡上（张量并行 + 序列并行）";
        "Communication within every layer: only within a node", "每层内部都要通信，只宜在节点内使用".
    PIPELINE:
        "Split the layers into {value} times as many pipeline stages", "流水线阶段数乘以 {value}";
        "Idle time at both ends of a step, less with more micro-batches", "每步首尾有空泡，微批越多占比越小".
    CONTEXT_PARALLEL:
        "Split every sequence over {value} times as many GPUs (context parallelism)", "把每条序列再切到 {value} 倍的卡上（上下文并行）";
        "Keys and values are exchanged in every layer", "每层都要交换 K、V".
    EXPERT_PARALLEL:
        "Spread the experts over {value} times as many GPUs", "把专家再分散到 {value} 倍的卡上";
        "Tokens are exchanged twice a layer", "每层 token 交换两次".
    OFFLOAD_OPTIMIZER:
        "Keep the optimizer states in host memory", "把优化器状态放到主机内存";
        "The step waits for the link to the host, or for the CPU", "更新受主机链路或 CPU 速度限制".
    OFFLOAD_PARAMETERS:
        "Keep states and parameters in host memory", "把优化器状态与参数放到主机内存";
        "Every layer waits for the link to the host", "每层都受主机链路速度限制".
    OFFLOAD_ACTIVATIONS:
        "Keep saved activations in host memory", "把保存的激活值放到主机内存";
        "Layers may wait for the link to the host", "各层可能要等待主机链路".
    NARROW_GRADIENTS:
        "Keep 16-bit gradients", "梯度用 16 位";
        "Sums over micro-batches and ranks are rounded", "跨微批、跨卡求和时有舍入".
    AUTOCAST:
        "Compute in 16 bits (autocast)", "用 16 位计算（autocast）";
        "Faster; matrix products are rounded", "更快；矩阵乘法有舍入".
    MIXED:
        "Hold 16-bit weights with an fp32 master copy", "权重用 16 位，另存 fp32 主权重";
        "Gradients are rounded to 16 bits", "梯度舍入到 16 位".
    FP8:
        "Multiply matrices in fp8", "矩阵乘法用 fp8";
        "Faster on cards that have it; rounded", "在支持的卡上更快；有舍入".
    ADAM_8BIT:
        "Use 8-bit Adam", "改用 8 位 Adam";
        "States are rounded block by block; published runs train alike", "状态按块舍入；已发表的实验效果相当".
    BF16_ADAPTERS:
        "Keep the adapters in 16 bits", "适配器用 16 位";
        "Small updates may be rounded away", "较小的更新可能被舍入掉".
    PURE_BF16:
        "Train in pure bf16, without a master copy", "纯 bf16 训练，不留主权重";
        "Small updates are rounded away, unless rounded stochastically", "较小的更新会被舍入掉，除非用随机舍入".
    ADAFACTOR:
        "Use Adafactor", "改用 Adafactor";
        "Another optimizer: tune the learning rate again", "换了优化器：需重调学习率".
    ADAM_MINI:
        "Use Adam-mini", "改用 Adam-mini";
        "Another optimizer: one learning rate a block", "换了优化器：每块共用一个学习率".
    LION:
        "Use Lion", "改用 Lion";
        "Another optimizer: tune learning rate and weight decay again", "换了优化器：需重调学习率与权重衰减".
    MUON:
        "Use Muon", "改用 Muon";
        "Another optimizer: tune again; a few more matrix products a step", "换了优化器：需重新调参；每步多若干矩阵乘法".
    GALORE:
        "Use GaLore", "改用 GaLore";
        "Another optimizer: projections are computed again every few hundred steps", "换了优化器：每隔几百步重算投影".
    APOLLO:
        "Use APOLLO", "改用 APOLLO";
        "Another optimizer: tune again", "换了优化器：需重新调参".
    SGD:
        "Use plain SGD", "改用纯 SGD";
        "Trains transformers worse than Adam", "训练 Transformer 效果不如 Adam".
    SHORTER:
        "Shorten the sequences by {value}", "序列长度除以 {value}";
        "Less context is learned from", "可学习的上下文变短".
    LOWER_RANK:
        "Lower the rank by {value}", "LoRA 秩除以 {value}";
        "Adapters can express less", "适配器表达力下降".
    FEWER_TARGETS:
        "Adapt only q and v", "只适配 q 和 v";
        "Fewer layers learn", "可学习的层变少".
    LORA:
        "Train LoRA adapters", "改训 LoRA 适配器";
        "Only low-rank updates are learned", "只学习低秩更新".
    QLORA:
        "Train adapters over 4-bit weights (QLoRA)", "在 4 位权重上训练适配器（QLoRA）";
        "Only low-rank updates, over rounded weights; dequantising takes time", "只学习低秩更新，且基座有舍入；反量化耗时".
    DOUBLE_QUANTIZATION:
        "Quantise the block statistics too", "连同块统计量一起量化";
        "A little more rounding", "舍入略增".
}

/// A price in a word or two.
pub const fn price(price: Price) -> Text {
    match price {
        Price::Free => Text::new("free", "无代价"),
        Price::Little => Text::new("a little slower", "略慢"),
        Price::Time => Text::new("slower", "更慢"),
        Price::Links => Text::new("communication", "通信"),
        Price::Host => Text::new("host link", "主机链路"),
        Price::Rounding => Text::new("rounding", "舍入"),
        Price::Recipe => Text::new("another recipe", "改变训练配方"),
        Price::Method => Text::new("another method", "改变训练方法"),
    }
}

/// More time, in percent.
pub const SLOWDOWN: Text = Text::new("{low}–{high} % more time", "时间增加 {low}–{high}%");
/// Between two changes.
pub const AND: Text = Text::new(" + ", " + ");
/// Between price and time.
pub const SEMICOLON: Text = Text::new("; ", "；");

// Why a change saves nothing.

/// No row of the ledger differs.
pub const UNCHANGED: Text =
    Text::new("no tensor of this run becomes smaller", "本次训练中没有任何张量因此变小");
/// What shrinks is not alive then.
pub const NOT_AT_PEAK: Text = Text::new(
    "it shrinks {row} by {size}, but that is not held at the worst moment ({moment})",
    "{row} 虽减少 {size}，但峰值时刻（{moment}）并不持有它",
);
/// What shrinks makes room for what grows.
pub const OUTWEIGHED: Text = Text::new(
    "it frees {freed} at the worst moment (most of it {row}), but adds {grown} ({other})",
    "峰值时刻释放 {freed}（主要是 {row}），却新增 {grown}（{other}）",
);
/// Another moment takes over.
pub const ELSEWHERE: Text =
    Text::new("the worst moment becomes the {moment}, which needs as much", "峰值时刻变为{moment}，占用不减");
/// It grows.
pub const ONLY_GROWS: Text =
    Text::new("it adds {grown} at the worst moment ({other})", "峰值时刻反而新增 {grown}（{other}）");

// The panel.

/// Its heading.
pub const TITLE: Text = Text::new("What to change", "该改什么");
/// Nothing is found yet.
pub const ASKING: Text = Text::new("Trying every change …", "正在逐项试算……");
/// Makes a change.
pub const APPLY: Text = Text::new("Apply", "应用");
/// The same for those who hear the button alone.
pub const APPLY_THIS: Text = Text::new("Apply: {name}", "应用：{name}");
/// What was done.
pub const APPLIED: Text = Text::new("Applied: {name}", "已应用：{name}");
/// Takes it back.
pub const UNDO: Text = Text::new("Undo", "撤销");
/// Unfolds the rest.
pub const MORE: Text = Text::new("{count} more changes", "另外 {count} 项改动");
/// Whether it fits then, and what is left over.
pub const THEN_SPARE: Text = Text::new("{then}, {spare} to spare", "{then}，余量 {spare}");
/// That it does not, and what is missing then.
pub const THEN_MISSING: Text = Text::new("{then}, {missing} missing", "{then}，还差 {missing}");
/// Heading of the buttons that set the largest value.
pub const LARGEST_VALUES: Text = Text::new("As large as fits", "放得下的最大值");
/// Heading of the comparison.
pub const COMPARE_HEADING: Text = Text::new("Compare with another configuration", "与另一配置比较");
/// Label of its field.
pub const COMPARE_WITH: Text = Text::new("A share link, or keys as in one", "分享链接，或其中的配置项");
/// Compares.
pub const COMPARE: Text = Text::new("Compare", "比较");
/// Column: the page's configuration.
pub const THIS: Text = Text::new("This", "当前");
/// Column: the other.
pub const OTHER: Text = Text::new("Other", "另一个");

// Headings and lines of the printed answer.

/// Heading of the single changes.
pub const SINGLES: Text = Text::new("One change, by what it saves at the peak", "单项改动，按峰值节省排序");
/// Heading of the pairs.
pub const PAIRS: Text = Text::new("The best pairs", "最佳组合");
/// Heading of the cheapest set.
pub const CHEAPEST: Text = Text::new("The cheapest that fits", "代价最小的可行方案");
/// The configuration fits.
pub const FITS_NOW: Text = Text::new("It fits as it is.", "当前配置已放得下。");
/// No set of changes fits.
pub const NOTHING_FITS: Text = Text::new(
    "No set of up to {most} changes of this configuration makes it fit.",
    "对当前配置做至多 {most} 项改动，仍放不下。",
);
/// Heading of what saves nothing.
pub const USELESS: Text = Text::new("Saves nothing here", "在此处不省显存");
/// Heading of the fewest GPUs.
pub const FEWEST: Text = Text::new("Fewest GPUs that hold it", "所需最少显卡");
/// Column: what is saved.
pub const SAVES: Text = Text::new("Saves", "节省");
/// Column: what is left over then.
pub const SPARE: Text = Text::new("To spare", "余量");
/// Column: whether it fits then.
pub const THEN: Text = Text::new("Then", "结果");
/// A card, and another one that is as good.
pub const AND_ONE_AS_LARGE: Text = Text::new("{card} and 1 other as large", "{card} 及另外 1 种不小于它的卡");
/// A card, and how many others are as good.
pub const AND_LARGER: Text =
    Text::new("{card} and {count} others as large", "{card} 及另外 {count} 种不小于它的卡");
/// Column: what to do.
pub const CHANGE: Text = Text::new("Change", "改动");
/// Column: as keys.
pub const KEYS: Text = Text::new("Keys", "配置");
/// Column: its price.
pub const PRICE: Text = Text::new("Price", "代价");
/// Column: why.
pub const WHY: Text = Text::new("Why", "原因");
/// Column: a card.
pub const GPU: Text = Text::new("GPU", "显卡");
/// Column: how many.
pub const COUNT: Text = Text::new("Count", "数量");
/// A layout without keys that differ.
pub const AS_IT_IS: Text = Text::new("as it is", "不变");
/// Column: how they share the work.
pub const LAYOUT: Text = Text::new("Layout", "并行方式");
/// A value that stays at its default.
pub const DEFAULT: Text = Text::new("default", "默认");

// The largest values.

/// The largest value of a key.
pub const LARGEST: Text = Text::new("largest {key} that fits: {value}", "放得下的最大{key}：{value}");
/// Where it should fit, but may not.
pub const LARGEST_TIGHT: Text = Text::new("tight up to {value}", "勉强可到 {value}");
/// Any value fits.
pub const ANY: Text = Text::new("any", "任意");
/// None does.
pub const NONE: Text = Text::new("none", "无");

// Two configurations.

/// Heading of the keys that differ.
pub const DIFFERS: Text = Text::new("Keys that differ", "不同的配置");
/// Heading of the rows that differ.
pub const ROWS: Text = Text::new("At the peak, by tensor", "峰值时刻，逐个张量");
/// Column: the first.
pub const BEFORE: Text = Text::new("Before", "之前");
/// Column: the second.
pub const AFTER: Text = Text::new("After", "之后");
/// Column: the difference.
pub const DIFFERENCE: Text = Text::new("Difference", "差值");
/// Row: those that are not shown one by one.
pub const MORE_ROWS: Text = Text::new("{count} more rows", "另有 {count} 行");
/// Row: all of them.
pub const PEAK: Text = Text::new("the peak", "峰值");
