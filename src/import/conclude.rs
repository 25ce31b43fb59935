//! What follows only when every text has been read: processes, batches, precision, and what was not said at all.

use super::Format;
use super::draft::{Draft, Engine, Family, Half};
use super::given::Said;
use crate::config::{Key, Method, Precision};
use crate::text::{Text, import as words};

/// Concludes; each rule uses what the ones before it found.
pub(super) fn conclude(draft: &mut Draft) {
    if !draft.facts.trains {
        return;
    }
    for (format, settings) in [
        (Format::Deepspeed, &["deepspeed", "deepspeed_config_file"][..]),
        (Format::Accelerate, &["config_file"]),
        (Format::LlamaFactory, &["llamafactory-cli"]),
        (Format::Axolotl, &["axolotl", "accelerate"]),
    ] {
        if draft.formats.contains(&format) {
            draft.forget_named(settings);
        }
    }
    processes(draft);
    batches(draft);
    precision(draft);
    silent(draft);
}

/// Ranks that share one replica.
fn group(draft: &Draft) -> u64 {
    let config = &draft.config;
    config.tp.saturating_mul(config.pp).saturating_mul(config.cp).max(1)
}

fn processes(draft: &mut Draft) {
    let per_node = draft.facts.per_node.take();
    let nodes = draft.facts.nodes.take();
    let visible = draft.facts.visible.take();
    // One node says only that it has so many at least.
    let several = nodes.as_ref().is_some_and(|(_, count)| *count > 1);
    if let Some((said, each)) = &per_node
        && (several || *each > draft.config.gpus_per_node)
    {
        draft.set_key(said, Key::GpusPerNode, &each.to_string());
    }
    let all = draft.facts.gpus.take().or_else(|| {
        let (said, each) = per_node.or_else(|| visible.filter(|_| nodes.is_none()))?;
        let count = nodes.as_ref().map_or(1, |(_, count)| *count);
        Some((said, each.saturating_mul(count)))
    });
    match (all, nodes) {
        (Some((said, all)), nodes) => {
            draft.set_key(&said, Key::Gpus, &all.to_string());
            if let Some((said, count)) = nodes.filter(|(_, count)| *count > 1 && all.is_multiple_of(*count))
                && !draft.is_given(Key::GpusPerNode.word())
            {
                draft.set_key(&said, Key::GpusPerNode, &(all / count).to_string());
            }
        }
        (None, Some((said, count))) => {
            let all = count.saturating_mul(draft.config.gpus_per_node);
            draft.set_key(&said, Key::Gpus, &all.to_string());
        }
        (None, None) => {}
    }
}

fn batches(draft: &mut Draft) {
    let (micro, steps) = (draft.facts.micro_batch.take(), draft.facts.accumulation.take());
    let global = draft.facts.global_batch.take();
    if let Some((said, micro)) = &micro {
        draft.set_key(said, Key::Batch, &micro.to_string());
    }
    if let Some((said, steps)) = &steps {
        draft.set_key(said, Key::Accumulation, &steps.to_string());
    }
    let Some((said, global)) = global else { return };
    let (micro, steps) = (micro.map(|(_, micro)| micro), steps.map(|(_, steps)| steps));
    let group = group(draft);
    let replicas = draft.is_given(Key::Gpus.word()).then(|| (draft.config.gpus / group).max(1));
    match (replicas, micro, steps) {
        (Some(replicas), micro, None) if micro.is_some() => {
            let micro = micro.unwrap_or(1);
            divide(&said, global, replicas.saturating_mul(micro), Key::Accumulation, draft);
        }
        // DeepSpeed takes one micro-batch a step where only the whole is given (`_set_batch_related_parameters`).
        (Some(replicas), None, steps) => {
            divide(&said, global, replicas.saturating_mul(steps.unwrap_or(1)), Key::Batch, draft);
        }
        (None, Some(micro), Some(steps)) => {
            let each = micro.saturating_mul(steps);
            if global.is_multiple_of(each) {
                let gpus = (global / each).saturating_mul(group);
                draft.set_key(&said, Key::Gpus, &gpus.to_string());
            } else {
                draft.unsupported(&said, words::DOES_NOT_DIVIDE);
            }
        }
        (Some(replicas), Some(micro), Some(steps)) => {
            if replicas.saturating_mul(micro).saturating_mul(steps) == global {
                draft.set_key(&said, Key::Accumulation, &steps.to_string());
            } else {
                draft.unsupported(&said, words::DOES_NOT_DIVIDE);
            }
        }
        // Megatron and torchtitan are told how many GPUs there are when they start.
        (None, Some(micro), None) if draft.facts.family.is_some() => {
            let replicas = (assumed_gpus(draft) / group).max(1);
            divide(&said, global, replicas.saturating_mul(micro), Key::Accumulation, draft);
        }
        _ => draft.unsupported(&said, words::NEEDS_GPUS),
    }
}

