//! Work beside the page: [`ask`] has a [`Request`] done by a worker, and tells how it goes.
//!
//! ```ignore
//! let asked = later::ask(&Request::Export { .. }, move |told| match told {
//!     Told::Progress(text) => progress.set(text),
//!     Told::Done(text) => result.set(Some(text)),
//!     Told::Failed => failed.set(true),
//! });
//! // Dropping `asked` cancels; `asked.keep()` lets it run without a handle.
//! ```
//!
//! The worker is this very program in a thread of its own: it is fetched from the browser's cache, starts with the first
//! request, and stays. It is started from a `blob:` address, which a sandboxed frame without an origin may do, and a
//! host with a content security policy allows by `worker-src blob:`. Where it isn't allowed, the page does the work
//! itself between two frames, in pieces of a few milliseconds. What crosses is text: see [`Request::write`].

use std::cell::RefCell;
use std::collections::VecDeque;

use js_sys::Array;
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Url, Worker};

use super::browser;
use crate::jobs::{Request, Step, Task};

/// What is told of a request.
#[derive(Debug)]
pub(super) enum Told {
    /// It goes on; words of the task's own.
    Progress(String),
    /// The result; nothing follows.
    Done(String),
    /// The worker broke down; nothing follows.
    Failed,
}

type Listener = Box<dyn FnMut(Told)>;

/// A request that is being worked on, cancelled when this is dropped.
#[must_use = "dropping it cancels the request"]
pub(super) struct Asked(Option<u32>);

impl Asked {
    /// Lets the work run to its end.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            cancel(id);
        }
    }
}

/// A request that is not done yet.
struct Open {
    id: u32,
    text: String,
    tell: Listener,
}

/// Who does the work.
#[derive(Default)]
enum Staff {
    /// Nobody was needed yet.
    #[default]
    None,
    /// A worker that hasn't said that it listens.
    Starting(Worker),
    /// A worker that listens.
    Listening(Worker),
    /// This thread: there is no worker to be had.
    Here,
}

#[derive(Default)]
struct Office {
    last: u32,
    staff: Staff,
    open: Vec<Open>,
}

thread_local! {
    static OFFICE: RefCell<Office> = RefCell::default();
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Has `request` done beside the page. `tell` is called between frames, never from within this call.
pub(super) fn ask(request: &Request, tell: impl FnMut(Told) + 'static) -> Asked {
    ask_for(request.write(), Box::new(tell))
}

fn ask_for(text: String, tell: Listener) -> Asked {
    let id = OFFICE.with_borrow_mut(|office| {
        office.last = office.last.wrapping_add(1);
        let id = office.last;
        if matches!(office.staff, Staff::None) {
            office.staff = start().map_or(Staff::Here, Staff::Starting);
        }
        match &office.staff {
            Staff::Listening(worker) => post(worker, id, Some(&text)),
            Staff::Here => take(id, &text, tell_here, PAGE_SLICE),
            // It is handed over when the worker listens.
            Staff::None | Staff::Starting(_) => {}
        }
        office.open.push(Open { id, text, tell });
        id
    });
    Asked(Some(id))
}

fn cancel(id: u32) {
    OFFICE.with_borrow_mut(|office| {
        let before = office.open.len();
        office.open.retain(|open| open.id != id);
        if office.open.len() < before {
            match &office.staff {
                Staff::Listening(worker) => post(worker, id, None),
                Staff::Here => drop_task(id),
                Staff::None | Staff::Starting(_) => {}
            }
        }
    });
}

/// Starts a worker; its life is the page's.
fn start() -> Option<Worker> {
    let script = SCRIPT.with(Clone::clone);
    // The build names module and script alike.
    let module = format!("{}_bg.wasm", script.strip_suffix(".js")?);
    // No module worker: Chromium refuses those in a sandboxed frame, but lets any worker import a module. A start that
    // fails is said in the only way that reaches the page.
    let script = format!(
        "import({script:?}).then(it => it.default({{ module_or_path: {module:?} }})).catch(() => postMessage(0));"
    );
    let url = Url::create_object_url_with_blob(&browser::blob(&script.into(), "text/javascript")?).ok()?;
    let worker = Worker::new(&url).ok()?;
    browser::listen(&worker, "message", |event| {
        if let Some(event) = event.dyn_ref::<MessageEvent>() {
            hear(&event.data());
        }
    });
    browser::listen(&worker, "error", |event| {
        event.prevent_default();
        broken();
    });
    Some(worker)
}

/// A message of the worker: `[id, kind, text]`, or `[]` once it listens.
fn hear(message: &JsValue) {
    let Some(message) = message.dyn_ref::<Array>() else { return broken() };
    if message.length() == 0 {
        return OFFICE.with_borrow_mut(|office| {
            if let Staff::Starting(worker) = std::mem::take(&mut office.staff) {
                for open in &office.open {
                    post(&worker, open.id, Some(&open.text));
                }
                office.staff = Staff::Listening(worker);
            }
        });
    }
    let (Some(id), Some(kind)) = (number(message, 0), number(message, 1)) else { return };
    let text = message.get(2).as_string().unwrap_or_default();
    tell_here(id, if kind == PROGRESS { Told::Progress(text) } else { Told::Done(text) });
}

/// Tells whoever asked. The listener may ask again, so nothing is borrowed meanwhile.
fn tell_here(id: u32, told: Told) {
    let open = OFFICE.with_borrow_mut(|office| {
        let at = office.open.iter().position(|open| open.id == id)?;
        Some(office.open.remove(at))
    });
    let Some(mut open) = open else { return };
    let goes_on = matches!(told, Told::Progress(_));
    (open.tell)(told);
    if goes_on {
        OFFICE.with_borrow_mut(|office| office.open.push(open));
    }
}

/// The worker can't start, or broke down over a request.
fn broken() {
    let failed = OFFICE.with_borrow_mut(|office| match std::mem::take(&mut office.staff) {
        // The next request has a fresh one.
        Staff::Listening(worker) => {
            worker.terminate();
            std::mem::take(&mut office.open)
        }
        Staff::Starting(_) | Staff::Here | Staff::None => {
            office.staff = Staff::Here;
            for open in &office.open {
                take(open.id, &open.text, tell_here, PAGE_SLICE);
            }
            Vec::new()
        }
    });
    for mut open in failed {
        (open.tell)(Told::Failed);
    }
}

/// A request, or without a text the end of one.
fn post(worker: &Worker, id: u32, text: Option<&str>) {
    let message = Array::of1(&id.into());
    if let Some(text) = text {
        message.push(&text.into());
    }
    // Text and numbers can always be posted.
    let _ = worker.post_message(&message);
}

fn number(message: &Array, at: u32) -> Option<u32> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // small whole numbers, sent by ourselves
    message.get(at).as_f64().map(|number| number as u32)
}

