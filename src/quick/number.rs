//! Numbers as the article writes them: `7 × 10⁹`, `2.147 GB`. Four digits, and whether they are exact.

use crate::config::Units;
use crate::units::thousands;

const STEPS: [(&str, &str); 7] =
    [("B", "B"), ("KiB", "kB"), ("MiB", "MB"), ("GiB", "GB"), ("TiB", "TB"), ("PiB", "PB"), ("EiB", "EB")];

const fn base(units: Units) -> u128 {
    match units {
        Units::Gib => 1024,
        Units::Gb => 1000,
    }
}

/// `28 GB` and whether that is all of it; the largest unit that leaves at least 1.
pub(super) fn size(bytes: u64, units: Units) -> (String, bool) {
    let (mut unit, mut step) = (1_u128, 0);
    while step + 1 < STEPS.len() && u128::from(bytes) >= unit * base(units) {
        unit *= base(units);
        step += 1;
    }
    let (mut shown, exact) = decimal(bytes, unit);
    shown.push(' ');
    shown.push_str(match units {
        Units::Gib => STEPS[step].0,
        Units::Gb => STEPS[step].1,
    });
    (shown, exact)
}

/// The number of GB (or GiB) alone, so that terms of a sum share one unit.
pub(super) fn in_giga(bytes: u64, units: Units) -> (String, bool) {
    decimal(bytes, base(units).pow(3))
}

/// The size in the other kind of unit, where that is a whole number of at least a thousand bytes: `2 GiB`.
pub(super) fn exact_other(bytes: u64, units: Units) -> Option<String> {
    let other = match units {
        Units::Gib => Units::Gb,
        Units::Gb => Units::Gib,
    };
    let (shown, exact) = size(bytes, other);
    (exact && !shown.contains('.') && bytes >= 1000).then_some(shown)
}

/// `7 × 10⁹`, `1.1 × 10⁹`, `350 × 10⁶`; a number that three decimals cannot say is written out.
pub(super) fn power_of_ten(count: u64) -> String {
    for (unit, power) in [(1_000_000_000_u64, " × 10⁹"), (1_000_000, " × 10⁶")] {
        if count >= unit {
            let (mut shown, exact) = decimal(count, u128::from(unit));
            if exact {
                shown.push_str(power);
                return shown;
            }
        }
    }
    thousands(count)
}

/// `amount / unit` with four digits (more before the point where it needs them) and no zeros behind.
fn decimal(amount: u64, unit: u128) -> (String, bool) {
    let amount = u128::from(amount);
    let places = match amount / unit {
        0..10 => 3,
        10..100 => 2,
        100..1000 => 1,
        _ => 0,
    };
    let scale = 10_u128.pow(places);
    let rounded = (amount * scale + unit / 2) / unit;
    let exact = rounded * unit == amount * scale;
    let (whole, mut part) = (rounded / scale, rounded % scale);
    let mut out = whole.to_string();
    if part > 0 {
        let mut width = places as usize;
        while part.is_multiple_of(10) {
            part /= 10;
            width -= 1;
        }
        out.push('.');
        let digits = part.to_string();
        out.extend(std::iter::repeat_n('0', width - digits.len()));
        out.push_str(&digits);
    }
    (out, exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_say_whether_they_are_exact() {
        assert_eq!(size(28_000_000_000, Units::Gb), ("28 GB".to_owned(), true));
        assert_eq!(size(28_000_000_000, Units::Gib), ("26.08 GiB".to_owned(), false));
        assert_eq!(size(1 << 31, Units::Gb), ("2.147 GB".to_owned(), false));
        assert_eq!(size(1 << 31, Units::Gib), ("2 GiB".to_owned(), true));
        assert_eq!(size(1_005_000_000, Units::Gb), ("1.005 GB".to_owned(), true));
        assert_eq!(size(0, Units::Gb), ("0 B".to_owned(), true));
        assert_eq!(size(u64::MAX, Units::Gb).0, "18.45 EB");
    }

    #[test]
    fn the_other_unit_is_said_only_where_it_is_whole() {
        assert_eq!(exact_other(1 << 31, Units::Gb).as_deref(), Some("2 GiB"));
        assert_eq!(exact_other(28_000_000_000, Units::Gib).as_deref(), Some("28 GB"));
        assert_eq!(exact_other((1 << 31) + 1, Units::Gb), None);
        assert_eq!(exact_other(0, Units::Gb), None);
    }

    #[test]
    fn counts_are_powers_of_ten_only_where_that_is_exact() {
        assert_eq!(power_of_ten(7_000_000_000), "7 × 10⁹");
        assert_eq!(power_of_ten(1_100_000_000), "1.1 × 10⁹");
        assert_eq!(power_of_ten(350_000_000), "350 × 10⁶");
        assert_eq!(power_of_ten(8_030_261_248), "8,030,261,248");
        assert_eq!(power_of_ten(12), "12");
    }
}
