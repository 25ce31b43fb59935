//! One way in and out for every key: what the page's fields bind to, and what link and JSON are made of.

use serde_json::{Map, Value};

use super::fields::{self, FIELDS, Field};
use super::keys::Key;
use super::kind::Kind;
use super::problem::{Problem, ProblemKind, Problems, nearest, nearest_model};
use super::{Config, DEFAULT_GPU, DEFAULT_MODEL, Preset, Read, gpus, preset};

/// A key of the contract or a field of `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// A key of the contract.
    Key(Key),
    /// A field of `config.json`.
    Field(&'static Field),
}

impl Name {
    /// The key or field of this name; a key goes before a field.
    pub fn find(name: &str) -> Option<Self> {
        Key::parse(name).map(Self::Key).or_else(|| Field::find(name).map(Self::Field))
    }

    /// What it accepts.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Key(key) => key.kind(),
            Self::Field(field) => field.kind,
        }
    }

    /// Its name in links.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Key(key) => key.word(),
            Self::Field(field) => field.name,
        }
    }
}

impl Config {
    /// The value of a key as text that [`Config::set`] reads back; empty when nothing was given.
    pub fn get(&self, key: &str) -> String {
        match Name::find(key) {
            Some(Name::Key(Key::Architecture)) if self.architecture.is_empty() => String::new(),
            Some(Name::Key(Key::Architecture)) => Value::Object(self.architecture.clone()).to_string(),
            Some(Name::Key(key)) => match self.value(key) {
                Value::Null => String::new(),
                value => key.kind().show(&value),
            },
            Some(Name::Field(field)) => {
                self.architecture.get(field.name).map_or_else(String::new, |value| field.show(value))
            }
            None => String::new(),
        }
    }

