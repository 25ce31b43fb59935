//! The stages of a pipeline: what fills one GPU of each at its own peak, against the GPU's memory.

use std::fmt::Display;

use super::axis::Axis;
use super::bar::ticks;
use super::legend::{self, Item, ROW};
use super::measure::{bold_width, width};
use super::scene::{Align, Paint, Scene};
use super::{LABEL, Look, MARGIN};
use crate::estimate::{Estimate, StagePeak};
use crate::ledger::Block;
use crate::report::share;
use crate::text::{chart as text, ledger};

/// Above the bars: the caption, a second line on a phone, and the name of the line of the card's memory.
const TOP: f64 = 56.0;
const SECOND_LINE: f64 = 20.0;
const CAPTION: f64 = 14.0;
/// Below the bars: the axis.
const AXIS: f64 = 28.0;
const BAR: f64 = 26.0;
/// From one bar to the next; on a phone each has its words above it.
const STEP: f64 = 38.0;
const STEP_NARROW: f64 = 50.0;
/// Between a bar's words and the bar.
const GAP: f64 = 14.0;
/// More bars than these are a list to scroll through: of a longer pipeline some are left out.
const MOST: usize = 16;

/// The stages that have a bar: both ends, the second, the fullest, and others evenly between them.
fn shown(estimate: &Estimate) -> Vec<&StagePeak> {
    let all = &estimate.stages;
    if all.len() <= MOST {
        return all.iter().collect();
    }
    let even = MOST - 2;
    let mut places: Vec<usize> = (0..even).map(|i| i * (all.len() - 1) / (even - 1)).collect();
    places.push(1);
    places.extend(all.iter().position(|stage| stage.stage == estimate.peak.stage));
    places.sort_unstable();
    places.dedup();
    places.into_iter().filter_map(|place| all.get(place)).collect()
}

/// A height in CSS pixels at which every bar has its words, for a width.
pub fn stages_height(estimate: &Estimate, width: u32) -> u32 {
    if estimate.stages.len() <= 1 {
        return 90;
    }
    let narrow = width < Look::NARROW;
    let bars = shown(estimate).len() as f64;
    let step = if narrow { STEP_NARROW } else { STEP };
    // The legend's rows at worst.
    let legend = if narrow { 4.0 } else { 2.0 };
    let second = if narrow && bars < estimate.stages.len() as f64 { SECOND_LINE } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a thousand or two pixels"
    )]
    let height = (TOP + second + bars * step + AXIS + legend * ROW + 4.0) as u32;
    height
}

/// Lays out a bar for each stage: its blocks at its own peak, what lies outside the tensors as a light extension, how
/// many layers it has and how many micro-batches are in flight; the fullest is named, the card's memory a line.
pub fn stages(estimate: &Estimate, look: &Look) -> Scene {
    let mut scene = Scene::new((look.width, look.height), look.palette);
    text::STAGES.get(look.lang).clone_into(&mut scene.title);
    if estimate.stages.len() <= 1 {
        return one(scene, look);
    }
    let rows = shown(estimate);
    let fullest = fullest(estimate, look);
    scene.label = in_words(estimate, look, &rows, &fullest);
    let narrow = look.is_narrow();
    let top = TOP + caption(&mut scene, estimate, look, rows.len(), &fullest);

    let words: Vec<(String, String)> = rows.iter().map(|stage| words(stage, look, narrow)).collect();
    let widest =
        words.iter().map(|(name, runs)| bold_width(name, LABEL).max(width(runs, LABEL))).fold(0.0, f64::max);
    let left = if narrow { MARGIN } else { MARGIN + widest + GAP };
    let right = f64::from(look.width) - MARGIN;
    let device = estimate.stages.iter().map(|stage| stage.device.expected.max(stage.peak)).max();
    let most = estimate.fits.capacity.max(device.unwrap_or(0));
    // A little more than the largest, so that the line of the capacity is not the edge.
    let axis = Axis::new(most.saturating_add(most / 50), left, right);

    let step = if narrow { STEP_NARROW } else { STEP };
    let bottom = top + rows.len() as f64 * step;
    let limit = axis.at(estimate.fits.capacity);
    for (i, (stage, (name, runs))) in rows.iter().zip(&words).enumerate() {
        let from = top + i as f64 * step;
        let bar =
            if narrow { (from + 22.0, from + 22.0 + BAR - 6.0) } else { (from + 3.0, from + 3.0 + BAR) };
        let (colour, middle) = (look.palette.text, f64::midpoint(bar.0, bar.1));
        let at = if narrow { (MARGIN, from + 12.0) } else { (MARGIN, middle - 8.0) };
        if stage.stage == estimate.peak.stage {
            scene.heading(name, at, Align::Left, LABEL, colour);
        } else {
            scene.text(name, at, Align::Left, LABEL, colour);
        }
        let (at, side) =
            if narrow { ((right, from + 12.0), Align::Right) } else { ((MARGIN, middle + 8.0), Align::Left) };
        scene.text(runs, at, side, LABEL, look.palette.muted);
        // On a phone the line crosses the bars only: between them there are words.
        let beyond = if narrow { (bar.0 - 3.0, bar.1 + 3.0) } else { (from, from + step) };
        scene.rect((limit, beyond.0), (right, beyond.1), Paint(look.palette.limit, 0.14));
        draw(&mut scene, look, stage, &axis, limit, bar);
        scene.line(vec![(limit, beyond.0), (limit, beyond.1)], look.palette.limit, 2.0);
    }
    card(&mut scene, estimate, look, (left, limit), top);
    ticks(&mut scene, look, &axis, bottom - 2.0);
    legend::rows(&mut scene, look, &items(&rows, look), bottom + AXIS);
    scene
}

