//! Sentences about out-of-memory messages.

use super::Text;
use crate::doctor::message::{Backend, Host, Kind, When};

// What was understood.

/// Heading.
pub const UNDERSTOOD: Text = Text::new("What the message says", "报错内容");
/// Nothing was.
pub const NOTHING: Text = Text::new(
    "No out-of-memory message, memory report or nvidia-smi table was recognised in this text.",
    "未在这段文字中识别出显存不足报错、显存日志或 nvidia-smi 表格。",
);
/// Row: whose message.
pub const FROM: Text = Text::new("reported by", "报错来源");
/// Row: rank.
pub const RANK: Text = Text::new("rank", "进程 rank");
/// Row: device.
pub const DEVICE: Text = Text::new("device", "设备编号");
/// Row: what was asked.
pub const ASKED: Text = Text::new("asked for", "本次申请");
/// Row: tensors.
pub const ALLOCATED: Text = Text::new("held by tensors", "张量已占用");
/// Row: the allocator.
pub const RESERVED: Text = Text::new("held by the allocator", "分配器已持有");
/// Row: free.
pub const FREE: Text = Text::new("free on the card", "卡上空闲");
/// Row: the card.
pub const CAPACITY: Text = Text::new("the card", "显存容量");
/// Row: a limit.
pub const ALLOWED: Text = Text::new("limit of the process", "进程上限");
/// Row: the process.
pub const IN_USE: Text = Text::new("held by the process", "本进程占用");
/// Row: others.
pub const OTHERS: Text = Text::new("held by other processes", "其他进程占用");
/// Row: a shape.
pub const SHAPE: Text = Text::new("shape", "形状");
/// Row: the part of the run.
pub const WHEN: Text = Text::new("when", "发生阶段");
/// Row: the line.
pub const PLACE: Text = Text::new("where", "代码位置");
/// Row: repetitions.
pub const TIMES: Text = Text::new("said", "出现次数");
/// So many times.
pub const TIMES_OVER: Text = Text::new("{times} times", "{times} 次");
/// A file and its line.
pub const FILE_LINE: Text =
    Text::new("{file}, line {line}, in {function}", "{file} 第 {line} 行，{function}");
/// A file without its line.
pub const FILE_ONLY: Text = Text::new("{file}, in {function}", "{file}，{function}");
/// Heading of further failures.
pub const MORE_FAILURES: Text = Text::new("Other failures in the text", "文中其他报错");
/// Heading of settings.
pub const SETTINGS: Text = Text::new("Settings that the text names", "文中提到的设置");
/// Heading of reports.
pub const READINGS: Text = Text::new("Memory reports on the way", "过程中的显存日志");
/// Column: who reported, and when.
pub const REPORTED: Text = Text::new("report", "来源与时刻");
/// Heading of cards.
pub const CARDS: Text = Text::new("Cards (nvidia-smi)", "显卡（nvidia-smi）");
/// Heading of buffers.
pub const BUFFERS: Text = Text::new("The largest buffers by XLA's own list", "XLA 列出的最大缓冲区");
/// Heading of the findings.
pub const MEANS: Text = Text::new("What it means", "含义");
/// Heading of the candidates.
pub const WHICH: Text = Text::new("Which tensor that was", "对应哪个张量");
/// No tensor fits.
pub const NONE_FITS: Text = Text::new(
    "No tensor of this configuration has this size, at its own or at another batch or sequence length: the run differs from the configuration (model, precision, sharding), or the tensor belongs to something else.",
    "该配置中没有任何张量（包括换用其他批大小或序列长度时）符合这一大小：实际运行与配置不同（模型、精度、切分方式），或该张量属于其他程序。",
);
/// Without a configuration.
pub const NAME_THE_RUN: Text = Text::new(
    "With the run's configuration beside it, the tensor that failed to fit is named.",
    "若同时给出运行配置，即可指出是哪个张量放不下。",
);
/// Column: fit.
pub const FIT: Text = Text::new("Fits", "符合条件");
/// Column: asked in.
pub const IN: Text = Text::new("Asked for in", "申请阶段");
/// Column: how many.
pub const COUNT: Text = Text::new("Count", "数量");
/// At the configuration's sizes.
pub const FITS_HERE: Text = Text::new("exactly", "正好");
/// In another element type.
pub const FITS_AS: Text = Text::new("as {dtype}", "以 {dtype} 存储时");
/// At another batch.
pub const FITS_BATCH: Text = Text::new("at batch {batch}", "批大小为 {batch} 时");
/// At another length.
pub const FITS_SEQ: Text = Text::new("at {seq} tokens", "序列长 {seq} 时");
/// Lengths that all fit.
pub const FITS_SEQS: Text = Text::new("at {low}–{high} tokens", "序列长 {low}–{high} 时");
/// The message's size fits many.
pub const VAGUE: Text = Text::new(
    "PyTorch asks for memory in steps: this size stands for any request up to {size}, so what fits is only one of many.",
    "PyTorch 按档位申请显存：这一大小可对应不超过 {size} 的任何请求，因此下列只是众多可能之一。",
);
/// The likeliest tensor, in a sentence.
pub const LIKELIEST: Text = Text::new(
    "Most likely {name} ({what}), {size}, asked for in: {phase}.",
    "最可能是 {name}（{what}），{size}，在{phase}时申请。",
);
/// The same at another batch or length.
pub const LIKELIEST_IF: Text = Text::new(
    "Most likely {name} ({what}) {fit}, {size}, asked for in: {phase}. The run differs from the configuration in this.",
    "最可能是 {name}（{what}），{fit}为 {size}，在{phase}时申请：实际运行在这一点上与配置不同。",
);
/// Between why and release.
pub const WHY: Text = Text::new("Why: {why}", "原因：{why}");
/// What releases it.
pub const RELEASE: Text = Text::new("What releases it: {release}", "如何省掉：{release}");

