//! Link and embed code on the clipboard, and what the buttons say of it.

use std::time::Duration;

use leptos::prelude::*;

use super::el::{View, all, el, none, part};
use super::{State, address, browser};
use crate::text::{Text, app as text};

/// How long a message stays.
const SHOWN: Duration = Duration::from_secs(4);

/// The two buttons.
pub(super) fn buttons(state: State) -> View {
    let button = |id, name, copied: fn(State) -> String, done| {
        el("button")
            .attr("type", "button")
            .attr("id", id)
            .on_here("click", move |_| copy(state, &untrack(|| copied(state)), done))
            .say(state, name)
            .into()
    };
    all([
        button("copy-link", text::COPY_LINK, |state| state.config.with(address::link), text::LINK_COPIED),
        button("copy-embed", text::COPY_EMBED, embed_code, text::EMBED_COPIED),
    ])
}

fn embed_code(state: State) -> String {
    let (base, title) = (address::base(), state.say(text::EMBED_TITLE));
    // Attribute values: what could end one is escaped.
    let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe src=\"{}\" title=\"{}\" loading=\"lazy\" width=\"100%\" height=\"420\" style=\"border:0\"></iframe>",
        escape(&format!("{base}?embed=1#{}", state.config.with(address::query))),
        escape(title)
    )
}

/// Copies, and says whether that worked; where it doesn't, the text is shown to be copied by hand.
pub(super) fn copy(state: State, copied: &str, done: Text) {
    let by_hand = copied.to_owned();
    browser::copy(copied, move |worked| {
        if worked {
            state.toast.set(Some((done, None)));
            let over = move || {
                // Unless something else is said by now.
                if state.toast.with_untracked(|toast| matches!(toast, Some((said, None)) if *said == done)) {
                    state.toast.set(None);
                }
            };
            set_timeout(over, SHOWN);
        } else {
            state.toast.set(Some((text::COPY_BY_HAND, Some(by_hand))));
        }
    });
}

/// The message at the foot of the window.
pub(super) fn toast(state: State) -> View {
    let message = part(move || {
        let Some((said, by_hand)) = state.toast.get() else { return none() };
        let said = state.say(said);
        let by_hand = by_hand.map(|copied| {
            let field = el("input").attr("readonly", "").attr("aria-label", said).attr("value", &copied);
            let close = el("button")
                .attr("type", "button")
                .on("click", move |_| state.toast.set(None))
                .say(state, text::CLOSE);
            all([field.into(), close.into()])
        });
        all([el("span").text(said).into(), by_hand.into()])
    });
    el("div").attr("class", "toast").attr("role", "status").child(message).into()
}
