//! What is done beside the page, by a worker or in its place.

use anyhow::ensure;
use trainmem_browser::{Host, Page, Result, browse};

/// Catches what the page saves and counts its workers; `worker` is what `Worker` is from here on.
async fn watch(page: &Page, worker: &str) -> Result {
    let script = format!(
        "const kept = window.saved = {{ files: [], workers: 0 }}; const Real = Worker;\
         const create = URL.createObjectURL;\
         URL.createObjectURL = blob => {{ blob.text().then(text => kept.files.push(text)); return create(blob); }};\
         HTMLAnchorElement.prototype.click = () => {{}};\
         window.Worker = {worker};"
    );
    page.driver.execute(script, vec![]).await?;
    Ok(())
}

const REAL: &str = "class extends Real { constructor(...all) { super(...all); kept.workers++; } }";
const FORBIDDEN: &str = "class { constructor() { throw new Error('no workers here'); } }";
const STILLBORN: &str =
    "class extends Real { constructor() { super('data:text/javascript,postMessage(0)'); kept.workers++; } }";

/// Saves as `kind`, and waits for a file that holds `expected`.
async fn save(page: &Page, kind: &str, expected: &str) -> Result {
    let click = format!("document.querySelector('[data-export={kind}]').click()");
    // The script that stands in for `click` is of anchors only.
    page.eval(&click).await?;
    let found = format!("saved.files.some(text => text.includes({}))", serde_json::json!(expected));
    page.until(&format!("a {kind} file with {expected}"), || async { Ok(page.eval(&found).await? == true) })
        .await
}

async fn save_each(page: &Page) -> Result {
    save(page, "csv", "name,block,group").await?;
    save(page, "json", "\"saved_activations\"").await?;
    save(page, "md", "| :-- | --: |").await
}

async fn workers(page: &Page) -> Result<u64> {
    Ok(page.eval("saved.workers").await?.as_u64().unwrap_or_default())
}

/// Reports are made by one worker that stays.
#[test]
fn reports_are_made_by_a_worker() {
    browse("worker", |page: Page| async move {
        page.open("#batch=3").await?;
        watch(&page, REAL).await?;
        save_each(&page).await?;
        ensure!(workers(&page).await? == 1, "{} workers", workers(&page).await?);
        page.expect_quiet_console().await
    });
}

/// The strictest sandbox that still runs scripts: no origin, a worker all the same.
#[test]
fn a_sandboxed_frame_has_a_worker() {
    browse("worker-sandbox", |page: Page| async move {
        let frame = format!(
            "<!doctype html><title>guide</title><link rel=icon href='data:,'>\
             <iframe src=\"{}?embed=1&controls=exports#batch=4\" title=\"estimate\" sandbox=\"allow-scripts\"></iframe>",
            page.url
        );
        let host = Host::start(frame).await?;
        page.driver.goto(host.url()).await?;
        page.element("iframe").await?.enter_frame().await?;
        page.ready().await?;
        watch(&page, REAL).await?;
        save_each(&page).await?;
        ensure!(workers(&page).await? == 1, "{} workers", workers(&page).await?);
        page.expect_quiet_console().await
    });
}

/// Where workers are forbidden, or die at birth, the page does the work itself.
#[test]
fn without_a_worker_the_page_does_the_work() {
    browse("no-worker", |page: Page| async move {
        for worker in [FORBIDDEN, STILLBORN] {
            page.open("#batch=3").await?;
            watch(&page, worker).await?;
            save_each(&page).await?;
        }
        page.expect_quiet_console().await
    });
}
