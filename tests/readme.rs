//! The README and its Chinese twin say what is true: their table of keys is the program's, and so is what they print.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // helpers of tests fail as tests do

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use trainmem::config::{Config, DEFAULT_GPU, DEFAULT_MODEL, Effect, Key, Kind, Section};
use trainmem::text::Lang;

const READMES: [(&str, Lang); 2] = [("README.md", Lang::En), ("README.zh-CN.md", Lang::Zh)];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// Compares, or with `INSTA_UPDATE=always` writes.
fn expect(name: &str, found: &str, expected: &str) {
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(path(name), expected).unwrap();
    } else {
        assert!(
            found == expected,
            "{name} is out of date: INSTA_UPDATE=always cargo test writes\n{expected}"
        );
    }
}

/// What may be written for a key, its default first.
fn accepts(key: Key) -> String {
    let code = |word: &str| format!("`{word}`");
    let default = Config::default().get(key.word());
    match key.kind() {
        Kind::Choice(words) | Kind::List(words) => {
            words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", ")
        }
        Kind::Flag => "`false`, `true`".to_owned(),
        Kind::Model => code(DEFAULT_MODEL),
        Kind::Gpu => code(DEFAULT_GPU),
        Kind::Bytes { .. } => code("80GiB"),
        Kind::Object => code("{…}"),
        _ if key == Key::Params => code("7B"),
        _ if default.is_empty() => String::new(),
        _ => code(&default),
    }
}

/// The table of keys as the README shows it.
fn table(lang: Lang) -> String {
    let (head, yes, not_yet) = match lang {
        Lang::En => ("| key | accepts | meaning | in the figures |", "yes", "not yet"),
        Lang::Zh => ("| 键 | 可取值 | 含义 | 已计入 |", "是", "暂未"),
    };
    let mut out = format!("{head}\n| --- | --- | --- | --- |\n");
    for &key in Key::ALL.iter().filter(|key| key.section() != Section::Advanced) {
        let effect = match key.effect() {
            Effect::Yes if key.section() == Section::Page => "–".to_owned(),
            Effect::Yes => yes.to_owned(),
            Effect::NotYet => not_yet.to_owned(),
            Effect::Only(words) => {
                words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            }
        };
        let help = trainmem::text::config::help(key).get(lang);
        let accepts = accepts(key);
        writeln!(out, "| `{}` | {} | {} | {effect} |", key.word(), accepts, help.replace('|', "\\|"))
            .unwrap();
    }
    out
}

/// The settings under their frameworks' names, by whether they have their effect.
fn advanced(lang: Lang) -> String {
    let (yes, not_yet) = match lang {
        Lang::En => ("In the figures", "Not yet"),
        Lang::Zh => ("已计入", "暂未计入"),
    };
    let list = |in_figures: bool| {
        let keys = Key::ALL.iter().filter(|key| key.section() == Section::Advanced);
        let keys = keys.filter(|key| (key.effect() != Effect::NotYet) == in_figures);
        keys.map(|key| format!("`{}`", key.word())).collect::<Vec<_>>().join(", ")
    };
    format!("- {yes}: {}\n- {not_yet}: {}\n", list(true), list(false))
}

/// `text` with what stands between the marks of this name replaced.
fn between(text: &str, mark: &str, new: &str) -> String {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let (before, rest) = text.split_once(&open).unwrap();
    let (_, after) = rest.split_once(&close).unwrap();
    format!("{before}{open}{new}{close}{after}")
}

#[test]
fn the_number_of_exact_cases_is_the_tests() {
    let oracle = text("tests/oracle.rs");
    let (_, rest) = oracle.split_once("assert_eq!(cases.len(), ").unwrap();
    let (number, _) = rest.split_once(',').unwrap();
    for (name, _) in READMES {
        assert!(text(name).contains(&format!(" {number} ")), "{name} should say {number}");
    }
}

#[test]
fn the_table_of_keys_is_the_program_s() {
    for (name, lang) in READMES {
        let found = text(name);
        let written = between(&between(&found, "keys", &table(lang)), "advanced", &advanced(lang));
        expect(name, &found, &written);
    }
}

/// The words of a shell line without variables: single quotes group, nothing else is special.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (i, part) in line.split('\'').enumerate() {
        if i % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn printed(line: &str, lang: Lang) -> String {
    let args = words(line.strip_prefix("$ trainmem ").unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_trainmem"))
        .args(&args)
        .env_remove("LC_ALL")
        .env_remove("LC_MESSAGES")
        .env("LANG", if lang == Lang::Zh { "zh_CN.UTF-8" } else { "en_US.UTF-8" })
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success() || output.status.code() == Some(3), "{line}");
    String::from_utf8(output.stdout).unwrap() + std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn what_the_program_is_said_to_print_is_what_it_prints() {
    for (name, lang) in READMES {
        let found = text(name);
        let mut expected = String::new();
        let mut blocks = 0;
        let mut rest = found.as_str();
        while let Some((before, after)) = rest.split_once("```console\n") {
            let (block, tail) = after.split_once("```").unwrap();
            let command = block.lines().next().unwrap();
            write!(expected, "{before}```console\n{command}\n{}```", printed(command, lang)).unwrap();
            blocks += 1;
            rest = tail;
        }
        expected.push_str(rest);
        assert!(blocks > 0);
        expect(name, &found, &expected);
    }
}

#[test]
fn the_pictures_are_the_program_s() {
    for (picture, (readme, lang)) in ["public/readme.svg", "public/readme.zh-CN.svg"].into_iter().zip(READMES)
    {
        let readme = text(readme);
        assert!(readme.contains(&format!("({picture})")));
        let command = readme.lines().find(|line| line.starts_with("$ trainmem ")).unwrap();
        let drawn = printed(&format!("{command} --figure bar"), lang);
        expect(picture, &std::fs::read_to_string(path(picture)).unwrap_or_default(), &drawn);
    }
}

#[test]
fn the_twins_have_the_same_shape() {
    let shape = |name| {
        let text = text(name);
        let outside: String = text.split("```").step_by(2).collect();
        let headings = outside.lines().filter(|line| line.starts_with('#')).count();
        let rows = outside.lines().filter(|line| line.starts_with('|')).count();
        let items = outside.lines().filter(|line| line.starts_with("- ")).count();
        (headings, rows, items, text.matches("```").count())
    };
    assert_eq!(shape(READMES[0].0), shape(READMES[1].0));
}

#[test]
fn files_and_commands_that_are_named_exist() {
    let chores = text("dev");
    for (name, _) in READMES {
        let text = text(name);
        for target in
            text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
        {
            assert!(target.contains("://") || path(target).exists(), "{name} links to {target}");
        }
        for chore in text.split("./dev ").skip(1).filter_map(|rest| rest.split([' ', '`', '\n']).next()) {
            assert!(chores.contains(&format!("\n    {chore})")), "{name} tells to run ./dev {chore}");
        }
    }
}
