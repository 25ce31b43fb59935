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
    println!(
        "{:>10} {:>10} {:>10}  file (* = in the first load, + = follows it while the page is idle)",
        "raw", "gzip", "brotli"
    );
    let (mut first, mut following) = (0, 0);
    for file in size::files(folder)? {
        let (mark, sum) = match loaded.iter().find(|it| it.name == file.name) {
            Some(it) if it.before_use => ("* ", &mut first),
            Some(_) => ("+ ", &mut following),
            None => ("  ", &mut 0),
        };
        *sum += file.brotli;
        println!("{:>10} {:>10} {:>10}  {}{}", file.raw, file.gzip, file.brotli, mark, file.name);
    }
    println!("{:>32}  first load; budget {BUDGET}, {} % of it", first, first * 100 / BUDGET);
    println!("{following:>32}  follows while the page is idle; the first change waits for it\n");
    for profile in speed::PROFILES {
        speed::Timings::take(&page, profile).await?.print(profile);
    }
    Ok(())
}
