//! Photographs the page in each width, theme, language and view into `target/pictures/`, to be looked at.

use trainmem_browser::{Page, Result, Session, Size, pictures};

const SIZES: [(&str, Size); 2] = [("desk", Size::DESK), ("phone", Size::PHONE)];
const VIEWS: [&str; 3] = ["quick", "detailed", "diagnose"];

#[tokio::main]
async fn main() -> Result {
    let session = Session::start("en-US").await?;
    let outcome = photograph(&session.page()).await;
    session.end().await?;
    outcome
}

async fn photograph(page: &Page) -> Result {
    let folder = pictures()?;
    for (name, size) in SIZES {
        for theme in ["light", "dark"] {
            for lang in ["en", "zh"] {
                for view in VIEWS {
                    page.resize(size, 2.0).await?;
                    page.open(&format!("#lang={lang}&theme={theme}&view={view}")).await?;
                    let file = folder.join(format!("{view}-{name}-{theme}-{lang}.png"));
                    page.picture(&file, size, true).await?;
                    println!("{}", file.display());
                }
            }
        }
    }
    Ok(())
}
