//! The model types that are understood: each a composition of modules, described as data.
//!
//! Source of every row: configuration and modelling file of that type in Hugging Face transformers 5.24.0
//! (`src/transformers/models/<type>/`), checked against parameter counts of built models.

mod compose;
mod counted;
mod decoder;
mod decoders;
mod encoder_decoders;
mod encoders;
mod exotic;
mod experts;
mod expressions;
mod frame;
mod hybrid;
mod images;
mod latent;
mod moe;
mod older;
mod pairs;
mod seq2seq;
mod state_space;
mod switches;
mod tables;
mod text_encoders;
mod vision;

use super::Architecture;
use super::fields::Fields;
use crate::config::{Problem, ProblemKind};
use crate::text::architecture as words;
use decoder::Decoder;
use serde_json::{Map, Value};

/// One model type.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// `model_type` of `config.json`.
    pub model_type: &'static str,
    /// Other names of fields: (canonical, the file's).
    aliases: &'static [(&'static str, &'static str)],
    /// Sizes of the model class where a file leaves a field out.
    defaults: &'static [(&'static str, u64)],
    build: Build,
}

/// How a type's fields become a model.
#[derive(Clone, Copy, Debug)]
enum Build {
    /// A causal decoder that a table describes.
    Decoder(&'static Decoder),
    /// A causal decoder whose description depends on switches in the file.
    Switched(fn(&mut Fields) -> Decoder),
    /// Anything else.
    Own(fn(&mut Fields, &Dropout) -> Option<Architecture>),
}

/// The probability that the reader wants instead of the file's.
#[derive(Clone, Copy, Debug)]
struct Dropout(Option<f64>);

impl Dropout {
    /// The probability of a field; 0 for none.
    fn read(&self, fields: &mut Fields, (key, default): (&str, f64)) -> f64 {
        match self.0 {
            _ if key.is_empty() => 0.0,
            Some(given) => given,
            None => fields.probability(key, default),
        }
    }
}

/// Where a bias or a switch comes from.
#[derive(Clone, Copy, Debug)]
enum Switch {
    Never,
    Always,
    /// The field decides; off when absent.
    Field(&'static str),
    /// The field decides; on when absent.
    On(&'static str),
    /// On only where the field is false.
    Unless(&'static str),
}

impl Switch {
    fn read(self, fields: &mut Fields) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Field(key) => fields.flag(key, false),
            Self::On(key) => fields.flag(key, true),
            Self::Unless(key) => !fields.flag(key, true),
        }
    }
}

impl Family {
    const fn decoder(model_type: &'static str, decoder: &'static Decoder) -> Self {
        Self { model_type, aliases: &[], defaults: &[], build: Build::Decoder(decoder) }
    }

    const fn switched(model_type: &'static str, decoder: fn(&mut Fields) -> Decoder) -> Self {
        Self { model_type, aliases: &[], defaults: &[], build: Build::Switched(decoder) }
    }

    const fn own(model_type: &'static str, build: fn(&mut Fields, &Dropout) -> Option<Architecture>) -> Self {
        Self { model_type, aliases: &[], defaults: &[], build: Build::Own(build) }
    }

    const fn alias(mut self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn default(mut self, defaults: &'static [(&'static str, u64)]) -> Self {
        self.defaults = defaults;
        self
    }

    /// Whether a file has a field, by whatever name.
    fn finds(&self, json: &Map<String, Value>, key: &str) -> bool {
        let mut names = self.aliases.iter().filter(|(name, _)| *name == key).map(|(_, alias)| *alias);
        json.contains_key(key) || names.any(|name| json.contains_key(name))
    }

    /// Builds the model from its fields; `None` when a needed one is missing (then `fields.problems` says which).
    pub(super) fn compose(&self, fields: &mut Fields, dropout: Option<f64>) -> Option<Architecture> {
        fields.aliases = self.aliases;
        fields.defaults = self.defaults;
        let dropout = Dropout(dropout);
        let mut model = match self.build {
            Build::Decoder(decoder) => decoder.compose(fields, &dropout),
            Build::Switched(decoder) => decoder(fields).compose(fields, &dropout),
            Build::Own(build) => build(fields, &dropout),
        }?;
        self.model_type.clone_into(&mut model.model_type);
        Some(model)
    }
}

/// The name of every supported type.
pub fn supported() -> impl Iterator<Item = &'static str> {
    families().map(|family| family.model_type).chain(tables::names())
}

/// Every type that a composition of modules describes.
fn families() -> impl Iterator<Item = &'static Family> {
    const ALL: &[&[Family]] = &[
        decoders::FAMILIES,
        older::FAMILIES,
        experts::FAMILIES,
        encoders::FAMILIES,
        encoder_decoders::FAMILIES,
        vision::FAMILIES,
        text_encoders::FAMILIES,
        seq2seq::FAMILIES,
        images::FAMILIES,
        state_space::FAMILIES,
        hybrid::FAMILIES,
        exotic::FAMILIES,
    ];
    ALL.iter().copied().flatten()
}

/// The family of a `model_type`.
fn known(model_type: &str) -> Option<&'static Family> {
    families().find(|family| family.model_type == model_type)
}

/// Builds a model of some type from its fields; `None` when that can't be done (then `fields.problems` says why).
pub(super) fn compose(model_type: &str, fields: &mut Fields, dropout: Option<f64>) -> Option<Architecture> {
    if let Some(family) = known(model_type) {
        return family.compose(fields, dropout);
    }
    let Some(table) = tables::find(model_type) else {
        fields.problems.push(unsupported(model_type));
        return None;
    };
    let mut model = table.compose(fields)?;
    model_type.clone_into(&mut model.model_type);
    Some(model)
}

/// What to say of a type that is not supported: the nearest ones that are.
#[inline(never)] // apart: a first visit has none
fn unsupported(model_type: &str) -> Problem {
    let mut near: Vec<(usize, &str)> =
        supported().map(|name| (strsim::levenshtein(model_type, name), name)).collect();
    near.sort_unstable();
    let names: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    Problem {
        key: "model_type".to_owned(),
        value: model_type.to_owned(),
        kind: ProblemKind::Conflict {
            rule: words::UNSUPPORTED_TYPE,
            values: Box::new([("nearest", names.join(", "))]),
            used: None,
        },
    }
}
