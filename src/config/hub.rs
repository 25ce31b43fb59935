//! Which shipped model a name in somebody's file means: repositories of huggingface.co (`hub.csv`, and each preset's
//! own source), and local paths that end in such a name.

use super::{Preset, preset, presets};

/// A shipped model that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// The model with the same architecture.
    pub preset: &'static Preset,
    /// The name is that of a known repository, owner included; otherwise only its last part says so.
    pub exact: bool,
}

/// The shipped model that a repository's name or a path means, if one has the same architecture.
pub fn by_name(name: &str) -> Option<Named> {
    let name = name.trim().trim_end_matches('/').replace('\\', "/");
    let repository = cached(&name).unwrap_or(name);
    let lower = repository.to_ascii_lowercase();
    if let Some((id, _)) = repositories().find(|(_, known)| known.eq_ignore_ascii_case(&lower)) {
        return preset(id).map(|preset| Named { preset, exact: true });
    }
    let last = lower.rsplit('/').next().unwrap_or_default();
    let same = |known: &str| {
        let known = known.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        known == last || bare(&known) == bare(last)
    };
    let id = (presets().iter().map(|preset| preset.id.as_str()).find(|&id| id == last || id == bare(last)))
        .or_else(|| repositories().find(|(_, known)| same(known)).map(|(id, _)| id))?;
    preset(id).map(|preset| Named { preset, exact: false })
}

/// The repository that a preset's figures come from, to be named in files written for other programs.
pub fn repository(preset: &Preset) -> Option<&str> {
    let path = preset.source.strip_prefix("https://huggingface.co/")?;
    path.split_once("/blob/").map(|(repository, _)| repository)
}

/// Every known repository with its preset's id.
fn repositories() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = presets().iter().filter_map(|preset| Some((preset.id.as_str(), repository(preset)?)));
    let rows = include_str!("hub.csv").lines().filter(|line| !line.starts_with('#'));
    let others = rows.filter_map(|line| line.split_once(','));
    own.chain(others.flat_map(|(id, names)| names.split(' ').map(move |name| (id, name))))
}

/// The repository in a path of the hub's cache (`…/models--OWNER--NAME/snapshots/HASH`).
fn cached(path: &str) -> Option<String> {
    let folder = path.split('/').find_map(|folder| folder.strip_prefix("models--"))?;
    Some(folder.replace("--", "/"))
}

/// What people and converters append to a model's name without changing its architecture.
const SUFFIXES: &[&str] = &[
    "-hf",
    "-base",
    "-instruct",
    "-chat",
    "-it",
    "-sft",
    "-dpo",
    "-bnb-4bit",
    "-unsloth",
    "-gptq",
    "-awq",
    "-bf16",
    "-fp16",
    "_hf",
    "_instruct",
    "_base",
    "_chat",
];

/// A name without the words that say how the model was trained or stored.
fn bare(name: &str) -> &str {
    let mut rest = name.strip_prefix("meta-").unwrap_or(name);
    while let Some(shorter) = SUFFIXES.iter().find_map(|suffix| rest.strip_suffix(suffix)) {
        rest = shorter;
    }
    rest
}

/// Where models are published.
pub const ENDPOINT: &str = "https://huggingface.co";

/// The address of a model's `config.json`: `endpoint` is the hub or a mirror of it, `model` a repository
/// (`Qwen/Qwen3-8B`, `gpt2`) or the address of its page.
///
/// `None`: one of the two cannot be that.
pub fn config_address(endpoint: &str, model: &str) -> Option<String> {
    let endpoint = endpoint.trim().trim_end_matches('/');
    let host = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let path = |c: char| plain(c) || "/:".contains(c);
    if host.is_empty() || !host.chars().all(path) {
        return None;
    }
    let model = model.trim().trim_matches('/');
    let model = match model.split_once("://") {
        Some((_, address)) => address.split_once('/')?.1,
        None => model,
    };
    let mut parts = model.split(['/', '?', '#']);
    let owner = parts.next().filter(|part| !part.is_empty())?;
    let repository = match parts.next().filter(|part| !part.is_empty()) {
        Some(name) => format!("{owner}/{name}"),
        // The oldest models have no owner.
        None => owner.to_owned(),
    };
    let valid =
        repository.split('/').all(|part| part.chars().all(plain) && !part.trim_matches('.').is_empty());
    valid.then(|| format!("{endpoint}/{repository}/resolve/main/config.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Option<(&'static str, bool)> {
        by_name(name).map(|named| (named.preset.id.as_str(), named.exact))
    }

    #[test]
    fn repositories_and_paths_are_known() {
        assert_eq!(id("meta-llama/Llama-3.1-8B"), Some(("llama-3.1-8b", true)));
        assert_eq!(id("qwen/qwen2.5-7b-instruct"), Some(("qwen2.5-7b", true)));
        assert_eq!(id("/data/models/Llama-3.1-8B-Instruct/"), Some(("llama-3.1-8b", false)));
        assert_eq!(id("C:\\models\\Qwen3-8B"), Some(("qwen3-8b", false)));
        assert_eq!(id("someone/Meta-Llama-3-8B-Instruct-bnb-4bit"), Some(("llama-3-8b", false)));
        let cached = "/home/me/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/0123abcd";
        assert_eq!(id(cached), Some(("qwen3-8b", true)));
    }

    #[test]
    fn a_file_has_an_address_on_the_hub_and_on_mirrors() {
        let on_hub = |model| config_address(ENDPOINT, model);
        let file = Some("https://huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json".to_owned());
        for model in ["Qwen/Qwen3-8B", " Qwen/Qwen3-8B/ ", "https://huggingface.co/Qwen/Qwen3-8B/tree/main"] {
            assert_eq!(on_hub(model), file, "{model}");
        }
        assert_eq!(on_hub("gpt2"), Some("https://huggingface.co/gpt2/resolve/main/config.json".to_owned()));
        let mirror = Some("https://hf-mirror.com/gpt2/resolve/main/config.json".to_owned());
        assert_eq!(config_address("https://hf-mirror.com/", "gpt2"), mirror);
        for model in ["", "/", "a b/c", "../x", "a/..", "a/b%2fc", "https://"] {
            assert_eq!(on_hub(model), None, "{model}");
        }
        for endpoint in ["", "huggingface.co", "javascript:alert(1)", "https://", "https://a b"] {
            assert_eq!(config_address(endpoint, "gpt2"), None, "{endpoint}");
        }
    }

    #[test]
    fn other_models_are_not_taken_for_shipped_ones() {
        for name in
            ["", "/", "opt", "meta-llama/Llama-3.1-8B-Vision", "Qwen/Qwen3-Next-80B", "./out/checkpoint-500"]
        {
            assert_eq!(id(name), None, "{name}");
        }
    }

    #[test]
    fn every_row_names_a_preset_and_no_repository_stands_twice() {
        let all: Vec<_> = repositories().collect();
        for (at, (id, name)) in all.iter().enumerate() {
            assert!(preset(id).is_some(), "{id}");
            assert!(name.split('/').filter(|part| !part.is_empty()).count() == 2, "{name}");
            assert!(all[..at].iter().all(|(_, other)| !other.eq_ignore_ascii_case(name)), "{name} twice");
        }
        // One of a paper was never on the hub.
        let nowhere = presets().iter().filter(|preset| repository(preset).is_none());
        assert!(nowhere.map(|preset| preset.source.as_str()).all(|source| source.contains("arxiv.org")));
    }
}
