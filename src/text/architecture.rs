//! What is wrong with a model's description.

use super::Text;

/// No preset of that name.
pub const UNKNOWN_MODEL: Text = Text::new(
    "model: “{value}” is not a shipped model; choose one from the list, or give the fields of its config.json",
    "model：没有名为“{value}”的内置模型；请从列表中选择，或给出其 config.json 的字段",
);
/// No preset of that name, but some that look like it.
pub const UNKNOWN_MODEL_NEAR: Text = Text::new(
    "model: “{value}” is not a shipped model (the nearest that are: {nearest}); choose one from the list, or give the fields of its config.json",
    "model：没有名为“{value}”的内置模型（最接近的：{nearest}）；请从列表中选择，或给出其 config.json 的字段",
);
/// A type that is not supported.
pub const UNSUPPORTED_TYPE: Text = Text::new(
    "model_type: “{value}” is not supported (the nearest types that are: {nearest}); its parameters can still be estimated in the quick view",
    "model_type：尚不支持“{value}”（最接近的已支持类型：{nearest}）；仍可在速算中按参数量估算",
);
/// Of a type only the weights are known.
pub const COUNTED_ONLY: Text = Text::new(
    "model_type: the activations of “{value}” are not modelled yet; only weights, gradients and optimizer states are counted",
    "model_type：尚未建模“{value}”的激活值；仅计入权重、梯度和优化器状态",
);
/// A fused attention that the model's code does not offer.
pub const EAGER_ALONE: Text = Text::new(
    "{key}: transformers has no {value} for this model and runs eager attention, which is what is counted",
    "{key}：transformers 对此模型不提供 {value}，实际运行 eager 注意力，结果按 eager 计算",
);
/// A list that is no list of sizes.
pub const NOT_SIZES: Text = Text::new(
    "{key}: “{value}” is not a list of sizes; whole numbers from 1 to 16777216 are expected",
    "{key}：“{value}”不是大小列表；应为 1 到 16777216 的整数",
);
/// A factor that is no positive number.
pub const NOT_A_FACTOR: Text = Text::new(
    "{key}: “{value}” is not a factor; a number from 0.001 to 1000 is expected",
    "{key}：“{value}”不是有效倍数；应为 0.001 到 1000 的数",
);
/// A size that is not a whole number in range.
pub const NOT_A_SIZE: Text = Text::new(
    "{key}: “{value}” is not a size; a whole number from 1 to 16777216 is expected",
    "{key}：“{value}”不是有效大小；应为 1 到 16777216 的整数",
);
/// A field without which there is no model.
pub const MISSING: Text =
    Text::new("{key} is missing: a model needs it (a whole number)", "缺少 {key}：模型必须有该字段（整数）");
/// A flag that is neither true nor false.
pub const NOT_A_FLAG: Text =
    Text::new("{key}: “{value}” is neither true nor false", "{key}：“{value}”既不是 true 也不是 false");
/// A probability outside [0, 1).
pub const NOT_A_PROBABILITY: Text = Text::new(
    "{key}: “{value}” is not a probability; a number from 0 to below 1 is expected",
    "{key}：“{value}”不是概率；应为 0 到 1（不含 1）的数",
);
/// More layers than can be meant.
pub const TOO_MANY_LAYERS: Text = Text::new(
    "num_hidden_layers: {value} is more than the 10000 that are accepted",
    "num_hidden_layers：{value} 超过上限 10000",
);
/// Query heads are no multiple of key/value heads.
pub const HEADS_DO_NOT_DIVIDE: Text = Text::new(
    "num_key_value_heads: {value} does not divide num_attention_heads",
    "num_key_value_heads：{value} 不能整除 num_attention_heads",
);
/// Hidden size is no multiple of heads, and there is no `head_dim`.
pub const HIDDEN_DOES_NOT_DIVIDE: Text = Text::new(
    "num_attention_heads: {value} does not divide hidden_size, and head_dim is not given",
    "num_attention_heads：{value} 不能整除 hidden_size，且未给出 head_dim",
);
