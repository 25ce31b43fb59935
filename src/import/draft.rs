//! What has been read so far, of all texts together.

use serde_json::Value;

use super::given::Said;
use super::{Assumed, Format, Ignored, Import, Understood, Why};
use crate::config::{Config, FIELDS, Field, Key, Offload, Problem};
use crate::text::{Text, import as words};

/// A 16-bit type of compute or weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Bf16,
    Fp16,
}

impl Half {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
        }
    }
}

/// Who shards or holds the master copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Deepspeed,
    Fsdp,
    Megatron,
}

/// Whose defaults hold where a file is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Trainer,
    /// TRL, whose defaults go before those of transformers.
    Trl,
    LlamaFactory,
    Axolotl,
    Torchtitan,
    Megatron,
}

/// What follows only from several settings together.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) family: Option<Family>,
    pub(super) engine: Option<Engine>,
    /// The type of computation that was asked: 16 bit, or (`None` inside) fp32 explicitly.
    pub(super) compute: Option<(Said, Option<Half>)>,
    /// The type that weights are loaded in; `None` inside: fp32.
    pub(super) weights: Option<(Said, Option<Half>)>,
    /// Why the 16-bit type is believed to be on, where the text does not quite say so.
    pub(super) assumed_half: Option<Text>,
    /// A file leaves the 16-bit type to another one.
    pub(super) automatic_half: bool,
    /// The engine was told to use torch's autocast instead of a master copy.
    pub(super) autocast: bool,
    pub(super) fp8: Option<Said>,
    pub(super) micro_batch: Option<(Said, u64)>,
    pub(super) accumulation: Option<(Said, u64)>,
    pub(super) global_batch: Option<(Said, u64)>,
    pub(super) gpus: Option<(Said, u64)>,
    pub(super) nodes: Option<(Said, u64)>,
    pub(super) per_node: Option<(Said, u64)>,
    /// Cards listed for one process group, such as `CUDA_VISIBLE_DEVICES`.
    pub(super) visible: Option<(Said, u64)>,
    /// Some text describes a training run (not only a model).
    pub(super) trains: bool,
}

/// What has been read so far.
pub(crate) struct Draft {
    pub(super) config: Config,
    pub(super) facts: Facts,
    pub(super) formats: Vec<Format>,
    given: Vec<&'static str>,
    understood: Vec<Understood>,
    ignored: Vec<Ignored>,
    assumed: Vec<Assumed>,
    problems: Vec<Problem>,
}

