//! Parameter counts against models that were built (`tests/data/README.md` says where the cases come from).

use serde_json::Value;
use trainmem::config::{Config, presets};
use trainmem::estimate::{Parameters, estimate};
use trainmem::ledger::Group;

/// Counts of one `config.json`; `None` where its type is not supported.
fn parameters(architecture: &Value) -> Option<Parameters> {
    let architecture = architecture.as_object().expect("a model").clone();
    let config = Config { architecture, ..Config::default() };
    match estimate(&config) {
        Ok(estimate) => Some(estimate.parameters),
        Err(problems) if problems.iter().all(|problem| problem.key == "model_type") => None,
        Err(problems) => panic!("{:?}: {problems:?}", config.architecture),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

#[test]
fn every_traced_run_by_group() {
    let mut misses = Vec::new();
    let mut cases = 0;
    for line in include_str!("data/oracle.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let Some(ours) = parameters(&case["config"]["architecture"]) else {
            misses.push(format!("{}: not supported", case["id"]));
            continue;
        };
        cases += 1;
        let theirs = &case["expect"]["params_by_group"];
        // Adapters are the method's, not the model's.
        let adapters = theirs.get(Group::Adapter.word()).map_or(0, number);
        let mut all = vec![("total", ours.total, number(&case["expect"]["params_total"]) - adapters)];
        for group in Group::ALL {
            let count = ours.by_group.iter().find(|(g, _)| *g == group).map_or(0, |(_, n)| *n);
            if group != Group::Adapter {
                all.push((group.word(), count, theirs.get(group.word()).map_or(0, number)));
            }
        }
        for (name, ours, theirs) in all {
            if ours != theirs {
                misses.push(format!("{} {name}: {ours}, built {theirs}", case["id"]));
            }
        }
    }
    assert!(misses.is_empty(), "{} misses\n{}", misses.len(), misses.join("\n"));
    assert_eq!(cases, 415);
}

/// Their totals were published, or are those of the model that transformers 5.24.0 builds.
#[test]
fn every_shipped_model() {
    for preset in presets() {
        let config = Config { model: Some(preset.id.clone()), ..Config::default() };
        let answer = estimate(&config).unwrap_or_else(|problems| panic!("{}: {problems:?}", preset.id));
        assert_eq!(answer.parameters.total, preset.parameters, "{}", preset.id);
    }
}

/// Supported cases of the data, at least.
const SUPPORTED: usize = 700;

#[test]
fn every_built_model_total_and_active() {
    let mut misses = Vec::new();
    let mut cases = 0;
    for line in include_str!("data/parameters.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let Some(ours) = parameters(&case["config"]) else { continue };
        cases += 1;
        for (name, ours, theirs) in
            [("total", ours.total, number(&case["total"])), ("active", ours.active, number(&case["active"]))]
        {
            // The count of active parameters that comes with these cases leaves all of the feed-forward's experts in.
            let attention_alone = name == "active" && case["config"]["model_type"] == "jetmoe";
            if ours != theirs && !attention_alone {
                let off = i128::from(ours) - i128::from(theirs);
                misses.push(format!("{} {name}: {ours}, built {theirs} ({off:+})", case["id"]));
            }
        }
    }
    assert!(misses.is_empty(), "{} misses of {cases}\n{}", misses.len(), misses.join("\n"));
    assert!(cases >= SUPPORTED, "{cases} cases are supported");
}

/// One case of each type with each of its fields replaced: there is an answer or a problem that names a field, never a
/// panic.
#[test]
fn every_field_may_hold_anything() {
    let strange = [
        serde_json::json!(null),
        serde_json::json!(0),
        serde_json::json!(-1),
        serde_json::json!(1),
        serde_json::json!(7.5),
        serde_json::json!(16_777_216),
        serde_json::json!(1e30),
        serde_json::json!("many"),
        serde_json::json!([]),
        serde_json::json!([0, -1, "x", {}]),
        serde_json::json!({"hidden_size": []}),
        serde_json::json!(true),
    ];
    let mut seen = Vec::new();
    for line in include_str!("data/parameters.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let given = case["config"].as_object().expect("a model");
        if seen.contains(&given["model_type"]) {
            continue;
        }
        seen.push(given["model_type"].clone());
        // Each type meets every value, each field a third of them.
        for (turn, key) in given.keys().enumerate() {
            for value in strange.iter().map(Some).chain([None]).skip((turn + seen.len()) % 3).step_by(3) {
                let mut architecture = given.clone();
                match value {
                    Some(value) => drop(architecture.insert(key.clone(), value.clone())),
                    None => drop(architecture.shift_remove(key)),
                }
                if let Err(problems) = estimate(&Config { architecture, ..Config::default() }) {
                    assert!(problems.iter().all(|problem| !problem.key.is_empty()), "{} {key}", case["id"]);
                }
            }
        }
    }
    assert!(seen.len() > 100);
}

/// Types whose code comes with their weights: the totals that peft prints for these checkpoints.
#[test]
fn models_that_bring_their_code() {
    let cases = [
        (
            serde_json::json!({"model_type": "qwen", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                "kv_channels": 128, "intermediate_size": 22016, "vocab_size": 151_936, "no_bias": true}),
            7_721_324_544,
        ),
        (
            serde_json::json!({"model_type": "chatglm", "hidden_size": 4096, "num_layers": 28, "num_attention_heads": 32,
                "kv_channels": 128, "ffn_hidden_size": 13_696, "multi_query_attention": true,
                "multi_query_group_num": 2, "padded_vocab_size": 65_024, "add_qkv_bias": true,
                "add_bias_linear": false}),
            6_243_584_000,
        ),
        (
            serde_json::json!({"model_type": "baichuan", "hidden_size": 4096, "num_hidden_layers": 32,
                "num_attention_heads": 32, "intermediate_size": 11_008, "vocab_size": 125_696}),
            7_505_973_248,
        ),
        (
            serde_json::json!({"model_type": "internlm2", "hidden_size": 4096, "num_hidden_layers": 32,
                "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14_336,
                "vocab_size": 92_544, "bias": false}),
            7_737_708_544,
        ),
    ];
    for (config, total) in cases {
        let ours = parameters(&config).map(|parameters| parameters.total);
        assert_eq!(ours, Some(total), "{config}");
    }
}

#[test]
fn an_unknown_type_is_told_the_nearest_known() {
    let architecture = serde_json::json!({"model_type": "qwen33", "hidden_size": 64});
    let architecture = architecture.as_object().expect("an object").clone();
    let problems =
        estimate(&Config { architecture, ..Config::default() }).expect_err("there is no such type");
    let message = problems[0].message(trainmem::text::Lang::En);
    assert!(message.contains("qwen33") && message.contains("qwen3"), "{message}");
}
