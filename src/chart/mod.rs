//! Figures, written once over plotters' `DrawingBackend`.
//!
//! [`bar()`], [`stages()`], [`timeline()`] and [`sweep()`] lay a figure out as a [`Scene`]; [`Scene::draw`] paints it on the page's canvas
//! (or any other backend), [`Scene::svg`] as a document of its own.
//!
//! ```no_run
//! use trainmem::chart::{self, Look};
//! use trainmem::config::{Config, Units};
//! use trainmem::estimate::estimate;
//! use trainmem::text::Lang;
//!
//! let answer = estimate(&Config::default()).expect("the default model is shipped");
//! let width = 720;
//! let look = Look {
//!     palette: &chart::LIGHT,
//!     lang: Lang::En,
//!     units: Units::Gib,
//!     width,
//!     height: chart::bar_height(width),
//! };
//! println!("{}", chart::bar(&answer, &look).svg());
//! ```

mod axis;
mod bar;
mod frame;
mod legend;
mod measure;
mod palette;
mod scene;
mod stages;
mod sweep;
mod timeline;

pub use bar::{bar, bar_height};
pub use palette::{DARK, LIGHT, Palette, Rgb, contrast};
pub use scene::Scene;
pub use stages::{stages, stages_height};
pub use sweep::sweep;
pub use timeline::timeline;

use crate::config::{Gpu, Units};
use crate::estimate::Fit;
use crate::text::{Lang, chart as text};
use crate::units::size;

/// How a figure shall look.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Colours.
    pub palette: &'a Palette,
    /// Language.
    pub lang: Lang,
    /// GiB or GB.
    pub units: Units,
    /// Width in CSS pixels.
    pub width: u32,
    /// Height in CSS pixels.
    pub height: u32,
}

impl Look<'_> {
    /// Below this a phone's layout is used: lists instead of rows.
    const NARROW: u32 = 560;

    fn is_narrow(&self) -> bool {
        self.width < Self::NARROW
    }

    /// A size as text.
    fn size(&self, bytes: u64) -> String {
        size(bytes, self.units)
    }

    /// `A100 80 GB: 80 GiB`, or the size alone where no card was named.
    fn capacity(&self, fit: &Fit) -> String {
        self.card(fit, fit.gpu)
    }

    /// The same for a label within a figure, where a phone has no room for the name.
    fn short_capacity(&self, fit: &Fit) -> String {
        self.card(fit, fit.gpu.filter(|_| !self.is_narrow()))
    }

    fn card(&self, fit: &Fit, gpu: Option<&Gpu>) -> String {
        let capacity = self.size(fit.capacity);
        match gpu {
            Some(gpu) => text::CARD.fill(self.lang, &[("gpu", &gpu.name), ("size", &capacity)]),
            None => text::CAPACITY.fill(self.lang, &[("size", &capacity)]),
        }
    }
}

/// Font size of labels (CSS pixels).
const LABEL: f64 = 12.5;
/// Font size of tick labels.
const TICK: f64 = 11.5;
/// Space between the figure and its frame.
const MARGIN: f64 = 10.0;

#[cfg(test)]
mod tests;
