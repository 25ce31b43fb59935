//! What people already have: model files, launch commands and configuration files of the training frameworks, read
//! into a [`Config`].
//!
//! [`read`] recognises a text by its content ([`Format`]). Each format has a table of its words against the contract's
//! keys; what no table can say alone (which precision follows from engine and flags, how a global batch divides) is
//! gathered as facts and concluded when all texts are read, so that a launch script, its DeepSpeed JSON and the
//! model's `config.json` can be read together ([`read_all`]).
//!
//! Nothing is dropped in silence: what was understood, what was not, and what had to be assumed are three lists.

mod accelerate;
mod axolotl;
mod conclude;
mod deepspeed;
mod document;
mod draft;
mod flags;
mod fsdp;
mod given;
mod launcher;
mod llama_factory;
mod megatron;
mod megatron_model;
mod model_name;
mod shell;
mod torchtitan;
mod trainer;
mod translate;
mod yaml;

use draft::Draft;

/// The tables of the formats, which writing reads the other way round.
pub(crate) mod tables {
    pub(crate) use super::deepspeed::{KEPT, ROWS as DEEPSPEED, nest};
    pub(crate) use super::fsdp::ROWS as FSDP;
    pub(crate) use super::llama_factory::ROWS as LLAMA_FACTORY;
    pub(crate) use super::megatron::ROWS as MEGATRON;
    pub(crate) use super::megatron_model::{SIZES, experts_field};
    pub(crate) use super::trainer::{OPTIMIZERS, ROWS as TRAINER};
    pub(crate) use super::translate::{Row, Turn};
    pub(crate) use super::yaml::scalar;
}

use crate::config::{Config, Problem};
use crate::text::{Lang, Text, import as words};

/// Texts longer than this many bytes are not read.
pub const LONGEST_IMPORT: usize = 1 << 20;

/// What a text was recognised as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// This program's own JSON or share link.
    Own,
    /// A model's `config.json`.
    ConfigJson,
    /// `DeepSpeed`'s JSON.
    Deepspeed,
    /// The YAML of `accelerate config`, with its FSDP or `DeepSpeed` section.
    Accelerate,
    /// `TrainingArguments` of transformers (and TRL's), as JSON or YAML.
    TrainingArguments,
    /// A command or script that starts a training with such arguments.
    Command,
    /// LLaMA-Factory's YAML.
    LlamaFactory,
    /// axolotl's YAML.
    Axolotl,
    /// torchtitan's TOML.
    Torchtitan,
    /// A command or script that starts Megatron-LM.
    Megatron,
}

impl Format {
    /// Its name for people.
    pub const fn name(self) -> Text {
        words::format(self)
    }
}

/// What came of reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// What each text was recognised as, in order.
    pub formats: Vec<Format>,
    /// The configuration: what was there before, with everything understood laid over it.
    pub config: Config,
    /// What was understood, in the order of the texts.
    pub understood: Vec<Understood>,
    /// What was not taken over, and why.
    pub ignored: Vec<Ignored>,
    /// What the texts do not say and the framework, or this program, decides.
    pub assumed: Vec<Assumed>,
    /// Values that the contract's keys do not accept.
    pub problems: Vec<Problem>,
}

/// One of their settings as one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// Their name, as it was written.
    pub theirs: String,
    /// Their value, cut when it is long.
    pub value: String,
    /// Our key or field of `config.json`.
    pub key: &'static str,
    /// Our value.
    pub ours: String,
}

/// One of their settings that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Their name, as it was written.
    pub theirs: String,
    /// Their value, cut when it is long.
    pub value: String,
    /// Why.
    pub why: Why,
}

/// Why a setting was not taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No such setting is known here.
    Unknown,
    /// It changes no memory.
    Harmless,
    /// It says `auto`: another file or the framework decides.
    Automatic,
    /// Its value is a variable that the text does not set.
    Variable,
    /// It points to another file, which was not read.
    Elsewhere,
    /// It matters, but no key can say it; the sentence says what is missing.
    Unsupported(Text),
}

impl Why {
    /// Whether the figures may be wrong for want of this setting.
    pub const fn may_matter(self) -> bool {
        !matches!(self, Self::Harmless)
    }

    /// The sentence for the reader.
    pub const fn text(self) -> Text {
        words::why(self)
    }
}

/// A value that no text gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// Our key.
    pub key: &'static str,
    /// The value used.
    pub value: String,
    /// Whose default it is, or what it was concluded from.
    pub why: Text,
}

impl Import {
    /// Whether anything of the texts was understood.
    pub fn is_empty(&self) -> bool {
        self.understood.is_empty()
    }

    /// The report for people, a line each: what it was recognised as, then the three lists (what changes no memory
    /// is only counted), then the problems.
    pub fn report(&self, lang: Lang) -> Vec<String> {
        words::report(self, lang)
    }
}

/// Why a text could not be read at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is longer than [`LONGEST_IMPORT`].
    TooLong,
    /// It is none of the formats.
    NotRecognised,
    /// It looks like JSON and is none.
    Json {
        /// Line of the first error, from 1.
        line: usize,
        /// Column of the first error, from 1.
        column: usize,
    },
    /// It is YAML of a known format up to here.
    Yaml {
        /// Line of the first error, from 1.
        line: usize,
    },
    /// Its aliases unfold to more, or its levels go deeper, than is read.
    TooLarge,
}

impl Unreadable {
    /// The sentence for the reader.
    pub fn message(&self, lang: Lang) -> String {
        words::unreadable(self, lang)
    }
}

/// Reads one text over an empty configuration.
///
/// # Errors
/// When the text is too long, broken, or none of the formats.
pub fn read(text: &str) -> Result<Import, Unreadable> {
    read_all(&[text], &Config::default())
}

/// Reads texts that belong together over a configuration; where two say the same thing, the later one goes before.
///
/// # Errors
/// When a text is too long, broken, or none of the formats.
pub fn read_all(texts: &[&str], base: &Config) -> Result<Import, Unreadable> {
    let mut draft = Draft::over(base);
    for text in texts {
        let format = document::read(text, &mut draft)?;
        draft.formats.push(format);
    }
    conclude::conclude(&mut draft);
    Ok(draft.into_import())
}
