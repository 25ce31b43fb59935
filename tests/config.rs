//! One vocabulary behind link, JSON and form: everything that is read is written back, and nothing breaks it.

use proptest::collection::vec;
use proptest::prelude::*;
use trainmem::config::{Config, FIELDS, Key, Kind, Name, ProblemKind, Read, gpus, presets};
use trainmem::text::Lang;

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
            ("[a-z_]{1,8}", any::<u32>()).prop_map(|(key, n)| format!(r#"{{"{key}":{{"n":{n}}}}}"#)).boxed()
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
        let read: Read = serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
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
        let encoded: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
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
