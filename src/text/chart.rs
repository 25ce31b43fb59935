//! Words in and about the figures.

use super::Text;

/// A card and its memory.
pub const CARD: Text = Text::new("{gpu}: {size}", "{gpu}：{size}");
/// A capacity without a card.
pub const CAPACITY: Text = Text::new("GPU: {size}", "显存容量：{size}");
/// Everything that is not a tensor, in the legend: rounding, fragmentation, workspaces, context, NCCL.
pub const OUTSIDE: Text = Text::new("Outside the tensors", "张量之外");

// The bar.

/// Name of the figure.
pub const BAR: Text = Text::new("Who eats the memory", "显存被谁占用");
/// How much the device holds at the peak, expected and within which range.
pub const PEAK_RANGE: Text = Text::new("Peak {size} ({low} – {high})", "峰值 {size}（{low} – {high}）");
/// When the peak is, and how much the device then holds.
pub const PEAK_AT: Text = Text::new("Peak {size}, {moment}", "峰值 {size}，{moment}");
/// The figure in words.
pub const BAR_LABEL: Text = Text::new(
    "Stacked bar of one GPU's memory at its worst moment, {moment}: {blocks}. With what lies outside the tensors {expected} ({low} to {high}). {card}.",
    "单卡显存在峰值时刻（{moment}）的堆叠条形图：{blocks}。计入张量之外的部分，共 {expected}（{low} 至 {high}）。{card}。",
);
/// A block in the words of a figure.
pub const BLOCK: Text = Text::new("{block} {size} ({share})", "{block} {size}（{share}）");
/// Between blocks.
pub const COMMA: Text = Text::new(", ", "，");

// The stages of a pipeline.

/// Name of the figure.
pub const STAGES: Text = Text::new("By pipeline stage", "各流水段的显存");
/// The fullest stage, how much its device holds at the peak, and within which range.
pub const FULLEST: Text = Text::new(
    "Fullest: stage {stage}, {size} ({low} – {high})",
    "最满：第 {stage} 段，{size}（{low} – {high}）",
);
/// Which stages have a bar, where there are too many.
pub const STAGES_SHOWN: Text = Text::new("{shown} of {all} stages", "{all} 段中的 {shown} 段");
/// A stage and what its device holds.
pub const STAGE: Text = Text::new("Stage {stage}: {size}", "第 {stage} 段：{size}");
/// What a stage of one chunk runs.
pub const IN_FLIGHT: Text =
    Text::new("{layers} layers · {flight} micro-batches in flight", "{layers} 层 · 在途微批 {flight}");
/// The same where there is little room.
pub const IN_FLIGHT_SHORT: Text =
    Text::new("{layers} layers · {flight} in flight", "{layers} 层 · 在途微批 {flight}");
/// What a stage of several chunks runs: each pass takes one micro-batch through one chunk.
pub const PASSES_IN_FLIGHT: Text = Text::new(
    "{layers} layers in {chunks} chunks · {flight} passes in flight",
    "{layers} 层分 {chunks} 块 · 在途 {flight} 次",
);
/// The same where there is little room.
pub const PASSES_IN_FLIGHT_SHORT: Text =
    Text::new("{layers} layers / {chunks} · {flight} passes", "{layers} 层 / {chunks} · 在途 {flight} 次");
/// The figure in words.
pub const STAGES_LABEL: Text = Text::new(
    "Stacked bars of one GPU's memory in each of {all} pipeline stages, each at its own worst moment. {stages} {fullest}. {card}.",
    "{all} 个流水段各一条堆叠条形图，表示单卡在各自峰值时刻的显存。{stages}{fullest}。{card}。",
);
/// A stage in the words of the figure.
pub const STAGE_WORDS: Text = Text::new("{stage} ({runs}): {blocks}.", "{stage}（{runs}）：{blocks}。");
/// Without a pipeline there is nothing to compare.
pub const ONE_STAGE: Text = Text::new(
    "There is one stage (pp = 1): no GPU holds other layers than the next.",
    "只有一段（pp = 1）：没有流水线并行，每张卡都有全部的层。",
);
/// And how to get one.
pub const MORE_STAGES: Text =
    Text::new("Set pp to 2 or more to compare them.", "把 pp 设为 2 或更大即可比较各段。");

// The timeline.

/// Name of the figure.
pub const TIMELINE: Text = Text::new("Over one training step", "一个训练步内的显存");
/// The figure in words.
pub const TIMELINE_LABEL: Text = Text::new(
    "Stacked areas of the live tensors over one training step. They rise from {start} to the peak of {peak} ({moment}) and end at {end}. {card}.",
    "一个训练步内存活张量的堆叠面积图：从 {start} 升至峰值 {peak}（{moment}），结束时为 {end}。{card}。",
);
/// Phases on the axis.
pub const FORWARD: Text = Text::new("forward", "前向");
/// Phases on the axis.
pub const LOSS: Text = Text::new("loss", "损失");
/// Phases on the axis.
pub const BACKWARD: Text = Text::new("backward", "反向");
/// Phases on the axis.
pub const OPTIMIZER: Text = Text::new("optimizer", "优化器");
/// Phases on the axis.
pub const BETWEEN: Text = Text::new("between", "步间");

// The sweep.

/// Name of the figure; `{key}` is what varies.
pub const SWEEP: Text = Text::new("What if: memory over {key}", "假如改变{key}：显存变化");
/// The largest value that fits for sure.
pub const LARGEST: Text = Text::new("largest that fits: {value}", "放得下的最大值：{value}");
/// The largest that fits as expected, where it is another.
pub const LARGEST_TIGHT: Text =
    Text::new("largest that fits: {value} (tight: {tight})", "放得下的最大值：{value}（勉强：{tight}）");
/// Only a tight fit.
pub const ONLY_TIGHT: Text = Text::new("tight at most: {tight}", "最多勉强放下：{tight}");
/// Nothing fits.
pub const NONE_FITS: Text = Text::new("does not fit even at {value}", "即使取 {value} 也放不下");
/// The smallest value that fits for sure, where memory shrinks as the value grows.
pub const FITS_FROM: Text = Text::new("fits from {value} on", "从 {value} 起放得下");
/// Only a tight fit.
pub const TIGHT_FROM: Text = Text::new("tight from {value} on", "从 {value} 起勉强放下");
/// It always fits.
pub const ALWAYS_FITS: Text = Text::new("fits at any value", "任意取值都放得下");
/// The value in use.
pub const NOW: Text = Text::new("now {value}: {size}", "当前 {value}：{size}");
/// What varies.
pub const BATCH: Text = Text::new("micro-batch", "微批大小");
/// What varies.
pub const SEQ: Text = Text::new("sequence length", "序列长度");
/// What varies.
pub const LORA_RANK: Text = Text::new("LoRA rank", "LoRA 秩");
/// The figure in words.
pub const SWEEP_LABEL: Text = Text::new(
    "Line of one GPU's expected memory over the {key}: {points}. {card}; {fits}.",
    "单卡预计显存随{key}变化的折线图：{points}。{card}；{fits}。",
);
/// A point in the words of the figure.
pub const POINT: Text = Text::new("{size} at {value}", "{value} 时 {size}");
