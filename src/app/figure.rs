//! The figure: what fills the memory at the peak, over one step, and if one number were another.

use leptos::prelude::*;
use plotters::drawing::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, HtmlCanvasElement};

use super::browser::value_of;
use super::canvas::{Extent, extent};
use super::el::{View, el, follow, none, part};
use super::tabs::{Tab, tabs};
use super::{State, export, programs, state::Answer};
use crate::chart::{self, Look, Scene};
use crate::estimate::Estimate;
use crate::sweep::{self, Variable, what_if};
use crate::text::app as text;

/// The tabs; the first is shown first.
const FIGURES: [Tab; 6] = [
    ("bar", text::BAR),
    (STAGES, text::STAGES),
    ("step", text::STEP),
    ("batch", text::OVER_BATCH),
    ("seq", text::OVER_SEQ),
    (ANY, text::OVER_KEY),
];
/// The figure over a key that is chosen.
const ANY: &str = "key";
/// The figure that only a pipeline has.
const STAGES: &str = "stages";

/// Height of all figures but the bar, in CSS pixels.
const HEIGHT: u32 = 320;

/// Size of a saved picture in CSS pixels, and device pixels to one.
const SAVED: Extent = Extent { width: 900.0, height: 0.0, ratio: 2.0 };

/// What stands around the figure.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// Tabs for the other figures.
    pub(super) tabs: bool,
    /// Buttons that save.
    pub(super) exports: bool,
}

/// The figure.
pub(super) fn view(state: State, parts: Parts) -> View {
    let canvas = el("canvas").attr("role", "img");
    if let Some(canvas) = canvas.element().dyn_ref::<HtmlCanvasElement>() {
        let (canvas, extent) = (canvas.clone(), extent(canvas));
        follow(Box::new(move || {
            let Some(extent) = extent.get() else { return };
            let Some(answer) = state.outcome.with(|outcome| outcome.answer.clone()) else { return };
            let scene = scene(state, &answer, whole(extent.width));
            // Names of attributes and properties are right.
            let _ = canvas.set_attribute("aria-label", &scene.label);
            if let Some(frame) = canvas.parent_element() {
                let _ = frame.set_attribute("style", &format!("height:{}px", scene.height));
            }
            draw(&scene, &canvas, Extent { height: f64::from(scene.height), ..extent }, false);
        }));
    }
    let mut frame = el("div").attr("class", "canvas").attr("id", "figure-panel").child(canvas);
    let mut bar = el("div").attr("class", "bar");
    if parts.tabs {
        let shown = |state: State| state.figure.get();
        let choose = |state: State, word| state.figure.set(word);
        bar = bar.child(tabs(state, "figure", (text::FIGURES, &FIGURES), shown, choose, is_offered));
        frame = frame
            .attr("role", "tabpanel")
            .live("aria-labelledby", move || format!("figure-{}", state.figure.get()));
    }
    if parts.exports {
        bar = bar.child(export::buttons(state));
    }
    let section = el("section").attr("id", "figure").attr("class", "figure");
    let section = section.label("aria-label", state, text::FIGURE);
    let section = if parts.tabs || parts.exports { section.child(bar) } else { section };
    let section = if parts.tabs { section.child(part(move || varied(state))) } else { section };
    let section = section.child(frame);
    if parts.tabs && parts.exports { section.child(programs::view(state)).into() } else { section.into() }
}

/// The choice of what varies, where the figure leaves it open.
fn varied(state: State) -> View {
    if state.figure.get() != ANY {
        return none();
    }
    let option = |variable: Variable| {
        let key = variable.key();
        el("option").attr("value", key).say(state, variable.name).text(&format!(" ({key})")).into()
    };
    let options: Vec<View> = Variable::all().map(option).collect();
    let choose = move |event: web_sys::Event| {
        // It is one of the options.
        if let Some(variable) = Variable::find(&value_of(&event)) {
            state.varied.set(variable);
        }
    };
    let select = el("select")
        .attr("name", "varied")
        .child(options)
        .prop("value", move || state.varied.get().key().into())
        .on("change", choose);
    el("label").attr("class", "varied").say(state, text::VARIED).child(select).into()
}

/// The stages have a tab where there is a pipeline, and while they are looked at.
fn is_offered(state: State, word: &str) -> bool {
    word != STAGES || state.figure.get() == STAGES || state.config.with(|config| config.pp > 1)
}

fn height(figure: &str, estimate: &Estimate, width: u32) -> u32 {
    match figure {
        "bar" => chart::bar_height(width),
        STAGES => chart::stages_height(estimate, width),
        _ => HEIGHT,
    }
}

/// The chosen figure, laid out for a width in CSS pixels.
fn scene(state: State, answer: &Answer, width: u32) -> Scene {
    let (figure, shown) = (state.figure.get(), state.shown.get());
    let Answer { config, estimate } = answer;
    let look = Look {
        palette: if shown.dark { &chart::DARK } else { &chart::LIGHT },
        lang: shown.lang,
        units: shown.units,
        width,
        height: height(figure, estimate, width),
    };
    match figure {
        STAGES => chart::stages(estimate, &look),
        "step" => chart::timeline(estimate, &look),
        "batch" => chart::sweep(&what_if(config, &sweep::BATCH), &estimate.fits, &look),
        "seq" => chart::sweep(&what_if(config, &sweep::SEQ), &estimate.fits, &look),
        ANY => chart::sweep(&what_if(config, &state.varied.get()), &estimate.fits, &look),
        _ => chart::bar(estimate, &look),
    }
}

/// Paints a scene; without `fill` what lies under the figure shows through.
fn draw(scene: &Scene, canvas: &HtmlCanvasElement, extent: Extent, fill: bool) {
    // Setting its size empties a canvas.
    extent.apply(canvas);
    let Some(backend) = CanvasBackend::with_canvas_object(canvas.clone()) else { return };
    let root = backend.into_drawing_area();
    // A canvas that refuses leaves the table, which says the same.
    if fill {
        let _ = scene.fill(&root);
    }
    let _ = scene.draw(&root, extent.ratio);
}

/// The shown figure as a document.
pub(super) fn svg(state: State, answer: &Answer) -> String {
    untrack(|| scene(state, answer, whole(SAVED.width))).svg()
}

/// The shown figure as a picture.
pub(super) fn png(state: State, answer: &Answer, done: impl FnOnce(Blob) + 'static) {
    let canvas = el("canvas");
    let Some(canvas) = canvas.element().dyn_ref::<HtmlCanvasElement>() else { return };
    let scene = untrack(|| scene(state, answer, whole(SAVED.width)));
    draw(&scene, canvas, Extent { height: f64::from(scene.height), ..SAVED }, true);
    let done = Closure::once_into_js(move |blob: Option<Blob>| {
        if let Some(blob) = blob {
            done(blob);
        }
    });
    // A canvas that nothing foreign was drawn on may be read.
    let _ = canvas.to_blob(done.unchecked_ref());
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a window's width
fn whole(width: f64) -> u32 {
    width.round() as u32
}