/// The sentence instead of a figure.
fn one(mut scene: Scene, look: &Look) -> Scene {
    let (said, more) = (text::ONE_STAGE.get(look.lang), text::MORE_STAGES.get(look.lang));
    let room = f64::from(look.width) - 2.0 * MARGIN;
    for (y, line) in [(30.0, said), (54.0, more)] {
        // The longest line shrinks a little on the smallest phones.
        let size = LABEL * (room / width(line, LABEL)).min(1.0);
        scene.text(line, (MARGIN, y), Align::Left, size, look.palette.text);
    }
    scene.label = format!("{said} {more}");
    scene
}

/// The fullest stage and its device.
fn fullest(estimate: &Estimate, look: &Look) -> String {
    let band = &estimate.device;
    let values: [(&str, &dyn Display); 4] = [
        ("stage", &estimate.peak.stage),
        ("size", &look.size(band.expected)),
        ("low", &look.size(band.low)),
        ("high", &look.size(band.high)),
    ];
    text::FULLEST.fill(look.lang, &values)
}

/// Which stage is the fullest, and how many there are where not all are shown; returns how much more room it took.
fn caption(scene: &mut Scene, estimate: &Estimate, look: &Look, shown: usize, fullest: &str) -> f64 {
    let room = f64::from(look.width) - 2.0 * MARGIN;
    let size = CAPTION * (room / bold_width(fullest, CAPTION)).min(1.0);
    scene.heading(fullest, (MARGIN, 14.0), Align::Left, size, look.palette.text);
    let fewer = shown < estimate.stages.len();
    if fewer {
        let values: [(&str, &dyn Display); 2] = [("shown", &shown), ("all", &estimate.stages.len())];
        let said = text::STAGES_SHOWN.fill(look.lang, &values);
        let beside = (MARGIN + bold_width(fullest, CAPTION) + 12.0, 14.0);
        let at = if look.is_narrow() { (MARGIN, 33.0) } else { beside };
        scene.text(&said, at, Align::Left, LABEL, look.palette.muted);
    }
    if fewer && look.is_narrow() { SECOND_LINE } else { 0.0 }
}

/// A stage's name with the size of its device, and what it runs.
fn words(stage: &StagePeak, look: &Look, short: bool) -> (String, String) {
    let values: [(&str, &dyn Display); 2] =
        [("stage", &stage.stage), ("size", &look.size(stage.device.expected))];
    let name = text::STAGE.fill(look.lang, &values);
    let sentence = match (stage.chunks > 1, short) {
        (false, false) => text::IN_FLIGHT,
        (false, true) => text::IN_FLIGHT_SHORT,
        (true, false) => text::PASSES_IN_FLIGHT,
        (true, true) => text::PASSES_IN_FLIGHT_SHORT,
    };
    let values: [(&str, &dyn Display); 3] =
        [("layers", &stage.layers), ("chunks", &stage.chunks), ("flight", &stage.in_flight)];
    (name, sentence.fill(look.lang, &values))
}

