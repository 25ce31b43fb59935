//! Real out-of-memory messages, and what must be understood of each; then the tensors that they name, and what no text
//! may do.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // helpers of tests fail as tests do

use proptest::prelude::*;
use serde_json::Value;
use trainmem::config::{Config, Units};
use trainmem::doctor::message::{Beside, Candidate, Diagnosis, Fit, diagnose, json, print, read};
use trainmem::estimate::{estimate, requests};
use trainmem::ledger::Dtype;
use trainmem::text::Lang;

fn cases() -> Vec<Value> {
    let lines = include_str!("data/oom.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A size as it was printed: the number of bytes, and half of its last digit.
fn size(printed: &str) -> (f64, f64) {
    let digits = printed.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap();
    let (number, unit) = printed.split_at(digits);
    let unit = match unit.trim().chars().next().unwrap() {
        'B' | 'b' => 1.0,
        'K' | 'k' => 1024.0,
        'M' => 1024.0 * 1024.0,
        _ => 1024.0 * 1024.0 * 1024.0,
    };
    let places = number.split_once('.').map_or(0, |(_, places)| places.len());
    let half = unit * 0.5 / 10_f64.powi(i32::try_from(places).unwrap());
    (number.parse::<f64>().unwrap() * unit, half)
}

/// Compares one field of the report with what is expected of it.
fn field(case: &str, key: &str, found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Number(bytes), Value::String(printed)) => {
            let ((size, half), bytes) = (size(printed), bytes.as_f64().unwrap());
            assert!((bytes - size).abs() <= 2.0 * half + 1.0, "{case}: {key} is {bytes}, not {printed}");
        }
        (found, expected) => assert_eq!(found, expected, "{case}: {key}"),
    }
}

fn report(text: &str) -> Value {
    serde_json::from_str(&json(&diagnose(read(text), None), Lang::En)).unwrap()
}

/// Every expected row is there, in order, with the fields that are named.
fn rows(case: &str, key: &str, found: &Value, expected: &Value) {
    let (found, expected) = (found.as_array().unwrap(), expected.as_array().unwrap());
    assert_eq!(found.len(), expected.len(), "{case}: {key}: {found:?}");
    for (found, expected) in found.iter().zip(expected) {
        for (key, value) in expected.as_object().unwrap() {
            if key == "pids" {
                let pids: Vec<&Value> =
                    found["processes"].as_array().unwrap().iter().map(|it| &it["pid"]).collect();
                assert_eq!(pids, value.as_array().unwrap().iter().collect::<Vec<_>>(), "{case}");
            } else {
                field(case, key, &found[key], value);
            }
        }
    }
}

#[test]
fn every_reported_message_is_understood() {
    let cases = cases();
    assert!(cases.len() >= 40);
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let report = report(case["text"].as_str().unwrap());
        let main =
            report["main"].as_u64().and_then(|at| report["failures"].get(usize::try_from(at).unwrap()));
        let main = main.cloned().unwrap_or(Value::Null);
        for (key, expected) in case["expect"].as_object().unwrap() {
            match key.as_str() {
                "failures" => assert_eq!(
                    report["failures"].as_array().unwrap().len() as u64,
                    expected.as_u64().unwrap(),
                    "{id}: {}",
                    report["failures"]
                ),
                "findings" => {
                    let found: Vec<&Value> =
                        report["findings"].as_array().unwrap().iter().map(|it| &it["finding"]).collect();
                    for word in expected.as_array().unwrap() {
                        assert!(found.contains(&word), "{id}: {word} is not among {found:?}");
                    }
                }
                "settings" => {
                    for (key, value) in expected.as_object().unwrap() {
                        assert_eq!(&report["settings"][key], value, "{id}: {}", report["settings"]);
                    }
                }
                "readings" | "cards" => rows(id, key, &report[key], expected),
                "buffers" => {
                    let shapes: Vec<&Value> =
                        report["buffers"].as_array().unwrap().iter().map(|it| &it["shape"]).collect();
                    assert_eq!(shapes, expected.as_array().unwrap().iter().collect::<Vec<_>>(), "{id}");
                }
                "others" => {
                    let pids: Vec<&Value> =
                        main["others"].as_array().unwrap().iter().map(|it| &it["pid"]).collect();
                    assert_eq!(pids, expected.as_array().unwrap().iter().collect::<Vec<_>>(), "{id}");
                }
                "file" | "line" => field(id, key, &main["place"][key], expected),
                key => field(id, key, &main[key], expected),
            }
        }
    }
}

