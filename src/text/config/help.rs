//! A label and a line of help for every key.

use crate::config::Key;
use crate::text::Text;

/// Label of a key's field.
pub const fn label(key: Key) -> Text {
    words(key).0
}

/// One line on what a key means.
pub const fn help(key: Key) -> Text {
    words(key).1
}

/// Label and help of a field of `config.json` that the form shows; the others are known by their name alone.
pub fn field(name: &str) -> Option<(Text, Text)> {
    Some(match name {
        "model_type" => (
            Text::new("Model type", "模型类型"),
            Text::new(
                "The family whose rules apply, as in config.json",
                "决定采用哪个系列的结构，同 config.json",
            ),
        ),
        "hidden_size" => {
            (Text::new("Hidden size", "隐藏维度"), Text::new("Width of the residual stream", "残差流的宽度"))
        }
        "num_hidden_layers" => {
            (Text::new("Layers", "层数"), Text::new("Number of transformer layers", "Transformer 层的数量"))
        }
        "num_attention_heads" => (
            Text::new("Attention heads", "注意力头数"),
            Text::new("Query heads of one layer", "每层的查询头数"),
        ),
        "num_key_value_heads" => (
            Text::new("Key/value heads", "KV 头数"),
            Text::new(
                "Fewer than the attention heads: grouped-query attention",
                "少于注意力头数即为分组查询注意力（GQA）",
            ),
        ),
        "head_dim" => (
            Text::new("Head dimension", "头维度"),
            Text::new("Hidden size ÷ heads where not given", "未给出时为隐藏维度 ÷ 头数"),
        ),
        "intermediate_size" => (
            Text::new("Feed-forward size", "前馈层维度"),
            Text::new("Inner width of the MLP", "MLP 的中间宽度"),
        ),
        "vocab_size" => (
            Text::new("Vocabulary", "词表大小"),
            Text::new("Rows of the embedding and of the output head", "词嵌入与输出头的行数"),
        ),
        "tie_word_embeddings" => (
            Text::new("Tied embeddings", "共享词嵌入"),
            Text::new("Embedding and output head are one tensor", "词嵌入与输出头共用一个张量"),
        ),
        "hidden_act" => (
            Text::new("Activation function", "激活函数"),
            Text::new("Function inside the MLP", "MLP 内的激活函数"),
        ),
        _ => return None,
    })
}

