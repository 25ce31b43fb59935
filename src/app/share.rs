//! Link and embed code on the clipboard, and what the buttons say of it.

use std::time::Duration;

use leptos::prelude::*;

use super::{State, address, browser};
use crate::text::{Text, app as text};

/// How long a message stays.
const SHOWN: Duration = Duration::from_secs(4);

/// The two buttons.
pub(super) fn buttons(state: State) -> AnyView {
    let link = move |_| copy(state, state.config.with_untracked(address::link), text::LINK_COPIED);
    let embed = move |_| copy(state, embed_code(state), text::EMBED_COPIED);
    view! {
        <button type="button" id="copy-link" on:click=link>{move || state.say(text::COPY_LINK)}</button>
        <button type="button" id="copy-embed" on:click=embed>{move || state.say(text::COPY_EMBED)}</button>
    }
    .into_any()
}

fn embed_code(state: State) -> String {
    let config = state.config.get_untracked();
    let fragment = config.to_link();
    let (base, title) = (address::base(), text::EMBED_TITLE.get(state.lang.get_untracked()));
    // Attribute values: what could end one is escaped.
    let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe src=\"{}\" title=\"{}\" loading=\"lazy\" width=\"100%\" height=\"420\" style=\"border:0\"></iframe>",
        escape(&format!("{base}?embed=1#{fragment}")),
        escape(title)
    )
}

/// Copies, and says whether that worked; where it doesn't, the text is shown to be copied by hand.
fn copy(state: State, copied: String, done: Text) {
    let promise = browser::copy(&copied);
    leptos::task::spawn_local(async move {
        let worked = promise.await;
        if worked { say(state, done, None) } else { say(state, text::COPY_BY_HAND, Some(copied)) }
    });
}

fn say(state: State, words: Text, by_hand: Option<String>) {
    let stays = by_hand.is_some();
    let message = Some((words, by_hand));
    state.toast.set(message.clone());
    if !stays {
        set_timeout(
            move || {
                if state.toast.get_untracked() == message {
                    state.toast.set(None);
                }
            },
            SHOWN,
        );
    }
}

/// The message at the foot of the window.
pub(super) fn toast(state: State) -> AnyView {
    view! {
        <div class="toast" role="status">
            {move || {
                state
                    .toast
                    .get()
                    .map(|(words, by_hand)| {
                        let by_hand = by_hand
                            .map(|copied| {
                                view! {
                                    <input type="text" readonly aria-label=state.say(words) prop:value=copied />
                                    <button type="button" on:click=move |_| state.toast.set(None)>
                                        {state.say(text::CLOSE)}
                                    </button>
                                }
                            });
                        view! { <span>{state.say(words)}</span> {by_hand} }
                    })
            }}
        </div>
    }
    .into_any()
}
