//! More model types, adapters under autocast and a classifier, against real PyTorch to the byte (`tests/data/README.md`
//! says where the cases come from).

use serde_json::Value;
use trainmem::config::{Config, Optimizer, OptimizerImpl};
use trainmem::estimate::{Estimate, estimate};

fn cases() -> Vec<(String, Config, Value)> {
    let all = include_str!("data/families.jsonl").lines().map(|line| {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let read = Config::from_json(&case["config"].to_string()).expect("a configuration");
        (case["id"].as_str().expect("an id").to_owned(), read.config, case["expect"].clone())
    });
    all.collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn answer(id: &str, config: &Config) -> Estimate {
    estimate(config).unwrap_or_else(|problems| panic!("{id}: {problems:?}"))
}

#[test]
fn parameters_and_what_backward_keeps() {
    let cases = cases();
    assert!(cases.len() >= 104, "{}", cases.len());
    for (id, config, theirs) in cases {
        let ours = answer(&id, &config);
        assert_eq!(ours.parameters.total, number(&theirs["params_total"]), "{id}: parameters");
        if let Some(trainable) = theirs["params_trainable"].as_u64() {
            assert_eq!(ours.parameters.trainable, trainable, "{id}: trainable");
        }
        for (group, bytes) in &ours.saved.by_group {
            assert_eq!(*bytes, number(&theirs["saved_by_module"][group.word()]), "{id}: {group:?}");
        }
        assert_eq!(ours.saved.total, number(&theirs["saved_total"]), "{id}: saved");
        let copies = number(&theirs["amp_weight_copies"]);
        assert_eq!(ours.saved.autocast_weight_copies, copies, "{id}: autocast's copies");
    }
}

#[test]
fn peaks_of_three_optimizers() {
    let kinds = [
        ("adamw_fused", Optimizer::Adamw, OptimizerImpl::Fused),
        ("adamw_foreach", Optimizer::Adamw, OptimizerImpl::Foreach),
        ("sgd", Optimizer::Sgd, OptimizerImpl::Foreach),
    ];
    for (id, config, theirs) in cases() {
        for (name, optimizer, optimizer_impl) in kinds {
            let config = Config { optimizer, optimizer_impl, ..config.clone() };
            assert_eq!(answer(&id, &config).peak.bytes, number(&theirs["peaks"][name]), "{id}: {name}");
        }
    }
}
