//! The page as a reader handles it: by its stable hooks, with keys and clicks.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use thirtyfour::prelude::*;

use crate::{Result, path_from_env};

/// How long anything on the page may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(15);

/// A window, in CSS pixels.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// A phone: touch, viewport meta honoured.
    pub mobile: bool,
}

impl Size {
    /// A laptop.
    pub const DESK: Self = Self { width: 1280, height: 900, mobile: false };
    /// A phone.
    pub const PHONE: Self = Self { width: 390, height: 844, mobile: true };
    /// The narrowest that WCAG's reflow asks for.
    pub const NARROW: Self = Self { width: 320, height: 640, mobile: true };
}

/// The page in one browser.
#[derive(Clone)]
pub struct Page {
    /// The browser.
    pub driver: WebDriver,
    /// The page's address without query and fragment.
    pub url: String,
}

impl Page {
    pub(crate) fn new(driver: WebDriver, url: String) -> Self {
        Self { driver, url }
    }

    /// Opens `?query#fragment` (either may be empty) as a new visit, and waits until the page has answered.
    ///
    /// # Errors
    /// When no headline appears.
    pub async fn open(&self, query_and_fragment: &str) -> Result {
        self.visit(query_and_fragment).await?;
        self.ready().await
    }

    /// As [`Page::open`], for links to which there may be no answer: waits for the headline, whatever it says.
    ///
    /// # Errors
    /// When no headline appears.
    pub async fn visit(&self, query_and_fragment: &str) -> Result {
        // A change of the fragment alone is no new visit: leave first.
        self.driver.goto("about:blank").await?;
        self.driver.goto(format!("{}{query_and_fragment}", self.url)).await?;
        self.element("#headline").await?;
        Ok(())
    }

    /// Waits until the page shows an answer.
    ///
    /// # Errors
    /// When it doesn't.
    pub async fn ready(&self) -> Result {
        self.until("a headline with a size", || async {
            Ok(self.headline().await.is_ok_and(|text| text.contains("GiB") || text.contains("GB")))
        })
        .await
    }

