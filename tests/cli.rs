//! The program itself: what it prints where, and its exit statuses.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // helpers of tests fail as tests do

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Output, Stdio};

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainmem"));
    // The tests choose the language themselves.
    command.args(args).env_remove("LC_ALL").env_remove("LC_MESSAGES").env("LANG", "C.UTF-8");
    command
}

fn run(args: &[&str]) -> Output {
    program(args).stdin(Stdio::null()).output().unwrap()
}

fn feed(args: &[&str], input: &[u8]) -> Output {
    let mut child =
        program(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // The program may stop reading early; only its answer counts.
    let _ = writer.join().unwrap();
    output
}

fn out(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn report(args: &[&str]) -> Value {
    let output = run(&[args, &["--format", "json"]].concat());
    assert_eq!(status(&output), 0, "{}", err(&output));
    serde_json::from_str(out(&output)).unwrap()
}

/// Compares with a file of `tests/snapshots`; `INSTA_UPDATE=always` writes it instead.
fn snapshot(name: &str, text: &str) {
    let path = format!("{}/tests/snapshots/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} changed (INSTA_UPDATE=always accepts it):\n{text}");
}

#[test]
fn nothing_typed_is_the_default_model_on_the_default_card() {
    let output = run(&[]);
    assert_eq!((status(&output), err(&output)), (0, ""));
    snapshot("cli-default.txt", out(&output));
    assert_eq!(out(&run(&["model=llama-3.1-8b&gpu=a100-80g"])), out(&output));
}

#[test]
fn a_markdown_report_in_chinese() {
    let output =
        run(&["model=qwen3-8b", "precision=bf16", "optimizer=sgd", "--lang=zh", "--format=markdown"]);
    assert_eq!((status(&output), err(&output)), (0, ""));
    snapshot("cli-qwen3-zh.md", out(&output));
}

#[test]
fn every_way_to_say_one_configuration_means_the_same() {
    let pairs = "model=llama-3.2-1b&batch=4&seq=4k&precision=bf16-autocast";
    let expected = report(&[pairs]);
    assert_ne!(expected, report(&[]));
    for same in [
        format!("https://example.org/any/path/#v=1&{pairs}"),
        format!("https://example.org/?{pairs}&theme=dark"),
        format!("#{pairs}"),
        format!("?{pairs}"),
    ] {
        assert_eq!(report(&[&same]), expected, "{same}");
    }
    let words: Vec<&str> = pairs.split('&').collect();
    assert_eq!(report(&words), expected);
    let json = r#"{"model": "llama-3.2-1b", "batch": 4, "seq": 4096, "precision": "bf16-autocast"}"#;
    let output = feed(&["--json", "-", "--format", "json"], json.as_bytes());
    assert_eq!(serde_json::from_str::<Value>(out(&output)).unwrap(), expected);
    let path = format!("{}/cli.json", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, format!("\u{feff}{json}\r\n")).unwrap();
    assert_eq!(report(&["--json", &path]), expected);
    let lines = feed(&["--json-lines"], json.as_bytes());
    assert_eq!(serde_json::from_str::<Value>(out(&lines)).unwrap(), expected);
}

#[test]
fn a_model_that_is_not_shipped_gets_no_verdict() {
    for (lang, said) in [
        ("en", "error: model: “llama-3.1-8” is not a shipped model (the nearest that are: llama-3.1-8b"),
        ("zh", "错误：model：没有名为“llama-3.1-8”的内置模型（最接近的：llama-3.1-8b"),
    ] {
        let output = run(&["model=llama-3.1-8", "--lang", lang]);
        assert_eq!((status(&output), out(&output)), (2, ""));
        assert!(err(&output).contains(said), "{}", err(&output));
    }
    let lines = feed(&["--json-lines"], br#"{"model": "somebody/else"}"#);
    assert_eq!(status(&lines), 1);
    assert!(out(&lines).contains("“somebody/else” is not a shipped model"), "{}", out(&lines));
    // Beside a whole architecture the name alone is left out.
    let own = "model=nobody&model_type=llama&hidden_size=64&intermediate_size=64&num_hidden_layers=2&num_attention_heads=2&vocab_size=100";
    let output = run(&[own]);
    assert_eq!(status(&output), 0);
    assert!(err(&output).contains("“nobody” is not accepted"), "{}", err(&output));
}

/// The keys of an object, in order.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_json_report_has_the_contract_s_names() {
    let report = report(&["compile=true"]);
    assert_eq!(
        keys(&report),
        [
            "parameters",
            "blocks",
            "saved_activations",
            "peak",
            "between_steps",
            "allocated",
            "reserved",
            "device",
            "host",
            "fits",
            "stages",
            "timeline",
            "ledger",
            "warnings"
        ]
    );
    assert_eq!(keys(&report["parameters"]), ["total", "trainable", "active", "on_rank", "by_group"]);
    assert_eq!(
        keys(&report["parameters"]["by_group"]),
        ["embedding", "norm", "attention", "mlp", "final_norm", "lm_head"]
    );
    let blocks = ["parameters", "gradients", "optimizer", "activations"];
    assert_eq!(keys(&report["blocks"]), [&blocks[..], &["overhead"]].concat());
    assert_eq!(keys(&report["saved_activations"]), ["total", "autocast_weight_copies", "by_group"]);
    assert_eq!(keys(&report["peak"]), ["bytes", "moment", "operator", "stage", "blocks"]);
    assert_eq!(keys(&report["peak"]["blocks"]), [&blocks[..], &["temporary"]].concat());
    assert_eq!(keys(&report["between_steps"]), ["with_gradients", "without_gradients"]);
    for band in ["reserved", "device"] {
        assert_eq!(keys(&report[band]), ["low", "expected", "high"]);
    }
    assert_eq!(keys(&report["fits"]), ["gpu", "capacity", "verdict", "spare"]);
    assert_eq!(
        keys(&report["stages"][0]),
        ["stage", "layers", "chunks", "in_flight", "peak", "blocks", "allocated", "device"]
    );
    assert_eq!(keys(&report["timeline"][0]), ["moment", "live"]);
    let row = [
        "name", "block", "group", "shape", "dtype", "count", "bytes", "at_peak", "formula", "values", "from",
        "until", "why", "release", "source",
    ];
    assert_eq!(keys(&report["ledger"][0]), row);
    assert_eq!(keys(&report["warnings"][0]), ["key", "message"]);
    assert_eq!(report["warnings"][0]["key"], "compile");
}

#[test]
fn the_json_report_adds_up() {
    let report = report(&[]);
    assert_eq!(report["parameters"]["total"], json!(8_030_261_248_u64));
    let sum = |object: &Value| object.as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(&report["parameters"]["by_group"]), 8_030_261_248);
    assert_eq!(json!(sum(&report["saved_activations"]["by_group"])), report["saved_activations"]["total"]);
    let peak = report["peak"]["bytes"].as_u64().unwrap();
    assert_eq!(sum(&report["peak"]["blocks"]), peak);
    let instants = report["timeline"].as_array().unwrap();
    assert_eq!(instants.iter().map(|instant| instant["live"].as_u64().unwrap()).max(), Some(peak));
    let worst = instants.iter().find(|instant| instant["live"] == json!(peak)).unwrap();
    assert_eq!(worst["moment"], report["peak"]["moment"]);
    let rows = report["ledger"].as_array().unwrap();
    // Workspaces are the library's, not tensors: `allocated` counts them, the peak does not.
    let tensors = rows.iter().filter(|row| row["name"] != "workspace");
    assert_eq!(tensors.map(|row| row["at_peak"].as_u64().unwrap()).sum::<u64>(), peak);
    let capacity = report["fits"]["capacity"].as_i64().unwrap();
    let expected = report["device"]["expected"].as_i64().unwrap();
    assert_eq!(report["fits"]["spare"], json!(capacity - expected));
    assert_eq!(report["fits"]["gpu"], "a100-80g");
}

#[test]
fn csv_has_a_row_for_every_tensor() {
    let output = run(&["--format", "csv"]);
    let rows: Vec<&str> = out(&output).split_terminator("\r\n").collect();
    assert_eq!(rows[0].split(',').count(), 15);
    assert_eq!(rows.len() - 1, report(&[])["ledger"].as_array().unwrap().len());
}

#[test]
fn figures_are_svg_documents_each_its_own() {
    let mut seen = vec![];
    for figure in ["bar", "stages", "timeline", "batch", "seq"] {
        let output = run(&["--figure", figure]);
        assert_eq!((status(&output), err(&output)), (0, ""));
        assert!(out(&output).starts_with("<svg") && out(&output).trim_end().ends_with("</svg>"), "{figure}");
        seen.push(out(&output).to_owned());
    }
    assert_eq!(out(&run(&["--format", "svg"])), seen[0]);
    let dark = run(&["theme=dark", "--format=svg", "--figure=bar", "--lang=zh"]);
    seen.push(out(&dark).to_owned());
    assert!(seen[5].contains("优化器状态"));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6);
    assert!(out(&run(&["--figure", "bar", "--format", "csv"])).starts_with("name,"));
}

