//! A canvas that is as sharp as the screen: its backing store follows size and pixel ratio.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{HtmlCanvasElement, ResizeObserver};

use super::el;

/// Size in CSS pixels, and device pixels to one of them.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Extent {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) ratio: f64,
}

impl Extent {
    fn of(canvas: &HtmlCanvasElement) -> Self {
        let (width, height) = (f64::from(canvas.client_width()), f64::from(canvas.client_height()));
        Self { width, height, ratio: window().device_pixel_ratio() }
    }

    /// Gives the canvas as many pixels as the screen shows of it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a window's size
    pub(super) fn apply(self, canvas: &HtmlCanvasElement) {
        canvas.set_width((self.width * self.ratio).round() as u32);
        canvas.set_height((self.height * self.ratio).round() as u32);
    }
}

/// The extent of a canvas once it is on the page, and again whenever it or the pixel ratio changes.
pub(super) fn extent(canvas: &HtmlCanvasElement) -> RwSignal<Option<Extent>> {
    let extent = RwSignal::new(None);
    let measured = canvas.clone();
    // Says whether the figure is still there.
    let measure = move || {
        let now = Extent::of(&measured);
        let Some(before) = extent.try_get_untracked() else { return false };
        if now.width > 0.0 && before != Some(now) {
            extent.set(Some(now));
        }
        true
    };
    // Observing tells the first size too, before the first paint.
    let observing = measure.clone();
    let observed = Closure::<dyn FnMut()>::new(move || {
        observing();
    });
    if let Ok(observer) = ResizeObserver::new(observed.as_ref().unchecked_ref()) {
        observer.observe(canvas);
        el::keep(Box::new(Observing { observer, _observed: observed }));
    }
    follow_ratio(measure);
    extent
}

/// Ends with the figure.
struct Observing {
    observer: ResizeObserver,
    _observed: Closure<dyn FnMut()>,
}

impl Drop for Observing {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}

/// Calls back when the window moves to a screen of another pixel ratio, or is zoomed.
fn follow_ratio(measure: impl Fn() -> bool + 'static) {
    let query = format!("(resolution: {}dppx)", window().device_pixel_ratio());
    let Ok(Some(list)) = window().match_media(&query) else { return };
    // The query names one ratio: once it no longer holds, the next one is watched.
    let changed = Closure::once_into_js(move || {
        if measure() {
            follow_ratio(measure);
        }
    });
    let options = web_sys::AddEventListenerOptions::new();
    options.set_once(true);
    let changed = changed.unchecked_ref();
    let _ = list.add_event_listener_with_callback_and_add_event_listener_options("change", changed, &options);
}
