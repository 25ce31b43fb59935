//! When the program fails: say so, with the link that caused it, instead of a dead page.

use std::cell::RefCell;

use leptos::prelude::document;
use wasm_bindgen::prelude::*;

use super::{browser, embed};
use crate::text::app as text;

thread_local! {
    /// The link of the configuration that is being worked on, which the address bar may not show yet.
    static LINK: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From here on a failure is about this link.
pub(super) fn about(link: String) {
    LINK.with(|about| about.replace(link));
}

/// Shows a message on a panic. Uses nothing of the application, which may be in pieces.
pub(super) fn watch() {
    std::panic::set_hook(Box::new(|info| {
        let message = info.to_string();
        web_sys::console::error_1(&JsValue::from_str(&message));
        embed::report_error(&message);
        show(&message);
    }));
}

fn show(message: &str) -> Option<()> {
    let lang = super::state::lang_of(&browser::root()?.lang());
    let link = LINK.with(|link| link.try_borrow().map(|link| link.clone()).unwrap_or_default());
    let href = if link.is_empty() { leptos::prelude::window().location().href().ok()? } else { link };
    let page = document();
    let panel = page.create_element("div").ok()?;
    panel.set_class_name("crash");
    panel.set_attribute("role", "alert").ok()?;
    let add = |tag: &str, words: &str| {
        let element = page.create_element(tag).ok()?;
        element.set_text_content(Some(words));
        panel.append_child(&element).ok()?;
        Some(element)
    };
    add("h2", text::CRASHED.get(lang))?;
    add("p", text::CRASHED_MORE.get(lang))?;
    add("code", &href)?;
    add("code", message)?;
    add("a", text::START_AFRESH.get(lang))?.set_attribute("href", &super::address::base()).ok()?;
    page.body()?.prepend_with_node_1(&panel).ok()
}
