//! `--figure`: the page's figures as SVG.

use super::args::Figure;
use crate::chart::{self, DARK, LIGHT, Look};
use crate::config::{Config, Theme, Units};
use crate::estimate::Estimate;
use crate::sweep::what_if;
use crate::text::Lang;

/// Width of a figure in CSS pixels: a column of text.
const WIDTH: u32 = 720;
/// Height of the figures over time and over a key.
const HEIGHT: u32 = 360;

/// Draws one figure; in the dark only where the configuration says so.
pub(super) fn svg(figure: Figure, config: &Config, answer: &Estimate, lang: Lang, units: Units) -> String {
    let palette = if config.page.theme == Theme::Dark { &DARK } else { &LIGHT };
    let look = Look { palette, lang, units, width: WIDTH, height: HEIGHT };
    let scene = match figure {
        Figure::Bar => chart::bar(answer, &Look { height: chart::bar_height(WIDTH), ..look }),
        Figure::Stages => {
            chart::stages(answer, &Look { height: chart::stages_height(answer, WIDTH), ..look })
        }
        Figure::Timeline => chart::timeline(answer, &look),
        Figure::Over(key) => chart::sweep(&what_if(config, &key), &answer.fits, &look),
    };
    scene.svg()
}
