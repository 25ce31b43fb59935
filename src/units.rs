//! Bytes and counts: reading what people type, printing what they read.
//!
//! Reading is done in whole numbers, so `1.1B` is exactly 1 100 000 000 and `0.1GiB` is rounded once. GB (10⁹ bytes)
//! and GiB (2³⁰ bytes) are different units everywhere; a bare `G` behind a size means GiB, since that is what makers
//! of GPUs mean by it.

use crate::config::Units;

/// Why a number could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// Nothing was typed.
    Empty,
    /// No number (also `NaN` and `inf`).
    NotANumber,
    /// Below zero.
    Negative,
    /// Above 2⁶⁴ − 1, or a number too long to be meant.
    TooLarge,
    /// The number is followed by something that is no unit of this kind.
    UnknownUnit,
    /// A count with a fraction.
    NotWhole,
}

const KILO: u64 = 1000;
const MEGA: u64 = 1_000_000;
const GIGA: u64 = 1_000_000_000;
const TERA: u64 = 1_000_000_000_000;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// Reads a count of things: `350M`, `7B`, `1.5e9`, `1,024`. `k` is 1000, `B` and `G` are 10⁹.
///
/// # Errors
/// [`UnitError`]; a fraction that the suffix does not make whole is an error too.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    parse(text, Rounding::Exact, |suffix| {
        Some(match suffix {
            "" => 1,
            "k" | "K" => KILO,
            "m" | "M" => MEGA,
            "b" | "B" | "g" | "G" => GIGA,
            "t" | "T" => TERA,
            _ => return None,
        })
    })
}

/// Reads a count of tokens: as [`parse_count`], except that `8k` is 8192 and `1m` is 1 048 576, as everyone who says
/// “8k context” means.
///
/// # Errors
/// [`UnitError`].
pub fn parse_tokens(text: &str) -> Result<u64, UnitError> {
    parse(text, Rounding::Exact, |suffix| {
        Some(match suffix {
            "" => 1,
            "k" | "K" => KIB,
            "m" | "M" => MIB,
            _ => return None,
        })
    })
}

/// Reads a size in bytes: `80GiB`, `80 GB`, `80G` (= GiB), `512MiB`, `85899345920`. Parts of a byte are rounded.
///
/// # Errors
/// [`UnitError`].
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    parse(text, Rounding::Nearest, |suffix| {
        Some(match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kb" => KILO,
            "mb" => MEGA,
            "gb" => GIGA,
            "tb" => TERA,
            "k" | "kib" => KIB,
            "m" | "mib" => MIB,
            "g" | "gib" => GIB,
            "t" | "tib" => TIB,
            _ => return None,
        })
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Exact,
    Nearest,
}

/// Splits `1.5e9 GiB` into digits, decimal exponent and unit, and multiplies them in `u128`.
fn parse(text: &str, rounding: Rounding, unit: fn(&str) -> Option<u64>) -> Result<u64, UnitError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UnitError::Empty);
    }
    if let Some(rest) = text.strip_prefix(['-', '−']) {
        let is_number = rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '.');
        return Err(if is_number { UnitError::Negative } else { UnitError::NotANumber });
    }
    let text = text.strip_prefix('+').unwrap_or(text);

    let (digits, exponent, rest) = decimal(text)?;
    let unit = unit(rest.trim()).ok_or(UnitError::UnknownUnit)?;
    if digits == 0 {
        return Ok(0);
    }
    let product = digits.checked_mul(u128::from(unit)).ok_or(UnitError::TooLarge)?;
    let whole = if exponent >= 0 {
        let scale = 10_u128.checked_pow(exponent.unsigned_abs()).ok_or(UnitError::TooLarge)?;
        product.checked_mul(scale).ok_or(UnitError::TooLarge)?
    } else {
        // Beyond 10³⁸ every product is less than half.
        let scale = 10_u128.checked_pow(exponent.unsigned_abs()).unwrap_or(u128::MAX);
        let (whole, part) = (product / scale, product % scale);
        match rounding {
            Rounding::Exact if part != 0 => return Err(UnitError::NotWhole),
            Rounding::Nearest if part >= scale - part => whole + 1,
            _ => whole,
        }
    };
    u64::try_from(whole).map_err(|_| UnitError::TooLarge)
}

