//! How wide a text will be, near enough to place it.
//!
//! A browser could be asked, but only through an element in the page for every label; SVG has nobody to ask. Both
//! get the same layout this way. Widths are those of wide interface fonts, so a label may get more room than it
//! needs, never less.

/// Width in pixels at a font size in pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The same in bold.
pub(super) fn bold_width(text: &str, size: f64) -> f64 {
    width(text, size) * 1.12
}

/// Width of one character in units of the font size.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '·' => 0.32,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '-' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '≈' | '→' => 0.95,
        'A'..='Z' | '–' | '−' | '+' | '=' | '×' => 0.72,
        // Chinese, Japanese, Korean and full-width forms.
        '\u{2e80}'..='\u{fffd}' | '\u{20000}'.. => 1.0,
        _ => 0.62,
    }
}

#[cfg(test)]
mod tests {
    use super::width;

    #[test]
    fn chinese_takes_a_full_square() {
        assert!((width("激活值", 12.0) - 36.0).abs() < 1e-9);
        assert!(width("Optimizer states", 12.0) > 96.0);
        assert!(width("ill", 12.0) < width("mmm", 12.0));
    }
}