const PROGRESS: u32 = 0;
const DONE: u32 = 1;

// --- whoever does the work: the worker, or the page in its place --------------------------------------------------------

/// How long the page works before it lets the browser draw, in milliseconds.
const PAGE_SLICE: f64 = 8.0;
/// How long the worker works before it listens, in milliseconds.
const WORKER_SLICE: f64 = 40.0;

/// What lies on the desk, worked on in turn.
#[derive(Default)]
struct Desk {
    tasks: VecDeque<(u32, Box<dyn Task>)>,
    /// Is [`work`] due?
    busy: bool,
}

/// The program as a worker: listens for requests.
pub(super) fn serve() {
    let scope: web_sys::EventTarget = js_sys::global().unchecked_into();
    browser::listen(&scope, "message", |event| {
        let Some(event) = event.dyn_ref::<MessageEvent>() else { return };
        let Ok(message) = event.data().dyn_into::<Array>() else { return };
        let Some(id) = number(&message, 0) else { return };
        match message.get(1).as_string() {
            Some(text) => take(id, &text, answer, WORKER_SLICE),
            None => drop_task(id),
        }
    });
    post_to_page(&Array::new());
}

/// Tells the page.
fn answer(id: u32, told: Told) {
    let (kind, text) = match told {
        Told::Progress(text) => (PROGRESS, text),
        Told::Done(text) => (DONE, text),
        // Nobody is left to say so.
        Told::Failed => return,
    };
    post_to_page(&Array::of3(&id.into(), &kind.into(), &text.into()));
}

/// Puts a request on the desk.
fn take(id: u32, text: &str, tell: fn(u32, Told), slice: f64) {
    let Some(request) = Request::read(text) else { return };
    let idle = DESK.with_borrow_mut(|desk| {
        desk.tasks.push_back((id, request.begin()));
        !std::mem::replace(&mut desk.busy, true)
    });
    if idle {
        soon(tell, slice);
    }
}

fn drop_task(id: u32) {
    DESK.with_borrow_mut(|desk| desk.tasks.retain(|(task, _)| *task != id));
}

/// Works for one slice, after everything else that waits.
fn soon(tell: fn(u32, Told), slice: f64) {
    set_timeout(&Closure::once_into_js(move || work(tell, slice)), 0);
}

fn work(tell: fn(u32, Told), slice: f64) {
    let end = js_sys::Date::now() + slice;
    loop {
        // Off the desk while it is worked on: what is told may bring the next request or the end of one.
        let Some((id, mut task)) = DESK.with_borrow_mut(|desk| desk.tasks.pop_front()) else {
            return DESK.with_borrow_mut(|desk| desk.busy = false);
        };
        let step = task.step();
        if !matches!(step, Step::Done(_)) {
            DESK.with_borrow_mut(|desk| desk.tasks.push_back((id, task)));
        }
        match step {
            Step::More => {}
            Step::Progress(text) => tell(id, Told::Progress(text)),
            Step::Done(text) => tell(id, Told::Done(text)),
        }
        if js_sys::Date::now() >= end {
            return soon(tell, slice);
        }
    }
}

#[wasm_bindgen]
extern "C" {
    /// The address of the script that loads this program.
    #[wasm_bindgen(thread_local_v2, js_namespace = ["import", "meta"], js_name = url)]
    static SCRIPT: String;
    /// As a window and a worker have it.
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(run: &JsValue, milliseconds: u32);
    /// A worker's word to its page.
    #[wasm_bindgen(js_name = postMessage)]
    fn post_to_page(message: &JsValue);
}
