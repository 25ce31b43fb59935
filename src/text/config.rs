//! The vocabulary in words: a label and a line of help for every key, a name for every choice, and what is wrong.

use std::fmt::Display;

use super::{Lang, Text};
use crate::config::{Kind, Problem, ProblemKind, Section};
use crate::units::{exact_count, exact_size, thousands};

mod choice;
mod help;
mod source;

pub use choice::choice;
pub use help::{field, help, label};
pub use source::source;

/// Name of a section of the form.
pub const fn section(section: Section) -> Text {
    match section {
        Section::Model => Text::new("Model", "模型"),
        Section::Training => Text::new("Training", "训练"),
        Section::Cluster => Text::new("Cluster", "集群"),
        Section::Advanced => Text::new("Advanced", "高级"),
        Section::Page => Text::new("Page", "页面"),
    }
}

// Rules between keys; `{key}` and `{value}` are the key that gives way.

/// More tokens in a micro-batch than the estimator counts.
pub const TOO_MANY_TOKENS: Text = Text::new(
    "{key}: {value} sequences of {seq} tokens are more than the {most} tokens accepted in one micro-batch",
    "{key}：{value} 条长 {seq} 的序列，超过单个微批次 {most} 个 token 的上限",
);
/// Key/value heads do not divide query heads.
pub const KV_HEADS_DIVIDE: Text = Text::new(
    "{key}: {value} is impossible here: {kv_heads} key/value heads do not divide {heads} attention heads",
    "{key}：{value} 不可行：{kv_heads} 个 KV 头不能整除 {heads} 个注意力头",
);
/// Heads do not divide the hidden size.
pub const HEADS_DIVIDE: Text = Text::new(
    "{key}: {value} is impossible here: {heads} heads do not divide hidden_size {hidden}, and head_dim is not given",
    "{key}：{value} 不可行：{heads} 个注意力头不能整除 hidden_size {hidden}，且未给出 head_dim",
);
/// A number of layers or stages above the model's layers.
pub const MORE_THAN_LAYERS: Text = Text::new(
    "{key}: {value} is more than the model's {layers} layers",
    "{key}：{value} 超过模型的 {layers} 层",
);
/// Virtual stages need a layer each.
pub const MORE_STAGES_THAN_LAYERS: Text = Text::new(
    "{key}: with {value} virtual stages a rank, there are more stages than the model's {layers} layers",
    "{key}：每卡 {value} 个虚拟阶段时，阶段总数超过模型的 {layers} 层",
);
/// Tensor parallelism splits attention heads.
pub const TP_DIVIDES: Text = Text::new(
    "{key}: {value} does not divide the {heads} attention heads",
    "{key}：{value} 不能整除 {heads} 个注意力头",
);
/// And key/value heads, or copies them.
pub const TP_DIVIDES_KV: Text = Text::new(
    "{key}: {value} and the {heads} key/value heads: neither divides the other",
    "{key}：{value} 与 {heads} 个 KV 头互不整除",
);
/// Sequence parallelism works in a tensor-parallel group.
pub const SP_NEEDS_TP: Text =
    Text::new("{key}: sequence parallelism needs tp above 1", "{key}：序列并行需要 tp 大于 1");
/// Virtual stages need a pipeline.
pub const VPP_NEEDS_PP: Text =
    Text::new("{key}: virtual stages need pp above 1", "{key}：虚拟阶段需要 pp 大于 1");
/// No experts to distribute.
pub const NEEDS_EXPERTS: Text =
    Text::new("{key}: {value} needs a model with experts", "{key}：{value} 只适用于 MoE 模型");
