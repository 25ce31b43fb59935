//! The page's one state: what was asked, what was typed, and what follows from it.

use std::sync::{Arc, LazyLock};

use leptos::prelude::*;

use super::{address, browser, crash, rest};
use crate::config::{Config, Page, Problem, Theme, Units, View};
use crate::estimate::{Band, Estimate, adopt, estimate};
use crate::report::merge_warnings;
use crate::sweep::{LORA_RANK, Variable};
use crate::text::{Lang, Text};

/// Text that was typed into a field and is not (or not written like) the configuration's value.
#[derive(Clone, PartialEq)]
struct Draft {
    key: &'static str,
    text: String,
    problem: Option<Problem>,
}

/// An answer and the configuration that it is for (its page keys left at their defaults).
#[derive(PartialEq)]
pub(super) struct Answer {
    pub(super) config: Config,
    pub(super) estimate: Estimate,
}

/// The last good answer, and what is wrong if the configuration has none.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) answer: Option<Arc<Answer>>,
    pub(super) problems: Vec<Problem>,
}

/// What was chosen on this or an earlier visit; a link goes before it.
#[derive(Clone, Copy)]
struct Chosen {
    lang: Lang,
    theme: Theme,
    units: Option<Units>,
}

/// How the page shows what it shows.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Shown {
    pub(super) lang: Lang,
    pub(super) theme: Theme,
    pub(super) units: Units,
    /// Are the colours dark?
    pub(super) dark: bool,
}

/// Signals of the page. Everything else is derived from `config`.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) config: RwSignal<Config>,
    drafts: RwSignal<Vec<Draft>>,
    chosen: RwSignal<Chosen>,
    /// What was wrong with the link, file or message that was read last.
    pub(super) reading: RwSignal<Vec<Problem>>,
    pub(super) outcome: Memo<Outcome>,
    pub(super) shown: Memo<Shown>,
    pub(super) view: Memo<View>,
    /// Is the window as narrow as a phone?
    pub(super) narrow: RwSignal<bool>,
    /// Which figure is shown.
    pub(super) figure: RwSignal<&'static str>,
    /// What the figure over any key varies.
    pub(super) varied: RwSignal<Variable>,
    /// Activations typed into the quick view: not part of the configuration.
    pub(super) activations: RwSignal<String>,
    /// What a replay of the allocator found, and for which configuration.
    pub(super) replayed: RwSignal<Option<(Config, Band)>>,
    /// A short message at the foot of the window, and a text to copy by hand where the clipboard is out of reach.
    pub(super) toast: RwSignal<Option<(Text, Option<String>)>>,
}

impl State {
    /// The state that the address describes, completed by what was chosen before and by the browser.
    pub(super) fn from_address() -> Self {
        let read = Config::from_link(&address::current());
        let config = RwSignal::new(read.config);
        let chosen = RwSignal::new(Chosen {
            lang: lang_of(&browser::stored("lang").unwrap_or_else(browser::language)),
            theme: browser::stored("theme").and_then(|word| Theme::parse(&word)).unwrap_or_default(),
            units: browser::stored("units").and_then(|word| Units::parse(&word)),
        });
        let system_dark = browser::media("(prefers-color-scheme: dark)");
        let shown = Memo::new(move |_| {
            let (chosen, page) = (chosen.get(), config.with(|config| config.page.clone()));
            let theme = if page.theme == Theme::Auto { chosen.theme } else { page.theme };
            Shown {
                lang: page.lang.unwrap_or(chosen.lang),
                theme,
                units: match (page.units, page.view) {
                    (Units::Gb, _) => Units::Gb,
                    // The rule of thumb counts in decimal GB, as the article does.
                    (Units::Gib, View::Quick) => chosen.units.unwrap_or(Units::Gb),
                    (Units::Gib, _) => chosen.units.unwrap_or_default(),
                },
                dark: theme == Theme::Dark || theme == Theme::Auto && system_dark.get(),
            }
        });
        let replayed = RwSignal::new(None);
        Self {
            config,
            replayed,
            drafts: RwSignal::default(),
            chosen,
            reading: RwSignal::new(read.problems),
            outcome: Memo::new(move |last: Option<&Outcome>| {
                replayed.with(|replayed| {
                    answer(Config { page: Page::default(), ..config.get() }, replayed.as_ref(), last)
                })
            }),
            shown,
            view: Memo::new(move |_| config.with(|config| config.page.view)),
            narrow: browser::media("(max-width: 899px)"),
            figure: RwSignal::new("bar"),
            varied: RwSignal::new(LORA_RANK),
            activations: RwSignal::default(),
            toast: RwSignal::default(),
        }
    }

    /// The reader's language.
    pub(super) fn lang(self) -> Lang {
        self.shown.get().lang
    }

    /// The unit of sizes.
    pub(super) fn units(self) -> Units {
        self.shown.get().units
    }

