//! One field of the form: built from what the key accepts, the same for every key.

use leptos::prelude::*;

use super::browser::value_of;
use super::el::{El, View, all, el, none, part};
use super::{State, rest};
use crate::config::{Config, ENDPOINT, Effect, Key, Kind, Name, gpu, gpus, preset, presets};
use crate::text::{Text, app as text, config as names};
use crate::units::count;

/// An option of a list: value, name, and the heading it stands under.
struct Choice {
    value: &'static str,
    name: Text,
    under: Text,
}

const NO_HEADING: Text = Text::same("");

/// The field of a key, with label, help, source, and what is wrong with what was typed.
pub(super) fn field(state: State, name: &'static str) -> View {
    let Some(known) = Name::find(name) else { return none() };
    let kind = known.kind();
    let (label, help) = match known {
        Name::Key(key) => (names::label(key), names::help(key)),
        Name::Field(field) => names::field(field.name).unwrap_or((Text::same(name), NO_HEADING)),
    };
    let id = format!("field-{name}");
    let caption = match kind {
        Kind::List(_) => el("span").attr("class", "label").attr("id", &format!("{id}-label")),
        _ => el("label").attr("for", &id),
    };
    let control = match (kind, choices(known)) {
        (Kind::List(all), _) => checks(state, name, all),
        (_, Some(choices)) => select(state, name, choices),
        _ => input(state, name, kind),
    };
    let number = matches!(
        kind,
        Kind::Count { .. } | Kind::Tokens { .. } | Kind::Flag | Kind::Bytes { .. } | Kind::Probability
    );
    let help = el("p")
        .attr("class", "help")
        .attr("id", &format!("{id}-help"))
        .say(state, help)
        .text(" ")
        .child(el("code").text(name))
        .child(part(move || source(state, known, label)));
    let problem = el("div").attr("id", &format!("{id}-problem")).attr("aria-live", "polite");
    el("div")
        .attr("class", if number { "field" } else { "field wide" })
        .child(caption.say(state, label))
        .child(control)
        .child(help)
        .child(problem.child(part(move || said(state, name))))
        .into()
}

/// Where the key is defined; a shipped model or card has a source of its own.
fn source(state: State, known: Name, label: Text) -> View {
    let url = match known {
        Name::Key(Key::Model) => preset(&state.selected("model")).map(|preset| preset.source.as_str()),
        Name::Key(Key::Gpu) => gpu(&state.selected("gpu")).map(|gpu| gpu.source),
        Name::Key(key) => names::source(key),
        Name::Field(_) => None,
    };
    let Some(url) = url else { return none() };
    let about = text::SOURCE_OF.fill(state.lang(), &[("what", &state.say(label))]);
    let link = el("a").attr("href", url).attr("target", "_blank").attr("rel", "noopener");
    all([super::el::text(" "), link.attr("aria-label", &about).text(state.say(text::SOURCE)).into()])
}

/// What is wrong with, or to be said of, what stands in the field.
fn said(state: State, name: &str) -> View {
    let lang = state.lang();
    match (state.problem(name), state.warning(name)) {
        (Some(problem), _) => el("p").attr("class", "problem").text(&problem.message(lang)).into(),
        (None, Some(problem)) => el("p").attr("class", "note").text(&problem.message(lang)).into(),
        (None, None) => none(),
    }
}

/// What every control has.
fn control(state: State, tag: &str, name: &'static str) -> El {
    el(tag)
        .attr("id", &format!("field-{name}"))
        .attr("data-key", name)
        .attr("aria-describedby", &format!("field-{name}-help field-{name}-problem"))
        .live("aria-invalid", move || state.problem(name).is_some().to_string())
}

/// A text field: numbers are typed as people write them, so that it is no `type=number`.
fn input(state: State, name: &'static str, kind: Kind) -> El {
    let keyboard = match kind {
        Kind::Count { max, .. } if max <= 1_000_000 => "numeric",
        Kind::Probability | Kind::Number => "decimal",
        _ => "text",
    };
    control(state, "input", name)
        .attr("type", "text")
        .attr("inputmode", keyboard)
        .attr("autocomplete", "off")
        .attr("autocapitalize", "off")
        .attr("spellcheck", "false")
        .live("placeholder", move || state.fallback(name))
        .prop("value", move || state.typed(name).into())
        .on("input", move |event| state.set(name, value_of(&event)))
        .on("change", move |_| state.leave(name))
}

fn select(state: State, name: &'static str, choices: Vec<Choice>) -> El {
    // Neighbours under the same heading stand in one group.
    let mut groups: Vec<(Text, Vec<View>)> = Vec::new();
    for Choice { value, name: shown, under } in choices {
        let option = el("option").attr("value", value).say(state, shown).into();
        match groups.last_mut() {
            Some((heading, options)) if *heading == under => options.push(option),
            _ => groups.push((under, vec![option])),
        }
    }
    let grouped = |(heading, options): (Text, Vec<View>)| {
        if heading == NO_HEADING {
            return View::from(options);
        }
        el("optgroup").label("label", state, heading).child(options).into()
    };
    let groups: Vec<View> = groups.into_iter().map(grouped).collect();
    control(state, "select", name)
        .child(groups)
        .prop("value", move || state.selected(name).into())
        .on("change", move |event| state.pick(name, value_of(&event)))
}

