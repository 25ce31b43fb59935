//! Buttons that save what is shown.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use super::state::Answer;
use super::{State, browser, figure};
use crate::report;
use crate::text::app as text;

/// What can be saved.
const KINDS: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("csv", "text/csv;charset=utf-8"),
    ("json", "application/json"),
    ("md", "text/markdown;charset=utf-8"),
];

/// The buttons.
pub(super) fn buttons(state: State) -> AnyView {
    let buttons = KINDS.map(|(kind, mime)| {
        let name = if kind == "md" { "Markdown".to_owned() } else { kind.to_ascii_uppercase() };
        let label = {
            let name = name.clone();
            move || text::SAVE_AS.fill(state.lang.get(), &[("kind", &name)])
        };
        view! {
            <button type="button" data-export=kind aria-label=label on:click=move |_| save(state, kind, mime)>
                {name}
            </button>
        }
        .into_any()
    });
    view! {
        <div class="row exports" role="group" aria-label=move || state.say(text::EXPORTS)>
            {buttons.into_iter().collect::<Vec<_>>()}
        </div>
    }
    .into_any()
}

fn save(state: State, kind: &'static str, mime: &'static str) {
    let Some(answer) = state.outcome.with_untracked(|outcome| outcome.answer.clone()) else { return };
    let name = format!("trainmem-{}.{kind}", answer.config.model.as_deref().unwrap_or("model"));
    if kind == "png" {
        return figure::png(state, &answer, move |blob| browser::save(&blob, &name));
    }
    let (lang, units) = (state.lang.get_untracked(), state.units.get_untracked());
    let Answer { estimate, .. } = &*answer;
    let content = match kind {
        "svg" => figure::svg(state, &answer),
        "csv" => report::csv(estimate, lang),
        "json" => report::json(estimate, lang),
        _ => report::markdown(&answer.config, estimate, lang, units),
    };
    if let Some(blob) = browser::blob(&JsValue::from_str(&content), mime) {
        browser::save(&blob, &name);
    }
}
