//! The table of every tensor, by block; each row unfolds to how its size comes about.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;

use super::State;
use super::el::{El, View, all, el, follow, none, part, words};
use super::state::Answer;
use crate::ledger::{Block, Entry};
use crate::text::{Text, app as text, ledger as names};
use crate::timeline::Phase;
use crate::units::{size, thousands};

/// What the rows of a block are sorted by.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Bytes,
    AtPeak,
    Name,
}

/// How the table stands: what it is sorted by, whether the other way round, and the names of the rows that are open.
#[derive(Clone, Copy)]
struct Table {
    state: State,
    sort: RwSignal<(Sort, bool)>,
    open: RwSignal<Vec<String>>,
}

/// The table.
pub(super) fn view(state: State) -> View {
    let table = Table { state, sort: RwSignal::new((Sort::Bytes, false)), open: RwSignal::default() };
    let answer = after_the_frame(state);
    let body = part(move || {
        answer.get().map_or_else(none, |answer| all(Block::ALL.map(|block| section(table, &answer, block))))
    });
    let caption = el("caption").attr("id", "ledger-caption").say(state, text::LEDGER).text(" ");
    let caption = caption.child(el("span").say(state, text::LEDGER_HELP));
    let column = |class: &str| el("th").attr("scope", "col").attr("class", class);
    let head = el("tr")
        .child(heading(table, Sort::Name, text::TENSOR, column("")))
        .child(column("wide").say(state, text::SHAPE_COLUMN))
        .child(column("wide").text("dtype"))
        .child(column("num wide").say(state, text::COUNT))
        .child(heading(table, Sort::Bytes, text::SIZE, column("num")))
        .child(heading(table, Sort::AtPeak, text::AT_PEAK, column("num")));
    let content = el("table").child(caption).child(el("thead").child(head)).child(body);
    el("section")
        .attr("id", "ledger")
        .attr("class", "scroll")
        .attr("tabindex", "0")
        .attr("aria-labelledby", "ledger-caption")
        .child(content)
        .into()
}

/// The answer, one frame late: the headline and the figure that somebody looks at while typing need not wait for some
/// hundred rows.
fn after_the_frame(state: State) -> RwSignal<Option<Arc<Answer>>> {
    let now = move || state.outcome.with_untracked(|outcome| outcome.answer.clone());
    let answer = RwSignal::new(now());
    let waits = StoredValue::new(false);
    follow(Box::new(move || {
        state.outcome.track();
        if waits.try_update_value(|waits| std::mem::replace(waits, true)) == Some(false) {
            request_animation_frame(move || {
                let show = move || {
                    waits.set_value(false);
                    let now = now();
                    if answer.try_get_untracked().is_some_and(|before| before != now) {
                        answer.set(now);
                    }
                };
                set_timeout(show, Duration::ZERO);
            });
        }
    }));
    answer
}

fn heading(table: Table, by: Sort, name: Text, column: El) -> El {
    let Table { state, sort, .. } = table;
    let order = move || {
        let (now, flipped) = sort.get();
        // Names go up first, sizes down.
        (now == by).then_some(if flipped == (by == Sort::Name) { "descending" } else { "ascending" })
    };
    let arrow = words(move || {
        match order() {
            Some("ascending") => " ↑",
            Some(_) => " ↓",
            None => "",
        }
        .to_owned()
    });
    let button = el("button")
        .attr("type", "button")
        .on_here("click", move |_| {
            sort.update(|(now, flipped)| (*now, *flipped) = (by, *now == by && !*flipped));
        })
        .say(state, name)
        .child(el("span").attr("aria-hidden", "true").child(arrow));
    column.maybe("aria-sort", move || order().map(str::to_owned)).child(button)
}

