//! Tabs after the ARIA pattern: arrows move, one tab in the tab order, each naming its panel.

use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::State;
use crate::text::Text;

/// One tab: its word (for `data-…` and ids) and its name.
pub(super) type Tab = (&'static str, Text);

/// A row of tabs. `family` prefixes the ids (`family-word` and `family-panel`) and names the data attribute.
pub(super) fn tabs(
    state: State,
    family: &'static str,
    label: Text,
    tabs: &'static [Tab],
    chosen: Signal<&'static str>,
    choose: fn(State, &'static str),
) -> AnyView {
    let step = move |event: KeyboardEvent| {
        let at = tabs.iter().position(|tab| tab.0 == chosen.get_untracked()).unwrap_or_default();
        let to = match event.key().as_str() {
            "ArrowRight" | "ArrowDown" => (at + 1) % tabs.len(),
            "ArrowLeft" | "ArrowUp" => (at + tabs.len() - 1) % tabs.len(),
            "Home" => 0,
            "End" => tabs.len() - 1,
            _ => return,
        };
        event.prevent_default();
        choose(state, tabs[to].0);
        super::browser::focus(&format!("{family}-{}", tabs[to].0));
    };
    let each = tabs.iter().map(|&(word, name)| {
        let selected = move || chosen.get() == word;
        view! {
            <button
                type="button"
                role="tab"
                id=format!("{family}-{word}")
                data-view=word
                aria-controls=format!("{family}-panel")
                aria-selected=move || selected().to_string()
                tabindex=move || if selected() { "0" } else { "-1" }
                on:click=move |_| choose(state, word)
            >
                {move || state.say(name)}
            </button>
        }
        .into_any()
    });
    let each: Vec<AnyView> = each.collect();
    view! {
        <div role="tablist" aria-label=move || state.say(label) on:keydown=step>
            {each}
        </div>
    }
    .into_any()
}
