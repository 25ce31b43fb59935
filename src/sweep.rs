//! What if: the estimate over many values of one key, and the largest value that fits.

use crate::architecture::Architecture;
use crate::config::{Config, FIELDS, Key, Kind, Name, Problem, ProblemKind, Section};
use crate::estimate::{self, Band, Estimate, Reserve, Verdict};
use crate::text::{Text, chart as text, config as words};

/// A key that can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The key, or the field of `config.json`.
    pub at: Name,
    /// Its name within a sentence.
    pub name: Text,
    /// The smallest value worth asking for.
    pub least: u64,
}

/// The micro-batch.
pub const BATCH: Variable = Variable { at: Name::Key(Key::Batch), name: text::BATCH, least: 1 };

/// Tokens per sequence.
pub const SEQ: Variable = Variable { at: Name::Key(Key::Seq), name: text::SEQ, least: 512 };

/// Rank of the adapters.
pub const LORA_RANK: Variable = Variable { at: Name::Key(Key::LoraRank), name: text::LORA_RANK, least: 1 };

/// Beyond this a key is said to fit at any value.
pub const MOST: u64 = 1 << 32;

impl Variable {
    /// The variable of this name: any key or field of `config.json` that takes whole numbers. `None`: it takes
    /// something else, or nothing that the detailed estimate reads.
    pub fn find(name: &str) -> Option<Self> {
        let at = Name::find(name)?;
        let known = [BATCH, SEQ, LORA_RANK].into_iter().find(|variable| variable.at == at);
        let numeric = matches!(at.kind(), Kind::Count { .. } | Kind::Tokens { .. });
        let name = match at {
            Name::Key(Key::Params) => return None,
            Name::Key(key) => words::label(key),
            Name::Field(field) => words::field(field.name).map_or(Text::same(field.name), |(label, _)| label),
        };
        known.or_else(|| numeric.then_some(Self { at, name, least: 1 }))
    }

    /// Every one: the keys first, then the fields of `config.json`.
    pub fn all() -> impl Iterator<Item = Self> {
        let words = Key::ALL.iter().map(|key| key.word()).chain(FIELDS.iter().map(|field| field.name));
        words.filter_map(Self::find)
    }

    /// The key's name in links.
    pub const fn key(&self) -> &'static str {
        self.at.word()
    }

    /// The value in a configuration.
    pub fn of(&self, config: &Config) -> u64 {
        config.number(self.at).unwrap_or(self.least)
    }

    /// A configuration with another value.
    ///
    /// # Errors
    /// When the key does not accept the value, or it excludes another one (the last such problem).
    pub fn with(&self, config: &Config, value: u64) -> Result<Config, Problem> {
        let mut config = config.clone();
        config.set_number(self.at, value)?;
        let checked = config.checked();
        match checked
            .problems
            .into_iter()
            .rfind(|problem| matches!(problem.kind, ProblemKind::Conflict { .. }))
        {
            Some(problem) => Err(problem),
            None => Ok(checked.config),
        }
    }

    /// Whether it is part of the model, which is then another one for each value.
    fn shapes_the_model(&self) -> bool {
        match self.at {
            Name::Key(key) => key.section() == Section::Model,
            Name::Field(_) => true,
        }
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

/// A configuration whose key is varied; its model is read once where the key is no part of it.
struct Probe<'v> {
    variable: &'v Variable,
    config: Config,
    model: Option<Architecture>,
    reserve: Reserve,
}

impl<'v> Probe<'v> {
    fn new(config: &Config, variable: &'v Variable, reserve: Reserve) -> Self {
        // What is wrong whatever the value is no reason to leave one out.
        let config = config.checked().config;
        let model = if variable.shapes_the_model() { None } else { Architecture::of(&config).ok() };
        Self { variable, config, model, reserve }
    }

    fn accepts(&self, value: u64) -> bool {
        self.variable.with(&self.config, value).is_ok()
    }

    fn estimate(&self, value: u64) -> Option<Estimate> {
        let config = self.variable.with(&self.config, value).ok()?;
        match &self.model {
            Some(model) => Some(estimate::of_with(model, &config, self.reserve)),
            None => {
                Architecture::of(&config).ok().map(|model| estimate::of_with(&model, &config, self.reserve))
            }
        }
    }

