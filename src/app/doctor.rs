//! What to change: found beside the page, applied and undone with one click each.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use serde_json::Value;

use super::State;
use super::compare;
use super::el::{El, View, all, el, follow, none, part};
use super::later::{self, Asked, Told};
use super::{address, rest, state::Answer};
use crate::config::Key;
use crate::estimate::Verdict;
use crate::jobs::Request;
use crate::text::{Text, doctor as text, ledger as words};
use crate::units::{signed_size, size};

/// What was found is asked for anew this long after the last change: typing is one change.
const QUIET: Duration = Duration::from_millis(350);
/// The first time: what somebody looks at first is there by then, and the second half of the program as well.
const LATER: Duration = Duration::from_millis(2500);
/// Single changes that are shown at once.
const SHOWN: usize = 6;

/// Keys with the values that they had before, and what was done to them.
#[derive(Clone)]
struct Applied {
    name: String,
    before: Vec<(Key, String)>,
}

#[derive(Clone, Copy)]
struct Doctor {
    state: State,
    /// What was found, as JSON; of an earlier configuration while `asks`.
    found: RwSignal<Option<Arc<Value>>>,
    asks: RwSignal<bool>,
    applied: RwSignal<Vec<Applied>>,
}

/// The panel.
pub(super) fn view(state: State) -> View {
    let doctor =
        Doctor { state, found: RwSignal::new(None), asks: RwSignal::new(true), applied: RwSignal::default() };
    doctor.ask();
    el("section")
        .attr("id", "doctor")
        .attr("class", "doctor")
        .attr("aria-labelledby", "doctor-heading")
        .live("aria-busy", move || doctor.asks.get().to_string())
        .child(el("h2").attr("id", "doctor-heading").say(state, text::TITLE))
        .child(el("div").attr("aria-live", "polite").child(part(move || doctor.undo())))
        .child(part(move || doctor.body()))
        .child(compare::view(state))
        .into()
}

impl Doctor {
    /// Asks whenever the answer changes. What was asked before is dropped, and with it cancelled.
    fn ask(self) {
        let Self { state, found, asks, .. } = self;
        let asked = StoredValue::new_local(None::<Asked>);
        let turn = StoredValue::new(0_u32);
        follow(Box::new(move || {
            let (lang, units) = (state.lang(), state.units());
            let Some(answer) = state.outcome.with(|outcome| outcome.answer.clone()) else { return };
            let _ = asked.try_set_value(None);
            asks.set(true);
            let mine = turn.try_update_value(|turn| {
                *turn = turn.wrapping_add(1);
                *turn
            });
            let wait = if found.with_untracked(Option::is_none) { LATER } else { QUIET };
            let begin = move || {
                // A later change, or the panel is gone.
                if mine.is_none() || turn.try_get_value() != mine {
                    return;
                }
                let Answer { config, .. } = &*answer;
                let request = Request::Advice { lang, units, link: address::query(config) };
                let hear = move |told| {
                    let (said, over) = match told {
                        Told::Progress(said) => (said, false),
                        Told::Done(said) => (said, true),
                        Told::Failed => (String::new(), true),
                    };
                    if let Ok(value) = serde_json::from_str(&said) {
                        let _ = found.try_set(Some(Arc::new(value)));
                    }
                    if over {
                        let _ = asks.try_set(false);
                    }
                };
                let _ = asked.try_set_value(Some(later::ask(&request, hear)));
            };
            set_timeout(move || rest::quietly(Box::new(begin)), wait);
        }));
    }

    fn body(self) -> View {
        let state = self.state;
        let Some(found) = self.found.get() else {
            return el("p").attr("class", "help").say(state, text::ASKING).into();
        };
        if let Some(error) = found["error"].as_str() {
            return el("p").attr("class", "problem").text(error).into();
        }
        let changes = list(&found["changes"]);
        let (first, rest) = changes.split_at(changes.len().min(SHOWN));
        let ranked = |found: &[Value]| {
            let items: Vec<View> = found.iter().map(|found| self.prescription(found)).collect();
            el("ol").child(items)
        };
        let mut singles = vec![heading(state, text::SINGLES), ranked(first).into()];
        if !rest.is_empty() {
            let more = text::MORE.fill(state.lang(), &[("count", &rest.len())]);
            singles.push(unfolding(el("summary").text(&more)).child(ranked(rest)).into());
        }
        let pairs = list(&found["pairs"]);
        if !pairs.is_empty() {
            singles.push(unfolding(el("summary").say(state, text::PAIRS)).child(ranked(pairs)).into());
        }
        all([
            self.cheapest(&found),
            if changes.is_empty() { none() } else { View::from(singles) },
            self.useless(list(&found["useless"])),
            self.largest(list(&found["largest"])),
            self.fewest(list(&found["fewest"])),
        ])
    }

