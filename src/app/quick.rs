//! The quick view: the article's fields and its four lines, each with its arithmetic.

use leptos::prelude::*;

use super::browser::value_of;
use super::field::field;
use super::{State, address, problems};
use crate::config::View;
use crate::ledger::Block;
use crate::quick::{Case, Given, Line, Quick, quick, sixteen_bit};
use crate::text::{app as text, ledger as words, quick as article};
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

/// The view.
pub(super) fn view(state: State) -> AnyView {
    view! {
        <div class="group">
            {field(state, "params")}
            {field(state, "precision")}
            {field(state, "optimizer")}
            {activations(state)}
        </div>
    }
    .into_any()
}

/// By the article's formula, whose fields stand here too, or typed in.
fn activations(state: State) -> AnyView {
    let bad = move || {
        let typed = state.activations.get();
        !typed.trim().is_empty() && parse_bytes(&typed).is_err()
    };
    view! {
        <div class="pair">{field(state, "batch")} {field(state, "seq")}</div>
        <div class="field">
            <label for="activations">{move || state.say(words::block(Block::Activations))}</label>
            <input
                type="text"
                id="activations"
                autocomplete="off"
                spellcheck="false"
                aria-describedby="activations-help activations-problem"
                aria-invalid=move || bad().to_string()
                placeholder=move || state.say(text::BY_FORMULA)
                prop:value=move || state.activations.get()
                on:input=move |event| state.activations.set(value_of(&event))
            />
            <p class="help" id="activations-help">{move || state.say(text::ACTIVATIONS_HELP)}</p>
            <div id="activations-problem" aria-live="polite">
                {move || bad().then(|| view! { <p class="problem">{state.say(text::NOT_A_SIZE)}</p> })}
            </div>
        </div>
    }
    .into_any()
}

fn lines(state: State) -> AnyView {
    let answer = answer(state);
    let (lang, units) = (state.lang.get(), state.units.get());
    let row = |line: &Line| {
        view! {
            <tr>
                <th scope="row">
                    <span class=format!("swatch {}", line.block.word()) aria-hidden="true"></span>
                    {state.say(words::block(line.block))}
                </th>
                <td>{line.arithmetic(units)}</td>
            </tr>
            <tr class="sum">
                <td colspan="2">{line.note.message(lang, units)}</td>
            </tr>
        }
        .into_any()
    };
    let rows: Vec<AnyView> = answer.lines.iter().map(row).collect();
    view! {
        <table class="lines">
            <tbody>
                {rows}
                <tr class="total">
                    <th scope="row">{state.say(text::SUM)}</th>
                    <td>{answer.sum(units)}</td>
                </tr>
            </tbody>
        </table>
    }
    .into_any()
}

fn cases(state: State) -> AnyView {
    let units = state.units.get();
    let Some(params) = state.config.with(|config| config.params).or(given(state).params) else {
        return state.say(article::PARAMETERS_UNKNOWN).into_any();
    };
    let each = |case: Case| {
        view! {
            <div>
                <p><b>{state.say(case.name)}</b></p>
                <p class="mono">{case.weights.arithmetic(units)}</p>
                <p class="help">{state.say(case.why)}</p>
            </div>
        }
        .into_any()
    };
    sixteen_bit(params).map(each).into_iter().collect::<Vec<_>>().into_any()
}

/// The four blocks side by side, and what “loaded in FP16” can mean.
pub(super) fn figure(state: State) -> AnyView {
    let part = move |line: &Line| {
        let label = state.say(words::block(line.block));
        view! {
            <div class=format!("swatch {}", line.block.word()) style:flex-grow=line.bytes.to_string()>
                <span>{label} <span>{size(line.bytes, state.units.get())}</span></span>
            </div>
        }
        .into_any()
    };
    let parts =
        move || answer(state).lines.iter().filter(|line| line.bytes > 0).map(part).collect::<Vec<_>>();
    let in_words =
        move || format!("{}{}", state.say(text::FOUR_LINES_ARE), answer(state).sum(state.units.get()));
    let detailed = move |_| address::show(state, View::Detailed);
    view! {
        <div id="figure" class="stack" role="img" aria-label=in_words>{parts}</div>
        <section>
            <h2>{move || state.say(text::FOUR_LINES)}</h2>
            <p class="help">{move || state.say(article::FORMULA)}</p>
            {move || lines(state)}
        </section>
        {problems::view(state)}
        <section>
            <h2>{move || state.say(article::CASES)}</h2>
            <div class="cases">{move || cases(state)}</div>
        </section>
        <p><button type="button" on:click=detailed>{move || state.say(text::TO_DETAILED)}</button></p>
    }
    .into_any()
}