/// Sets a key to what is left of the global batch.
fn divide(said: &Said, global: u64, by: u64, key: Key, draft: &mut Draft) {
    match global.checked_div(by).filter(|&each| each > 0 && each.saturating_mul(by) == global) {
        Some(each) => draft.set_key(said, key, &each.to_string()),
        None => draft.unsupported(said, words::DOES_NOT_DIVIDE),
    }
}

/// The least that the groups need; torchtitan's own script starts eight (`run_train.sh`).
fn assumed_gpus(draft: &mut Draft) -> u64 {
    if !draft.is_given(Key::Gpus.word()) {
        let group = group(draft);
        let experts = draft.config.ep.saturating_mul(draft.config.etp).saturating_mul(draft.config.pp).max(1);
        let least = group.max(experts);
        let (gpus, why) = match draft.facts.family {
            Some(Family::Torchtitan) => (least.max(8), words::TITAN_DEFAULT),
            _ => (least, words::ONE_GROUP),
        };
        if gpus > 1 {
            draft.assume(Key::Gpus.word(), &gpus.to_string(), why);
        }
    }
    draft.config.gpus
}

/// Which of the contract's precisions the engine, the type of computation and the type of the weights make together.
fn precision(draft: &mut Draft) {
    let titan = draft.facts.family == Some(Family::Torchtitan);
    let trl = draft.facts.family == Some(Family::Trl);
    if let Some(said) = draft.facts.fp8.take() {
        return draft.set_key(&said, Key::Precision, Precision::Fp8Mixed.word());
    }
    let compute = draft.facts.compute.take();
    let weights = draft.facts.weights.take();
    let half = match &compute {
        // They compute in bf16 unless told otherwise (`training.mixed_precision_param`; TRL's `_BaseConfig`).
        None if titan || trl => Some(Half::Bf16),
        said => said.as_ref().and_then(|(_, half)| *half),
    };
    let stored = weights.as_ref().and_then(|(_, half)| *half);
    let adapters = matches!(draft.config.method, Method::Lora | Method::Qlora);
    let Some(said) = compute.or_else(|| weights.clone()).map(|(said, _)| said) else {
        return unsaid(draft);
    };
    let engine = draft.facts.engine;
    let masters = match engine {
        Some(Engine::Deepspeed | Engine::Megatron) => true,
        // Frozen 16-bit weights stay as they are; accelerate keeps those that are trained in fp32.
        Some(Engine::Fsdp) => !((adapters || titan) && stored.is_some()),
        None => false,
    };
    let precision = match (half, stored) {
        (Some(half), _) if draft.facts.autocast => autocast(half),
        (Some(half), _) if masters => mixed(half),
        // A quantised model computes in 16 bit over weights that are stored as such.
        (Some(half), None) if draft.config.method == Method::Qlora => {
            beside_autocast(&said, half, draft);
            pure(half)
        }
        (Some(_), Some(stored)) if titan => pure(stored),
        (Some(half), Some(stored)) => {
            beside_autocast(&said, half, draft);
            pure(stored)
        }
        (Some(half), None) => {
            if weights.is_none() {
                draft.facts.assumed_half.get_or_insert(words::FP32_WEIGHTS);
            }
            autocast(half)
        }
        (None, Some(stored)) => pure(stored),
        (None, None) => Precision::Fp32,
    };
    draft.set_key(&said, Key::Precision, precision.word());
    if let Some(why) = draft.facts.assumed_half.take() {
        draft.note_assumed(Key::Precision.word(), precision.word(), why);
    }
    if let Some((weights, _)) = weights.filter(|(weights, _)| weights.name != said.name) {
        draft.set_key(&weights, Key::Precision, precision.word());
    }
}

