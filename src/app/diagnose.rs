//! “Bring what you have”: a `config.json`, a share link or a JSON configuration is read, and what was understood is
//! listed beside what was not.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{DragEvent, File, HtmlInputElement};

use super::State;
use super::browser::value_of;
use crate::config::{Config, FIELDS, Key, Problem, Read, Section};
use crate::text::app as text;

/// What was made of a text.
#[derive(Clone)]
enum Made {
    /// Keys with their values, and what was not understood.
    Read(Vec<(String, String)>, Vec<Problem>),
    /// Nothing could be read.
    Nothing(Problem),
}

/// The view.
pub(super) fn view(state: State) -> AnyView {
    let pasted = RwSignal::new(String::new());
    let made = RwSignal::new(None::<Made>);
    let read = move |brought: String| {
        let outcome = match parse(&brought) {
            Ok(read) => {
                let found = understood(&read.config);
                let problems = read.problems.clone();
                let view = state.view.get_untracked();
                state.load(read);
                state.change(|config| config.page.view = view);
                Made::Read(found, problems)
            }
            Err(problem) => Made::Nothing(problem),
        };
        made.set(Some(outcome));
    };
    let read_pasted = move |_| read(pasted.get_untracked());
    view! {
        <div class="group">
            <h2>{move || state.say(text::BRING)}</h2>
            <p class="help">{move || state.say(text::BRING_HELP)}</p>
            {dropping(
                state,
                "bring",
                pasted,
                text::BRING_LABEL,
                view! {
                    <button type="button" on:click=read_pasted>{move || state.say(text::READ_IT)}</button>
                }
                    .into_any(),
                read,
            )}
            <div aria-live="polite">{move || made.get().map(|made| report(state, &made))}</div>
        </div>
    }
    .into_any()
}

/// In the detailed view: a model's own `config.json`, beside whatever else was asked.
pub(super) fn drop_config(state: State) -> AnyView {
    let pasted = RwSignal::new(String::new());
    let refused = RwSignal::new(None::<Problem>);
    let read = move |json: String| {
        let mut next = state.config.get_untracked();
        next.model = None;
        next.params = None;
        match next.set(Key::Architecture.word(), &json) {
            Ok(()) => refused.set(None),
            Err(problem) => refused.set(Some(problem)),
        }
        state.change(|config| {
            if config.architecture != next.architecture {
                *config = next;
            }
        });
    };
    let read_pasted = move |_| read(pasted.get_untracked());
    view! {
        <details>
            <summary>{move || state.say(text::OWN_CONFIG)}</summary>
            <div class="group">
                {dropping(
                    state,
                    "config-json",
                    pasted,
                    text::CONFIG_LABEL,
                    view! {
                        <button type="button" on:click=read_pasted>{move || state.say(text::USE_IT)}</button>
                    }
                        .into_any(),
                    read,
                )}
                <div aria-live="polite">
                    {move || {
                        refused.get().map(|it| view! { <p class="problem">{it.message(state.lang.get())}</p> })
                    }}
                </div>
            </div>
        </details>
    }
    .into_any()
}

/// A text area that also takes a dropped or picked file.
fn dropping(
    state: State,
    id: &'static str,
    pasted: RwSignal<String>,
    label: crate::text::Text,
    button: AnyView,
    read: impl Fn(String) + Copy + 'static,
) -> AnyView {
    let over = RwSignal::new(false);
    let take = move |file: Option<File>| {
        let Some(file) = file else { return };
        let promise = file.text();
        leptos::task::spawn_local(async move {
            if let Ok(content) = wasm_bindgen_futures::JsFuture::from(promise).await {
                let content = content.as_string().unwrap_or_default();
                pasted.set(content.clone());
                read(content);
            }
        });
    };
    let dropped = move |event: DragEvent| {
        event.prevent_default();
        over.set(false);
        take(event.data_transfer().and_then(|data| data.files()).and_then(|files| files.get(0)));
    };
    let picked = move |event: web_sys::Event| {
        let input = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
        take(input.and_then(|input| input.files()).and_then(|files| files.get(0)));
    };
    let dragged = move |event: DragEvent| {
        event.prevent_default();
        over.set(true);
    };
    view! {
        <div
            class="drop"
            class:over=move || over.get()
            on:dragover=dragged
            on:dragleave=move |_| over.set(false)
            on:drop=dropped
        >
            <label class="small" for=id>{move || state.say(label)}</label>
            <textarea
                id=id
                rows="6"
                spellcheck="false"
                placeholder=move || state.say(text::PASTE_HERE)
                prop:value=move || pasted.get()
                on:input=move |event| pasted.set(value_of(&event))
            ></textarea>
            <div class="row">
                {button}
                <label class="button">
                    {move || state.say(text::PICK_FILE)}
                    <input type="file" class="visually-hidden" accept=".json,.txt,application/json" on:change=picked />
                </label>
            </div>
        </div>
    }
    .into_any()
}

/// JSON starts with a brace; everything else is a link.
fn parse(brought: &str) -> Result<Read, Problem> {
    let brought = brought.trim();
    if brought.starts_with(['{', '[']) { Config::from_json(brought) } else { Ok(Config::from_link(brought)) }
}

/// Keys and fields that differ from the defaults, as they are written.
fn understood(config: &Config) -> Vec<(String, String)> {
    let default = Config::default();
    let keys = Key::ALL.iter().filter(|key| **key != Key::Architecture && key.section() != Section::Page);
    let names = keys.map(|key| key.word()).chain(FIELDS.iter().map(|field| field.name));
    names
        .map(|name| (name, config.get(name)))
        .filter(|(name, value)| *value != default.get(name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn report(state: State, made: &Made) -> AnyView {
    let lang = state.lang.get();
    match made {
        Made::Nothing(problem) => view! { <p class="problem">{problem.message(lang)}</p> }.into_any(),
        Made::Read(found, problems) => {
            let found: Vec<AnyView> = found
                .iter()
                .map(|(key, value)| view! { <li><code>{format!("{key} = {value}")}</code></li> }.into_any())
                .collect();
            let none =
                found.is_empty().then(|| view! { <p class="help">{state.say(text::NOTHING_FOUND)}</p> });
            let problems: Vec<AnyView> = problems
                .iter()
                .map(|problem| view! { <li class="problem">{problem.message(lang)}</li> }.into_any())
                .collect();
            let heading =
                (!problems.is_empty()).then(|| view! { <h3>{state.say(text::NOT_UNDERSTOOD)}</h3> });
            view! {
                <h3>{state.say(text::UNDERSTOOD)}</h3>
                {none}
                <ul class="found">{found}</ul>
                {heading}
                <ul class="found">{problems}</ul>
            }
            .into_any()
        }
    }
}
