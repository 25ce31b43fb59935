//! Links live for years in other people's documents.

use anyhow::{Context as _, ensure};
use trainmem_browser::{Page, browse};

/// The golden links that the tests of the host read too: `link → meaning ; problems`, remarks start with `//`.
const LINKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/links.txt");

/// What a golden link puts after the page's own address.
fn query_and_fragment(link: &str) -> String {
    match link.find(['?', '#']) {
        Some(at) => link[at..].to_owned(),
        None if link.contains("://") => String::new(),
        None => format!("#{link}"),
    }
}

/// The link that the page writes opens the same state elsewhere.
#[test]
fn a_link_opens_the_state_that_wrote_it() {
    browse("reload", |page: Page| async move {
        page.open("#model=qwen2.5-7b").await?;
        page.type_into("batch", "2").await?;
        page.type_into("seq", "4k").await?;
        page.until("the link", || async {
            let fragment = page.fragment().await?;
            Ok(fragment.contains("batch=2") && fragment.contains("seq=4096"))
        })
        .await?;
        let fragment = page.fragment().await?;
        page.settled().await?;
        let (headline, ledger) = (page.headline().await?, page.text("#ledger table").await?);
        page.open(&format!("#{fragment}")).await?;
        page.settled().await?;
        assert_eq!(page.headline().await?, headline);
        assert_eq!(page.text("#ledger table").await?, ledger);
        assert_eq!(page.value("batch").await?, "2");
        assert_eq!(page.fragment().await?, fragment);
        page.expect_quiet_console().await
    });
}

/// Hosts that lose fragments put the configuration in the query string.
#[test]
fn the_query_string_is_read_as_well() {
    browse("query", |page: Page| async move {
        page.open("#batch=4&seq=1024").await?;
        let headline = page.headline().await?;
        page.open("?batch=4&seq=1024").await?;
        assert_eq!(page.headline().await?, headline);
        page.expect_quiet_console().await
    });
}

/// Each golden link still gives a page with an answer, or with the reason why there is none.
#[test]
fn old_links_open() {
    browse("old-links", |page: Page| async move {
        let links = std::fs::read_to_string(LINKS)?;
        let links: Vec<_> = links.lines().filter(|line| !line.starts_with("//")).collect();
        ensure!(links.len() > 10, "too few golden links");
        for line in links {
            let link = line.split(" → ").next().unwrap_or(line).trim();
            page.visit(&query_and_fragment(link)).await.with_context(|| link.to_owned())?;
            let answered = page.headline().await?.contains('B');
            ensure!(
                answered || !page.text("#problems").await?.is_empty(),
                "neither answer nor reason: {link}"
            );
            page.expect_quiet_console().await.with_context(|| link.to_owned())?;
        }
        Ok(())
    });
}

/// What a broken link says wrong is named, the rest works.
#[test]
fn a_broken_link_names_what_it_ignored() {
    browse("broken-link", |page: Page| async move {
        page.open("#gpu=x100&batch=0&frobnicate=1&seq=4096&tp=%E0%A4%A").await?;
        let problems = page.text("#problems").await?;
        for name in ["gpu", "batch", "frobnicate"] {
            ensure!(problems.contains(name), "{name} is not named in: {problems}");
        }
        assert_eq!(page.value("seq").await?, "4096");
        assert!(page.ledger_rows().await? > 20);
        // Of a model that nobody knows nothing can be said but that.
        page.visit("#model=gpt-17").await?;
        page.until("the model's name", || async { Ok(page.text("#problems").await?.contains("gpt-17")) })
            .await?;
        page.expect_quiet_console().await
    });
}

/// Arbitrary bytes, and a megabyte of them, give a page.
#[test]
fn nonsense_gives_a_page() {
    browse("nonsense", |page: Page| async move {
        let long = format!("#{}", "batch=1&x=".repeat(100_000));
        for link in
            ["#&&==&=%&%%%41", "#batch=1e309&seq=-1&num_hidden_layers=1e30&hidden_size=NaN", "#💥=💥", &long]
        {
            page.open(link).await?;
            page.expect_quiet_console().await?;
        }
        Ok(())
    });
}