fn section(table: Table, answer: &Arc<Answer>, block: Block) -> View {
    let Table { state, sort, .. } = table;
    let units = state.units();
    let estimate = &answer.estimate;
    let mut rows: Vec<&Entry> = estimate.ledger.iter().filter(|entry| entry.block == block).collect();
    if rows.is_empty() {
        return none();
    }
    let (by, flipped) = sort.get();
    rows.sort_by(|a, b| match by {
        Sort::Bytes => b.bytes.cmp(&a.bytes),
        Sort::AtPeak => b.at_peak.cmp(&a.at_peak),
        Sort::Name => a.name().cmp(&b.name()),
    });
    if flipped {
        rows.reverse();
    }
    let swatch = el("span").attr("class", &format!("swatch {}", block.word())).attr("aria-hidden", "true");
    let name = el("th").attr("scope", "rowgroup").child(swatch).text(state.say(names::block(block)));
    let wide = || el("td").attr("class", "wide");
    let sum = |bytes| el("th").attr("class", "num").text(&size(bytes, units));
    let head = el("tr")
        .child(name)
        .child(wide())
        .child(wide())
        .child(wide())
        .child(sum(estimate.block(block)))
        .child(sum(estimate.peak.blocks.get(block)));
    let rows: Vec<View> = rows.into_iter().map(|entry| row(table, answer, entry)).collect();
    el("tbody").child(head).child(rows).into()
}

fn row(table: Table, answer: &Arc<Answer>, entry: &Entry) -> View {
    let Table { state, open, .. } = table;
    let units = state.units();
    let name = entry.name();
    let is_open = {
        let name = name.clone();
        move || open.with(|open| open.contains(&name))
    };
    let toggle = {
        let name = name.clone();
        move |_| {
            open.update(|open| match open.iter().position(|other| *other == name) {
                Some(at) => drop(open.remove(at)),
                None => open.push(name.clone()),
            });
        }
    };
    let more = {
        let (is_open, answer, entry) = (is_open.clone(), answer.clone(), entry.clone());
        part(move || if is_open() { unfolded(state, &answer, &entry) } else { none() })
    };
    let button = el("button")
        .attr("type", "button")
        .live("aria-expanded", move || is_open().to_string())
        .on_here("click", toggle)
        .child(el("code").text(&name))
        .text(" ")
        .child(el("span").attr("class", "muted").text(state.say(entry.tensor.name)));
    let cell = |class: &str, content: &str| el("td").attr("class", class).text(content);
    let cells = el("tr")
        .child(el("td").child(button))
        .child(cell("wide mono", &entry.shape.to_string()))
        .child(cell("wide", entry.dtype.word()))
        .child(cell("num wide", &entry.count.to_string()))
        .child(cell("num", &size(entry.bytes, units)))
        .child(cell(if entry.at_peak == 0 { "num off" } else { "num" }, &size(entry.at_peak, units)));
    all([cells.into(), more])
}

/// Formula, the reader's numbers, why, what would release it, when, and the source.
fn unfolded(state: State, answer: &Answer, entry: &Entry) -> View {
    let numbers = format!("{} = {} B", entry.values(&answer.estimate.symbols), thousands(entry.bytes));
    let life = match (entry.from, entry.until) {
        (Phase::Always, Phase::Always) => state.say(text::ALWAYS).to_owned(),
        (from, until) => text::FROM_UNTIL.fill(
            state.lang(),
            &[("from", &state.say(names::phase(from))), ("until", &state.say(names::phase(until)))],
        ),
    };
    let source = entry.tensor.source();
    let source = if source.starts_with("https://") {
        el("a").attr("href", source).attr("target", "_blank").attr("rel", "noopener").text(source)
    } else {
        el("span").text(source)
    };
    let code = |words: &str| el("code").text(words);
    let plain = |words: &str| el("span").text(words);
    let mut list = el("dl");
    for (name, value) in [
        (text::FORMULA, code(&entry.formula())),
        (text::NUMBERS, code(&numbers)),
        (text::WHY, plain(state.say(entry.tensor.why()))),
        (text::RELEASE, plain(state.say(entry.tensor.release()))),
        (text::LIFE, plain(&life)),
        (text::SOURCE, source),
    ] {
        list = list.child(el("dt").text(state.say(name))).child(el("dd").child(value));
    }
    el("tr").attr("class", "more").child(el("td").attr("colspan", "6").child(list)).into()
}
