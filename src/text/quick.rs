//! Sentences of the quick view: the article's four lines, what it warns of, and the three cases of 16-bit loading.

use super::Text;

// Around the four lines.

/// The article's one-line formula.
pub const FORMULA: Text = Text::new(
    "Total ≈ parameters × (1 + 1 + c) + activations; c = 2 for Adam, 1 for SGD with momentum, 0 for plain SGD.",
    "总量 ≈ 参数 × (1 + 1 + c) + 激活值；Adam 的 c = 2，带动量的 SGD 为 1，普通 SGD 为 0。",
);
/// People count the parameters only; `{share}` is a percentage.
pub const ONLY_PARAMETERS: Text = Text::new(
    "The parameters are only {share} of it: counting nothing else is the commonest mistake.",
    "参数只占其中的 {share}：只算参数是最常见的误区。",
);

// Under the line of the parameters.

/// Full precision or pure 16 bit.
pub const WEIGHTS: Text = Text::new(
    "Count × bytes of one: FP32 4, FP16 and BF16 2, INT8 1.",
    "参数量 × 单个字节数：FP32 为 4，FP16/BF16 为 2，INT8 为 1。",
);
/// Autocast does not shrink the weights.
pub const WEIGHTS_AUTOCAST: Text = Text::new(
    "Autocast computes in 16 bit; the weights themselves stay FP32.",
    "autocast 只是以 16 位计算，权重本身仍是 FP32。",
);
/// Mixed precision holds the weights twice.
pub const WEIGHTS_MASTER_COPY: Text = Text::new(
    "16-bit weights {weights} + FP32 master copy {copy}. The detailed view counts the copy as optimizer state, since the optimizer holds it.",
    "16 位权重 {weights} + FP32 主权重副本 {copy}。副本由优化器持有，精算中计入优化器状态。",
);
/// 8-bit base.
pub const WEIGHTS_INT8: Text =
    Text::new("The frozen base in INT8: 1 byte a weight.", "冻结的基座以 INT8 存储：每个权重 1 字节。");
/// 4-bit base.
pub const WEIGHTS_NF4: Text = Text::new(
    "The frozen base in NF4: half a byte a weight; its scales and the layers that stay 16-bit are in the detailed view.",
    "冻结的基座以 NF4 存储：每个权重半字节；缩放系数与仍为 16 位的层见精算。",
);
/// No parameter count.
pub const PARAMETERS_UNKNOWN: Text =
    Text::new("Not counted: give the number of parameters, e.g. 7B.", "未计入：请填写参数量，如 7B。");

// Under the line of the gradients.

/// As large as the parameters.
pub const GRADIENTS: Text =
    Text::new("One for each parameter, as large as it.", "每个参数对应一个梯度，与参数同样大小。");
/// Mixed precision.
pub const GRADIENTS_MIXED: Text = Text::new(
    "Mixed precision usually keeps them in FP32 for stability, so they do not shrink with the weights.",
    "混合精度为保证数值稳定，梯度通常仍用 FP32，不随权重变小。",
);
/// As `grad_dtype` says.
pub const GRADIENTS_CHOSEN: Text = Text::new(
    "In the precision chosen by grad_dtype; fewer bits cost some convergence.",
    "按 grad_dtype 指定的精度存储；位数越少，收敛越受影响。",
);
/// LOMO.
pub const GRADIENTS_LOMO: Text = Text::new(
    "LOMO uses up each gradient within backward: never more than one layer's at a time.",
    "LOMO 在反向过程中随用随弃，任何时刻最多只有一层的梯度。",
);
/// A frozen base.
pub const FROZEN: Text = Text::new(
    "None for a frozen base; those of the adapters are in the detailed view.",
    "基座冻结，无此项开销；适配器的部分见精算。",
);

// Under the line of the optimizer states.

/// Adam.
pub const STATES_ADAM: Text =
    Text::new("Adam keeps two moments of each parameter: × 2.", "Adam 为每个参数保存一阶与二阶矩：× 2。");
