//! One browser per test: its driver, its profile, its end.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use thirtyfour::prelude::*;
use thirtyfour::{ChromeCapabilities, LoggingPrefsLogLevel};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::{Page, Result, Site, pictures};

/// Quiet, without a window, and without a word to anybody outside.
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,900",
];

/// A running browser and the page's server.
pub struct Session {
    /// The browser.
    pub driver: WebDriver,
    /// The server of the built page.
    pub site: Site,
    chromedriver: Child,
}

impl Session {
    /// Starts the driver on a port that it chooses, and a browser with a fresh profile whose language is `language`.
    ///
    /// # Errors
    /// When there is no build, no driver, or no browser.
    pub async fn start(language: &str) -> Result<Self> {
        Self::with_site(language, Site::start().await?).await
    }

    /// As [`Session::start`], with a server of one's own.
    ///
    /// # Errors
    /// When there is no driver or no browser.
    pub async fn with_site(language: &str, site: Site) -> Result<Self> {
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
        let mut chromedriver = Command::new(&program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{program} does not start; `./dev test` installs it"))?;
        let port = port_of(&mut chromedriver).await?;

        let mut wanted = ChromeCapabilities::new();
        if let Ok(chrome) = std::env::var("CHROME") {
            wanted.set_binary(&chrome)?;
        }
        for flag in FLAGS {
            wanted.add_arg(flag)?;
        }
        wanted.add_arg(&format!("--lang={language}"))?;
        wanted.add_experimental_option("prefs", serde_json::json!({ "intl.accept_languages": language }))?;
        wanted.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), wanted).await?;
        driver.set_script_timeout(Duration::from_secs(30)).await?;
        Ok(Self { driver, site, chromedriver })
    }

    /// The page as a reader would handle it.
    #[must_use]
    pub fn page(&self) -> Page {
        Page::new(self.driver.clone(), self.site.url())
    }

    /// Ends browser and driver.
    ///
    /// # Errors
    /// When the driver no longer answers.
    pub async fn end(mut self) -> Result {
        let quit = self.driver.quit().await;
        self.chromedriver.kill().await?;
        Ok(quit?)
    }
}

/// Reads the port from the driver's greeting.
async fn port_of(chromedriver: &mut Child) -> Result<u16> {
    let out = chromedriver.stdout.take().context("the driver has no output")?;
    let mut lines = BufReader::new(out).lines();
    let mut port = None;
    while port.is_none() {
        let line = lines.next_line().await?.context("the driver ended before it named its port")?;
        port = line
            .rsplit_once("successfully on port ")
            .and_then(|(_, number)| number.trim_end_matches('.').parse().ok());
    }
    // A full pipe would stop the driver: keep reading for as long as it speaks.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    port.context("the driver named no port")
}

/// Runs one test in a browser of its own, and ends the browser however the test ends. A failed test leaves a picture
/// `target/pictures/failed-<name>.png` and prints the browser's console.
///
/// # Panics
/// When the test fails: this is the outermost frame of a test.
pub fn browse<F, Fut>(name: &'static str, test: F)
where
    F: FnOnce(Page) -> Fut,
    Fut: Future<Output = Result> + Send + 'static,
{
    let runtime = tokio::runtime::Runtime::new().expect("threads are available");
    runtime.block_on(async {
        let session = Session::start("en-US").await.unwrap_or_else(|error| panic!("no browser: {error:#}"));
        let page = session.page();
        // In a task of its own, so that a failed assertion comes back as a value and the browser still ends.
        let outcome = tokio::spawn(test(page.clone())).await;
        if !matches!(outcome, Ok(Ok(()))) {
            report_failure(&page, name).await;
        }
        session.end().await.unwrap_or_else(|error| eprintln!("the browser did not end well: {error:#}"));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => panic!("{error:?}"),
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    });
}

async fn report_failure(page: &Page, name: &str) {
    if let Ok(folder) = pictures() {
        let picture = folder.join(format!("failed-{name}.png"));
        if page.driver.screenshot(&picture).await.is_ok() {
            eprintln!("picture: {}", picture.display());
        }
    }
    if let Ok(url) = page.driver.current_url().await {
        eprintln!("address: {url}");
    }
    for line in page.console().await.unwrap_or_default() {
        eprintln!("console: {line}");
    }
}