/// Reads the number that `text` begins with: its digits as one whole number, the power of ten, and what follows.
fn decimal(text: &str) -> Result<(u128, i32, &str), UnitError> {
    let bytes = text.as_bytes();
    let (mut at, mut digits, mut exponent) = (0, 0_u128, 0_i32);
    let (mut seen, mut point) = (false, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                digits = digits
                    .checked_mul(10)
                    .and_then(|digits| digits.checked_add(u128::from(byte - b'0')))
                    .ok_or(UnitError::TooLarge)?;
                exponent -= i32::from(point);
            }
            b'.' if !point => point = true,
            b'_' if seen => {}
            // A comma groups thousands, so `1,5` is refused instead of becoming 15.
            b',' if seen && !point && is_group(&bytes[at + 1..]) => {}
            _ => break,
        }
        at += 1;
    }
    if !seen {
        return Err(UnitError::NotANumber);
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let signed = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let len = bytes[signed.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if len == 0 {
            return Err(UnitError::UnknownUnit);
        }
        // Only all ASCII was stepped over, so these are character boundaries.
        let power: i32 = text[at + 1..signed + len].parse().map_err(|_| UnitError::TooLarge)?;
        exponent = exponent.checked_add(power).ok_or(UnitError::TooLarge)?;
        at = signed + len;
    }
    Ok((digits, exponent, &text[at..]))
}

/// Exactly three digits follow.
fn is_group(rest: &[u8]) -> bool {
    rest.len() >= 3
        && rest[..3].iter().all(u8::is_ascii_digit)
        && !rest.get(3).is_some_and(u8::is_ascii_digit)
}

