//! The page inside somebody else's.

use anyhow::{Context as _, ensure};
use trainmem_browser::{Host, Page, Site, browse, path_from_env, target};

/// A foreign document around `body`.
fn document(body: &str, dark: bool) -> String {
    let scheme = if dark { "dark" } else { "light" };
    format!(
        "<!doctype html><html lang=\"zh-CN\"><head><meta charset=\"utf-8\"><title>guide</title>\
         <link rel=\"icon\" href=\"data:,\"><style>:root {{ color-scheme: {scheme} }}</style></head>\
         <body><h1>guide</h1>{body}</body></html>"
    )
}

/// A plain frame in the strictest sandbox that still runs scripts, in both themes.
#[test]
fn a_sandboxed_frame_from_another_origin_works() {
    browse("sandbox", |page: Page| async move {
        for dark in [false, true] {
            let theme = if dark { "dark" } else { "light" };
            let frame = format!(
                "<iframe src=\"{}?embed=1&theme={theme}&lang=zh#batch=4\" title=\"estimate\" sandbox=\"allow-scripts\" \
                 width=\"100%\" height=\"420\"></iframe>",
                page.url
            );
            let host = Host::start(document(&frame, dark)).await?;
            page.driver.goto(host.url()).await?;
            page.element("iframe").await?.enter_frame().await?;
            page.ready().await?;
            ensure!(page.eval_text("document.documentElement.lang").await?.starts_with("zh"));
            ensure!(
                page.eval_text("getComputedStyle(document.documentElement).colorScheme")
                    .await?
                    .contains(theme)
            );
            ensure!(!page.figure().await?.is_empty());
            // The frame is transparent, which the checker takes for white; what shows through is the host's ground.
            page.eval("document.body.style.background = 'Canvas'").await?;
            page.expect_accessible(&format!("embedded, {theme}")).await?;
            // Long enough for a debounced write to the address bar, had there been one.
            tokio::time::sleep(std::time::Duration::from_millis(600)).await;
            ensure!(page.eval_text("location.hash").await? == "#batch=4", "the frame's address was touched");
            page.driver.enter_default_frame().await?;
            ensure!(page.eval_text("location.href").await? == host.url(), "the host's address was touched");
            ensure!(page.eval("document.documentElement.scrollWidth <= innerWidth").await? == true);
            page.expect_quiet_console().await?;
        }
        Ok(())
    });
}

/// The custom element makes the frame, keeps its height, passes theme and language on, tells of changes.
#[test]
fn the_custom_element_keeps_height_theme_and_configuration() {
    browse("element", |page: Page| async move {
        let body = format!(
            "<script type=\"module\" src=\"{}embed.js\"></script>\
             <script>window.changes = []; addEventListener('DOMContentLoaded', () => \
             document.querySelector('train-memory').addEventListener('change', e => changes.push(e.detail)));</script>\
             <train-memory config=\"batch=4\" title=\"estimate\"><a href=\"#\">the estimate</a></train-memory>",
            page.url
        );
        let host = Host::start(document(&body, true)).await?;
        page.driver.goto(host.url()).await?;
        let frame = "document.querySelector('train-memory').shadowRoot.querySelector('iframe')";
        let answered =
            "document.querySelector('train-memory')?.shadowRoot?.querySelector('slot').hidden === true";
        page.until("the frame's answer", || async { Ok(page.eval(answered).await? == true) }).await?;
        assert_eq!(page.eval("document.querySelector('train-memory a').checkVisibility()").await?, false);
        page.until("a height of the frame's own", || async {
            Ok(page.eval(&format!("{frame}.height")).await? != "420")
        })
        .await?;

        let before = inside(&page).await?;
        ensure!(before.lang.starts_with("zh") && before.scheme.contains("dark"), "{before:?}");
        page.until("a frame as high as its content", || async { Ok(inside(&page).await?.overflow == 0) })
            .await?;

        page.eval("document.querySelector('train-memory').setAttribute('config', 'batch=16')").await?;
        page.until("a headline for the new configuration", || async {
            Ok(inside(&page).await?.headline != before.headline)
        })
        .await?;
        page.until("a change event", || async {
            Ok(page
                .eval("changes.some(c => c.query.includes('batch=16') && typeof c.totals === 'object')")
                .await?
                == true)
        })
        .await?;

        page.eval("document.documentElement.style.colorScheme = 'light'").await?;
        page.until("the light theme", || async { Ok(inside(&page).await?.scheme.contains("light")) }).await?;
        ensure!(page.eval_text("location.href").await? == host.url(), "the host's address was touched");
        page.expect_quiet_console().await
    });
}

#[derive(Debug)]
struct Inside {
    headline: String,
    lang: String,
    scheme: String,
    overflow: u64,
}

/// Looks into the element's frame and comes back out.
async fn inside(page: &Page) -> trainmem_browser::Result<Inside> {
    let frame = page
        .driver
        .execute("return document.querySelector('train-memory').shadowRoot.querySelector('iframe')", vec![]);
    frame.await?.element()?.enter_frame().await?;
    let inside = Inside {
        headline: page.headline().await?,
        lang: page.eval_text("document.documentElement.lang").await?,
        scheme: page.eval_text("getComputedStyle(document.documentElement).colorScheme").await?,
        overflow: page
            .eval("Math.max(0, document.documentElement.scrollHeight - innerHeight)")
            .await?
            .as_u64()
            .context("a height")?,
    };
    page.driver.enter_default_frame().await?;
    Ok(inside)
}

/// Where the page is gone, the element's children stay.
#[test]
fn the_custom_element_leaves_its_children_as_fallback() {
    browse("element-fallback", |page: Page| async move {
        let folder = target()?.join("only-the-element");
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(path_from_env("TRAINMEM_DIST")?.join("embed.js"), folder.join("embed.js"))?;
        let gone = Site::of(folder).await?;
        let body = format!(
            "<script type=\"module\" src=\"{}embed.js\"></script>\
             <train-memory config=\"batch=4\"><a href=\"#here\">the estimate</a></train-memory>",
            gone.url()
        );
        let host = Host::start(document(&body, false)).await?;
        page.driver.goto(host.url()).await?;
        let made = "document.querySelector('train-memory')?.shadowRoot != null";
        page.until("the element", || async { Ok(page.eval(made).await? == true) }).await?;
        page.element("train-memory a").await?.click().await?;
        ensure!(page.eval_text("location.hash").await? == "#here", "the fallback link can't be clicked");
        Ok(())
    });
}

/// Messages of another shape, version or type change nothing.
#[test]
fn strange_messages_are_ignored() {
    browse("messages", |page: Page| async move {
        page.open("?embed=1#batch=4").await?;
        let headline = page.headline().await?;
        let strange = "[null, 7, 'set', {}, { trainmem: 2, type: 'set', config: 'batch=8' }, { trainmem: 1 },\
             { trainmem: 1, type: 'explode' }, { trainmem: 1, type: 'set', config: { batch: 8 } },\
             { trainmem: 1, type: 'set', config: 5, theme: [], lang: {} }].forEach(m => postMessage(m, '*'))";
        page.eval(strange).await?;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert_eq!(page.headline().await?, headline);
        page.expect_quiet_console().await
    });
}

/// The budget that the element promises to its hosts.
#[test]
fn the_custom_element_is_at_most_three_kilobytes() {
    let script = path_from_env("TRAINMEM_DIST").expect("`./dev test` sets it").join("embed.js");
    let size = std::fs::metadata(&script).expect("the build has an embed.js").len();
    assert!(size <= 3072, "{} has {size} bytes", script.display());
}