fn checks(state: State, name: &'static str, words: &'static [&'static str]) -> El {
    let has =
        move |word: &str| state.config.with(|config| config.get(name).split(',').any(|one| one == word));
    let one = |&word: &&'static str| {
        let toggle = move |_| {
            let kept = words.iter().filter(|one| untrack(|| has(one)) != (**one == word));
            state.set(name, kept.copied().collect::<Vec<_>>().join(","));
            state.leave(name);
        };
        let check = el("input").attr("type", "checkbox").prop("checked", move || has(word).into());
        let shown = Key::parse(name).map_or(Text::same(word), |key| names::choice(key, word));
        el("label").child(check.on_here("change", toggle)).say(state, shown).into()
    };
    let boxes: Vec<View> = words.iter().map(one).collect();
    el("div")
        .attr("class", "checks")
        .attr("role", "group")
        .attr("id", &format!("field-{name}"))
        .attr("data-key", name)
        .attr("aria-labelledby", &format!("field-{name}-label"))
        .child(boxes)
}

/// The options of a key that is chosen from a list.
fn choices(known: Name) -> Option<Vec<Choice>> {
    let choice = |value, name| Choice { value, name, under: NO_HEADING };
    let (kind, effect) = match known {
        Name::Key(key) => (known.kind(), key.effect()),
        Name::Field(_) => (known.kind(), Effect::Yes),
    };
    let name = match known {
        Name::Key(key) => key.word(),
        Name::Field(field) => field.name,
    };
    // Settings that a framework names have its default, not ours.
    let unset = Config::default().get(name).is_empty().then(|| choice("", text::UNSET));
    Some(match kind {
        Kind::Choice(words) => {
            let named = |word| match known {
                Name::Key(key) => choice(word, names::choice(key, word)),
                Name::Field(_) => choice(word, Text::same(word)),
            };
            let counts = |word: &str| match effect {
                Effect::Only(counted) => counted.contains(&word),
                Effect::Yes | Effect::NotYet => true,
            };
            // Those that change the figures first.
            let counted = words.iter().filter(|word| counts(word)).map(|word| named(word));
            let others = words.iter().filter(|word| !counts(word));
            let others = others.map(|word| Choice { under: text::NOT_COUNTED, ..named(word) });
            unset.into_iter().chain(counted).chain(others).collect()
        }
        Kind::Flag => {
            unset.into_iter().chain([choice("true", text::ON), choice("false", text::OFF)]).collect()
        }
        Kind::Model => {
            let shipped = presets().iter().map(|preset| Choice {
                value: &preset.id,
                name: Text::same(&preset.name),
                under: Text::same(owner(&preset.source)),
            });
            [choice("", text::OWN_MODEL)].into_iter().chain(shipped).collect()
        }
        Kind::Gpu => gpus()
            .iter()
            .map(|gpu| Choice { value: gpu.id, name: Text::same(gpu.name), under: Text::same(gpu.vendor) })
            .collect(),
        _ => return None,
    })
}

/// Who publishes a model: the owner in its source's address, as people search for it; the host of another site's.
fn owner(source: &'static str) -> &'static str {
    let at = if source.starts_with(ENDPOINT) { 3 } else { 2 };
    source.split('/').nth(at).unwrap_or_default()
}

/// Is the key without effect on any figure?
pub(super) fn without_effect(key: Key) -> bool {
    key.effect() == Effect::NotYet
}

/// The value of a key in short, for a closed section.
pub(super) fn brief(state: State, key: Key) -> String {
    let value = state.selected(key.word());
    let name = match key.kind() {
        Kind::Choice(words) => {
            words.iter().find(|word| **word == value).map(|word| state.say(names::choice(key, word)))
        }
        Kind::Gpu => gpu(&value).map(|gpu| gpu.name),
        Kind::Model => preset(&value).map(|preset| preset.name.as_str()),
        _ => None,
    };
    name.map_or(value.clone(), str::to_owned)
}

impl State {
    /// The option that a list shows: what was given, else what is used instead.
    pub(super) fn selected(self, name: &str) -> String {
        let shown = self.typed(name);
        if !shown.is_empty() {
            return shown;
        }
        self.config.with(|config| {
            let own =
                name == Key::Model.word() && (!config.architecture.is_empty() || config.params.is_some());
            if own { String::new() } else { config.fallback(name) }
        })
    }

    /// What is used while a text field is empty.
    fn fallback(self, name: &str) -> String {
        if name == Key::Params.word() {
            // The rule of thumb then takes the model's own count.
            return super::quick::given(self).params.map_or_else(String::new, count);
        }
        self.config.with(|config| config.fallback(name))
    }

    /// Takes what was picked from a list. A shipped model replaces every field of one's own.
    pub(super) fn pick(self, name: &'static str, picked: String) {
        if !rest::is_here() {
            self.keep(name, picked.clone(), None);
            return rest::when_here(Box::new(move || self.pick(name, picked)));
        }
        if name == Key::Model.word() && !picked.is_empty() {
            self.change(|config| {
                config.architecture.clear();
                config.params = None;
            });
        }
        if name == Key::Gpu.word() {
            self.change(|config| config.gpu_memory = None);
        }
        self.set(name, picked);
        self.leave(name);
    }
}
