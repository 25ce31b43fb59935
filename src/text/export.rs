//! Sentences about files that are written for other programs.

use super::{Lang, Text};
use crate::export::{Kind, LeftOut};

/// A kind's name.
pub const fn kind(kind: Kind) -> Text {
    match kind {
        Kind::Deepspeed => Text::same("DeepSpeed JSON"),
        Kind::Accelerate => {
            Text::new("accelerate YAML (FSDP, DeepSpeed)", "accelerate YAML（FSDP、DeepSpeed）")
        }
        Kind::TrainingArguments => Text::same("TrainingArguments JSON"),
        Kind::Command => Text::new("TrainingArguments command", "TrainingArguments 命令"),
        Kind::LlamaFactory => Text::same("LLaMA-Factory YAML"),
        Kind::Megatron => Text::new("Megatron-LM command", "Megatron-LM 命令"),
    }
}

const LEFT_OUT: Text = Text::new("not said by this format: {key}={value}", "该格式未包含：{key}={value}");
const INSTEAD: Text = Text::new(
    "not said by this format: {key}={value}; read back, it amounts to {instead}",
    "该格式未包含：{key}={value}；读回时相当于 {instead}",
);

/// The sentence about a key that a file does not say.
pub fn left_out(one: &LeftOut, lang: Lang) -> String {
    let text = if one.instead.is_empty() { LEFT_OUT } else { INSTEAD };
    text.fill(lang, &[("key", &one.key), ("value", &one.value), ("instead", &one.instead)])
}
