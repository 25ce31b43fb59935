//! Files of other programs: each fixture in `tests/data/import` is read as its `.expect.json` says, and nothing that
//! can be written in breaks the readers.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // helpers of tests fail as tests do

use proptest::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trainmem::config::Config;
use trainmem::import::{Unreadable, read, read_all};
use trainmem::text::Lang;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/import")
}

/// One row of `index.json`: what must come of a file (or of several that are read together).
struct Fixture {
    name: String,
    texts: Vec<String>,
    row: Value,
}

fn fixtures() -> Vec<Fixture> {
    let index = std::fs::read_to_string(folder().join("index.json")).unwrap();
    let Value::Array(rows) = serde_json::from_str(&index).unwrap() else { panic!("index.json is a list") };
    let fixture = |row: Value| {
        let files: Vec<_> = match &row["file"] {
            Value::Array(files) => files.iter().map(|file| file.as_str().unwrap().to_owned()).collect(),
            file => vec![file.as_str().unwrap().to_owned()],
        };
        let texts = files.iter().map(|file| std::fs::read_to_string(folder().join(file)).unwrap()).collect();
        Fixture { name: files.join(" + "), texts, row }
    };
    rows.into_iter().map(fixture).collect()
}

#[test]
fn every_file_is_understood_as_its_row_says() {
    let mut wrong = String::new();
    for Fixture { name, texts, row } in fixtures() {
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let base =
            row["given"].as_str().map_or_else(Config::default, |given| Config::from_link(given).config);
        let import = match read_all(&texts, &base) {
            Ok(import) => import,
            Err(error) => {
                writeln!(wrong, "{name}: {}", error.message(Lang::En)).unwrap();
                continue;
            }
        };
        let mut expect = |what: &str, expected: String, found: String| {
            if expected != found {
                writeln!(wrong, "{name}: {what}\n  expected {expected}\n  found    {found}").unwrap();
            }
        };
        let formats: Vec<_> = import.formats.iter().map(|format| format!("{format:?}")).collect();
        expect("format", row["format"].as_str().unwrap().to_owned(), formats.join(" + "));
        expect(
            "link",
            row["link"].as_str().unwrap().to_owned(),
            import.config.to_link()[3..].trim_start_matches('&').replace('&', " "),
        );
        let unknown: Vec<_> =
            import.ignored.iter().filter(|one| one.why.may_matter()).map(|one| one.theirs.as_str()).collect();
        expect("ignored", row["ignored"].as_str().unwrap_or_default().to_owned(), unknown.join(" "));
        let assumed: Vec<_> = import.assumed.iter().map(|one| format!("{}={}", one.key, one.value)).collect();
        expect("assumed", row["assumed"].as_str().unwrap_or_default().to_owned(), assumed.join(" "));
        assert!(row["source"].as_str().unwrap().starts_with("https://"), "{name} has no source");
        assert!(import.problems.is_empty(), "{name}: {:?}", import.problems);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn there_are_enough_files_and_all_are_in_the_index() {
    let rows = fixtures();
    assert!(rows.len() >= 40, "{}", rows.len());
    for file in std::fs::read_dir(folder()).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        assert!(
            file == "index.json" || rows.iter().any(|row| row.name.contains(&file)),
            "{file} is in no row"
        );
    }
}

#[test]
fn what_is_none_of_the_formats_is_refused_with_a_reason() {
    for text in
        ["", "hello", "[1, 2]", "{}", "a: 1", "[package]\nname = \"x\"", "ls --all -x --color", "---", "42"]
    {
        assert_eq!(read(text), Err(Unreadable::NotRecognised), "{text}");
    }
    assert!(matches!(read("{\"bf16\": {"), Err(Unreadable::Json { .. })));
    assert!(matches!(read("base_model: x\n bad: [1\n"), Err(Unreadable::Yaml { .. })));
    assert_eq!(read(&"x".repeat((1 << 20) + 1)), Err(Unreadable::TooLong));
}

/// Reads within a time that a person would not notice much, in a debug build on a busy machine.
fn quickly(text: &str) {
    let start = Instant::now();
    if let Ok(import) = read(text) {
        import.report(Lang::Zh);
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?} for {} bytes: {:.60}", text.len(), text);
}

/// Pieces that the formats are made of.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "'",
    "\n",
    "  ",
    "- ",
    "#",
    "&a ",
    "*a ",
    "<<: ",
    "|",
    ">",
    "--",
    "$",
    "${",
    "$((",
    "(",
    ")",
    "\\",
    "`",
    "=",
    "true",
    "auto",
    "1e400",
    "-1",
    "18446744073709551616",
    "zero_optimization",
    "stage",
    "base_model",
    "bf16: ",
    "--bf16",
    "micro_batch_size",
    "train_batch_size",
    "global_batch_size",
    "--tensor-model-parallel-size",
    "[training]",
    "seq_len",
    "fsdp_config:",
    "\u{feff}",
    "字",
    "\0",
    "0",
    "torchrun ",
    "--nproc_per_node ",
    "gpus=",
    "model_type",
    "\"architecture\": ",
    "per_device_train_batch_size: ",
    "finetuning_type: ",
    "A=",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_mixture_of_pieces_breaks_a_reader(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        quickly(&pieces.into_iter().map(|piece| PIECES[piece]).collect::<String>());
    }

    #[test]
    fn no_damage_to_a_file_breaks_a_reader(which in 0..1000_usize, at in 0..10_000_usize, piece in 0..PIECES.len(), cut in 0..20_usize) {
        let fixtures = fixtures();
        let texts: Vec<_> = fixtures.iter().flat_map(|fixture| &fixture.texts).collect();
        let text: Vec<char> = texts[which % texts.len()].chars().collect();
        let at = at % (text.len() + 1);
        let end = (at + cut).min(text.len());
        let damaged: String = text[..at].iter().copied().chain(PIECES[piece].chars()).chain(text[end..].iter().copied()).collect();
        quickly(&damaged);
    }
}

#[test]
fn a_megabyte_of_anything_is_answered_soon() {
    const MOST: usize = 1 << 20;
    let fill = |piece: &str| piece.repeat(MOST / piece.len());
    for piece in PIECES {
        quickly(&fill(piece));
    }
    for text in [
        "a: 1\n",
        "a",
        "a: b: ",
        "{\"a\":",
        "[a]\n",
        "--a 1 ",
        "A=$A$A\n",
        "x=(",
        "a: &a [*a]\n",
        "? ",
        "a=1&",
        "- [",
        "{a: ",
        "\"",
        "--a\n",
        "a.b.c=1\n",
    ] {
        quickly(&fill(text));
    }
    for (head, piece) in [
        ("zero_optimization:\n", "  k: {stage: 1}\n"),
        ("torchrun train.py ", "--bf16 "),
        ("[training]\n", "seq_len = 1\n"),
        ("{\"zero_optimization\": ", "{\"a\": "),
    ] {
        let text = format!("{head}{}", piece.repeat((MOST - head.len()) / piece.len()));
        quickly(&text);
    }
    let distinct: String =
        (0..60_000).fold("base_model: x\n".to_owned(), |text, at| text + &format!("key{at}: {at}\n"));
    quickly(&distinct[..MOST.min(distinct.len())]);
    // Noise that is the same in every run.
    let mut state = 1_u64;
    let noise: String = (0..MOST / 2)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + u8::try_from(state >> 33 & 63).unwrap())
        })
        .collect();
    quickly(&noise);
}
