//! A model by its name: its `config.json`, fetched from the hub or a mirror of it.

use leptos::prelude::*;

use super::State;
use super::browser::{self, value_of};
use super::el::{El, View, el, none, part};
use crate::config::{ENDPOINT, Key, config_address};
use crate::text::{Text, app as text};

/// How the last request went.
#[derive(Clone, PartialEq)]
enum Asked {
    Not,
    Waiting,
    /// The model is in use.
    Done(String),
    /// In a sentence, with what it is about.
    Failed(Text, String),
}

/// Name, mirror, button, and how it went.
pub(super) fn view(state: State) -> View {
    let name = RwSignal::new(String::new());
    let endpoint = RwSignal::new(browser::stored("hub").unwrap_or_else(|| ENDPOINT.to_owned()));
    let asked = RwSignal::new(Asked::Not);
    let ask = move |_| {
        let Some(address) = config_address(&endpoint.get_untracked(), &name.get_untracked()) else {
            return asked.set(Asked::Failed(text::HUB_NO_ADDRESS, name.get_untracked()));
        };
        browser::store("hub", &endpoint.get_untracked());
        asked.set(Asked::Waiting);
        browser::fetch(&address.clone(), move |answer| {
            // The view may be gone by now, and its signals with it: then nothing is set.
            asked.set(match answer {
                Ok(json) => take(state, &json, name.try_get_untracked().unwrap_or_default()),
                Err(Some(401 | 403)) => Asked::Failed(text::HUB_GATED, address),
                Err(Some(404)) => Asked::Failed(text::HUB_NOT_THERE, address),
                Err(_) => Asked::Failed(text::HUB_UNREACHABLE, address),
            });
        });
    };
    let button = el("button").attr("type", "button").attr("data-action", "hub").on_here("click", ask);
    let told = part(move || match asked.get() {
        Asked::Not => none(),
        Asked::Waiting => el("p").attr("class", "help").say(state, text::HUB_WAITING).into(),
        Asked::Done(model) => {
            el("p").attr("class", "help").text(&about(state, text::HUB_DONE, &model)).into()
        }
        Asked::Failed(why, what) => el("p").attr("class", "problem").text(&about(state, why, &what)).into(),
    });
    el("div")
        .attr("class", "group")
        .child(input(state, "hub-model", text::HUB_MODEL, name))
        .child(input(state, "hub-endpoint", text::HUB_ENDPOINT, endpoint))
        .child(el("div").attr("class", "row").child(button.say(state, text::HUB_FETCH)))
        .child(el("div").attr("aria-live", "polite").child(told))
        .into()
}

fn about(state: State, sentence: Text, what: &str) -> String {
    sentence.fill(state.lang(), &[("what", &what)])
}

/// Puts a fetched file in the place of the model.
fn take(state: State, json: &str, name: String) -> Asked {
    let Some(mut next) = state.config.try_get_untracked() else { return Asked::Not };
    next.model = None;
    next.params = None;
    match next.set(Key::Architecture.word(), json) {
        Ok(()) => {
            state.change(|config| *config = next);
            Asked::Done(name)
        }
        Err(problem) => Asked::Failed(text::HUB_UNREADABLE, problem.message(untrack(|| state.lang()))),
    }
}

fn input(state: State, id: &'static str, label: Text, value: RwSignal<String>) -> El {
    let label = el("label").attr("for", id).say(state, label);
    let input = el("input")
        .attr("type", "text")
        .attr("id", id)
        .attr("autocomplete", "off")
        .attr("spellcheck", "false")
        .prop("value", move || value.get().into())
        .on("input", move |event| value.set(value_of(&event)));
    let input = if id == "hub-model" { input.label("placeholder", state, text::HUB_EXAMPLE) } else { input };
    el("div").attr("class", "field wide").child(label).child(input)
}
