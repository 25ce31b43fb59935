//! “Give back what people run”: the configuration on the clipboard as a file of another program, and what that file
//! does not say.

use leptos::prelude::*;
use serde_json::Value;

use super::el::{View, el, none, part};
use super::later::{self, Told};
use super::{State, address, share};
use crate::export::Kind;
use crate::jobs::Request;
use crate::text::app as text;

/// The list of programs, closed until somebody wants it.
pub(super) fn view(state: State) -> View {
    let left_out = RwSignal::new(Vec::<String>::new());
    let mut row = el("div").attr("class", "row exports").attr("role", "group");
    row = row.label("aria-label", state, text::FOR_PROGRAMS);
    for &kind in Kind::ALL {
        let button = el("button")
            .attr("type", "button")
            .attr("data-program", kind.word())
            .on_here("click", move |_| copy(state, kind, left_out))
            .say(state, kind.name());
        row = row.child(button);
    }
    let said = part(move || {
        let sentences = left_out.get();
        if sentences.is_empty() {
            return none();
        }
        let items: Vec<View> = sentences.iter().map(|sentence| el("li").text(sentence).into()).collect();
        el("ul").attr("class", "found").child(items).into()
    });
    el("details")
        .attr("id", "programs")
        .child(el("summary").say(state, text::FOR_PROGRAMS))
        .child(row)
        .child(el("div").attr("id", "left-out").attr("aria-live", "polite").child(said))
        .into()
}

fn copy(state: State, kind: Kind, left_out: RwSignal<Vec<String>>) {
    let shown = state.shown.get_untracked();
    let link = state.config.with_untracked(address::query);
    let request = Request::Write { kind, lang: shown.lang, link };
    later::ask(&request, move |told| match told {
        Told::Done(json) => {
            let written: Value = serde_json::from_str(&json).unwrap_or_default();
            let sentences = written["left_out"].as_array().into_iter().flatten();
            let sentences = sentences.filter_map(Value::as_str).map(str::to_owned).collect();
            // The view may be gone by now.
            let _ = left_out.try_set(sentences);
            share::copy(state, written["text"].as_str().unwrap_or_default(), text::FILE_COPIED);
        }
        Told::Failed => state.toast.set(Some((text::FAILED, None))),
        Told::Progress(_) => {}
    })
    .keep();
}
