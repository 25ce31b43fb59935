//! The page: components, state, and the only code that knows a browser.
//!
//! One [`State`] of signals, plain functions that return views, no arithmetic: what a component shows was computed
//! elsewhere.

mod accuracy;
mod address;
mod browser;
mod canvas;
mod compare;
mod crash;
mod detailed;
mod diagnose;
mod doctor;
mod el;
mod embed;
mod export;
mod field;
mod figure;
mod headline;
mod hub;
mod later;
mod layout;
mod ledger;
mod problems;
mod programs;
mod quick;
mod replay;
mod rest;
mod share;
mod state;
mod tabs;
mod totals;

use leptos::prelude::*;

use state::State;
use wasm_bindgen::prelude::*;

/// Starts what this instance is for: the page, or in a worker what is done beside it.
pub fn run() {
    if web_sys::window().is_some() { page() } else { later::serve() }
}

/// Works out what every first visit shows. For the build, which keeps the memory that this leaves as the memory that the
/// page starts with.
#[wasm_bindgen]
pub fn prepare() {
    state::standard();
}

/// Starts the page: reads the address, mounts, and takes the static shell away.
fn page() {
    crash::watch();
    let Some(place) = document().get_element_by_id("app") else { return };
    // Leptos' own mount gives the signals their owner and their executor; the page is put in place by itself.
    mount_to_body(move || {
        let state = State::from_address();
        rest::tell(state);
        follow_root(state);
        replay::watch(state);
        let page = if embed::wanted(state) {
            embed::view(state)
        } else {
            if !browser::framed() {
                address::follow(state);
            }
            layout::view(state)
        };
        page.mount(&place);
    });
    if let Some(root) = browser::root() {
        let _ = root.dataset().set("ready", "1");
    }
    if let Some(shell) = document().get_element_by_id("shell") {
        shell.remove();
    }
}

/// Keeps language and colours of the document itself in step.
fn follow_root(state: State) {
    el::follow(Box::new(move || {
        let shown = state.shown.get();
        document().set_title(state.say(crate::text::app::TITLE));
        if let Some(root) = browser::root() {
            root.set_lang(if shown.lang == crate::text::Lang::Zh { "zh-CN" } else { "en" });
            let _ = root.dataset().set("theme", shown.theme.word());
        }
    }));
}