/// `57.3 GiB`, `61.5 GB`, `512 MiB`, `96 B`: three significant digits, in the largest unit that leaves at least 1.
pub fn size(bytes: u64, units: Units) -> String {
    let (base, names) = match units {
        Units::Gib => (KIB, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
        Units::Gb => (KILO, ["B", "kB", "MB", "GB", "TB", "PB"]),
    };
    let mut unit = 1_u64;
    let mut name = 0;
    // 999.95 MB would print as 1000 MB: step up as soon as rounding would.
    while name + 1 < names.len() && hundredths(bytes, unit) >= u128::from(base) * 100 - 50 {
        unit *= base;
        name += 1;
    }
    format!("{} {}", significant(bytes, unit), names[name])
}

/// The same with a sign, for what is missing or left: `−3.2 GiB`.
pub fn signed_size(bytes: i64, units: Units) -> String {
    let sign = if bytes < 0 { "−" } else { "" };
    format!("{sign}{}", size(bytes.unsigned_abs(), units))
}

/// `8.03 B`, `350 M`, `8.19 k`, `96`: a count for people, decimal.
pub fn count(number: u64) -> String {
    let (mut unit, mut name) = (1, "");
    for (next, next_name) in [(KILO, " k"), (MEGA, " M"), (GIGA, " B"), (TERA, " T")] {
        if hundredths(number, unit) >= 99_950 {
            (unit, name) = (next, next_name);
        }
    }
    format!("{}{name}", significant(number, unit))
}

/// `61,511,111,222`: every digit.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size that reads back as exactly the same number of bytes: `80GiB`, `24GB`, `85899345921`.
pub fn exact_size(bytes: u64) -> String {
    for (unit, name) in [(GIB, "GiB"), (GIGA, "GB"), (MIB, "MiB"), (MEGA, "MB")] {
        if bytes > 0 && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    bytes.to_string()
}

/// A count that reads back as exactly the same number: `7B`, `350M`, `8030261248`.
pub fn exact_count(number: u64) -> String {
    for (unit, name) in [(GIGA, "B"), (MEGA, "M")] {
        if number > 0 && number.is_multiple_of(unit) {
            return format!("{}{name}", number / unit);
        }
    }
    number.to_string()
}

/// `amount / unit` in hundredths, rounded half up.
fn hundredths(amount: u64, unit: u64) -> u128 {
    let unit = u128::from(unit);
    (u128::from(amount) * 100 + unit / 2) / unit
}

/// `amount / unit` with three significant digits; whole amounts without a fraction.
fn significant(amount: u64, unit: u64) -> String {
    if amount.is_multiple_of(unit) {
        return (amount / unit).to_string();
    }
    let rounded = |places: u32| {
        let scale = 10_u128.pow(places);
        (u128::from(amount) * scale + u128::from(unit) / 2) / u128::from(unit)
    };
    // How many places are left is decided on the rounded number: 9.996 is 10.0, not 10.00.
    let places = if rounded(2) < 1000 { 2 } else { u32::from(rounded(1) < 1000) };
    let (digits, scale) = (rounded(places), 10_u128.pow(places));
    match places {
        0 => digits.to_string(),
        places => format!("{}.{:0width$}", digits / scale, digits % scale, width = places as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_decimal_and_exact() {
        for (text, number) in [
            ("7B", 7_000_000_000),
            ("350M", 350_000_000),
            ("1.5e9", 1_500_000_000),
            ("1e+3", 1000),
            ("8k", 8000),
            ("1.1B", 1_100_000_000),
            ("0.5 b", 500_000_000),
            ("13e9", 13_000_000_000),
            ("1,234,567", 1_234_567),
            ("1_000", 1000),
            ("+4", 4),
            ("0e999", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_named() {
        use UnitError::{Empty, Negative, NotANumber, NotWhole, TooLarge, UnknownUnit};
        for (text, error) in [
            ("", Empty),
            ("  ", Empty),
            ("NaN", NotANumber),
            ("inf", NotANumber),
            (".", NotANumber),
            ("e9", NotANumber),
            ("-5", Negative),
            ("−1B", Negative),
            ("-x", NotANumber),
            ("-∞", NotANumber),
            ("1e400", TooLarge),
            ("1e99999999999", TooLarge),
            ("1000000000000000000000000000000", TooLarge),
            ("1.5", NotWhole),
            ("1e-400", NotWhole),
            ("7 bn", UnknownUnit),
            ("1,5", UnknownUnit),
            ("1e", UnknownUnit),
            ("1é", UnknownUnit),
            ("٣", NotANumber),
        ] {
            assert_eq!(parse_count(text), Err(error), "{text}");
        }
    }

    #[test]
    fn tokens_are_binary() {
        assert_eq!(parse_tokens("8k"), Ok(8192));
        assert_eq!(parse_tokens("128K"), Ok(131_072));
        assert_eq!(parse_tokens("1m"), Ok(1_048_576));
        assert_eq!(parse_tokens("2048"), Ok(2048));
        assert_eq!(parse_tokens("8GiB"), Err(UnitError::UnknownUnit));
    }

    #[test]
    fn gb_and_gib_are_never_mixed() {
        assert_eq!(parse_bytes("80GiB"), Ok(85_899_345_920));
        assert_eq!(parse_bytes("80 GB"), Ok(80_000_000_000));
        assert_eq!(parse_bytes("80G"), Ok(85_899_345_920));
        assert_eq!(parse_bytes("512MiB"), Ok(536_870_912));
        assert_eq!(parse_bytes("0.1GiB"), Ok(107_374_182));
        assert_eq!(parse_bytes("1e-400GiB"), Ok(0));
        assert_eq!(parse_bytes("85899345920"), Ok(85_899_345_920));
        assert_eq!(parse_bytes("20 EiB"), Err(UnitError::UnknownUnit));
        assert_eq!(parse_bytes("99999999 TiB"), Err(UnitError::TooLarge));
    }

    #[test]
    fn sizes_have_three_digits_and_round_once() {
        for (bytes, gib, gb) in [
            (0, "0 B", "0 B"),
            (96, "96 B", "96 B"),
            (1000, "1000 B", "1 kB"),
            (1023, "1023 B", "1.02 kB"),
            (1024, "1 KiB", "1.02 kB"),
            (61_525_406_515, "57.3 GiB", "61.5 GB"),
            (85_899_345_920, "80 GiB", "85.9 GB"),
            (2_147_483_648, "2 GiB", "2.15 GB"),
            (999_999_999, "954 MiB", "1.00 GB"),
            (1_073_741_823, "1.00 GiB", "1.07 GB"),
            (9_996_000_000, "9.31 GiB", "10.0 GB"),
            (u64::MAX, "16384 PiB", "18447 PB"),
        ] {
            assert_eq!(size(bytes, Units::Gib), gib);
            assert_eq!(size(bytes, Units::Gb), gb);
        }
        assert_eq!(signed_size(-3 << 30, Units::Gib), "−3 GiB");
        assert_eq!(signed_size(i64::MIN, Units::Gib), "−8192 PiB");
    }

    #[test]
    fn counts_for_people() {
        assert_eq!(count(8_030_261_248), "8.03 B");
        assert_eq!(count(350_000_000), "350 M");
        assert_eq!(count(999_999_999), "1.00 B");
        assert_eq!(count(96), "96");
        assert_eq!(count(8192), "8.19 k");
        assert_eq!(thousands(61_525_406_515), "61,525,406,515");
        assert_eq!(thousands(12), "12");
        assert_eq!(thousands(123), "123");
    }

    #[test]
    fn exact_forms_read_back() {
        for number in
            [0, 1, 999, 7_000_000_000, 350_000_000, 8_030_261_248, 80 << 30, 24_000_000_000, u64::MAX]
        {
            assert_eq!(parse_bytes(&exact_size(number)), Ok(number));
            assert_eq!(parse_count(&exact_count(number)), Ok(number));
        }
        assert_eq!(exact_size(80 << 30), "80GiB");
        assert_eq!(exact_count(7_000_000_000), "7B");
    }
}
