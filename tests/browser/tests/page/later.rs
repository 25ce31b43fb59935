//! What a first visit doesn't need: the second half of the program, and what is done beside the page.

use anyhow::ensure;
use trainmem_browser::{Host, Page, Result, Site, browse};

/// Catches what the page saves and counts its workers; `worker` is what `Worker` is from here on.
async fn watch(page: &Page, worker: &str) -> Result {
    let script = format!(
        "const kept = window.saved = {{ files: [], workers: 0, answers: 0 }}; const Real = Worker;\
         const create = URL.createObjectURL;\
         URL.createObjectURL = blob => {{ blob.text().then(text => kept.files.push(text)); return create(blob); }};\
         HTMLAnchorElement.prototype.click = () => {{}};\
         window.Worker = {worker};"
    );
    page.driver.execute(script, vec![]).await?;
    Ok(())
}

const REAL: &str = "class extends Real { constructor(...all) { super(...all); kept.workers++;\
     this.addEventListener('message', e => kept.answers += e.data.length === 3 ? 1 : 0); } }";
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

/// One worker, and every answer its own (what the page asks by itself comes on top).
async fn expect_a_worker(page: &Page) -> Result {
    let seen = page.eval("[saved.workers, saved.answers]").await?;
    let all_of_one = page.eval("saved.workers === 1 && saved.answers >= 3").await?;
    ensure!(all_of_one == true, "workers and their answers: {seen}");
    Ok(())
}

/// Reports are made by one worker that stays.
#[test]
fn reports_are_made_by_a_worker() {
    browse("worker", |page: Page| async move {
        page.open("#batch=3").await?;
        watch(&page, REAL).await?;
        save_each(&page).await?;
        expect_a_worker(&page).await?;
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
        expect_a_worker(&page).await?;
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

/// Who only looks needs the first half alone; the second follows by itself. Who types before it is here is told so, loses
/// nothing, and never holds the page up.
#[test]
fn a_first_visit_needs_the_first_half_only() {
    browse("first-half", |page: Page| async move {
        page.cdp("Network.enable", serde_json::json!({})).await?;
        for (language, blocked) in [("en", &["*_rest.wasm"][..]), ("zh", &["*_rest.wasm"]), ("en", &[])] {
            page.cdp("Network.setBlockedURLs", serde_json::json!({ "urls": blocked })).await?;
            page.open(&format!("#lang={language}")).await?;
            ensure!(page.ledger_rows().await? > 20 && page.figure().await?.len() > 1000);
            let headline = page.headline().await?;
            page.type_into("batch", "2").await?;
            if !blocked.is_empty() {
                let said = if language == "zh" { "没有载入" } else { "did not arrive" };
                page.until(said, || async { Ok(page.text(".toast").await?.contains(said)) }).await?;
                ensure!(page.headline().await? == headline && page.value("batch").await? == "2");
                page.cdp("Network.setBlockedURLs", serde_json::json!({ "urls": [] })).await?;
                page.type_into("seq", "4096").await?;
            }
            page.until("another headline", || async { Ok(page.headline().await? != headline) }).await?;
            page.until("all that was typed in the link", || async {
                let link = page.fragment().await?;
                Ok(link.contains("batch=2") && (blocked.is_empty() || link.contains("seq=4096")))
            })
            .await?;
            ensure!(page.text(".toast").await?.is_empty(), "still said to be loading");
            let asked = "performance.getEntriesByType('resource').filter(e => e.name.endsWith('_rest.wasm'))\
                 .every(e => e.initiatorType === 'fetch')";
            ensure!(page.eval(asked).await? == true, "a call had to wait for the second half");
        }
        Ok(())
    });
}

/// The policy that the README names is enough; without its last part the page works all the same.
#[test]
fn the_policy_of_the_readme_is_enough() {
    const POLICY: &str = "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; worker-src blob:";
    const NO_WORKERS: &str = "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; worker-src 'none'";
    browse("policy", |page: Page| async move {
        let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))?;
        ensure!(readme.contains(&format!("`{POLICY}`")), "the README names another policy");
        for (policy, answers) in [(POLICY, 3), (NO_WORKERS, 0)] {
            let site = Site::with_policy(policy).await?;
            page.driver.goto(site.url()).await?;
            page.ready().await?;
            watch(&page, REAL).await?;
            save_each(&page).await?;
            // What the page asks by itself comes on top.
            let seen = page.eval("saved.answers").await?.as_u64().unwrap_or(0);
            ensure!(if answers == 0 { seen == 0 } else { seen >= answers }, "{seen} answers under {policy}");
        }
        Ok(())
    });
}
