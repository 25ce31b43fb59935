//! Mounts the page in a browser; is the command line elsewhere.

fn main() {}
