//! What the page costs its reader: bytes, time until it can be used, time from a key to the next frame. Prints, asserts
//! nothing: times belong to the machine that they were taken on.

mod size;
mod speed;

use trainmem_browser::{Result, Session, Site, path_from_env};

/// First load in all, brotli (bytes).
const BUDGET: u64 = 120_000;

#[tokio::main]
async fn main() -> Result {
    let folder = size::compressed_copy(&path_from_env("TRAINMEM_DIST")?)?;
    let session = Session::with_site("en-US", Site::of(folder.clone()).await?).await?;
    let outcome = measure(&session, &folder).await;
    session.end().await?;
    outcome
}

async fn measure(session: &Session, folder: &std::path::Path) -> Result {
    let page = session.page();
    let loaded = speed::first_load(&page).await?;
    println!("{:>10} {:>10} {:>10}  file (* = in the first load)", "raw", "gzip", "brotli");
    let mut first = 0;
    for file in size::files(folder)? {
        let in_first_load = loaded.contains(&file.name);
        println!(
            "{:>10} {:>10} {:>10}  {}{}",
            file.raw,
            file.gzip,
            file.brotli,
            if in_first_load { "* " } else { "  " },
            file.name
        );
        first += if in_first_load { file.brotli } else { 0 };
    }
    println!("{:>32}  first load; budget {BUDGET}, {} % of it\n", first, first * 100 / BUDGET);
    for profile in speed::PROFILES {
        speed::Timings::take(&page, profile).await?.print(profile);
    }
    Ok(())
}
