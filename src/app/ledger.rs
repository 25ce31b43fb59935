//! The table of every tensor, by block; each row unfolds to how its size comes about.

use std::cmp::Reverse;
use std::sync::Arc;

use leptos::prelude::*;

use super::State;
use super::state::Answer;
use crate::ledger::{Block, Entry};
use crate::text::{Text, app as text, ledger as words};
use crate::timeline::Phase;
use crate::units::{size, thousands};

/// What the rows of a block are sorted by.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Bytes,
    AtPeak,
    Name,
}

/// Sort, whether the other way round, and the row that stands open.
#[derive(Clone, Copy)]
struct Table {
    state: State,
    sort: RwSignal<(Sort, bool)>,
    open: RwSignal<Vec<String>>,
}

/// The table.
pub(super) fn view(state: State) -> AnyView {
    let table = Table { state, sort: RwSignal::new((Sort::Bytes, false)), open: RwSignal::default() };
    let body = move || {
        let answer = state.outcome.with(|outcome| outcome.answer.clone());
        answer.map(|answer| {
            Block::ALL.map(|block| section(table, &answer, block)).into_iter().collect::<Vec<_>>()
        })
    };
    view! {
        <section id="ledger" class="scroll" tabindex="0" aria-labelledby="ledger-caption">
            <table>
                <caption id="ledger-caption">
                    {move || state.say(text::LEDGER)} " " <span>{move || state.say(text::LEDGER_HELP)}</span>
                </caption>
                <thead>
                    <tr>
                        {heading(table, Sort::Name, text::TENSOR, "")}
                        <th scope="col" class="wide">{move || state.say(text::SHAPE_COLUMN)}</th>
                        <th scope="col" class="wide">"dtype"</th>
                        <th scope="col" class="num wide">{move || state.say(text::COUNT)}</th>
                        {heading(table, Sort::Bytes, text::SIZE, "num")}
                        {heading(table, Sort::AtPeak, text::AT_PEAK, "num")}
                    </tr>
                </thead>
                {body}
            </table>
        </section>
    }
    .into_any()
}

fn heading(table: Table, by: Sort, name: Text, class: &'static str) -> AnyView {
    let Table { state, sort, .. } = table;
    let turn = move |_| sort.update(|(now, flipped)| (*now, *flipped) = (by, *now == by && !*flipped));
    let order = move || {
        let (now, flipped) = sort.get();
        // Names go up first, sizes down.
        (now == by).then(|| if flipped == (by == Sort::Name) { "descending" } else { "ascending" }).map(
            |order| {
                if by == Sort::Name {
                    order
                } else if order == "ascending" {
                    "ascending"
                } else {
                    "descending"
                }
            },
        )
    };
    let arrow = move || match order() {
        Some("ascending") => " ↑",
        Some(_) => " ↓",
        None => "",
    };
    view! {
        <th scope="col" class=class aria-sort=order>
            <button type="button" on:click=turn>{move || state.say(name)}<span aria-hidden="true">{arrow}</span></button>
        </th>
    }
    .into_any()
}

fn section(table: Table, answer: &Arc<Answer>, block: Block) -> AnyView {
    let Table { state, sort, .. } = table;
    let units = state.units.get();
    let estimate = &answer.estimate;
    let mut rows: Vec<&Entry> = estimate.ledger.iter().filter(|entry| entry.block == block).collect();
    if rows.is_empty() {
        return ().into_any();
    }
    let (by, flipped) = sort.get();
    match by {
        Sort::Bytes => rows.sort_by_key(|entry| Reverse(entry.bytes)),
        Sort::AtPeak => rows.sort_by_key(|entry| Reverse(entry.at_peak)),
        Sort::Name => rows.sort_by_key(|entry| entry.name()),
    }
    if flipped {
        rows.reverse();
    }
    let rows: Vec<AnyView> = rows.into_iter().map(|entry| row(table, answer, entry)).collect();
    view! {
        <tbody>
            <tr>
                <th scope="rowgroup">
                    <span class=format!("swatch {}", block.word()) aria-hidden="true"></span>
                    {state.say(words::block(block))}
                </th>
                <td class="wide"></td>
                <td class="wide"></td>
                <td class="wide"></td>
                <th class="num">{size(estimate.block(block), units)}</th>
                <th class="num">{size(estimate.peak.blocks.get(block), units)}</th>
            </tr>
            {rows}
        </tbody>
    }
    .into_any()
}

fn row(table: Table, answer: &Arc<Answer>, entry: &Entry) -> AnyView {
    let Table { state, open, .. } = table;
    let units = state.units.get();
    let name = entry.name();
    let is_open = open.with(|open| open.contains(&name));
    let more = is_open.then(|| unfolded(state, answer, entry));
    let toggle = {
        let name = name.clone();
        move |_| {
            open.update(|open| {
                if open.contains(&name) {
                    open.retain(|other| *other != name);
                } else {
                    open.push(name.clone());
                }
            });
        }
    };
    let off = if entry.at_peak == 0 { "num off" } else { "num" };
    view! {
        <tr>
            <td>
                <button type="button" aria-expanded=is_open.to_string() on:click=toggle>
                    <code>{name}</code> " " <span class="muted">{state.say(entry.tensor.name)}</span>
                </button>
            </td>
            <td class="wide mono">{entry.shape.to_string()}</td>
            <td class="wide">{entry.dtype.word()}</td>
            <td class="num wide">{entry.count}</td>
            <td class="num">{size(entry.bytes, units)}</td>
            <td class=off>{size(entry.at_peak, units)}</td>
        </tr>
        {more}
    }
    .into_any()
}

/// Formula, the reader's numbers, why, what would release it, when, and the source.
fn unfolded(state: State, answer: &Arc<Answer>, entry: &Entry) -> AnyView {
    let pair = |name: Text, value: AnyView| view! { <dt>{state.say(name)}</dt> <dd>{value}</dd> }.into_any();
    let words_of = |words: Text| state.say(words).into_any();
    let code = |words: String| view! { <code>{words}</code> }.into_any();
    let numbers = format!("{} = {} B", entry.values(&answer.estimate.symbols), thousands(entry.bytes));
    let life = match (entry.from, entry.until) {
        (Phase::Always, Phase::Always) => state.say(text::ALWAYS).to_owned(),
        (from, until) => text::FROM_UNTIL.fill(
            state.lang.get(),
            &[("from", &state.say(words::phase(from))), ("until", &state.say(words::phase(until)))],
        ),
    };
    let source = entry.tensor.source;
    let source = if source.starts_with("https://") {
        view! { <a href=source target="_blank" rel="noopener">{source}</a> }.into_any()
    } else {
        source.into_any()
    };
    let mut lines = vec![
        pair(text::FORMULA, code(entry.formula())),
        pair(text::NUMBERS, code(numbers)),
        pair(text::WHY, words_of(entry.tensor.why)),
    ];
    if !state.say(entry.tensor.release).is_empty() {
        lines.push(pair(text::RELEASE, words_of(entry.tensor.release)));
    }
    lines.push(pair(text::LIFE, life.into_any()));
    lines.push(pair(text::SOURCE, source));
    view! {
        <tr class="more">
            <td colspan="6"><dl>{lines}</dl></td>
        </tr>
    }
    .into_any()
}
