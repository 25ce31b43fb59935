//! The totals in a row: what the framework, its allocator and the driver would each say.

use leptos::prelude::*;

use super::State;
use super::el::{View, all, el, none, part};
use crate::estimate::Band;
use crate::text::{Text, app as text, report as words};
use crate::units::{count, size};

/// The row.
pub(super) fn view(state: State) -> View {
    el("dl").attr("class", "totals").child(part(move || row(state))).into()
}

fn row(state: State) -> View {
    let Some(answer) = state.outcome.with(|outcome| outcome.answer.clone()) else { return none() };
    let (it, units) = (&answer.estimate, state.units());
    let total = |name: Text, shown: &str, more: &str| {
        let shown = el("dd").text(shown).child(el("span").text(more));
        el("div").child(el("dt").text(state.say(name))).child(shown).into()
    };
    let band = |name: Text, band: Band| {
        let range = format!("{} – {}", size(band.low, units), size(band.high, units));
        total(name, &size(band.expected, units), &range)
    };
    let between =
        text::WITH_GRADIENTS.fill(state.lang(), &[("size", &size(it.between_steps.with_gradients, units))]);
    all([
        total(text::MODEL_SIZE, &count(it.parameters.total), ""),
        total(text::BETWEEN_STEPS, &size(it.between_steps.without_gradients, units), &between),
        total(words::ALLOCATED, &size(it.allocated, units), state.say(words::COUNTS_ALLOCATED)),
        band(words::RESERVED, it.reserved),
        band(words::DEVICE, it.device),
    ])
}
