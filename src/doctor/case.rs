//! One configuration under examination: its model read once, and what other configurations of it answer.

use crate::architecture::Architecture;
use crate::config::{Config, Problem};
use crate::estimate::{self, Band, Brief, Estimate, Fit, Reserve, Verdict};

/// A configuration with its model and its answer.
#[derive(Debug)]
pub struct Case {
    model: Architecture,
    config: Config,
    estimate: Estimate,
    /// How verdicts are found.
    reserve: Reserve,
    /// What is wrong with it or not taken into account, whatever is changed.
    known: Vec<Problem>,
}

/// What matters of another configuration's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Live tensors at the peak (bytes).
    pub peak: u64,
    /// Everything on the device (bytes).
    pub device: Band,
    /// Against the card.
    pub fits: Fit,
}

impl Outcome {
    /// What an estimate says.
    pub fn of(estimate: &Estimate) -> Self {
        Self { peak: estimate.peak.bytes, device: estimate.device, fits: estimate.fits.clone() }
    }

    /// Whether its tensors alone are more than the card holds: then no allocator makes it fit.
    pub fn is_hopeless(&self) -> bool {
        self.peak > self.fits.capacity
    }

    /// Whether it fits at worst like this.
    pub fn is_at_worst(&self, worst: Verdict) -> bool {
        self.fits.verdict.is_at_worst(worst)
    }
}

impl Case {
    /// Reads a configuration; values that exclude each other are replaced as everywhere.
    ///
    /// # Errors
    /// As for [`estimate::estimate`].
    pub fn of(asked: &Config, reserve: Reserve) -> Result<Self, Vec<Problem>> {
        let read = asked.checked();
        let model = Architecture::of(&read.config)?;
        let estimate = estimate::of_with(&model, &read.config, reserve);
        let mut known = read.problems;
        known.extend(estimate.warnings.iter().cloned());
        Ok(Self { model, config: read.config, estimate, reserve, known })
    }

    /// The configuration that is estimated.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Its answer.
    pub const fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Another configuration of the same model as it is estimated. `None`: it excludes itself.
    fn read(&self, other: &Config) -> Option<Config> {
        let read = other.checked();
        read.problems.iter().all(|problem| self.known.contains(problem)).then_some(read.config)
    }

    fn expects(&self, warnings: &[Problem]) -> bool {
        warnings.iter().all(|problem| self.known.contains(problem))
    }

    /// The answer to another configuration of the same model. `None`: it excludes itself, or something that this one
    /// does not ask for is not taken into account, so that its figure would promise what is not known.
    pub fn answer(&self, other: &Config) -> Option<Estimate> {
        let estimate = estimate::of(&self.model, &self.read(other)?);
        self.expects(&estimate.warnings).then_some(estimate)
    }

    /// Whether another configuration's weights and states alone are more than its card holds: known in a fraction of the
    /// time of its outcome, which [`Outcome::is_hopeless`] then, if there is one.
    pub fn is_hopeless(&self, other: &Config) -> bool {
        self.read(other).is_some_and(|config| estimate::is_hopeless(&self.model, &config))
    }

    /// What matters of [`Case::answer`]: the peak as it is, the rest by the band that is typical of runs.
    pub fn outcome(&self, other: &Config) -> Option<Outcome> {
        let Brief { peak, device, fits, warnings } = estimate::brief(&self.model, &self.read(other)?);
        self.expects(&warnings).then_some(Outcome { peak, device, fits })
    }

    /// The same with the verdict that a report gives.
    pub fn judged(&self, other: &Config) -> Option<Outcome> {
        if self.reserve == Reserve::Typical {
            return self.outcome(other);
        }
        let mut estimate = self.answer(other)?;
        estimate::refine(&self.model, &other.checked().config, &mut estimate);
        Some(Outcome::of(&estimate))
    }

    /// How verdicts are found.
    pub const fn reserve(&self) -> Reserve {
        self.reserve
    }

    /// How many estimates a verdict takes as long as.
    pub(super) const fn effort(&self) -> usize {
        match self.reserve {
            Reserve::Typical => 1,
            Reserve::Replayed => 100,
        }
    }
}
