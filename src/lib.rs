//! `trainmem`: who eats the memory of a training run, and what to change.
//!
//! Data flows one way; nothing to the left knows anything to its right:
//!
//! ```text
//! config ─► architecture ─► ledger ─► timeline ─► estimate ─► chart · report · app · cli
//! (asked)    (weights)     (tensors)  (instants)  (answers)
//! ```
//!
//! [`config`] reads what was asked, [`architecture`] turns it into weights, [`ledger`] writes down every tensor
//! that one GPU holds, [`timeline`] finds the worst instant, [`estimate`] answers; [`chart`] draws, [`report`]
//! prints. On top of the answer: [`doctor`] says what to change, and what a run said when it failed; [`sweep`] asks
//! again along one key. Beside them: [`import`] reads what other programs' users already have into a configuration,
//! [`export`] writes one for them, [`jobs`] is what a worker does beside the page. [`text`] holds every sentence in
//! Chinese and English, [`units`] bytes and counts, [`quick`] the four-line rule of thumb. Only `app` (wasm) knows a
//! browser.

#[cfg(not(target_arch = "wasm32"))]
pub mod accuracy;
mod allocator;
#[cfg(target_arch = "wasm32")]
pub mod app;
pub mod architecture;
pub mod chart;
#[cfg(not(target_arch = "wasm32"))]
pub mod cli;
pub mod config;
pub mod doctor;
pub mod estimate;
pub mod export;
pub mod import;
pub mod jobs;
pub mod ledger;
pub mod quick;
pub mod report;
pub mod sweep;
pub mod text;
pub mod timeline;
pub mod units;
