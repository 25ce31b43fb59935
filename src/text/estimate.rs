//! What an estimate replaced or assumed.

use super::Text;

/// Gradients narrower than the weights.
pub const GRAD_TOO_NARROW: Text = Text::new(
    "grad_dtype: {value} is narrower than the weights, which PyTorch does not allow; the weights' type was used",
    "grad_dtype：{value} 比权重更窄，PyTorch 不允许；已按权重的类型计算",
);
/// A target that no linear is named after.
pub const UNKNOWN_TARGET: Text = Text::new(
    "lora_targets: no linear layer is called “{value}”; accepted are all-linear, or names such as q_proj, v_proj, down_proj (short: q, v, down)",
    "lora_targets：没有名为“{value}”的线性层；可用 all-linear，或 q_proj、v_proj、down_proj 等名称（可简写为 q、v、down）",
);
/// flash attention in fp32.
pub const FLASH_NEEDS_16_BIT: Text = Text::new(
    "attention: flash attention has no fp32 kernel; the memory-efficient kernel was used",
    "attention：flash attention 没有 fp32 内核；已改用 memory-efficient 内核",
);