/// SGD with momentum.
pub const STATES_MOMENTUM: Text = Text::new(
    "SGD with momentum keeps one value for each parameter: × 1.",
    "带动量的 SGD 为每个参数保存一个动量：× 1。",
);
/// Plain SGD.
pub const STATES_NONE: Text = Text::new("Plain SGD keeps no state: × 0.", "普通 SGD 不保存状态：× 0。");
/// 8-bit Adam.
pub const STATES_8BIT: Text = Text::new(
    "Beyond the article: two moments of 1 byte, and two FP32 scales for every 256 values. Small tensors stay FP32.",
    "原文未涉及：两个 1 字节的矩，每 256 个值另有两个 FP32 缩放系数；小张量仍为 FP32。",
);
/// Lion.
pub const STATES_LION: Text = Text::new(
    "Beyond the article: Lion keeps one momentum for each parameter: × 1.",
    "原文未涉及：Lion 为每个参数保存一个动量：× 1。",
);
/// Muon.
pub const STATES_MUON: Text = Text::new(
    "Beyond the article: one momentum for matrices, × 1; embeddings, head and norms run under Adam, × 2, which only the detailed view counts.",
    "原文未涉及：矩阵只保存一个动量，× 1；词嵌入、输出头与归一化用 Adam，为 × 2，仅在精算中计入。",
);
/// Adam-mini.
pub const STATES_ADAM_MINI: Text = Text::new(
    "Beyond the article: one momentum for each parameter, × 1; the second moments, one for a whole block, are negligible.",
    "原文未涉及：每个参数一个动量，× 1；二阶矩按块共享，可忽略。",
);
/// Adafactor.
pub const STATES_ADAFACTOR: Text = Text::new(
    "Beyond the article: only row and column sums of each matrix, far below 1 % of the parameters, taken as 0.",
    "原文未涉及：只保存每个矩阵的行和与列和，远不到参数的 1%，按 0 计。",
);
/// GaLore, APOLLO.
pub const STATES_PROJECTED: Text = Text::new(
    "Beyond the article: Adam in a projected space. × 2 is the upper bound; the rank decides how much less.",
    "原文未涉及：在投影子空间中运行 Adam，× 2 是上限，实际取决于秩。",
);
/// LOMO.
pub const STATES_LOMO: Text =
    Text::new("Beyond the article: LOMO keeps no state: × 0.", "原文未涉及：LOMO 不保存状态：× 0。");

// Under the line of the activations.

/// By the formula.
pub const ACTIVATIONS: Text = Text::new(
    "Hidden size × sequence × batch × layers × bytes: one output a layer. Linear in batch and in sequence (512 → 2048 is × 4); where attention keeps its scores, quadratic in sequence.",
    "隐藏维度 × 序列长度 × 批大小 × 层数 × 字节数：每层一份输出。与批大小、序列长度成正比（512 → 2048 为 4 倍）；若注意力保留分数矩阵，则与序列长度的平方成正比。",
);
/// Typed in.
pub const ACTIVATIONS_TYPED: Text = Text::new("As typed in.", "按填写的值。");
/// Cannot be computed.
pub const ACTIVATIONS_UNKNOWN: Text = Text::new(
    "Not counted: give hidden_size and num_hidden_layers, or type the size in.",
    "未计入：请填写 hidden_size 与 num_hidden_layers，或直接填写大小。",
);

/// Any line that overflows.
pub const TOO_LARGE: Text = Text::new("More than 2⁶⁴ bytes.", "超过 2⁶⁴ 字节。");

// The three cases of 16-bit loading.

/// Heading of the three cases.
pub const CASES: Text =
    Text::new("“Loaded in FP16”: three things it can mean", "“以 FP16 加载”的三种实际情形");
/// Pure 16 bit.
pub const PURE: Text = Text::new("Pure 16-bit", "纯 16 位");
/// What pure 16 bit means.
pub const PURE_WHY: Text = Text::new(
    "Weights, gradients and states all have 16 bits. Smallest, but small updates are lost to rounding.",
    "权重、梯度、状态都是 16 位。占用最小，但微小的更新会被舍入吞掉。",
);
/// Autocast.
pub const AUTOCAST: Text = Text::new("Autocast over FP32 weights", "autocast，权重为 FP32");
/// What autocast means.
pub const AUTOCAST_WHY: Text = Text::new(
    "The framework keeps the weights in FP32 and casts them for each operation. Nothing is saved on weights, gradients or states.",
    "框架仍以 FP32 保存权重，每次运算时临时转成 16 位。权重、梯度、状态都不会变小。",
);
/// Master copy.
pub const MASTER: Text = Text::new("16-bit weights with an FP32 master copy", "16 位权重 + FP32 主权重副本");
/// What a master copy means.
pub const MASTER_WHY: Text = Text::new(
    "The model holds 16-bit weights, and the optimizer silently holds them once more in FP32: together more than FP32 alone.",
    "模型持有 16 位权重，优化器又默默保留一份 FP32 副本，合计比纯 FP32 还多。",
);
