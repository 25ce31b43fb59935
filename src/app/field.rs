//! One field of the form: built from what the key accepts, the same for every key.

use leptos::prelude::*;

use super::State;
use super::browser::value_of;
use crate::config::{Effect, Key, Kind, Name, gpu, gpus, preset, presets};
use crate::text::{Lang, Text, app as text, config as words};
use crate::units::count;

/// An option of a list: value, name, and the heading it stands under.
struct Choice {
    value: &'static str,
    name: Text,
    under: Text,
}

/// The field of a key, with label, help, source, and what is wrong with what was typed.
pub(super) fn field(state: State, name: &'static str) -> AnyView {
    let Some(known) = Name::find(name) else { return ().into_any() };
    let (label, help, source) = match known {
        Name::Key(key) => (words::label(key), words::help(key), words::source(key)),
        Name::Field(field) => {
            let (label, help) = words::field(field.name).unwrap_or((Text::same(name), Text::same("")));
            (label, help, None)
        }
    };
    let kind = known.kind();
    let id = format!("field-{name}");
    let list = matches!(kind, Kind::List(_));
    let control = match known {
        Name::Key(key) => match kind {
            Kind::List(all) => checks(state, key, all),
            _ => match choices(key) {
                Some(choices) => select(state, key, choices),
                None => input(state, name, kind),
            },
        },
        Name::Field(_) => match kind {
            Kind::Flag => select_of(state, name, flag_choices(name)),
            _ => input(state, name, kind),
        },
    };
    let caption = move || state.say(label);
    let caption = if list {
        view! { <span class="label" id=format!("{id}-label")>{caption}</span> }.into_any()
    } else {
        view! { <label for=id.clone()>{caption}</label> }.into_any()
    };
    // A shipped model or card has a source of its own.
    let source = move || match known {
        Name::Key(Key::Model) => preset(&state.selected(name)).map(|preset| preset.source.as_str()),
        Name::Key(Key::Gpu) => gpu(&state.selected(name)).map(|gpu| gpu.source),
        _ => source,
    };
    view! {
        <div class=if matches!(kind, Kind::Count { .. } | Kind::Tokens { .. } | Kind::Flag | Kind::Bytes { .. } | Kind::Probability) { "field" } else { "field wide" }>
            {caption}
            {control}
            <p class="help" id=format!("{id}-help")>
                {move || state.say(help)} " " <code>{name}</code>
                {move || {
                    let about = text::SOURCE_OF.fill(state.lang.get(), &[("what", &state.say(label))]);
                    source().map(|url| view! {
                        " " <a href=url target="_blank" rel="noopener" aria-label=about>{state.say(text::SOURCE)}</a>
                    })
                }}
            </p>
            <div id=format!("{id}-problem") aria-live="polite">{move || said(state, name)}</div>
        </div>
    }
    .into_any()
}

/// What is wrong with, or to be said of, what stands in the field.
fn said(state: State, name: &str) -> AnyView {
    let lang = state.lang.get();
    if let Some(problem) = state.problem(name) {
        return view! { <p class="problem">{problem.message(lang)}</p> }.into_any();
    }
    match state.warning(name) {
        Some(problem) => view! { <p class="note">{problem.message(lang)}</p> }.into_any(),
        None => ().into_any(),
    }
}

/// A text field: numbers are typed as people write them, so that it is no `type=number`.
fn input(state: State, name: &'static str, kind: Kind) -> AnyView {
    let keyboard = match kind {
        Kind::Count { max, .. } if max <= 1_000_000 => "numeric",
        Kind::Probability | Kind::Number => "decimal",
        _ => "text",
    };
    view! {
        <input
            type="text"
            id=format!("field-{name}")
            data-key=name
            inputmode=keyboard
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            aria-describedby=format!("field-{name}-help field-{name}-problem")
            aria-invalid=move || state.problem(name).is_some().to_string()
            placeholder=move || state.fallback(name)
            prop:value=move || state.shown(name)
            on:input=move |event| state.set(name, value_of(&event))
            on:change=move |_| state.leave(name)
        />
    }
    .into_any()
}

fn select(state: State, key: Key, choices: Vec<Choice>) -> AnyView {
    select_of(state, key.word(), choices)
}

