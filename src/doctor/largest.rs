//! The largest value of a key that fits.

use crate::config::Config;
use crate::estimate::{Reserve, Verdict};
use crate::sweep::{Variable, largest_that_fits};

/// The largest values of one key ([`crate::sweep::MOST`]: any value that the key accepts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// The key.
    pub variable: Variable,
    /// At which even the high end of the device band fits.
    pub sure: Option<u64>,
    /// At which the expected total fits.
    pub tight: Option<u64>,
}

impl Largest {
    /// Finds both.
    pub fn of(config: &Config, variable: &Variable, reserve: Reserve) -> Self {
        let largest = |worst| largest_that_fits(config, variable, worst, reserve);
        Self { variable: *variable, sure: largest(Verdict::Yes), tight: largest(Verdict::Tight) }
    }
}
