//! One vocabulary behind link, JSON and form: everything that is read is written back, and nothing breaks it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use trainmem::config::{Config, Effect, FIELDS, Key, Kind, Name, ProblemKind, Read, Section, gpus, presets};
use trainmem::text::{Lang, config as words};

/// Texts that a key of this kind should accept, in the spellings that people use.
fn typed(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::Model => prop::sample::select(presets()).prop_map(|preset| preset.id.clone()).boxed(),
        Kind::Gpu => prop::sample::select(gpus()).prop_map(|gpu| gpu.id.to_owned()).boxed(),
        Kind::Choice(words) => prop::sample::select(words).prop_map(str::to_owned).boxed(),
        Kind::List(words) => vec(prop::sample::select(words), 1..4).prop_map(|words| words.join(",")).boxed(),
        Kind::Count { min, max } | Kind::Bytes { min, max } => prop_oneof![
            (min..=max).prop_map(|n| n.to_string()),
            (min..=max.min(min + 9999)).prop_map(|n| n.to_string()),
            Just(max.to_string()),
        ]
        .boxed(),
        Kind::Tokens { min, max } => {
            prop_oneof![(min..=max).prop_map(|n| n.to_string()), (1..=16_u64).prop_map(|n| format!("{n}k"))]
                .boxed()
        }
        Kind::Probability => (0..1000_u32).prop_map(|n| format!("{}", f64::from(n) / 1000.0)).boxed(),
        Kind::Number => (-10_000..10_000_i32).prop_map(|n| format!("{}", f64::from(n) / 16.0)).boxed(),
        Kind::Flag => {
            prop::sample::select(&["true", "false", "1", "0", "on"][..]).prop_map(str::to_owned).boxed()
        }
        Kind::Text => prop_oneof!["[a-z_,.]{1,20}", "[^\\p{C}]{1,40}"].boxed(),
        Kind::Object => {
            ("x_[a-z]{1,8}", any::<u32>()).prop_map(|(key, n)| format!(r#"{{"{key}":{{"n":{n}}}}}"#)).boxed()
        }
        Kind::Any => prop_oneof!["[a-z]{1,8}", "[0-9]{1,6}", "\\[[0-9]{1,4}\\]", "\"[0-9]\"", "null"].boxed(),
    }
}

fn names() -> Vec<&'static str> {
    Key::ALL.iter().map(|key| key.word()).chain(FIELDS.iter().map(|field| field.name)).collect()
}

