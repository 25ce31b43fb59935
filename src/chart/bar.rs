//! The article's one picture: the blocks at the peak as one stacked bar, against the GPU's memory.

use super::axis::Axis;
use super::legend::{self, Item, ROW};
use super::measure::{bold_width, width};
use super::scene::{Align, Paint, Scene};
use super::{LABEL, Look, MARGIN, TICK};
use crate::estimate::Estimate;
use crate::ledger::Block;
use crate::report::share;
use crate::text::{chart as text, ledger};

const CAPTION: f64 = 14.0;
const AXIS: f64 = 26.0;
const THINNEST: f64 = 40.0;
const THICKEST: f64 = 96.0;

/// A height in CSS pixels at which the bar is neither thin nor tall, for a width.
pub fn bar_height(width: u32) -> u32 {
    if width < Look::NARROW { 276 } else { 188 }
}

/// One block of the bar.
struct Segment {
    block: Block,
    from: f64,
    to: f64,
    /// The part that can be written on: the wider side of the line of the card's memory, where that crosses it.
    room: (f64, f64),
    name: &'static str,
    size: String,
    share: String,
}

/// Lays out the bar: name, size and share of each block on it or beside it, what lies outside the tensors as a light
/// extension with its range, the card's memory as a line.
pub fn bar(estimate: &Estimate, look: &Look) -> Scene {
    let (wide, high) = (f64::from(look.width), f64::from(look.height));
    let mut scene = Scene::new((look.width, look.height), look.palette);
    let moment = ledger::moment(estimate.peak.moment, look.lang);
    let expected = look.size(estimate.device.expected);
    let below_caption = caption(&mut scene, estimate, look, &moment, &expected);
    text::BAR.get(look.lang).clone_into(&mut scene.title);
    scene.label = in_words(estimate, look, &moment, &expected);

    let most = estimate.fits.capacity.max(estimate.device.high).max(estimate.peak.bytes);
    // A little more than the largest, so that the line of the capacity is not the edge.
    let axis = Axis::new(most.saturating_add(most / 50), MARGIN, wide - MARGIN);
    let segments = segments(estimate, look, &axis);
    let items = items(estimate, look, &segments);
    let rows = if look.is_narrow() { items.len() } else { legend::row_count(&items, look) };
    let below = AXIS + rows as f64 * ROW + 4.0;
    let top = below_caption + 36.0;
    let bottom = top + (high - top - below).clamp(THINNEST, THICKEST);

    over_capacity(&mut scene, estimate, look, &axis, (top, bottom));
    for segment in &segments {
        draw_segment(&mut scene, look, segment, (top, bottom));
    }
    outside(&mut scene, estimate, look, &axis, (top, bottom));
    capacity(&mut scene, estimate, look, &axis, (top, bottom));
    whisker(&mut scene, estimate, look, &axis, f64::midpoint(top, bottom));
    ticks(&mut scene, look, &axis, bottom);
    if look.is_narrow() {
        legend::list(&mut scene, look, &items, bottom + AXIS);
    } else {
        legend::rows(&mut scene, look, &items, bottom + AXIS);
    }
    scene
}

/// How much, within which range, and when; returns where it ends.
fn caption(scene: &mut Scene, estimate: &Estimate, look: &Look, moment: &str, expected: &str) -> f64 {
    let (low, high) = (look.size(estimate.device.low), look.size(estimate.device.high));
    let values: [(&str, &dyn std::fmt::Display); 3] = [("size", &expected), ("low", &low), ("high", &high)];
    let peak = text::PEAK_RANGE.fill(look.lang, &values);
    scene.heading(&peak, (MARGIN, 14.0), Align::Left, CAPTION, look.palette.text);
    let beside = (MARGIN + bold_width(&peak, CAPTION) + 12.0, 14.0);
    let at = if look.is_narrow() { (MARGIN, 33.0) } else { beside };
    scene.text(moment, at, Align::Left, LABEL, look.palette.muted);
    at.1 + 4.0
}

