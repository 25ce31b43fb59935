//! Recognises a text by its content and hands it to its reader.

use serde_json::{Map, Value, json};

use super::draft::{Draft, Family, cut};
use super::given::{Given, Said};
use super::shell::{self, Command};
use super::{
    Format, LONGEST_IMPORT, Unreadable, Why, accelerate, axolotl, deepspeed, flags, launcher, llama_factory,
    megatron, torchtitan, trainer, yaml,
};
use crate::config::{Config, Key, Read};

/// Reads one text into the draft.
pub(super) fn read(text: &str, draft: &mut Draft) -> Result<Format, Unreadable> {
    if text.len() > LONGEST_IMPORT {
        return Err(Unreadable::TooLong);
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('{') {
        return object(json(text)?, draft);
    }
    if is_link(text) {
        let read = Config::from_link(text);
        draft.adopt("", read);
        return Ok(Format::Own);
    }
    if looks_like_toml(text)
        && let Ok(value) = toml::from_str::<Value>(text)
    {
        let mut given = Given::flat(value);
        if !torchtitan::recognises(&given) {
            return Err(Unreadable::NotRecognised);
        }
        torchtitan::read(&mut given, draft);
        given.report_rest(torchtitan::HARMLESS, draft);
        return Ok(Format::Torchtitan);
    }
    if looks_like_shell(text) {
        return script(text, draft);
    }
    match yaml::parse(text) {
        Ok(Value::Object(fields)) => object(fields, draft),
        // Broken YAML is worth a line number only where it looks like settings.
        Err(error) if text.lines().take(40).any(|line| line.contains(": ")) => Err(error),
        _ => Err(Unreadable::NotRecognised),
    }
}

/// JSON, or what DeepSpeed reads as such: with comments (`#`) and commas too many, which YAML allows as well.
fn json(text: &str) -> Result<Map<String, Value>, Unreadable> {
    // Models write `NaN` and `Infinity`; the program's own reader knows.
    let error = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => return Ok(fields),
        Ok(_) => return Err(Unreadable::NotRecognised),
        Err(error) => error,
    };
    match yaml::parse(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Unreadable::Json { line: error.line(), column: error.column() }),
    }
}

/// One line of pairs with a key of the contract, or a URL with such pairs.
fn is_link(text: &str) -> bool {
    !text.contains(char::is_whitespace)
        && text.contains('=')
        && !text.starts_with('-')
        && Config::from_link(text).config != Config::default()
}

/// A line that opens a table.
fn looks_like_toml(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default().trim();
        line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).is_some_and(|name| {
            let word = |c: char| c.is_ascii_alphanumeric() || "_-.\"[] ".contains(c);
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '[' || c == '"')
                && name.chars().all(word)
        })
    })
}

/// Options of a command; in settings they do not stand at the start of words.
fn looks_like_shell(text: &str) -> bool {
    let option = |word: &str| {
        let word = word.trim_start_matches(['"', '\'', '(']);
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    let options = text.split_whitespace().filter(|word| option(word)).take(2).count();
    let starts = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| word.contains('='));
        ["torchrun", "accelerate", "deepspeed", "llamafactory-cli", "axolotl", "trl"]
            .contains(&words.next().unwrap_or_default())
    };
    options == 2
        || text.lines().any(starts)
        || text.starts_with("#!")
        || (options == 1 && !text.contains(": "))
}

/// The reader of a file's settings, by the names that only it has.
fn object(fields: Map<String, Value>, draft: &mut Draft) -> Result<Format, Unreadable> {
    const OWN: &[&str] = &[
        "v",
        "architecture",
        "batch",
        "seq",
        "precision",
        "data_parallel",
        "accumulation",
        "gpu",
        "gpus",
        "recompute",
    ];
    const MODEL: &[&str] =
        &["model_type", "hidden_size", "num_hidden_layers", "n_embd", "d_model", "architectures"];

    let model = MODEL.iter().any(|name| fields.contains_key(*name));
    let whole = Value::Object(fields.clone());
    let mut given = Given::flat(Value::Object(fields));
    if deepspeed::recognises(&given) {
        deepspeed::read(&mut given, draft);
        given.report_rest(deepspeed::HARMLESS, draft);
        return Ok(Format::Deepspeed);
    }
    if accelerate::recognises(&given) {
        accelerate::read(&mut given, draft);
        given.report_rest(accelerate::HARMLESS, draft);
        return Ok(Format::Accelerate);
    }
    if llama_factory::recognises(&given) {
        llama_factory::read(&mut given, draft);
        given.report_rest(&[llama_factory::HARMLESS, trainer::HARMLESS].concat(), draft);
        return Ok(Format::LlamaFactory);
    }
    if axolotl::recognises(&given) {
        axolotl::read(&mut given, draft);
        given.report_rest(axolotl::HARMLESS, draft);
        return Ok(Format::Axolotl);
    }
    if trainer::recognises(&given) {
        trainer::read(&mut given, draft);
        given.report_rest(trainer::HARMLESS, draft);
        return Ok(Format::TrainingArguments);
    }
    if given.count(OWN) > 0 || (given.has(Key::Model.word()) && !model) {
        return adopt(&whole, Format::Own, draft);
    }
    if model {
        return adopt(&json!({ "architecture": whole }), Format::ConfigJson, draft);
    }
    Err(Unreadable::NotRecognised)
}