/// Configurations as people make them: some keys set, each to something it accepts.
fn configs() -> impl Strategy<Value = Config> {
    let entry = prop::sample::select(names()).prop_flat_map(|name| {
        let kind = Name::find(name).expect("listed").kind();
        (Just(name), typed(kind))
    });
    vec(entry, 0..24).prop_map(|entries| {
        let mut config = Config::default();
        for (name, text) in entries {
            // Text of blanks is the default; everything else must be accepted.
            if let Err(problem) = config.set(name, &text) {
                panic!("{name}={text}: {}", problem.message(Lang::En));
            }
        }
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_configuration_survives_a_link(config in configs()) {
        let link = config.to_link();
        prop_assert_eq!(Config::from_link(&link), Read { config: config.clone(), problems: Vec::new() });
        let url = format!("https://example.org/sub/path/?embed=1#{link}");
        let read = Config::from_link(&url);
        prop_assert!(read.config.page.embed && read.problems.is_empty());
    }

    #[test]
    fn every_configuration_survives_json(config in configs()) {
        let read = Config::from_json(&config.to_json()).expect("own output is JSON");
        prop_assert_eq!(read, Read { config: config.clone(), problems: Vec::new() });
        let text = serde_json::to_string(&config).expect("keys are text");
        let read: Read = serde_json::from_str(&text).expect("own output is JSON");
        prop_assert_eq!(read, Read { config, problems: Vec::new() });
    }

    #[test]
    fn what_a_field_shows_sets_the_same_value(config in configs()) {
        let mut again = Config::default();
        for name in names() {
            let shown = config.get(name);
            prop_assert_eq!(again.set(name, &shown), Ok(()), "{} = {}", name, shown);
        }
        prop_assert_eq!(again, config);
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,200}", name in prop::sample::select(names())) {
        let pair = format!("{name}={text}");
        for text in [&text, &pair] {
            let read = Config::from_link(text);
            let _ = read.config.checked();
            for problem in &read.problems {
                let message = problem.message(Lang::Zh).replace("{…}", "");
                let filled = !message.contains('{') || text.contains(['{', '%']);
                prop_assert!(filled, "{}", message);
            }
            if let Ok(read) = Config::from_json(text) {
                let _ = read.config.checked();
            }
        }
        let mut config = Config::default();
        let before = config.clone();
        if let Err(problem) = config.set(name, &text) {
            prop_assert_eq!(&problem.key, name);
            prop_assert_eq!(config, before);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = Config::from_link(&text);
        let _ = Config::from_json(&text);
        let mut encoded = String::new();
        for byte in bytes {
            let _ = write!(encoded, "%{byte:02x}");
        }
        let _ = Config::from_link(&format!("lora_targets={encoded}&{encoded}={encoded}&architecture={encoded}"));
    }

    #[test]
    fn checked_configurations_have_nothing_left_to_replace(config in configs()) {
        let checked = config.checked();
        let again = checked.config.checked();
        prop_assert_eq!(&again.config, &checked.config);
        for problem in again.problems {
            prop_assert!(problem.used().is_none(), "{:?}", problem);
        }
    }

    #[test]
    fn unknown_keys_are_named(key in "[a-z_]{1,30}") {
        prop_assume!(Name::find(&key).is_none() && key != "v");
        let read = Config::from_link(&format!("batch=4&{key}=1&seq=8k"));
        prop_assert_eq!((read.config.batch, read.config.seq), (4, 8192));
        prop_assert_eq!(read.problems.len(), 1);
        prop_assert_eq!(&read.problems[0].key, &key);
        let unknown = matches!(read.problems[0].kind, ProblemKind::UnknownKey { .. });
        prop_assert!(unknown);
    }
}

/// Each line: `link → JSON ; problem keys`.
#[test]
fn old_links_mean_what_they_meant() {
    let mut lines = 0;
    for line in include_str!("data/links.txt").lines().filter(|line| !line.starts_with("//")) {
        let link = line.split(" → ").next().unwrap_or_default();
        let read = Config::from_link(link);
        let keys: Vec<_> = read.problems.iter().map(|problem| problem.key.as_str()).collect();
        let json = serde_json::to_string(&read.config).expect("keys are text");
        assert_eq!(format!("{link} → {json} ; {}", keys.join(" ")), line);
        // And they are written as they will be read by those who come later.
        assert_eq!(Config::from_link(&read.config.to_link()).config, read.config);
        lines += 1;
    }
    assert!(lines >= 40);
}

#[test]
fn links_are_readable_and_in_the_contracts_order() {
    let read = Config::from_link(
        "gpus=8&data_parallel=zero3&seq=8k&batch=4&model=llama-3.1-8b&gpu_memory=80G&embed",
    );
    assert_eq!(
        read.config.to_link(),
        "v=1&model=llama-3.1-8b&batch=4&seq=8192&gpu_memory=80GiB&gpus=8&data_parallel=zero3&embed=1"
    );
    assert_eq!(Config::default().to_link(), "v=1");
    let whole = "https://host.example/a/b/?lang=zh&embed=1#v=1&params=7B&view=quick";
    let read = Config::from_link(whole);
    assert_eq!(read.config.to_link(), "v=1&params=7B&lang=zh&view=quick&embed=1");
    assert!(read.problems.is_empty());
}

/// The contract's own sentences.
#[test]
fn json_takes_every_shape_of_the_contract() {
    let read = Config::from_json(
        r#"{"batch": "4", "seq": 4096.0, "sp": "true", "gpu_memory": "24GB", "offload": ["parameters", "optimizer"],
            "architecture": {"model_type": "llama", "hidden_size": 2048, "torch_dtype": "bfloat16",
                             "id2label": {"0": "a", "1": "b"}, "custom": [1, {"x": null}]},
            "num_hidden_layers": 4, "recompute_layers": null,
            "extra": {"fsdp_version": 2, "deepspeed": {"zero_optimization": {"stage": 3}}, "batch": 8, "unheard_of": 1}}"#,
    )
    .expect("JSON");
    let config = &read.config;
    assert_eq!(
        (config.batch, config.seq, config.sp, config.gpu_memory),
        (4, 4096, true, Some(24_000_000_000))
    );
    assert_eq!(config.get("offload"), "optimizer,parameters");
    assert_eq!(config.get("num_hidden_layers"), "4");
    assert_eq!(config.get("num_labels"), "2");
    assert_eq!(config.get("deepspeed"), r#"{"zero_optimization":{"stage":3}}"#);
    assert_eq!(config.architecture["custom"].to_string(), r#"[1,{"x":null}]"#);
    assert!(!config.architecture.contains_key("torch_dtype"));
    let keys: Vec<_> = read.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["batch", "unheard_of"]);

    // The model's own file, as it lies on the hub, with what Python writes into JSON.
    let file = r#"{"architectures": ["Mamba2ForCausalLM"], "model_type": "mamba2", "time_step_limit": [0.0, Infinity],
                   "hidden_size": 64, "bos_token_id": 1, "transformers_version": "4.39.0", "dropout": 0.1}"#;
    let read = Config::from_json(file).expect("JSON");
    assert_eq!(read.problems, []);
    assert_eq!(read.config.architecture["time_step_limit"].to_string(), "[0.0,null]");
    assert_eq!(read.config.architecture["dropout"], 0.1);
    assert_eq!(read.config.dropout, None);
}

#[test]
fn what_is_no_configuration_says_where() {
    for (text, part) in [
        ("", "line 1"),
        ("{\"batch\": }", "line 1, column 11"),
        ("[1]", "no object"),
        ("4", "no object"),
        ("NaN", "no object"),
    ] {
        let message = Config::from_json(text).expect_err(text).message(Lang::En);
        assert!(message.contains(part), "{text}: {message}");
    }
    let long = format!("{{\"lora_targets\": \"{}\"}}", "x".repeat(5_000_000));
    assert!(matches!(Config::from_json(&long).expect_err("long").kind, ProblemKind::TooLong { .. }));
}

#[test]
fn a_long_link_takes_no_time_and_says_so() {
    let start = Instant::now();
    let read = Config::from_link(&"bacth=4&".repeat(131_072));
    assert!(
        matches!(read.problems[..], [ref problem] if matches!(problem.kind, ProblemKind::TooLong { .. }))
    );
    assert!(read.problems[0].message(Lang::En).contains("65,536"));
    // As long as is read, and wrong from end to end: the rest still works, and the list has an end.
    let read = Config::from_link(&("batch=4&".to_owned() + &"a=1&".repeat(16_000)));
    assert_eq!(read.config.batch, 4);
    assert_eq!(read.problems.len(), 33);
    assert!(read.problems[32].message(Lang::En).starts_with("15968 more"));
    let entries: String = (0..100_000).fold(String::new(), |mut json, i| {
        let _ = write!(json, "\"k{i}\":1,");
        json
    });
    let read = Config::from_json(&format!("{{{entries}\"batch\":4}}")).expect("JSON");
    assert_eq!((read.config.batch, read.problems.len()), (4, 33));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn impossible_values_are_named_with_what_is_used() {
    for (link, key, en, zh) in [
        ("batch=0", "batch", "a whole number from 1 to 1M is expected; 1 is used", "改用 1"),
        ("seq=NaN", "seq", "8k = 8192", "token"),
        ("num_hidden_layers=1e30", "num_hidden_layers", "from 0 to 10000 is expected; 32 is used", "改用 32"),
        ("precision=fp64", "precision", "bf16-mixed is used", "之一"),
        ("gpu=a100", "gpu", "did you mean a100-40g or a100-80g?", "是否想写"),
        (
            "model=llama-3.1-8",
            "model",
            "is not a shipped model (the nearest that are: llama-3.1-8b",
            "最接近的",
        ),
        ("dropout=1", "dropout", "below 1 is expected; it is ignored", "已忽略"),
        ("gpu_memory=-80G", "gpu_memory", "from 1MiB to 16384GiB", "80GiB"),
        ("bacth=4", "bacth", "did you mean batch?", "未知配置项"),
        ("v=2", "v", "version 1", "版本 1"),
        ("batch=2&batch=3", "batch", "given twice (here as “3”); 3 is used", "重复"),
    ] {
        let read = Config::from_link(link);
        assert_eq!(read.problems.len(), 1, "{link}");
        assert_eq!(read.problems[0].key, key);
        let (message, chinese) = (read.problems[0].message(Lang::En), read.problems[0].message(Lang::Zh));
        assert!(message.contains(en), "{message}");
        assert!(chinese.contains(zh), "{chinese}");
    }
}

#[test]
fn values_that_exclude_each_other_are_replaced() {
    for (link, key, used) in [
        ("batch=1000000&seq=1m", "batch", Some("95")),
        ("num_attention_heads=33", "num_attention_heads", Some("32")),
        ("num_key_value_heads=5", "num_key_value_heads", Some("8")),
        ("hidden_size=4097", "hidden_size", Some("4096")),
        ("tp=3&gpus=3", "tp", Some("1")),
        ("tp=16&gpus=16&num_key_value_heads=1&num_attention_heads=24&hidden_size=3072", "tp", Some("8")),
        ("gpus=12&tp=8", "gpus", Some("16")),
        ("model_type=mixtral&num_local_experts=8&ep=8&gpus=4", "gpus", Some("8")),
        ("model_type=mixtral&num_local_experts=8&ep=3&gpus=3", "ep", Some("1")),
        ("tp=32&pp=32&cp=65536&gpus=1", "cp", Some("1")),
        ("sp=true", "sp", Some("false")),
        ("vpp=2", "vpp", Some("1")),
        ("pp=33&gpus=33", "pp", Some("32")),
        ("recompute=full&recompute_layers=33", "recompute_layers", Some("32")),
        ("ep=8&gpus=8", "ep", Some("1")),
        ("method=qlora", "quantization", Some("nf4")),
        ("lora_rank=16", "lora_rank", None),
        ("quantization=nf4", "quantization", None),
        ("recompute_layers=4", "recompute_layers", None),
        ("loss_chunks=4", "loss_chunks", None),
        ("params=7B", "params", None),
    ] {
        let read = Config::from_link(link);
        assert_eq!(read.problems, [], "{link}");
        let checked = read.config.checked();
        let problem = checked.problems.iter().find(|problem| problem.key == key).expect(link);
        assert_eq!(problem.used(), used, "{link}");
        assert_ne!(problem.kind, ProblemKind::NotYet, "{link}");
        if let Some(used) = used.filter(|_| Key::parse(key).is_some()) {
            assert_eq!(checked.config.get(key), used);
        }
    }
    assert_eq!(Config::default().checked(), Read { config: Config::default(), problems: Vec::new() });
}

#[test]
fn a_key_without_effect_is_never_silent() {
    for &key in Key::ALL {
        let texts: Vec<String> = match (key.effect(), key.kind()) {
            (Effect::Yes, _) => continue,
            (Effect::Only(known), Kind::Choice(words)) => {
                words.iter().filter(|word| !known.contains(word)).map(ToString::to_string).collect()
            }
            (_, Kind::Choice(words) | Kind::List(words)) => words.iter().map(ToString::to_string).collect(),
            (_, Kind::Object) => vec!["{\"a\":1}".to_owned()],
            (_, Kind::Flag) => vec!["true".to_owned()],
            (_, Kind::Text) => vec!["mlp".to_owned()],
            (_, Kind::Probability | Kind::Number) => vec!["0.5".to_owned()],
            (_, Kind::Count { min, .. }) => vec![(min + 1).to_string()],
            (_, kind) => panic!("no example of {kind:?} for {}", key.word()),
        };
        for text in texts {
            let mut config = Config::default();
            assert_eq!(config.set(key.word(), &text), Ok(()), "{}={text}", key.word());
            if config == Config::default() {
                continue;
            }
            let problems = config.checked().problems;
            assert!(problems.iter().any(|problem| problem.key == key.word()), "{}={text}", key.word());
        }
    }
}

#[test]
fn every_key_is_described_in_both_languages() {
    for &key in Key::ALL {
        assert_eq!(Key::parse(key.word()), Some(key));
        for text in [words::label(key), words::help(key)] {
            assert!(!text.en.is_empty() && !text.zh.is_empty(), "{}", key.word());
        }
        assert!(!words::help(key).zh.is_ascii(), "{} is not translated", key.word());
        if let Kind::Choice(list) | Kind::List(list) = key.kind() {
            for word in list {
                assert!(!words::choice(key, word).zh.is_empty());
            }
        }
        assert!(words::source(key).is_none_or(|source| source.starts_with("https://")));
        for lang in [Lang::En, Lang::Zh] {
            assert!(!words::accepted(key.kind(), lang).contains("{m"));
        }
    }
    for field in FIELDS {
        assert_eq!(Key::parse(field.name), None, "{} would hide a key", field.name);
        assert_eq!(FIELDS.iter().filter(|other| other.name == field.name).count(), 1, "{}", field.name);
    }
    assert_eq!(Key::ALL.iter().filter(|key| key.section() == Section::Page).count(), 5);
}
