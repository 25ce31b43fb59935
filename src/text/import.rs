//! Sentences about files of other programs: what was understood of them, what not, and what was assumed.

use super::{Lang, Text};
use crate::import::{Format, Import, Unreadable, Why};
use crate::units::thousands;

/// A format's name.
pub const fn format(format: Format) -> Text {
    match format {
        Format::Own => Text::new("a configuration of trainmem", "trainmem 的配置"),
        Format::ConfigJson => Text::new("a model's config.json", "模型的 config.json"),
        Format::Deepspeed => Text::new("DeepSpeed JSON", "DeepSpeed JSON"),
        Format::Accelerate => Text::new("accelerate's YAML", "accelerate 的 YAML"),
        Format::TrainingArguments => {
            Text::new("transformers' TrainingArguments", "transformers 的 TrainingArguments")
        }
        Format::Command => Text::new(
            "a command with transformers' TrainingArguments",
            "带 transformers TrainingArguments 的命令",
        ),
        Format::LlamaFactory => Text::new("LLaMA-Factory's YAML", "LLaMA-Factory 的 YAML"),
        Format::Axolotl => Text::new("axolotl's YAML", "axolotl 的 YAML"),
        Format::Torchtitan => Text::new("torchtitan's TOML", "torchtitan 的 TOML"),
        Format::Megatron => Text::new("a Megatron-LM command", "Megatron-LM 命令"),
    }
}

/// Why a setting was not taken over.
pub const fn why(why: Why) -> Text {
    match why {
        Why::Unknown => Text::new("not known here", "无法识别"),
        Why::Harmless => Text::new("changes no memory", "不影响显存"),
        Why::Automatic => Text::new("auto: decided elsewhere", "auto：由别处决定"),
        Why::Variable => Text::new("a variable that is not set here", "此处未赋值的变量"),
        Why::Elsewhere => Text::new("another file, import it as well", "指向另一个文件，请一并导入"),
        Why::Unsupported(what) => what,
    }
}

// Why a setting that matters was not taken over.

/// A value without a counterpart.
pub const OTHER_VALUE: Text = Text::new("this value has no counterpart here", "该取值没有对应项");
/// An option without a key.
pub const NO_KEY: Text =
    Text::new("moves memory, but no key here says it", "会影响显存，但这里没有对应的配置项");
/// An optimizer that is not modelled.
pub const OPTIMIZER: Text = Text::new("this optimizer is not modelled", "未支持该优化器");
/// A name that means no shipped model.
pub const UNKNOWN_MODEL: Text = Text::new(
    "no shipped model of this name; import its config.json as well",
    "没有同名的内置模型，请一并导入它的 config.json",
);
/// A model's name beside its whole description.
pub const MODEL_BY_FILE: Text =
    Text::new("the model's own description is used instead", "已改用模型自身的描述");
/// Master weights of 16 bits.
pub const MASTER_IN_16_BIT: Text =
    Text::new("master weights in 16 bit have no key here", "16 位主权重没有对应的配置项");
/// NVIDIA's apex.
pub const APEX: Text = Text::new("apex amp is not modelled", "未支持 apex amp");
/// Offloading at a stage that has none.
pub const OFFLOAD_NEEDS_STAGE: Text =
    Text::new("DeepSpeed offloads this only at a higher stage", "DeepSpeed 仅在更高阶段卸载此项");
/// `DeepSpeed`'s activation checkpointing.
pub const OWN_CHECKPOINTING: Text = Text::new(
    "takes effect only where the model's code calls DeepSpeed's checkpointing",
    "仅当模型代码调用 DeepSpeed 的检查点函数时生效",
);
/// A batch size that is searched for.
pub const FOUND_AT_RUN_TIME: Text =
    Text::new("the batch size is found at run time", "批大小在运行时搜索得到");
/// Some modules only.
pub const SOME_MODULES: Text =
    Text::new("which modules are meant has no key here", "具体模块没有对应的配置项");