fn segments(estimate: &Estimate, look: &Look, axis: &Axis) -> Vec<Segment> {
    let limit = axis.at(estimate.fits.capacity);
    let mut sum = 0_u64;
    let mut out = Vec::with_capacity(Block::ALL.len());
    for (block, bytes) in estimate.peak.blocks.iter().filter(|(_, bytes)| *bytes > 0) {
        let from = axis.at(sum);
        sum = sum.saturating_add(bytes);
        let to = axis.at(sum);
        let room = match (limit - 4.0, limit + 4.0) {
            (before, after) if after < from || before > to => (from, to),
            (before, after) if before - from > to - after => (from, before),
            (_, after) => (after, to),
        };
        out.push(Segment {
            block,
            from,
            to,
            room,
            name: ledger::block(block).get(look.lang),
            size: look.size(bytes),
            share: share(bytes, estimate.peak.bytes, look.lang),
        });
    }
    out
}

impl Segment {
    /// The second line of its label.
    fn values(&self) -> String {
        format!("{} · {}", self.size, self.share)
    }

    /// Whether name, size and share can be written on it.
    fn holds_all(&self) -> bool {
        self.room.1 - self.room.0 >= bold_width(self.name, LABEL).max(width(&self.values(), LABEL)) + 12.0
    }

    fn holds_share(&self) -> bool {
        self.room.1 - self.room.0 >= width(&self.share, LABEL) + 8.0
    }
}

fn draw_segment(scene: &mut Scene, look: &Look, segment: &Segment, (top, bottom): (f64, f64)) {
    // A hairline between neighbours, unless it would eat a thin one.
    let gap = if segment.to - segment.from > 4.0 { 1.0 } else { 0.0 };
    let to = (segment.to - gap).max(segment.from + 1.0);
    scene.rect((segment.from, top), (to, bottom), look.palette.block(segment.block));
    let ink = look.palette.on_block(segment.block);
    let middle = f64::midpoint(top, bottom);
    if !look.is_narrow() && segment.holds_all() {
        let x = segment.room.0 + 7.0;
        scene.heading(segment.name, (x, middle - 8.0), Align::Left, LABEL, ink);
        scene.text(&segment.values(), (x, middle + 9.0), Align::Left, LABEL, ink);
    } else if segment.holds_share() {
        let x = f64::midpoint(segment.room.0, segment.room.1);
        scene.text(&segment.share, (x, middle), Align::Middle, LABEL, ink);
    }
}

/// What the bar could not say: the small segments (all of them on a phone), and what lies outside the tensors.
fn items(estimate: &Estimate, look: &Look, segments: &[Segment]) -> Vec<Item> {
    let unsaid = segments.iter().filter(|segment| look.is_narrow() || !segment.holds_all());
    let mut items: Vec<Item> = unsaid
        .map(|segment| Item {
            colour: look.palette.block(segment.block),
            outlined: false,
            name: segment.name.to_owned(),
            values: vec![segment.size.clone(), segment.share.clone()],
        })
        .collect();
    let outside = estimate.device.expected.saturating_sub(estimate.peak.bytes);
    if outside > 0 {
        items.push(Item {
            colour: look.palette.muted,
            outlined: true,
            name: text::OUTSIDE.get(look.lang).to_owned(),
            values: vec![look.size(outside)],
        });
    }
    items
}

/// What the device holds outside the tensors, up to the expected total.
fn outside(scene: &mut Scene, estimate: &Estimate, look: &Look, axis: &Axis, (top, bottom): (f64, f64)) {
    let muted = look.palette.muted;
    let (from, expected) = (axis.at(estimate.peak.bytes), axis.at(estimate.device.expected));
    if expected > from {
        scene.rect((from, top), (expected, bottom), Paint(muted, 0.25));
        scene.outline((from, top), (expected, bottom), muted);
    }
}

