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
/// A module to save that is of no known kind.
pub const UNCOUNTED_COPY: Text = Text::new(
    "modules_to_save: “{value}” is not counted; counted are the embedding (embed_tokens, wte, …), the head (lm_head, score, …) and norm (every norm)",
    "modules_to_save：未计入“{value}”；可计入的有词嵌入（embed_tokens、wte 等）、输出头（lm_head、score 等）和 norm（所有归一化层）",
);
/// flash attention in fp32.
pub const FLASH_NEEDS_16_BIT: Text = Text::new(
    "attention: flash attention has no fp32 kernel; the memory-efficient kernel was used",
    "attention：flash attention 没有 fp32 内核；已改用 memory-efficient 内核",
);
/// A module that Megatron cannot recompute alone.
pub const UNKNOWN_MODULE: Text = Text::new(
    "recompute_modules: “{value}” is no module that can be recomputed alone; accepted are core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts",
    "recompute_modules：“{value}”不是可单独重计算的模块；可用 core_attn、moe_act、layernorm、mla_up_proj、mlp、moe、shared_experts",
);
/// Selective recomputation without a policy.
pub const SELECTIVE_OF_MEGATRON: Text = Text::new(
    "recompute: what {value} keeps is Megatron-core's policy (stack=megatron-core); nothing is recomputed here",
    "recompute：{value} 保留哪些张量是 Megatron-core 的策略（stack=megatron-core）；此处未重计算",
);
/// A model or method that Megatron-core has no modules for.
pub const NOT_BY_MEGATRON: Text = Text::new(
    "stack: {value} is modelled for full training of GPT-like decoders; this run was computed with transformers' kernels",
    "stack：{value} 目前只针对类 GPT 解码器的全参数训练建模；本次按 transformers 的算子计算",
);
/// Sharding whose buffers are larger than what it takes away.
pub const SHARDING_RAISES: Text = Text::new(
    "{key}={value} raises memory here: its buffers and gathered tensors hold {made} at the peak, and sharding takes only {saved} away",
    "{key}={value} 在此处反而增加显存：峰值时其缓冲区与聚合张量占 {made}，而切分只省下 {saved}",
);
