//! What a reader brings: an out-of-memory message or a log, a model's or a framework's file, a launch command, a link.

use crate::config::{Config, FIELDS, Key, Section, Units};
use crate::doctor::message::{self, Beside, Diagnosis, Fit, Part, say, sheet};
use crate::estimate::{estimate, requests};
use crate::import::{self, Format, Import, Unreadable};
use crate::text::{Lang, app as text};
use serde::Serialize;

/// What was made of it.
#[derive(Debug, Default, Serialize)]
struct Brought {
    /// What is shown.
    parts: Vec<Part>,
    /// The configuration that it leads to, as a link (empty: the one that is there).
    link: String,
    /// What that changes, as `key = value`.
    changes: Vec<String>,
}

/// Reads `brought` beside the configuration of `link`, as JSON.
pub(super) fn bring(lang: Lang, units: Units, link: &str, brought: &str) -> String {
    let here = Config::from_link(link).config;
    let brought = brought.trim();
    // A JSON file never tells of a failure.
    let message = if brought.starts_with('{') { message::Message::default() } else { message::read(brought) };
    // Settings alone are what files and commands have, too.
    let tells = !(message.failures.is_empty() && message.readings.is_empty() && message.cards.is_empty());
    let made = if tells {
        failure(&here, message, lang, units)
    } else {
        match imported(&here, brought) {
            Ok(import) => configuration(&here, &import, lang),
            Err(_) if !message.is_empty() => failure(&here, message, lang, units),
            Err(reason) => {
                Brought { parts: vec![refused(vec![reason.message(lang)], lang)], ..Brought::default() }
            }
        }
    };
    // Keys are strings, so nothing here can fail to be written.
    serde_json::to_string(&made).unwrap_or_default()
}

/// What a message means beside the configuration, and what it says of it.
fn failure(here: &Config, message: message::Message, lang: Lang, units: Units) -> Brought {
    let usable = here.checked().config;
    let answer = estimate(&usable).ok();
    let asked = answer.as_ref().and_then(|answer| requests(&usable, answer).ok()).unwrap_or_default();
    let beside = answer.as_ref().map(|estimate| Beside { config: &usable, estimate, requests: &asked });
    let diagnosis = message::diagnose(message, beside);
    let parts = sheet(&diagnosis, beside.is_some(), lang, units);
    let mut next = here.clone();
    for (key, value) in suggested(&diagnosis, here) {
        // What a log calls by this name may not be what the key accepts: then it is left out.
        let _ = next.set(key.word(), &value);
    }
    Brought { parts, changes: differences(&next, here), link: link_of(&next, here) }
}

/// Settings that the text names, and the batch or length at which the likeliest tensor fits.
fn suggested(diagnosis: &Diagnosis, here: &Config) -> Vec<(Key, String)> {
    let settings = &diagnosis.message.settings;
    let other_card =
        diagnosis.findings.iter().any(|finding| matches!(finding, message::Finding::OtherCard { .. }));
    // A card of the same size needs no other name.
    let needed = |key: Key| !matches!(key, Key::Gpu | Key::GpuMemory) || other_card;
    let mut all: Vec<_> =
        settings.iter().filter(|it| needed(it.key)).map(|it| (it.key, it.value.clone())).collect();
    let likeliest = diagnosis.candidates.first().filter(|first| first.fit != Fit::Same && !first.vague);
    if let Some((key, value)) = likeliest.and_then(say::setting)
        && !all.iter().any(|(known, _)| *known == key)
    {
        all.push((key, value));
    }
    if all.iter().any(|(key, _)| *key == Key::GpuMemory) && here.gpu.is_some() {
        all.push((Key::Gpu, String::new()));
    }
    all
}

/// Reads a file or a command over the configuration that is there; a link of this page's is a whole configuration.
fn imported(here: &Config, brought: &str) -> Result<Import, Unreadable> {
    let import = import::read_all(&[brought], here)?;
    if import.formats == [Format::Own] { import::read(brought) } else { Ok(import) }
}