fn beside_autocast(said: &Said, half: Half, draft: &mut Draft) {
    draft.set_key(said, Key::Autocast, half.word());
}

const fn mixed(half: Half) -> Precision {
    match half {
        Half::Bf16 => Precision::Bf16Mixed,
        Half::Fp16 => Precision::Fp16Mixed,
    }
}

const fn autocast(half: Half) -> Precision {
    match half {
        Half::Bf16 => Precision::Bf16Autocast,
        Half::Fp16 => Precision::Fp16Autocast,
    }
}

const fn pure(half: Half) -> Precision {
    match half {
        Half::Bf16 => Precision::Bf16,
        Half::Fp16 => Precision::Fp16,
    }
}

/// Nothing is said of 16 bit: every trainer computes in fp32 then.
fn unsaid(draft: &mut Draft) {
    let why = match draft.facts.family {
        Some(family @ (Family::Torchtitan | Family::Trl)) => {
            let why = if family == Family::Trl { words::TRL_DEFAULT } else { words::TITAN_DEFAULT };
            let precision = match draft.facts.engine {
                Some(_) => Precision::Bf16Mixed,
                None => Precision::Bf16Autocast,
            };
            return draft.assume(Key::Precision.word(), precision.word(), why);
        }
        _ if draft.facts.automatic_half => {
            let held = draft.config.precision.word();
            return draft.assume(Key::Precision.word(), held, words::NOT_SAID);
        }
        Some(_) => words::NO_16_BIT,
        None if draft.facts.engine == Some(Engine::Deepspeed) => words::NO_16_BIT,
        None => return,
    };
    draft.assume(Key::Precision.word(), Precision::Fp32.word(), why);
}

/// What no text says, and who decides it then.
fn silent(draft: &mut Draft) {
    let defaults: &[(Key, &str, Text)] = match draft.facts.family {
        Some(Family::Trl) => &[
            (Key::Batch, "8", words::TRAINER_DEFAULT),
            (Key::Seq, "1024", words::TRL_DEFAULT),
            (Key::Recompute, "full", words::TRL_DEFAULT),
        ],
        Some(Family::Trainer) => &[(Key::Batch, "8", words::TRAINER_DEFAULT)],
        Some(Family::LlamaFactory) => {
            &[(Key::Batch, "8", words::TRAINER_DEFAULT), (Key::Seq, "2048", words::LLAMA_FACTORY_DEFAULT)]
        }
        Some(Family::Axolotl) => {
            &[(Key::Batch, "1", words::AXOLOTL_DEFAULT), (Key::Seq, "512", words::AXOLOTL_DEFAULT)]
        }
        Some(Family::Torchtitan) => &[
            (Key::Batch, "8", words::TITAN_DEFAULT),
            (Key::Seq, "2048", words::TITAN_DEFAULT),
            (Key::Stack, "torchtitan", words::TITAN_DEFAULT),
        ],
        Some(Family::Megatron) | None => &[],
    };
    for (key, value, why) in defaults {
        draft.assume(key.word(), value, *why);
    }
    if matches!(draft.facts.family, Some(Family::Megatron | Family::Torchtitan)) {
        assumed_gpus(draft);
    }
    // FSDP of accelerate and of the trainers is version 1 unless told otherwise.
    if draft.facts.engine == Some(Engine::Fsdp) && draft.facts.family != Some(Family::Torchtitan) {
        draft.assume(Key::FsdpVersion.word(), "1", words::FSDP_1);
    }
    let model = draft.config.model.is_some() || !draft.config.architecture.is_empty();
    if !model {
        draft.note_assumed(Key::Model.word(), crate::config::DEFAULT_MODEL, words::NOT_SAID);
    }
    for key in [Key::Batch, Key::Seq] {
        let value = draft.config.get(key.word());
        draft.assume(key.word(), &value, words::NOT_SAID);
    }
    let sharded = draft.config.data_parallel != crate::config::DataParallel::Ddp;
    if sharded && draft.config.gpus == 1 && !draft.is_given(Key::Gpus.word()) {
        draft.note_assumed(Key::Gpus.word(), "1", words::GPUS_NOT_SAID);
    }
}
