//! Memory over one key: the expected line with its band, the card's memory, the largest value that fits.

use super::axis::Axis;
use super::measure::width;
use super::scene::{Align, Paint, Point as At, Scene, Shape};
use super::{LABEL, Look, TICK, frame};
use crate::estimate::Fit;
use crate::ledger::Block;
use crate::sweep::{Bound, MOST, Point, WhatIf};
use crate::text::{Text, chart as text};
use crate::units::thousands;

/// Lays out a sweep; values lie on a logarithmic axis, since each doubles the one before. `fit` names the card.
#[inline(never)] // apart: a first visit has none
pub fn sweep(what_if: &WhatIf, fit: &Fit, look: &Look) -> Scene {
    let mut scene = Scene::new((look.width, look.height), look.palette);
    let name = what_if.variable.name.get(look.lang);
    scene.title = text::SWEEP.fill(look.lang, &[("key", &name)]);
    let fits = fits(what_if, look);
    scene.label = in_words(what_if, fit, look, &fits);

    // A single wild value must not flatten the rest: twice the card is far enough to see the crossing.
    let highest = what_if.points.iter().map(|point| point.device.high).max().unwrap_or(0);
    let now = what_if.points.iter().find(|point| point.value == what_if.current);
    let now = now.map_or(0, |point| point.device.high);
    let most = highest.min(fit.capacity.saturating_mul(2).max(now.saturating_add(now / 2)));
    let plot = frame::Plot::new(look, most, fit.capacity, f64::from(look.height) - 40.0);
    plot.grid(&mut scene, look);
    let x = Values::new(what_if, &plot);
    band(&mut scene, look, &what_if.points, &x, &plot.y, most);
    line(&mut scene, look, &what_if.points, &x, &plot.y, most);
    values(&mut scene, look, what_if, &x, &plot, name);

    let (Bound::Most { sure, .. } | Bound::Least { sure, .. }) = what_if.bound;
    let largest = sure.filter(|value| *value < MOST);
    let flag_x = largest.map(|value| x.at(value).clamp(plot.left, plot.right));
    plot.limit(&mut scene, look, fit, flag_x.or(Some(plot.right)));
    current(&mut scene, look, what_if, &x, &plot, most);
    match (largest, flag_x) {
        (Some(value), Some(at)) => {
            let bytes = between(&what_if.points, value).unwrap_or(fit.capacity);
            plot.flag(&mut scene, look, (at, plot.y.at(bytes.min(most))), &fits);
        }
        _ => scene.heading(&fits, (plot.left, 10.0), Align::Left, LABEL, look.palette.text),
    }
    scene
}

/// Where values lie.
struct Values {
    from: f64,
    to: f64,
    least: f64,
    octaves: f64,
}

impl Values {
    fn new(what_if: &WhatIf, plot: &frame::Plot) -> Self {
        let value = |point: Option<&Point>| point.map_or(1.0, |point| (point.value.max(1) as f64).log2());
        let (least, most) = (value(what_if.points.first()), value(what_if.points.last()));
        Self { from: plot.left + 14.0, to: plot.right - 14.0, least, octaves: (most - least).max(1.0) }
    }

    fn at(&self, value: u64) -> f64 {
        self.from + (self.to - self.from) * ((value.max(1) as f64).log2() - self.least) / self.octaves
    }
}

/// The points of a rising line up to `most`, where it is cut.
fn rising(points: &[Point], of: fn(&Point) -> u64, x: &Values, y: &Axis, most: u64) -> Vec<At> {
    let mut out: Vec<At> = Vec::with_capacity(points.len());
    let mut before: Option<(At, u64)> = None;
    for point in points {
        let bytes = of(point);
        let at = (x.at(point.value), y.at(bytes));
        if bytes > most {
            if let Some((from, low)) = before {
                let part = (most - low) as f64 / (bytes - low) as f64;
                out.push((from.0 + (at.0 - from.0) * part, y.at(most)));
            }
            break;
        }
        out.push(at);
        before = Some((at, bytes));
    }
    out
}

