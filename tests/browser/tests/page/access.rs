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
        let reached = "(e => e === document.body ? '' : (e.dataset.key ?? e.dataset.action ?? e.id ?? ''))(document.activeElement)";
        let ring = "(e => { const s = getComputedStyle(e); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'; })(document.activeElement)";
        let mut seen = Vec::new();
        for _ in 0..800 {
            page.driver.action_chain().send_keys(Key::Tab).perform().await?;
            if page.eval("document.activeElement === document.body").await? == true {
                break;
            }
            let name = page.eval_text(reached).await?;
            ensure!(page.eval(ring).await? == true, "nothing shows that {name:?} has the focus");
            seen.push(name);
        }
        for control in ["batch", "seq", "lang", "theme", "copy-link", "copy-embed"] {
            ensure!(seen.iter().any(|name| name == control), "Tab never reached {control}; it saw {seen:?}");
        }
        Ok(())
    });
}
