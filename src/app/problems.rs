//! What was ignored, replaced, or is not counted.

use leptos::prelude::*;

use super::State;
use crate::config::Problem;
use crate::text::app as text;

/// The list, in words; nothing when all is well.
pub(super) fn view(state: State) -> AnyView {
    view! { <section id="problems" aria-live="polite">{move || list(state)}</section> }.into_any()
}

fn list(state: State) -> AnyView {
    let lang = state.lang.get();
    let mut all: Vec<Problem> = state.reading.get();
    state.outcome.with(|outcome| {
        let warnings = outcome.answer.iter().flat_map(|answer| &answer.estimate.warnings);
        for problem in outcome.problems.iter().chain(warnings) {
            if !all.contains(problem) {
                all.push(problem.clone());
            }
        }
    });
    if all.is_empty() {
        return ().into_any();
    }
    let items: Vec<AnyView> =
        all.iter().map(|problem| view! { <li>{problem.message(lang)}</li> }.into_any()).collect();
    view! {
        <h2>{state.say(text::PROBLEMS)}</h2>
        <ul>{items}</ul>
    }
    .into_any()
}