    /// Asks again and again until `question` says yes.
    ///
    /// # Errors
    /// When it never does; `what` names what was waited for.
    pub async fn until<Q, Fut>(&self, what: &str, mut question: Q) -> Result
    where
        Q: FnMut() -> Fut,
        Fut: Future<Output = Result<bool>>,
    {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if question().await? {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        bail!("waited {} s in vain for {what}", PATIENCE.as_secs())
    }

    /// What a script returns.
    ///
    /// # Errors
    /// When it throws.
    pub async fn eval(&self, expression: &str) -> Result<Value> {
        let script = format!("return ({expression});");
        Ok(self.driver.execute(script, vec![]).await.with_context(|| expression.to_owned())?.json().clone())
    }

    /// As [`Page::eval`], for a string.
    ///
    /// # Errors
    /// When it throws or returns something else.
    pub async fn eval_text(&self, expression: &str) -> Result<String> {
        let value = self.eval(expression).await?;
        Ok(value.as_str().with_context(|| format!("{expression} is {value}"))?.to_owned())
    }

    /// The one element that a selector finds.
    ///
    /// # Errors
    /// When there is none within [`PATIENCE`].
    pub async fn element(&self, css: &str) -> Result<WebElement> {
        let query = self.driver.query(By::Css(css)).wait(PATIENCE, Duration::from_millis(40));
        query.first().await.with_context(|| format!("nothing matches {css}"))
    }

    /// Its visible text.
    ///
    /// # Errors
    /// When there is no such element.
    pub async fn text(&self, css: &str) -> Result<String> {
        self.eval_text(&format!("document.querySelector({}).innerText", json!(css))).await
    }

    /// The answer in words.
    ///
    /// # Errors
    /// When the page has none.
    pub async fn headline(&self) -> Result<String> {
        self.text("#headline").await
    }

    /// Waits until a replay has said what is reserved: the figures move no more.
    ///
    /// # Errors
    /// When that takes longer than [`PATIENCE`].
    pub async fn settled(&self) -> Result {
        let busy = "document.getElementById('headline').getAttribute('aria-busy')";
        self.until("a settled answer", || async { Ok(self.eval(busy).await? == "false") }).await
    }

    /// What the field of a contract key holds.
    ///
    /// # Errors
    /// When there is no such field.
    pub async fn value(&self, key: &str) -> Result<String> {
        self.eval_text(&format!("document.querySelector('[data-key={key}]').value")).await
    }

    /// Types into the field of a contract key, by keyboard alone.
    ///
    /// # Errors
    /// When there is no such field or it can't be reached.
    pub async fn type_into(&self, key: &str, text: &str) -> Result {
        let field = self.element(&format!("[data-key={key}]")).await?;
        field.scroll_into_view().await?;
        field.focus().await?;
        field.send_keys(Key::Control + "a").await?;
        field.send_keys(text).await?;
        Ok(())
    }

    /// The fragment of the address, without `#`.
    ///
    /// # Errors
    /// When the browser doesn't answer.
    pub async fn fragment(&self) -> Result<String> {
        Ok(self.eval_text("location.hash").await?.trim_start_matches('#').to_owned())
    }

    /// A fingerprint of the figure's pixels.
    ///
    /// # Errors
    /// When there is no canvas.
    pub async fn figure(&self) -> Result<String> {
        self.eval_text("document.querySelector('#figure canvas').toDataURL()").await
    }

    /// Rows of the ledger's body.
    ///
    /// # Errors
    /// When there is no table.
    pub async fn ledger_rows(&self) -> Result<u64> {
        let rows = self.eval("document.querySelectorAll('#ledger table tbody tr').length").await?;
        rows.as_u64().context("a count")
    }

    /// Everything that the browser said on its console since last asked, as `LEVEL message`.
    ///
    /// # Errors
    /// When the driver keeps no log.
    pub async fn console(&self) -> Result<Vec<String>> {
        let entries = self.driver.browser_log().await?;
        Ok(entries.into_iter().map(|entry| format!("{} {}", entry.level, entry.message)).collect())
    }

    /// Fails when the console holds an error or a warning since last asked.
    ///
    /// # Errors
    /// Names the lines.
    pub async fn expect_quiet_console(&self) -> Result {
        let noise: Vec<_> = self.console().await?;
        let noise: Vec<_> = noise
            .into_iter()
            .filter(|line| line.starts_with("SEVERE") || line.starts_with("WARNING"))
            .collect();
        ensure!(noise.is_empty(), "the console is not quiet: {noise:#?}");
        Ok(())
    }

    /// Fails when axe-core finds a violation in the current document.
    ///
    /// # Errors
    /// Names each violation and the elements.
    pub async fn expect_accessible(&self, what: &str) -> Result {
        let axe = std::fs::read_to_string(path_from_env("AXE_JS")?)?;
        self.driver.execute(axe, vec![]).await?;
        let run = "const done = arguments[0];\
            axe.run(document, { resultTypes: ['violations'] }).then(\
              r => done(r.violations.map(v => v.id + ': ' + v.help + ' — ' +\
                v.nodes.map(n => n.target.join(' ') + ' (' + n.any.concat(n.all).map(c => c.message).join('; ') + ')').join(', '))),\
              e => done(['axe failed: ' + e]));";
        let found = self.driver.execute_async(run, vec![]).await?.json().clone();
        let found: Vec<String> = serde_json::from_value(found)?;
        ensure!(found.is_empty(), "accessibility, {what}: {found:#?}");
        Ok(())
    }

    /// Gives the window a size.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn resize(&self, size: Size, pixel_ratio: f64) -> Result {
        let Size { width, height, mobile } = size;
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": pixel_ratio, "mobile": mobile }),
        )
        .await
    }

    /// What the operating system says of colours: dark or light.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn prefer_dark(&self, dark: bool) -> Result {
        let value = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.cdp("Emulation.setEmulatedMedia", features).await
    }

    /// One DevTools command.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn cdp(&self, method: &str, parameters: Value) -> Result {
        self.driver.cdp().send_raw(method, parameters).await.with_context(|| method.to_owned())?;
        Ok(())
    }

    /// Takes a picture: of the window, or of the whole page however long it is.
    ///
    /// # Errors
    /// When the browser refuses or the file can't be written.
    pub async fn picture(&self, file: &Path, size: Size, whole: bool) -> Result {
        self.resize(size, 2.0).await?;
        if whole {
            let height = self.eval("Math.ceil(document.documentElement.scrollHeight)").await?;
            let height = u32::try_from(height.as_u64().context("a height")?)?.clamp(size.height, 6000);
            self.resize(Size { height, ..size }, 2.0).await?;
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.driver.screenshot(file).await?;
        Ok(())
    }
}
