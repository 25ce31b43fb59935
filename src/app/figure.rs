//! The figure: what fills the memory at the peak, over one step, and if batch or sequence were others.

use leptos::prelude::*;
use plotters::drawing::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, HtmlCanvasElement};

use super::canvas::{Extent, extent};
use super::export;
use super::tabs::{Tab, tabs};
use super::{State, state::Answer};
use crate::chart::{self, Look, Scene};
use crate::sweep::{self, what_if};
use crate::text::app as text;

/// The tabs; the first is shown first.
const FIGURES: [Tab; 4] =
    [("bar", text::BAR), ("step", text::STEP), ("batch", text::OVER_BATCH), ("seq", text::OVER_SEQ)];

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
pub(super) fn view(state: State, parts: Parts) -> AnyView {
    let canvas = NodeRef::<leptos::html::Canvas>::new();
    let extent = extent(canvas);
    let scene = Memo::new(move |_| {
        let extent = extent.get()?;
        let answer = state.outcome.with(|outcome| outcome.answer.clone())?;
        Some((scene(state, &answer, whole(extent.width)), extent))
    });
    Effect::new(move |_| {
        scene.with(|drawn| {
            if let (Some(canvas), Some((scene, extent))) = (canvas.get(), drawn) {
                draw(scene, &canvas, Extent { height: f64::from(scene.height), ..*extent }, false);
            }
        });
    });
    let label =
        move || scene.with(|drawn| drawn.as_ref().map(|(scene, _)| scene.label.clone()).unwrap_or_default());
    let height = move || {
        let width = extent.get().map_or(SAVED.width, |extent| extent.width);
        format!("{}px", height(state.figure.get(), whole(width)))
    };
    let chosen = Signal::derive(move || state.figure.get());
    let tabs = parts.tabs.then(|| {
        tabs(state, "figure", text::FIGURES, &FIGURES, chosen, |state, word| state.figure.set(word))
    });
    let panel = parts.tabs.then_some("tabpanel");
    let bar = (parts.tabs || parts.exports).then(|| {
        view! { <div class="bar">{tabs} {parts.exports.then(|| export::buttons(state))}</div> }
    });
    view! {
        <section id="figure" class="figure" aria-label=move || state.say(text::FIGURE)>
            {bar}
            <div
                class="canvas"
                id="figure-panel"
                role=panel
                aria-labelledby=move || panel.map(|_| format!("figure-{}", chosen.get()))
                style:height=height
            >
                <canvas node_ref=canvas role="img" aria-label=label></canvas>
            </div>
        </section>
    }
    .into_any()
}

fn height(figure: &str, width: u32) -> u32 {
    if figure == FIGURES[0].0 { chart::bar_height(width) } else { HEIGHT }
}

/// The chosen figure, laid out for a width in CSS pixels.
fn scene(state: State, answer: &Answer, width: u32) -> Scene {
    let figure = state.figure.get();
    let look = Look {
        palette: if state.dark.get() { &chart::DARK } else { &chart::LIGHT },
        lang: state.lang.get(),
        units: state.units.get(),
        width,
        height: height(figure, width),
    };
    let Answer { config, estimate } = answer;
    match figure {
        "step" => chart::timeline(estimate, &look),
        "batch" => chart::sweep(&what_if(config, &sweep::BATCH), &estimate.fits, &look),
        "seq" => chart::sweep(&what_if(config, &sweep::SEQ), &estimate.fits, &look),
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
    let canvas =
        document().create_element("canvas").ok().and_then(|it| it.dyn_into::<HtmlCanvasElement>().ok());
    let Some(canvas) = canvas else { return };
    let scene = untrack(|| scene(state, answer, whole(SAVED.width)));
    draw(&scene, &canvas, Extent { height: f64::from(scene.height), ..SAVED }, true);
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
