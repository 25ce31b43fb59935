//! What no key can say alone: values that exclude each other, have no effect here, or have none yet.

use super::choices::{DataParallel, Loss, Method, Offload, Quantization, Recompute, Stack};
use super::keys::{Effect, Key, Section};
use super::problem::{Problem, ProblemKind};
use super::{Config, Read};
use crate::text::{Text, config as words};

/// Tokens of one micro-batch: ten of the longest contexts in use.
const MOST_TOKENS: u64 = 100_000_000;
/// What the key `gpus` accepts.
const MOST_GPUS: u64 = 1_000_000;

impl Config {
    /// Experts of a layer, where the model has any.
    pub(crate) fn experts(&self) -> Option<u64> {
        self.size(EXPERTS)
    }

    /// The configuration that can be estimated: values that exclude each other are replaced. The problems name each
    /// one, and every key that has no effect (here or yet). What was asked stays in `self`.
    pub fn checked(&self) -> Read {
        let mut check = Check { config: self.clone(), problems: Vec::new() };
        check.tokens();
        check.heads();
        check.layers();
        check.parallel();
        check.without_effect();
        check.not_yet();
        Read { config: check.config, problems: check.problems }
    }

    /// Number of the model's layers, where it is given by one field.
    pub fn layers(&self) -> Option<u64> {
        self.size(LAYERS)
    }

    /// A size of the model: the given field, else the preset's, by the first of its names that is there.
    fn size(&self, names: &[&str]) -> Option<u64> {
        let given = names.iter().find_map(|name| self.architecture.get(*name));
        let value = given.or_else(|| names.iter().find_map(|name| self.base()?.config.get(*name)));
        value?.as_u64().filter(|&size| size > 0)
    }
}

const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "num_layers", "n_layers"];
const HEADS: &[&str] = &["num_attention_heads", "n_head", "num_heads", "n_heads"];
const KV_HEADS: &[&str] = &["num_key_value_heads", "num_kv_heads"];
const EXPERTS: &[&str] = &["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"];

struct Check {
    config: Config,
    problems: Vec<Problem>,
}

impl Check {
    fn note(&mut self, key: Key, text: Text) {
        let value = self.config.get(key.word());
        self.problems.push(Problem::new(key.word(), &value, ProblemKind::Note(text)));
    }