    /// A sentence in the reader's language.
    pub(super) fn say(self, sentence: Text) -> &'static str {
        sentence.get(self.lang())
    }

    /// Whether what is shown as reserved is what a replay found.
    pub(super) fn settled(self) -> bool {
        let Some(answer) = self.outcome.with(|outcome| outcome.answer.clone()) else { return true };
        self.replayed.with(|replayed| replayed.as_ref().is_some_and(|(of, _)| *of == answer.config))
    }

    /// Takes what was typed into the field of `key`.
    pub(super) fn set(self, key: &'static str, typed: String) {
        if rest::is_here() {
            return self.read(key, typed);
        }
        self.keep(key, typed.clone(), None);
        rest::when_here(Box::new(move || self.read(key, typed)));
    }

    /// Has the field of `key` show a text.
    pub(super) fn keep(self, key: &'static str, text: String, problem: Option<Problem>) {
        self.drafts.update(|drafts| {
            drafts.retain(|draft| draft.key != key);
            drafts.push(Draft { key, text, problem });
        });
    }

    fn read(self, key: &'static str, typed: String) {
        let mut next = self.config.get_untracked();
        let problem = next.set(key, &typed).err();
        let accepted = problem.is_none();
        self.keep(key, typed, problem);
        if accepted {
            self.forget_reading(key);
            self.replace(next);
        }
    }

    /// The field of `key` was left: an accepted text is from now on shown as the configuration writes it.
    pub(super) fn leave(self, key: &'static str) {
        if !rest::is_here() {
            return rest::when_here(Box::new(move || self.leave(key)));
        }
        if self.drafts.with_untracked(|drafts| drafts.iter().any(|d| d.key == key && d.problem.is_none())) {
            self.drafts.update(|drafts| drafts.retain(|draft| draft.key != key));
        }
    }

    /// What the field of `key` shows.
    pub(super) fn typed(self, key: &str) -> String {
        let typed = self.drafts.with(|drafts| drafts.iter().find(|d| d.key == key).map(|d| d.text.clone()));
        typed.unwrap_or_else(|| self.config.with(|config| config.get(key)))
    }

    /// What is wrong with what stands in the field of `key`.
    pub(super) fn problem(self, key: &str) -> Option<Problem> {
        let typed =
            self.drafts.with(|drafts| drafts.iter().find(|d| d.key == key).and_then(|d| d.problem.clone()));
        typed.or_else(|| {
            self.outcome.with(|outcome| outcome.problems.iter().find(|problem| problem.key == key).cloned())
        })
    }

    /// What the estimate says of `key` though it accepts it.
    pub(super) fn warning(self, key: &str) -> Option<Problem> {
        self.outcome.with(|outcome| {
            let answer = outcome.answer.as_ref()?;
            answer.estimate.warnings.iter().find(|problem| problem.key == key).cloned()
        })
    }

    /// Are some fields' texts not in use?
    pub(super) fn has_rejected(self) -> bool {
        self.drafts.with(|drafts| drafts.iter().any(|draft| draft.problem.is_some()))
    }

    /// Changes the configuration other than through one field.
    pub(super) fn change(self, change: impl FnOnce(&mut Config)) {
        let mut next = self.config.get_untracked();
        change(&mut next);
        self.replace(next);
    }

    /// Takes over a whole configuration: from an address, a file, a message. Language, colours and unit stay when it
    /// doesn't name them.
    pub(super) fn load(self, read: crate::config::Read) {
        let page = self.config.with_untracked(|config| config.page.clone());
        let mut next = read.config;
        next.page.lang = next.page.lang.or(page.lang);
        next.page.embed = page.embed;
        self.drafts.set(Vec::new());
        self.reading.set(read.problems);
        self.replace(next);
    }

    fn replace(self, next: Config) {
        if self.config.with_untracked(|config| *config != next) {
            crash::about(address::link(&next));
            self.config.set(next);
        }
    }

    fn forget_reading(self, key: &str) {
        if self.reading.with_untracked(|problems| problems.iter().any(|problem| problem.key == key)) {
            self.reading.update(|problems| problems.retain(|problem| problem.key != key));
        }
    }

    /// Chooses a language, for this link and the next visit.
    pub(super) fn choose_lang(self, lang: Lang) {
        browser::store("lang", lang.code());
        self.chosen.update(|chosen| chosen.lang = lang);
        self.change(|config| config.page.lang = Some(lang));
    }

    /// Chooses colours, for this link and the next visit.
    pub(super) fn choose_theme(self, theme: Theme) {
        browser::store("theme", theme.word());
        self.chosen.update(|chosen| chosen.theme = theme);
        self.change(|config| config.page.theme = theme);
    }

    /// Chooses the unit of sizes, for this link and the next visit.
    pub(super) fn choose_units(self, units: Units) {
        browser::store("units", units.word());
        self.chosen.update(|chosen| chosen.units = Some(units));
        self.change(|config| config.page.units = units);
    }
}

/// The answer to the default configuration, which every first visit shows.
pub(super) fn standard() -> Option<Arc<Answer>> {
    static STANDARD: LazyLock<Option<Arc<Answer>>> =
        LazyLock::new(|| work_out(Config::default(), None, None).answer);
    STANDARD.clone()
}

/// The answer to `config`, or the last good one with the problems.
fn answer(config: Config, replayed: Option<&(Config, Band)>, last: Option<&Outcome>) -> Outcome {
    if replayed.is_none()
        && config == Config::default()
        && let Some(answer) = standard()
    {
        return Outcome { answer: Some(answer), problems: Vec::new() };
    }
    work_out(config, replayed, last)
}

fn work_out(config: Config, replayed: Option<&(Config, Band)>, last: Option<&Outcome>) -> Outcome {
    let usable = config.checked();
    match estimate(&usable.config) {
        Ok(mut estimate) => {
            merge_warnings(&mut estimate, usable.problems);
            if let Some((_, band)) = replayed.filter(|(of, _)| *of == config) {
                adopt(&usable.config, &mut estimate, *band);
            }
            Outcome { answer: Some(Arc::new(Answer { config, estimate })), problems: Vec::new() }
        }
        Err(problems) => Outcome { answer: last.and_then(|last| last.answer.clone()), problems },
    }
}

/// The language of a tag such as `zh-CN`.
pub(super) fn lang_of(tag: &str) -> Lang {
    if tag.get(..2).is_some_and(|two| two.eq_ignore_ascii_case("zh")) { Lang::Zh } else { Lang::En }
}
