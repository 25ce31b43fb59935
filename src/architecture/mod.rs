//! A model as weights.
