//! Bytes and counts: reading what people type, printing what they read.
