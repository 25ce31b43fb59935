//! Sentences of the command line.

use super::Text;

/// What the program is.
pub const ABOUT: Text = Text::new(
    "Who eats the memory of this training run? An estimate from a ledger of every tensor that one GPU holds.",
    "训练时显存被谁吃掉了？逐个张量记账，给出单卡显存估算。",
);
/// Heading of the usage line.
pub const USAGE: Text = Text::new("Usage: ", "用法：");
/// Heading of the positional arguments.
pub const ARGUMENTS: Text = Text::new("Arguments:", "参数：");
/// Heading of the options.
pub const OPTIONS: Text = Text::new("Options:", "选项：");
/// Heading of a section of keys.
pub const KEYS: Text = Text::new("Keys, {section}:", "配置键 · {section}：");
/// The exit statuses.
pub const STATUSES: Text = Text::new(
    "\
Exit status:
  0  an estimate or a diagnosis was printed (warnings included)
  1  --json-lines: a line could not be read or estimated; or writing failed
  2  the configuration could not be read or estimated; --oom: nothing in the text was recognised
  3  --must-fit, --max: it does not fit",
    "\
退出码：
  0  已给出估算或诊断（可能带警告）
  1  --json-lines 中有某行无法读取或估算；或写出失败
  2  配置无法读取或无法估算；--oom 的文字中没有可识别的内容
  3  使用 --must-fit 或 --max 而放不下",
);
/// Help of the positional arguments.
pub const HELP_CONFIG: Text = Text::new(
    "The configuration: 'model=llama-3.1-8b&batch=4', key=value pairs one by one, or a whole share link; \
     nothing: the default model",
    "配置：'model=llama-3.1-8b&batch=4'、逐个 key=value，或整条分享链接；留空则用默认模型",
);
/// Help of `--json`.
pub const HELP_JSON: Text = Text::new(
    "Read the configuration from a JSON file (- for standard input)",
    "从 JSON 文件读取配置（- 表示标准输入）",
);
/// Help of `--import`.
pub const HELP_IMPORT: Text = Text::new(
    "Read what you already have (- for standard input): a model's config.json, DeepSpeed JSON, accelerate or FSDP YAML, \
     TrainingArguments, LLaMA-Factory or axolotl YAML, torchtitan TOML, a launch command or script; several files \
     together, and CONFIG over them",
    "读取已有的配置（- 表示标准输入）：模型的 config.json、DeepSpeed JSON、accelerate 或 FSDP YAML、TrainingArguments、\
     LLaMA-Factory 或 axolotl YAML、torchtitan TOML、启动命令或脚本；可同时给出多个文件，CONFIG 覆盖其上",
);
/// Help of `--export`.
pub const HELP_EXPORT: Text = Text::new(
    "Print the configuration for another program instead of an estimate: deepspeed, accelerate, training-arguments, \
     command, llama-factory, megatron",
    "不估算，而是输出供其他程序使用的配置：deepspeed、accelerate、training-arguments、command、llama-factory、megatron",
);
/// Help of `--json-lines`.
pub const HELP_JSON_LINES: Text = Text::new(
    "Read one JSON configuration per line from standard input, write one JSON report per line; \
     blank lines are skipped, a bad line gives {\"error\": …} in its place",
    "从标准输入逐行读取 JSON 配置，逐行输出 JSON 报告；跳过空行，坏行在原位输出 {\"error\": …}",
);
/// Help of `--oom`.
pub const HELP_OOM: Text = Text::new(
    "Read an out-of-memory message or a whole log (- for standard input) and say what it means; \
     beside a configuration, which tensor failed to fit. --format table or json",
    "读取显存不足报错或整份日志（- 表示标准输入）并解释；若同时给出配置，指出是哪个张量放不下。--format 可用 table 或 json",
);
/// `--oom` prints nothing else.
pub const OOM_FORMAT: Text =
    Text::new("--oom prints --format table or json", "--oom 只支持 --format table 或 json");
/// Standard input cannot be both.
pub const ONE_INPUT: Text =
    Text::new("--json and --oom cannot both be standard input", "--json 与 --oom 不能同时使用标准输入");
/// Help of `--format`.
pub const HELP_FORMAT: Text = Text::new("What to print", "输出格式");
/// Help of `--figure`.
pub const HELP_FIGURE: Text = Text::new(
    "Which figure --format svg draws: bar (the blocks), stages (of a pipeline), timeline (one training step), or memory over any key that \
     takes a whole number: batch, seq, gpus, … [default: bar]",
    "--format svg 画哪张图：bar（各块）、stages（各流水段）、timeline（一个训练步），或显存随任一整数键的变化：batch、seq、gpus 等 [默认：bar]",
);
/// Help of `--suggest`.
pub const HELP_SUGGEST: Text = Text::new(
    "Say what to change instead: what each change saves at which price, the cheapest set that fits, what saves \
     nothing here and why, the fewest GPUs (table or json)",
    "改为给出建议：各项改动省多少、代价如何，代价最小的可行方案，哪些无效及原因，所需最少显卡（table 或 json）",
);
/// Help of `--max`.
pub const HELP_MAX: Text = Text::new(
    "Say the largest value that fits instead: batch, seq or lora_rank (table or json); status 3 where none does",
    "改为给出放得下的最大值：batch、seq 或 lora_rank（table 或 json）；都放不下时退出码为 3",
);
/// Help of `--compare`.
pub const HELP_COMPARE: Text = Text::new(
    "Compare with a second configuration, tensor by tensor (table or json)",
    "与另一配置逐个张量比较（table 或 json）",
);
/// A format that this answer does not have.
pub const NO_SUCH_FORMAT: Text = Text::new(
    "--format: --suggest, --max and --compare print table or json",
    "--format：--suggest、--max、--compare 只支持 table 或 json",
);
/// Help of `--lang`.
pub const HELP_LANG: Text = Text::new(
    "Language of what is printed [default: the configuration's, else the locale's]",
    "输出语言 [默认：配置中的 lang，其次系统区域设置]",
);
/// Help of `--units`.
pub const HELP_UNITS: Text = Text::new(
    "Unit of the sizes for people: GiB = 2^30 bytes, GB = 10^9 [default: the configuration's, else GiB]",
    "供人阅读的单位：GiB = 2^30 字节，GB = 10^9 字节 [默认：配置中的 units，其次 GiB]",
);
/// Help of `--must-fit`.
pub const HELP_MUST_FIT: Text =
    Text::new("Exit with status 3 when it does not fit the GPU", "放不下时以退出码 3 结束");
/// Help of `--help`.
pub const HELP_HELP: Text = Text::new("Print this help", "显示帮助");
/// Help of `--version`.
pub const HELP_VERSION: Text = Text::new("Print the version", "显示版本");

/// A warning on standard error.
pub const WARNING: Text = Text::new("warning: {message}", "警告：{message}");
/// An error on standard error.
pub const ERROR: Text = Text::new("error: {message}", "错误：{message}");
/// A file could not be read.
pub const CANNOT_READ: Text = Text::new("cannot read {file}: {reason}", "无法读取 {file}：{reason}");
/// A file could not be imported.
pub const CANNOT_IMPORT: Text = Text::new("cannot import {file}: {reason}", "无法导入 {file}：{reason}");
/// Standard input or output broke off.
pub const BROKE_OFF: Text = Text::new("reading or writing failed: {reason}", "读写失败：{reason}");
/// Bytes that are no text.
pub const NOT_UTF8: Text = Text::new("not UTF-8 text", "不是 UTF-8 文本");