    /// The preset that given fields are laid over: the one named, or the default one unless the fields describe a
    /// whole model (they have a `model_type`).
    pub fn base(&self) -> Option<&'static Preset> {
        match &self.model {
            Some(id) => preset(id),
            None if self.architecture.contains_key("model_type") => None,
            None => preset(DEFAULT_MODEL),
        }
    }

    /// What is used where nothing was given: the default, or what the model preset says. For an empty field.
    pub fn fallback(&self, key: &str) -> String {
        match Name::find(key) {
            Some(Name::Key(Key::Model)) => DEFAULT_MODEL.to_owned(),
            Some(Name::Key(Key::Gpu)) => DEFAULT_GPU.to_owned(),
            Some(Name::Key(_)) => Self::default().get(key),
            Some(Name::Field(field)) => {
                let value = self.base().and_then(|preset| preset.config.get(field.name));
                value.map_or_else(String::new, |value| field.show(value))
            }
            None => String::new(),
        }
    }

    /// The number behind a key or field that takes whole numbers: what was given, else what is used instead.
    pub fn number(&self, name: Name) -> Option<u64> {
        let given = match name {
            Name::Key(key) => self.value(key).as_u64(),
            Name::Field(field) => self.architecture.get(field.name).and_then(Value::as_u64),
        };
        let preset = || match name {
            Name::Key(_) => None,
            Name::Field(field) => self.base()?.config.get(field.name)?.as_u64(),
        };
        given.or_else(preset)
    }

    /// Sets a key or field that takes whole numbers.
    ///
    /// # Errors
    /// As for [`Config::set`].
    pub fn set_number(&mut self, name: Name, number: u64) -> Result<(), Problem> {
        self.assign(name, &number.into())
    }

    /// The keys whose values differ in `other`, with their values there (empty: the default).
    pub fn changes(&self, other: &Self) -> Vec<(Key, String)> {
        let differs = |key: &Key| match key {
            Key::Architecture => self.architecture != other.architecture,
            key => self.value(*key) != other.value(*key),
        };
        Key::ALL.iter().copied().filter(differs).map(|key| (key, other.get(key.word()))).collect()
    }

    /// Sets a key from what was typed. Empty text takes the key back to its default.
    ///
    /// # Errors
    /// When the key is unknown or does not accept the text: the configuration is then unchanged, and the problem says
    /// what would be accepted and which value stays in use. (A whole `architecture` is taken but for its bad fields,
    /// of which the first is the problem.)
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Problem> {
        let text = text.trim();
        match Name::find(key) {
            Some(name) if text.is_empty() => {
                self.reset(name);
                Ok(())
            }
            Some(Name::Key(Key::Architecture)) => {
                let Some(Value::Object(json)) = Kind::Object.parse(text) else {
                    return Err(self.refused(Name::Key(Key::Architecture), text));
                };
                let mut problems = Problems::default();
                self.architecture.clear();
                self.describe(json, &mut problems);
                problems.into_vec().into_iter().next().map_or(Ok(()), Err)
            }
            Some(name) => self.assign(name, &Value::from(text)),
            None => Err(unknown(key, text)),
        }
    }

    /// Sets a key from a value that link or JSON gave.
    pub(super) fn assign(&mut self, name: Name, value: &Value) -> Result<(), Problem> {
        let accepted = match (name, value) {
            (Name::Field(field), Value::String(text)) => field.parse(text),
            (Name::Field(field), value) => field.accept(value),
            (Name::Key(key), value) => key.kind().accept(value),
        };
        let Some(accepted) = accepted else {
            let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return Err(self.refused(name, &written));
        };
        match name {
            Name::Field(field) => drop(self.architecture.insert(field.name.to_owned(), accepted)),
            Name::Key(key) => match key.slot(self) {
                Some(slot) => slot.put(&accepted),
                None => drop(self.advanced.insert(key.word().to_owned(), accepted)),
            },
        }
        Ok(())
    }

    /// Takes a value that link or JSON gave; what is not accepted is a problem. A model that is not shipped stays
    /// asked for: an answer for another one in its place would be to a question that nobody asked.
    pub(super) fn take(&mut self, name: Name, value: &Value, problems: &mut Problems) {
        match (self.assign(name, value), name, value) {
            (Err(_), Name::Key(Key::Model), Value::String(id)) if !id.trim().is_empty() => {
                self.model = Some(id.trim().to_owned());
            }
            (result, ..) => problems.check(result),
        }
    }

    /// What was read, once all of it is: a model that is not shipped is left out where the fields describe a whole
    /// one.
    pub(super) fn done(mut self, mut problems: Problems) -> Read {
        if let Some(id) = self.model.take_if(|id| preset(id).is_none()) {
            if self.architecture.contains_key("model_type") {
                let nearest = nearest_model(&id);
                let kind = ProblemKind::NotAccepted { accepts: Kind::Model, nearest, used: None };
                problems.lead(Problem::new(Key::Model.word(), &id, kind));
            } else {
                problems.lead(Problem::unknown_model(&id));
                self.model = Some(id);
            }
        }
        Read { config: self, problems: problems.into_vec() }
    }

    /// Reads the fields of a whole `config.json` over those that are there.
    pub(super) fn describe(&mut self, json: Map<String, Value>, problems: &mut Problems) {
        let mut refused = Vec::new();
        fields::read_all(json, &mut self.architecture, |field, value| {
            refused.push((field, value.to_string()));
        });
        for (field, value) in refused {
            problems.note(|| self.refused(Name::Field(field), &value));
        }
    }

    /// The value of a key; `Null` when nothing was given. Not for `architecture`.
    pub(super) fn value(&self, key: Key) -> Value {
        match key.view(self) {
            Some(slot) => slot.view(),
            None => self.advanced.get(key.word()).cloned().unwrap_or_default(),
        }
    }

    fn reset(&mut self, name: Name) {
        match name {
            Name::Field(field) => drop(self.architecture.remove(field.name)),
            Name::Key(Key::Architecture) => self.architecture.clear(),
            Name::Key(key) => {
                let default = Self::default().value(key);
                match key.slot(self) {
                    Some(slot) => slot.put(&default),
                    None => drop(self.advanced.remove(key.word())),
                }
            }
        }
    }

    /// The problem of a value that is not accepted; what is held (or falls in) is used instead.
    pub(super) fn refused(&self, name: Name, written: &str) -> Problem {
        let accepts = name.kind();
        let ids = match accepts {
            Kind::Model => nearest_model(written),
            Kind::Gpu => nearest(written, gpus().iter().map(|gpu| gpu.id), 3),
            _ => Box::default(),
        };
        let held = Some(self.get(name.word())).filter(|held| !held.is_empty());
        let used = held.or_else(|| Some(self.fallback(name.word()))).filter(|used| !used.is_empty());
        Problem::new(name.word(), written, ProblemKind::NotAccepted { accepts, nearest: ids, used })
    }
}

/// The problem of a key that does not exist.
pub(super) fn unknown(key: &str, value: &str) -> Problem {
    let known = Key::ALL.iter().map(|key| key.word()).chain(FIELDS.iter().map(|field| field.name));
    let nearest = nearest(key, known, 1).first().copied();
    Problem::new(key, value, ProblemKind::UnknownKey { nearest })
}
