//! The browser's odds and ends, each call guarded: a frame of another origin has no storage, and none of this may
//! break the page.

use js_sys::Promise;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, HtmlElement, MediaQueryList, Url};

const PREFIX: &str = "trainmem.";

/// What an earlier visit chose.
pub(super) fn stored(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(&format!("{PREFIX}{key}")).ok()?
}

/// Remembers a choice, where that is allowed.
pub(super) fn store(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        // Full or forbidden: the choice then lasts for this visit.
        let _ = storage.set_item(&format!("{PREFIX}{key}"), value);
    }
}

/// The browser's language tag.
pub(super) fn language() -> String {
    window().navigator().language().unwrap_or_default()
}

/// The element that carries `lang` and the theme.
pub(super) fn root() -> Option<HtmlElement> {
    document().document_element()?.dyn_into().ok()
}

/// Moves the focus to an element.
pub(super) fn focus(id: &str) {
    if let Some(element) = document().get_element_by_id(id).and_then(|e| e.dyn_into::<HtmlElement>().ok()) {
        // An element that cannot take the focus leaves it where it is.
        let _ = element.focus();
    }
}

/// What stands in the control that an event comes from.
pub(super) fn value_of(event: &web_sys::Event) -> String {
    let value = event.target().and_then(|target| js_sys::Reflect::get(&target, &"value".into()).ok());
    value.and_then(|value| value.as_string()).unwrap_or_default()
}

/// Is this flag of the element that an event comes from set?
pub(super) fn is(event: &web_sys::Event, flag: &str) -> bool {
    event.target().is_some_and(|target| {
        js_sys::Reflect::get(&target, &flag.into()).is_ok_and(|value| value.is_truthy())
    })
}

/// Is the page within another?
pub(super) fn framed() -> bool {
    window().parent().ok().flatten().is_some_and(|parent| parent != window())
}

/// Does a media query hold? Follows its changes.
pub(super) fn media(query: &str) -> RwSignal<bool> {
    let list = window().match_media(query).ok().flatten();
    let holds = RwSignal::new(list.as_ref().is_some_and(MediaQueryList::matches));
    if let Some(list) = list {
        let watched = list.clone();
        listen(&list, "change", move |_| holds.set(watched.matches()));
    }
    holds
}

/// Listens for the life of the page.
pub(super) fn listen(
    target: &web_sys::EventTarget,
    event: &str,
    handler: impl FnMut(web_sys::Event) + 'static,
) {
    let handler = Closure::<dyn FnMut(web_sys::Event)>::new(handler);
    // Fails only for a null target.
    let _ = target.add_event_listener_with_callback(event, handler.as_ref().unchecked_ref());
    handler.forget();
}

/// Text or bytes as a file.
pub(super) fn blob(part: &JsValue, kind: &str) -> Option<Blob> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    Blob::new_with_str_sequence_and_options(&js_sys::Array::of1(part), &options).ok()
}

/// Saves a file under a name.
pub(super) fn save(blob: &Blob, name: &str) {
    let Ok(url) = Url::create_object_url_with_blob(blob) else { return };
    if let Some(link) =
        document().create_element("a").ok().and_then(|a| a.dyn_into::<HtmlAnchorElement>().ok())
    {
        link.set_href(&url);
        link.set_download(name);
        link.click();
    }
    // The click has begun the download; the address is needed no longer.
    set_timeout(move || drop(Url::revoke_object_url(&url)), std::time::Duration::from_secs(10));
}

/// Puts text on the clipboard; says whether that worked (frames and plain http often forbid it).
pub(super) fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let clipboard = window().navigator().clipboard();
    // Where it is forbidden altogether it isn't even there.
    if clipboard.is_undefined() {
        return done(false);
    }
    wait(&clipboard.write_text(text).into(), move |copied| done(copied.is_ok()));
}

/// What stands under an address, as text. An error: it can't be reached (`None`), or the status that it answers with.
pub(super) fn fetch(url: &str, done: impl FnOnce(Result<String, Option<u16>>) + 'static) {
    wait(&window().fetch_with_str(url).into(), move |answer| {
        let answer = answer.ok().and_then(|answer| answer.dyn_into::<web_sys::Response>().ok());
        let Some(answer) = answer else { return done(Err(None)) };
        if !answer.ok() {
            return done(Err(Some(answer.status())));
        }
        let Ok(text) = answer.text() else { return done(Err(None)) };
        wait(&text.into(), move |text| done(text.ok().and_then(|text| text.as_string()).ok_or(None)));
    });
}

/// Hands on what a promise comes to.
pub(super) fn wait(promise: &JsValue, done: impl FnOnce(Result<JsValue, JsValue>) + 'static) {
    wait_for(Promise::resolve(promise), Box::new(done));
}

fn wait_for(promise: Promise, done: Box<dyn FnOnce(Result<JsValue, JsValue>)>) {
    leptos::task::spawn_local(async move { done(JsFuture::from(promise).await) });
}
