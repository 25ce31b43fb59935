//! Times from the browser's own performance entries.

use anyhow::Context as _;
use serde_json::{Value, json};
use trainmem_browser::{Page, Result, Size};

/// A reader's machine and line.
#[derive(Clone, Copy)]
pub(crate) struct Profile {
    name: &'static str,
    /// How many times slower than this machine.
    slowdown: u32,
    /// Round trip (ms) and download (bytes per second), where the line is the reader's.
    line: Option<(u32, u32)>,
}

/// The two that the budgets name. 1.6 Mbit/s and 150 ms are Lighthouse's slow 4G.
pub(crate) const PROFILES: [Profile; 2] = [
    Profile { name: "this machine", slowdown: 1, line: None },
    Profile { name: "4 × slower, 1.6 Mbit/s, 150 ms", slowdown: 4, line: Some((150, 200_000)) },
];

/// Visits and key presses behind each figure.
const VISITS: usize = 5;
const KEYS: usize = 12;

/// Before the page's own scripts: note when the first field can be used and every shift and input.
const OBSERVE: &str = r#"
if (window.__events === undefined) {
window.__interactive = null; window.__shift = 0; window.__events = [];
new MutationObserver((_, observer) => {
  if (document.querySelector('[data-key="batch"]') && /\d.*Gi?B/.test(document.querySelector('#headline')?.textContent)) {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.__interactive = performance.now(); }));
  }
}).observe(document, { childList: true, subtree: true, characterData: true });
new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) window.__shift += e.value; })
  .observe({ type: 'layout-shift', buffered: true });
new PerformanceObserver(list => { for (const e of list.getEntries()) if (e.interactionId)
  window.__events.push([e.interactionId, e.duration, e.processingEnd - e.processingStart]); })
  .observe({ type: 'event', durationThreshold: 16, buffered: true });
}
"#;

/// Medians over the visits (ms), and the worst where it says so.
pub(crate) struct Timings {
    first_paint: f64,
    interactive: f64,
    shift: f64,
    next_frame: f64,
    next_frame_worst: f64,
    handler_worst: f64,
}

impl Timings {
    /// Visits the page with an empty cache and presses keys in a field.
    ///
    /// # Errors
    /// When the page never becomes usable.
    pub(crate) async fn take(page: &Page, profile: Profile) -> Result<Self> {
        throttle(page, profile).await?;
        page.resize(Size::DESK, 1.0).await?;
        page.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": OBSERVE })).await?;
        let (mut paints, mut interactives, mut shifts) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..VISITS {
            page.cdp("Network.clearBrowserCache", json!({})).await?;
            page.open("").await?;
            page.until("the first field", || async {
                Ok(!page.eval("window.__interactive").await?.is_null())
            })
            .await?;
            let paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0";
            paints.push(number(page, paint).await?);
            interactives.push(number(page, "window.__interactive").await?);
            shifts.push(number(page, "window.__shift").await?);
        }
        page.eval("window.__events.length = 0").await?;
        for press in 0..KEYS {
            page.type_into("batch", if press % 2 == 0 { "4" } else { "2" }).await?;
            tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        }
        let events: Vec<(u64, f64, f64)> = serde_json::from_value(page.eval("window.__events").await?)?;
        let mut frames: Vec<f64> = events.iter().map(|event| event.1).collect();
        let handler_worst = events.iter().map(|event| event.2).fold(0.0, f64::max);
        Ok(Self {
            first_paint: median(&mut paints),
            interactive: median(&mut interactives),
            shift: median(&mut shifts),
            next_frame: median(&mut frames),
            next_frame_worst: frames.last().copied().unwrap_or(0.0),
            handler_worst,
        })
    }

    /// A block of lines.
    pub(crate) fn print(&self, profile: Profile) {
        println!("{} (median of {VISITS} first visits, {KEYS} keys)", profile.name);
        println!("{:>10.0} ms  first contentful paint", self.first_paint);
        println!("{:>10.0} ms  until a field can be used and the answer stands", self.interactive);
        println!("{:>10.3}     layout shift", self.shift);
        println!(
            "{:>10.0} ms  from a key to the next frame (in steps of 8; below 16 counts as none)",
            self.next_frame
        );
        println!("{:>10.0} ms  the same, worst", self.next_frame_worst);
        println!("{:>10.1} ms  of it in the page's own code, worst\n", self.handler_worst);
    }
}

/// A file that a first visit loads.
pub(crate) struct Loaded {
    /// As it is called in the build.
    pub(crate) name: String,
    /// Was it asked for before the first field could be used?
    pub(crate) before_use: bool,
}

/// The files that a first visit loads in which nobody touches anything.
///
/// # Errors
/// When the page doesn't come up.
pub(crate) async fn first_load(page: &Page) -> Result<Vec<Loaded>> {
    page.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": OBSERVE })).await?;
    page.open("").await?;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let interactive = number(page, "window.__interactive").await?;
    let loaded =
        page.eval("performance.getEntriesByType('resource').map(e => [e.name, e.startTime])").await?;
    let loaded: Vec<(String, f64)> = serde_json::from_value(loaded)?;
    let page_itself = Loaded { name: "index.html".to_owned(), before_use: true };
    let files = loaded.iter().filter_map(|(url, start)| {
        let name = url.strip_prefix(&page.url)?.split(['?', '#']).next()?.to_owned();
        Some(Loaded { name, before_use: *start < interactive })
    });
    Ok(files.chain([page_itself]).collect())
}

async fn throttle(page: &Page, profile: Profile) -> Result {
    page.cdp("Network.enable", json!({})).await?;
    page.cdp("Emulation.setCPUThrottlingRate", json!({ "rate": profile.slowdown })).await?;
    let (latency, download) =
        profile.line.map_or((0, -1), |(latency, download)| (latency, i64::from(download)));
    let conditions = json!({ "offline": false, "latency": latency, "downloadThroughput": download, "uploadThroughput": -1 });
    page.cdp("Network.emulateNetworkConditions", conditions).await
}

async fn number(page: &Page, expression: &str) -> Result<f64> {
    let value: Value = page.eval(expression).await?;
    value.as_f64().with_context(|| format!("{expression} is {value}"))
}

/// Sorts and takes the middle; 0 when nothing was seen.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