fn band(scene: &mut Scene, look: &Look, points: &[Point], x: &Values, y: &Axis, most: u64) {
    let mut outline = rising(points, |point| point.device.high, x, y, most);
    let lower = rising(points, |point| point.device.low, x, y, most);
    // Where only the upper edge was cut, the band goes on along the edge of the plot.
    if let (Some(high), Some(low)) = (outline.last(), lower.last())
        && low.0 > high.0
    {
        outline.push((low.0, y.at(most)));
    }
    outline.extend(lower.into_iter().rev());
    if outline.len() > 2 {
        let colour = look.palette.block(Block::Parameters);
        scene.shapes.push(Shape::Area(outline, Paint(colour, 0.22)));
    }
}

fn line(scene: &mut Scene, look: &Look, points: &[Point], x: &Values, y: &Axis, most: u64) {
    let colour = look.palette.block(Block::Parameters);
    let line = rising(points, |point| point.device.expected, x, y, most);
    if line.len() > 1 {
        scene.line(line, colour, 2.5);
    }
    for point in points.iter().filter(|point| point.device.expected <= most) {
        scene.dot((x.at(point.value), y.at(point.device.expected)), 3.0, colour);
    }
}

/// The value in use, named where the line and the card's memory leave room.
fn current(scene: &mut Scene, look: &Look, what_if: &WhatIf, x: &Values, plot: &frame::Plot, most: u64) {
    let Some(point) = what_if.points.iter().find(|point| point.value == what_if.current) else { return };
    if point.device.expected > most {
        return;
    }
    let at = (x.at(point.value), plot.y.at(point.device.expected));
    scene.dot(at, 6.0, look.palette.text);
    scene.dot(at, 4.0, look.palette.block(Block::Parameters));
    let label = text::NOW
        .fill(look.lang, &[("value", &short(point.value)), ("size", &look.size(point.device.expected))]);
    let wide = width(&label, LABEL);
    let line = rising(&what_if.points, |point| point.device.expected, x, &plot.y, most);
    let limit = plot.y.at(point.capacity);
    let places = [
        (at.0 + 10.0, at.1 + 17.0),
        (at.0 - 10.0 - wide, at.1 - 17.0),
        (at.0 - 2.0, at.1 - 19.0),
        (at.0 - 2.0, at.1 - 38.0),
        (at.0 - 10.0 - wide, at.1 + 17.0),
    ];
    // The name of the card stands on its line.
    let is_clear = |(left, y): At| {
        let inside = left >= plot.left + 2.0 && left + wide <= plot.right;
        let upright = y >= plot.top + 9.0 && y <= plot.bottom - 9.0;
        inside && upright && !(limit - 29.0..=limit + 12.0).contains(&y)
    };
    let is_free = |(left, y): At| {
        let crossed = |pair: &[At]| crosses(pair[0], pair[1], left, left + wide, y - 9.0, y + 9.0);
        !line.windows(2).any(crossed)
    };
    let clear = || places.into_iter().filter(|place| is_clear(*place));
    let (left, y) = clear()
        .find(|place| is_free(*place))
        .or_else(|| clear().next())
        .unwrap_or((places[0].0.clamp(plot.left, plot.right - wide), limit + 17.0));
    scene.rect((left - 3.0, y - 8.0), (left + wide + 3.0, y + 8.0), Paint(look.palette.background, 0.8));
    scene.text(&label, (left, y), Align::Left, LABEL, look.palette.text);
}

/// Whether a line from left to right passes through a rectangle.
fn crosses(from: At, to: At, left: f64, right: f64, top: f64, bottom: f64) -> bool {
    let (start, end) = (from.0.max(left), to.0.min(right));
    if start > end {
        return false;
    }
    let height = |x: f64| {
        if to.0 > from.0 { from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0) } else { from.1 }
    };
    let (a, b) = (height(start), height(end));
    a.max(b) >= top && a.min(b) <= bottom
}

