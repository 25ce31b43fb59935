//! Live tensors over one training step, stacked by block, the peak marked and named.

use super::axis::Axis;
use super::legend::{self, Item, ROW};
use super::measure::width;
use super::scene::{Align, Paint, Point, Scene, Shape};
use super::{Look, TICK, frame};
use crate::estimate::Estimate;
use crate::ledger::Block;
use crate::text::{Text, chart as text, ledger};
use crate::timeline::{Instant, Phase};

/// From the ground up: what lives all the time first, so that what comes and goes lies on level ground.
const STACK: [Block; 5] =
    [Block::Parameters, Block::Optimizer, Block::Gradients, Block::Activations, Block::Overhead];

/// Lays out the step. An instant shows the most that is live within it; instants are spread for legibility, not by
/// their duration.
#[inline(never)] // apart: a first visit has none
pub fn timeline(estimate: &Estimate, look: &Look) -> Scene {
    let mut scene = Scene::new((look.width, look.height), look.palette);
    text::TIMELINE.get(look.lang).clone_into(&mut scene.title);
    scene.label = in_words(estimate, look);

    let items = items(estimate, look);
    let legend_height = legend::row_count(&items, look) as f64 * ROW;
    let legend_top = f64::from(look.height) - legend_height - 2.0;
    let instants = &estimate.timeline;
    let most = instants.iter().map(|instant| instant.live.sum()).max().unwrap_or(0);
    let plot = frame::Plot::new(look, most, estimate.fits.capacity, legend_top - 26.0);
    plot.grid(&mut scene, look);

    let groups = groups(instants, look, &plot);
    let columns = columns(&groups, &plot);
    areas(&mut scene, instants, look, &columns, &plot.y);
    phases(&mut scene, look, &groups, &plot);
    let peak = instants.iter().enumerate().find(|(_, instant)| instant.live.sum() == most);
    let peak_x = peak.and_then(|(i, _)| columns.get(i)).map(|(from, to)| f64::midpoint(*from, *to));
    plot.limit(&mut scene, look, &estimate.fits, peak_x);
    if let (Some(x), Some((_, instant))) = (peak_x, peak) {
        let moment = ledger::moment(instant.moment, look.lang);
        let label = text::PEAK_AT.fill(look.lang, &[("size", &look.size(most)), ("moment", &moment)]);
        plot.flag(&mut scene, look, (x, plot.y.at(most)), &label);
    }
    legend::rows(&mut scene, look, &items, legend_top);
    scene
}

/// Instants of one phase name.
struct Group {
    name: Text,
    count: usize,
    /// Width in pixels.
    wide: f64,
}

const fn name(phase: Phase) -> Text {
    match phase {
        Phase::Embedding | Phase::Forward | Phase::EncoderEnd | Phase::DecoderEmbedding => text::FORWARD,
        Phase::Loss | Phase::LossBackward => text::LOSS,
        Phase::Backward
        | Phase::DecoderEmbeddingBackward
        | Phase::EncoderEndBackward
        | Phase::EmbeddingBackward => text::BACKWARD,
        Phase::Optimizer => text::OPTIMIZER,
        Phase::Always => text::BETWEEN,
    }
}

/// Phases with their share of the width: by their number of instants, but wide enough for their name.
fn groups(instants: &[Instant], look: &Look, plot: &frame::Plot) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for instant in instants {
        let name = name(instant.moment.phase);
        match groups.last_mut() {
            Some(last) if last.name == name => last.count += 1,
            _ => groups.push(Group { name, count: 1, wide: 0.0 }),
        }
    }
    let total = plot.right - plot.left;
    let least = |group: &Group| width(group.name.get(look.lang), TICK) + 10.0;
    let short = |group: &Group| (group.count as f64) / (instants.len() as f64) * total < least(group);
    let taken: f64 = groups.iter().filter(|group| short(group)).map(least).sum();
    let rest: usize = groups.iter().filter(|group| !short(group)).map(|group| group.count).sum();
    for group in &mut groups {
        group.wide = if rest == 0 {
            total * group.count as f64 / instants.len() as f64
        } else if short(group) {
            least(group)
        } else {
            (total - taken).max(0.0) * group.count as f64 / rest as f64
        };
    }
    groups
}

/// From where to where each instant reaches.
fn columns(groups: &[Group], plot: &frame::Plot) -> Vec<(f64, f64)> {
    let mut x = plot.left;
    let mut out = Vec::new();
    for group in groups {
        let step = group.wide / group.count as f64;
        for _ in 0..group.count {
            out.push((x, x + step));
            x += step;
        }
    }
    out
}

fn areas(scene: &mut Scene, instants: &[Instant], look: &Look, columns: &[(f64, f64)], y: &Axis) {
    let mut floor: Vec<u64> = vec![0; instants.len()];
    for block in STACK {
        let ceiling: Vec<u64> = floor
            .iter()
            .zip(instants)
            .map(|(below, instant)| below.saturating_add(instant.live.get(block)))
            .collect();
        if ceiling != floor {
            let mut outline = edge(columns, &ceiling, y);
            outline.extend(edge(columns, &floor, y).into_iter().rev());
            scene.shapes.push(Shape::Area(outline, Paint::from(look.palette.block(block))));
        }
        floor = ceiling;
    }
}

/// A staircase: each instant is level.
fn edge(columns: &[(f64, f64)], heights: &[u64], y: &Axis) -> Vec<Point> {
    columns
        .iter()
        .zip(heights)
        .flat_map(|((from, to), height)| [(*from, y.at(*height)), (*to, y.at(*height))])
        .collect()
}

fn phases(scene: &mut Scene, look: &Look, groups: &[Group], plot: &frame::Plot) {
    let mut x = plot.left;
    for (i, group) in groups.iter().enumerate() {
        if i > 0 {
            scene.line(vec![(x, plot.bottom), (x, plot.bottom + 7.0)], look.palette.muted, 1.0);
        }
        let middle = (x + group.wide / 2.0, plot.bottom + 13.0);
        scene.text(group.name.get(look.lang), middle, Align::Middle, TICK, look.palette.muted);
        x += group.wide;
    }
}

fn items(estimate: &Estimate, look: &Look) -> Vec<Item> {
    let lives = |block: &Block| estimate.timeline.iter().any(|instant| instant.live.get(*block) > 0);
    let item = |block| Item {
        colour: look.palette.block(block),
        outlined: false,
        name: ledger::block(block).get(look.lang).to_owned(),
        values: Vec::new(),
    };
    Block::ALL.into_iter().filter(lives).map(item).collect()
}

fn in_words(estimate: &Estimate, look: &Look) -> String {
    let at = |instant: Option<&Instant>| look.size(instant.map_or(0, |instant| instant.live.sum()));
    let values: [(&str, &dyn std::fmt::Display); 5] = [
        ("start", &at(estimate.timeline.first())),
        ("peak", &look.size(estimate.peak.bytes)),
        ("moment", &ledger::moment(estimate.peak.moment, look.lang)),
        ("end", &at(estimate.timeline.last())),
        ("card", &look.capacity(&estimate.fits)),
    ];
    text::TIMELINE_LABEL.fill(look.lang, &values)
}
