//! A configuration as files that other programs read.
//!
//! The tables of [`crate::import`] are read the other way round. What a format cannot say is found by reading the
//! written text back: every key that comes back as something else is listed, with what the file amounts to.

mod accelerate;
mod deepspeed;
mod difference;
mod llama_factory;
mod megatron;
mod megatron_model;
mod sharding;
mod sheet;
mod trainer;
mod yaml;

use crate::config::Config;
use crate::text::{Text, export as words};

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `DeepSpeed`'s JSON.
    Deepspeed,
    /// The YAML of `accelerate config`.
    Accelerate,
    /// `TrainingArguments` with TRL's and peft's, as JSON.
    TrainingArguments,
    /// The same as a command.
    Command,
    /// LLaMA-Factory's YAML.
    LlamaFactory,
    /// A command that starts Megatron-LM.
    Megatron,
}

impl Kind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Deepspeed,
        Self::Accelerate,
        Self::TrainingArguments,
        Self::Command,
        Self::LlamaFactory,
        Self::Megatron,
    ];

    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deepspeed => "deepspeed",
            Self::Accelerate => "accelerate",
            Self::TrainingArguments => "training-arguments",
            Self::Command => "command",
            Self::LlamaFactory => "llama-factory",
            Self::Megatron => "megatron",
        }
    }

    /// The kind of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// Its name for people.
    pub const fn name(self) -> Text {
        words::kind(self)
    }

    /// What a file of it is usually called.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Deepspeed => "ds_config.json",
            Self::Accelerate => "accelerate.yaml",
            Self::TrainingArguments => "training_args.json",
            Self::Command | Self::Megatron => "train.sh",
            Self::LlamaFactory => "llama_factory.yaml",
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The file's text, with a line's end.
    pub text: String,
    /// What the file does not say.
    pub left_out: Vec<LeftOut>,
}

/// A key that a file does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Our key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What the file amounts to, read back.
    pub instead: String,
}

/// Writes a configuration for another program.
pub fn write(kind: Kind, config: &Config) -> Export {
    let text = match kind {
        Kind::Deepspeed => deepspeed::write(config),
        Kind::Accelerate => accelerate::write(config),
        Kind::TrainingArguments => trainer::json(config),
        Kind::Command => trainer::command(config),
        Kind::LlamaFactory => llama_factory::write(config),
        Kind::Megatron => megatron::write(config),
    };
    let left_out = difference::left_out(&text, config);
    Export { text, left_out }
}
