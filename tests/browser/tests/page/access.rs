//! For everybody: a checker's verdict, narrow windows, the keyboard.

use anyhow::ensure;
use thirtyfour::prelude::*;
use trainmem_browser::{Page, Size, browse};

const VIEWS: [&str; 3] = ["quick", "detailed", "diagnose"];

/// axe-core finds nothing, in any view, theme, language.
#[test]
fn a_checker_finds_nothing() {
    browse("axe", |page: Page| async move {
        for (size, lang) in [(Size::DESK, "en"), (Size::PHONE, "zh")] {
            page.resize(size, 1.0).await?;
            for view in VIEWS {
                for theme in ["light", "dark"] {
                    page.open(&format!("#lang={lang}&theme={theme}&view={view}")).await?;
                    page.expect_accessible(&format!("{view}, {theme}, {lang}")).await?;
                }
            }
        }
        page.expect_quiet_console().await
    });
}

/// A reader who zooms in never scrolls sideways.
#[test]
fn nothing_is_wider_than_320_pixels() {
    browse("reflow", |page: Page| async move {
        page.resize(Size::NARROW, 2.0).await?;
        for view in VIEWS {
            for lang in ["en", "zh"] {
                page.open(&format!("#view={view}&lang={lang}")).await?;
                let width = page.eval("document.documentElement.scrollWidth").await?;
                assert_eq!(width, 320, "{view}, {lang}");
            }
        }
        Ok(())
    });
}

/// Tab reaches each control once around, and each shows that it has the focus.
#[test]
fn the_keyboard_reaches_every_control() {
    browse("keyboard", |page: Page| async move {
        page.open("").await?;
        // In one question, since what has the focus may change between two.
        let focused = "(e => { const s = getComputedStyle(e); return {
            left: e === document.body,
            name: e.dataset.key ?? e.dataset.action ?? e.id ?? '',
            ring: s.outlineStyle !== 'none' || s.boxShadow !== 'none',
            tag: e.cloneNode().outerHTML,
        }; })(document.activeElement)";
        let mut seen = Vec::new();
        for _ in 0..800 {
            page.driver.action_chain().send_keys(Key::Tab).perform().await?;
            let focused = page.eval(focused).await?;
            if focused["left"] == true {
                break;
            }
            ensure!(focused["ring"] == true, "nothing shows that {} has the focus", focused["tag"]);
            let name = focused["name"].as_str().unwrap_or_default().to_owned();
            seen.push(name);
        }
        for control in ["batch", "seq", "lang", "theme", "copy-link", "copy-embed"] {
            ensure!(seen.iter().any(|name| name == control), "Tab never reached {control}; it saw {seen:?}");
        }
        Ok(())
    });
}

/// The answer is worked out again while somebody stands in the table: they stay on their row.
#[test]
fn a_new_answer_leaves_the_focus_where_it_was() {
    browse("focus", |page: Page| async move {
        page.open("").await?;
        page.eval("[...document.querySelectorAll('#ledger tbody td button')][3].focus()").await?;
        let row = "document.activeElement.textContent";
        let before = page.eval_text(row).await?;
        ensure!(!before.is_empty(), "no row has the focus");
        page.eval("window.kept = document.activeElement").await?;
        // As the back button or a link in an embedding page would: without taking the focus.
        page.eval("location.hash = 'batch=2'").await?;
        page.until("a new table", || async { Ok(page.eval("window.kept.isConnected").await? == false) })
            .await?;
        assert_eq!(page.eval_text(row).await?, before);
        Ok(())
    });
}
