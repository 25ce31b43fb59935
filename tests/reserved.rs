//! The replayed allocator against the real one, at full model size (`tests/data/README.md`).

use serde_json::Value;
use trainmem::architecture::Architecture;
use trainmem::config::Config;
use trainmem::estimate::{refined, replay_one_step};

/// What the real allocator had reserved in one step of each run, and how far the replay is from it (a share).
fn errors() -> Vec<(f64, String)> {
    let mut errors = Vec::new();
    for line in include_str!("data/oracle.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let config = Config::from_json(&case["config"].to_string()).expect("a configuration").config;
        let model = Architecture::of(&config).expect("a model");
        let Some(ours) = replay_one_step(&model, &config) else { continue };
        let theirs = case["expect"]["reserved_peak"].as_u64().expect("bytes");
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let error = ours as f64 / theirs as f64 - 1.0;
        errors.push((error, case["id"].to_string()));
    }
    errors.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    errors
}

#[test]
fn half_of_all_runs_are_within_a_fifth_of_a_percent_and_nearly_all_within_five() {
    let errors = errors();
    assert!(errors.len() >= 396, "{}", errors.len());
    assert!(errors[errors.len() / 2].0.abs() < 0.002, "{:?}", errors[errors.len() / 2]);
    let far: Vec<_> = errors.iter().filter(|(error, _)| error.abs() > 0.05).collect();
    assert!(far.len() * 50 < errors.len(), "{far:?}");
    assert!(errors.iter().all(|(error, _)| error.abs() < 0.1), "{:?}", errors.last());
}

#[test]
fn expandable_segments_never_reserve_more() {
    for (batch, recompute) in [(1, "none"), (4, "full"), (16, "full")] {
        let reserved = |setting: &str| {
            let link = format!(
                "batch={batch}&recompute={recompute}&optimizer_impl=foreach&gpu_memory=999GiB{setting}"
            );
            refined(&Config::from_link(&link).config).expect("a model").reserved.expected
        };
        let (plain, expandable) = (reserved(""), reserved("&expandable_segments=true"));
        assert!(expandable <= plain, "{batch} {recompute}: {expandable} > {plain}");
    }
}