/// Whose message it is.
pub const fn kind(kind: Kind) -> Text {
    match kind {
        Kind::Torch(Backend::Cuda) => Text::new("PyTorch on CUDA", "PyTorch（CUDA）"),
        Kind::Torch(Backend::CudaAsync) => {
            Text::new("PyTorch on CUDA (cudaMallocAsync)", "PyTorch（CUDA，cudaMallocAsync）")
        }
        Kind::Torch(Backend::Hip) => Text::new("PyTorch on AMD (HIP)", "PyTorch（AMD，HIP）"),
        Kind::Torch(Backend::Xpu) => Text::new("PyTorch on Intel (XPU)", "PyTorch（Intel，XPU）"),
        Kind::Torch(Backend::Npu) => Text::new("PyTorch on Ascend (NPU)", "PyTorch（昇腾，NPU）"),
        Kind::Torch(Backend::Mps) => Text::new("PyTorch on Apple (MPS)", "PyTorch（Apple，MPS）"),
        Kind::Torch(Backend::Other) => Text::new("PyTorch on another device", "PyTorch（其他设备）"),
        Kind::Driver => Text::new("the driver, without numbers", "驱动（未给出数值）"),
        Kind::Library => {
            Text::new("a library of the card (cuBLAS, cuDNN, …)", "显卡计算库（cuBLAS、cuDNN 等）")
        }
        Kind::Nccl => Text::new("NCCL, the communication library", "通信库 NCCL"),
        Kind::Bitsandbytes => Text::new("bitsandbytes", "bitsandbytes"),
        Kind::Mlx => Text::new("MLX on Apple's chips", "Apple 芯片上的 MLX"),
        Kind::OnChip => Text::new("Triton: a kernel's memory on the chip", "Triton：内核的片上内存"),
        Kind::Xla => Text::new("XLA on a GPU (JAX)", "GPU 上的 XLA（JAX）"),
        Kind::Tpu => Text::new("XLA on a TPU", "TPU 上的 XLA"),
        Kind::TensorFlow => Text::new("TensorFlow", "TensorFlow"),
        Kind::Paddle => Text::new("PaddlePaddle", "飞桨 PaddlePaddle"),
        Kind::MindSpore => Text::new("MindSpore", "昇思 MindSpore"),
        Kind::Host(Host::Refused) => Text::new("the host: a request was refused", "主机内存：申请被拒绝"),
        Kind::Host(Host::Killed) => Text::new("the host: the process was killed", "主机：进程被杀死"),
        Kind::Host(Host::Shared) => Text::new("the host: shared memory ran out", "主机：共享内存不足"),
    }
}