#[test]
fn every_message_can_be_told_in_both_languages() {
    for case in cases() {
        let diagnosis = diagnose(read(case["text"].as_str().unwrap()), None);
        let english = print(&diagnosis, false, Lang::En, Units::Gib);
        let chinese = print(&diagnosis, false, Lang::Zh, Units::Gib);
        assert!(!english.contains('{') || english.contains("{{"), "{english}");
        assert!(chinese.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{chinese}");
    }
}

/// The diagnosis of a message beside a configuration.
fn beside(config: &str, text: &str) -> Diagnosis {
    let config = Config::from_link(config).config;
    let estimate = estimate(&config).unwrap();
    let requests = requests(&config, &estimate).unwrap();
    diagnose(read(text), Some(Beside { config: &config, estimate: &estimate, requests: &requests }))
}

/// The text of a reported message.
fn reported(id: &str) -> String {
    let case = cases().into_iter().find(|case| case["id"] == id).unwrap();
    case["text"].as_str().unwrap().to_owned()
}

/// Reported messages beside runs of the models whose sizes they have.
#[test]
fn reported_requests_are_tensors_of_real_models() {
    let gpt2 = "model_type=gpt2&n_embd=1280&n_layer=36&n_head=20&vocab_size=50257&n_positions=1024";
    let qwen72 = "model_type=qwen2&hidden_size=8192&intermediate_size=24576&num_hidden_layers=80\
                  &num_attention_heads=64&num_key_value_heads=64&vocab_size=152064";
    for (id, config, shape, dtype, fit) in [
        // 4 · 1024 · 50 257 logits in fp32.
        (
            "megatron-774m",
            format!("{gpt2}&precision=fp16-mixed&batch=4&seq=1024"),
            "[b, s, V]",
            "fp32",
            Fit::Same,
        ),
        (
            "megatron-774m",
            format!("{gpt2}&precision=fp16-mixed&batch=1&seq=1024"),
            "[b, s, V]",
            "fp32",
            Fit::Batch(4),
        ),
        // The square roots of an MLP matrix's second moments, one of many.
        (
            "foreach-sqrt",
            "model=qwen2.5-7b&precision=bf16&optimizer_impl=foreach".to_owned(),
            "[f, h]",
            "bf16",
            Fit::Same,
        ),
        // An MLP matrix on its way to the card.
        ("loading-ranks", "model=qwen2.5-32b&precision=bf16".to_owned(), "[f, h]", "bf16", Fit::Same),
        // 384 MiB and the 32 bytes of Ascend's allocator.
        ("npu-loading", format!("{qwen72}&precision=bf16"), "[f, h]", "bf16", Fit::Same),
    ] {
        let found = beside(&config, &reported(id));
        let first = &found.candidates[0];
        let shown = (first.entry.shape.to_string(), first.entry.dtype.word(), first.fit);
        assert_eq!(shown, (shape.to_owned(), dtype, fit), "{id}: {}", named(first));
        assert_ne!(first.in_time, Some(false), "{id}");
    }
}

fn asked(size: &str, code: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/x/model.py\", line 1, in forward\n    {code}\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size}. GPU 0 has a total capacity of \
         79.15 GiB of which 1.00 GiB is free."
    )
}

fn named(candidate: &Candidate) -> String {
    candidate.entry.name()
}

#[test]
fn the_logits_are_found_by_their_size() {
    // 4 · 8192 tokens · 128 256 words · 4 bytes = 15.66 GiB
    let text = asked("15.66 GiB", "loss = self.loss_function(logits=logits, labels=labels)");
    let found = beside("model=llama-3.1-8b&batch=4&seq=8192&precision=bf16&gpu=b200-192g", &text);
    let first = &found.candidates[0];
    assert_eq!((first.fit, first.entry.shape.to_string().as_str()), (Fit::Same, "[b, s, V]"));
    assert_eq!((first.bytes, first.in_time), (4 * 8192 * 128_256 * 4, Some(true)));
}

