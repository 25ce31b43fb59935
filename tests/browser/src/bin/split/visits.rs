//! Which functions a first visit runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use trainmem_browser::{Page, Result, Session, Site, Size};

use crate::glue::{Built, HIT};
use crate::halves;

/// A visitor: the browser's language, the window, whether the system is dark, and the link's query and fragment.
struct Visit {
    language: &'static str,
    size: Size,
    dark: bool,
    link: &'static str,
}

/// People who look, and whose keys and clicks wait for the second half in vain; the links say no more than how the page looks, as `restIsNeeded` has it.
const VISITS: [Visit; 4] = [
    Visit { language: "en-US", size: Size::DESK, dark: false, link: "" },
    Visit { language: "zh-CN", size: Size::DESK, dark: true, link: "" },
    Visit { language: "zh-CN", size: Size::PHONE, dark: false, link: "#v=1&lang=zh&theme=dark&units=GB" },
    Visit { language: "en-US", size: Size::PHONE, dark: true, link: "?embed=1&lang=en&theme=light" },
];

/// How long a page is left alone after it stands: what it does by itself belongs to the visit.
const SETTLED: Duration = Duration::from_millis(2500);

/// One of each kind of thing that can be done to the page.
const TOUCH: &str = "for (const [selector, event] of [['select[data-key=optimizer]', 'change'], ['[data-view=quick]', 'click'],
    ['[data-action=theme]', 'click']]) document.querySelector(selector)?.dispatchEvent(new Event(event, { bubbles: true }));
  document.querySelector('[role=tablist]')?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
  for (const details of document.querySelectorAll('details')) details.open = true;
  dispatchEvent(new Event('popstate'));
  postMessage({ trainmem: 1, type: 'set' }, '*');";

/// The functions of `module` that some visit runs, by their place among its own functions.
pub(crate) fn functions_that_run(built: &Built, module: &[u8]) -> Result<BTreeSet<usize>> {
    let folder = crate::work()?.join("page");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    copy(&built.dist, &folder)?;
    let watched = Built::find(folder)?;
    std::fs::write(&watched.wasm, halves::telling(module)?)?;
    watched.listen()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let mut run = BTreeSet::new();
    for visit in &VISITS {
        run.extend(runtime.block_on(visit.make(&watched.dist))?);
    }
    Ok(run)
}

impl Visit {
    async fn make(&self, dist: &Path) -> Result<Vec<usize>> {
        let session = Session::with_site(self.language, Site::of(dist.to_owned()).await?).await?;
        let page = session.page();
        let run = self.read(&page).await;
        session.end().await?;
        run.with_context(|| format!("a visit in {} with {:?}", self.language, self.link))
    }

    async fn read(&self, page: &Page) -> Result<Vec<usize>> {
        page.resize(self.size, 2.0).await?;
        page.prefer_dark(self.dark).await?;
        page.open(self.link).await?;
        if !self.size.mobile {
            page.type_into("batch", "2").await?;
            page.type_into("seq", "12").await?;
        }
        page.driver.execute(TOUCH, vec![]).await?;
        tokio::time::sleep(SETTLED).await;
        let run = page.eval(&format!("[...{HIT}]")).await?;
        Ok(serde_json::from_value(run)?)
    }
}

fn copy(from: &Path, to: &Path) -> Result {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