    /// Replaces a key's value, naming the rule and the values it came from.
    fn replace(
        &mut self,
        key: Key,
        rule: Text,
        values: Vec<(&'static str, String)>,
        used: impl Into<String>,
    ) {
        let (value, used) = (self.config.get(key.word()), used.into());
        // A replacement is always a value that the key accepts.
        let _ = self.config.set(key.word(), &used);
        let kind = ProblemKind::Conflict { rule, values: values.into(), used: Some(used) };
        self.problems.push(Problem::new(key.word(), &value, kind));
    }

    fn tokens(&mut self) {
        let (batch, seq) = (self.config.batch, self.config.seq);
        if batch.saturating_mul(seq) > MOST_TOKENS {
            let most = (MOST_TOKENS / seq).max(1);
            let values = vec![("seq", seq.to_string()), ("most", MOST_TOKENS.to_string())];
            self.replace(Key::Batch, words::TOO_MANY_TOKENS, values, most.to_string());
        }
    }

    /// Given head counts that do not divide fall back to the preset's. Without one there is nothing to fall back to,
    /// and the model itself is refused.
    fn heads(&mut self) {
        let Some(base) = self.config.base() else { return };
        let kv = "num_key_value_heads";
        for field in [kv, "num_attention_heads", "hidden_size", kv] {
            let (Some(hidden), Some(heads)) = (self.config.size(HIDDEN), self.config.size(HEADS)) else {
                return;
            };
            let kv_heads = self.config.size(KV_HEADS).unwrap_or(heads);
            let rule = if !heads.is_multiple_of(kv_heads) {
                words::KV_HEADS_DIVIDE
            } else if self.config.size(&["head_dim"]).is_none() && !hidden.is_multiple_of(heads) {
                words::HEADS_DIVIDE
            } else {
                return;
            };
            if rule == words::HEADS_DIVIDE && field == kv {
                continue;
            }
            if let Some(value) = self.config.architecture.remove(field) {
                let used = base.config.get(field).map(ToString::to_string);
                let values = vec![
                    ("hidden", hidden.to_string()),
                    ("heads", heads.to_string()),
                    ("kv_heads", kv_heads.to_string()),
                ];
                let kind = ProblemKind::Conflict { rule, values: values.into(), used };
                self.problems.push(Problem::new(field, &value.to_string(), kind));
            }
        }
    }

    fn layers(&mut self) {
        let Some(layers) = self.config.size(LAYERS) else { return };
        let values = || vec![("layers", layers.to_string())];
        if self.config.recompute_layers.is_some_and(|n| n > layers) {
            self.replace(Key::RecomputeLayers, words::MORE_THAN_LAYERS, values(), layers.to_string());
        }
        if self.config.pp > layers {
            self.replace(Key::Pp, words::MORE_THAN_LAYERS, values(), layers.to_string());
        }
    }

    fn parallel(&mut self) {
        let heads = self.config.size(HEADS);
        if let Some(heads) = heads.filter(|heads| !heads.is_multiple_of(self.config.tp)) {
            let used = gcd(heads, self.config.tp);
            self.replace(Key::Tp, words::TP_DIVIDES, vec![("heads", heads.to_string())], used.to_string());
        }
        let kv_heads = self.config.size(KV_HEADS).or(heads);
        if let Some(kv_heads) = kv_heads {
            let tp = self.config.tp;
            // Fewer key/value heads than ranks are copied, so either may divide the other.
            if !kv_heads.is_multiple_of(tp) && !tp.is_multiple_of(kv_heads) {
                let values = vec![("heads", kv_heads.to_string())];
                self.replace(Key::Tp, words::TP_DIVIDES_KV, values, gcd(kv_heads, tp).to_string());
            }
        }
        let experts = self.config.experts();
        for key in [Key::Ep, Key::Etp] {
            let degree = if key == Key::Ep { self.config.ep } else { self.config.etp };
            match experts {
                None if degree > 1 => self.replace(key, words::NEEDS_EXPERTS, Vec::new(), "1"),
                Some(experts) if key == Key::Ep && !experts.is_multiple_of(degree) => {
                    let values = vec![("experts", experts.to_string())];
                    self.replace(key, words::EP_DIVIDES, values, gcd(experts, degree).to_string());
                }
                _ => {}
            }
        }
        self.ranks();
        self.within();
    }

    /// What needs a group that the degrees, as they are now, may not have.
    fn within(&mut self) {
        if self.config.sp && self.config.tp == 1 {
            self.replace(Key::Sp, words::SP_NEEDS_TP, Vec::new(), "false");
        }
        if self.config.vpp > 1 && self.config.pp == 1 {
            self.replace(Key::Vpp, words::VPP_NEEDS_PP, Vec::new(), "1");
        }
        let Some(layers) = self.config.size(LAYERS) else { return };
        // Megatron may count embedding and loss as two more layers.
        if self.config.pp.saturating_mul(self.config.vpp) > layers + 2 && self.config.pp > 1 {
            self.replace(Key::Vpp, words::MORE_STAGES_THAN_LAYERS, vec![("layers", layers.to_string())], "1");
        }
    }

    /// The job's GPUs are whole groups: of `tp·pp·cp` ranks, and for experts of `etp·ep·pp`.
    fn ranks(&mut self) {
        let Config { tp, pp, cp, ep, etp, gpus, .. } = self.config;
        let dense = tp.saturating_mul(pp).saturating_mul(cp).max(1);
        let experts = etp.saturating_mul(ep).saturating_mul(pp).max(1);
        let both = dense.saturating_mul(experts / gcd(dense, experts));
        let used = gpus.div_ceil(both).saturating_mul(both);
        let values = vec![
            ("tp", tp.to_string()),
            ("pp", pp.to_string()),
            ("cp", cp.to_string()),
            ("ep", ep.to_string()),
            ("etp", etp.to_string()),
            ("group", dense.to_string()),
            ("experts", experts.to_string()),
        ];
        if used > MOST_GPUS {
            for key in [Key::Tp, Key::Pp, Key::Cp, Key::Ep, Key::Etp] {
                if self.config.get(key.word()) != "1" {
                    self.replace(key, words::TOO_MANY_RANKS, values.clone(), "1");
                }
            }
        } else if !gpus.is_multiple_of(dense) {
            self.replace(Key::Gpus, words::GPUS_DIVIDE, values, used.to_string());
        } else if !gpus.is_multiple_of(experts) {
            self.replace(Key::Gpus, words::GPUS_DIVIDE_EXPERTS, values, used.to_string());
        }
    }

    fn without_effect(&mut self) {
        let default = Config::default();
        let config = &self.config;
        let mut notes = Vec::new();
        if !matches!(config.method, Method::Lora | Method::Qlora) {
            for key in [Key::LoraRank, Key::LoraTargets, Key::LoraDtype] {
                if config.value(key) != default.value(key) {
                    notes.push((key, words::NEEDS_LORA));
                }
            }
        }
        if config.method != Method::Qlora && config.quantization != Quantization::None {
            notes.push((Key::Quantization, words::NEEDS_QLORA));
        }
        if config.recompute == Recompute::None && config.recompute_layers.is_some() {
            notes.push((Key::RecomputeLayers, words::NEEDS_RECOMPUTE));
        }
        if config.loss != Loss::Chunked && config.loss_chunks.is_some() {
            notes.push((Key::LossChunks, words::NEEDS_CHUNKED));
        }
        let whole = config.gpus < 2 || config.data_parallel == DataParallel::Ddp;
        if whole && config.offload.iter().any(|what| *what != Offload::Activations) {
            notes.push((Key::Offload, words::NEEDS_SHARDING));
        }
        if config.params.is_some() && config.model.is_none() && config.architecture.is_empty() {
            notes.push((Key::Params, words::PARAMS_ARE_QUICK));
        }
        for (key, text) in notes {
            self.note(key, text);
        }
        if self.config.method == Method::Qlora && self.config.quantization == Quantization::None {
            self.replace(Key::Quantization, words::QLORA_NEEDS_QUANTIZATION, Vec::new(), "nf4");
        }
    }

    fn not_yet(&mut self) {
        let default = Config::default();
        // Of activations, only the layer inputs that full recomputation keeps are moved.
        let config = &self.config;
        let moved = config.recompute == Recompute::Full && config.stack != Stack::MegatronCore;
        if config.offload.contains(&Offload::Activations) && !moved {
            let value = Offload::Activations.word();
            self.problems.push(Problem::new(Key::Offload.word(), value, ProblemKind::NotYet));
        }
        for &key in Key::ALL {
            let word = key.word();
            if key.section() == Section::Advanced && self.config.advanced.is_empty() {
                continue;
            }
            let known = match key.effect() {
                Effect::Yes => continue,
                Effect::Only(words) => {
                    let value = self.config.value(key);
                    // A list is known when all of its words are.
                    value == default.value(key)
                        || value
                            .as_str()
                            .is_some_and(|value| value.split(',').all(|word| words.contains(&word)))
                }
                Effect::NotYet => {
                    let value = self.config.value(key);
                    value.is_null() || value == default.value(key)
                }
            };
            if !known && !self.problems.iter().any(|problem| problem.key == word) {
                let value = self.config.get(word);
                self.problems.push(Problem::new(word, &value, ProblemKind::NotYet));
            }
        }
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
