//! “Bring what you have”: a `config.json`, a share link or a JSON configuration is read, and what was understood is
//! listed beside what was not.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{DragEvent, File, HtmlInputElement};

use super::State;
use super::browser::{self, value_of};
use super::el::{View, all, el, none, part};
use crate::config::{Config, FIELDS, Key, Problem, Read, Section};
use crate::text::{Text, app as text};

/// What was made of a text: keys with their values, and what was not understood.
#[derive(Clone, Default)]
struct Made {
    found: Option<Vec<String>>,
    problems: Vec<Problem>,
}

/// The view.
pub(super) fn view(state: State) -> View {
    let made = RwSignal::new(Made::default());
    let read = move |brought: &str| {
        made.set(match parse(brought) {
            Ok(read) => {
                let outcome = Made { found: Some(understood(&read.config)), problems: read.problems.clone() };
                let view = state.view.get_untracked();
                state.load(read);
                state.change(|config| config.page.view = view);
                outcome
            }
            Err(problem) => Made { found: None, problems: vec![problem] },
        });
    };
    let result = el("div").attr("aria-live", "polite").child(part(move || report(state, &made.get())));
    el("div")
        .attr("class", "group")
        .child(el("h2").say(state, text::BRING))
        .child(el("p").attr("class", "help").say(state, text::BRING_HELP))
        .child(dropping(state, "bring", text::BRING_LABEL, text::READ_IT, read))
        .child(result)
        .into()
}

/// In the detailed view: a model's own `config.json`, beside whatever else was asked.
pub(super) fn config_json(state: State) -> View {
    let made = RwSignal::new(Made::default());
    let read = move |json: &str| {
        let mut next = state.config.get_untracked();
        next.model = None;
        next.params = None;
        let problem = next.set(Key::Architecture.word(), json).err();
        let read = next.architecture != state.config.with_untracked(|config| config.architecture.clone());
        if problem.is_none() || read {
            state.change(|config| *config = next);
        }
        made.set(Made { found: None, problems: problem.into_iter().collect() });
    };
    let result = el("div").attr("aria-live", "polite").child(part(move || report(state, &made.get())));
    el("div")
        .attr("class", "group")
        .child(dropping(state, "config-json", text::CONFIG_LABEL, text::USE_IT, read))
        .child(result)
        .into()
}

/// A text area that also takes a dropped or picked file.
fn dropping(
    state: State,
    id: &'static str,
    label: Text,
    button: Text,
    read: impl Fn(&str) + Copy + 'static,
) -> View {
    let pasted = RwSignal::new(String::new());
    let over = RwSignal::new(false);
    let take = move |file: Option<File>| {
        let Some(file) = file else { return };
        browser::wait(&file.text().into(), move |content| {
            if let Some(content) = content.ok().and_then(|content| content.as_string()) {
                read(&content);
                // The view may be gone by now, and its signal with it: then nothing is set.
                pasted.set(content);
            }
        });
    };
    let dropped = move |event: web_sys::Event| {
        event.prevent_default();
        over.set(false);
        let data = event.dyn_ref::<DragEvent>().and_then(DragEvent::data_transfer);
        take(data.and_then(|data| data.files()).and_then(|files| files.get(0)));
    };
    let picked = move |event: web_sys::Event| {
        let input = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
        take(input.and_then(|input| input.files()).and_then(|files| files.get(0)));
    };
    let area = el("textarea")
        .attr("id", id)
        .attr("rows", "6")
        .attr("spellcheck", "false")
        .label("placeholder", state, text::PASTE_HERE)
        .prop("value", move || pasted.get().into())
        .on("input", move |event| pasted.set(value_of(&event)));
    let file = el("input")
        .attr("type", "file")
        .attr("class", "visually-hidden")
        .attr("accept", ".json,.txt,application/json")
        .on("change", picked);
    let file = el("label").attr("class", "button").say(state, text::PICK_FILE).child(file);
    let button = el("button")
        .attr("type", "button")
        .on("click", move |_| read(&pasted.get_untracked()))
        .say(state, button);
    el("div")
        .live("class", move || if over.get() { "drop over" } else { "drop" }.to_owned())
        .on("dragover", move |event| {
            event.prevent_default();
            over.set(true);
        })
        .on("dragleave", move |_| over.set(false))
        .on("drop", dropped)
        .child(el("label").attr("class", "small").attr("for", id).say(state, label))
        .child(area)
        .child(el("div").attr("class", "row").child(button).child(file))
        .into()
}

/// JSON starts with a brace; everything else is a link.
fn parse(brought: &str) -> Result<Read, Problem> {
    let brought = brought.trim();
    if brought.starts_with(['{', '[']) { Config::from_json(brought) } else { Ok(Config::from_link(brought)) }
}

/// Keys and fields that differ from the defaults, as they are written.
fn understood(config: &Config) -> Vec<String> {
    let default = Config::default();
    let keys = Key::ALL.iter().filter(|key| **key != Key::Architecture && key.section() != Section::Page);
    let names = keys.map(|key| key.word()).chain(FIELDS.iter().map(|field| field.name));
    let values = names.map(|name| (name, config.get(name)));
    values
        .filter(|(name, value)| *value != default.get(name))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect()
}

fn report(state: State, made: &Made) -> View {
    let lang = state.lang();
    let found = made.found.as_ref().map(|found| {
        let heading = el("h3").text(state.say(text::UNDERSTOOD)).into();
        if found.is_empty() {
            return all([heading, el("p").attr("class", "help").text(state.say(text::NOTHING_FOUND)).into()]);
        }
        let items: Vec<View> =
            found.iter().map(|item| el("li").child(el("code").text(item)).into()).collect();
        all([heading, el("ul").attr("class", "found").child(items).into()])
    });
    if made.problems.is_empty() {
        return found.into();
    }
    let heading = el("h3").text(state.say(text::NOT_UNDERSTOOD)).into();
    let item = |it: &Problem| el("li").attr("class", "problem").text(&it.message(lang)).into();
    let items: Vec<View> = made.problems.iter().map(item).collect();
    all([found.unwrap_or_else(none), heading, el("ul").attr("class", "found").child(items).into()])
}
