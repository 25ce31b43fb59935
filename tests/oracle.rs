//! The estimate against real PyTorch, to the byte (`tests/data/README.md` says where the cases come from).

use serde_json::Value;
use trainmem::config::{Config, Method, Optimizer, OptimizerImpl, Recompute};
use trainmem::estimate::{Estimate, estimate};

/// Families whose figures are exact.
const EXACT: &[&str] = &[
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "phi3",
    "gemma2",
    "gemma3_text",
    "mixtral",
    "qwen3_moe",
    "deepseek_v2",
    "gpt2",
    "bert",
    "vit",
    "t5",
];

struct Case {
    id: String,
    config: Config,
    expect: Value,
}

fn all_cases() -> Vec<Case> {
    let all = include_str!("data/oracle.jsonl").lines().map(|line| {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let read = Config::from_json(&case["config"].to_string()).expect("a configuration");
        let id = case["id"].as_str().expect("a case has an id").to_owned();
        Case { id, config: read.config, expect: case["expect"].clone() }
    });
    let supported = |case: &Case| {
        let model_type = case.config.architecture["model_type"].as_str().unwrap_or("");
        EXACT.contains(&model_type)
    };
    all.filter(supported).collect()
}

/// Full fine-tuning.
fn cases() -> Vec<Case> {
    let cases: Vec<Case> =
        all_cases().into_iter().filter(|case| case.config.method == Method::Full).collect();
    assert_eq!(cases.len(), 378, "the data holds the cases that this test is about");
    cases
}

/// LoRA over a frozen base.
fn adapter_cases() -> Vec<Case> {
    let cases: Vec<Case> =
        all_cases().into_iter().filter(|case| case.config.method == Method::Lora).collect();
    assert_eq!(cases.len(), 37, "the data holds the cases that this test is about");
    cases
}

fn answer(case: &Case) -> Estimate {
    estimate(&case.config).unwrap_or_else(|problems| panic!("{}: {problems:?}", case.id))
}

/// Compares one figure of every case; a miss prints case, both numbers and their difference.
fn exact(what: &str, cases: &[Case], figure: impl Fn(&Case) -> Vec<(String, u64, u64)>) {
    let mut misses = Vec::new();
    for case in cases {
        for (name, ours, theirs) in figure(case) {
            if ours != theirs {
                let difference = i128::from(ours) - i128::from(theirs);
                misses.push(format!("{} {name}: {ours}, PyTorch {theirs} ({difference:+})", case.id));
            }
        }
    }
    assert!(misses.is_empty(), "{what}: {} misses\n{}", misses.len(), misses.join("\n"));
}