/// One bar: blocks with their sizes where there is room, then what lies outside the tensors.
fn draw(
    scene: &mut Scene,
    look: &Look,
    stage: &StagePeak,
    axis: &Axis,
    limit: f64,
    (top, bottom): (f64, f64),
) {
    let mut sum = 0_u64;
    for (block, bytes) in stage.blocks.iter().filter(|(_, bytes)| *bytes > 0) {
        let from = axis.at(sum);
        sum = sum.saturating_add(bytes);
        let to = axis.at(sum);
        // A hairline between neighbours, unless it would eat a thin one.
        let gap = if to - from > 4.0 { 1.0 } else { 0.0 };
        scene.rect((from, top), ((to - gap).max(from + 1.0), bottom), look.palette.block(block));
        let label = look.size(bytes);
        let wide = width(&label, LABEL) + 8.0;
        let crossed = limit > from - 4.0 && limit < to + 4.0;
        if to - from >= wide && !crossed {
            let at = (f64::midpoint(from, to), f64::midpoint(top, bottom));
            scene.text(&label, at, Align::Middle, LABEL, look.palette.on_block(block));
        }
    }
    let (from, to) = (axis.at(sum), axis.at(stage.device.expected));
    if to > from {
        scene.rect((from, top), (to, bottom), Paint(look.palette.muted, 0.25));
        scene.outline((from, top), (to, bottom), look.palette.muted);
    }
}

/// The name of the line of the card's memory.
fn card(scene: &mut Scene, estimate: &Estimate, look: &Look, (left, x): (f64, f64), top: f64) {
    let limit = look.palette.limit;
    scene.line(vec![(x, top - 8.0), (x, top)], limit, 2.0);
    let label = look.capacity(&estimate.fits);
    let half = width(&label, LABEL) / 2.0;
    let right = f64::from(look.width) - MARGIN;
    let (at, align) = if x + half > right {
        (right, Align::Right)
    } else if x - half < left {
        (left, Align::Left)
    } else {
        (x, Align::Middle)
    };
    scene.text(&label, (at, top - 17.0), align, LABEL, limit);
}

/// What the colours mean: the blocks that any bar has.
fn items(rows: &[&StagePeak], look: &Look) -> Vec<Item> {
    let there = |block: &Block| rows.iter().any(|stage| stage.blocks.get(*block) > 0);
    let mut items: Vec<Item> = Block::ALL
        .into_iter()
        .filter(there)
        .map(|block| Item {
            colour: look.palette.block(block),
            outlined: false,
            name: ledger::block(block).get(look.lang).to_owned(),
            values: Vec::new(),
        })
        .collect();
    if rows.iter().any(|stage| stage.device.expected > stage.peak) {
        let name = text::OUTSIDE.get(look.lang).to_owned();
        items.push(Item { colour: look.palette.muted, outlined: true, name, values: Vec::new() });
    }
    items
}

fn in_words(estimate: &Estimate, look: &Look, rows: &[&StagePeak], fullest: &str) -> String {
    let mut said: Vec<String> = Vec::with_capacity(rows.len());
    for stage in rows {
        let (name, runs) = words(stage, look, false);
        let mut blocks: Vec<String> = Vec::new();
        for (block, bytes) in stage.blocks.iter().filter(|(_, bytes)| *bytes > 0) {
            let values: [(&str, &dyn Display); 3] = [
                ("block", &ledger::block_inline(block).get(look.lang)),
                ("size", &look.size(bytes)),
                ("share", &share(bytes, stage.peak, look.lang)),
            ];
            blocks.push(text::BLOCK.fill(look.lang, &values));
        }
        let blocks = blocks.join(text::COMMA.get(look.lang));
        let values: [(&str, &dyn Display); 3] = [("stage", &name), ("runs", &runs), ("blocks", &blocks)];
        said.push(text::STAGE_WORDS.fill(look.lang, &values));
    }
    let values: [(&str, &dyn Display); 4] = [
        ("all", &estimate.stages.len()),
        ("stages", &said.join(" ")),
        ("fullest", &fullest),
        ("card", &look.capacity(&estimate.fits)),
    ];
    text::STAGES_LABEL.fill(look.lang, &values)
}