#[test]
fn another_batch_or_length_is_solved_for() {
    let text = asked("15.66 GiB", "loss = self.loss_function(logits=logits, labels=labels)");
    let found = beside("model=llama-3.1-8b&batch=1&seq=8192&precision=bf16&recompute=full", &text);
    assert_eq!(found.candidates[0].fit, Fit::Batch(4));
    let found = beside("model=llama-3.1-8b&batch=5&seq=8192&precision=bf16&recompute=full", &text);
    assert_eq!(found.candidates[0].fit, Fit::Batch(4));
    // No whole number of such sequences: two longer ones.
    let found = beside("model=llama-3.1-8b&batch=2&seq=9000&precision=bf16&recompute=full", &text);
    let Fit::Seq(low, high) = found.candidates[0].fit else { panic!("{:?}", found.candidates[0]) };
    assert!((low..=high).contains(&16_384), "{low}–{high}");
}

#[test]
fn a_weight_is_found_while_loading() {
    let text = asked("112.00 MiB", "model = AutoModelForCausalLM.from_pretrained(path)");
    let found = beside("model=llama-3.1-8b&precision=bf16", &text);
    assert!(named(&found.candidates[0]).starts_with("mlp."), "{}", named(&found.candidates[0]));
    assert_eq!(found.candidates[0].entry.block.word(), "parameters");
}

#[test]
fn a_weight_in_another_type_is_found() {
    // The embedding in fp32 under a configuration that has it in bf16.
    let text = asked("1.96 GiB", "model = AutoModelForCausalLM.from_pretrained(path)");
    let found = beside("model=llama-3.1-8b&precision=bf16", &text);
    let first = &found.candidates[0];
    assert_eq!((named(first).as_str(), first.fit), ("embed_tokens.weight", Fit::As(Dtype::Fp32)));
}

#[test]
fn a_flat_buffer_of_everything_is_found() {
    // 8 030 261 248 parameters in 2 bytes, in 4: with no line that says where, and in one that flattens.
    for (size, fit) in [("14.96 GiB", Fit::Same), ("29.92 GiB", Fit::As(Dtype::Fp32))] {
        for code in ["x()", "flat = _flatten_dense_tensors(tensors)"] {
            let text = format!(
                "    {code}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size}. GPU 0 has a total \
                 capacity of 79.15 GiB of which 1.00 GiB is free."
            );
            let found = beside("model=llama-3.1-8b&precision=bf16", &text);
            let first = &found.candidates[0];
            assert_eq!((first.entry.tensor.id, first.fit), ("flat_buffer", fit), "{size}: {first:?}");
        }
    }
}

#[test]
fn no_absurd_batch_or_length_is_named() {
    // Thousands of times what the configuration has is no explanation.
    for size in ["14.96 GiB", "29.92 GiB", "20.02 GiB", "44.36 GiB"] {
        let found = beside("model=llama-3.1-8b&precision=bf16", &asked(size, "y = f(x)"));
        for candidate in &found.candidates {
            assert!(candidate.doublings < 7, "{size}: {candidate:?}");
        }
    }
}

#[test]
fn what_fsdp_gathers_is_found() {
    // One layer of Llama 3.1 8B in bf16, as its shards arrive.
    let text = "  File \"/x/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py\", line 190, in foreach_all_gather\n    \
                all_gather_input, all_gather_output = allocate(\n\
                torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 418.00 MiB. GPU 0 has a total capacity of \
                79.15 GiB of which 1.00 MiB is free.";
    let found = beside("model=llama-3.1-8b&precision=bf16-mixed&data_parallel=fsdp&gpus=8", text);
    let first = &found.candidates[0];
    assert_eq!((first.fit, first.entry.tensor.id), (Fit::Same, "all_gather_output"));
}