    fn point(&self, value: u64) -> Option<Point> {
        self.estimate(value).map(|estimate| Point::new(value, &estimate))
    }
}

/// The answers at some values of one key; values that give none are left out.
pub fn sweep(config: &Config, variable: &Variable, values: impl IntoIterator<Item = u64>) -> Vec<Point> {
    let probe = Probe::new(config, variable, Reserve::Typical);
    values.into_iter().filter_map(|value| probe.point(value)).collect()
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
    /// What fits.
    pub bound: Bound,
}

/// Which values of a key fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Memory grows with the key.
    Most {
        /// The largest value at which even the high end of the device band fits ([`MOST`]: any value).
        sure: Option<u64>,
        /// The largest value at which the expected total fits.
        tight: Option<u64>,
    },
    /// Memory shrinks as the key grows (more GPUs, more parts).
    Least {
        /// The smallest of the points from which on even the high end of the device band fits.
        sure: Option<u64>,
        /// The smallest from which on the expected total fits.
        tight: Option<u64>,
    },
}

/// How far beyond the card's memory a sweep goes on, in percent of it.
const BEYOND: u64 = 160;
/// Points of a sweep at most.
const POINTS: usize = 20;

/// Doubles the key's value from the smallest one until the card is well exceeded.
pub fn what_if(config: &Config, variable: &Variable) -> WhatIf {
    let probe = Probe::new(config, variable, Reserve::Typical);
    let current = variable.of(&probe.config);
    let mut points: Vec<Point> = Vec::with_capacity(POINTS);
    let mut value = variable.least.min(current).max(1);
    for _ in 0..POINTS {
        if let Some(point) = probe.point(value) {
            points.push(point);
            let far =
                u128::from(point.device.expected) * 100 > u128::from(point.capacity) * u128::from(BEYOND);
            if far && value >= current && rises(&points) {
                break;
            }
        }
        // The current value takes its place among the powers of two.
        let next = value.saturating_mul(2);
        value =
            if value < current && current < next { current } else { next_doubling(variable, current, value) };
        if value > MOST {
            break;
        }
    }
    let bound = if rises(&points) {
        Bound::Most {
            sure: largest_that_fits(config, variable, Verdict::Yes, Reserve::Typical),
            tight: largest_that_fits(config, variable, Verdict::Tight, Reserve::Typical),
        }
    } else {
        Bound::Least {
            sure: first_that_fits(&points, Verdict::Yes),
            tight: first_that_fits(&points, Verdict::Tight),
        }
    };
    WhatIf { variable: *variable, current, points, bound }
}

/// Whether the last value needs at least as much as the first.
fn rises(points: &[Point]) -> bool {
    match (points.first(), points.last()) {
        (Some(first), Some(last)) => last.device.expected >= first.device.expected,
        _ => true,
    }
}

/// The smallest value from which on every point fits.
fn first_that_fits(points: &[Point], worst: Verdict) -> Option<u64> {
    let fitting = points.iter().rev().take_while(|point| point.verdict.is_at_worst(worst));
    fitting.last().map(|point| point.value)
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
/// [`MOST`] when every value that the key accepts is. Memory never falls as the key grows, so that halving finds it.
pub fn largest_that_fits(
    config: &Config,
    variable: &Variable,
    worst: Verdict,
    reserve: Reserve,
) -> Option<u64> {
    let probe = Probe::new(config, variable, reserve);
    // Values that are not accepted bound nothing.
    let fits = |value: u64| {
        probe
            .estimate(value)
            .map_or(!probe.accepts(value), |estimate| estimate.fits.verdict.is_at_worst(worst))
    };
    let found = last_true(fits)?;
    if found == MOST {
        return Some(MOST);
    }
    (found.saturating_sub(HOLES)..=found).rev().find(|value| probe.accepts(*value))
}

/// How far apart accepted values may lie (whole multiples of a degree of parallelism, of a chunk).
const HOLES: u64 = 1024;

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