/// Values along the axis, as many as fit.
fn values(scene: &mut Scene, look: &Look, what_if: &WhatIf, x: &Values, plot: &frame::Plot, name: &str) {
    let mut free = f64::MIN;
    for point in &what_if.points {
        let (at, label) = (x.at(point.value), short(point.value));
        let half = width(&label, TICK) / 2.0;
        scene.line(vec![(at, plot.bottom), (at, plot.bottom + 4.0)], look.palette.muted, 1.0);
        if at - half > free {
            scene.text(&label, (at, plot.bottom + 12.0), Align::Middle, TICK, look.palette.muted);
            free = at + half + 6.0;
        }
    }
    let label = format!("{name} ({})", what_if.variable.key());
    scene.text(&label, (plot.right, plot.bottom + 29.0), Align::Right, TICK, look.palette.muted);
}

/// `8k` for 8192, as people say it of sequences; other numbers as they are.
fn short(value: u64) -> String {
    match value {
        0 => "0".to_owned(),
        value if value.is_multiple_of(1 << 20) => format!("{}M", value >> 20),
        value if value.is_multiple_of(1 << 10) => format!("{}k", value >> 10),
        value => thousands(value),
    }
}

/// The expected size at a value between two points, on the line that is drawn.
fn between(points: &[Point], value: u64) -> Option<u64> {
    let after = points.iter().position(|point| point.value >= value)?;
    let right = points.get(after)?;
    let Some(left) = after.checked_sub(1).and_then(|i| points.get(i)) else {
        return Some(right.device.expected);
    };
    let log = |value: u64| (value.max(1) as f64).log2();
    let part = (log(value) - log(left.value)) / (log(right.value) - log(left.value));
    let rise = right.device.expected.saturating_sub(left.device.expected) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two sizes")]
    let more = (rise * part) as u64;
    Some(left.device.expected.saturating_add(more))
}

/// What fits, in words.
fn fits(what_if: &WhatIf, look: &Look) -> String {
    let value = |value: &u64| short(*value);
    let first = what_if.points.first().map_or(1, |point| point.value);
    let one = |text: Text, number: u64| text.fill(look.lang, &[("value", &value(&number))]);
    match what_if.bound {
        Bound::Most { sure: Some(MOST..), .. } => text::ALWAYS_FITS.get(look.lang).to_owned(),
        Bound::Most { sure: Some(largest), tight: Some(tight) } if tight > largest => {
            text::LARGEST_TIGHT.fill(look.lang, &[("value", &value(&largest)), ("tight", &value(&tight))])
        }
        Bound::Most { sure: Some(largest), .. } => one(text::LARGEST, largest),
        Bound::Most { sure: None, tight: Some(tight) } => {
            text::ONLY_TIGHT.fill(look.lang, &[("tight", &value(&tight))])
        }
        Bound::Most { sure: None, tight: None } => one(text::NONE_FITS, 1),
        Bound::Least { sure: Some(least), .. } if least == first => {
            text::ALWAYS_FITS.get(look.lang).to_owned()
        }
        Bound::Least { sure: Some(least), .. } => one(text::FITS_FROM, least),
        Bound::Least { sure: None, tight: Some(least) } => one(text::TIGHT_FROM, least),
        Bound::Least { sure: None, tight: None } => {
            one(text::NONE_FITS, what_if.points.last().map_or(first, |point| point.value))
        }
    }
}

fn in_words(what_if: &WhatIf, fit: &Fit, look: &Look, fits: &str) -> String {
    let mut points = String::new();
    for point in &what_if.points {
        if !points.is_empty() {
            points.push_str(text::COMMA.get(look.lang));
        }
        let values: [(&str, &dyn std::fmt::Display); 2] =
            [("value", &short(point.value)), ("size", &look.size(point.device.expected))];
        points.push_str(&text::POINT.fill(look.lang, &values));
    }
    let name = what_if.variable.name.get(look.lang);
    let values: [(&str, &dyn std::fmt::Display); 4] =
        [("key", &name), ("points", &points), ("card", &look.capacity(fit)), ("fits", &fits)];
    text::SWEEP_LABEL.fill(look.lang, &values)
}
