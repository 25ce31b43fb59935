//! Colours of the figures, for light and dark pages.
//!
//! The five block colours keep 3:1 against the background (WCAG 2.2, 1.4.11) and stay apart for readers with any of
//! the three dichromacies; the tests compute both. The page's stylesheet mirrors them as custom properties.

use plotters::style::RGBColor;

use crate::ledger::Block;

/// An sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    pub(super) const fn plotters(self) -> RGBColor {
        RGBColor(self.0, self.1, self.2)
    }
}

/// The colours of one theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Behind the figure.
    pub background: Rgb,
    /// Names and sizes.
    pub text: Rgb,
    /// Tick labels and leader lines.
    pub muted: Rgb,
    /// Grid lines.
    pub grid: Rgb,
    /// The GPU's capacity and what lies beyond.
    pub limit: Rgb,
    blocks: [Rgb; 5],
}

/// On white.
pub const LIGHT: Palette = Palette {
    background: Rgb(0xFF, 0xFF, 0xFF),
    text: Rgb(0x1A, 0x1F, 0x26),
    muted: Rgb(0x53, 0x5D, 0x69),
    grid: Rgb(0xD9, 0xDE, 0xE5),
    limit: Rgb(0xB3, 0x26, 0x1E),
    blocks: [
        Rgb(0x4A, 0x8B, 0xE8),
        Rgb(0xC8, 0x79, 0x1A),
        Rgb(0x0E, 0x5C, 0x36),
        Rgb(0x7A, 0x1F, 0x8F),
        Rgb(0x6B, 0x72, 0x80),
    ],
};

/// On near-black.
pub const DARK: Palette = Palette {
    background: Rgb(0x14, 0x17, 0x1C),
    text: Rgb(0xE4, 0xE8, 0xEE),
    muted: Rgb(0xA0, 0xAB, 0xBA),
    grid: Rgb(0x2D, 0x34, 0x3E),
    limit: Rgb(0xFF, 0x9C, 0x92),
    blocks: [
        Rgb(0x7A, 0xAB, 0xFF),
        Rgb(0xF4, 0xAD, 0x38),
        Rgb(0x22, 0x96, 0x58),
        Rgb(0xA8, 0x4D, 0xBD),
        Rgb(0xC9, 0xD1, 0xDC),
    ],
};

/// Text on a light block.
const INK: Rgb = Rgb(0x11, 0x11, 0x11);
const PAPER: Rgb = Rgb(0xFF, 0xFF, 0xFF);

impl Palette {
    /// The colour of a block.
    pub const fn block(&self, block: Block) -> Rgb {
        self.blocks[block as usize]
    }

    /// The colour of text written on a block: the one of near-black and white that stands out more.
    pub fn on_block(&self, block: Block) -> Rgb {
        let fill = self.block(block);
        if contrast(INK, fill) > contrast(PAPER, fill) { INK } else { PAPER }
    }
}

/// Contrast ratio of two colours, 1 to 21 (WCAG 2.2, “contrast ratio”).
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |colour: Rgb| {
        let [r, g, b] = linear(colour);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// sRGB channels as linear light (WCAG 2.2, “relative luminance”).
fn linear(colour: Rgb) -> [f64; 3] {
    [colour.0, colour.1, colour.2].map(|channel| {
        let channel = f64::from(channel) / 255.0;
        if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Matrix = [[f64; 3]; 3];

    /// Normal sight, protanopia, deuteranopia, tritanopia, on linear RGB: Machado, Oliveira, Fernandes, “A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency” (2009), severity 1.
    const SIGHTS: [Matrix; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    fn times(matrix: &Matrix, v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    /// Oklab (Ottosson, 2020), where distance means difference seen.
    fn oklab(linear: [f64; 3]) -> [f64; 3] {
        const LMS: Matrix = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        const LAB: Matrix = [
            [0.210_454_255_3, 0.793_617_785, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766],
        ];
        times(&LAB, times(&LMS, linear).map(f64::cbrt))
    }

    fn difference(a: Rgb, b: Rgb, sight: &Matrix) -> f64 {
        let seen = |colour| oklab(times(sight, linear(colour)).map(|channel| channel.clamp(0.0, 1.0)));
        let (a, b) = (seen(a), seen(b));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((contrast(PAPER, Rgb(0, 0, 0)) - 21.0).abs() < 1e-9);
        assert!((contrast(Rgb(0x77, 0x77, 0x77), PAPER) - 4.48).abs() < 0.005);
    }

    #[test]
    fn everything_stands_out_from_the_background() {
        for palette in [LIGHT, DARK] {
            for block in Block::ALL {
                assert!(contrast(palette.block(block), palette.background) >= 3.0, "{block:?}");
                assert!(contrast(palette.on_block(block), palette.block(block)) >= 4.5, "text on {block:?}");
            }
            for text in [palette.text, palette.muted, palette.limit] {
                assert!(contrast(text, palette.background) >= 4.5, "{text:?}");
            }
        }
    }

    #[test]
    fn blocks_differ_for_every_kind_of_sight() {
        for palette in [LIGHT, DARK] {
            for (i, a) in Block::ALL.into_iter().enumerate() {
                for b in Block::ALL.into_iter().skip(i + 1) {
                    for sight in &SIGHTS {
                        let difference = difference(palette.block(a), palette.block(b), sight);
                        assert!(difference >= 0.12, "{a:?} and {b:?} differ by {difference:.3} only");
                    }
                }
            }
        }
    }

    #[test]
    fn the_stylesheet_has_the_same_colours() {
        let css = include_str!("../../style/base.css");
        let hex = |Rgb(r, g, b): Rgb| format!("#{r:02x}{g:02x}{b:02x}");
        let pair = |light, dark| format!("light-dark({}, {})", hex(light), hex(dark));
        for block in Block::ALL {
            let colours = pair(LIGHT.block(block), DARK.block(block));
            let rule = format!(".swatch.{} {{ background: {colours}; }}", block.word());
            assert!(css.contains(&rule), "{rule}");
        }
        let named = [
            ("bg", LIGHT.background, DARK.background),
            ("text", LIGHT.text, DARK.text),
            ("muted", LIGHT.muted, DARK.muted),
        ];
        for (name, light, dark) in named {
            let rule = format!("--{name}: {};", pair(light, dark));
            assert!(css.contains(&rule), "{rule}");
        }
    }
}
