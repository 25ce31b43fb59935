//! Settings of the run that a log names.

use super::cards::titan;
use super::scan::{Amount, after, head, number};
use super::{Card, Failure, Kind, Setting, cards_of};
use crate::config::Key;
use crate::units::exact_size;

/// What stands before a value in logs of transformers' Trainer and of DeepSpeed.
const SENTENCES: [(&str, Key); 4] = [
    ("Instantaneous batch size per device = ", Key::Batch),
    ("Gradient Accumulation steps = ", Key::Accumulation),
    ("micro batch size: ", Key::Batch),
    ("zero stage optimizer, world size: ", Key::Gpus),
];

/// Rows of the dotted tables that Megatron and DeepSpeed print of their arguments.
const TABLE: [(&str, Key); 10] = [
    ("train_micro_batch_size_per_gpu", Key::Batch),
    ("micro_batch_size", Key::Batch),
    ("gradient_accumulation_steps", Key::Accumulation),
    ("seq_length", Key::Seq),
    ("world_size", Key::Gpus),
    ("tensor_model_parallel_size", Key::Tp),
    ("pipeline_model_parallel_size", Key::Pp),
    ("context_parallel_size", Key::Cp),
    ("expert_model_parallel_size", Key::Ep),
    ("zero_optimization_stage", Key::DataParallel),
];

/// Every setting, each key once.
pub(super) fn read(text: &str, failures: &[Failure], cards: &[Card]) -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    let mut add = |key: Key, value: String| {
        if !value.is_empty() && !all.iter().any(|setting| setting.key == key) {
            all.push(Setting { key, value });
        }
    };
    let on_card = |failure: &&Failure| failure.on_card() && failure.kind != Kind::Tpu;
    let capacities = failures.iter().filter(on_card).filter_map(|failure| failure.capacity);
    let listed = cards.iter().map(|card| Amount { bytes: card.capacity, half: 1 << 19 });
    let capacity = capacities.chain(titan(text)).chain(listed).next();
    if let Some(capacity) = capacity {
        // Cards of one size are told apart by their name alone, which messages leave out.
        match cards_of(capacity).as_slice() {
            [only] => add(Key::Gpu, only.id.to_owned()),
            _ => add(Key::GpuMemory, exact_size(capacity.bytes >> 20 << 20)),
        }
    }
    for (words, key) in SENTENCES {
        if let Some(value) = after(text, words).and_then(number) {
            add(key, value.to_string());
        }
    }
    for (name, key) in TABLE {
        if let Some(value) = row(text, name) {
            let stage = key == Key::DataParallel;
            add(key, if stage { stage_of(value).to_owned() } else { value.to_string() });
        }
    }
    if let Some(stage) = zero_stage(text) {
        add(Key::DataParallel, stage_of(stage).to_owned());
    }
    all
}

/// The number in a row `  seq_length ...................... 4096`.
fn row(text: &str, name: &str) -> Option<u64> {
    text.match_indices(name).take(64).find_map(|(at, _)| {
        let own = text[..at].ends_with([' ', '\n', '\t']);
        let rest = head(&text[at + name.len()..], 80);
        let dots = rest.trim_start();
        let dots_only = dots.trim_start_matches(['.', ' ']);
        // DeepSpeed leaves the dots out where the name is long.
        let table = dots.starts_with("...") || rest.starts_with("  ");
        (own && table).then(|| number(dots_only)).flatten()
    })
}

/// `Creating torch.float16 ZeRO stage 3 optimizer`.
fn zero_stage(text: &str) -> Option<u64> {
    text.match_indices("ZeRO stage ").take(16).find_map(|(at, words)| {
        let rest = head(&text[at + words.len()..], 16);
        rest.contains("optimizer").then(|| number(rest)).flatten()
    })
}

fn stage_of(stage: u64) -> &'static str {
    match stage {
        1 => "zero1",
        2 => "zero2",
        3 => "zero3",
        _ => "",
    }
}
