//! What if: the estimate over many values of one key, and the largest value that fits.

use crate::config::Config;
use crate::estimate::{Band, Estimate, Verdict, estimate};
use crate::text::{Text, chart as text};

/// A key that can be varied.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The contract's key.
    pub key: &'static str,
    /// Its name within a sentence.
    pub name: Text,
    /// The smallest value worth asking for.
    pub least: u64,
    get: fn(&Config) -> u64,
    set: fn(&mut Config, u64),
}

/// The micro-batch.
pub const BATCH: Variable = Variable {
    key: "batch",
    name: text::BATCH,
    least: 1,
    get: |config| config.batch,
    set: |config, value| config.batch = value,
};

/// Tokens per sequence.
pub const SEQ: Variable = Variable {
    key: "seq",
    name: text::SEQ,
    least: 512,
    get: |config| config.seq,
    set: |config, value| config.seq = value,
};

/// Beyond this a key is said to fit at any value.
pub const MOST: u64 = 1 << 32;

impl Variable {
    /// The value in a configuration.
    pub fn of(&self, config: &Config) -> u64 {
        (self.get)(config)
    }

    /// A configuration with another value.
    pub fn with(&self, config: &Config, value: u64) -> Config {
        let mut config = config.clone();
        (self.set)(&mut config, value);
        config
    }
}

/// The answer at one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The key's value.
    pub value: u64,
    /// Live tensors at the peak (bytes).
    pub peak: u64,
    /// The framework's own counter (bytes).
    pub allocated: u64,
    /// Everything on the device (bytes).
    pub device: Band,
    /// The card's memory (bytes).
    pub capacity: u64,
    /// Against it.
    pub verdict: Verdict,
}

impl Point {
    /// What an estimate says at a value.
    pub fn new(value: u64, estimate: &Estimate) -> Self {
        Self {
            value,
            peak: estimate.peak.bytes,
            allocated: estimate.allocated,
            device: estimate.device,
            capacity: estimate.fits.capacity,
            verdict: estimate.fits.verdict,
        }
    }
}

/// The answers at some values of one key; values that give none are left out.
pub fn sweep(config: &Config, variable: &Variable, values: impl IntoIterator<Item = u64>) -> Vec<Point> {
    let mut config = config.clone();
    let mut point = |value| {
        (variable.set)(&mut config, value);
        estimate(&config).ok().map(|estimate| Point::new(value, &estimate))
    };
    values.into_iter().filter_map(&mut point).collect()
}

/// A sweep worth drawing: from little to well beyond the card.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// What varies.
    pub variable: Variable,
    /// Its value in the configuration.
    pub current: u64,
    /// By rising value; holds the current value.
    pub points: Vec<Point>,
    /// The largest value at which even the high end of the device band fits ([`MOST`]: any value).
    pub largest: Option<u64>,
    /// The largest value at which the expected total fits.
    pub largest_tight: Option<u64>,
}

/// How far beyond the card's memory a sweep goes on, in percent of it.
const BEYOND: u64 = 160;
/// Points of a sweep at most.
const POINTS: usize = 20;

/// Doubles the key's value from the smallest one until the card is well exceeded.
pub fn what_if(config: &Config, variable: &Variable) -> WhatIf {
    let current = variable.of(config);
    let mut points: Vec<Point> = Vec::with_capacity(POINTS);
    let mut value = variable.least.min(current).max(1);
    while points.len() < POINTS {
        let Some(point) = sweep(config, variable, [value]).pop() else { break };
        points.push(point);
        let far = u128::from(point.device.expected) * 100 > u128::from(point.capacity) * u128::from(BEYOND);
        if far && value >= current {
            break;
        }
        // The current value takes its place among the powers of two.
        let next = value.saturating_mul(2);
        value =
            if value < current && current < next { current } else { next_doubling(variable, current, value) };
        if value > MOST {
            break;
        }
    }
    let largest = largest_that_fits(config, variable, Verdict::Yes);
    let largest_tight = largest_that_fits(config, variable, Verdict::Tight);
    WhatIf { variable: *variable, current, points, largest, largest_tight }
}

/// The smallest doubling of the first value that is larger than `value`.
fn next_doubling(variable: &Variable, current: u64, value: u64) -> u64 {
    let mut next = variable.least.min(current).max(1);
    while next <= value {
        next = next.saturating_mul(2);
    }
    next
}

/// The largest value of a key at which the verdict is at worst `worst`; `None` when not even the smallest value is,
/// [`MOST`] when every value is. Memory never falls as the key grows, so that halving finds it.
pub fn largest_that_fits(config: &Config, variable: &Variable, worst: Verdict) -> Option<u64> {
    let mut config = config.clone();
    let fits = |value: u64| {
        (variable.set)(&mut config, value);
        estimate(&config).is_ok_and(|estimate| match estimate.fits.verdict {
            Verdict::Yes => true,
            Verdict::Tight => worst != Verdict::Yes,
            Verdict::No => worst == Verdict::No,
        })
    };
    last_true(fits)
}

/// The last value from 1 to [`MOST`] for which `holds` is true, if it is true up to some value and false from there.
fn last_true(mut holds: impl FnMut(u64) -> bool) -> Option<u64> {
    if !holds(1) {
        return None;
    }
    let mut good = 1;
    let mut bad = loop {
        if good >= MOST {
            return Some(MOST);
        }
        let next = good * 2;
        if !holds(next) {
            break next;
        }
        good = next;
    };
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_that_holds_is_found() {
        assert_eq!(last_true(|_| false), None);
        assert_eq!(last_true(|_| true), Some(MOST));
        for last in [1, 2, 3, 6, 7, 8, 1000, MOST - 1, MOST] {
            let mut asked = 0;
            let found = last_true(|value| {
                asked += 1;
                value <= last
            });
            assert_eq!(found, Some(last));
            assert!(asked <= 66, "{asked} estimates for {last}");
        }
    }

    #[test]
    fn doublings_start_at_the_smallest_value() {
        assert_eq!(next_doubling(&SEQ, 2048, 512), 1024);
        assert_eq!(next_doubling(&SEQ, 3000, 3000), 4096);
        assert_eq!(next_doubling(&SEQ, 100, 100), 200);
        assert_eq!(next_doubling(&BATCH, 6, 6), 8);
    }
}