    fn cheapest(self, found: &Value) -> View {
        let state = self.state;
        if found["fits"]["verdict"] == "yes" {
            return el("p").attr("class", "help").say(state, text::FITS_NOW).into();
        }
        let (sure, tight) = (&found["cheapest"]["yes"], &found["cheapest"]["tight"]);
        let mut sets: Vec<&Value> = [tight, sure].into_iter().filter(|set| set.is_object()).collect();
        sets.dedup();
        let items: Vec<View> = sets.into_iter().map(|set| self.prescription(set)).collect();
        if items.is_empty() {
            let most = crate::doctor::MOST_CHANGES;
            return el("p").text(&text::NOTHING_FITS.fill(state.lang(), &[("most", &most)])).into();
        }
        all([heading(state, text::CHEAPEST), el("ol").attr("class", "cheapest").child(items).into()])
    }

    /// What is saved, by what, at which price, and the button.
    fn prescription(self, found: &Value) -> View {
        let state = self.state;
        let units = state.units();
        let names: Vec<&str> =
            list(&found["changes"]).iter().filter_map(|change| change["name"].as_str()).collect();
        let name = names.join(text::AND.get(state.lang()));
        let saved = found["saved"].as_i64().unwrap_or_default().saturating_neg();
        let (word, then) = verdict(&found["fits"]);
        let spare = found["fits"]["spare"].as_i64().unwrap_or_default();
        let left = size(spare.unsigned_abs(), units);
        let (sentence, place) =
            if spare < 0 { (text::THEN_MISSING, "missing") } else { (text::THEN_SPARE, "spare") };
        let then = sentence.fill(state.lang(), &[("then", &state.say(then)), (place, &left)]);
        let head = el("p")
            .child(el("b").text(&signed_size(saved, units)))
            .text(" ")
            .text(&name)
            .child(el("span").attr("class", &format!("then {word}")).text(&then));
        el("li")
            .child(self.button(name, settings(&found["settings"]), text::APPLY))
            .child(head)
            .child(el("p").attr("class", "help").text(found["price"].as_str().unwrap_or_default()))
            .into()
    }

    /// Popular changes that save nothing, and why.
    fn useless(self, found: &[Value]) -> View {
        if found.is_empty() {
            return none();
        }
        let item = |found: &Value| {
            let said = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
            let name = el("p").text(&said("name"));
            el("li").child(name).child(el("p").attr("class", "help").text(&said("reason"))).into()
        };
        let items: Vec<View> = found.iter().map(item).collect();
        all([heading(self.state, text::USELESS), el("ul").attr("class", "useless").child(items).into()])
    }

    /// The largest values that fit, each a button.
    fn largest(self, found: &[Value]) -> View {
        let state = self.state;
        let button = |found: &Value| {
            let key = Key::parse(found["key"].as_str()?)?;
            let value = found["yes"].as_u64().or_else(|| found["tight"].as_u64())?;
            let name = state.say(crate::text::config::label(key));
            let shown = format!("{name}: {}", key_value(key, value));
            let tight = found["yes"].as_u64().is_none();
            let shown = if tight {
                format!("{shown} ({})", state.say(words::verdict(Verdict::Tight)))
            } else {
                shown
            };
            let settings = vec![(key, value.to_string())];
            Some(self.button(shown.clone(), settings, Text::same("")).text(&shown).into())
        };
        let buttons: Vec<View> = found.iter().filter_map(button).collect();
        if buttons.is_empty() {
            return none();
        }
        all([heading(state, text::LARGEST_VALUES), el("div").attr("class", "row").child(buttons).into()])
    }

