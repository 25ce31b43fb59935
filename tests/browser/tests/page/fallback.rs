//! Without scripts or wasm the page still says something.

use anyhow::ensure;
use serde_json::json;
use trainmem_browser::{Page, browse};

/// Wasm that doesn't arrive: words and a picture instead.
#[test]
fn without_wasm_there_is_a_picture_and_a_reason() {
    browse("no-wasm", |page: Page| async move {
        page.cdp("Network.enable", json!({})).await?;
        page.cdp("Network.setBlockedURLs", json!({ "urls": ["*.wasm"] })).await?;
        page.driver.goto(&page.url).await?;
        page.until("a word about WebAssembly", || async {
            Ok(page.text("body").await?.contains("WebAssembly"))
        })
        .await?;
        expect_picture(&page).await
    });
}

/// No scripts at all.
#[test]
fn without_scripts_there_is_a_picture_and_a_reason() {
    browse("no-script", |page: Page| async move {
        page.cdp("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await?;
        page.driver.goto(&page.url).await?;
        page.until("a word about JavaScript", || async {
            Ok(page.text("body").await?.contains("JavaScript"))
        })
        .await?;
        expect_picture(&page).await
    });
}

async fn expect_picture(page: &Page) -> trainmem_browser::Result {
    let pictures = "[...document.querySelectorAll('img, svg')].filter(e => e.getBoundingClientRect().width > 200).length";
    ensure!(page.eval(pictures).await? != 0, "no picture is shown");
    Ok(())
}
