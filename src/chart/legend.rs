//! Rows of swatches with names: what the colours mean, and the segments too small to carry their own label.

use super::measure::width;
use super::palette::Rgb;
use super::scene::{Align, Paint, Scene};
use super::{LABEL, Look, MARGIN};

/// Height of one row (CSS pixels).
pub(super) const ROW: f64 = 21.0;
const SWATCH: f64 = 11.0;
const GAP: f64 = 22.0;

/// One entry.
pub(super) struct Item {
    /// Colour of the swatch.
    pub(super) colour: Rgb,
    /// Whether the swatch is an outline, for what is known as a range only.
    pub(super) outlined: bool,
    /// Name.
    pub(super) name: String,
    /// Size, share and the like: columns of a list, joined in a row.
    pub(super) values: Vec<String>,
}

impl Item {
    fn text(&self) -> String {
        let mut text = self.name.clone();
        for (i, value) in self.values.iter().enumerate() {
            text.push_str(if i == 0 { " " } else { " · " });
            text.push_str(value);
        }
        text
    }
}

/// Which row each item stands in, from left to right with wrapping, and where.
fn flow(items: &[Item], look: &Look) -> Vec<(usize, f64)> {
    let right = f64::from(look.width) - MARGIN;
    let (mut row, mut x) = (0, MARGIN);
    items
        .iter()
        .map(|item| {
            let wide = SWATCH + 6.0 + width(&item.text(), LABEL);
            if x > MARGIN && x + wide > right {
                (row, x) = (row + 1, MARGIN);
            }
            let here = (row, x);
            x += wide + GAP;
            here
        })
        .collect()
}

/// How many rows [`rows`] needs.
pub(super) fn row_count(items: &[Item], look: &Look) -> usize {
    flow(items, look).last().map_or(0, |(row, _)| row + 1)
}

/// Items side by side, as many a row as fit.
pub(super) fn rows(scene: &mut Scene, look: &Look, items: &[Item], top: f64) {
    for (item, (row, x)) in items.iter().zip(flow(items, look)) {
        let y = top + (row as f64 + 0.5) * ROW;
        swatch(scene, item, x, y);
        scene.text(&item.text(), (x + SWATCH + 6.0, y), Align::Left, LABEL, look.palette.text);
    }
}

/// Items below each other, values in columns at the right edge.
pub(super) fn list(scene: &mut Scene, look: &Look, items: &[Item], top: f64) {
    let columns = items.iter().map(|item| item.values.len()).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = items.iter().filter_map(|item| item.values.get(column));
        cells.map(|value| width(value, LABEL)).fold(0.0, f64::max)
    };
    for (row, item) in items.iter().enumerate() {
        let y = top + (row as f64 + 0.5) * ROW;
        swatch(scene, item, MARGIN, y);
        scene.text(&item.name, (MARGIN + SWATCH + 6.0, y), Align::Left, LABEL, look.palette.text);
        let mut x = f64::from(look.width) - MARGIN;
        for column in (0..columns).rev() {
            if let Some(value) = item.values.get(column) {
                scene.text(value, (x, y), Align::Right, LABEL, look.palette.text);
            }
            x -= widest(column) + 14.0;
        }
    }
}

fn swatch(scene: &mut Scene, item: &Item, x: f64, y: f64) {
    let (top, bottom) = (y - SWATCH / 2.0, y + SWATCH / 2.0);
    if item.outlined {
        scene.rect((x, top), (x + SWATCH, bottom), Paint(item.colour, 0.25));
        scene.outline((x, top), (x + SWATCH, bottom), item.colour);
    } else {
        scene.rect((x, top), (x + SWATCH, bottom), item.colour);
    }
}