    /// How many of each card, the chosen one first.
    fn fewest(self, found: &[Value]) -> View {
        let state = self.state;
        if found.is_empty() {
            return none();
        }
        let row = |need: &Value| {
            let gpu = need["fits"]["gpu"].as_str()?;
            let card = crate::config::gpu(gpu)?;
            let count = need["gpus"].as_u64()?;
            let layout = settings(&need["settings"]);
            let keys: Vec<String> =
                layout.iter().map(|(key, value)| format!("{}={value}", key.word())).collect();
            let name = format!("{count} × {}", card.name);
            let cards =
                [(Key::Gpu, gpu.to_owned()), (Key::GpuMemory, String::new()), (Key::Gpus, count.to_string())];
            let settings = cards.into_iter().chain(layout).collect();
            let row = el("tr")
                .child(el("td").attr("class", "num").text(&count.to_string()))
                .child(el("td").text(card.name).text(" ").child(muted(&size(card.usable(), state.units()))))
                .child(el("td").child(el("code").text(&keys.join("&"))))
                .child(el("td").child(self.button(name, settings, text::APPLY)));
            Some(row.into())
        };
        let rows: Vec<View> = found.iter().filter_map(row).collect();
        let column = |name: Text| el("th").attr("scope", "col").say(state, name);
        let head = el("tr").child(column(text::COUNT)).child(column(text::GPU)).child(column(text::LAYOUT));
        let table = el("table").child(el("thead").child(head.child(el("td")))).child(el("tbody").child(rows));
        let table = el("div").attr("class", "scroll").attr("tabindex", "0").child(table);
        unfolding(el("summary").say(state, text::FEWEST)).child(table).into()
    }

    /// A button that sets keys; it says what it does also to those who hear it alone.
    fn button(self, name: String, settings: Vec<(Key, String)>, said: Text) -> El {
        let keys: Vec<String> =
            settings.iter().map(|(key, value)| format!("{}={value}", key.word())).collect();
        let button = el("button").attr("type", "button").attr("data-apply", &keys.join("&"));
        let label = text::APPLY_THIS.fill(self.state.lang(), &[("name", &name)]);
        let button = button.attr("aria-label", &label).text(said.get(self.state.lang()));
        button.on_here("click", move |_| self.apply(&name, &settings))
    }

    fn apply(self, name: &str, settings: &[(Key, String)]) {
        let before = self.state.config.with_untracked(|config| {
            settings.iter().map(|(key, _)| (*key, config.get(key.word()))).collect()
        });
        self.applied.update(|applied| applied.push(Applied { name: name.to_owned(), before }));
        self.set(settings);
    }

    fn set(self, settings: &[(Key, String)]) {
        self.state.change(|config| {
            for (key, value) in settings {
                // The doctor's own values, and those that stood there, are accepted.
                let _ = config.set(key.word(), value);
            }
        });
    }

    /// What was applied last, and the way back.
    fn undo(self) -> View {
        let state = self.state;
        let Some(last) = self.applied.with(|applied| applied.last().cloned()) else { return none() };
        let undo = move |_| {
            let mut last = None;
            self.applied.update(|applied| last = applied.pop());
            if let Some(Applied { before, .. }) = last {
                self.set(&before);
            }
        };
        let button = el("button")
            .attr("type", "button")
            .attr("data-action", "undo-advice")
            .on_here("click", undo)
            .say(state, text::UNDO);
        let said = text::APPLIED.fill(state.lang(), &[("name", &last.name)]);
        el("p").attr("class", "row").child(button).child(el("span").text(&said)).into()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn settings(value: &Value) -> Vec<(Key, String)> {
    let pairs = value.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((Key::parse(key)?, value.as_str()?.to_owned()))).collect()
}

fn verdict(fits: &Value) -> (&'static str, Text) {
    let (word, verdict) = match fits["verdict"].as_str() {
        Some("yes") => ("yes", Verdict::Yes),
        Some("tight") => ("tight", Verdict::Tight),
        _ => ("no", Verdict::No),
    };
    (word, words::verdict(verdict))
}

/// A number as people write the key's values.
fn key_value(key: Key, value: u64) -> String {
    if key == Key::Seq && value.is_multiple_of(1 << 10) {
        format!("{}k", value >> 10)
    } else {
        value.to_string()
    }
}

fn heading(state: State, heading: Text) -> View {
    el("h3").say(state, heading).into()
}

fn muted(words: &str) -> El {
    el("span").attr("class", "muted").text(words)
}

fn unfolding(summary: El) -> El {
    el("details").child(summary)
}