/// A rank of projections.
pub const PROJECTION_RANK: Text = Text::new("the projection's rank is 128 here", "这里的投影秩固定为 128");
/// unsloth.
pub const UNSLOTH: Text = Text::new("unsloth's kernels are not modelled", "未支持 unsloth 算子");
/// `DoRA`.
pub const DORA: Text = Text::new("DoRA is not modelled", "未支持 DoRA");
/// Training with more than one model.
pub const MORE_MODELS: Text = Text::new(
    "preference and reward training run more than one forward pass; one is counted",
    "偏好与奖励训练不止一次前向；这里只计一次",
);
/// fp8 of a trainer.
pub const FP8: Text = Text::new("fp8 is modelled for Megatron's kernels only", "fp8 仅支持 Megatron 的算子");
/// torchao's float8.
pub const FLOAT8: Text = Text::new("float8 of torchao is not modelled", "未支持 torchao 的 float8");
/// axolotl's LoRA kernels.
pub const LORA_KERNELS: Text = Text::new("fused LoRA kernels are not modelled", "未支持融合 LoRA 算子");
/// Recomputation in pieces.
pub const RECOMPUTED_PIECES: Text = Text::new(
    "recomputed pieces of several layers, or layers per stage, have no key here",
    "多层一段或按阶段计的重计算没有对应的配置项",
);
/// Two probabilities of dropout.
pub const ONE_DROPOUT: Text =
    Text::new("there is one dropout here for both places", "这里两处共用一个 dropout");
/// A global batch that does not divide.
pub const DOES_NOT_DIVIDE: Text = Text::new(
    "the global batch is not a multiple of micro-batch × data-parallel ranks",
    "全局批大小不是微批次 × 数据并行数的整数倍",
);
/// A global batch without the number of GPUs.
pub const NEEDS_GPUS: Text =
    Text::new("to divide it, the number of GPUs must be given (gpus=…)", "需给出 GPU 数（gpus=…）才能拆分");

// Whose defaults are used.

/// Nothing says it.
pub const NOT_SAID: Text = Text::new("not said; give it yourself", "未给出，请自行填写");
/// `DeepSpeed`'s default stage.
pub const STAGE_0: Text = Text::new("DeepSpeed's default stage is 0", "DeepSpeed 默认阶段为 0");
/// By a file's name.
pub const BY_FILE_NAME: Text = Text::new(
    "by the name of the DeepSpeed file; import the file itself",
    "根据 DeepSpeed 文件名推断，请导入该文件",
);
/// By a model's name.
pub const BY_NAME: Text = Text::new("by the last part of the model's name", "根据模型名的末段推断");
/// By a model's shape.
pub const BY_SHAPE: Text = Text::new("by the layers that the options describe", "根据各选项描述的层结构推断");
/// By the tokenizer.
pub const BY_TOKENIZER: Text = Text::new("by the kind of tokenizer", "根据分词器类型推断");
/// No vocabulary.
pub const VOCABULARY_UNKNOWN: Text =
    Text::new("nothing says the vocabulary; GPT-2's is used", "未给出词表大小，按 GPT-2 计");
/// `DeepSpeed`'s and Megatron's Adam.
pub const FUSED_ADAM: Text = Text::new("DeepSpeed's own Adam is fused", "DeepSpeed 自带的 Adam 为融合实现");
/// transformers' default.
pub const TRAINER_DEFAULT: Text = Text::new("transformers' default", "transformers 的默认值");
/// TRL's default.
pub const TRL_DEFAULT: Text = Text::new("TRL's default", "TRL 的默认值");
/// LLaMA-Factory's default.
pub const LLAMA_FACTORY_DEFAULT: Text = Text::new("LLaMA-Factory's default", "LLaMA-Factory 的默认值");
/// axolotl's default.
pub const AXOLOTL_DEFAULT: Text = Text::new("axolotl's default", "axolotl 的默认值");
/// torchtitan's default.
pub const TITAN_DEFAULT: Text = Text::new("torchtitan's default", "torchtitan 的默认值");
/// Megatron's default.
pub const MEGATRON_DEFAULT: Text = Text::new("Megatron's default", "Megatron 的默认值");
/// `bf16: auto`.
pub const AUTO_BF16: Text = Text::new("auto is bf16 on cards that have it", "auto 在支持的显卡上即 bf16");
/// Nothing says 16 bit.
pub const NO_16_BIT: Text = Text::new("no 16-bit type is switched on", "未启用任何 16 位类型");
/// The type of loaded weights is not said.
pub const FP32_WEIGHTS: Text = Text::new(
    "weights are loaded in fp32 unless a dtype is given (transformers 5: as stored)",
    "未指定 dtype 时权重按 fp32 加载（transformers 5 起按存储类型）",
);
/// The version of FSDP.
pub const FSDP_1: Text = Text::new("FSDP is of version 1 where nothing else is said", "未指定时为 FSDP 1");
/// One group of ranks.
pub const ONE_GROUP: Text = Text::new("the least that the groups need", "各并行组所需的最少数量");
/// Sharded over an unknown number.
pub const GPUS_NOT_SAID: Text = Text::new(
    "the states are sharded, but over how many GPUs is not said (gpus=…)",
    "状态已切分，但未说明 GPU 数（gpus=…）",
);