impl Draft {
    /// Reading over a configuration: the keys in which it differs from the defaults count as given.
    pub(super) fn over(base: &Config) -> Self {
        let given = base.to_object().keys().filter_map(|key| name(key)).collect();
        Self {
            config: base.clone(),
            facts: Facts::default(),
            formats: Vec::new(),
            given,
            understood: Vec::new(),
            ignored: Vec::new(),
            assumed: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub(super) fn into_import(self) -> Import {
        let Self { config, formats, understood, ignored, assumed, problems, .. } = self;
        Import { formats, config, understood, ignored, assumed, problems }
    }

    /// Takes over one of their settings. A value that the key does not accept is a problem, and changes nothing.
    pub(super) fn set(&mut self, said: &Said, key: &str, value: &str) {
        if said.text().contains('$') {
            return self.ignore(said, Why::Variable);
        }
        let Some(key) = name(key) else { return };
        match self.config.set(key, value) {
            Ok(()) => {
                self.give(key);
                // Both ways of saying one thing may stand in one file: the last one is in use.
                let ours = self.config.get(key);
                let ours = if ours.is_empty() { value.to_owned() } else { ours };
                let understood = Understood { theirs: cut(&said.name), value: cut(&said.text()), key, ours };
                if !self.understood.contains(&understood) {
                    self.understood.push(understood);
                }
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Takes over a key of the table.
    pub(super) fn set_key(&mut self, said: &Said, key: Key, value: &str) {
        self.set(said, key.word(), value);
    }

    /// Sets a key that no text gives; one that was given stays as it is.
    pub(super) fn assume(&mut self, key: &'static str, value: &str, why: Text) {
        if !self.is_given(key) && self.config.set(key, value).is_ok() {
            self.assumed.retain(|assumed| assumed.key != key);
            self.assumed.push(Assumed { key, value: value.to_owned(), why });
        }
    }

    pub(super) fn ignore(&mut self, said: &Said, why: Why) {
        self.ignored.push(Ignored::new(said, why));
    }

    pub(super) fn unsupported(&mut self, said: &Said, what: Text) {
        self.ignore(said, Why::Unsupported(what));
    }

    /// Whether a text or the reader gave this key.
    pub(super) fn is_given(&self, key: &str) -> bool {
        self.given.contains(&key)
    }

    pub(super) fn give(&mut self, key: &'static str) {
        self.assumed.retain(|assumed| assumed.key != key);
        if !self.given.contains(&key) {
            self.given.push(key);
        }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Notes that what was just understood rests on an assumption as well.
    pub(super) fn note_assumed(&mut self, key: &'static str, value: &str, why: Text) {
        self.assumed.push(Assumed { key, value: value.to_owned(), why });
    }

    /// Takes back that a file was only named, when that file was read as well.
    pub(super) fn forget_named(&mut self, settings: &[&str]) {
        let named = |ignored: &Ignored| settings.iter().any(|setting| ignored.theirs.ends_with(setting));
        self.ignored.retain(|ignored| ignored.why != Why::Elsewhere || !named(ignored));
    }

    /// Takes back what was assumed of a model's fields, when the model is found to be a shipped one.
    pub(super) fn forget_assumed_fields(&mut self) {
        self.assumed.retain(|assumed| Key::parse(assumed.key).is_some());
    }

    /// Keeps a whole number above 0 for the conclusions.
    pub(super) fn note_number(
        &mut self,
        said: Said,
        place: impl FnOnce(&mut Facts) -> &mut Option<(Said, u64)>,
    ) {
        match said.number().filter(|&number| number > 0) {
            Some(number) => *place(&mut self.facts) = Some((said, number)),
            None => self.unsupported(&said, words::OTHER_VALUE),
        }
    }

    /// Adds a part to what lives in host memory.
    pub(super) fn offload(&mut self, said: &Said, part: Offload) {
        let mut parts = self.config.offload.clone();
        if !parts.contains(&part) {
            parts.push(part);
        }
        let words: Vec<_> = parts.iter().map(|part| part.word()).collect();
        self.set_key(said, Key::Offload, &words.join(","));
    }

    /// Sharded groups and their replicas, as a mesh says them.
    pub(super) fn mesh(&mut self, replicas: Option<Said>, shards: Option<Said>) {
        let count = |said: &Option<Said>| said.as_ref().and_then(Said::number).unwrap_or(1);
        let (several, sharded) = (count(&replicas) > 1, count(&shards) > 1);
        if let Some(said) = shards.filter(|_| sharded) {
            self.facts.engine = Some(Engine::Fsdp);
            let parallel = if several { "hsdp" } else { "fsdp" };
            if several {
                self.set_key(&said, Key::ShardSize, &said.text());
            }
            self.set_key(&said, Key::DataParallel, parallel);
        }
        if let Some(said) = replicas.filter(|_| several) {
            self.set_key(&said, Key::DataParallel, if sharded { "hsdp" } else { "ddp" });
        }
    }

    /// Takes over a whole configuration of this program's own, or the fields of a model.
    pub(super) fn adopt(&mut self, source: &str, read: crate::config::Read) {
        for (key, value) in read.config.to_object() {
            let Some(key) = name(&key) else { continue };
            if key == Key::Architecture.word() {
                self.describe(source, &value);
                continue;
            }
            let said = Said { name: format!("{source}{key}"), value };
            self.set(&said, key, &read.config.get(key));
        }
        for problem in read.problems {
            self.problem(problem);
        }
    }

    fn describe(&mut self, source: &str, fields: &Value) {
        let Value::Object(fields) = fields else { return };
        for (field, value) in fields {
            // Fields that are kept without being known by name travel along, as they do in a link.
            let Some(known) = Field::find(field) else {
                self.config.architecture.insert(field.clone(), value.clone());
                continue;
            };
            let said = Said { name: format!("{source}{field}"), value: value.clone() };
            let text = super::given::plain(value);
            let text = if value.is_array() || value.is_object() { value.to_string() } else { text };
            self.set(&said, known.name, &text);
        }
    }
}

/// The program's own copy of a key's or field's name.
fn name(key: &str) -> Option<&'static str> {
    Key::parse(key).map(Key::word).or_else(|| FIELDS.iter().map(|field| field.name).find(|name| *name == key))
}

/// Longer texts are cut where they are shown.
pub(super) fn cut(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