/// Expert parallelism distributes whole experts.
pub const EP_DIVIDES: Text = Text::new(
    "{key}: {value} does not divide the {experts} experts",
    "{key}：{value} 不能整除 {experts} 个专家",
);
/// Every data-parallel rank is one whole group.
pub const GPUS_DIVIDE: Text = Text::new(
    "{key}: {value} is not a multiple of tp·pp·cp = {tp}·{pp}·{cp} = {group}",
    "{key}：{value} 不是 tp·pp·cp = {tp}·{pp}·{cp} = {group} 的倍数",
);
/// Experts have groups of their own.
pub const GPUS_DIVIDE_EXPERTS: Text = Text::new(
    "{key}: {value} is not a multiple of etp·ep·pp = {etp}·{ep}·{pp} = {experts}",
    "{key}：{value} 不是 etp·ep·pp = {etp}·{ep}·{pp} = {experts} 的倍数",
);
/// More ranks than any cluster has.
pub const TOO_MANY_RANKS: Text = Text::new(
    "{key}: the groups tp·pp·cp = {tp}·{pp}·{cp} and etp·ep·pp = {etp}·{ep}·{pp} need more than the 1,000,000 GPUs that are accepted",
    "{key}：tp·pp·cp = {tp}·{pp}·{cp} 与 etp·ep·pp = {etp}·{ep}·{pp} 所需 GPU 超过 1,000,000 张的上限",
);
/// LoRA keys without LoRA.
pub const NEEDS_LORA: Text = Text::new(
    "{key} has no effect unless method is lora or qlora",
    "{key} 仅在 method 为 lora 或 qlora 时生效",
);
/// Quantisation without `QLoRA`.
pub const NEEDS_QLORA: Text =
    Text::new("{key} has no effect unless method is qlora", "{key} 仅在 method 为 qlora 时生效");
/// A partial recomputation that is off.
pub const NEEDS_RECOMPUTE: Text =
    Text::new("{key} has no effect while recompute is none", "recompute 为 none 时 {key} 不生效");
/// Chunks without chunking.
pub const NEEDS_CHUNKED: Text =
    Text::new("{key} has no effect unless loss is chunked", "{key} 仅在 loss 为 chunked 时生效");
/// Offload without an engine that does it.
pub const NEEDS_SHARDING: Text = Text::new(
    "{key} has no effect unless several GPUs share the states (fsdp, hsdp, zero1, zero2, zero3)",
    "{key} 仅在多卡切分状态（fsdp、hsdp、zero1、zero2、zero3）时生效",
);
/// A parameter count is no architecture.
pub const PARAMS_ARE_QUICK: Text = Text::new(
    "{key}: a parameter count feeds the quick view only; the detailed figures are those of the default model",
    "{key}：参数量只用于速算；精算结果仍按默认模型给出",
);
/// `QLoRA` over an unquantised base is `LoRA`.
pub const QLORA_NEEDS_QUANTIZATION: Text =
    Text::new("{key}: qlora needs a quantised base", "{key}：qlora 需要量化的基座权重");
/// A link of a later version.
pub const VERSION: Text = Text::new(
    "{key}: version “{value}” is not known; the link is read as version 1",
    "{key}：未知的版本“{value}”，按版本 1 读取",
);

const UNKNOWN: Text = Text::new("“{key}” is no known key and is ignored", "未知配置项“{key}”，已忽略");
const MEANT: Text = Text::new("; did you mean {nearest}?", "；是否想写 {nearest}？");
const REFUSED: Text =
    Text::new("{key}: “{value}” is not accepted; {accepts}", "{key}：不接受“{value}”；{accepts}");
const USED: Text = Text::new("; {used} is used", "；改用 {used}");
const IGNORED: Text = Text::new("; it is ignored", "；已忽略");
const NOT_YET: Text = Text::new(
    "{key}: “{value}” is understood but not yet taken into account in the figures",
    "{key}：已识别“{value}”，但目前尚未计入结果",
);
const TWICE: Text =
    Text::new("{key} is given twice (here as “{value}”)", "{key} 重复出现（此处为“{value}”）");
const TOO_LONG: Text = Text::new(
    "the configuration is longer than the {most} bytes that are accepted; nothing of it was read",
    "配置超过 {most} 字节的上限，未读取任何内容",
);
const NOT_JSON: Text = Text::new(
    "not readable as JSON (line {line}, column {column})",
    "无法按 JSON 解析（第 {line} 行第 {column} 列）",
);
const NOT_AN_OBJECT: Text =
    Text::new("the JSON is no object {…} of keys and values", "该 JSON 不是由键值组成的对象 {…}");
const MORE: Text = Text::new("{count} more problems are not listed", "另有 {count} 个问题未列出");

