//! What was ignored, replaced, or is not counted.

use leptos::prelude::*;

use super::State;
use super::el::{View, all, el, none, part};
use crate::config::Problem;
use crate::text::app as text;

/// The list, in words; nothing when all is well.
pub(super) fn view(state: State) -> View {
    el("section").attr("id", "problems").attr("aria-live", "polite").child(part(move || list(state))).into()
}

fn list(state: State) -> View {
    let lang = state.lang();
    let mut found: Vec<Problem> = state.reading.get();
    state.outcome.with(|outcome| {
        let warnings = outcome.answer.iter().flat_map(|answer| &answer.estimate.warnings);
        for problem in outcome.problems.iter().chain(warnings) {
            if !found.contains(problem) {
                found.push(problem.clone());
            }
        }
    });
    if found.is_empty() {
        return none();
    }
    let items: Vec<View> = found.iter().map(|problem| el("li").text(&problem.message(lang)).into()).collect();
    all([el("h2").text(state.say(text::PROBLEMS)).into(), el("ul").child(items).into()])
}