fn select_of(state: State, name: &'static str, choices: Vec<Choice>) -> AnyView {
    // Neighbours under the same heading stand in one group.
    let mut groups: Vec<(Text, Vec<AnyView>)> = Vec::new();
    for Choice { value, name: shown, under } in choices {
        let option = view! {
            <option value=value selected=move || state.selected(name) == value>
                {move || state.say(shown)}
            </option>
        }
        .into_any();
        match groups.last_mut() {
            Some((heading, options)) if *heading == under => options.push(option),
            _ => groups.push((under, vec![option])),
        }
    }
    let groups: Vec<AnyView> = groups
        .into_iter()
        .map(|(heading, options)| match heading.en {
            "" => options.into_any(),
            _ => view! { <optgroup label=move || state.say(heading)>{options}</optgroup> }.into_any(),
        })
        .collect();
    view! {
        <select
            id=format!("field-{name}")
            data-key=name
            aria-describedby=format!("field-{name}-help field-{name}-problem")
            aria-invalid=move || state.problem(name).is_some().to_string()
            prop:value=move || state.selected(name)
            on:change=move |event| state.pick(name, value_of(&event))
        >
            {groups}
        </select>
    }
    .into_any()
}

fn checks(state: State, key: Key, all: &'static [&'static str]) -> AnyView {
    let name = key.word();
    let has =
        move |word: &str| state.config.with(|config| config.get(name).split(',').any(|one| one == word));
    let boxes: Vec<AnyView> = all
        .iter()
        .map(|&word| {
            let toggle = move |_| {
                let kept = all.iter().filter(|one| untrack(|| has(one)) != (**one == word));
                state.set(name, kept.copied().collect::<Vec<_>>().join(","));
                state.leave(name);
            };
            view! {
                <label>
                    <input type="checkbox" prop:checked=move || has(word) on:change=toggle />
                    {move || state.say(words::choice(key, word))}
                </label>
            }
            .into_any()
        })
        .collect();
    view! {
        <div
            class="checks"
            role="group"
            id=format!("field-{name}")
            data-key=name
            aria-labelledby=format!("field-{name}-label")
        >
            {boxes}
        </div>
    }
    .into_any()
}

/// The options of a key that is chosen from a list.
fn choices(key: Key) -> Option<Vec<Choice>> {
    Some(match key.kind() {
        Kind::Choice(all) => {
            // Advanced keys have no default of ours: the framework's own.
            let unset = crate::config::Config::default().get(key.word()).is_empty().then_some(Choice {
                value: "",
                name: text::UNSET,
                under: Text::same(""),
            });
            let words = all.iter().map(|&word| {
                let name = words::choice(key, word);
                let counted = match key.effect() {
                    Effect::Only(counted) => counted.contains(&word),
                    Effect::Yes | Effect::NotYet => true,
                };
                Choice { value: word, name, under: if counted { Text::same("") } else { text::NOT_COUNTED } }
            });
            // Those that change the figures first; `sort_by_key` keeps the order within.
            let mut choices: Vec<Choice> = unset.into_iter().chain(words).collect();
            choices.sort_by_key(|choice| !choice.under.en.is_empty());
            choices
        }
        Kind::Flag => flag_choices(key.word()),
        Kind::Model => {
            let own = Choice { value: "", name: text::OWN_MODEL, under: Text::same("") };
            let shipped = presets().iter().map(|preset| Choice {
                value: &preset.id,
                name: Text::same(&preset.name),
                under: Text::same(owner(&preset.source)),
            });
            std::iter::once(own).chain(shipped).collect()
        }
        Kind::Gpu => gpus()
            .iter()
            .map(|gpu| Choice { value: gpu.id, name: Text::same(gpu.name), under: Text::same(gpu.vendor) })
            .collect(),
        _ => return None,
    })
}

fn flag_choices(name: &str) -> Vec<Choice> {
    let unset = crate::config::Config::default().get(name).is_empty();
    let unset = unset.then_some(Choice { value: "", name: text::UNSET, under: Text::same("") });
    let flags = [("true", text::ON), ("false", text::OFF)];
    unset
        .into_iter()
        .chain(flags.map(|(value, name)| Choice { value, name, under: Text::same("") }))
        .collect()
}

impl State {
    /// The option that a list shows: what was given, else what is used instead.
    pub(super) fn selected(self, name: &str) -> String {
        let shown = self.shown(name);
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

/// Who publishes a model: the owner in its source's address, as people search for it.
fn owner(source: &'static str) -> &'static str {
    source.split('/').nth(3).unwrap_or_default()
}

/// Is the key without effect on any figure?
pub(super) fn without_effect(key: Key) -> bool {
    key.effect() == Effect::NotYet
}

/// The value of a key in short, for a closed section.
pub(super) fn brief(state: State, key: Key) -> String {
    let value = state.selected(key.word());
    let lang: Lang = state.lang.get();
    match key.kind() {
        Kind::Choice(all) => all
            .iter()
            .find(|word| **word == value)
            .map_or(value.clone(), |word| words::choice(key, word).get(lang).to_owned()),
        Kind::Gpu => gpu(&value).map_or(value.clone(), |gpu| gpu.name.to_owned()),
        Kind::Model => preset(&value).map_or(value.clone(), |preset| preset.name.clone()),
        _ => value,
    }
}