/// The sentence that says what is wrong, what is accepted, and what is used instead.
pub fn problem(problem: &Problem, lang: Lang) -> String {
    let (key, value) = (&problem.key, &problem.value);
    let fill = |text: Text, more: &[(&str, &dyn Display)]| {
        let mut values: Vec<(&str, &dyn Display)> = vec![("key", key), ("value", value)];
        values.extend_from_slice(more);
        text.fill(lang, &values)
    };
    let instead = |used: &Option<String>| match used {
        Some(used) => fill(USED, &[("used", used)]),
        None => IGNORED.get(lang).to_owned(),
    };
    match &problem.kind {
        ProblemKind::Note(text) => fill(*text, &[]),
        ProblemKind::UnknownKey { nearest } => {
            let mut sentence = fill(UNKNOWN, &[]);
            if let Some(nearest) = nearest {
                sentence.push_str(&fill(MEANT, &[("nearest", nearest)]));
            }
            sentence
        }
        ProblemKind::NotAccepted { accepts, nearest, used } => {
            let mut sentence = fill(REFUSED, &[("accepts", &accepted(*accepts, lang))]);
            sentence.push_str(&instead(used));
            if !nearest.is_empty() {
                let or = Text::new(" or ", " 或 ").get(lang);
                sentence.push_str(&fill(MEANT, &[("nearest", &nearest.join(or))]));
            }
            sentence
        }
        ProblemKind::Conflict { rule, values, used } => {
            let values: Vec<(&str, &dyn Display)> =
                values.iter().map(|(name, value)| (*name, value as _)).collect();
            fill(*rule, &values) + &instead(used)
        }
        ProblemKind::Fact { rule, values } => {
            let values: Vec<(&str, &dyn Display)> =
                values.iter().map(|(name, value)| (*name, value as _)).collect();
            fill(*rule, &values)
        }
        ProblemKind::NotYet => fill(NOT_YET, &[]),
        ProblemKind::Twice { used } => fill(TWICE, &[]) + &instead(&Some(used.clone())),
        ProblemKind::TooLong { most } => fill(TOO_LONG, &[("most", &thousands(*most as u64))]),
        ProblemKind::NotJson { line: 0, .. } => fill(NOT_AN_OBJECT, &[]),
        ProblemKind::NotJson { line, column } => fill(NOT_JSON, &[("line", line), ("column", column)]),
        ProblemKind::More { count } => fill(MORE, &[("count", count)]),
    }
}

/// What a kind of key accepts, as the end of a sentence.
pub fn accepted(kind: Kind, lang: Lang) -> String {
    let range =
        |text: Text, min: &dyn Display, max: &dyn Display| text.fill(lang, &[("min", min), ("max", max)]);
    let words = |text: Text, words: &[&str]| {
        let comma = Text::new(", ", "、").get(lang);
        text.fill(lang, &[("words", &words.join(comma))])
    };
    match kind {
        Kind::Model => {
            Text::new("the id of a shipped model is expected", "应为内置模型的 id").get(lang).to_owned()
        }
        Kind::Gpu => Text::new("the id of a card in the catalogue is expected", "应为显卡目录中的 id")
            .get(lang)
            .to_owned(),
        Kind::Choice(list) => words(Text::new("one of {words} is expected", "应为 {words} 之一"), list),
        Kind::List(list) => {
            words(Text::new("a comma list of {words} is expected", "应为 {words} 的逗号列表"), list)
        }
        Kind::Count { min, max } => range(
            Text::new("a whole number from {min} to {max} is expected", "应为 {min} 到 {max} 的整数"),
            &min,
            &exact_count(max),
        ),
        Kind::Tokens { min, max } => range(
            Text::new(
                "a number of tokens from {min} to {max} is expected (8k = 8192)",
                "应为 {min} 到 {max} 的 token 数（8k = 8192）",
            ),
            &min,
            &max,
        ),
        Kind::Bytes { min, max } => range(
            Text::new(
                "a size from {min} to {max} is expected, such as 80GiB or 24GB",
                "应为 {min} 到 {max} 的大小，例如 80GiB 或 24GB",
            ),
            &exact_size(min),
            &exact_size(max),
        ),
        Kind::Probability => Text::new("a number from 0 to below 1 is expected", "应为 0 到 1（不含 1）的数")
            .get(lang)
            .to_owned(),
        Kind::Number => Text::new("a number is expected", "应为数字").get(lang).to_owned(),
        Kind::Flag => Text::new("true or false is expected", "应为 true 或 false").get(lang).to_owned(),
        Kind::Text => {
            Text::new("one line of at most 2,000 bytes is expected", "应为不超过 2,000 字节的单行文本")
                .get(lang)
                .to_owned()
        }
        Kind::Object => Text::new("a JSON object {…} is expected", "应为 JSON 对象 {…}").get(lang).to_owned(),
        Kind::Any => {
            Text::new("a value of config.json is expected", "应为 config.json 中的值").get(lang).to_owned()
        }
    }
}
