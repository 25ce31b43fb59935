//! What to change: found beside the page, applied and undone.

use anyhow::ensure;
use trainmem_browser::{Page, Result, browse};

const OVER: &str = "#model=llama-3.2-1b&gpu=rtx-4090&batch=4";

/// Clicks the first element that a selector finds, as a script does: it may be in a part that is folded.
async fn click(page: &Page, css: &str) -> Result {
    let found = format!("!!document.querySelector({})", serde_json::json!(css));
    page.until(css, || async { Ok(page.eval(&found).await? == true) }).await?;
    page.eval(&format!("document.querySelector({}).click()", serde_json::json!(css))).await?;
    Ok(())
}

/// One click applies a change, one takes it back; the answer and the link follow.
#[test]
fn a_change_is_applied_and_undone() {
    browse("doctor", |page: Page| async move {
        page.open(OVER).await?;
        let before = page.headline().await?;
        click(&page, "#doctor [data-apply='recompute=full']").await?;
        page.until("another headline", || async { Ok(page.headline().await? != before) }).await?;
        page.until("the change in the link", || async {
            Ok(page.fragment().await?.contains("recompute=full"))
        })
        .await?;
        ensure!(page.text("#doctor").await?.contains("Applied"));
        click(&page, "[data-action=undo-advice]").await?;
        page.until("the headline as it was", || async { Ok(page.headline().await? == before) }).await?;
        page.until("the link as it was", || async { Ok(!page.fragment().await?.contains("recompute")) })
            .await?;
        page.expect_quiet_console().await
    });
}

/// The cheapest set fits once it is applied, and popular switches without effect are named.
#[test]
fn the_cheapest_set_fits() {
    browse("doctor-cheapest", |page: Page| async move {
        page.open(OVER).await?;
        ensure!(page.headline().await?.contains("does not fit"));
        page.until("what saves nothing", || async {
            Ok(page.text("#doctor").await?.contains("Saves nothing here"))
        })
        .await?;
        click(&page, "#doctor .cheapest li:last-child [data-apply]").await?;
        page.until("a headline that fits", || async { Ok(page.headline().await?.contains(": fits")) })
            .await?;
        page.until("nothing left to do", || async {
            Ok(page.text("#doctor").await?.contains("It fits as it is"))
        })
        .await?;
        page.expect_quiet_console().await
    });
}

/// The largest value that fits is set by its button, and fits.
#[test]
fn the_largest_value_fits() {
    browse("doctor-largest", |page: Page| async move {
        page.open("#model=llama-3.2-1b&gpu=rtx-4090&precision=bf16").await?;
        click(&page, "#doctor .row [data-apply^='batch=']").await?;
        page.until("a larger batch in its field", || async { Ok(page.value("batch").await? != "1") }).await?;
        page.until("a headline that fits", || async { Ok(page.headline().await?.contains(": fits")) })
            .await?;
        page.expect_quiet_console().await
    });
}

/// A pasted link is compared tensor by tensor.
#[test]
fn a_pasted_link_is_compared() {
    browse("doctor-compare", |page: Page| async move {
        page.open("#model=llama-3.2-1b").await?;
        page.eval("document.querySelector('#compare').open = true").await?;
        let field = page.element("#compare-with").await?;
        field.send_keys("model=llama-3.2-1b&recompute=full").await?;
        click(&page, "[data-action=compare]").await?;
        page.until("the keys that differ", || async {
            Ok(page.text("#compare").await?.contains("recompute: none → full"))
        })
        .await?;
        ensure!(page.eval("document.querySelectorAll('#compare tbody tr').length > 5").await? == true);
        page.expect_quiet_console().await
    });
}
