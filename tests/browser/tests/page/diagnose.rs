//! What a reader brings: a message is understood and held against the page, a file is read, one click fills it in.

use anyhow::ensure;
use trainmem_browser::{Page, Result, Size, browse};

/// Puts a text into the place for it, as pasting does, and has it read.
async fn bring(page: &Page, text: &str) -> Result {
    let script = "const place = document.querySelector('#bring'); place.value = arguments[0];\
                  place.dispatchEvent(new Event('input', { bubbles: true }));\
                  place.closest('.drop').querySelector('button').click();";
    page.driver.execute(script, vec![text.into()]).await?;
    Ok(())
}

async fn shows(page: &Page, words: &str) -> Result {
    page.until(&format!("“{words}” below the text"), || async {
        Ok(page.text("#brought").await.unwrap_or_default().contains(words))
    })
    .await
}

async fn fill_in(page: &Page, expected: &str) -> Result {
    page.element("#fill-in").await?.click().await?;
    page.until(&format!("{expected} in the address"), || async {
        Ok(page.fragment().await?.contains(expected))
    })
    .await
}

const MESSAGE: &str = include_str!("../../../data/oom.txt");
const RUN: &str = "#view=diagnose&model=llama-3.1-8b&precision=bf16&recompute=full&seq=4096";

/// The message is told, its tensor named; the batch that it gives away is filled in, and then the tensor fits exactly.
#[test]
fn a_message_names_its_tensor() {
    browse("message", |page: Page| async move {
        page.open(RUN).await?;
        bring(&page, MESSAGE).await?;
        for words in ["14.6 GiB short", "Most likely loss.", "at batch 8", "batch = 8"] {
            shows(&page, words).await?;
        }
        page.expect_accessible("a diagnosis").await?;
        fill_in(&page, "batch=8").await?;
        shows(&page, "exactly").await?;
        ensure!(
            page.eval("document.querySelector('#fill-in')").await?.is_null(),
            "nothing is left to fill in"
        );
        ensure!(page.fragment().await?.contains("view=diagnose"), "the view changed");
        page.expect_quiet_console().await
    });
}

/// The same in Chinese on a narrow phone, without a sideways scroll.
#[test]
fn a_diagnosis_fits_a_phone() {
    browse("message-phone", |page: Page| async move {
        page.resize(Size::NARROW, 2.0).await?;
        page.open(&format!("{RUN}&lang=zh")).await?;
        bring(&page, MESSAGE).await?;
        shows(&page, "最可能是 loss.").await?;
        let width = page.eval("document.documentElement.scrollWidth").await?;
        ensure!(width == 320, "{width} pixels wide");
        page.expect_accessible("a diagnosis on a phone").await
    });
}

/// A file's settings are listed, what was not understood beside them, and one click fills them in.
#[test]
fn a_file_is_read_and_filled_in() {
    browse("bring-file", |page: Page| async move {
        page.open("#view=diagnose&theme=dark").await?;
        bring(&page, r#"{"model": "qwen3-8b", "batch": 4, "bach": 5}"#).await?;
        for words in ["model=qwen3-8b", "batch=4", "bach"] {
            shows(&page, words).await?;
        }
        ensure!(!page.fragment().await?.contains("qwen3"), "it was filled in before anybody asked");
        fill_in(&page, "model=qwen3-8b&batch=4").await?;
        ensure!(page.fragment().await?.contains("theme=dark"), "the theme changed");
        page.expect_quiet_console().await
    });
}

/// What is no message, file or link is said to be none.
#[test]
fn what_says_nothing_changes_nothing() {
    browse("bring-nothing", |page: Page| async move {
        page.open("#view=diagnose").await?;
        bring(&page, "{ \"model\": ").await?;
        shows(&page, "JSON").await?;
        ensure!(
            page.eval("document.querySelector('#fill-in')").await?.is_null(),
            "there is nothing to fill in"
        );
        page.expect_quiet_console().await
    });
}
