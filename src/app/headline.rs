//! The answer in words, first.

use std::time::Duration;

use leptos::prelude::*;

use super::el::{View, all, el, follow, part, words};
use super::{State, embed, quick};
use crate::config::View as Shown;
use crate::estimate::Verdict;
use crate::report::headline;
use crate::text::app as text;
use crate::units::size;

/// A screen reader hears the answer once typing has paused for this long.
const PAUSE: Duration = Duration::from_millis(700);

/// What is said.
struct Said {
    answer: String,
    more: String,
    class: &'static str,
    last_good: bool,
}

/// The headline; it takes the focus from the skip button.
pub(super) fn view(state: State) -> View {
    let shown = part(move || {
        let said = say(state);
        let old = said.last_good.then(|| el("p").attr("class", "stale").text(state.say(text::STALE)).into());
        // In a frame there is no other heading above it.
        let level = if embed::wanted(state) { "h1" } else { "h2" };
        let answer = el(level).text(&said.answer).into();
        let within = all([answer, el("p").text(&said.more).into(), old.into()]);
        el("div").attr("class", said.class).child(within).into()
    });
    let section = el("section")
        .attr("id", "headline")
        .attr("class", "headline")
        .attr("tabindex", "-1")
        .label("aria-label", state, text::ANSWER)
        // Until a replay has said what is reserved, the figures may still move a little.
        .live("aria-busy", move || (!state.settled()).to_string())
        .child(shown);

    // Spoken later than shown, so that not every key is; and not at the start.
    let spoken = RwSignal::new(String::new());
    let mut timer = None::<TimeoutHandle>;
    let mut before = untrack(|| say(state).answer);
    follow(Box::new(move || {
        let answer = say(state).answer;
        if answer == before {
            return;
        }
        before.clone_from(&answer);
        if let Some(timer) = timer.take() {
            timer.clear();
        }
        timer = set_timeout_with_handle(move || spoken.set(answer), PAUSE).ok();
    }));
    let status = el("p").attr("class", "visually-hidden").attr("role", "status");
    all([section.into(), status.child(words(move || spoken.get())).into()])
}

fn say(state: State) -> Said {
    let (lang, units) = (state.lang(), state.units());
    if state.view.get() == Shown::Quick {
        let size = size(quick::answer(state).total, units);
        let answer = unbroken(&text::QUICK_HEADLINE.fill(lang, &[("size", &size)]));
        return Said { answer, more: state.say(text::QUICK_MORE).to_owned(), class: "", last_good: false };
    }
    state.outcome.with(|outcome| {
        let Some(good) = &outcome.answer else {
            let answer = state.say(text::NO_ANSWER).to_owned();
            return Said { answer, more: String::new(), class: "", last_good: false };
        };
        let words = headline(&good.config, &good.estimate, lang, units);
        let class = match good.estimate.fits.verdict {
            Verdict::Yes => "yes",
            Verdict::Tight => "tight",
            Verdict::No => "no",
        };
        let last_good = !outcome.problems.is_empty() || state.has_rejected();
        Said { answer: unbroken(&words.verdict), more: words.worst, class, last_good }
    })
}

/// A number stays on the line of its unit.
fn unbroken(sentence: &str) -> String {
    ["GiB", "GB", "MiB", "MB"]
        .iter()
        .fold(sentence.to_owned(), |out, unit| out.replace(&format!(" {unit}"), &format!("\u{a0}{unit}")))
}
