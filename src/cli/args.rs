//! The program's arguments, with their help in both languages.

use crate::config::{Key, Units};
use crate::export::Kind;
use crate::sweep::{BATCH, LORA_RANK, SEQ, Variable};
use crate::text::{Lang, Text, cli as text, config as words};
use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use std::fmt::Write as _;
use std::path::PathBuf;

/// What the program was asked. Help texts are put in by [`command`].
#[derive(Parser)]
#[command(name = "trainmem", version, disable_help_flag = true, disable_version_flag = true)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of its own
pub(super) struct Args {
    #[arg(value_name = "CONFIG")]
    pub(super) config: Vec<String>,
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(super) json: Option<PathBuf>,
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(super) import: Vec<PathBuf>,
    #[arg(long, value_name = "KIND", value_parser = kind, conflicts_with_all = ["json_lines", "oom", "figure", "suggest", "max", "compare", "format", "must_fit"])]
    pub(super) export: Option<Kind>,
    #[arg(long, conflicts_with_all = ["config", "json", "import", "format", "figure", "must_fit", "units"])]
    pub(super) json_lines: bool,
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json_lines", "figure", "must_fit"])]
    pub(super) oom: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,
    #[arg(long, value_name = "FIGURE", value_parser = figure, default_value = "bar")]
    pub(super) figure: Figure,
    #[arg(long, conflicts_with_all = ["json_lines", "oom", "figure"])]
    pub(super) suggest: bool,
    #[arg(long, value_name = "KEY", value_parser = largest, conflicts_with_all = ["json_lines", "oom", "figure", "suggest"])]
    pub(super) max: Option<Variable>,
    #[arg(long, value_name = "LINK", conflicts_with_all = ["json_lines", "oom", "figure", "suggest", "max"])]
    pub(super) compare: Option<String>,
    #[arg(long, value_parser = lang)]
    pub(super) lang: Option<Lang>,
    #[arg(long, value_parser = units)]
    pub(super) units: Option<Units>,
    #[arg(long)]
    pub(super) must_fit: bool,
    #[arg(long, short, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[arg(long, short = 'V', action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Table,
    Json,
    Csv,
    Markdown,
    Svg,
}

/// `--figure`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Bar,
    Stages,
    Timeline,
    /// Memory over a key.
    Over(Variable),
}

impl Format {
    /// Read by people, so in the language of their system; the others stay the same everywhere.
    pub(super) const fn is_for_people(self) -> bool {
        matches!(self, Self::Table | Self::Markdown | Self::Svg)
    }
}

impl Args {
    /// Reads the process's arguments; prints help, version or a usage error and ends the process where one is due.
    pub(super) fn read() -> Self {
        let matches = command(help_lang()).get_matches();
        let args = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        // Whoever names a figure wants it drawn.
        let named = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
        let format = if named("figure") && !named("format") { Format::Svg } else { args.format };
        Self { format, ..args }
    }
}

/// The arguments with their help in one language.
fn command(in_lang: Lang) -> clap::Command {
    let helps: [(&str, Text); 16] = [
        ("config", text::HELP_CONFIG),
        ("json", text::HELP_JSON),
        ("import", text::HELP_IMPORT),
        ("export", text::HELP_EXPORT),
        ("json_lines", text::HELP_JSON_LINES),
        ("oom", text::HELP_OOM),
        ("format", text::HELP_FORMAT),
        ("figure", text::HELP_FIGURE),
        ("suggest", text::HELP_SUGGEST),
        ("max", text::HELP_MAX),
        ("compare", text::HELP_COMPARE),
        ("lang", text::HELP_LANG),
        ("units", text::HELP_UNITS),
        ("must_fit", text::HELP_MUST_FIT),
        ("help", text::HELP_HELP),
        ("version", text::HELP_VERSION),
    ];
    let say = |text: Text| text.get(in_lang);
    let template = format!(
        "{{about}}\n\n{}{{usage}}\n\n{}\n{{positionals}}\n\n{}\n{{options}}{{after-help}}",
        say(text::USAGE),
        say(text::ARGUMENTS),
        say(text::OPTIONS)
    );
    let command = Args::command()
        .about(say(text::ABOUT))
        .after_help(say(text::STATUSES))
        .after_long_help(format!("{}\n{}", say(text::STATUSES), keys(in_lang)))
        .help_template(template)
        .override_usage("trainmem [OPTIONS] [CONFIG]...");
    helps.into_iter().fold(command, |command, (id, help)| command.mut_arg(id, |arg| arg.help(say(help))))
}

/// Every key with a line of help, by section.
fn keys(lang: Lang) -> String {
    let width = Key::ALL.iter().map(|key| key.word().len()).max().unwrap_or_default();
    let mut out = String::new();
    let mut section = None;
    for key in Key::ALL {
        if section != Some(key.section()) {
            section = Some(key.section());
            let heading = words::section(key.section()).get(lang);
            let _ = writeln!(out, "\n{}", text::KEYS.fill(lang, &[("section", &heading)]));
        }
        let _ = writeln!(out, "  {:width$}  {}", key.word(), words::help(*key).get(lang));
    }
    out
}

/// The language of the help, which is printed before the arguments are read: the last valid `--lang`, else the
/// locale's.
fn help_lang() -> Lang {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut given = words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--lang") {
        Some("") => words.get(at + 1).and_then(|value| lang(value).ok()),
        Some(value) => value.strip_prefix('=').and_then(|value| lang(value).ok()),
        None => None,
    });
    given.next_back().unwrap_or_else(locale)
}

/// Chinese where the system speaks Chinese, else English.
pub(super) fn locale() -> Lang {
    let name = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(|variable| std::env::var(variable).ok().filter(|value| !value.is_empty()));
    match name {
        Some(name) if name.starts_with("zh") => Lang::Zh,
        _ => Lang::En,
    }
}

fn lang(word: &str) -> Result<Lang, &'static str> {
    match word {
        "en" => Ok(Lang::En),
        "zh" => Ok(Lang::Zh),
        _ => Err("en, zh"),
    }
}

fn figure(word: &str) -> Result<Figure, &'static str> {
    match word {
        "bar" => Ok(Figure::Bar),
        "stages" => Ok(Figure::Stages),
        "timeline" => Ok(Figure::Timeline),
        key => Variable::find(key)
            .map(Figure::Over)
            .ok_or("bar, stages, timeline, batch, seq, … (any key that takes a whole number)"),
    }
}

fn largest(word: &str) -> Result<Variable, &'static str> {
    let found = [BATCH, SEQ, LORA_RANK].into_iter().find(|variable| variable.key() == word);
    found.ok_or("batch, seq, lora_rank")
}

fn kind(word: &str) -> Result<Kind, String> {
    let words = Kind::ALL.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ");
    Kind::parse(word).ok_or(words)
}

fn units(word: &str) -> Result<Units, &'static str> {
    Units::parse(word).ok_or("GiB, GB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_has_help_in_both_languages() {
        for lang in [Lang::En, Lang::Zh] {
            let mut command = command(lang);
            command.build();
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{}", arg.get_id());
            }
        }
    }
}
