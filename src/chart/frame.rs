//! What timeline and sweep share: the plot's frame, grid, capacity line and flags.

use super::axis::Axis;
use super::measure::{bold_width, width};
use super::scene::{Align, Paint, Scene};
use super::{LABEL, Look, MARGIN, TICK};
use crate::estimate::Fit;

/// Above the plot: a flag and the unit of the axis.
const TOP: f64 = 38.0;
/// A flag's text stands here.
const FLAG: f64 = 10.0;

/// The rectangle of a plot, sizes upwards.
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
    pub(super) top: f64,
    pub(super) y: Axis,
}

impl Plot {
    /// A plot that shows `most` bytes, and the capacity where that does not flatten everything else.
    pub(super) fn new(look: &Look, most: u64, capacity: u64, bottom: f64) -> Self {
        let shown = if capacity / 3 < most { most.max(capacity) } else { most };
        let bottom = bottom.max(TOP + 40.0);
        let y = Axis::new(shown.saturating_add(shown / 16), bottom, TOP);
        Self { left: MARGIN + 34.0, right: f64::from(look.width) - MARGIN, bottom, y, top: TOP }
    }

    /// Horizontal lines at round sizes.
    pub(super) fn grid(&self, scene: &mut Scene, look: &Look) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a plot is a few hundred pixels high"
        )]
        let count = ((self.bottom - self.top) / 36.0) as usize + 1;
        let (ticks, unit) = self.y.ticks(look.units, count);
        for tick in &ticks {
            scene.line(vec![(self.left, tick.at), (self.right, tick.at)], look.palette.grid, 1.0);
            scene.text(&tick.number, (self.left - 6.0, tick.at), Align::Right, TICK, look.palette.muted);
        }
        scene.text(unit, (self.left - 6.0, self.top - 13.0), Align::Right, TICK, look.palette.muted);
    }

    /// The card's memory, named at the end that is farther from `busy` (pixels). Beyond the upper edge, its name
    /// stands there alone.
    pub(super) fn limit(&self, scene: &mut Scene, look: &Look, fit: &Fit, busy: Option<f64>) {
        let colour = look.palette.limit;
        let y = self.y.at(fit.capacity);
        let mut card = look.short_capacity(fit);
        let left = busy.is_none_or(|x| x > f64::midpoint(self.left, self.right));
        let (x, align) = if left { (self.left + 6.0, Align::Left) } else { (self.right - 6.0, Align::Right) };
        if y < self.top {
            card.push_str(" ↑");
            scene.text(&card, (x, self.top + 8.0), align, LABEL, colour);
            return;
        }
        scene.line(vec![(self.left, y), (self.right, y)], Paint(look.palette.background, 0.7), 5.0);
        scene.line(vec![(self.left, y), (self.right, y)], colour, 2.0);
        // Above the line, on its own ground: what is stacked may reach beyond.
        let wide = width(&card, LABEL) + 8.0;
        let from = if left { x - 4.0 } else { x + 4.0 - wide };
        scene.rect((from, y - 19.0), (from + wide, y - 3.0), Paint(look.palette.background, 0.85));
        scene.text(&card, (x, y - 11.0), align, LABEL, colour);
    }

    /// A marked point, named above the plot.
    pub(super) fn flag(&self, scene: &mut Scene, look: &Look, (x, y): (f64, f64), label: &str) {
        let colour = look.palette.text;
        scene.line(vec![(x, FLAG + 9.0), (x, y)], colour, 1.0);
        scene.dot((x, y), 4.5, look.palette.background);
        scene.dot((x, y), 3.5, colour);
        let wide = bold_width(label, LABEL);
        // The longest names shrink a little on the smallest phones.
        let size = LABEL * ((self.right - MARGIN) / wide).min(1.0);
        let half = wide.min(self.right - MARGIN) / 2.0;
        let (at, align) = if x + half > self.right {
            (self.right, Align::Right)
        } else if x - half < MARGIN {
            (MARGIN, Align::Left)
        } else {
            (x, Align::Middle)
        };
        scene.heading(label, (at, FLAG), align, size, colour);
    }
}
