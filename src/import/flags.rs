//! The options of a command: `--name value`, `--name=value`, `--switch`, `--list a b c`.

use serde_json::Value;

use super::given::{Given, Said};

/// Takes the options of a command's words. Names are compared with `_` for `-`, as the frameworks' parsers do.
pub(super) fn options(words: &[String]) -> Given {
    let mut given = Given::default();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let Some(written) = option(word) else { continue };
        let (written, value) = if let Some((name, value)) = written.split_once('=') {
            (name, Value::from(value))
        } else {
            let mut values = Vec::new();
            while let Some(value) = rest.next_if(|word| option(word).is_none() && !program(word)) {
                values.push(Value::from(value.as_str()));
            }
            let value = match values.len() {
                0 => Value::Bool(true),
                1 => values.swap_remove(0),
                _ => Value::Array(values),
            };
            (written, value)
        };
        given.insert(normal(written), Said { name: format!("{}{written}", dashes(word)), value });
    }
    given
}

/// An option's name as readers ask for it.
pub(super) fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// The name and all behind it, where a word is an option; negative numbers are none.
fn option(word: &str) -> Option<&str> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(name)
}

/// Where a launcher's options end: the program that it starts, or `--`.
fn program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    word == "--" || name.strip_suffix(".py").is_some() || ["python", "python3", "torchrun"].contains(&name)
}

fn dashes(word: &str) -> &str {
    if word.starts_with("--") { "--" } else { "-" }
}
