//! What to make of an answer, and of a run that failed.

pub mod message;
