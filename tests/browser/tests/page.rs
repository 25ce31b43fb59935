//! A reader's walk through the built page.

use trainmem_browser::{Page, browse};

/// A visitor who types nothing sees a real model.
#[test]
fn a_first_visit_shows_a_real_model() {
    browse("first-visit", |page: Page| async move {
        page.open("").await?;
        assert!(page.headline().await?.contains("GiB"));
        assert!(page.ledger_rows().await? > 20);
        page.expect_quiet_console().await
    });
}