fn groups(ours: &[(trainmem::ledger::Group, u64)], theirs: &Value) -> Vec<(String, u64, u64)> {
    let theirs = theirs.as_object().expect("groups");
    let known = trainmem::ledger::Group::ALL;
    let ours = |group| ours.iter().find(|(g, _)| *g == group).map_or(0, |(_, n)| *n);
    assert!(theirs.keys().all(|name| known.iter().any(|group| group.word() == name)));
    known
        .into_iter()
        .map(|group| (group.word().to_owned(), ours(group), theirs.get(group.word()).map_or(0, number)))
        .collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

fn parameters(case: &Case) -> Vec<(String, u64, u64)> {
    let ours = answer(case).parameters;
    let mut all = groups(&ours.by_group, &case.expect["params_by_group"]);
    all.push(("total".to_owned(), ours.total, number(&case.expect["params_total"])));
    all.push(("trainable".to_owned(), ours.trainable, number(&case.expect["params_trainable"])));
    all
}

#[test]
fn parameters_total_and_by_group() {
    exact("parameters", &cases(), parameters);
    exact("parameters with adapters", &adapter_cases(), parameters);
}

fn saved(case: &Case) -> Vec<(String, u64, u64)> {
    let ours = answer(case).saved;
    let mut all = groups(&ours.by_group, &case.expect["saved_by_module"]);
    all.push(("total".to_owned(), ours.total, number(&case.expect["saved_total"])));
    let copies = number(&case.expect["amp_weight_copies"]);
    all.push(("autocast copies".to_owned(), ours.autocast_weight_copies, copies));
    all
}

#[test]
fn saved_activations_total_and_by_module() {
    exact("saved activations", &cases(), saved);
}

/// Peak and optimizer state for fused AdamW, foreach AdamW and SGD.
fn by_optimizer(case: &Case) -> Vec<(String, u64, u64)> {
    let kinds = [
        ("adamw_fused", Optimizer::Adamw, OptimizerImpl::Fused),
        ("adamw_foreach", Optimizer::Adamw, OptimizerImpl::Foreach),
        ("sgd", Optimizer::Sgd, OptimizerImpl::Auto),
    ];
    let mut all = Vec::new();
    for (name, optimizer, optimizer_impl) in kinds {
        let config = Config { optimizer, optimizer_impl, ..case.config.clone() };
        let ours = estimate(&config).expect("the case itself was estimated");
        let theirs = &case.expect["peak_by_optimizer"][name];
        let state: u64 = ours
            .ledger
            .iter()
            .filter(|row| row.block == trainmem::ledger::Block::Optimizer)
            .map(|row| row.bytes)
            .sum();
        all.push((format!("{name} state"), state, number(&theirs["optimizer_state"])));
        all.push((format!("{name} peak"), ours.peak.bytes, number(&theirs["total"])));
    }
    all
}

#[test]
fn optimizer_state() {
    exact("optimizer state", &cases(), |case| {
        by_optimizer(case).into_iter().filter(|(name, ..)| name.ends_with("state")).collect()
    });
}

fn peaks(case: &Case) -> Vec<(String, u64, u64)> {
    by_optimizer(case).into_iter().filter(|(name, ..)| name.ends_with("peak")).collect()
}

#[test]
fn peaks_with_and_without_recomputation_by_every_kernel() {
    exact("peaks", &cases(), peaks);
}

/// The tool ran its cases in one process, and recomputation under peft asks for a gradient of the embedding's output
/// (`enable_input_require_grads`) which nobody takes back: the cases of more than one sequence without recomputation,
/// which came after, keep the first norm's input and the embedding's output as well.
fn left_on(case: &Case) -> u64 {
    if case.config.recompute == Recompute::Full || case.config.batch == 1 {
        return 0;
    }
    let tokens = case.config.batch * case.config.seq;
    tokens * case.config.architecture["hidden_size"].as_u64().expect("a size")
}

#[test]
fn what_adapters_keep_and_their_peaks() {
    let tokens = |case: &Case| case.config.batch * case.config.seq;
    exact("saved activations with adapters", &adapter_cases(), |case| {
        let norm = if left_on(case) > 0 { 4 * left_on(case) + 4 * tokens(case) } else { 0 };
        let more = |name: &str| if name == "norm" || name == "total" { norm } else { 0 };
        saved(case)
            .into_iter()
            .map(|(name, ours, theirs)| (name.clone(), ours + more(&name), theirs))
            .collect()
    });
    exact("peaks with adapters", &adapter_cases(), |case| {
        let more = if left_on(case) > 0 { 6 * left_on(case) + 4 * tokens(case) } else { 0 };
        peaks(case).into_iter().map(|(name, ours, theirs)| (name, ours + more, theirs)).collect()
    });
}

/// The allocator's counter is the live tensors, rounded, with operators' scratch. What is left is where a block of
/// another size is used again, which depends on the order of everything before: 0.6 % at most, and 2.2 % for `GPT-2`,
/// `BERT` and `ViT`, whose sizes fit no segment evenly. The stand-in has no cuBLAS, so its workspaces are taken off.
#[test]
fn the_allocators_counter() {
    let (mut exact, mut inside) = (0, 0);
    for case in cases() {
        let ours = answer(&case);
        let workspaces: u64 =
            ours.ledger.iter().filter(|row| row.tensor.id == "workspace").map(|row| row.bytes).sum();
        let theirs = number(&case.expect["allocated_peak"]);
        let off = (ours.allocated - workspaces).abs_diff(theirs);
        let within =
            if ["gpt2", "bert", "vit"].iter().any(|name| case.id.starts_with(name)) { 45 } else { 160 };
        assert!(off * within <= theirs, "{}: {} off {theirs}", case.id, off);
        exact += usize::from(off == 0);
        let reserved = number(&case.expect["reserved_peak"]);
        inside += usize::from((ours.reserved.low - workspaces..=ours.reserved.high).contains(&reserved));
    }
    assert!(exact >= 140, "{exact} of 378 counters are exact");
    assert!(inside >= 325, "the band holds {inside} of 378");
}
