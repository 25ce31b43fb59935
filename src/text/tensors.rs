//! Every kind of tensor in the ledger: its name, why it is kept, and what would release it.

use super::Text;
use crate::ledger::{About, Tensor};

/// PyTorch's derivative table: which operator saves what.
const AUTOGRAD: &str = "pytorch/tools/autograd/derivatives.yaml";
/// The Llama modelling file, whose modules Mistral and Qwen share.
const MODELING: &str = "transformers/models/llama/modeling_llama.py";
const AUTOCAST: &str = "pytorch/aten/src/ATen/autocast_mode.cpp";
/// How transformers runs experts.
const MOE: &str = "transformers/integrations/moe.py (grouped_mm_experts_forward)";
/// Mixtures of experts with a shared expert behind a gate.
const QWEN2_MOE: &str = "transformers/models/qwen2_moe/modeling_qwen2_moe.py";
/// gpt-oss and its own experts.
const GPT_OSS: &str = "transformers/models/gpt_oss/modeling_gpt_oss.py";
/// FSDP2's groups and collectives.
const FSDP: &str = "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, _fsdp_param_group.py";
/// Relative positions.
const T5: &str = "transformers/models/t5/modeling_t5.py (T5Attention.compute_bias)";
/// DeepSpeed's ZeRO stages 1 and 2.
const ZERO: &str = "deepspeed/runtime/zero/stage_1_and_2.py; Rajbhandari et al. 2020, arXiv:1910.02054";
/// DeepSpeed's ZeRO stage 3.
const ZERO_3: &str = "deepspeed/runtime/zero/stage3.py, partitioned_param_coordinator.py";
const ENGINE: &str = "pytorch/torch/csrc/autograd/engine.cpp";

macro_rules! tensors {
    ($( $name:ident, $id:literal, $source:expr,
        name $en:literal $zh:literal,
        why $why_en:literal $why_zh:literal,
        release $rel_en:literal $rel_zh:literal; )+) => { $(
        #[doc = $en]
        #[allow(clippy::doc_markdown)] // the name shown to people is the documentation
        pub static $name: Tensor = Tensor {
            id: $id,
            name: Text::new($en, $zh),
            about: || About {
                why: Text::new($why_en, $why_zh),
                release: Text::new($rel_en, $rel_zh),
                source: $source,
            },
        };
    )+ };
}

