//! What is reserved: a replay of whole steps takes longer than a frame.

use crate::config::Config;
use crate::estimate::{Band, refined};

/// Three numbers, or nothing.
pub(super) fn reserve(link: &str) -> String {
    let config = Config::from_link(link).config.checked().config;
    refined(&config).map_or_else(|_| String::new(), |estimate| write(estimate.reserved))
}

fn write(band: Band) -> String {
    [band.low, band.expected, band.high].map(|bytes| bytes.to_string()).join(" ")
}

/// The band that was told.
pub fn read_band(told: &str) -> Option<Band> {
    let mut numbers = told.split(' ').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Band { low: next()?, expected: next()?, high: next()? })
}