fn adopt(json: &Value, format: Format, draft: &mut Draft) -> Result<Format, Unreadable> {
    let Ok(read): Result<Read, _> = serde_json::from_value(json.clone()) else {
        return Err(Unreadable::NotRecognised);
    };
    if format == Format::ConfigJson && read.config.architecture.contains_key("model_type") {
        // The file is the whole model: nothing of a preset lies under it.
        draft.config.model = None;
        draft.config.architecture.clear();
        draft.give(Key::Model.word());
    }
    draft.adopt("", read);
    Ok(format)
}

/// The command of a script that starts the training: the launcher's with the most options, else the options that the
/// script's variables hold.
fn script(text: &str, draft: &mut Draft) -> Result<Format, Unreadable> {
    let (mut commands, variables) = shell::read(text);
    // Options on lines of their own, without a backslash before them, go on with the command.
    for at in (1..commands.len()).rev() {
        if commands[at].words.first().is_some_and(|word| word.starts_with("--")) {
            let rest = std::mem::take(&mut commands[at].words);
            commands[at - 1].words.extend(rest);
        }
    }
    let options = |command: &Command| command.words.iter().filter(|word| word.starts_with("--")).count();
    let best = (commands.into_iter())
        .filter(|command| options(command) > 0 || (launcher::launches(command) && file(command).is_some()))
        .max_by_key(|command| (launcher::launches(command), options(command)));
    let command = best.unwrap_or_else(|| {
        let words = variables.iter().flat_map(|(_, value)| value.split_whitespace()).map(str::to_owned);
        Command { words: words.collect(), variables: Vec::new() }
    });
    let mut words = launcher::batch_lines(text);
    words.push("--".to_owned());
    words.extend(command.words.iter().cloned());
    let mut given = flags::options(&words);
    launcher::visible(&variables, draft);
    launcher::visible(&command.variables, draft);
    launcher::read(&mut given, draft);
    let format = if megatron::recognises(&given) {
        megatron::read(&mut given, draft);
        given.report_rest(&[megatron::HARMLESS, launcher::HARMLESS].concat(), draft);
        Format::Megatron
    } else if trainer::recognises(&given) || launcher::launches(&command) {
        if llama_factory::recognises(&given) {
            llama_factory::read(&mut given, draft);
        } else if trainer::recognises(&given) || file(&command).is_none() {
            trainer::read(&mut given, draft);
            if starts_trl(&command) {
                draft.facts.family = Some(Family::Trl);
            }
        }
        given.report_rest(&[llama_factory::HARMLESS, trainer::HARMLESS, launcher::HARMLESS].concat(), draft);
        Format::Command
    } else {
        return Err(Unreadable::NotRecognised);
    };
    // `llamafactory-cli train FILE`, `axolotl train FILE`: what matters is in the file.
    if let Some(file) = file(&command).filter(|_| launcher::launches(&command)) {
        let name = command.words.first().cloned().unwrap_or_default();
        draft.ignore(&Said { name: cut(&name), value: file.into() }, Why::Elsewhere);
    }
    Ok(format)
}

/// Whether TRL's own program or script is started.
fn starts_trl(command: &Command) -> bool {
    let own = |word: &String| {
        word == "trl" || word.contains("trl/scripts/") || word.ends_with("/sft.py") || word == "sft.py"
    };
    command.words.iter().any(own)
}

/// A file of settings among a command's arguments.
fn file(command: &Command) -> Option<&str> {
    let settings = |word: &&str| [".yaml", ".yml", ".toml"].iter().any(|end| word.ends_with(end));
    let mut before = "";
    command.words.iter().map(String::as_str).find(|word| {
        let argument = !std::mem::replace(&mut before, word).starts_with('-');
        argument && settings(word) && !word.starts_with('-')
    })
}