const RECOGNISED: Text = Text::new("Read as {format}", "识别为 {format}");
const UNDERSTOOD: Text =
    Text::new("  {theirs} = {value} → {key}={ours}", "  {theirs} = {value} → {key}={ours}");
const IGNORED: Text =
    Text::new("  not taken over: {theirs} = {value} ({why})", "  未采用：{theirs} = {value}（{why}）");
const HARMLESS: Text =
    Text::new("  settings that change no memory: {count}", "  不影响显存的设置：{count} 项");
const ASSUMED: Text = Text::new("  assumed: {key}={value} ({why})", "  假定：{key}={value}（{why}）");

/// The report: a line for each thing.
pub fn report(import: &Import, lang: Lang) -> Vec<String> {
    let formats: Vec<_> = import.formats.iter().map(|format| format.name().get(lang)).collect();
    let mut lines =
        vec![RECOGNISED.fill(lang, &[("format", &formats.join(Text::new(", ", "、").get(lang)))])];
    lines.extend(import.understood.iter().map(|one| {
        let names: [(&str, &dyn std::fmt::Display); 4] =
            [("theirs", &one.theirs), ("value", &one.value), ("key", &one.key), ("ours", &one.ours)];
        UNDERSTOOD.fill(lang, &names)
    }));
    lines.extend(import.ignored.iter().filter(|one| one.why.may_matter()).map(|one| {
        let reason = one.why.text().get(lang);
        IGNORED.fill(lang, &[("theirs", &one.theirs), ("value", &one.value), ("why", &reason)])
    }));
    let harmless = import.ignored.iter().filter(|one| !one.why.may_matter()).count();
    if harmless > 0 {
        lines.push(HARMLESS.fill(lang, &[("count", &harmless)]));
    }
    lines.extend(import.assumed.iter().map(|one| {
        let reason = one.why.get(lang);
        ASSUMED.fill(lang, &[("key", &one.key), ("value", &one.value), ("why", &reason)])
    }));
    lines.extend(import.problems.iter().map(|problem| format!("  {}", problem.message(lang))));
    lines
}

const TOO_LONG: Text = Text::new("longer than the {most} bytes that are accepted", "超过 {most} 字节的上限");
const NOT_RECOGNISED: Text = Text::new(
    "none of the known formats: config.json, DeepSpeed JSON, accelerate or FSDP YAML, TrainingArguments, \
     LLaMA-Factory YAML, axolotl YAML, torchtitan TOML, a training command",
    "不是已知格式：config.json、DeepSpeed JSON、accelerate 或 FSDP YAML、TrainingArguments、LLaMA-Factory YAML、\
     axolotl YAML、torchtitan TOML、训练命令",
);
const BAD_JSON: Text = Text::new(
    "not readable as JSON (line {line}, column {column})",
    "无法按 JSON 解析（第 {line} 行第 {column} 列）",
);
const BAD_YAML: Text = Text::new("not readable as YAML (line {line})", "无法按 YAML 解析（第 {line} 行）");
const TOO_LARGE: Text =
    Text::new("too many values or levels once its aliases are unfolded", "展开别名后数值过多或层级过深");

/// Why a text could not be read at all.
pub fn unreadable(unreadable: &Unreadable, lang: Lang) -> String {
    match unreadable {
        Unreadable::TooLong => {
            TOO_LONG.fill(lang, &[("most", &thousands(crate::import::LONGEST_IMPORT as u64))])
        }
        Unreadable::NotRecognised => NOT_RECOGNISED.get(lang).to_owned(),
        Unreadable::Json { line, column } => BAD_JSON.fill(lang, &[("line", line), ("column", column)]),
        Unreadable::Yaml { line } => BAD_YAML.fill(lang, &[("line", line)]),
        Unreadable::TooLarge => TOO_LARGE.get(lang).to_owned(),
    }
}