/// A configuration as it was read.
fn configuration(here: &Config, import: &Import, lang: Lang) -> Brought {
    let mut understood = import.report(lang);
    let rest = understood.split_off((1 + import.understood.len()).min(understood.len()));
    if import.is_empty() {
        understood.push(text::NOTHING_FOUND.get(lang).to_owned());
    }
    let heading = text::UNDERSTOOD.get(lang).to_owned();
    let mut parts = vec![Part { heading, sentences: trimmed(understood), ..Part::default() }];
    if !rest.is_empty() {
        parts.push(refused(rest, lang));
    }
    Brought { parts, changes: differences(&import.config, here), link: link_of(&import.config, here) }
}

fn refused(sentences: Vec<String>, lang: Lang) -> Part {
    let heading = text::NOT_TAKEN_OVER.get(lang).to_owned();
    Part { heading, sentences: trimmed(sentences), ..Part::default() }
}

/// What a terminal indents.
fn trimmed(sentences: Vec<String>) -> Vec<String> {
    sentences.into_iter().map(|sentence| sentence.trim_start().to_owned()).collect()
}

/// Keys and fields of one configuration that another has otherwise, as they are written.
fn differences(config: &Config, other: &Config) -> Vec<String> {
    let keys = Key::ALL.iter().filter(|key| **key != Key::Architecture && key.section() != Section::Page);
    let names = keys.map(|key| key.word()).chain(FIELDS.iter().map(|field| field.name));
    let values = names.map(|name| (name, config.get(name), other.get(name)));
    let shown = |value: String, name: &str| {
        let value = if value.is_empty() { config.fallback(name) } else { value };
        if value.is_empty() { "–".to_owned() } else { value }
    };
    values
        .filter(|(_, value, theirs)| value != theirs)
        .map(|(name, value, _)| format!("{name} = {}", shown(value, name)))
        .collect()
}

/// The link of a configuration; empty where it is the one that is there.
fn link_of(config: &Config, here: &Config) -> String {
    if differences(config, here).is_empty() { String::new() } else { config.to_link() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn brought(link: &str, text: &str) -> Value {
        serde_json::from_str(&bring(Lang::En, Units::Gib, link, text)).unwrap()
    }

    fn text(made: &Value) -> String {
        made["parts"].to_string()
    }

    const MESSAGE: &str = include_str!("../../tests/data/oom.txt");

    #[test]
    fn a_message_is_held_against_the_configuration_that_is_there() {
        let run = "model=llama-3.1-8b&precision=bf16&recompute=full&seq=4096";
        let made = brought(&format!("{run}&batch=8"), MESSAGE);
        assert!(text(&made).contains("Most likely loss."), "{made}");
        assert_eq!((&made["link"], &made["changes"]), (&Value::from(""), &Value::Array(vec![])));
        // At another batch the message says which; filling it in makes the tensor fit exactly.
        let made = brought(run, MESSAGE);
        assert_eq!(made["changes"], serde_json::json!(["batch = 8"]), "{made}");
        let made = brought(made["link"].as_str().unwrap(), MESSAGE);
        assert!(text(&made).contains("exactly") && made["link"] == "", "{made}");
    }

    #[test]
    fn another_card_is_taken_over() {
        let made = brought("gpu=rtx-4090&precision=bf16&recompute=full&batch=8&seq=4096", MESSAGE);
        let changes = made["changes"].to_string();
        assert!(changes.contains("gpu_memory = 81049MiB") && changes.contains("gpu = "), "{changes}");
    }

    #[test]
    fn files_and_links_are_configurations() {
        let made = brought("batch=2", "#model=qwen3-8b&batch=4&bach=5");
        assert!(text(&made).contains("model=qwen3-8b") && text(&made).contains("bach"), "{made}");
        assert_eq!(made["changes"], serde_json::json!(["model = qwen3-8b", "batch = 4"]));
        let made = brought("", r#"{"model_type": "llama", "hidden_size": 2048}"#);
        assert!(made["link"].as_str().unwrap().contains("hidden_size=2048"), "{made}");
        let command = "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen3-8B --bf16 True \
                       --per_device_train_batch_size 2 --output_dir out";
        let made = brought("seq=4096", command);
        let link = made["link"].as_str().unwrap();
        assert!(link.contains("qwen3-8b") && link.contains("batch=2") && link.contains("seq=4096"), "{made}");
        let broken = brought("", "{");
        assert_eq!((&broken["link"], broken["parts"].as_array().map(Vec::len)), (&Value::from(""), Some(1)));
    }
}