#[expect(clippy::too_many_lines, reason = "a table")]
const fn words(key: Key) -> (Text, Text) {
    match key {
        Key::Model => (
            Text::new("Model", "模型"),
            Text::new(
                "A shipped architecture; fields given beside it override it",
                "内置模型结构；旁边给出的字段会覆盖它",
            ),
        ),
        Key::Params => (
            Text::new("Parameters", "参数量"),
            Text::new(
                "For the quick view: 7B, 13e9, 350M (k = 1000)",
                "用于速算：7B、13e9、350M（k = 1000）",
            ),
        ),
        Key::Architecture => (
            Text::new("config.json", "config.json"),
            Text::new("The model's own config.json, pasted whole", "粘贴模型的完整 config.json"),
        ),
        Key::Method => {
            (Text::new("Method", "训练方式"), Text::new("Which weights receive gradients", "哪些权重有梯度"))
        }
        Key::LoraRank => (
            Text::new("LoRA rank", "LoRA 秩"),
            Text::new(
                "Each target gains rank × (inputs + outputs) weights",
                "每个目标层增加 秩 ×（输入 + 输出）个权重",
            ),
        ),
        Key::LoraTargets => (
            Text::new("LoRA targets", "LoRA 目标层"),
            Text::new("all-linear, q,v, or module names with commas", "all-linear、q,v 或以逗号分隔的模块名"),
        ),
        Key::LoraDtype => (
            Text::new("Adapter dtype", "适配器精度"),
            Text::new(
                "fp32 adapters keep an fp32 copy of each target's input",
                "fp32 适配器会为每个目标层多存一份 fp32 输入",
            ),
        ),
        Key::Quantization => (
            Text::new("Quantisation", "量化"),
            Text::new("Storage of the frozen weights under QLoRA", "QLoRA 下冻结权重的存储格式"),
        ),
        Key::Precision => (
            Text::new("Precision", "精度"),
            Text::new(
                "Weights, compute, and whether an fp32 copy is kept",
                "权重与计算的精度，以及是否另存 fp32 副本",
            ),
        ),
        Key::GradDtype => (
            Text::new("Gradient dtype", "梯度精度"),
            Text::new("Element type of the gradients", "梯度的数据类型"),
        ),
        Key::Optimizer => (
            Text::new("Optimizer", "优化器"),
            Text::new(
                "Decides the states of each trained weight. Meant are AdamW, SGD, Muon of torch; 8-bit of bitsandbytes; \
                 Adafactor of transformers; Lion, GaLore, APOLLO (rank 128) of pytorch_optimizer",
                "决定每个被训练权重的状态量。AdamW、SGD、Muon 指 torch 的实现，8 位指 bitsandbytes，Adafactor 指 \
                 transformers，Lion、GaLore、APOLLO（秩 128）指 pytorch_optimizer",
            ),
        ),
        Key::OptimizerImpl => (
            Text::new("Optimizer implementation", "优化器实现"),
            Text::new("Decides the temporary tensors of the step", "决定更新时的临时张量"),
        ),
        Key::Batch => (
            Text::new("Micro-batch", "微批次"),
            Text::new(
                "Sequences of one forward pass on one data-parallel rank",
                "单个数据并行进程一次前向的序列数",
            ),
        ),
        Key::Seq => (
            Text::new("Sequence length", "序列长度"),
            Text::new("Tokens per sequence (8k = 8192)", "每条序列的 token 数（8k = 8192）"),
        ),
        Key::Accumulation => (
            Text::new("Gradient accumulation", "梯度累积"),
            Text::new(
                "Micro-batches per step; gradients live through all but the first",
                "每步的微批次数；从第二个起梯度始终占用显存",
            ),
        ),
        Key::Attention => (
            Text::new("Attention", "注意力实现"),
            Text::new(
                "Eager keeps scores that grow with the square of the sequence",
                "eager 会保留随序列长度平方增长的注意力分数",
            ),
        ),
        Key::Recompute => (
            Text::new("Recomputation", "重计算"),
            Text::new(
                "Activations computed again in backward: less memory, 30–50 % more time",
                "反向时重新计算激活值：省显存，多花 30–50% 时间",
            ),
        ),
        Key::RecomputeLayers => (
            Text::new("Recomputed layers", "重计算层数"),
            Text::new("Only the first n layers; empty: all", "仅前 n 层；留空为全部"),
        ),
        Key::Loss => (
            Text::new("Loss", "损失计算"),
            Text::new("Whether logits over the whole vocabulary are held", "是否保留整个词表的 logits"),
        ),
        Key::LossChunks => (
            Text::new("Loss chunks", "损失分块数"),
            Text::new("Parts that a chunked loss is computed in", "分块损失的块数"),
        ),
        Key::Stack => (
            Text::new("Stack", "训练框架"),
            Text::new("Whose kernels decide what is kept for backward", "由谁的算子决定为反向保存什么"),
        ),
        Key::Dropout => (
            Text::new("Dropout", "Dropout"),
            Text::new(
                "Probability; above 0 a mask is kept. Empty: as the model says",
                "概率；大于 0 时需保存掩码。留空则按模型配置",
            ),
        ),
        Key::Gpu => (
            Text::new("GPU", "显卡"),
            Text::new("A card of the catalogue, for its capacity", "从目录中选择显卡以确定容量"),
        ),
        Key::GpuMemory => (
            Text::new("GPU memory", "显存容量"),
            Text::new(
                "Instead of a card: 80GiB, 24GB, 80G (= GiB)",
                "代替显卡型号：80GiB、24GB、80G（= GiB）",
            ),
        ),
        Key::Gpus => {
            (Text::new("GPUs", "GPU 总数"), Text::new("All GPUs of the job", "整个任务使用的 GPU 数"))
        }
        Key::GpusPerNode => (
            Text::new("GPUs per node", "每节点 GPU 数"),
            Text::new("For what is shared by a node, such as host memory", "用于按节点共享的资源，如内存"),
        ),
        Key::Tp => (
            Text::new("Tensor parallel", "张量并行"),
            Text::new("Ranks that share each layer's matrices", "共同切分每层矩阵的进程数"),
        ),
        Key::Sp => (
            Text::new("Sequence parallel", "序列并行"),
            Text::new(
                "Splits what tensor parallelism leaves whole: norms, dropout, residuals",
                "切分张量并行未切的部分：归一化、dropout 与残差",
            ),
        ),
        Key::Pp => (
            Text::new("Pipeline parallel", "流水线并行"),
            Text::new("Stages that the layers are divided among", "层被划分成的阶段数"),
        ),
        Key::Vpp => (
            Text::new("Virtual stages", "虚拟阶段"),
            Text::new("Pieces of the pipeline that each rank holds", "每个进程持有的流水线分段数"),
        ),
        Key::Schedule => (
            Text::new("Pipeline schedule", "流水线调度"),
            Text::new("Decides how many micro-batches are in flight", "决定同时在途的微批次数"),
        ),
        Key::Cp => (
            Text::new("Context parallel", "上下文并行"),
            Text::new("Ranks that share each sequence", "共同切分每条序列的进程数"),
        ),
        Key::Ep => (
            Text::new("Expert parallel", "专家并行"),
            Text::new("Ranks that the experts are divided among", "分摊专家的进程数"),
        ),
        Key::Etp => (
            Text::new("Expert tensor parallel", "专家张量并行"),
            Text::new("Ranks that share each expert's matrices", "共同切分每个专家矩阵的进程数"),
        ),
        Key::DataParallel => (
            Text::new("Data parallel", "数据并行"),
            Text::new("What is replicated and what is sharded", "哪些完整复制，哪些切分"),
        ),
        Key::Offload => (
            Text::new("Offload", "卸载到内存"),
            Text::new("What lives in host memory instead", "放到主机内存中的部分"),
        ),
        Key::ReduceDtype => (
            Text::new("Reduce dtype", "规约精度"),
            Text::new("Element type in which gradients are reduced", "梯度规约时的数据类型"),
        ),
        Key::FsdpVersion => (
            Text::new("FSDP version", "FSDP 版本"),
            Text::new(
                "1 (flat parameters) or 2 (per parameter, the default)",
                "1（扁平参数）或 2（逐参数，默认）",
            ),
        ),
        Key::ReshardAfterForward => (
            Text::new("Reshard after forward", "前向后重新切分"),
            Text::new("Free gathered layers until backward (the default)", "反向前释放已聚合的层（默认）"),
        ),
        Key::FsdpWrapHead => (
            Text::new("Head wrapped alone", "单独包装输出头"),
            Text::new("The output head is an FSDP unit of its own", "输出头作为独立的 FSDP 单元"),
        ),
        Key::UseOrigParams => (
            Text::new("Original parameters", "保留原始参数"),
            Text::new("FSDP1 exposes the original parameters", "FSDP1 暴露原始参数"),
        ),
        Key::NoSync => (
            Text::new("No synchronisation", "不同步梯度"),
            Text::new("Gradients stay whole during accumulation", "梯度累积期间保留完整梯度"),
        ),
        Key::ShardSize => (
            Text::new("Shard group", "切分组大小"),
            Text::new("Ranks that HSDP shards over", "HSDP 组内切分的进程数"),
        ),
        Key::GradientAsBucketView => (
            Text::new("Gradients as bucket views", "梯度复用通信桶"),
            Text::new(
                "DDP's buckets are the gradients, not a second copy",
                "DDP 的通信桶即梯度本身，不再多存一份",
            ),
        ),
        Key::Engine => (
            Text::new("Engine", "引擎"),
            Text::new(
                "Whose ZeRO: DeepSpeed, Megatron or FSDP",
                "采用谁的 ZeRO：DeepSpeed、Megatron 或 FSDP",
            ),
        ),
        Key::Deepspeed => {
            (Text::new("DeepSpeed configuration", "DeepSpeed 配置"), Text::new("Its JSON", "其 JSON 配置"))
        }
        Key::ReduceBucketSize => (
            Text::new("Reduce bucket", "规约桶大小"),
            Text::new("Elements reduced at once", "一次规约的元素数"),
        ),
        Key::AllgatherBucketSize => (
            Text::new("All-gather bucket", "聚合桶大小"),
            Text::new("Elements gathered at once", "一次聚合的元素数"),
        ),
        Key::OverlapComm => (
            Text::new("Overlap communication", "通信重叠"),
            Text::new("A second bucket, so that reduction overlaps backward", "增加一个桶，使规约与反向重叠"),
        ),
        Key::ContiguousGradients => (
            Text::new("Contiguous gradients", "连续梯度"),
            Text::new("Gradients are copied into one buffer as they come", "梯度产生时复制到连续缓冲区"),
        ),
        Key::Stage3MaxLiveParameters => (
            Text::new("Live parameters", "驻留参数上限"),
            Text::new("Elements that ZeRO-3 keeps gathered at most", "ZeRO-3 最多保持聚合的元素数"),
        ),
        Key::PaddedVocabSize => (
            Text::new("Padded vocabulary", "填充后词表"),
            Text::new("Rows after padding for tensor parallelism", "为张量并行补齐后的行数"),
        ),
        Key::RecomputeModules => (
            Text::new("Recomputed modules", "重计算模块"),
            Text::new("Modules that selective recomputation covers", "选择性重计算覆盖的模块"),
        ),
        Key::DistributeSavedActivations => (
            Text::new("Distribute saved activations", "分布式保存激活值"),
            Text::new(
                "Each tensor-parallel rank keeps its part of the layer inputs",
                "各张量并行进程只保存层输入的一部分",
            ),
        ),
        Key::CrossEntropyLossFusion => (
            Text::new("Fused cross-entropy", "融合交叉熵"),
            Text::new("Megatron's fused vocabulary-parallel loss", "Megatron 的融合词表并行损失"),
        ),
        Key::CrossEntropyFusionImpl => (
            Text::new("Implementation of the fused loss", "融合损失的实现"),
            Text::new(
                "Megatron's own, or Transformer Engine's, which leaves the gradient in the logits' place",
                "Megatron 自带，或 Transformer Engine 的实现（梯度写在 logits 的位置）",
            ),
        ),
        Key::OverlapGradReduce => (
            Text::new("Overlap gradient reduction", "梯度规约重叠"),
            Text::new("Reduce gradients bucket by bucket during backward", "反向过程中逐桶规约梯度"),
        ),
        Key::OverlapParamGather => (
            Text::new("Overlap parameter gather", "参数聚合重叠"),
            Text::new("Gather updated parameters during forward", "前向过程中聚合更新后的参数"),
        ),
        Key::GradientAccumulationFusion => (
            Text::new("Accumulation fused", "融合梯度累积"),
            Text::new(
                "Weight gradients are added to the buffer within the matrix product",
                "在矩阵乘中直接累加到梯度缓冲区",
            ),
        ),
        Key::MoeGroupedGemm => (
            Text::new("Grouped experts", "专家分组矩阵乘"),
            Text::new("All local experts in one kernel", "本地全部专家用一个算子计算"),
        ),
        Key::MoeExpertCapacityFactor => (
            Text::new("Expert capacity factor", "专家容量因子"),
            Text::new(
                "Tokens an expert takes, as a multiple of an even share",
                "每个专家接收的 token 数相对均分的倍数",
            ),
        ),
        Key::DecoderFirstPipelineNumLayers => (
            Text::new("Layers of the first stage", "首阶段层数"),
            Text::new("For an uneven pipeline", "用于不均匀的流水线划分"),
        ),
        Key::DecoderLastPipelineNumLayers => (
            Text::new("Layers of the last stage", "末阶段层数"),
            Text::new("For an uneven pipeline", "用于不均匀的流水线划分"),
        ),
        Key::TransformerImpl => (
            Text::new("Transformer implementation", "Transformer 实现"),
            Text::new(
                "Transformer Engine's kernels or Megatron's own",
                "使用 Transformer Engine 或 Megatron 自带算子",
            ),
        ),
        Key::CpCommType => (
            Text::new("Context-parallel exchange", "上下文并行通信方式"),
            Text::new("p2p, a2a, all_gather or a2a+p2p", "p2p、a2a、all_gather 或 a2a+p2p"),
        ),
        Key::LossParallel => (
            Text::new("Loss parallel", "并行损失"),
            Text::new("Logits stay divided by vocabulary in the loss", "计算损失时 logits 仍按词表切分"),
        ),
        Key::OptimBits => (
            Text::new("Bits of optimizer states", "优化器状态位数"),
            Text::new(
                "Under adamw: 8 as bitsandbytes has them, 4 as torchao has them",
                "adamw 下：8 为 bitsandbytes 的做法，4 为 torchao 的做法",
            ),
        ),
        Key::GaloreRank => (
            Text::new("GaLore rank", "GaLore 秩"),
            Text::new(
                "Rank of the space that GaLore or APOLLO projects gradients into",
                "GaLore 或 APOLLO 投影梯度所用空间的秩",
            ),
        ),
        Key::QuantMethod => (
            Text::new("Quantised by", "量化方式"),
            Text::new(
                "Who stores the frozen weights: bitsandbytes as it loads them; gptq and awq as they were published",
                "冻结权重的存储方式：bitsandbytes 在加载时量化；gptq、awq 为已发布的量化权重",
            ),
        ),
        Key::LoraDropout => (
            Text::new("LoRA dropout", "LoRA dropout"),
            Text::new(
                "Above 0, each target keeps its dropped input and a mask",
                "大于 0 时每个目标层多存丢弃后的输入与掩码",
            ),
        ),
        Key::ModulesToSave => (
            Text::new("Modules trained in full", "完整训练的模块"),
            Text::new(
                "peft trains a copy of each: embed_tokens, lm_head, norm",
                "peft 各训练一份副本：embed_tokens、lm_head、norm",
            ),
        ),
        Key::PrepareModelForKbitTraining => (
            Text::new("Prepared for k-bit training", "k 位训练预处理"),
            Text::new("peft casts what is not quantised to fp32", "peft 将未量化的部分转为 fp32"),
        ),
        Key::Autocast => (
            Text::new("Autocast", "自动混合精度"),
            Text::new(
                "Compute dtype laid over the weights' own: bf16, fp16",
                "在权重精度之上的计算精度：bf16、fp16",
            ),
        ),
        Key::FastKernels => (
            Text::new("Fast kernels", "快速算子"),
            Text::new("Fused kernels in use, such as liger", "所用的融合算子，例如 liger"),
        ),
        Key::Compile => (
            Text::new("torch.compile", "torch.compile"),
            Text::new("The compiler decides what is kept for backward", "由编译器决定为反向保存什么"),
        ),
        Key::Packed => (
            Text::new("Packed sequences", "序列打包"),
            Text::new(
                "Samples are joined to the full length and told apart by their position ids: under SDPA this makes a mask for every row, under flash attention none",
                "样本拼接至满长度，以位置 id 区分：SDPA 下为每行构造掩码，flash attention 下不需要",
            ),
        ),
        Key::PaddingMask => (
            Text::new("Padding mask", "填充掩码"),
            Text::new("A mask is given to attention", "向注意力传入掩码"),
        ),
        Key::MaxTargetLength => (
            Text::new("Target tokens", "目标序列长度"),
            Text::new(
                "Tokens that an encoder–decoder learns to write; a quarter of those it reads unless given",
                "编码器–解码器要学会写出的 token 数；不填则为输入的四分之一",
            ),
        ),
        Key::KeepLogits => (
            Text::new("Logits kept", "保留 logits"),
            Text::new(
                "The training loop holds the model's output through backward",
                "训练循环在反向期间持有模型输出",
            ),
        ),
        Key::ExpandableSegments => (
            Text::new("Expandable segments", "可扩展段"),
            Text::new("The allocator grows segments: less fragmentation", "分配器可扩展内存段：碎片更少"),
        ),
        Key::Lang => (Text::new("Language", "语言"), Text::new("Of the page", "页面语言")),
        Key::Theme => (Text::new("Theme", "主题"), Text::new("Colours of the page", "页面配色")),
        Key::Units => (
            Text::new("Units", "单位"),
            Text::new("Binary (GiB) or decimal (GB) sizes", "二进制（GiB）或十进制（GB）"),
        ),
        Key::View => {
            (Text::new("View", "视图"), Text::new("Quick, detailed or diagnose", "速算、精算或诊断"))
        }
        Key::Embed => (
            Text::new("Embedded", "嵌入"),
            Text::new("Only figure and headline, for other pages", "只显示图与结论，用于嵌入其他页面"),
        ),
    }
}
