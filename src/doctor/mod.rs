//! What to change: which changes save how much at which price, the cheapest set that fits, the fewest GPUs, two
//! configurations side by side; and what a run that failed was about.
//!
//! Nothing here knows what a change saves. [`changes`] says what can be changed, [`Case`] asks the estimator, and every
//! figure is the difference of two of its answers. Long examinations ([`Examination`], [`Search`], [`Fleet`]) go on
//! for as many estimates as they are given, so that whoever asks stays free to do something else, or to stop.

mod case;
mod compare;
mod consultation;
mod examination;
mod fleet;
mod json;
mod largest;
pub mod message;
mod print;
mod reason;
mod remedy;
mod say;
mod search;
mod table;

pub use case::{Case, Outcome};
pub use compare::{Comparison, Row, compare};
pub use consultation::Consultation;
pub use examination::{Examination, Prescription, Useless};
pub use fleet::{Fleet, Need};
pub use largest::Largest;
pub use reason::Reason;
pub use remedy::{Change, Price, Remedy, Slowdown, changes};
pub use say::{describe, keys, price, why};
pub use search::{JUDGED, MOST_CHANGES, Search};
pub use table::REMEDIES;
