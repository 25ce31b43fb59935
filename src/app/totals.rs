//! The totals in a row: what the framework, its allocator and the driver would each say.

use leptos::prelude::*;

use super::State;
use crate::estimate::Band;
use crate::text::{Text, app as text, report as words};
use crate::units::{count, size};

/// The row.
pub(super) fn view(state: State) -> AnyView {
    view! { <dl class="totals">{move || row(state)}</dl> }.into_any()
}

fn row(state: State) -> AnyView {
    let Some(answer) = state.outcome.with(|outcome| outcome.answer.clone()) else { return ().into_any() };
    let (it, units) = (&answer.estimate, state.units.get());
    let total = |name: Text, shown: String, more: String| {
        view! {
            <div>
                <dt>{state.say(name)}</dt>
                <dd>{shown} <span>{more}</span></dd>
            </div>
        }
        .into_any()
    };
    let band = |name: Text, band: Band| {
        let range = format!("{} – {}", size(band.low, units), size(band.high, units));
        total(name, size(band.expected, units), range)
    };
    let between = text::WITH_GRADIENTS
        .fill(state.lang.get(), &[("size", &size(it.between_steps.with_gradients, units))]);
    vec![
        total(text::MODEL_SIZE, count(it.parameters.total), String::new()),
        total(text::BETWEEN_STEPS, size(it.between_steps.without_gradients, units), between),
        total(words::ALLOCATED, size(it.allocated, units), state.say(words::COUNTS_ALLOCATED).to_owned()),
        band(words::RESERVED, it.reserved),
        band(words::DEVICE, it.device),
    ]
    .into_any()
}
