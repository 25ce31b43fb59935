//! Axes of sizes: a scale from bytes to pixels, and round numbers along it.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;

use crate::config::Units;

/// A linear scale of bytes along one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    most: u64,
    from: f64,
    to: f64,
}

/// A round number on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where, in pixels.
    pub(super) at: f64,
    /// The number, without its unit.
    pub(super) number: String,
}

impl Axis {
    /// From 0 bytes at `from` to `most` bytes at `to` (pixels).
    pub(super) fn new(most: u64, from: f64, to: f64) -> Self {
        Self { most: most.max(1), from, to }
    }

    /// The pixel of a size.
    pub(super) fn at(&self, bytes: u64) -> f64 {
        self.from + (self.to - self.from) * (bytes as f64 / self.most as f64)
    }

    /// Round numbers, at most `count` of them, and their unit: that in which the far end is a handy number.
    pub(super) fn ticks(&self, units: Units, count: usize) -> (Vec<Tick>, &'static str) {
        let (steps, base) = match units {
            Units::Gib => (["MiB", "GiB", "TiB"], 1024.0_f64),
            Units::Gb => (["MB", "GB", "TB"], 1000.0_f64),
        };
        let (mut unit, mut name) = (base * base, steps[0]);
        for next in &steps[1..] {
            // Memory is spoken of in GiB even where it is a few thousand.
            let enough = if *next == steps[2] { 9.0 } else { 2.0 };
            if self.most as f64 >= unit * base * enough {
                (unit, name) = (unit * base, next);
            }
        }
        let range = RangedCoordf64::from(0.0..self.most as f64 / unit);
        let ticks = range.key_points(count.max(2)).into_iter();
        let ticks = ticks.map(|value| Tick {
            at: self.from + (self.to - self.from) * (value * unit / self.most as f64),
            number: decimal(value),
        });
        (ticks.collect(), name)
    }
}

/// At most two decimals, as many as needed: round numbers need no more.
fn decimal(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ticks are small and positive"
    )]
    let hundredths = (value * 100.0).round() as u64;
    match (hundredths / 100, hundredths % 100) {
        (whole, 0) => whole.to_string(),
        (whole, part) if part % 10 == 0 => format!("{whole}.{}", part / 10),
        (whole, part) => format!("{whole}.{part:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(most: u64, units: Units) -> (Vec<String>, &'static str) {
        let (ticks, unit) = Axis::new(most, 0.0, 100.0).ticks(units, 6);
        (ticks.into_iter().map(|tick| tick.number).collect(), unit)
    }

    #[test]
    fn ticks_are_round_in_the_unit_shown() {
        let (ticks, unit) = numbers(82 << 30, Units::Gib);
        assert_eq!((ticks.join(" ").as_str(), unit), ("0 20 40 60 80", "GiB"));
        let (ticks, unit) = numbers(82 << 30, Units::Gb);
        assert_eq!((ticks.join(" ").as_str(), unit), ("0 20 40 60 80", "GB"));
        let (ticks, unit) = numbers(700 << 20, Units::Gib);
        assert_eq!((ticks.join(" ").as_str(), unit), ("0 200 400 600", "MiB"));
        let (ticks, unit) = numbers(3 << 30, Units::Gib);
        assert_eq!((ticks.join(" ").as_str(), unit), ("0 1 2 3", "GiB"));
    }

    #[test]
    fn ticks_lie_where_their_numbers_are() {
        let axis = Axis::new(100 << 30, 10.0, 210.0);
        let (ticks, _) = axis.ticks(Units::Gib, 6);
        for tick in ticks {
            let bytes = tick.number.parse::<u64>().unwrap() << 30;
            assert!((tick.at - axis.at(bytes)).abs() < 1e-6);
        }
    }

    #[test]
    fn the_extremes_are_drawn_too() {
        for most in [0, 1, u64::MAX] {
            let (ticks, _) = numbers(most, Units::Gib);
            assert!(!ticks.is_empty() && ticks.len() <= 12, "{most}: {ticks:?}");
        }
    }
}
