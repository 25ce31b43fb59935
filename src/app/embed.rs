//! Inside another page: the figure, the headline and a way to the full page; and the messages between page and host.
//!
//! Every message carries `trainmem: 1`, the protocol's name and version. Out: `ready`, `resize {height}`,
//! `change {query, totals}`, `error {message}`. In: `set {config, theme, lang}`, from the parent only, shape checked,
//! read with the same care as a link.
//!
//! `hide=headline,tabs,link` leaves parts out; `controls=batch,seq,ledger,exports` adds fields of these keys and parts.

use js_sys::{Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, ResizeObserver};

use super::el::{View, el, follow};
use super::field::field;
use super::{State, address, browser, figure, headline, ledger, problems, rest};
use crate::config::{Config, Key, LONGEST_LINK, Theme};
use crate::text::app as text;

const VERSION: f64 = 1.0;

/// Is this an embed?
pub(super) fn wanted(state: State) -> bool {
    state.config.with_untracked(|config| config.page.embed)
}

/// The embedded page.
pub(super) fn view(state: State) -> View {
    if let Some(root) = browser::root() {
        let _ = root.dataset().set("embed", "1");
    }
    let (hidden, more) = (address::frame("hide"), address::frame("controls"));
    let shows = |part: &str| !hidden.iter().any(|word| word == part);
    let adds = |part: &str| more.iter().any(|word| word == part);
    let title = el("h1").attr("class", "visually-hidden").say(state, text::EMBED_TITLE);
    let mut page = el("main").attr("class", "answer").child(title);
    if shows("headline") {
        page = page.child(headline::view(state));
    }
    page = page.child(figure::view(state, figure::Parts { tabs: shows("tabs"), exports: adds("exports") }));
    let fields = Key::ALL.iter().filter(|key| adds(key.word()));
    let fields: Vec<View> = fields.map(|key| field(state, key.word())).collect();
    page = page.child(el("div").attr("class", "pair").child(fields)).child(problems::view(state));
    if adds("ledger") {
        page = page.child(ledger::view(state));
    }
    if shows("link") {
        let link = el("a")
            .live("href", move || state.config.with(address::link))
            .attr("target", "_blank")
            .attr("rel", "noopener")
            .say(state, text::FULL_PAGE);
        page = page.child(el("p").attr("class", "small").child(link));
    }
    converse(state);
    page.into()
}

/// Tells the host what happens here, and listens to it.
fn converse(state: State) {
    if !browser::framed() {
        return;
    }
    send("ready", &[]);
    follow(Box::new(move || {
        let query = state.config.with(address::query);
        let mut totals = Vec::new();
        state.outcome.with(|outcome| {
            if let Some(answer) = &outcome.answer {
                let it = &answer.estimate;
                totals.extend([
                    ("peak", it.peak.bytes),
                    ("allocated", it.allocated),
                    ("reserved", it.reserved.expected),
                    ("device", it.device.expected),
                    ("capacity", it.fits.capacity),
                ]);
            }
        });
        let sizes = object(totals.into_iter().map(|(name, bytes)| (name, JsValue::from_f64(bytes as f64))));
        send("change", &[("query", query.into()), ("totals", sizes.into())]);
    }));
    watch_height();
    browser::listen(&window(), "message", move |event| {
        let Some(event) = event.dyn_ref::<MessageEvent>() else { return };
        let parent = window().parent().ok().flatten().map(JsValue::from);
        if parent.is_some() && event.source().map(JsValue::from) == parent {
            let message = event.data();
            rest::quietly(Box::new(move || hear(state, &message)));
        }
    });
}

/// Takes a `set`; anything else is not for us.
fn hear(state: State, message: &JsValue) {
    let get = |key: &str| Reflect::get(message, &key.into()).unwrap_or(JsValue::UNDEFINED);
    if !message.is_object() || get("trainmem").as_f64() != Some(VERSION) || get("type") != "set" {
        return;
    }
    let config = get("config").as_string().filter(|link| link.len() <= LONGEST_LINK);
    let theme = get("theme").as_string().and_then(|word| Theme::parse(&word));
    let lang = get("lang").as_string().map(|word| super::state::lang_of(&word));
    if let Some(link) = config {
        state.load(Config::from_link(&link));
    }
    state.change(|config| {
        config.page.theme = theme.unwrap_or(config.page.theme);
        config.page.lang = lang.or(config.page.lang);
    });
}

/// Tells the host each new height of the page.
fn watch_height() {
    let tell = Closure::<dyn FnMut()>::new(|| {
        if let Some(body) = document().body() {
            send("resize", &[("height", f64::from(body.scroll_height()).into())]);
        }
    });
    if let (Ok(observer), Some(body)) =
        (ResizeObserver::new(tell.as_ref().unchecked_ref()), document().body())
    {
        observer.observe(&body);
        tell.forget();
    }
}

/// Tells the host of a failure.
pub(super) fn report_error(message: &str) {
    if browser::framed() {
        send("error", &[("message", message.into())]);
    }
}

fn object(entries: impl Iterator<Item = (&'static str, JsValue)>) -> Object {
    let object = Object::new();
    for (key, value) in entries {
        // A fresh object takes every key.
        let _ = Reflect::set(&object, &key.into(), &value);
    }
    object
}

fn send(kind: &str, more: &[(&'static str, JsValue)]) {
    let head = [("trainmem", JsValue::from_f64(VERSION)), ("type", kind.into())];
    let message = object(head.into_iter().chain(more.iter().cloned()));
    if let Ok(Some(parent)) = window().parent() {
        // To whoever embeds us: nothing in here is a secret.
        let _ = parent.post_message(&message, "*");
    }
}
