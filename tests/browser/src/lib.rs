//! The built page in a real browser: a driver of its own on a free port, a fresh profile, a small web server.
//!
//! `./dev test` sets what it needs: `TRAINMEM_DIST` (the built page), `AXE_JS` (axe-core's script), and, where they are
//! not on the `PATH`, `CHROME` and `CHROMEDRIVER`. Without them everything here fails, and says so.

mod page;
mod server;
mod session;

pub use page::{Page, Size};
pub use server::{Host, Site};
pub use session::{Session, browse};

use std::path::PathBuf;

use anyhow::Context as _;

/// What a chore or a test returns.
pub type Result<T = ()> = anyhow::Result<T>;

/// A file or folder that an environment variable names.
///
/// # Errors
/// When the variable is missing or names nothing that exists.
pub fn path_from_env(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os(name).with_context(|| format!("{name} is not set: run `./dev test`"))?;
    let path = PathBuf::from(path);
    path.canonicalize().with_context(|| format!("{name} = {}", path.display()))
}

/// The workspace's `target` folder.
///
/// # Errors
/// When it isn't there.
pub fn target() -> Result<PathBuf> {
    Ok(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).canonicalize()?)
}

/// Where pictures go: `target/pictures`.
///
/// # Errors
/// When the folder can't be made.
pub fn pictures() -> Result<PathBuf> {
    let folder = target()?.join("pictures");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
