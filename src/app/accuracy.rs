//! How right is it? The errors on published measurements, fetched when somebody asks.

use leptos::prelude::*;
use serde_json::Value;

use super::State;
use super::browser;
use super::el::{El, View, el, none, part};
use crate::text::accuracy as text;
use crate::units::size;

/// Cases that are shown at once; the rest is unfolded by one click.
const SHOWN: usize = 12;

/// What was fetched.
#[derive(Clone, PartialEq)]
enum Table {
    Closed,
    Waiting,
    Here(Value),
    Failed,
}

/// The section at the page's foot.
pub(super) fn view(state: State) -> View {
    let table = RwSignal::new(Table::Closed);
    let opened = move |event: web_sys::Event| {
        if !browser::is(&event, "open") || !matches!(table.get_untracked(), Table::Closed | Table::Failed) {
            return;
        }
        table.set(Table::Waiting);
        browser::fetch("accuracy.json", move |answer| {
            let read = answer.ok().and_then(|json| serde_json::from_str(&json).ok());
            table.set(read.map_or(Table::Failed, Table::Here));
        });
    };
    let body = part(move || match table.get() {
        Table::Closed => none(),
        Table::Waiting => el("p").attr("class", "help").say(state, text::WAITING).into(),
        Table::Failed => el("p").attr("class", "problem").say(state, text::FAILED).into(),
        Table::Here(found) => found_errors(state, &found),
    });
    el("details")
        .attr("id", "accuracy")
        .attr("class", "accuracy")
        .on_here("toggle", opened)
        .child(el("summary").child(el("h2").say(state, text::TITLE)))
        .child(el("div").attr("aria-live", "polite").child(body))
        .into()
}

fn found_errors(state: State, found: &Value) -> View {
    let whole = found["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let all = RwSignal::new(false);
    let cases: Vec<Value> = whole.to_vec();
    let listed = part(move || {
        let shown = if all.get() { cases.len() } else { SHOWN };
        let rows = cases.iter().take(shown).map(|case| case_row(state, case));
        let table = table(state, &text::CASE_COLUMNS, rows);
        let more = cases.len() > shown;
        let more = more.then(|| {
            let said = text::ALL.fill(state.lang(), &[("count", &cases.len())]);
            el("button").attr("type", "button").on_here("click", move |_| all.set(true)).text(&said)
        });
        let holder = el("div").child(table);
        match more {
            Some(more) => holder.child(more).into(),
            None => holder.into(),
        }
    });
    let groups = found["groups"].as_array().map_or(&[][..], Vec::as_slice);
    let groups = table(state, &text::GROUP_COLUMNS, groups.iter().map(|group| group_row(state, group)));
    el("div")
        .child(el("p").attr("class", "help").say(state, text::INTRODUCTION))
        .child(groups)
        .child(el("h3").say(state, text::WORST))
        .child(listed)
        .into()
}

fn table(state: State, columns: &[crate::text::Text], rows: impl Iterator<Item = El>) -> View {
    let head =
        columns.iter().fold(el("tr"), |row, name| row.child(el("th").attr("scope", "col").say(state, *name)));
    let body = rows.fold(el("tbody"), El::child);
    let table = el("table").child(el("thead").child(head)).child(body);
    el("div").attr("class", "scroll").attr("tabindex", "0").child(table).into()
}

/// A word in the reader's language.
fn word(state: State, both: &Value) -> String {
    let lang = if state.lang() == crate::text::Lang::Zh { "zh" } else { "en" };
    both[lang].as_str().unwrap_or_default().to_owned()
}

fn share(value: &Value, signed: bool) -> String {
    let percent = 100.0 * value.as_f64().unwrap_or(0.0);
    if signed { format!("{percent:+.1} %") } else { format!("{percent:.1} %") }
}

fn cells<const N: usize>(cells: &[String; N]) -> El {
    cells.iter().fold(el("tr"), |row, cell| row.child(el("td").text(cell)))
}

fn group_row(state: State, group: &Value) -> El {
    cells(&[
        word(state, &group["regime"]),
        word(state, &group["figure"]),
        group["cases"].to_string(),
        share(&group["median"], true),
        share(&group["typical"], false),
        share(&group["ninth"], false),
        share(&group["near"], false),
    ])
}

fn case_row(state: State, case: &Value) -> El {
    let units = state.units();
    let bytes = |key: &str| size(case[key].as_u64().unwrap_or(0), units);
    let link = el("a")
        .attr("href", case["url"].as_str().unwrap_or_default())
        .attr("rel", "noopener")
        .text(case["source"].as_str().unwrap_or_default());
    cells(&[
        share(&case["error"], true),
        word(state, &case["regime"]),
        word(state, &case["figure"]),
        bytes("measured"),
        bytes("estimated"),
        word(state, &case["reason"]),
    ])
    .child(el("td").child(link))
}
