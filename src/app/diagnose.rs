//! “Bring what you have”: an out-of-memory message, a file or a link is read beside the page, and what it says, what it
//! means and what it changes is shown; one click fills it in.

use std::cell::RefCell;

use leptos::prelude::*;
use serde_json::Value;
use wasm_bindgen::JsCast;
use web_sys::{DragEvent, File, HtmlInputElement};

use super::el::{El, View, all, el, follow, none, part};
use super::later::{self, Told};
use super::{State, address, browser, browser::value_of};
use crate::config::{Config, Key, Problem};
use crate::jobs::Request;
use crate::text::{Text, app as text};

/// The view.
pub(super) fn view(state: State) -> View {
    let brought = RwSignal::new(String::new());
    let made = RwSignal::new(Value::Null);
    // What is read again when the configuration, the language or the unit changes; the last request goes before.
    let asked = RefCell::new(None);
    follow(Box::new(move || {
        let text = brought.get();
        if text.trim().is_empty() {
            return made.set(Value::Null);
        }
        let shown = state.shown.get();
        let link = state.config.with(address::query);
        let request = Request::Bring { lang: shown.lang, units: shown.units, link, text };
        *asked.borrow_mut() = Some(later::ask(&request, move |told| match told {
            // The view may be gone by now, and its signal with it: then nothing is set.
            Told::Done(json) => drop(made.try_set(serde_json::from_str(&json).unwrap_or_default())),
            Told::Failed => state.toast.set(Some((text::FAILED, None))),
            Told::Progress(_) => {}
        }));
    }));
    let read = move |content: &str| brought.set(content.to_owned());
    let result = el("div")
        .attr("id", "brought")
        .attr("aria-live", "polite")
        .child(part(move || made.with(|made| report(state, made))));
    el("div")
        .attr("class", "group")
        .child(el("h2").say(state, text::BRING))
        .child(el("p").attr("class", "help").say(state, text::BRING_HELP))
        .child(dropping(state, "bring", text::BRING_LABEL, text::READ_IT, read))
        .child(result)
        .into()
}

/// What came back of a reading: each part of it, and what filling it in changes.
fn report(state: State, made: &Value) -> View {
    let mut views: Vec<View> = list(&made["parts"]).map(section).collect();
    let link = made["link"].as_str().unwrap_or_default().to_owned();
    if !link.is_empty() {
        let changes = el("ul").attr("class", "found").child(items(&made["changes"]));
        let button = el("button")
            .attr("type", "button")
            .attr("id", "fill-in")
            .on_here("click", move |_| {
                let page = state.config.with_untracked(|config| config.page.clone());
                state.load(Config::from_link(&link));
                state.change(|config| config.page = page);
            })
            .text(state.say(text::FILL_IN));
        views.push(el("h3").text(state.say(text::WOULD_CHANGE)).into());
        views.push(changes.into());
        views.push(el("div").attr("class", "row").child(button).into());
    }
    views.into()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(sentences: &Value) -> Vec<View> {
    list(sentences).map(|sentence| el("li").text(words(sentence)).into()).collect()
}

/// One heading with its facts, sentences and table.
fn section(part: &Value) -> View {
    let rows = |tag: &'static str, cells: &Value, name: &'static str| -> El {
        list(cells).fold(el(tag), |row, cell| row.child(el(name).text(words(cell))))
    };
    let mut views = Vec::new();
    if !words(&part["heading"]).is_empty() {
        views.push(el("h3").text(words(&part["heading"])).into());
    }
    if list(&part["facts"]).next().is_some() {
        let lines = list(&part["facts"]).map(|fact| {
            let label = el("th").attr("scope", "row").text(words(&fact[0]));
            el("tr").child(label).child(el("td").text(words(&fact[1]))).into()
        });
        views.push(el("table").attr("class", "facts").child(lines.collect::<Vec<View>>()).into());
    }
    if list(&part["sentences"]).next().is_some() {
        views.push(el("ul").attr("class", "found").child(items(&part["sentences"])).into());
    }
    if list(&part["rows"]).next().is_some() {
        let names = list(&part["columns"]).map(|column| &column[0]);
        let head =
            names.fold(el("tr"), |row, name| row.child(el("th").attr("scope", "col").text(words(name))));
        let body: Vec<View> = list(&part["rows"]).map(|row| rows("tr", row, "td").into()).collect();
        let table =
            el("table").attr("class", "facts").child(el("thead").child(head)).child(el("tbody").child(body));
        let scroll = el("div")
            .attr("class", "scroll")
            .attr("tabindex", "0")
            .attr("role", "region")
            .attr("aria-label", words(&part["heading"]));
        views.push(scroll.child(table).into());
    }
    views.into()
}

/// In the detailed view: a model's own `config.json`, beside whatever else was asked.
pub(super) fn config_json(state: State) -> View {
    let problem = RwSignal::new(None::<Problem>);
    let read = move |json: &str| {
        let mut next = state.config.get_untracked();
        next.model = None;
        next.params = None;
        let refused = next.set(Key::Architecture.word(), json).err();
        let read = next.architecture != state.config.with_untracked(|config| config.architecture.clone());
        if refused.is_none() || read {
            state.change(|config| *config = next);
        }
        problem.set(refused);
    };
    let said = move || {
        let Some(problem) = problem.get() else { return none() };
        let heading = el("h3").text(state.say(text::NOT_UNDERSTOOD)).into();
        all([heading, el("p").attr("class", "problem").text(&problem.message(state.lang())).into()])
    };
    let result = el("div").attr("aria-live", "polite").child(part(said));
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
        .attr("accept", ".json,.yaml,.yml,.toml,.sh,.log,.txt,application/json,text/plain")
        .on_here("change", picked);
    let file = el("label").attr("class", "button").say(state, text::PICK_FILE).child(file);
    let button = el("button")
        .attr("type", "button")
        .on_here("click", move |_| read(&pasted.get_untracked()))
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
