//! The quick view: the article's fields and its four lines, each with its arithmetic.

use leptos::prelude::*;

use super::browser::value_of;
use super::el::{View, all, el, none, part};
use super::field::field;
use super::{State, address, problems};
use crate::config::View as Shown;
use crate::ledger::Block;
use crate::quick::{Given, Line, Quick, quick, sixteen_bit};
use crate::text::{app as text, ledger as names, quick as article};
use crate::units::{parse_bytes, size};

/// What the rule of thumb is told besides the configuration.
pub(super) fn given(state: State) -> Given {
    let params = state.outcome.with(|outcome| outcome.answer.as_ref().map(|it| it.estimate.parameters.total));
    Given { params, activations: parse_bytes(&state.activations.get()).ok() }
}

/// The rule of thumb's answer.
pub(super) fn answer(state: State) -> Quick {
    let given = given(state);
    state.config.with(|config| quick(config, given))
}

/// The fields.
pub(super) fn view(state: State) -> View {
    let batch = el("div").attr("class", "pair").child(field(state, "batch")).child(field(state, "seq"));
    el("div")
        .attr("class", "group")
        .child(field(state, "params"))
        .child(field(state, "precision"))
        .child(field(state, "optimizer"))
        .child(batch)
        .child(activations(state))
        .into()
}

/// By the article's formula, or typed in.
fn activations(state: State) -> View {
    let bad = move || {
        let typed = state.activations.get();
        !typed.trim().is_empty() && parse_bytes(&typed).is_err()
    };
    let label = el("label").attr("for", "activations").say(state, names::block(Block::Activations));
    let input = el("input")
        .attr("type", "text")
        .attr("id", "activations")
        .attr("autocomplete", "off")
        .attr("spellcheck", "false")
        .attr("aria-describedby", "activations-help activations-problem")
        .live("aria-invalid", move || bad().to_string())
        .label("placeholder", state, text::BY_FORMULA)
        .prop("value", move || state.activations.get().into())
        .on("input", move |event| state.activations.set(value_of(&event)));
    let help =
        el("p").attr("class", "help").attr("id", "activations-help").say(state, text::ACTIVATIONS_HELP);
    let problem = part(move || {
        if bad() { el("p").attr("class", "problem").text(state.say(text::NOT_A_SIZE)).into() } else { none() }
    });
    let problem = el("div").attr("id", "activations-problem").attr("aria-live", "polite").child(problem);
    el("div").attr("class", "field").child(label).child(input).child(help).child(problem).into()
}

/// The four blocks side by side, the lines, and what “loaded in FP16” can mean.
pub(super) fn figure(state: State) -> View {
    let detailed = el("button")
        .attr("type", "button")
        .on_here("click", move |_| address::show(state, Shown::Detailed))
        .say(state, text::TO_DETAILED);
    let lines = el("section")
        .child(el("h2").say(state, text::FOUR_LINES))
        .child(el("p").attr("class", "help").say(state, article::FORMULA))
        .child(part(move || lines(state)));
    let cases = el("section")
        .child(el("h2").say(state, article::CASES))
        .child(el("div").attr("class", "cases").child(part(move || cases(state))));
    all([
        part(move || stack(state)),
        lines.into(),
        problems::view(state),
        cases.into(),
        el("p").child(detailed).into(),
    ])
}

fn stack(state: State) -> View {
    let (answer, units) = (answer(state), state.units());
    let part = |line: &Line| -> View {
        let name = el("span").text(state.say(names::block(line.block)));
        el("div")
            .attr("class", &format!("swatch {}", line.block.word()))
            .attr("style", &format!("flex-grow:{}", line.bytes))
            .child(name.text(" ").child(el("span").text(&size(line.bytes, units))))
            .into()
    };
    let parts: Vec<View> = answer.lines.iter().filter(|line| line.bytes > 0).map(part).collect();
    el("div")
        .attr("id", "figure")
        .attr("class", "stack")
        .attr("role", "img")
        .attr("aria-label", &format!("{}{}", state.say(text::FOUR_LINES_ARE), answer.sum(units)))
        .child(parts)
        .into()
}

fn lines(state: State) -> View {
    let (answer, lang, units) = (answer(state), state.lang(), state.units());
    let mut body = el("tbody");
    for line in &answer.lines {
        let swatch =
            el("span").attr("class", &format!("swatch {}", line.block.word())).attr("aria-hidden", "true");
        let name = el("th").attr("scope", "row").child(swatch).text(state.say(names::block(line.block)));
        let note = el("td").attr("colspan", "2").text(&line.note.message(lang, units));
        body = body
            .child(el("tr").child(name).child(el("td").text(&line.arithmetic(units))))
            .child(el("tr").attr("class", "sum").child(note));
    }
    let total =
        el("tr").attr("class", "total").child(el("th").attr("scope", "row").text(state.say(text::SUM)));
    let body = body.child(total.child(el("td").text(&answer.sum(units))));
    el("table").attr("class", "lines").child(body).into()
}

fn cases(state: State) -> View {
    let units = state.units();
    let Some(params) = state.config.with(|config| config.params).or(given(state).params) else {
        return el("p").text(state.say(article::PARAMETERS_UNKNOWN)).into();
    };
    all(sixteen_bit(params).map(|case| {
        el("div")
            .child(el("p").child(el("b").text(state.say(case.name))))
            .child(el("p").attr("class", "mono").text(&case.weights.arithmetic(units)))
            .child(el("p").attr("class", "help").text(state.say(case.why)))
            .into()
    }))
}
