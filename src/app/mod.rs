//! The page: components, state, and the only code that knows a browser.
//!
//! One [`State`] of signals, plain functions that return views, no arithmetic: what a component shows was computed
//! elsewhere.

mod address;
mod browser;
mod canvas;
mod crash;
mod detailed;
mod diagnose;
mod embed;
mod export;
mod field;
mod figure;
mod headline;
mod layout;
mod ledger;
mod problems;
mod quick;
mod share;
mod state;
mod tabs;
mod totals;

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use state::State;

/// Starts the page: reads the address, mounts, and takes the static shell away.
pub fn run() {
    crash::watch();
    let Some(place) = document().get_element_by_id("app").and_then(|e| e.dyn_into().ok()) else { return };
    let unmount = mount_to(place, || {
        let state = State::from_address();
        follow_root(state);
        if embed::wanted(state) {
            embed::view(state)
        } else {
            if !browser::framed() {
                address::follow(state);
            }
            layout::view(state)
        }
    });
    unmount.forget();
    if let Some(root) = browser::root() {
        let _ = root.dataset().set("ready", "1");
    }
    if let Some(shell) = document().get_element_by_id("shell") {
        shell.remove();
    }
}

/// Keeps language and colours of the document itself in step.
fn follow_root(state: State) {
    Effect::new(move |_| {
        let lang = state.lang.get();
        let theme = state.theme.get();
        document().set_title(state.say(crate::text::app::TITLE));
        if let Some(root) = browser::root() {
            root.set_lang(if lang == crate::text::Lang::Zh { "zh-CN" } else { "en" });
            let _ = root.dataset().set("theme", theme.word());
        }
    });
}
