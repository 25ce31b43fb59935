//! The second half of the program: what the reader asks for waits until it is here; the page itself never does.
//!
//! The build cuts the program in two: the first half shows the answer that it was built with, the second works out
//! others. Until that has come, what the reader does is kept in its order and done afterwards; what was typed stands in
//! its field meanwhile. A page that was built in one piece has nothing to wait for.

use std::cell::RefCell;

use js_sys::{Function, Reflect};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use super::{State, browser};
use crate::text::app as text;

type Job = Box<dyn FnOnce()>;

#[derive(Default)]
struct Queue {
    /// Is the second half here?
    here: bool,
    /// Is it on its way?
    asked: bool,
    jobs: Vec<Job>,
    /// Whom to tell.
    state: Option<State>,
}

thread_local! {
    static QUEUE: RefCell<Queue> = RefCell::default();
}

/// From here on the page says what it waits for.
pub(super) fn tell(state: State) {
    QUEUE.with_borrow_mut(|queue| queue.state = Some(state));
}

/// Is there nothing to wait for?
pub(super) fn is_here() -> bool {
    QUEUE.with_borrow(|queue| queue.here)
}

/// Does what the reader wants: now, or, having said so, as soon as the second half is here.
pub(super) fn when_here(job: Job) {
    quietly(job);
    let waits = QUEUE.with_borrow(|queue| if queue.here { None } else { queue.state });
    if let Some(state) = waits {
        state.toast.set(Some((text::LOADING, None)));
    }
}

/// As [`when_here`], for what nobody waits for.
pub(super) fn quietly(job: Job) {
    if is_here() {
        return job();
    }
    let first = QUEUE.with_borrow_mut(|queue| {
        queue.jobs.push(job);
        !std::mem::replace(&mut queue.asked, true)
    });
    if !first {
        return;
    }
    match loader() {
        None => open(),
        Some(loader) => match loader.call0(&JsValue::NULL) {
            Ok(promise) => browser::wait(&promise, |came| if came.is_ok() { open() } else { failed() }),
            Err(_) => failed(),
        },
    }
}

/// The script's function that loads the second half; a page in one piece has none.
fn loader() -> Option<Function> {
    let bindings = Reflect::get(&window(), &"wasmBindings".into()).ok()?;
    Reflect::get(&bindings, &"rest".into()).ok()?.dyn_into().ok()
}

/// Does what waited. What comes up meanwhile is done at once.
fn open() {
    let (jobs, state) = QUEUE.with_borrow_mut(|queue| {
        queue.here = true;
        (std::mem::take(&mut queue.jobs), queue.state)
    });
    if let Some(state) = state {
        hush(state);
    }
    for job in jobs {
        job();
    }
}

fn hush(state: State) {
    let ours = [text::LOADING, text::NOT_LOADED];
    if state.toast.with_untracked(|toast| matches!(toast, Some((said, None)) if ours.contains(said))) {
        state.toast.set(None);
    }
}

/// It didn't come: what waits is kept, and the next thing that the reader does asks again.
fn failed() {
    let waits = QUEUE.with_borrow_mut(|queue| {
        queue.asked = false;
        queue.state
    });
    // Only who waits is told.
    if let Some(state) = waits.filter(|state| state.toast.with_untracked(Option::is_some)) {
        state.toast.set(Some((text::NOT_LOADED, None)));
    }
}
