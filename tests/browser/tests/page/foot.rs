//! What stands beside the answer: how right it is, and models fetched by name.

use anyhow::ensure;
use trainmem_browser::{Page, Result, browse};

async fn click(page: &Page, css: &str) -> Result {
    page.eval(&format!("document.querySelector({}).click()", serde_json::json!(css))).await?;
    Ok(())
}

/// The errors are fetched when somebody asks, the worst cases first, each with its source.
#[test]
fn errors_on_measured_runs_are_shown() {
    browse("accuracy", |page: Page| async move {
        page.open("").await?;
        ensure!(page.eval("document.querySelectorAll('#accuracy table').length").await? == 0);
        click(&page, "#accuracy summary").await?;
        page.until("the two tables", || async {
            Ok(page.eval("document.querySelectorAll('#accuracy table').length").await? == 2)
        })
        .await?;
        let rows = "document.querySelectorAll('#accuracy tbody tr').length";
        let few = page.eval(rows).await?.as_u64();
        ensure!(page.eval("document.querySelector('#accuracy td a').href").await?.as_str() != Some(""));
        click(&page, "#accuracy button").await?;
        page.until("all cases", || async { Ok(page.eval(rows).await?.as_u64() > few) }).await?;
        page.expect_quiet_console().await
    });
}

/// A hub that does not answer is named, and what was typed stays.
#[test]
fn a_hub_out_of_reach_says_so() {
    browse("hub", |page: Page| async move {
        page.open("#lang=en").await?;
        let unfold = "[...document.querySelectorAll('details')]
            .filter((d) => d.textContent.includes('config.json')).forEach((d) => { d.open = true })";
        page.eval(unfold).await?;
        page.until("the field", || async {
            Ok(page.eval("!!document.getElementById('hub-model')").await? == true)
        })
        .await?;
        let type_in = |id: &str, text: &str| {
            format!(
                "(() => {{ const e = document.getElementById('{id}'); e.value = '{text}';
                   e.dispatchEvent(new Event('input', {{ bubbles: true }})) }})()"
            )
        };
        page.eval(&type_in("hub-model", "someone/something")).await?;
        page.eval(&type_in("hub-endpoint", "http://127.0.0.1:9")).await?;
        let headline = page.headline().await?;
        click(&page, "[data-action=hub]").await?;
        page.until("the refusal", || async { Ok(page.text("body").await?.contains("can't be reached")) })
            .await?;
        ensure!(page.eval("document.getElementById('hub-model').value").await? == "someone/something");
        ensure!(page.headline().await? == headline);
        Ok(())
    });
}