tensors! {
    WEIGHT, "", MODELING,
    name "weight" "权重",
    why "The model itself." "模型本身。",
    release "A narrower dtype, quantisation, or sharding (FSDP, ZeRO-3)." "更窄的数据类型、量化，或切分（FSDP、ZeRO-3）。";

    WEIGHT_4_BIT, "", "bitsandbytes/functional.py (quantize_4bit); Dettmers et al. 2023 (QLoRA), arXiv:2305.14314",
    name "weight in 4 bits" "4 位权重",
    why "Two frozen weights a byte (NormalFloat); they are made 16 bits wide for each product." "冻结权重两个占一字节（NormalFloat）；每次相乘时还原为 16 位。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    WEIGHT_INTEGERS, "", "auto_gptq/nn_modules/qlinear; Frantar et al. 2022 (GPTQ), arXiv:2210.17323",
    name "weight as packed integers" "打包的整数权重",
    why "Frozen weights in 4 or 8 bits; they are made 16 bits wide for each product." "4 或 8 位的冻结权重；每次相乘时还原为 16 位。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    GROUP_SCALES, "scales", "auto_gptq/nn_modules/qlinear",
    name "scales of groups" "分组缩放",
    why "One 16-bit scale for each 128 inputs of a row." "每行每 128 个输入一个 16 位缩放。",
    release "Larger groups would have fewer." "分组越大越少。";

    GROUP_ZEROS, "zeros", "auto_gptq/nn_modules/qlinear",
    name "zeros of groups" "分组零点",
    why "One packed zero for each 128 inputs of a row." "每行每 128 个输入一个打包的零点。",
    release "Larger groups would have fewer." "分组越大越少。";

    GROUP_INDEX, "g_idx", "auto_gptq/nn_modules/qlinear",
    name "group of each input" "各输入所属分组",
    why "GPTQ may order inputs by their weight: this says which group each is in." "GPTQ 可按重要性重排输入：它记录各输入所在分组。",
    release "Nothing needs to: 4 B an input." "无须释放：每个输入 4 B。";

    WEIGHT_8_BIT, "", "bitsandbytes/nn/modules.py (Int8Params); Dettmers et al. 2022, arXiv:2208.07339",
    name "weight in 8 bits" "8 位权重",
    why "One frozen weight a byte (LLM.int8)." "冻结权重一个占一字节（LLM.int8）。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ROW_SCALE, "SCB", "bitsandbytes/nn/modules.py (Int8Params)",
    name "scale of each row" "每行的缩放系数",
    why "What the bytes of a row are multiples of." "该行各字节所乘的系数。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ABSMAX, "absmax", "bitsandbytes/functional.py (quantize_4bit); Dettmers et al. 2023 (QLoRA), arXiv:2305.14314",
    name "scales of the blocks" "分块缩放系数",
    why "One for each 64 weights: fp32, or one byte under double quantisation." "每 64 个权重一个：fp32，双重量化时为一字节。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    QUANT_CODE, "code", "bitsandbytes/functional.py (quantize_4bit); Dettmers et al. 2023 (QLoRA), arXiv:2305.14314",
    name "values of the 4-bit code" "4 位码表",
    why "The 16 values that four bits stand for; each tensor has its own copy." "四位所代表的 16 个值；每个张量各有一份。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ABSMAX_OFFSET, "offset", "bitsandbytes/functional.py (quantize_4bit); Dettmers et al. 2023 (QLoRA), arXiv:2305.14314",
    name "offset of the scales" "缩放系数的偏移",
    why "Subtracted from the scales before they are quantised themselves." "量化缩放系数前先减去它。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ABSMAX_OF_ABSMAX, "state2.absmax", "bitsandbytes/functional.py (quantize_4bit); Dettmers et al. 2023 (QLoRA), arXiv:2305.14314",
    name "scales of the scales" "缩放系数的缩放系数",
    why "One fp32 for each 256 scales." "每 256 个缩放系数一个 fp32。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ABSMAX_CODE, "state2.code", "bitsandbytes/functional.py (quantize_4bit); Dettmers et al. 2023 (QLoRA), arXiv:2305.14314",
    name "values of the 8-bit code" "8 位码表",
    why "The 256 values that a quantised scale stands for; each tensor has its own copy." "量化后的缩放系数所代表的 256 个值；每个张量各有一份。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ABSMAX_MAP, "dynamic_map", "bitsandbytes/functional.py (name2qmap)",
    name "the library's own map" "库自带的映射表",
    why "bitsandbytes keeps the map that it quantises scales with." "bitsandbytes 保留量化缩放系数所用的映射表。",
    release "Nothing needs to: it is what makes the weight small." "无须释放：权重正因它而小。";

    ENGINE_WORKSPACE, "engine_workspace", "transformer_engine/pytorch/module/base.py (get_workspace)",
    name "Transformer Engine's workspace" "Transformer Engine 工作区",
    why "Its matrix products work in it; grouped ones on four streams have one each." "其矩阵乘在此工作；分组矩阵乘的四个流各有一个。",
    release "transformer_impl=local." "transformer_impl=local。";

    MAIN_GRADIENT, "main_grad", "megatron/core/optimizer/distrib_optimizer.py (_copy_model_grads_to_main_grads)",
    name "gradient in fp32 for the step" "更新时的 fp32 梯度",
    why "The step reads fp32 gradients; 16-bit ones are cast." "更新读取 fp32 梯度；16 位梯度先转换。",
    release "fp32 gradients." "使用 fp32 梯度。";

    STAGE_INPUT, "stage_input", "megatron/core/pipeline_parallel/schedules.py; transformer/transformer_block.py (set_input_tensor)",
    name "last input from the stage before" "上一流水段送来的最后输入",
    why "The model holds the last input that it was given, whose gradient was kept to be sent back." "模型保留最近一次收到的输入及其待回传的梯度。",
    release "Nothing needs to: one micro-batch's." "无须释放：仅一个 micro-batch。";

    GATHERED_INPUT, "gathered_input", "megatron/core/tensor_parallel/mappings.py; transformer_engine/pytorch/distributed.py",
    name "input of all ranks" "各 rank 拼接后的输入",
    why "Sequence parallelism keeps one rank's tokens; the product needs all of them, in forward and again in backward." "序列并行只保留本 rank 的 token；矩阵乘需要全部 token，前向与反向各聚合一次。",
    release "Nothing needs to: one linear's at a time." "无须释放：每次只有一个线性层的。";

    ACTIVATION_STEPS, "activation_steps", "megatron/core/fusions/fused_bias_swiglu.py, fused_bias_gelu.py",
    name "steps of the activation's backward" "激活函数反向的中间量",
    why "Run operator by operator, the activation's backward makes tensors beside its gradient." "逐算子执行时，激活函数的反向会产生梯度之外的张量。",
    release "A compiler that fuses the function (torch.compile), or Transformer Engine." "能融合该函数的编译器（torch.compile），或 Transformer Engine。";

    MODULE_INPUT, "checkpoint", "megatron/core/tensor_parallel/random.py (checkpoint)",
    name "input of a module that is run again" "待重算模块的输入",
    why "Backward runs the module again from it." "反向时由它重新执行该模块。",
    release "Recomputation of the whole layer." "重计算整层。";

    ROTARY_COS_CAST, "cos_cast", "megatron/core/models/common/embeddings/rope_utils.py",
    name "cosines in the layer's type" "本层类型的余弦表",
    why "Each of q and k casts the cosines anew and keeps its copy." "q 与 k 各自重新转换余弦表并保留副本。",
    release "Fused rotary positions (apply_rope_fusion)." "融合的旋转位置编码（apply_rope_fusion）。";

    ROTARY_SIN_CAST, "sin_cast", "megatron/core/models/common/embeddings/rope_utils.py",
    name "sines in the layer's type" "本层类型的正弦表",
    why "Each of q and k casts the sines anew and keeps its copy." "q 与 k 各自重新转换正弦表并保留副本。",
    release "Fused rotary positions (apply_rope_fusion)." "融合的旋转位置编码（apply_rope_fusion）。";

    ROTARY_CACHE, "cached_freqs", "megatron/core/models/common/embeddings/rotary_pos_embedding.py",
    name "rotary frequencies" "旋转位置频率表",
    why "Made once for a sequence length, and cached from step to step." "每种序列长度生成一次，跨步缓存。",
    release "A shorter sequence." "更短的序列。";

    KEY_POSITIONS, "key_positions", "megatron/core/transformer/multi_latent_attention.py",
    name "rotary part of the keys" "键的旋转部分",
    why "The up-projections are run again from it and from the latents." "由它与隐向量重新执行上投影。",
    release "Recomputation of the whole layer." "重计算整层。";

    FOREIGN_TOKENS, "foreign_tokens", "megatron/core/tensor_parallel/layers.py (VocabParallelEmbedding)",
    name "which tokens are other ranks'" "属于其他 rank 的 token 掩码",
    why "Their rows were set to zero, and so are their gradients." "这些行被置零，其梯度亦然。",
    release "One rank for the whole vocabulary." "由一个 rank 持有整个词表。";

    OWN_TOKENS, "own_tokens", "megatron/core/tensor_parallel/layers.py (VocabParallelEmbedding)",
    name "token ids within the rank's rows" "本 rank 行内的 token 编号",
    why "The gradient of the table is added up row by row." "嵌入表的梯度按行累加。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    VOCABULARY_SOFTMAX, "softmax", "megatron/core/tensor_parallel/cross_entropy.py (_VocabParallelCrossEntropy)",
    name "softmax over the rank's vocabulary" "本 rank 词表上的 softmax",
    why "fp32 logits, turned into the softmax in place; backward turns it into the gradient." "fp32 logits 就地变为 softmax；反向再就地变为梯度。",
    release "Transformer Engine's cross entropy, or more tensor-parallel ranks." "Transformer Engine 的交叉熵，或更大的张量并行度。";

    LOGITS_GRADIENT, "logits_gradient", "transformer_engine/pytorch/cross_entropy.py",
    name "gradient in the logits' place" "占用 logits 位置的梯度",
    why "The kernel writes the gradient of the loss over the 16-bit logits." "内核将损失的梯度写入 16 位 logits 的位置。",
    release "More tensor-parallel ranks." "更大的张量并行度。";

    TARGET_MASK, "target_mask", "megatron/core/tensor_parallel/cross_entropy.py (_VocabParallelCrossEntropy)",
    name "which labels are other ranks'" "属于其他 rank 的标签掩码",
    why "Only the rank that has a label's logit subtracts one from its gradient." "只有持有该标签 logit 的 rank 从其梯度中减一。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    MASKED_TARGET, "masked_target", "megatron/core/tensor_parallel/cross_entropy.py (_VocabParallelCrossEntropy)",
    name "labels within the rank's vocabulary" "本 rank 词表内的标签",
    why "Where the gradient has one subtracted." "梯度减一的位置。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    ROUTING_MAP, "routing_map", "megatron/core/transformer/moe/moe_utils.py",
    name "which expert serves which token" "专家与 token 的对应表",
    why "Probabilities are chosen by it, and their gradients put back." "按它选取概率，反向时放回梯度。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    CAPACITY_INDICES, "capacity_indices", "megatron/core/transformer/moe/router.py (apply_router_token_dropping)",
    name "tokens within capacity" "容量之内的 token",
    why "Each expert takes so many tokens; which ones is needed in backward." "每个专家只接收一定数量的 token；反向需要知道是哪些。",
    release "No capacity factor." "不设容量因子。";

    TOKENS_PER_EXPERT, "tokens_per_expert", "megatron/core/transformer/moe/router.py",
    name "tokens of each expert" "每个专家的 token 数",
    why "The auxiliary loss weighs the scores by it." "辅助损失用它为得分加权。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    GLOBAL_BUFFER, "global_memory_buffer", "megatron/core/utils.py (GlobalMemoryBuffer)",
    name "buffer of gathered inputs" "聚合输入的缓冲区",
    why "The largest input that was gathered, or scores of attention; kept from step to step." "曾聚合的最大输入（或注意力得分）所用的缓冲区，跨步保留。",
    release "Transformer Engine's linears, which gather into temporaries." "改用 Transformer Engine 的线性层（聚合到临时张量）。";

    DUMMY_GRADIENT, "dummy_wgrad", "transformer_engine/pytorch/module/base.py (get_dummy_wgrad)",
    name "stand-in for a weight's gradient" "权重梯度的占位张量",
    why "Products add gradients into the buffer themselves; autograd still wants a tensor of each shape, which is kept." "矩阵乘直接把梯度加进缓冲区，但 autograd 仍需要每种形状各一个张量，一直保留。",
    release "--no-gradient-accumulation-fusion, which makes one gradient at a time instead." "--no-gradient-accumulation-fusion：改为每次产生一个梯度。";

    BUFFER_PADDING, "padding", "megatron/core/distributed/param_and_grad_buffer.py",
    name "padding of the buffer" "缓冲区的填充",
    why "Weights start at multiples of 64 elements, buckets end where every rank's share is whole." "权重从 64 的倍数处开始，桶在各 rank 份额取整处结束。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    LOSS_MASK, "loss_mask", "megatron/core/datasets/gpt_dataset.py",
    name "loss mask" "损失掩码",
    why "Which tokens count." "哪些 token 计入损失。",
    release "Nothing needs to: it is small." "无须释放：很小。";

    DEQUANTIZED, "dequantized", "bitsandbytes/autograd/_functions.py",
    name "weight made wide again" "反量化的权重",
    why "A product needs the whole weight in the compute dtype; one linear's at a time, in forward and in backward." "相乘时需要计算精度的完整权重；前向与反向中每次只有一个线性层的。",
    release "Nothing needs to: one weight at a time." "无须释放：每次只有一个权重。";

    INT8_INPUT, "int8_input", "bitsandbytes/autograd/_functions.py (MatMul8bitLt)",
    name "input that recomputation cannot release" "重计算无法释放的输入",
    why "LLM.int8 remembers its input outside of autograd's saved tensors, so checkpointing does not drop it." "LLM.int8 在自动求导的保存机制之外记住输入，因此重计算去不掉它。",
    release "4-bit quantisation (nf4) keeps no input." "4 位量化（nf4）不保留输入。";

    BUFFER, "buffer", MODELING,
    name "rotary frequencies" "旋转位置频率",
    why "A small table from which the rotary cosines and sines are made." "用来生成旋转位置编码余弦、正弦的小表。",
    release "Nothing needs to: a few hundred bytes." "无须释放：只有几百字节。";

    CORRECTION, "e_score_correction_bias", "transformers/models/deepseek_v3/modeling_deepseek_v3.py",
    name "correction of the experts' scores" "专家得分的修正项",
    why "A buffer that balances the experts' load is added to the scores by which they are chosen." "选择专家时在得分上加一个用于均衡负载的缓冲区。",
    release "Nothing needs to: one number an expert." "无须释放：每个专家一个数。";

    EMBED_SCALE, "embed_scale", "transformers/models/gemma3/modeling_gemma3.py",
    name "scale of the embedding" "词嵌入的缩放系数",
    why "Gemma multiplies its embedding by a number that it keeps in a buffer." "Gemma 把词嵌入乘以一个存放在缓冲区中的数。",
    release "Nothing needs to: one number." "无须释放：一个数。";

    PIXELS, "pixels", "transformers/models/vit/modeling_vit.py",
    name "images" "图像",
    why "The batch itself, in the model's type." "批次数据本身，按模型精度存放。",
    release "A smaller batch or smaller images." "减小批大小或图像尺寸。";

    INPUT, "input", MODELING,
    name "token ids and labels" "词元 id 与标签",
    why "The batch itself, as 64-bit integers." "批次数据本身，64 位整数。",
    release "A smaller batch or shorter sequences." "减小批大小或序列长度。";

    WORKSPACE, "workspace", "pytorch/aten/src/ATen/cuda/CublasHandlePool.cpp",
    name "cuBLAS workspace" "cuBLAS 工作区",
    why "The matrix library's own scratch: one for the thread that runs forward, one for autograd's." "矩阵库自用的临时空间：前向线程与自动求导线程各一份。",
    release "CUBLAS_WORKSPACE_CONFIG=:16:8 makes it smaller (and matrix products slower)." "CUBLAS_WORKSPACE_CONFIG=:16:8 可减小（矩阵乘法会变慢）。";

    PRODUCT_WORKSPACE, "product_workspace", "pytorch/aten/src/ATen/cuda/CUDABlas.cpp (cublasLtMatmul)",
    name "workspace of one product" "单次矩阵乘的工作区",
    why "cuBLASLt is given scratch for each matrix product, which is freed when the product was started." "cuBLASLt 的每次矩阵乘都会得到一块临时空间，启动后即释放。",
    release "CUBLASLT_WORKSPACE_SIZE makes it smaller (and matrix products slower)." "CUBLASLT_WORKSPACE_SIZE 可减小（矩阵乘法会变慢）。";

    ALL_GATHER_INPUT, "all_gather_input", FSDP,
    name "this rank's shard, in the type that is gathered" "本卡分片（聚合精度）",
    why "Shards are stored in one type and gathered in another, so that a copy is sent." "分片的存储精度与聚合精度不同，发送的是一份转换后的副本。",
    release "Storing parameters in the type that they are computed in." "以计算精度存储参数。";

    ALL_GATHER_OUTPUT, "all_gather_output", FSDP,
    name "shards as they arrive" "聚合到的分片",
    why "The collective writes every rank's shard one after another; parameters are copied out of it. In forward it stays until the next layer has been copied out." "集合通信把各卡分片依次写入其中，再复制为参数；前向时它要保留到下一层复制完成。",
    release "Smaller groups (more, smaller layers wrapped)." "更小的分组（包裹更多、更小的层）。";

    GATHERED, "gathered", FSDP,
    name "gathered parameters" "聚合后的参数",
    why "A layer can only run with whole weights; they are freed after it (the root's, and those under reshard_after_forward=false, are kept until their backward)." "层运行时需要完整权重，之后释放（根组以及 reshard_after_forward=false 时保留到反向）。",
    release "Smaller groups; reshard_after_forward=true." "更小的分组；reshard_after_forward=true。";

    REDUCE_INPUT, "reduce_scatter_input", FSDP,
    name "gradients on their way to all ranks" "待规约的梯度",
    why "Whole gradients, in reduce_dtype and in the order in which they are scattered; the next group's reduction frees it." "完整梯度，按 reduce_dtype 与分发顺序排列；下一组规约时释放。",
    release "reduce_dtype=bf16; a group of its own for the head (fsdp_wrap_head)." "reduce_dtype=bf16；输出头单独成组（fsdp_wrap_head）。";

    REDUCE_OUTPUT, "reduce_scatter_output", FSDP,
    name "this rank's share of the sum" "本卡的规约结果",
    why "It arrives in reduce_dtype and is cast to the type of the shard; between replicas it is kept until backward is over." "以 reduce_dtype 到达，再转换为分片精度；有副本组时保留到反向结束。",
    release "reduce_dtype of the stored parameters." "使 reduce_dtype 与存储精度一致。";

    COPY_TABLE, "copy_table", "pytorch/aten/src/ATen/native/cuda/TensorShape.cu (_chunk_cat)",
    name "table of what is copied where" "复制索引表",
    why "One kernel copies all gradients of a group; it reads from a table which block belongs to which." "一个内核复制整组梯度，按表查找每块属于哪个张量。",
    release "Nothing needs to: 8 bytes for each 2 KiB that this rank sends on." "无须释放：每 2 KiB 仅 8 字节。";

    REDUCE_BUCKET, "reduce_bucket", ZERO,
    name "reduction bucket" "规约桶",
    why "Gradients are copied into it one after another and reduced when it is full: reduce_bucket_size elements, whatever the model's size; two of them under overlap_comm." "梯度依次复制进来，满了就规约：大小为 reduce_bucket_size 个元素，与模型大小无关；overlap_comm 时有两个。",
    release "A smaller reduce_bucket_size." "减小 reduce_bucket_size。";

    GRADIENT_PARTITION, "grads_in_partition", ZERO,
    name "gradients that this rank steps on" "本卡负责更新的梯度",
    why "Whole gradients of every parameter that overlaps this rank's part of the flat copy." "与本卡分区有交集的每个参数的完整梯度。",
    release "More data-parallel ranks; offload=optimizer." "增加数据并行卡数；offload=optimizer。";

    GRADIENT_SHARD, "grad_partition", ZERO_3,
    name "buffer of this rank's gradients" "本卡梯度缓冲区",
    why "ZeRO-3 keeps one buffer for its shard of all gradients from start to end." "ZeRO-3 始终保留一个存放本卡全部梯度分片的缓冲区。",
    release "More data-parallel ranks; offload=optimizer." "增加数据并行卡数；offload=optimizer。";

    PERSISTENT, "persistent", ZERO_3,
    name "small parameter that stays gathered" "始终聚合的小参数",
    why "Gathering a few thousand values costs more time than memory: parameters up to stage3_param_persistence_threshold stay whole." "聚合几千个值得不偿失：不超过 stage3_param_persistence_threshold 的参数始终保持完整。",
    release "A smaller threshold." "减小该阈值。";

    LIVE, "live", ZERO_3,
    name "gathered parameters" "聚合后的参数",
    why "Of modules that run, that were fetched ahead, or that are needed again soon: up to stage3_max_live_parameters elements, whatever the number of GPUs." "正在运行、预取或即将复用的模块参数：最多 stage3_max_live_parameters 个元素，与卡数无关。",
    release "Smaller stage3_max_live_parameters, stage3_max_reuse_distance and stage3_prefetch_bucket_size." "减小 stage3_max_live_parameters、stage3_max_reuse_distance 与 stage3_prefetch_bucket_size。";

    FETCHED, "fetched", ZERO_3,
    name "what one collective gathered" "一次集合通信的输出",
    why "Several parameters arrive in one flat tensor and are copied out; it stays until the last of them had its turn." "多个参数聚合到一个扁平张量再复制出来；直到其中最后一个被使用才释放。",
    release "A smaller stage3_prefetch_bucket_size." "减小 stage3_prefetch_bucket_size。";

    FLATTENED_GRADIENTS, "flattened", ZERO,
    name "gradients flattened into one tensor" "拼平的梯度",
    why "Slices for several ranks are joined into one tensor for one collective; before the step, those of this rank's part." "发往多张卡的切片拼成一个张量做一次集合通信；更新前则拼接本卡分区的梯度。",
    release "A smaller reduce_bucket_size." "减小 reduce_bucket_size。";

    NORM_COPY, "norm", ZERO,
    name "gradient in fp64" "fp64 梯度",
    why "The norm of each gradient is computed in fp64: four times a 16-bit gradient, of the largest one." "梯度范数以 fp64 计算：为最大的 16 位梯度的四倍。",
    release "Nothing needs to: one tensor at a time." "无须释放：每次只有一个张量。";

    FP32_GRADIENTS, "fp32_grads", ZERO,
    name "fp32 gradients of the step" "更新用的 fp32 梯度",
    why "The optimizer steps on an fp32 copy of the weights and reads fp32 gradients." "优化器在 fp32 权重副本上更新，读取 fp32 梯度。",
    release "More data-parallel ranks (ZeRO-1 and up); offload=optimizer." "增加数据并行卡数（ZeRO-1 及以上）；offload=optimizer。";

    OFFLOAD_STAGING, "temp_grad_buffer", ZERO,
    name "staging for gradients that go to the host" "送往主机的梯度暂存区",
    why "An offloaded optimizer keeps room for the largest gradient on the device." "卸载的优化器在设备上为最大的梯度预留空间。",
    release "Nothing needs to: one gradient." "无须释放：一个梯度。";

    FLAT_BUFFER, "flat_buffer", "torch/_utils.py (_flatten_dense_tensors); megatron/core/distributed/param_and_grad_buffer.py",
    name "every weight, or every gradient, in one flat buffer" "装下全部权重（或全部梯度）的一整块缓冲区",
    why "Engines join all weights, or all gradients, into one tensor (flat master weights, gradient buffers): as many elements as the rank has parameters, asked for at once." "训练引擎把全部权重或全部梯度拼成一个张量（扁平主权重、梯度缓冲区）：元素数等于本卡参数量，一次申请。",
    release "Sharding (ZeRO, FSDP, a distributed optimizer), or fewer trained weights (LoRA)." "切分（ZeRO、FSDP、分布式优化器），或减少训练的权重（LoRA）。";

    FLAT_GRADIENT, "flat_grad", "torch/distributed/fsdp/_flat_param.py",
    name "gradient of a flat parameter" "扁平参数的梯度",
    why "The gradients of a layer's parameters are joined into that of the flat parameter which they are views of; for a moment both are there." "一层各参数的梯度会拼接成扁平参数的梯度；两者会短暂并存。",
    release "FSDP2 reduces parameter by parameter (fsdp_version=2)." "FSDP2 逐参数规约（fsdp_version=2）。";

    WHOLE_GRADIENT, "whole_grad", FSDP,
    name "whole gradient, not reduced yet" "尚未规约的完整梯度",
    why "Without synchronisation in between, micro-batches add to whole gradients on every rank: no 1/N." "微批之间不同步时，各卡累加完整梯度：不除以 N。",
    release "no_sync=false: reduce each micro-batch." "no_sync=false：每个微批都规约。";

    BUCKET, "bucket", "pytorch/torch/csrc/distributed/c10d/reducer.cpp",
    name "place in a gradient bucket" "梯度桶中的位置",
    why "DDP reduces gradients in buckets, which are made once and hold a copy of all of them, whatever their size." "DDP 以桶为单位规约梯度；桶只创建一次，无论桶多大，总共存有一份全部梯度。",
    release "gradient_as_bucket_view=true makes the gradients views of the buckets." "gradient_as_bucket_view=true 让梯度成为桶的视图。";

    WEIGHT_GRADIENT, "grad", "pytorch/torch/csrc/autograd/functions/accumulate_grad.h",
    name "gradient of a weight" "权重梯度",
    why "The optimizer reads it; it is born in its layer's backward and freed by zero_grad(set_to_none=True)." "优化器要读取它；在所属层反向时产生，由 zero_grad(set_to_none=True) 释放。",
    release "Stepping in backward (LOMO, optimizer-in-backward), sharding (ZeRO-2, FSDP), or training fewer weights (LoRA)." "在反向中直接更新（LOMO、optimizer-in-backward）、切分（ZeRO-2、FSDP），或只训练少量权重（LoRA）。";

    EXP_AVG, "exp_avg", "pytorch/torch/optim/adam.py",
    name "first moment (exp_avg)" "一阶矩（exp_avg）",
    why "Adam's running mean of the gradients, one value a weight." "Adam 对梯度的滑动平均，每个权重一个值。",
    release "An 8-bit optimizer, Adafactor, plain SGD, or sharding (ZeRO-1)." "8 比特优化器、Adafactor、不带动量的 SGD，或切分（ZeRO-1）。";

    EXP_AVG_SQ, "exp_avg_sq", "pytorch/torch/optim/adam.py",
    name "second moment (exp_avg_sq)" "二阶矩（exp_avg_sq）",
    why "Adam's running mean of the squared gradients, one value a weight." "Adam 对梯度平方的滑动平均，每个权重一个值。",
    release "Lion or SGD with momentum (no second moment), Adam-mini, an 8-bit optimizer, or sharding (ZeRO-1)." "Lion 或带动量 SGD（无二阶矩）、Adam-mini、8 比特优化器，或切分（ZeRO-1）。";

    MOMENTUM, "momentum_buffer", "pytorch/torch/optim/sgd.py",
    name "momentum" "动量",
    why "SGD's running sum of the gradients, one value a weight." "SGD 对梯度的累积，每个权重一个值。",
    release "Plain SGD, or sharding (ZeRO-1)." "不带动量的 SGD，或切分（ZeRO-1）。";

    STEP, "step", "pytorch/torch/optim/adam.py",
    name "step counter" "步数计数",
    why "Fused AdamW keeps one fp32 counter a tensor on the GPU." "fused AdamW 在 GPU 上为每个张量保存一个 fp32 计数。",
    release "foreach and for-loop AdamW keep it on the CPU." "foreach 与 for-loop 的 AdamW 把它放在 CPU。";

    STATE1, "state1", "bitsandbytes/optim/optimizer.py (Optimizer2State); Dettmers et al. 2021, arXiv:2110.02861",
    name "8-bit first moment (state1)" "8 位一阶矩（state1）",
    why "Adam's mean of the gradients as one byte a weight; tensors under 4096 elements stay in fp32." "Adam 的梯度均值，每个权重一字节；不足 4096 个元素的张量仍用 fp32。",
    release "Paged states (adamw-paged-8bit), or sharding." "分页状态（adamw-paged-8bit），或切分。";

    STATE2, "state2", "bitsandbytes/optim/optimizer.py (Optimizer2State); Dettmers et al. 2021, arXiv:2110.02861",
    name "8-bit second moment (state2)" "8 位二阶矩（state2）",
    why "Adam's mean of the squared gradients as one byte a weight; tensors under 4096 elements stay in fp32." "Adam 的梯度平方均值，每个权重一字节；不足 4096 个元素的张量仍用 fp32。",
    release "Paged states (adamw-paged-8bit), or sharding." "分页状态（adamw-paged-8bit），或切分。";

    ABSMAX1, "absmax1", "bitsandbytes/optim/optimizer.py (Optimizer2State)",
    name "scales of the first moment" "一阶矩的缩放系数",
    why "One fp32 for each block of 256 values says what its bytes are multiples of; it stays on the GPU even when the states are paged." "每 256 个值一个 fp32 缩放系数；即使状态分页，它也留在 GPU 上。",
    release "Nothing needs to: 1/64 byte a weight." "无须释放：每个权重 1/64 字节。";

    ABSMAX2, "absmax2", "bitsandbytes/optim/optimizer.py (Optimizer2State)",
    name "scales of the second moment" "二阶矩的缩放系数",
    why "One fp32 for each block of 256 values says what its bytes are multiples of; it stays on the GPU even when the states are paged." "每 256 个值一个 fp32 缩放系数；即使状态分页，它也留在 GPU 上。",
    release "Nothing needs to: 1/64 byte a weight." "无须释放：每个权重 1/64 字节。";

    QMAP, "qmap", "bitsandbytes/optim/optimizer.py (Optimizer8bit.fill_qmap)",
    name "quantisation maps" "量化映射表",
    why "What the 256 bytes stand for, signed for the first moment and unsigned for the second; all tensors share them." "256 个字节各自代表的值：一阶矩带符号，二阶矩不带符号；所有张量共用。",
    release "Nothing needs to: 2 KiB in all." "无须释放：共 2 KiB。";

    QMAP_OWN, "qmap", "torchao/optim/subclass_4bit.py",
    name "quantisation map" "量化映射表",
    why "What 4 bits stand for: each tensor of torchao's has a map of its own." "4 位各自代表的值：torchao 的每个张量各有一份映射。",
    release "Nothing needs to: 64 B a tensor." "无须释放：每个张量 64 B。";

    EXP_AVG_SQ_ROW, "exp_avg_sq_row", "transformers/optimization.py (Adafactor); Shazeer & Stern 2018, arXiv:1804.04235",
    name "mean square of each row" "每行的均方值",
    why "Adafactor keeps sums of the squared gradient along rows and columns instead of one value a weight." "Adafactor 只保留梯度平方沿行、列的和，而非每个权重一个值。",
    release "Nothing needs to: one value a row." "无须释放：每行只有一个值。";

    EXP_AVG_SQ_COL, "exp_avg_sq_col", "transformers/optimization.py (Adafactor); Shazeer & Stern 2018, arXiv:1804.04235",
    name "mean square of each column" "每列的均方值",
    why "Adafactor keeps sums of the squared gradient along rows and columns instead of one value a weight." "Adafactor 只保留梯度平方沿行、列的和，而非每个权重一个值。",
    release "Nothing needs to: one value a column." "无须释放：每列只有一个值。";

    PARAMETER_RMS, "RMS", "transformers/optimization.py (Adafactor)",
    name "size of the weight (RMS)" "权重的均方根（RMS）",
    why "Adafactor's step is relative to the weight's own size." "Adafactor 的步长相对于权重自身的大小。",
    release "Nothing needs to: one number." "无须释放：一个数。";

    LION_MOMENTUM, "exp_avg", "pytorch_optimizer/optimizer/lion.py; Chen et al. 2023, arXiv:2302.06675",
    name "Lion's momentum (exp_avg)" "Lion 的动量（exp_avg）",
    why "The sign of its mixture with the gradient is the update; one value a weight, in the weight's type (bitsandbytes' Lion keeps fp32)." "它与梯度混合后的符号就是更新方向；每个权重一个值，精度同权重（bitsandbytes 的 Lion 用 fp32）。",
    release "Plain SGD, or sharding (ZeRO-1)." "不带动量的 SGD，或切分（ZeRO-1）。";

    MUON_MOMENTUM, "momentum_buffer", "pytorch/torch/optim/_muon.py; Jordan et al. 2024 (Muon)",
    name "Muon's momentum" "Muon 的动量",
    why "One value a weight for matrices inside layers; embeddings, head, norms and vectors keep AdamW's two." "层内矩阵每个权重一个值；词嵌入、输出头、归一化与向量仍保留 AdamW 的两个。",
    release "Plain SGD, or sharding (ZeRO-1)." "不带动量的 SGD，或切分（ZeRO-1）。";

    BLOCK_SECOND_MOMENT, "vmean", "Zhang et al. 2024 (Adam-mini), arXiv:2406.16793, Algorithm 1 and section 2.3",
    name "second moment, one a block" "每块一个的二阶矩",
    why "Adam-mini gives one learning rate to each head of query and key, each output neuron of other matrices, and each token of the embeddings." "Adam-mini 为 query、key 的每个头、其余矩阵的每个输出神经元、词嵌入的每个词元各保留一个学习率。",
    release "Nothing needs to: one value a block." "无须释放：每块只有一个值。";

    PROJECTOR, "projector.ortho", "pytorch_optimizer/optimizer/galore.py; Zhao et al. 2024 (GaLore), arXiv:2403.03507; Zhu et al. 2024 (APOLLO), arXiv:2412.05270",
    name "projection to the low rank" "低秩投影矩阵",
    why "It takes the gradient of a matrix down to a few rows or columns (128 here) and, in GaLore, the update back up." "把矩阵的梯度投影到少数几行或几列（此处为 128），GaLore 再用它把更新投影回来。",
    release "A smaller rank." "减小秩。";

    PROJECTED_EXP_AVG, "exp_avg", "pytorch_optimizer/optimizer/galore.py, apollo.py",
    name "first moment at low rank" "低秩一阶矩",
    why "Adam runs on the projected gradient, so its moments are as small as that." "Adam 作用于投影后的梯度，其矩也同样小。",
    release "A smaller rank." "减小秩。";

    PROJECTED_EXP_AVG_SQ, "exp_avg_sq", "pytorch_optimizer/optimizer/galore.py, apollo.py",
    name "second moment at low rank" "低秩二阶矩",
    why "Adam runs on the projected gradient, so its moments are as small as that." "Adam 作用于投影后的梯度，其矩也同样小。",
    release "A smaller rank." "减小秩。";

    SCALING_GRAD, "scaling_grad", "pytorch_optimizer/optimizer/apollo.py",
    name "size of the last scaled gradient" "上一次缩放梯度的大小",
    why "APOLLO limits how fast the scaled gradient may grow." "APOLLO 限制缩放梯度的增长速度。",
    release "Nothing needs to: one number." "无须释放：一个数。";

    MASTER, "master_weight", "Micikevicius et al. 2018, arXiv:1710.03740; Rajbhandari et al. 2020 (ZeRO), section 3.1",
    name "fp32 master copy of a weight" "权重的 fp32 主副本",
    why "Updates are too small for 16 bits, so the optimizer steps on an fp32 copy and rounds it into the 16-bit weight." "更新量小到 16 位无法表示，因此优化器在 fp32 副本上更新，再舍入回 16 位权重。",
    release "Pure bf16 training (with stochastic rounding or Kahan summation to stay accurate), or sharding (ZeRO-1)." "纯 bf16 训练（用随机舍入或 Kahan 求和保精度），或切分（ZeRO-1）。";

    REDISTRIBUTED_GRADIENT, "redistributed_grad", "torch/distributed/tensor/_dispatch.py (redistribute_local_args)",
    name "gradient laid out as its weight" "按权重布局重排的梯度",
    why "Under DTensor the step first brings gradients to their weights' layout: this rank's rows of the embedding's, and the norms' summed over ranks." "DTensor 下更新前先把梯度换成权重的布局：词嵌入取本卡的行，归一化层的梯度在各卡间求和。",
    release "FSDP beside tensor parallel, which does so when it reduces." "在张量并行之外再用 FSDP：它在规约时完成这一步。";

    STEP_COPY, "step_copy", "pytorch/torch/optim/adam.py (_multi_tensor_adam)",
    name "foreach temporaries of the step" "foreach 更新的临时副本",
    why "foreach AdamW makes the square roots of all second moments at once: one more copy of every trained weight." "foreach AdamW 一次性计算所有二阶矩的平方根：等于再多一份全部可训练权重。",
    release "optimizer_impl=fused makes none; for-loop makes one tensor's at a time." "optimizer_impl=fused 不产生；for-loop 每次只有一个张量。";

    STEP_COPY_ALONE, "step_scratch", "pytorch/torch/optim/adam.py (_single_tensor_adam); zyushun/Adam-mini (adam_mini.py)",
    name "temporaries of one tensor's step" "单个张量更新时的临时张量",
    why "Tensors are stepped on one after another: the square root of the second moment and the quotient, of the largest tensor." "逐张量更新：二阶矩的平方根及其商，以最大的张量计。",
    release "optimizer_impl=fused makes none." "optimizer_impl=fused 不产生。";

    SIGN_UPDATE, "sign", "pytorch_optimizer/optimizer/lion.py",
    name "Lion's update" "Lion 的更新量",
    why "The mixture of momentum and gradient, whose sign is the step: of all weights at once (foreach) or of one." "动量与梯度的混合，取符号即为更新：foreach 一次为全部权重，否则为一个张量。",
    release "optimizer_impl=for-loop makes one tensor's at a time." "optimizer_impl=for-loop 每次只有一个张量。";

    ADAFACTOR_UPDATE, "update", "transformers/optimization.py (Adafactor.step)",
    name "Adafactor's update in fp32" "Adafactor 的 fp32 更新量",
    why "The squared gradient and the update, with fp32 copies of a 16-bit gradient and weight: of the largest tensor." "梯度平方与更新量，以及 16 位梯度、权重的 fp32 副本：以最大的张量计。",
    release "Nothing in the optimizer: it is made anew at each step, one tensor at a time." "优化器内无法避免：每步逐张量重新产生。";

    ADAFACTOR_SUMS, "factors", "transformers/optimization.py (Adafactor.step)",
    name "factors of the update" "更新量的因子",
    why "The update is a column times a row." "更新量为一列乘一行。",
    release "Nothing needs to: one row and one column." "无须释放：只有一行和一列。";

    REDUCTION_STAGING, "staging", "pytorch/aten/src/ATen/native/cuda/Reduce.cuh",
    name "staging of a sum over rows" "按行求和的中转缓冲",
    why "Thread blocks that share one output leave their parts in memory; it can be larger than the matrix." "共同计算同一输出的线程块把部分和写入显存；可能比矩阵本身还大。",
    release "A compiled optimizer step." "编译（compile）优化器更新。";

    MUON_UPDATE, "update", "pytorch/torch/optim/_muon.py",
    name "Muon's update" "Muon 的更新量",
    why "Momentum and gradient mixed (Nesterov), before it is made orthogonal: of the largest matrix." "动量与梯度混合（Nesterov），正交化之前：以最大的矩阵计。",
    release "Nothing in the optimizer: one matrix at a time." "优化器内无法避免：每次一个矩阵。";

    MUON_ORTHOGONAL, "ortho", "pytorch/torch/optim/_muon.py (_zeropower_via_newtonschulz)",
    name "matrix before and after an iteration" "迭代前后的矩阵",
    why "Newton–Schulz runs in bf16 and makes a new matrix from the last." "Newton–Schulz 以 bf16 运行，由上一个矩阵产生新矩阵。",
    release "Nothing in the optimizer: one matrix at a time." "优化器内无法避免：每次一个矩阵。";

    MUON_GRAM, "gram", "pytorch/torch/optim/_muon.py (_zeropower_via_newtonschulz)",
    name "product with its own transpose" "与自身转置的乘积",
    why "The iteration is a polynomial of it; as wide as the shorter side." "迭代是它的多项式；边长为矩阵的短边。",
    release "Nothing in the optimizer: one matrix at a time." "优化器内无法避免：每次一个矩阵。";

    PROJECTED_BACK, "projected_back", "pytorch_optimizer/optimizer/galore.py (project_back), apollo.py",
    name "update at full size" "全尺寸更新量",
    why "The low-rank update is brought back to the matrix's own size: of the largest matrix." "低秩更新量投影回矩阵自身大小：以最大的矩阵计。",
    release "Nothing in the optimizer: one matrix at a time." "优化器内无法避免：每次一个矩阵。";

    PROJECTED_UPDATE, "low_rank_update", "pytorch_optimizer/optimizer/galore.py, apollo.py",
    name "projected gradient and update" "投影后的梯度与更新量",
    why "Adam's step in the projected space." "投影空间中的 Adam 更新。",
    release "A smaller rank." "减小秩。";

    OUTPUT, "output", ENGINE,
    name "output of an operator" "算子输出",
    why "It lives until the last operator that reads it has run." "存活到最后一个读取它的算子执行完毕。",
    release "A fused kernel that never writes it, or fewer tokens." "用不写出它的融合算子，或减少词元数。";

    GRADIENT, "gradient", ENGINE,
    name "gradient of an activation" "激活值的梯度",
    why "It flows back through the operators and is freed as soon as the next one has read it." "沿算子反向传递，被下一个算子读取后立即释放。",
    release "Fewer tokens in a micro-batch." "减小单个微批的词元数。";

    SCRATCH, "scratch", ENGINE,
    name "scratch inside an operator" "算子内部的临时空间",
    why "The kernel needs it while it runs; only the allocator sees it." "内核运行期间需要；只有显存分配器能看到。",
    release "Another kernel." "换用其他内核。";

    WEIGHT_COPY, "autocast_weight", AUTOCAST,
    name "16-bit copy of a weight (autocast)" "权重的 16 位副本（autocast）",
    why "Autocast computes in 16 bit but the weight is fp32: each linear's weight is cast once and the copy is kept for backward." "autocast 以 16 位计算而权重是 fp32：每个线性层的权重被转换一次，副本保留到反向。",
    release "16-bit weights (pure bf16, or bf16 with a master copy) need no copy." "直接使用 16 位权重（纯 bf16，或 bf16 加主副本）则无需副本。";

    AUTOCAST_INPUT, "autocast_input", AUTOCAST,
    name "16-bit copy of a linear's input (autocast)" "线性层输入的 16 位副本（autocast）",
    why "Each linear casts the fp32 input for itself and keeps its own copy: only casts of weights are shared, so q, k and v keep three." "每个线性层各自转换 fp32 输入并各存一份：只有权重的转换会共享，所以 q、k、v 共存三份。",
    release "16-bit weights share one input; recomputation drops it." "使用 16 位权重时共用一份输入；重计算可去掉它。";

    LINEAR_INPUT, "input", AUTOGRAD,
    name "input of a linear" "线性层的输入",
    why "The gradient of the weight is (gradient of the output)ᵀ · input, so the input is kept; linears that read the same tensor share it." "权重梯度 =（输出梯度）ᵀ · 输入，因此要保留输入；读取同一张量的线性层共用一份。",
    release "Recomputation, or freezing the weight." "重计算，或冻结该权重。";

    LORA_INPUT, "adapter_input", "peft/tuners/lora/layer.py",
    name "adapter's own copy of its input" "适配器自己的输入副本",
    why "peft keeps adapters in fp32 over a 16-bit base, so each casts the input for itself and keeps the copy: targets that read the same tensor don't share it." "peft 在 16 位基座上以 fp32 保存适配器，因此每个适配器各自转换并保留输入；读取同一张量的多个目标也不共享。",
    release "lora_dtype=bf16 (autocast_adapter_dtype=False) shares the 16-bit input; fewer targets; recomputation drops it." "lora_dtype=bf16（autocast_adapter_dtype=False）可共用 16 位输入；减少目标模块；重计算可去掉它。";

    LORA_INNER, "adapter_inner", "peft/tuners/lora/layer.py",
    name "adapter's inner activation" "适配器的中间激活",
    why "It is the input of B, whose weight gradient reads it: one value a token and rank." "它是 B 的输入，权重梯度要读取它：每个词元、每个秩一个值。",
    release "A smaller rank; recomputation drops it." "减小秩；重计算可去掉它。";

    LORA_A, "", "Hu et al. 2021 (LoRA), arXiv:2106.09685; peft/tuners/lora/layer.py",
    name "adapter, down to the rank" "适配器 A（降到秩）",
    why "The first of the two small matrices that LoRA trains instead of the weight." "LoRA 代替权重训练的两个小矩阵中的第一个。",
    release "A smaller rank or fewer targets." "减小秩或减少目标模块。";

    LORA_B, "", "Hu et al. 2021 (LoRA), arXiv:2106.09685; peft/tuners/lora/layer.py",
    name "adapter, up from the rank" "适配器 B（从秩升回）",
    why "The second of the two small matrices that LoRA trains instead of the weight." "LoRA 代替权重训练的两个小矩阵中的第二个。",
    release "A smaller rank or fewer targets." "减小秩或减少目标模块。";

    MODULE_COPY, "", "peft/utils/other.py: ModulesToSaveWrapper",
    name "trained copy of a module" "模块的可训练副本",
    why "modules_to_save trains a copy of the module in the base's own type; the frozen original stays beside it." "modules_to_save 训练的是该模块的副本（类型与基座相同），冻结的原件仍然保留。",
    release "Fewer modules in modules_to_save." "减少 modules_to_save 中的模块。";

    NORM_FP32_INPUT, "fp32_input", MODELING,
    name "fp32 copy of the norm's input" "归一化输入的 fp32 副本",
    why "LlamaRMSNorm casts its 16-bit input to fp32 and two operators keep that copy: twice the size of the layer's own stream." "LlamaRMSNorm 先把 16 位输入转成 fp32，且有两个算子要保留它：是残差流自身大小的两倍。",
    release "A fused RMSNorm (Liger, Transformer Engine) keeps the 16-bit input instead; recomputation drops it." "融合的 RMSNorm（Liger、Transformer Engine）只保留 16 位输入；重计算可去掉它。";

    NORM_INPUT, "input", MODELING,
    name "input of the norm" "归一化的输入",
    why "Backward of x² and of x · rsqrt needs x; here the stream is fp32 already, so it is the tensor itself." "x² 与 x · rsqrt 的反向需要 x；此时残差流本就是 fp32，保留的就是它自身。",
    release "Recomputation." "重计算。";

    NORM_RSQRT, "rsqrt", MODELING,
    name "1/rms, one a token" "1/rms，每个词元一个",
    why "Backward of the normalisation reads it." "归一化的反向要读取它。",
    release "Nothing needs to: one value a row." "无须释放：每行只有一个值。";

    NORM_NORMALISED, "normalised", MODELING,
    name "normalised input" "归一化后的输入",
    why "The gradient of the norm's weight is the gradient times this." "归一化权重的梯度 = 输出梯度 × 它。",
    release "A fused RMSNorm recomputes it from the input; recomputation drops it." "融合的 RMSNorm 会从输入重新算出它；重计算可去掉它。";

    NORM_FP32_NORMALISED, "fp32_normalised", "transformers/models/gemma3/modeling_gemma3.py",
    name "normalised input in fp32" "fp32 的归一化结果",
    why "Gemma multiplies by 1 + weight before it casts back, so the normalised input is kept in fp32." "Gemma 在转换回低精度之前乘以 1 + weight，因此归一化结果以 fp32 保留。",
    release "A fused RMSNorm recomputes it from the input; recomputation drops it." "融合的 RMSNorm 会从输入重新算出它；重计算可去掉它。";

    NORM_ONE_PLUS_WEIGHT, "one_plus_weight", "transformers/models/gemma3/modeling_gemma3.py",
    name "1 + weight in fp32" "fp32 的 1 + weight",
    why "The gradient of the normalised input is multiplied by it." "归一化结果的梯度要乘以它。",
    release "Nothing needs to: one row." "无须释放：只有一行。";

    SINK_MAXIMUM, "sink_maximum", "transformers/models/gpt_oss/modeling_gpt_oss.py",
    name "where each row's largest score is" "每行最大分数的位置",
    why "The maximum that is taken off the scores keeps its index, as 64-bit integers." "减去的最大分数以 64 位整数保留其位置。",
    release "Recomputation." "重计算。";

    NORM_FP32_WEIGHT, "fp32_weight", "transformers/models/cohere/modeling_cohere.py",
    name "norm's weight in fp32" "fp32 的归一化权重",
    why "The gradient of the normalised input is multiplied by it." "归一化结果的梯度要乘以它。",
    release "Nothing needs to: one row." "无须释放：只有一行。";

    NORM_CENTRED, "centred", "transformers/models/cohere/modeling_cohere.py",
    name "input less its mean, in fp32" "减去均值的 fp32 输入",
    why "It is made once for the variance and once for the result, by Python operators; each keeps its own." "方差与结果各算一次，由 Python 逐算子完成，各自保留一份。",
    release "A fused LayerNorm; recomputation drops it." "融合的 LayerNorm；重计算可去掉它。";

    NORM_MEAN, "mean", AUTOGRAD,
    name "mean, one a token" "均值，每个词元一个",
    why "Backward of the layer norm reads it." "层归一化的反向要读取它。",
    release "Nothing needs to: one value a row." "无须释放：每行只有一个值。";

    NORM_RSTD, "rstd", AUTOGRAD,
    name "1/deviation, one a token" "1/标准差，每个词元一个",
    why "Backward of the layer norm reads it." "层归一化的反向要读取它。",
    release "Nothing needs to: one value a row." "无须释放：每行只有一个值。";

    QUERY, "query", AUTOGRAD,
    name "queries after rotary" "旋转位置编码后的 query",
    why "Backward of attention needs q, k and v." "注意力的反向需要 q、k、v。",
    release "Recomputation (selective is enough)." "重计算（选择性即可）。";

    KEY, "key", AUTOGRAD,
    name "keys after rotary" "旋转位置编码后的 key",
    why "Backward of attention needs q, k and v." "注意力的反向需要 q、k、v。",
    release "Recomputation (selective is enough); fewer key/value heads keep less." "重计算（选择性即可）；更少的 KV 头占用更小。";

    VALUE, "value", AUTOGRAD,
    name "values" "value",
    why "Backward of attention needs q, k and v." "注意力的反向需要 q、k、v。",
    release "Recomputation (selective is enough); fewer key/value heads keep less." "重计算（选择性即可）；更少的 KV 头占用更小。";

    ATTENTION_OUTPUT, "attention_output", AUTOGRAD,
    name "output of attention" "注意力输出",
    why "The fused kernel's backward and the output projection's weight gradient both read it; it is kept once." "融合内核的反向与输出投影的权重梯度都要读取它；只保留一份。",
    release "Recomputation." "重计算。";

    LOGSUMEXP, "logsumexp", AUTOGRAD,
    name "log-sum-exp of the scores" "注意力分数的 log-sum-exp",
    why "One fp32 per head and token stands for the s² probabilities that the kernel never writes." "每个头、每个词元一个 fp32，替代内核从不写出的 s² 个概率。",
    release "Recomputation." "重计算。";

    RNG_STATE, "rng_state", AUTOGRAD,
    name "random seed and offset" "随机种子与偏移",
    why "The kernel's backward repeats its dropout from them." "内核反向时据此重现 dropout。",
    release "Nothing needs to: a few bytes." "无须释放：只有几个字节。";

    EXPANDED_MASK, "expanded_mask", "transformers/integrations/sdpa_attention.py; pytorch/aten/src/ATen/native/transformers/attention.cpp",
    name "attention mask, as numbers" "注意力掩码（数值形式）",
    why "A sliding window (or padding) needs an explicit mask; the kernel turns it into numbers once per layer and keeps it: an s² tensor that flash attention was meant to avoid." "滑动窗口（或填充）需要显式掩码；内核在每一层都把它转成数值并保留：正是 flash attention 想避免的 s² 张量。",
    release "attention=flash has the window inside the kernel; sequences shorter than the window need no mask." "attention=flash 在内核中实现窗口；序列短于窗口时不需要掩码。";

    SOFT_CAP_TANH, "soft_cap", "transformers/models/gemma2/modeling_gemma2.py",
    name "soft-capped scores (tanh)" "软上限后的分数（tanh）",
    why "The soft cap passes the scores through tanh, which keeps its output: one more heads × s² tensor." "软上限让分数经过 tanh，而 tanh 保留其输出：又一个 头数 × s² 的张量。",
    release "A flash kernel with soft cap inside." "使用内置软上限的 flash 内核。";

    ROUTER_SOFTMAX, "router_softmax", "transformers/models/mixtral/modeling_mixtral.py",
    name "router's softmax" "路由 softmax",
    why "Softmax keeps its own output: an fp32 for each token and expert." "softmax 保留自身输出：每个词元、每个专家一个 fp32。",
    release "Recomputation." "重计算。";

    TOP_K_INDICES, "top_k_indices", AUTOGRAD,
    name "chosen experts" "选中的专家",
    why "topk keeps which experts it chose, as 64-bit integers." "topk 以 64 位整数保留所选专家。",
    release "Recomputation." "重计算。";

    TOP_K_WEIGHTS, "top_k_weights", AUTOGRAD,
    name "weights of the chosen experts" "所选专家的权重",
    why "The division that makes them sum to one keeps both of its operands." "归一化的除法保留两个操作数。",
    release "Recomputation." "重计算。";

    TOP_K_SUM, "top_k_sum", AUTOGRAD,
    name "sum of the chosen weights" "所选权重之和",
    why "The division that makes the weights sum to one keeps both of its operands." "归一化的除法保留两个操作数。",
    release "Recomputation." "重计算。";

    SHARED_GATE, "shared_gate", QWEN2_MOE,
    name "shared expert's gate" "共享专家的门控值",
    why "The product with the shared expert's output and the sigmoid keep it: one value a token." "它与共享专家输出的乘积及 sigmoid 都要保留它：每个词元一个值。",
    release "Recomputation." "重计算。";

    SHARED_OUTPUT, "shared_output", QWEN2_MOE,
    name "shared expert's output" "共享专家的输出",
    why "It is multiplied by its gate, whose gradient needs it." "它要乘以门控值，而门控值的梯度需要它。",
    release "Recomputation." "重计算。";

    ROUTE_INDEX, "route_index", MOE,
    name "order of the tokens' copies" "词元副本的排序索引",
    why "Each gather and each sort keeps its 64-bit index: one for each token and chosen expert." "每次收集与排序都保留其 64 位索引：每个词元、每个所选专家一个。",
    release "Recomputation; fused dispatch kernels keep 32-bit indices." "重计算；融合的分发内核使用 32 位索引。";

    SORTED_WEIGHTS, "sorted_weights", MOE,
    name "routing weights, sorted by expert" "按专家排序的路由权重",
    why "The experts' output is multiplied by them; the product keeps both factors." "专家输出要乘以它；乘积保留两个因子。",
    release "Recomputation." "重计算。";

    EXPERT_INPUT, "expert_input", MOE,
    name "tokens copied to their experts" "复制给各专家的词元",
    why "Each token is there once for every expert that serves it: the input of the experts' first product." "每个词元为其每个专家各有一份：专家第一个矩阵乘的输入。",
    release "Fewer experts per token; recomputation drops it." "减少每词元专家数；重计算可去掉它。";

    EXPERT_OFFSETS, "offsets", MOE,
    name "where each expert's tokens end" "各专家词元的结束位置",
    why "The grouped product reads it again in backward." "分组矩阵乘在反向时还要读取它。",
    release "Nothing needs to: 4 bytes an expert." "无须释放：每个专家 4 字节。";

    EXPERT_GATE_UP, "expert_gate_up", MOE,
    name "experts' gate and up in one tensor" "专家的 gate 与 up",
    why "One grouped product makes both; backward of the activation and of the product read its halves." "一个分组矩阵乘产生两者；激活与乘积的反向各读取一半。",
    release "A fused SwiGLU; recomputation drops it." "融合的 SwiGLU；重计算可去掉它。";

    EXPERT_ACTIVE, "expert_act", MOE,
    name "experts' gate after its activation" "专家激活函数后的 gate",
    why "The product act(gate) · up keeps both factors." "乘积 act(gate) · up 保留两个因子。",
    release "A fused SwiGLU; recomputation drops it." "融合的 SwiGLU；重计算可去掉它。";

    EXPERT_OPEN, "expert_open", GPT_OSS,
    name "experts' gate after its sigmoid" "专家 gate 的 sigmoid",
    why "The sigmoid and the product with the gate keep it." "sigmoid 以及与 gate 的乘积都要保留它。",
    release "A fused gate; recomputation drops it." "融合的门控；重计算可去掉它。";

    EXPERT_CLAMPED, "expert_clamped", GPT_OSS,
    name "experts' gate and up after their limits" "截断后的 gate 与 up",
    why "Products keep both factors: the clamped gate, and the clamped up plus one." "乘积保留两个因子：截断后的 gate，以及截断后的 up 加一。",
    release "A fused gate; recomputation drops it." "融合的门控；重计算可去掉它。";

    EXPERT_PRODUCT, "expert_product", MOE,
    name "experts' act(gate) · up" "专家的 act(gate) · up",
    why "It is the input of the experts' second product." "它是专家第二个矩阵乘的输入。",
    release "A fused SwiGLU; recomputation drops it." "融合的 SwiGLU；重计算可去掉它。";

    EXPERT_OUTPUT, "expert_output", MOE,
    name "experts' outputs" "专家输出",
    why "They are multiplied by the routing weights, whose gradient needs them: one a token and chosen expert." "它们要乘以路由权重，而权重的梯度需要它们：每个词元、每个所选专家一份。",
    release "Weighing inside a fused kernel; recomputation drops it." "在融合内核中加权；重计算可去掉它。";

    POSITION_BUCKETS, "position_buckets", T5,
    name "buckets of relative positions" "相对位置的分桶编号",
    why "Which row of its table the bias of each pair of tokens came from; the table's gradient needs it." "每对 token 的偏置取自表的哪一行；表的梯度需要它。",
    release "Recomputation." "重计算。";

    POSITION_BIAS, "position_bias", "transformers/integrations/sdpa_attention.py (create_position_bias_mask)",
    name "position bias, as the kernel reads it" "位置偏置（内核所读的形式）",
    why "Fused attention takes the bias as a mask, laid out in a row, and keeps it: an s² tensor in every layer." "融合注意力把偏置当作掩码读取，需要连续存放并保留：每层一个 s² 张量。",
    release "A shorter sequence, or recomputation." "更短的序列，或重计算。";

    CAUSAL_PAIRS, "causal_pairs", "transformers/integrations/sdpa_attention.py (create_position_bias_mask)",
    name "which token sees which" "可见关系",
    why "It chose between bias and nothing; backward chooses again. Made anew in every layer." "它在偏置与屏蔽之间作选择，反向时要再选一次；每层各造一份。",
    release "A shorter sequence, or recomputation." "更短的序列，或重计算。";

    CAUSAL_MASK, "causal_mask", "transformers/masking_utils.py",
    name "causal mask" "因果掩码",
    why "Eager attention adds it to the scores; one for all layers." "eager 注意力把它加到分数上；各层共用一份。",
    release "attention=sdpa or flash." "attention=sdpa 或 flash。";

    BOOL_MASK, "bool_mask", "transformers/masking_utils.py",
    name "mask of the sliding window" "滑动窗口掩码",
    why "Says which token sees which, one byte a pair; made once, held while layers run." "记录哪些词元可见，每对一字节；只生成一次，各层运行期间一直持有。",
    release "attention=flash has the window inside the kernel." "attention=flash 在内核中实现窗口。";

    POSITION_IDS, "position_ids", MODELING,
    name "position ids" "位置 id",
    why "Which position each token has; held while layers run." "每个词元的位置；各层运行期间一直持有。",
    release "Nothing needs to: 8 bytes a token of one sequence." "无须释放：一条序列每词元 8 字节。";

    SOFTMAX, "softmax", MODELING,
    name "attention probabilities, out of softmax" "softmax 输出的注意力概率",
    why "Softmax keeps its own output; eager attention in language models computes it in fp32: 4 bytes × heads × s²." "softmax 保留自身输出；语言模型的 eager 注意力以 fp32 计算它：4 字节 × 头数 × s²。",
    release "attention=sdpa or flash never writes it; selective recomputation drops it." "attention=sdpa 或 flash 从不写出它；选择性重计算可去掉它。";

    PROBABILITIES, "probabilities", MODELING,
    name "attention probabilities, as multiplied" "参与相乘的注意力概率",
    why "The product with the values keeps what it multiplied: the probabilities once more, in the compute dtype." "与 value 相乘的算子保留被乘数：以计算精度再存一份概率。",
    release "attention=sdpa or flash never writes it; selective recomputation drops it." "attention=sdpa 或 flash 从不写出它；选择性重计算可去掉它。";

    DROPOUT_MASK, "dropout_mask", AUTOGRAD,
    name "dropout mask" "dropout 掩码",
    why "One byte an element says what was dropped." "每个元素一字节，记录哪些被丢弃。",
    release "dropout=0, or attention=flash, which repeats it from a seed." "dropout=0，或 attention=flash（由种子重现）。";

    ROTARY_COS, "cos", MODELING,
    name "rotary cosines" "旋转位置余弦表",
    why "Backward of q·cos and k·cos reads them; one table for all layers." "q·cos、k·cos 的反向要读取；各层共用一张表。",
    release "A fused rotary kernel." "融合的旋转位置编码内核。";

    ROTARY_FREQUENCIES, "freqs_cis", "transformers/models/deepseek_v2/modeling_deepseek_v2.py",
    name "rotary frequencies, as complex numbers" "旋转位置频率（复数）",
    why "Backward of the rotation multiplies by them again; one table for all layers." "旋转的反向要再次乘以它；各层共用一张表。",
    release "A fused rotary kernel." "融合的旋转位置编码内核。";

    ROTARY_SIN, "sin", MODELING,
    name "rotary sines" "旋转位置正弦表",
    why "Backward of rotate(q)·sin and rotate(k)·sin reads them; one table for all layers." "rotate(q)·sin、rotate(k)·sin 的反向要读取；各层共用一张表。",
    release "A fused rotary kernel." "融合的旋转位置编码内核。";

    MLP_GATE, "gate", AUTOGRAD,
    name "gate before its activation" "激活函数前的 gate",
    why "Backward of the activation function needs its input." "激活函数的反向需要其输入。",
    release "A fused SwiGLU recomputes the activation; recomputation drops it." "融合的 SwiGLU 会重算激活；重计算可去掉它。";

    MLP_ACTIVE, "act", AUTOGRAD,
    name "gate after its activation" "激活函数后的 gate",
    why "The product act(gate) · up keeps both factors." "乘积 act(gate) · up 保留两个因子。",
    release "A fused SwiGLU recomputes it from the gate; recomputation drops it." "融合的 SwiGLU 由 gate 重算；重计算可去掉它。";

    MLP_UP, "up", AUTOGRAD,
    name "up projection" "up 投影",
    why "The product act(gate) · up keeps both factors." "乘积 act(gate) · up 保留两个因子。",
    release "Recomputation." "重计算。";

    MLP_PRODUCT, "product", AUTOGRAD,
    name "act(gate) · up" "act(gate) · up",
    why "It is the input of the down projection, whose weight gradient reads it." "它是 down 投影的输入，权重梯度要读取它。",
    release "A fused SwiGLU recomputes it; recomputation drops it." "融合的 SwiGLU 会重算；重计算可去掉它。";

    MLP_GATE_UP, "gate_up", AUTOGRAD,
    name "gate and up in one tensor" "合并的 gate 与 up",
    why "One projection makes both; the whole stays while the activation or the product needs a half." "一个投影同时产生两者；只要激活或乘积还需要其中一半，整体就会保留。",
    release "A fused SwiGLU keeps it once and recomputes the rest; recomputation drops it." "融合的 SwiGLU 只保留它一份并重算其余；重计算可去掉它。";

    MLP_PRE_ACT, "pre_act", AUTOGRAD,
    name "input of the activation function" "激活函数的输入",
    why "Backward of the activation function needs its input." "激活函数的反向需要其输入。",
    release "Recomputation." "重计算。";

    GELU_TANH, "tanh", "transformers/activations.py (NewGELUActivation)",
    name "tanh inside gelu_new" "gelu_new 内部的 tanh",
    why "gelu_new is written in Python operators, each of which keeps what it needs: tanh its output." "gelu_new 由多个 Python 算子组成，各自保留所需：tanh 保留其输出。",
    release "A GELU kernel (gelu_pytorch_tanh) keeps only its input; recomputation drops it." "使用 GELU 内核（gelu_pytorch_tanh）只保留输入；重计算可去掉它。";

    GELU_HALF, "half_x", "transformers/activations.py (NewGELUActivation)",
    name "0.5 · x inside gelu_new" "gelu_new 内部的 0.5 · x",
    why "gelu_new is written in Python operators: the last product keeps both factors." "gelu_new 由多个 Python 算子组成：最后的乘积保留两个因子。",
    release "A GELU kernel (gelu_pytorch_tanh) keeps only its input; recomputation drops it." "使用 GELU 内核（gelu_pytorch_tanh）只保留输入；重计算可去掉它。";

    GELU_SHIFTED, "one_plus_tanh", "transformers/activations.py (NewGELUActivation)",
    name "1 + tanh inside gelu_new" "gelu_new 内部的 1 + tanh",
    why "gelu_new is written in Python operators: the last product keeps both factors." "gelu_new 由多个 Python 算子组成：最后的乘积保留两个因子。",
    release "A GELU kernel (gelu_pytorch_tanh) keeps only its input; recomputation drops it." "使用 GELU 内核（gelu_pytorch_tanh）只保留输入；重计算可去掉它。";

    LAYER_INPUT, "layer_input", "pytorch/torch/utils/checkpoint.py",
    name "layer input kept for recomputation" "为重计算保留的层输入",
    why "With full recomputation only this is kept of a layer; its backward runs the layer's forward again from it." "完全重计算时每层只保留它；反向时由它重新执行该层前向。",
    release "Offloading it to the host, or sequence parallelism." "卸载到主机内存，或序列并行。";

    RETURNED_INPUT, "returned_input", "ArcticTraining/arctic_training/monkey_patches.py (CheckpointFunctionWithCPUOffload)",
    name "layer input copied back from the host" "从主机拷回的层输入",
    why "Offloading keeps the layer's input in host memory; its backward copies it back, recomputes from it, and holds it until it is through." "卸载把层输入放在主机内存；反向时拷回，由它重算，并持有到该层反向结束。",
    release "Nothing needs to: one layer's at a time." "无须释放：每次只有一层的。";

    LOG_SOFTMAX, "log_softmax", "transformers/loss/loss_utils.py; pytorch/aten/src/ATen/native/LossNLL.cpp",
    name "log-softmax over the vocabulary, in fp32" "词表上的 fp32 log-softmax",
    why "Cross entropy keeps its log-probabilities for every token: 4 bytes × tokens × vocabulary. Backward makes two more of that size." "交叉熵为每个词元保留对数概率：4 字节 × 词元数 × 词表大小。反向时还会再产生两份同样大小的张量。",
    release "A fused or chunked loss (Liger, cut cross-entropy) never holds it; fewer tokens in a micro-batch." "融合或分块损失（Liger、cut cross-entropy）不会持有它；减小微批词元数。";

    LOGITS_TANH, "soft_cap", "transformers/models/gemma2/modeling_gemma2.py",
    name "soft-capped logits (tanh)" "软上限后的 logits（tanh）",
    why "The soft cap passes the logits through tanh, which keeps its output: one more tokens × vocabulary tensor." "软上限让 logits 经过 tanh，而 tanh 保留其输出：又一个 词元数 × 词表 的张量。",
    release "A fused loss with soft cap inside (Liger)." "使用内置软上限的融合损失（Liger）。";

    POOLER_TANH, "pooler_tanh", "transformers/models/bert/modeling_bert.py",
    name "pooled first token (tanh)" "池化后的首词元（tanh）",
    why "Backward of tanh reads its output: one vector a sequence." "tanh 的反向需要其输出：每条序列一个向量。",
    release "Nothing needs to: it is small." "无须释放：它很小。";

    EARLY_INPUT_GRADIENT, "early_input_gradient", "liger_kernel/ops/fused_linear_cross_entropy.py",
    name "gradient of the head's input, made in forward" "前向中算出的输出头输入梯度",
    why "A fused loss makes its gradients while it has the logits of a few tokens, and keeps them instead of the logits." "融合损失在持有少量词元的 logits 时就算出梯度，保留梯度而非 logits。",
    release "Nothing needs to: as large as the residual stream." "无须释放：与残差流一样大。";

    EARLY_WEIGHT_GRADIENT, "early_weight_gradient", "liger_kernel/ops/fused_linear_cross_entropy.py",
    name "gradient of the head, made in forward" "前向中算出的输出头权重梯度",
    why "A fused loss makes the gradient of the output embedding in forward, so it lives from there on instead of from backward." "融合损失在前向就算出输出头的梯度，因此它从前向而非反向开始存在。",
    release "A frozen head (LoRA) has none." "冻结输出头（LoRA）则没有。";

    SHIFTED_LABELS, "labels", "transformers/loss/loss_utils.py",
    name "shifted labels" "错位后的标签",
    why "Backward of the loss reads which token was right." "损失的反向要读取正确词元。",
    release "Nothing needs to: 8 bytes a token." "无须释放：每词元 8 字节。";

    TOTAL_WEIGHT, "total_weight", AUTOGRAD,
    name "number of counted tokens" "计入损失的词元数",
    why "The loss is a mean; backward divides by it." "损失取平均；反向时要除以它。",
    release "Nothing needs to: one number." "无须释放：一个数。";
}
