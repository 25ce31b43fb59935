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
