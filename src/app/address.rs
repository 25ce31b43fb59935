//! The address bar: read at the start, kept in step with the configuration, never touched inside another page.

use std::time::Duration;

use leptos::prelude::*;
use wasm_bindgen::JsValue;

use super::State;
use super::{browser, rest};
use crate::config::{Config, View};

/// Changes of the form reach the address after this pause: typing is one change.
const PAUSE: Duration = Duration::from_millis(250);

/// Parameters of an embed: about the frame, not the run.
const FRAME: [&str; 2] = ["hide", "controls"];

/// The link that the page was opened with: query and fragment, without the frame's own parameters.
pub(super) fn current() -> String {
    let mut link = String::new();
    for (sign, part) in parts() {
        let pairs =
            part.split('&').filter(|pair| !FRAME.contains(&pair.split('=').next().unwrap_or_default()));
        link.push(sign);
        link.extend(pairs.enumerate().flat_map(|(i, pair)| [if i == 0 { "" } else { "&" }, pair]));
    }
    link
}

/// The values of one of the frame's own parameters.
pub(super) fn frame(parameter: &str) -> Vec<String> {
    let mut values = Vec::new();
    for (_, part) in parts() {
        for pair in part.split('&') {
            if let Some((key, value)) = pair.split_once('=')
                && key == parameter
            {
                values.extend(value.replace("%2C", ",").split(',').map(str::to_owned));
            }
        }
    }
    values
}

fn parts() -> [(char, String); 2] {
    let location = window().location();
    let part = |text: Result<String, JsValue>, sign| {
        (sign, text.unwrap_or_default().trim_start_matches(sign).to_owned())
    };
    [part(location.search(), '?'), part(location.hash(), '#')]
}

/// The page's own address, without query and fragment.
pub(super) fn base() -> String {
    let href = window().location().href().unwrap_or_default();
    href.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// A configuration as a link writes it, without the frame that it may stand in.
pub(super) fn query(config: &Config) -> String {
    let mut config = config.clone();
    config.page.embed = false;
    config.to_link()
}

/// The share link of a configuration.
pub(super) fn link(config: &Config) -> String {
    format!("{}#{}", base(), query(config))
}

/// Keeps address and state in step, both ways.
pub(super) fn follow(state: State) {
    // The view of the address as it stands, and the change that waits.
    let view = StoredValue::new(state.view.get_untracked());
    let mut waiting = None::<TimeoutHandle>;
    let mut first = true;
    super::el::follow(Box::new(move || {
        let (url, now) = state.config.with(|config| (link(config), config.page.view));
        if let Some(waiting) = waiting.take() {
            waiting.clear();
        }
        if std::mem::take(&mut first) {
            return;
        }
        if view.get_value() == now {
            waiting = set_timeout_with_handle(move || write(&url, false), PAUSE).ok();
        } else {
            view.set_value(now);
            write(&url, true);
        }
    }));
    browser::listen(&window(), "popstate", move |_| {
        rest::when_here(Box::new(move || {
            let read = Config::from_link(&current());
            view.set_value(read.config.page.view);
            state.load(read);
        }));
    });
}

fn write(url: &str, push: bool) {
    if current_url() == url {
        return;
    }
    let Ok(history) = window().history() else { return };
    // Safari throws after 100 calls in 30 s; the next change tries again.
    let _ = if push {
        history.push_state_with_url(&JsValue::NULL, "", Some(url))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(url))
    };
}

fn current_url() -> String {
    window().location().href().unwrap_or_default()
}

/// Shows another view; the browser's back button returns.
pub(super) fn show(state: State, view: View) {
    state.change(|config| config.page.view = view);
}
