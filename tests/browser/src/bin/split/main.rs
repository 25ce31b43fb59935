//! `./dev build`: the program in two halves. What a first visit runs is loaded first; the rest follows when the page
//! stands, or when it is needed.
//!
//! 1. What every first visit would work out in the same way is worked out now ([`prepared`]).
//! 2. A copy of the page whose functions tell when they run is visited in a real browser ([`visits`]).
//! 3. Functions that no visit ran move into a second module ([`halves`]), and with them the constants that only they
//!    refer to ([`data`]): texts, tables. In their place stay stubs that fetch the second module before they call it, so
//!    that whatever the visits missed is slower, never wrong.
//! 4. Both halves are optimised for size, and the script that loads them learns of the second ([`glue`]).
//!
//! Takes the linker's own output as argument (with `--emit-relocs`, so that it tells which function refers to what).

mod data;
mod glue;
mod halves;
mod prepared;
mod visits;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use trainmem_browser::{Result, path_from_env, target};

use glue::Built;
use prepared::Prepared;

fn main() -> Result {
    let linked = std::env::args_os().nth(1).context("which file did the linker write?")?;
    let linked = std::fs::read(&linked).with_context(|| format!("{}", Path::new(&linked).display()))?;
    let built = Built::find(path_from_env("TRAINMEM_DIST")?)?;

    let prepared = Prepared::of(&built)?;
    let run = visits::functions_that_run(&built, &prepared.module)?;
    let halves = halves::split(&prepared, &run, &linked)?;
    println!(
        "{} of {} functions run in a first visit; {} bytes of constants are for the others",
        run.len(),
        halves.functions,
        halves.moved
    );
    built.replace(&optimised("first", &halves.first)?, &optimised("rest", &halves.rest)?)
}

/// A module as wasm-opt makes it, without names.
fn optimised(name: &str, module: &[u8]) -> Result<Vec<u8>> {
    let folder = work()?;
    let (before, after) = (folder.join(format!("{name}.wasm")), folder.join(format!("{name}-opt.wasm")));
    std::fs::write(&before, module)?;
    let status = Command::new("wasm-opt")
        .args(["-Oz", "--strip-debug", "--strip-producers", "-o"])
        .args([&after, &before])
        .status()
        .context("wasm-opt: run `./dev build`")?;
    ensure!(status.success(), "wasm-opt refused {}", before.display());
    Ok(std::fs::read(after)?)
}

/// Where files of the work in hand lie.
fn work() -> Result<PathBuf> {
    let folder = target()?.join("split");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
