//! Another configuration beside this one, tensor by tensor.

use leptos::prelude::*;
use serde_json::Value;

use super::State;
use super::address;
use super::browser::value_of;
use super::el::{View, all, el, none, part};
use super::later::{self, Asked, Told};
use crate::jobs::Request;
use crate::ledger::Block;
use crate::text::{app, doctor as text, ledger as words};
use crate::units::{signed_size, size};

/// Rows that are shown.
const ROWS: usize = 20;

/// The field for the other link, and the difference.
pub(super) fn view(state: State) -> View {
    let pasted = RwSignal::new(String::new());
    let found = RwSignal::new(None::<Value>);
    let asked = StoredValue::new_local(None::<Asked>);
    let compare = move || {
        let before = state.config.with_untracked(address::query);
        let request =
            Request::Compare { lang: untrack(|| state.lang()), before, after: pasted.get_untracked() };
        let hear = move |told| match told {
            Told::Done(said) => drop(found.try_set(serde_json::from_str(&said).ok())),
            Told::Failed => state.toast.set(Some((app::FAILED, None))),
            Told::Progress(_) => {}
        };
        let _ = asked.try_set_value(Some(later::ask(&request, hear)));
    };
    let field = el("input")
        .attr("type", "text")
        .attr("id", "compare-with")
        .attr("spellcheck", "false")
        .attr("placeholder", "model=llama-3.1-8b&recompute=full")
        .on("input", move |event| pasted.set(value_of(&event)))
        .on_here("change", move |_| compare());
    let button = el("button")
        .attr("type", "button")
        .attr("data-action", "compare")
        .on_here("click", move |_| compare())
        .say(state, text::COMPARE);
    let label = el("label").attr("class", "help").attr("for", "compare-with").say(state, text::COMPARE_WITH);
    let result =
        part(move || found.with(|found| found.as_ref().map_or_else(none, |found| result(state, found))));
    el("details")
        .attr("id", "compare")
        .child(el("summary").say(state, text::COMPARE_HEADING))
        .child(label)
        .child(el("div").attr("class", "row").child(field).child(button))
        .child(el("div").attr("aria-live", "polite").child(result))
        .into()
}

fn result(state: State, found: &Value) -> View {
    if let Some(error) = found["error"].as_str() {
        return el("p").attr("class", "problem").text(error).into();
    }
    let units = state.units();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let line = |name: View, before: u64, after: u64, difference: &Value| {
        let difference = difference.as_i64().unwrap_or_default();
        let sign = if difference > 0 { "+" } else { "" };
        let cell = |shown: &str| el("td").attr("class", "num").text(shown);
        el("tr")
            .child(el("td").child(name))
            .child(cell(&size(before, units)))
            .child(cell(&size(after, units)))
            .child(cell(&format!("{sign}{}", signed_size(difference, units))))
            .into()
    };
    let named = |row: &Value| {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        let block = Block::ALL.into_iter().find(|block| block.word() == word("block"));
        let block = block.map_or("", |block| state.say(words::block(block)));
        let code = el("code").text(word("name")).into();
        all([code, el("span").attr("class", "muted").text(" ").text(block).into()])
    };
    let rows = found["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let peak = el("b").text(state.say(text::PEAK)).into();
    let (before, after) = (number(&found["before"]["peak"]), number(&found["after"]["peak"]));
    let mut lines: Vec<View> = vec![line(peak, before, after, &found["difference"])];
    lines.extend(
        rows.iter()
            .take(ROWS)
            .map(|row| line(named(row), number(&row["before"]), number(&row["after"]), &row["difference"])),
    );
    if rows.len() > ROWS {
        let more = text::MORE_ROWS.fill(state.lang(), &[("count", &(rows.len() - ROWS))]);
        lines.push(el("tr").child(el("td").attr("colspan", "4").text(&more)).into());
    }
    let column = |name| el("th").attr("scope", "col").attr("class", "num").say(state, name);
    let head = el("tr")
        .child(el("th").attr("scope", "col").say(state, app::TENSOR))
        .child(column(text::THIS))
        .child(column(text::OTHER))
        .child(column(text::DIFFERENCE));
    let table = el("table").child(el("thead").child(head)).child(el("tbody").child(lines));
    all([
        keys(state, &found["keys"]),
        el("div").attr("class", "scroll").attr("tabindex", "0").child(table).into(),
    ])
}

/// The keys that differ: `batch: 1 → 2`.
fn keys(state: State, keys: &Value) -> View {
    let shown = |value: &Value| match value.as_str().unwrap_or_default() {
        "" => state.say(text::DEFAULT).to_owned(),
        value => value.to_owned(),
    };
    let item = |(key, values): (&String, &Value)| {
        let change = format!("{key}: {} → {}", shown(&values["before"]), shown(&values["after"]));
        el("li").child(el("code").text(&change)).into()
    };
    let items: Vec<View> = keys.as_object().into_iter().flatten().map(item).collect();
    el("ul").attr("class", "found").child(items).into()
}
