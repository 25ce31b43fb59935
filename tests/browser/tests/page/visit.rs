//! Somebody opens the page, changes it, switches language and theme.

use anyhow::ensure;
use trainmem_browser::{Page, Result, browse};

/// Who types nothing sees a real model on a real card.
#[test]
fn a_first_visit_shows_a_real_model() {
    browse("first-visit", |page: Page| async move {
        page.open("").await?;
        assert!(page.headline().await?.contains("GiB"));
        assert!(page.ledger_rows().await? > 20);
        assert_eq!(page.value("batch").await?, "1");
        page.expect_quiet_console().await
    });
}

/// Headline, figure, ledger and link all follow a field that the keyboard changes.
#[test]
fn everything_follows_a_field() {
    browse("follow", |page: Page| async move {
        page.open("").await?;
        let headline = page.headline().await?;
        let figure = page.figure().await?;
        let ledger = page.text("#ledger table").await?;
        page.type_into("batch", "4").await?;
        page.until("another headline", || async { Ok(page.headline().await? != headline) }).await?;
        page.until("another figure", || async { Ok(page.figure().await? != figure) }).await?;
        page.until("another ledger", || async { Ok(page.text("#ledger table").await? != ledger) }).await?;
        page.until("a link with batch=4", || async { Ok(page.fragment().await?.contains("batch=4")) })
            .await?;
        page.expect_quiet_console().await
    });
}

/// Whoever asks what if may vary any number of the model or the run.
#[test]
fn any_number_can_be_varied() {
    browse("what-if", |page: Page| async move {
        page.open("").await?;
        page.eval("document.querySelector('#figure-key').click()").await?;
        let words = "document.querySelector('#figure canvas').getAttribute('aria-label')";
        let rank = page.eval_text(words).await?;
        let choose = "(s => { s.value = 'num_hidden_layers'; s.dispatchEvent(new Event('change')); })\
                      (document.querySelector('[name=varied]'))";
        page.eval(choose).await?;
        page.until("a figure over the layers", || async { Ok(page.eval_text(words).await? != rank) }).await?;
        ensure!(page.eval_text(words).await?.contains("over the Layers"), "{}", page.eval_text(words).await?);
        page.expect_quiet_console().await
    });
}

/// What can't be read stays as typed and is named; the last good answer stays.
#[test]
fn an_impossible_value_is_named_and_loses_nothing() {
    browse("impossible", |page: Page| async move {
        page.open("#batch=2").await?;
        let headline = page.headline().await?;
        page.type_into("batch", "0").await?;
        let invalid = "document.querySelector('[data-key=batch]').getAttribute('aria-invalid')";
        page.until("a field marked as wrong", || async { Ok(page.eval(invalid).await? == "true") }).await?;
        assert_eq!(page.value("batch").await?, "0");
        let described = "document.querySelector('[data-key=batch]').getAttribute('aria-describedby')\
             .split(' ').map(id => document.getElementById(id)?.innerText).join(' ')";
        let words = page.eval_text(described).await?;
        ensure!(words.contains('0'), "the words beside the field don't name the value: {words}");
        ensure!(page.headline().await?.contains(size_in(&headline)), "the last good answer is gone");
        page.type_into("batch", "2").await?;
        page.until("the mark to go", || async { Ok(page.eval(invalid).await? != "true") }).await?;
        assert_eq!(page.headline().await?, headline);
        page.expect_quiet_console().await
    });
}

/// The first size in a sentence, e.g. `57.3 GiB`.
fn size_in(sentence: &str) -> &str {
    let end = sentence.find("GiB").map_or(sentence.len(), |at| at + 3);
    let start = sentence[..end].find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    &sentence[start..end]
}

