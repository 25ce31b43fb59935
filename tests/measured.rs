//! The estimate against a physical GPU: figures that others measured and published, with the run's settings
//! (`tests/data/measured.jsonl`, a source on each row). Nothing in the program was fitted to them.

use serde_json::Value;
use trainmem::config::Config;
use trainmem::estimate::estimate;

#[test]
fn an_a100s_own_counter() {
    let mut seen = 0;
    for line in include_str!("data/measured.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let config = Config::from_json(&case["config"].to_string()).expect("a configuration").config;
        let estimate = estimate(&config).expect("a supported model");
        let ours = match case["metric"].as_str() {
            Some("allocated") => estimate.allocated,
            Some("params_optimizer") => estimate.between_steps.without_gradients,
            other => panic!("no figure for {other:?}"),
        };
        let theirs = case["measured_bytes"].as_u64().expect("bytes");
        assert!(ours.abs_diff(theirs) * 5_000 < theirs, "{}: {ours} B, measured {theirs} B", case["id"]);
        seen += 1;
    }
    assert_eq!(seen, 4);
}