/// The range of the total.
fn whisker(scene: &mut Scene, estimate: &Estimate, look: &Look, axis: &Axis, middle: f64) {
    let (low, high) = (estimate.device.low.max(estimate.peak.bytes), estimate.device.high);
    if high <= low {
        return;
    }
    let muted = look.palette.muted;
    let (low, high) = (axis.at(low), axis.at(high));
    scene.line(vec![(low, middle), (high, middle)], muted, 2.0);
    for end in [low, high] {
        scene.line(vec![(end, middle - 6.0), (end, middle + 6.0)], muted, 2.0);
    }
}

/// The ground beyond the card's memory.
fn over_capacity(
    scene: &mut Scene,
    estimate: &Estimate,
    look: &Look,
    axis: &Axis,
    (top, bottom): (f64, f64),
) {
    let from = axis.at(estimate.fits.capacity);
    let right = f64::from(look.width) - MARGIN;
    scene.rect((from, top - 6.0), (right, bottom + 6.0), Paint(look.palette.limit, 0.14));
}

fn capacity(scene: &mut Scene, estimate: &Estimate, look: &Look, axis: &Axis, (top, bottom): (f64, f64)) {
    let limit = look.palette.limit;
    let x = axis.at(estimate.fits.capacity);
    // A seam on both sides, where the bar goes on behind the line.
    scene.line(vec![(x, top), (x, bottom)], look.palette.background, 5.0);
    scene.line(vec![(x, top - 8.0), (x, bottom + 6.0)], limit, 2.0);
    let label = look.capacity(&estimate.fits);
    let half = width(&label, LABEL) / 2.0;
    let right = f64::from(look.width) - MARGIN;
    let (at, align) = if x + half > right {
        (right, Align::Right)
    } else if x - half < MARGIN {
        (MARGIN, Align::Left)
    } else {
        (x, Align::Middle)
    };
    scene.text(&label, (at, top - 17.0), align, LABEL, limit);
}

pub(super) fn ticks(scene: &mut Scene, look: &Look, axis: &Axis, bottom: f64) {
    let right = f64::from(look.width) - MARGIN;
    let (ticks, unit) = axis.ticks(look.units, (look.width / 70).max(3) as usize);
    let last = ticks.len().saturating_sub(1);
    for (i, tick) in ticks.iter().enumerate() {
        scene.line(vec![(tick.at, bottom + 6.0), (tick.at, bottom + 10.0)], look.palette.muted, 1.0);
        let label = if i == last { format!("{} {unit}", tick.number) } else { tick.number.clone() };
        let half = width(&label, TICK) / 2.0;
        let at = tick.at.clamp(MARGIN + half, right - half);
        scene.text(&label, (at, bottom + 17.0), Align::Middle, TICK, look.palette.muted);
    }
}

fn in_words(estimate: &Estimate, look: &Look, moment: &str, expected: &str) -> String {
    let mut blocks = String::new();
    for (block, bytes) in estimate.peak.blocks.iter().filter(|(_, bytes)| *bytes > 0) {
        if !blocks.is_empty() {
            blocks.push_str(text::COMMA.get(look.lang));
        }
        let name = ledger::block_inline(block).get(look.lang);
        let share = share(bytes, estimate.peak.bytes, look.lang);
        let values: [(&str, &dyn std::fmt::Display); 3] =
            [("block", &name), ("size", &look.size(bytes)), ("share", &share)];
        blocks.push_str(&text::BLOCK.fill(look.lang, &values));
    }
    let values: [(&str, &dyn std::fmt::Display); 6] = [
        ("moment", &moment),
        ("blocks", &blocks),
        ("expected", &expected),
        ("low", &look.size(estimate.device.low)),
        ("high", &look.size(estimate.device.high)),
        ("card", &look.capacity(&estimate.fits)),
    ];
    text::BAR_LABEL.fill(look.lang, &values)
}