#[test]
fn must_fit_answers_with_its_status() {
    let small = "model=llama-3.2-1b&precision=bf16&optimizer=sgd&seq=512";
    let output = run(&[small, "--must-fit"]);
    assert_eq!(status(&output), 0, "{}", out(&output));
    let output = run(&["gpu_memory=2GiB", small, "--must-fit"]);
    assert_eq!(status(&output), 3);
    assert!(out(&output).contains("does not fit 2 GiB of memory"), "{}", out(&output));
    assert_eq!(status(&run(&["gpu_memory=2GiB", small])), 0);
}

#[test]
fn warnings_name_the_key_once_on_standard_error_and_the_report_still_comes() {
    let output = run(&["bacth=4&batch=0&compile=true&seq=512", "--lang", "en"]);
    assert_eq!(status(&output), 0);
    snapshot("cli-warnings-en.txt", err(&output));
    assert!(out(&output).starts_with("Peak "));
    let chinese = run(&["bacth=4&batch=0&compile=true&seq=512&lang=zh"]);
    snapshot("cli-warnings-zh.txt", err(&chinese));
    assert!(out(&chinese).starts_with("单卡峰值 "));
    for output in [&output, &chinese] {
        let lines: Vec<&str> = err(output).lines().collect();
        assert_eq!(lines.iter().filter(|line| line.contains("compile")).count(), 1, "{lines:?}");
    }
}

