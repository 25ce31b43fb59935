//! The article's four lines.