#[test]
fn the_line_that_failed_decides_among_equals() {
    let text = asked("224.00 MiB", "return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))");
    let found = beside("model=llama-3.1-8b&precision=bf16&seq=8192", &text);
    let first = &found.candidates[0];
    assert_eq!((first.fit, first.entry.shape.to_string().as_str()), (Fit::Same, "[b, s, f]"));
    assert!(first.named || named(first).starts_with("mlp"), "{}", named(first));
}

#[test]
fn states_are_found_in_the_step() {
    let text = "  File \"/x/torch/optim/adamw.py\", line 175, in _init_group\n    \
                state[\"exp_avg\"] = torch.zeros_like(\n\
                torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of \
                79.15 GiB of which 1.00 GiB is free.";
    let found = beside("model=llama-3.1-8b&precision=bf16", text);
    let first = &found.candidates[0];
    assert_eq!(first.entry.block.word(), "optimizer");
    assert!(first.alike.iter().any(|module| module.contains("lm_head")) || named(first).contains("lm_head"));
}

/// Pieces of messages, which noise is made of.
fn pieces() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "CUDA out of memory. ",
        "Tried to allocate ",
        "2.00 GiB",
        "17179869184.00 GiB ",
        "(GPU 0; ",
        "79.15 GiB total capacity; ",
        "Process ",
        "has ",
        "memory in use. ",
        "Of the allocated memory ",
        "is reserved by PyTorch",
        "[rank3]: ",
        "[Rank ",
        "File \"",
        "\", line ",
        "in forward\n",
        "Traceback (most recent call last)",
        "| Allocated memory |",
        "MiB / ",
        "|",
        "MA ",
        "Max_MA ",
        "memory (MB) | allocated: ",
        "shape[",
        "]",
        "[9999999999999999999,2]",
        "and type float",
        "Killed",
        "exitcode: -9",
        "Size: ",
        "Shape: f32[",
        "Peak buffers:",
        "显存不足",
        "尝试分配",
        "（",
        "；",
        "é",
        "\n",
        "\r",
        "\u{1b}[31m",
        "\u{1b}[",
        "999999999999999999999999999",
        "Used ",
        "G of ",
        "Ran out of memory in memory space hbm. ",
        "Cannot allocate ",
        "上分配",
        "anon-rss:",
        "_ALLOC_FAILED",
        "out of memory",
    ]);
    let piece = prop_oneof![6 => words.prop_map(str::to_owned), 2 => "\\PC{0,12}", 1 => "[0-9.,]{1,30}"];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(20), ..ProptestConfig::with_cases(400) })]

    #[test]
    fn nothing_panics(text in pieces()) {
        let diagnosis = beside("model=gpt2&seq=128", &text);
        print(&diagnosis, true, Lang::Zh, Units::Gib);
        json(&diagnosis, Lang::En);
    }
}

/// Deterministic noise: half of it pieces of messages.
fn noise(length: usize) -> String {
    let parts = [
        "CUDA out of memory. Tried to allocate 2.00 GiB ",
        "Process 12 has ",
        "[rank1]: ",
        "| 5MiB / 6MiB |",
        "\n",
        "Killed\n",
        "0 x . ",
        "(GPU 0; ",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut text = String::with_capacity(length + 64);
    while text.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if state.is_multiple_of(2) {
            let [_, choice, ..] = state.to_le_bytes();
            text.push_str(parts[usize::from(choice) % parts.len()]);
        } else {
            text.extend(state.to_le_bytes().map(|byte| char::from(32 + byte % 95)));
        }
    }
    text
}

#[test]
fn a_megabyte_of_noise_ends() {
    for text in [
        noise(1 << 20),
        "Tried to allocate 1 B".repeat(50_000),
        "[rank0]: File \"a.py\", line 1, in f\n".repeat(30_000),
    ] {
        let start = std::time::Instant::now();
        let message = read(&text);
        println!("{} bytes, {} failures: {:?}", text.len(), message.failures.len(), start.elapsed());
        // Unoptimized, beside other tests: what grows with the square of the length takes minutes.
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }
}