#[test]
fn what_cannot_be_read_is_status_2_and_no_output() {
    let bad_json = feed(&["--json", "-"], b"{\"batch\": }");
    let no_object = feed(&["--json", "-"], b"[1, 2]");
    let no_file = run(&["--json", "/nowhere/at/all.json"]);
    let no_text = feed(&["--json", "-"], b"{\"model\": \"\xff\"}");
    let both = run(&["--json", "x.json", "batch=4"]);
    let format = run(&["--format", "yaml"]);
    let option = run(&["--no-such-option"]);
    for output in [&bad_json, &no_object, &no_file, &no_text, &both, &format, &option] {
        assert_eq!((status(output), out(output)), (2, ""), "{}", err(output));
        assert!(err(output).starts_with("error: "), "{}", err(output));
    }
    assert!(err(&no_file).contains("/nowhere/at/all.json"));
    assert!(err(&no_text).contains("UTF-8"));
    let no_text = feed(&["--import", "-"], b"base_model: \xff\n");
    assert_eq!((status(&no_text), err(&no_text)), (2, "error: cannot read -: not UTF-8 text\n"));
}

#[test]
fn what_powershell_writes_is_read() {
    // `>` writes UTF-16 with its mark.
    let wide = |text: &str| -> Vec<u8> {
        [0xfeff_u16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let json = feed(&["--json", "-", "--format", "json"], &wide("{\"model\": \"gpt2\"}"));
    assert_eq!(status(&json), 0, "{}", err(&json));
    let log = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity \
               of 79.15 GiB of which 1.00 GiB is free.";
    let oom = feed(&["--oom", "-"], &wide(log));
    assert!(out(&oom).contains("asked for         2 GiB"), "{}", out(&oom));
    let half = feed(&["--json", "-"], &[0xff, 0xfe, b'{']);
    assert_eq!(status(&half), 2);
}

#[test]
fn a_model_that_cannot_be_is_named_in_both_languages() {
    for (lang, file) in [("en", "cli-error-en.txt"), ("zh", "cli-error-zh.txt")] {
        let output = run(&["model_type=llama", "hidden_size=4096", "batch=0", "--lang", lang]);
        snapshot(file, &format!("{}{}", status(&output), err(&output)));
    }
}

#[test]
fn json_lines_answer_in_order_and_a_bad_line_in_its_place() {
    let input = b"{\"batch\": 1}\n\n{\"batch\": \n   \r\n{\"batch\": 2, \"lang\": \"zh\", \"compile\": true}\n\"\xff\"\n{\"batch\": 1}";
    let output = feed(&["--json-lines"], input);
    assert_eq!((status(&output), err(&output)), (1, ""));
    let answers: Vec<Value> = out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0], answers[4]);
    assert!(answers[1]["error"].as_str().unwrap().contains("JSON"));
    assert_ne!(answers[0]["peak"], answers[2]["peak"]);
    assert!(
        answers[2]["warnings"][0]["message"].as_str().unwrap().contains('未'),
        "{}",
        answers[2]["warnings"]
    );
    assert!(answers[3]["error"].as_str().unwrap().contains("UTF-8"));

    let good = feed(&["--json-lines"], b"{}\n{}\n");
    assert_eq!((status(&good), out(&good).lines().count()), (0, 2));
    let none = feed(&["--json-lines"], b"\n\n");
    assert_eq!((status(&none), out(&none)), (0, ""));
}

