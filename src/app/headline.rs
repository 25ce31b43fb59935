//! The answer in words, first.

use std::time::Duration;

use leptos::prelude::*;

use super::{State, quick};
use crate::config::View;
use crate::estimate::Verdict;
use crate::report::headline;
use crate::text::app as text;
use crate::units::size;

/// A screen reader hears the answer once typing has paused for this long.
const PAUSE: Duration = Duration::from_millis(700);

/// The headline; it takes the focus from the skip button.
pub(super) fn view(state: State) -> AnyView {
    let said = Memo::new(move |_| {
        let (lang, units) = (state.lang.get(), state.units.get());
        if state.view.get() == View::Quick {
            let size = size(quick::answer(state).total, units);
            let rule = text::QUICK_HEADLINE.fill(lang, &[("size", &size)]);
            return Some((unbroken(&rule), state.say(text::QUICK_MORE).to_owned(), None));
        }
        state.outcome.with(|outcome| {
            let answer = outcome.answer.as_ref()?;
            let words = headline(&answer.config, &answer.estimate, lang, units);
            Some((unbroken(&words.verdict), words.worst, Some(answer.estimate.fits.verdict)))
        })
    });
    let colour = move || match said.with(|said| said.as_ref().and_then(|said| said.2)) {
        Some(Verdict::Yes) => "headline yes",
        Some(Verdict::Tight) => "headline tight",
        Some(Verdict::No) => "headline no",
        None => "headline",
    };
    let outdated = move || {
        let none = said.with(Option::is_none);
        let old = state.outcome.with(|outcome| !outcome.problems.is_empty()) || state.has_rejected();
        (old && !none).then(|| view! { <p class="stale">{state.say(text::STALE)}</p> })
    };
    let verdict = move || said.with(|said| said.as_ref().map(|said| said.0.clone()));
    let worst = move || said.with(|said| said.as_ref().map(|said| said.1.clone()));

    // Spoken later than shown, so that not every key is.
    let spoken = RwSignal::new(String::new());
    let timer = StoredValue::new(None::<TimeoutHandle>);
    Effect::watch(
        verdict,
        move |verdict, _, _| {
            if let Some(timer) = timer.get_value() {
                timer.clear();
            }
            let verdict = verdict.clone().unwrap_or_default();
            timer.set_value(set_timeout_with_handle(move || spoken.set(verdict), PAUSE).ok());
        },
        false,
    );

    view! {
        <section id="headline" class=colour tabindex="-1" aria-label=move || state.say(text::ANSWER)>
            <h2>{move || verdict().unwrap_or_else(|| state.say(text::NO_ANSWER).to_owned())}</h2>
            <p>{worst}</p>
            {outdated}
        </section>
        <p class="visually-hidden" role="status">{move || spoken.get()}</p>
    }
    .into_any()
}

/// A number stays on the line of its unit.
fn unbroken(sentence: &str) -> String {
    ["GiB", "GB", "MiB", "MB"]
        .iter()
        .fold(sentence.to_owned(), |out, unit| out.replace(&format!(" {unit}"), &format!("\u{a0}{unit}")))
}
