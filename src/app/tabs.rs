//! Tabs after the ARIA pattern: arrows move, one tab in the tab order, each naming its panel.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use super::el::{View, el};
use super::{State, rest};
use crate::text::Text;

/// One tab: its word (for `data-…` and ids) and its name.
pub(super) type Tab = (&'static str, Text);

/// A row of tabs with its name. `family` prefixes the ids (`family-word` and `family-panel`); a tab that is not
/// offered is not there for anybody.
pub(super) fn tabs(
    state: State,
    family: &'static str,
    (label, tabs): (Text, &'static [Tab]),
    chosen: fn(State) -> &'static str,
    choose: fn(State, &'static str),
    offered: fn(State, &str) -> bool,
) -> View {
    let step = move |event: web_sys::Event| {
        let Some(pressed) = event.dyn_ref::<KeyboardEvent>() else { return };
        let now = untrack(|| chosen(state));
        let tabs: Vec<&Tab> = tabs.iter().filter(|tab| untrack(|| offered(state, tab.0))).collect();
        let at = tabs.iter().position(|tab| tab.0 == now).unwrap_or_default();
        let to = match pressed.key().as_str() {
            "ArrowRight" | "ArrowDown" => (at + 1) % tabs.len(),
            "ArrowLeft" | "ArrowUp" => (at + tabs.len() - 1) % tabs.len(),
            "Home" => 0,
            "End" => tabs.len() - 1,
            _ => return,
        };
        event.prevent_default();
        rest::when_here(Box::new(move || {
            choose(state, tabs[to].0);
            super::browser::focus(&format!("{family}-{}", tabs[to].0));
        }));
    };
    let mut row = el("div").attr("role", "tablist").label("aria-label", state, label).on("keydown", step);
    for &(word, name) in tabs {
        let selected = move || chosen(state) == word;
        let tab = el("button")
            .attr("type", "button")
            .attr("role", "tab")
            .attr("id", &format!("{family}-{word}"))
            .attr("data-view", word)
            .attr("aria-controls", &format!("{family}-panel"))
            .live("aria-selected", move || selected().to_string())
            .live("tabindex", move || if selected() { "0" } else { "-1" }.to_owned())
            .maybe("hidden", move || (!offered(state, word)).then(String::new))
            .on_here("click", move |_| choose(state, word))
            .say(state, name);
        row = row.child(tab);
    }
    row.into()
}
