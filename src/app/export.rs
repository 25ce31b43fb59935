//! Buttons that save what is shown.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use super::el::{View, el};
use super::later::{self, Told};
use super::{State, address, browser, figure};
use crate::config::Key;
use crate::jobs::{Format, Request};
use crate::text::app as text;

/// What can be saved: the name's ending, the type, the button.
const KINDS: [(&str, &str, &str); 5] = [
    ("png", "image/png", "PNG"),
    ("svg", "image/svg+xml", "SVG"),
    ("csv", "text/csv;charset=utf-8", "CSV"),
    ("json", "application/json", "JSON"),
    ("md", "text/markdown;charset=utf-8", "Markdown"),
];

/// The buttons.
pub(super) fn buttons(state: State) -> View {
    let mut row = el("div").attr("class", "row exports").attr("role", "group");
    row = row.label("aria-label", state, text::EXPORTS);
    for (kind, mime, name) in KINDS {
        let button = el("button")
            .attr("type", "button")
            .attr("data-export", kind)
            .live("aria-label", move || text::SAVE_AS.fill(state.lang(), &[("kind", &name)]))
            .on_here("click", move |_| save(state, kind, mime))
            .text(name);
        row = row.child(button);
    }
    row.into()
}

fn save(state: State, kind: &'static str, mime: &'static str) {
    let Some(answer) = state.outcome.with_untracked(|outcome| outcome.answer.clone()) else { return };
    let model = untrack(|| state.selected(Key::Model.word()));
    let name = format!("trainmem-{}.{kind}", if model.is_empty() { "model" } else { &model });
    if kind == "png" {
        return figure::png(state, &answer, move |blob| browser::save(&blob, &name));
    }
    let done = move |content: String| {
        if let Some(blob) = browser::blob(&JsValue::from_str(&content), mime) {
            browser::save(&blob, &name);
        }
    };
    let Some(format) = Format::parse(kind) else { return done(figure::svg(state, &answer)) };
    let shown = state.shown.get_untracked();
    let link = address::query(&answer.config);
    let request = Request::Export { format, lang: shown.lang, units: shown.units, link };
    later::ask(&request, move |told| match told {
        Told::Done(content) => done(content),
        Told::Failed => state.toast.set(Some((text::FAILED, None))),
        Told::Progress(_) => {}
    })
    .keep();
}