/// Every sentence changes with the language, and the link remembers it.
#[test]
fn the_language_switches() {
    browse("language", |page: Page| async move {
        page.open("").await?;
        let english = page.text("body").await?;
        ensure!(page.eval_text("document.documentElement.lang").await?.starts_with("en"));
        page.element("[data-action=lang]").await?.click().await?;
        let chinese =
            || async { Ok(page.eval_text("document.documentElement.lang").await?.starts_with("zh")) };
        page.until("lang=zh on the document", chinese).await?;
        page.until("显存 in the page", || async { Ok(page.text("body").await?.contains("显存")) }).await?;
        let headline = page.headline().await?;
        ensure!(headline.contains("GiB") && !english.contains(&headline), "the headline stayed: {headline}");
        page.until("lang=zh in the link", || async { Ok(page.fragment().await?.contains("lang=zh")) })
            .await?;
        page.expect_quiet_console().await
    });
}

/// Colours change with the theme, the figure's too, and the link remembers it.
#[test]
fn the_theme_switches() {
    browse("theme", |page: Page| async move {
        page.prefer_dark(false).await?;
        page.open("#theme=light").await?;
        let (light, figure) = (ground(&page).await?, page.figure().await?);
        // The switch may pass through "as the system says" first.
        for _ in 0..3 {
            if page.fragment().await?.contains("theme=dark") {
                break;
            }
            page.element("[data-action=theme]").await?.click().await?;
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        ensure!(page.fragment().await?.contains("theme=dark"), "the link never said theme=dark");
        page.until("a dark ground", || async { Ok(ground(&page).await? != light) }).await?;
        page.until("a figure for the dark", || async { Ok(page.figure().await? != figure) }).await?;
        page.expect_quiet_console().await
    });
}

/// Without a word in the link, the system's colours are the page's.
#[test]
fn the_theme_is_the_systems() {
    browse("system-theme", |page: Page| async move {
        let mut grounds = Vec::new();
        for dark in [false, true] {
            page.prefer_dark(dark).await?;
            page.open("").await?;
            grounds.push(ground(&page).await?);
        }
        assert_ne!(grounds[0], grounds[1]);
        page.expect_quiet_console().await
    });
}

async fn ground(page: &Page) -> Result<String> {
    page.eval_text("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).backgroundColor")
        .await
}

/// The figure is drawn in the screen's own pixels.
#[test]
fn the_figure_is_crisp() {
    browse("crisp", |page: Page| async move {
        for ratio in [1.0, 2.0, 3.0] {
            page.resize(trainmem_browser::Size::DESK, ratio).await?;
            page.open("").await?;
            let drawn =
                "(c => c.width / c.getBoundingClientRect().width)(document.querySelector('#figure canvas'))";
            let drawn = page.eval(drawn).await?.as_f64().unwrap_or(0.0);
            assert!((drawn - ratio).abs() < 0.02, "{drawn} canvas pixels to a CSS pixel at ratio {ratio}");
        }
        Ok(())
    });
}

/// The copy buttons put a link and an embed code of this very state on the clipboard.
#[test]
fn link_and_embed_code_are_copied() {
    browse("copy", |page: Page| async move {
        let permissions =
            serde_json::json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
        page.cdp("Browser.grantPermissions", permissions).await?;
        page.open("#batch=3").await?;
        for (button, expected) in [("#copy-link", "#v=1&batch=3"), ("#copy-embed", "<iframe")] {
            page.element(button).await?.click().await?;
            page.until(expected, || async { Ok(clipboard(&page).await?.contains(expected)) }).await?;
            let text = clipboard(&page).await?;
            ensure!(text.contains(&page.url) && text.contains("batch=3"), "copied: {text}");
        }
        page.expect_quiet_console().await
    });
}

async fn clipboard(page: &Page) -> Result<String> {
    let read = "const done = arguments[0]; navigator.clipboard.readText().then(done, e => done(String(e)))";
    let text = page.driver.execute_async(read, vec![]).await?.json().clone();
    Ok(text.as_str().unwrap_or_default().to_owned())
}