/// A part of the run, as a noun.
pub const fn when(when: When) -> Text {
    match when {
        When::Loading => Text::new("loading the model", "加载模型"),
        When::Setup => Text::new("setting up model and optimizer", "初始化模型与优化器"),
        When::Forward => Text::new("forward", "前向"),
        When::Loss => Text::new("loss", "损失计算"),
        When::Backward => Text::new("backward", "反向"),
        When::Step => Text::new("optimizer step", "优化器更新"),
        When::Evaluation => Text::new("evaluation", "评估或生成"),
        When::Saving => Text::new("saving a checkpoint", "保存检查点"),
    }
}

// Findings.

/// The host refused.
pub const HOST_REFUSED: Text = Text::new(
    "It was the machine's own memory that ran out, not the card's. Load weights lazily (safetensors, low_cpu_mem_usage), load them in one process, offload less, or use fewer data workers.",
    "耗尽的是主机内存而非显存。可用惰性加载（safetensors、low_cpu_mem_usage）、只在一个进程中加载权重、减少卸载，或减少数据加载进程。",
);
/// The host killed.
pub const HOST_KILLED: Text = Text::new(
    "The process was ended from outside, which almost always means that the machine (or its container or job) ran out of main memory; the card's memory had no part in it. Each rank that loads the whole model takes its size in main memory once; offloaded optimizer states and gradients live there too. `dmesg` or the batch system tells for certain.",
    "进程是被外部终止的，几乎总是因为主机（或容器、作业）内存耗尽，与显存无关。每个完整加载模型的进程都要占用一份主机内存；卸载的优化器状态和梯度也在其中。可用 dmesg 或作业系统日志确认。",
);
/// Shared memory.
pub const HOST_SHARED: Text = Text::new(
    "Data loading workers hand batches over in /dev/shm, and that is too small (64 MB by default in Docker): start the container with --shm-size or --ipc=host, or use fewer workers.",
    "数据加载进程通过 /dev/shm 传递批次，而它太小（Docker 默认 64 MB）：请用 --shm-size 或 --ipc=host 启动容器，或减少 num_workers。",
);
/// No numbers.
pub const NO_NUMBERS: Text = Text::new(
    "The message has no sizes. The driver reports late: the line of the traceback may be a later one than the line that asked (CUDA_LAUNCH_BLOCKING=1 tells). A card that another process has filled looks the same; see nvidia-smi.",
    "报错没有给出大小。驱动的报告有延迟，回溯中的代码行可能晚于真正申请的那一行（可设 CUDA_LAUNCH_BLOCKING=1 确认）。显卡被其他进程占满时也是如此，请查看 nvidia-smi。",
);
/// A library without memory.
pub const NO_NUMBERS_LIBRARY: Text = Text::new(
    "A library asked the driver for its own workspace and got none: PyTorch's allocator has taken the whole card. Leave some room, by a smaller batch or by PYTORCH_NO_CUDA_MEMORY_CACHING, set_per_process_memory_fraction or garbage_collection_threshold.",
    "计算库向驱动申请自己的工作区而失败：PyTorch 分配器已占满整张卡。请留出余量：减小批大小，或使用 set_per_process_memory_fraction、garbage_collection_threshold。",
);
/// NCCL without memory.
pub const NO_NUMBERS_NCCL: Text = Text::new(
    "NCCL asked the driver for its buffers and got none: they lie outside PyTorch's allocator, which has taken the rest of the card. Create communicators early (before the model), use fewer of them, lower NCCL_BUFFSIZE, or leave more room.",
    "NCCL 向驱动申请通信缓冲区而失败：它在 PyTorch 分配器之外，而分配器已占去其余显存。可尽早（在建模型之前）创建通信组、减少通信组、调小 NCCL_BUFFSIZE，或留出更多余量。",
);
/// Memory on the chip.
pub const ON_CHIP: Text = Text::new(
    "This is not the card's memory: one kernel wants more of the fast memory on the chip (“shared memory”) than this GPU has. Batch and sequence play no part: smaller blocks or fewer num_stages, a head dimension that the kernel knows, or another kernel.",
    "这不是显存不足：某个内核需要的片上共享内存（shared memory）超过了此 GPU 的上限。与批大小、序列长度无关：请减小分块或 num_stages、使用该内核支持的头维度，或换用其他内核。",
);
/// Larger than the card.
pub const LARGER_THAN_CARD: Text = Text::new(
    "This one request of {asked} is larger than the whole card ({capacity}): nothing else that is freed can help. Such a tensor usually grows with the square of the sequence (scores of eager attention), or with the vocabulary (logits), or is one flat buffer of all weights.",
    "仅这一次申请（{asked}）就超过整张卡（{capacity}），释放其他内容无济于事。这样的张量通常随序列长度平方增长（eager 注意力的分数）、随词表增长（logits），或是全部权重拼成的一块缓冲区。",
);
/// A little short.
pub const SHORT_LITTLE: Text = Text::new(
    "{asked} were asked for and {free} were free: {missing} short. That is little: a slightly shorter sequence or a switch that costs nothing may do.",
    "申请 {asked}，空闲 {free}，差 {missing}。差得很少：略微缩短序列，或打开一个无代价的选项即可能够用。",
);
/// Much short.
pub const SHORT: Text = Text::new(
    "{asked} were asked for and {free} were free: {missing} short.",
    "申请 {asked}，空闲 {free}，差 {missing}。",
);
/// Refused though free.
pub const REFUSED: Text = Text::new(
    "{free} were free, more than the {asked} that were asked for, and still it was refused. Then something else limits: a limit of the process, WSL or Windows, a busy neighbour that freed its memory in between, or (in older versions) that the request needs one free piece.",
    "空闲 {free}，多于申请的 {asked}，仍被拒绝。此时另有限制：进程上限、WSL 或 Windows 的限制、其他进程恰在此刻释放，或（旧版本中）需要一整块连续显存。",
);
/// A limit.
pub const LIMITED: Text = Text::new(
    "The process may use only {allowed} of the card (set_per_process_memory_fraction, or a high watermark on MPS).",
    "进程只被允许使用 {allowed}（set_per_process_memory_fraction，或 MPS 的高水位线）。",
);
/// In pieces.
pub const FRAGMENTED: Text = Text::new(
    "The allocator holds {idle} that no tensor uses, more than the {asked} asked for: it is in pieces. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True joins them.",
    "分配器持有 {idle} 未被任何张量使用，超过申请的 {asked}：它们是碎片。设置 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True 可将其拼合。",
);
/// Idle, though not enough.
pub const IDLE: Text = Text::new(
    "The allocator holds {idle} that no tensor uses. It would not have sufficed for the {asked} asked for, but expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) give much of it back.",
    "分配器持有 {idle} 未被任何张量使用。虽不足以满足申请的 {asked}，但使用可扩展段（PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True）可收回其中大部分。",
);
/// CUDA graphs.
pub const GRAPHS: Text = Text::new(
    "{private} lie in pools of CUDA graphs, which nothing else may use: torch.compile with mode=\"reduce-overhead\" or captured graphs keep them.",
    "{private} 位于 CUDA Graph 的私有池中，其他部分无法使用：来自 torch.compile 的 reduce-overhead 模式或手动捕获的图。",
);
/// Others.
pub const SHARED: Text = Text::new(
    "Other processes hold {bytes} of the card ({processes}): left over from an earlier run, or another user's.",
    "其他进程占用了 {bytes}（{processes}）：可能是之前运行的残留，或其他用户的程序。",
);
/// One process.
pub const PROCESS: Text = Text::new("process {pid}: {bytes}", "进程 {pid}：{bytes}");
/// And more processes.
pub const MORE_PROCESSES: Text = Text::new("and {count} more", "另有 {count} 个");
/// Nobody's.
pub const UNACCOUNTED: Text = Text::new(
    "{bytes} of the card are neither free nor held by this allocator: other processes (see nvidia-smi), or this one's CUDA context, NCCL and libraries.",
    "卡上有 {bytes} 既不空闲、也不在本分配器中：可能是其他进程（见 nvidia-smi），或本进程的 CUDA 上下文、NCCL 与计算库。",
);
/// Outside the allocator.
pub const OUTSIDE: Text = Text::new(
    "The process holds {bytes} beside its allocator (CUDA context, NCCL buffers, cuBLAS and other libraries, Triton): more than usual.",
    "进程在分配器之外还占用 {bytes}（CUDA 上下文、NCCL 缓冲区、cuBLAS 等计算库、Triton），多于通常情况。",
);
/// Beyond the card.
pub const SPILLED: Text = Text::new(
    "{allocated} are allocated on a card of {capacity}: the driver has moved the rest to main memory (Windows, or a unified memory), which is slow; the run is far too large for the card.",
    "{capacity} 的卡上分配了 {allocated}：驱动已把超出部分放到主机内存（Windows 共享显存或统一内存），速度很慢；该任务远超此卡容量。",
);
/// Loading.
pub const WHILE_LOADING: Text = Text::new(
    "It failed before training began: batch and sequence play no part. Load in 16 bit or quantised, shard the weights (FSDP, ZeRO-3) or keep them on the host until they are sharded, and see that no two ranks load to the same card.",
    "失败发生在训练开始之前，与批大小和序列长度无关。请以 16 位或量化方式加载，切分权重（FSDP、ZeRO-3），或先留在主机内存直到切分完毕；并确认没有两个进程加载到同一张卡。",
);
/// Evaluation.
pub const IN_EVALUATION: Text = Text::new(
    "It failed in evaluation or generation, of which the estimate knows nothing: a smaller evaluation batch (per_device_eval_batch_size), eval_accumulation_steps, or no logits kept for metrics (preprocess_logits_for_metrics).",
    "失败发生在评估或生成阶段，估算不涉及此阶段：请减小评估批大小（per_device_eval_batch_size）、设置 eval_accumulation_steps，或不保留用于指标的 logits（preprocess_logits_for_metrics）。",
);
/// The step.
pub const FIRST_STEP: Text = Text::new(
    "It failed in the optimizer step. States are made in the first one, so forward and backward fitting proves nothing; batch and sequence matter little here: an 8-bit or sharded optimizer does.",
    "失败发生在优化器更新。优化器状态在第一步才创建，因此前向和反向能跑通并不说明够用；此处批大小与序列长度影响很小，应使用 8 位或切分的优化器。",
);
/// Several ranks.
pub const RANKS: Text = Text::new("Ranks {ranks} failed.", "rank {ranks} 均失败。");
/// Another card.
pub const OTHER_CARD: Text = Text::new(
    "The message is from a card of {theirs}; the configuration is for one of {ours}.",
    "报错来自 {theirs} 的卡，而配置是 {ours} 的卡。",
);
/// More than estimated.
pub const MORE_THAN_ESTIMATED: Text = Text::new(
    "With this request the run's tensors would have been {held}; this configuration explains {peak} at its peak. {more} come from elsewhere: another batch or length, another switch, a second model, or tensors that the program keeps.",
    "加上这次申请，张量共需 {held}；而该配置的峰值只有 {peak}。多出的 {more} 另有来源：批大小或长度不同、选项不同、还有第二个模型，或程序保留了张量。",
);
/// It should fit.
pub const SHOULD_FIT: Text = Text::new(
    "By the estimate this configuration needs {device} on the device, which the card ({capacity}) has: the failure has another reason, or the run another configuration.",
    "按估算，该配置整卡占用 {device}，此卡（{capacity}）应当放得下：失败另有原因，或实际运行的配置不同。",
);
/// Still to come.
pub const PEAK_TO_COME: Text = Text::new(
    "With this request the run's tensors would have been {held}; the estimate's peak is {peak}, by the same counter. Room for this request alone is not enough: {more} more are needed later.",
    "加上这次申请，张量共需 {held}；按同一口径，估算峰值为 {peak}。只为这次申请腾出空间并不够：之后还需要 {more}。",
);
/// As estimated.
pub const AS_ESTIMATED: Text = Text::new(
    "With this request the run's tensors would have been {held}; the estimate's peak is {peak}, by the same counter: the configuration explains the failure.",
    "加上这次申请，张量共需 {held}；按同一口径，估算峰值为 {peak}：该配置足以解释这次失败。",
);