#[test]
fn json_lines_answer_before_the_next_question() {
    let mut child = program(&["--json-lines"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for batch in [1, 2] {
        writeln!(questions, "{{\"batch\": {batch}}}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert!(answer["peak"]["bytes"].as_u64().unwrap() > 0);
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let lines = "{}\n".repeat(2000);
    for (args, input) in [(&["--format", "json"][..], ""), (&["--json-lines"], lines.as_str())] {
        let mut child = program(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        // The program may be gone before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), err(&output)), (0, ""));
    }
}

#[test]
fn the_language_is_the_option_s_then_the_configuration_s_then_the_system_s() {
    let first = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().unwrap();
        out(&output).chars().next().unwrap()
    };
    assert_eq!(first(&mut program(&[])), 'P');
    assert_eq!(first(program(&[]).env("LANG", "zh_CN.UTF-8")), '单');
    assert_eq!(first(program(&["lang=en"]).env("LANG", "zh_CN.UTF-8")), 'P');
    assert_eq!(first(program(&["lang=en", "--lang", "zh"]).env("LANG", "en_US.UTF-8")), '单');
    // What programs read stays the same everywhere.
    let machine = |lang| {
        out(&program(&["stack=torchtitan", "--format=json"]).env("LANG", lang).output().unwrap()).to_owned()
    };
    assert_eq!(machine("zh_CN.UTF-8"), machine("en_US.UTF-8"));
}

#[test]
fn units_are_the_reader_s() {
    assert!(out(&run(&["--units", "GB"])).contains(" GB"));
    assert!(!out(&run(&["units=GB"])).contains("GiB"));
    assert!(!out(&run(&["units=GB", "--units=GiB"])).lines().next().unwrap().ends_with(" GB"));
}

#[test]
fn help_names_every_option_and_key_in_both_languages() {
    for (lang, usage) in [("en", "Usage: trainmem"), ("zh", "用法：trainmem")] {
        let output = run(&["--help", "--lang", lang]);
        assert_eq!((status(&output), err(&output)), (0, ""));
        let help = out(&output);
        assert!(help.contains(usage), "{help}");
        for option in [
            "--json",
            "--json-lines",
            "--oom",
            "--format",
            "--figure",
            "--lang",
            "--units",
            "--must-fit",
            "--version",
        ] {
            assert!(help.contains(option), "{option}");
        }
        for key in trainmem::config::Key::ALL {
            assert!(help.contains(&format!("  {} ", key.word())), "{}\n{help}", key.word());
        }
    }
    assert_eq!(out(&run(&["--version"])), format!("trainmem {}\n", env!("CARGO_PKG_VERSION")));
}

const MESSAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oom.txt");

#[test]
fn a_message_is_told_alone_and_beside_a_configuration() {
    let alone = run(&["--oom", MESSAGE]);
    assert_eq!((status(&alone), err(&alone)), (0, ""));
    assert!(out(&alone).contains("14.6 GiB short"), "{}", out(&alone));
    assert!(!out(&alone).contains("Most likely"));
    let pairs = "model=llama-3.1-8b&precision=bf16&recompute=full&batch=8&seq=4096";
    let beside = run(&["--oom", MESSAGE, pairs, "--format=json"]);
    let report: Value = serde_json::from_str(out(&beside)).unwrap();
    assert_eq!(report["failures"][0]["when"], "loss");
    assert_eq!(report["candidates"][0]["bytes"], 8 * 4096 * 128_256_u64 * 4);
    // The message may come from standard input, and the configuration from a file.
    let text = std::fs::read(MESSAGE).unwrap();
    let path = format!("{}/oom.json", env!("CARGO_TARGET_TMPDIR"));
    let json =
        r#"{"model": "llama-3.1-8b", "precision": "bf16", "recompute": "full", "batch": 8, "seq": 4096}"#;
    std::fs::write(&path, json).unwrap();
    let piped = feed(&["--oom", "-", "--json", &path, "--format=json"], &text);
    assert_eq!(serde_json::from_str::<Value>(out(&piped)).unwrap(), report);
}

#[test]
fn what_is_no_message_ends_with_status_2() {
    let nothing = feed(&["--oom", "-"], b"\xff\xfe all is well\n");
    assert_eq!(status(&nothing), 2);
    assert!(out(&nothing).starts_with("No out-of-memory message"));
    assert_eq!(status(&run(&["--oom", "/no/such/file"])), 2);
    assert_eq!(status(&feed(&["--oom", "-", "--json", "-"], b"{}")), 2);
    assert_eq!(status(&run(&["--oom", MESSAGE, "--format=csv"])), 2);
    assert_eq!(status(&run(&["--oom", MESSAGE, "--json", "/no/such/file"])), 2);
}

#[test]
fn suggestions_are_differences_of_reports() {
    let link = "model=llama-3.2-1b&batch=4&gpu=rtx-4090";
    let output = run(&[link, "--suggest", "--format=json"]);
    assert_eq!((status(&output), err(&output)), (0, ""));
    let advice: Value = serde_json::from_str(out(&output)).unwrap();
    let before = report(&[link]);
    assert_eq!(advice["fits"], before["fits"]);
    assert_eq!(before["fits"]["verdict"], "no");
    let changes = advice["changes"].as_array().unwrap();
    assert!(changes.len() > 5);
    for change in
        changes.iter().chain(advice["pairs"].as_array().unwrap()).chain([&advice["cheapest"]["yes"]])
    {
        let settings = change["settings"].as_object().unwrap().iter();
        let settings: Vec<String> =
            settings.map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
        let after = report(&[link, &settings.join("&")]);
        let saved = before["peak"]["bytes"].as_i64().unwrap() - after["peak"]["bytes"].as_i64().unwrap();
        assert_eq!(change["saved"], saved, "{settings:?}");
        assert_eq!(change["fits"], after["fits"], "{settings:?}");
    }
    assert_eq!(advice["cheapest"]["yes"]["fits"]["verdict"], "yes");
}

#[test]
fn suggestions_for_people() {
    let link = "model=llama-3.2-1b&batch=4&gpu=rtx-4090";
    snapshot("cli-suggest.txt", out(&run(&[link, "--suggest"])));
    snapshot("cli-suggest-zh.txt", out(&run(&[link, "--suggest", "--lang=zh"])));
    let output = run(&[link, "--suggest", "--format=csv"]);
    assert_eq!((status(&output), out(&output)), (2, ""));
    assert!(err(&output).contains("--format"), "{}", err(&output));
}

#[test]
fn the_largest_value_fits_and_one_more_does_not() {
    let link = "model=llama-3.2-1b&gpu=rtx-4090&precision=bf16";
    for key in ["batch", "seq"] {
        let output = run(&[link, "--max", key, "--format=json"]);
        assert_eq!((status(&output), err(&output)), (0, ""));
        let largest: Value = serde_json::from_str(out(&output)).unwrap();
        assert_eq!(largest["key"], key);
        for (word, accepted) in [("yes", &["yes"][..]), ("tight", &["yes", "tight"])] {
            let value = largest[word].as_u64().unwrap();
            let verdict = |value: u64| {
                report(&[link, &format!("{key}={value}")])["fits"]["verdict"].as_str().unwrap().to_owned()
            };
            assert!(accepted.contains(&verdict(value).as_str()), "{key}={value}");
            assert!(!accepted.contains(&verdict(value + 1).as_str()), "{key}={value}");
        }
    }
    let none = run(&["model=llama-3.1-70b", "--max=batch"]);
    assert_eq!((status(&none), out(&none)), (3, "largest micro-batch that fits: none\n"));
    assert_eq!(status(&run(&["--max=precision"])), 2);
}

#[test]
fn two_configurations_are_compared_tensor_by_tensor() {
    let (first, second) = ("model=llama-3.2-1b", "model=llama-3.2-1b&recompute=full&batch=2");
    let output = run(&[first, "--compare", second, "--format=json"]);
    assert_eq!((status(&output), err(&output)), (0, ""));
    let compared: Value = serde_json::from_str(out(&output)).unwrap();
    let (before, after) = (report(&[first]), report(&[second]));
    assert_eq!(compared["before"]["peak"], before["peak"]["bytes"]);
    assert_eq!(compared["after"]["peak"], after["peak"]["bytes"]);
    let rows = compared["rows"].as_array().unwrap().iter();
    let sum: i64 = rows.map(|row| row["difference"].as_i64().unwrap()).sum();
    assert_eq!(compared["difference"], sum);
    assert_eq!(compared["keys"]["recompute"], json!({"before": "none", "after": "full"}));
    snapshot("cli-compare.txt", out(&run(&[first, "--compare", second])));
    let output = run(&["--compare", "model_type=unheard-of"]);
    assert_eq!((status(&output), out(&output)), (2, ""));
}

#[test]
fn any_numeric_key_can_be_drawn() {
    for key in ["batch", "lora_rank", "num_hidden_layers", "gpus"] {
        let output = run(&["--figure", key]);
        assert_eq!(status(&output), 0, "{}", err(&output));
        assert!(out(&output).starts_with("<svg") && out(&output).contains(key), "{key}");
    }
    assert_eq!(status(&run(&["--figure", "precision"])), 2);
}

#[test]
fn files_of_other_programs_are_read_together_and_estimated() {
    let file = |name: &str| format!("{}/tests/data/import/{name}", env!("CARGO_MANIFEST_DIR"));
    let (script, zero) = (file("trl-sft-lora.sh"), file("ds-zero2.json"));
    let output =
        run(&["--import", &script, "--import", &zero, "batch=1&model=llama-3.2-1b", "--format=json"]);
    assert_eq!(status(&output), 0, "{}", err(&output));
    assert!(err(&output).contains("--lora_r = 32 → lora_rank=32"), "{}", err(&output));
    assert!(err(&output).contains("not taken over: fp16.enabled = auto"), "{}", err(&output));
    let read: Value = serde_json::from_str(out(&output)).unwrap();
    let same = report(&[
        "model=llama-3.2-1b&method=lora&lora_rank=32&lora_targets=q_proj,k_proj,v_proj,o_proj&precision=bf16-mixed&seq=4096",
        "recompute=full&loss=fused&gpus=2&data_parallel=zero2&offload=optimizer&fast_kernels=liger&packed=true",
        "overlap_comm=true&contiguous_gradients=true&reduce_bucket_size=2e8&allgather_bucket_size=2e8&optimizer_impl=fused",
        "deepspeed={\"zero_optimization\":{\"reduce_scatter\":true,\"allgather_partitions\":true}}",
    ]);
    assert_eq!(read, same);

    let output = run(&["--import", &file("../../../Cargo.toml")]);
    assert_eq!((status(&output), out(&output)), (2, ""));
    assert!(err(&output).contains("none of the known formats"), "{}", err(&output));
    let chinese = run(&["--lang=zh", "--import", &file("titan-llama3-8b.toml")]);
    assert!(err(&chinese).starts_with("识别为 torchtitan 的 TOML"), "{}", err(&chinese));
    assert_eq!(status(&run(&["--import", &file("missing.json")])), 2);
}

#[test]
fn a_configuration_is_written_for_another_program_and_read_back() {
    let pairs = "model=qwen3-8b&data_parallel=zero3&gpus=16&batch=2&accumulation=4&overlap_comm=true";
    let written = run(&[pairs, "--export=deepspeed"]);
    assert_eq!(status(&written), 0);
    assert!(err(&written).contains("not said by this format: model=qwen3-8b"), "{}", err(&written));
    let json: Value = serde_json::from_str(out(&written)).unwrap();
    assert_eq!((&json["train_batch_size"], &json["zero_optimization"]["stage"]), (&json!(128), &json!(3)));
    let back = feed(&["--import", "-", "model=qwen3-8b", "--format=json"], &written.stdout);
    assert_eq!(serde_json::from_str::<Value>(out(&back)).unwrap(), report(&[pairs]));

    let command = run(&[pairs, "--export=command"]);
    assert_eq!(err(&command), "");
    assert!(
        out(&command).starts_with("torchrun --nproc_per_node 8 --nnodes 2 train.py"),
        "{}",
        out(&command)
    );
    let back = feed(&["--import", "-", "--format=json"], &command.stdout);
    assert_eq!(serde_json::from_str::<Value>(out(&back)).unwrap(), report(&[pairs]));

    assert_eq!(status(&run(&["--export=nemo"])), 2);
    let chinese = run(&["gpu=h100-80g&stack=torchtitan", "--export=megatron", "--lang=zh"]);
    assert!(err(&chinese).contains("该格式未包含：gpu=h100-80g"), "{}", err(&chinese));
}
