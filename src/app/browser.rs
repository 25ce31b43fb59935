//! The browser's odds and ends, each call guarded: a frame of another origin has no storage, and none of this may
//! break the page.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
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

/// Is the page within another?
pub(super) fn framed() -> bool {
    window().parent().ok().flatten().is_some_and(|parent| parent != window())
}

/// Does a media query hold? Follows its changes.
pub(super) fn media(query: &str) -> ReadSignal<bool> {
    let list = window().match_media(query).ok().flatten();
    let (holds, set) = signal(list.as_ref().is_some_and(MediaQueryList::matches));
    if let Some(list) = list {
        let watched = list.clone();
        listen(&list, "change", move |_| set.set(watched.matches()));
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
pub(super) fn copy(text: &str) -> impl Future<Output = bool> + use<> {
    let clipboard = window().navigator().clipboard();
    // Where it is forbidden altogether it isn't even there.
    let promise = (!clipboard.is_undefined()).then(|| clipboard.write_text(text));
    async move {
        match promise {
            Some(promise) => wasm_bindgen_futures::JsFuture::from(promise).await.is_ok(),
            None => false,
        }
    }
}
