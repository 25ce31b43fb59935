//! Reading sizes and numbers out of running text.

use std::borrow::Cow;

/// The text without terminal colours; what a progress bar overwrote stands on lines of its own.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\r', '\u{0}']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            // `ESC [ … letter`
            '\u{1b}' => drop(rest.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '\n')),
            '\r' => out.push('\n'),
            '\u{0}' => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A size as a program printed it: any number of bytes that prints so is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Amount {
    /// The size as it reads (bytes).
    pub bytes: u64,
    /// Half of the last printed digit (bytes): 0 when every byte was printed.
    #[serde(skip)]
    pub half: u64,
}

impl Amount {
    /// A size that was printed to the byte.
    pub const fn exact(bytes: u64) -> Self {
        Self { bytes, half: 0 }
    }

    /// The least number of bytes that prints so.
    pub const fn low(self) -> u64 {
        self.bytes.saturating_sub(self.half)
    }

    /// The most.
    pub const fn high(self) -> u64 {
        self.bytes.saturating_add(self.half)
    }

    /// Whether a number of bytes prints so.
    pub const fn is(self, bytes: u64) -> bool {
        self.low() <= bytes && bytes <= self.high()
    }
}

/// No machine has this much; what prints it counted below zero (WSL: `17179869184.00 GiB`).
const NONSENSE: u64 = 1 << 60;

/// The size that `text` begins with (spaces before it are skipped), and what follows.
///
/// Every program whose messages are read here counts in powers of 1024, whatever it calls them: `GB` is what PyTorch
/// on Metal, DeepSpeed, Paddle and Megatron print for 2³⁰ bytes, `G` what XLA prints.
pub(super) fn size(text: &str) -> Option<(Amount, &str)> {
    let text = text.trim_start_matches([' ', '\u{a0}', '~', '≈']);
    let (digits, places, rest) = decimal(text)?;
    let rest = rest.trim_start_matches([' ', '\u{a0}']);
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, after) = rest.split_at(letters);
    let unit: u128 = match word {
        "B" | "bytes" | "Bytes" | "byte" => 1,
        "KiB" | "KB" | "kB" | "kb" | "K" => 1 << 10,
        "MiB" | "MB" | "mb" | "M" => 1 << 20,
        "GiB" | "GB" | "gb" | "G" => 1 << 30,
        "TiB" | "TB" | "T" => 1 << 40,
        _ => return None,
    };
    Some((amount(digits, places, unit)?, after))
}

/// A number of this unit (bytes) with so many decimal places.
fn amount(digits: u128, places: u32, unit: u128) -> Option<Amount> {
    let scale = 10_u128.checked_pow(places)?;
    let bytes = digits.checked_mul(unit)?.checked_add(scale / 2)? / scale;
    let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes < NONSENSE)?;
    // One byte more: what is printed was rounded, and the half itself may go either way.
    let half = if unit == 1 { 0 } else { u64::try_from(unit / (2 * scale)).ok()?.saturating_add(1) };
    Some(Amount { bytes, half })
}

/// A plain number of mebibytes: Megatron's `allocated: 12606.06`.
pub(super) fn mebibytes(text: &str) -> Option<Amount> {
    let (digits, places, _) = decimal(text.trim_start())?;
    amount(digits, places, 1 << 20)
}

/// The digits that `text` begins with, how many of them are behind the point, and what follows.
fn decimal(text: &str) -> Option<(u128, u32, &str)> {
    let (mut digits, mut places, mut point, mut end) = (0_u128, 0_u32, false, 0);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                // More digits than this are no size, and would overflow when scaled.
                if end > 24 {
                    return None;
                }
                digits = digits * 10 + u128::from(byte - b'0');
                places += u32::from(point);
                end = at + 1;
            }
            // A full stop that ends a sentence is no point.
            b'.' if !point && end > 0 && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => point = true,
            b',' if end > 0 && !point && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {}
            _ => break,
        }
    }
    (end > 0).then(|| (digits, places, &text[end..]))
}

/// The whole number that `text` begins with.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// What follows `label`.
pub(super) fn after<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    text.find(label).map(|at| &text[at + label.len()..])
}

/// The size right behind `label`.
pub(super) fn size_after(text: &str, label: &str) -> Option<Amount> {
    size(after(text, label)?).map(|(size, _)| size)
}

/// The whole number right behind `label`.
pub(super) fn number_after(text: &str, label: &str) -> Option<u64> {
    number(after(text, label)?)
}

/// The first size anywhere in `text`.
pub(super) fn first_size(text: &str) -> Option<Amount> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        if let Some((size, _)) = size(rest) {
            return Some(size);
        }
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    None
}

/// At most `limit` bytes of `text`, cut between characters.
pub(super) fn head(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// One line of what consoles, quotes and boxes had wrapped: runs of white space, quote marks and frames become one
/// space, and a rank's tag at the start of a line is dropped.
pub(super) fn unwrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start_matches([' ', '>', '│', '\t']);
        let line = match rank_of(line) {
            Some((_, rest)) => rest,
            None => line,
        };
        for word in line.split_whitespace().filter(|word| *word != "│") {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

/// The rank that a launcher wrote before a line (`[rank3]:`, `[default3]:`, `[Rank 3]`), and the line behind it.
pub(super) fn rank_of(line: &str) -> Option<(u64, &str)> {
    // The tag may stand behind a time stamp, not in the middle of a sentence.
    let start = head(line, 48);
    for tag in ["[rank", "[Rank ", "[RANK ", "[default"] {
        if let Some(at) = start.find(tag) {
            let rest = &line[at + tag.len()..];
            let rank = number(rest)?;
            let behind = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            return behind.strip_prefix(']').map(|rest| (rank, rest.trim_start_matches(':')));
        }
    }
    // `srun --label`: the task's number and a colon.
    let digits = line.trim_start().bytes().take_while(u8::is_ascii_digit).count();
    if (1..=4).contains(&digits) {
        let line = line.trim_start();
        return line[digits..].strip_prefix(": ").and_then(|rest| Some((number(line)?, rest)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u64, u64)> {
        size(text).map(|(size, _)| (size.bytes, size.half))
    }

    #[test]
    fn sizes_are_binary_whatever_they_are_called() {
        assert_eq!(read("2.00 GiB."), Some((2 << 30, 5_368_710)));
        assert_eq!(read("768.00 MB on"), Some((768 << 20, 5243)));
        assert_eq!(read("0 bytes free"), Some((0, 0)));
        assert_eq!(read("15.48G hbm"), Some((16_621_523_436, 5_368_710)));
        assert_eq!(read("33554432B)"), Some((33_554_432, 0)));
        assert_eq!(read("98.000244MB memory"), Some((102_760_704, 1)));
        assert_eq!(read("31,451,456kB"), Some((31_451_456 << 10, 513)));
    }

    #[test]
    fn what_is_no_size_is_none() {
        for text in ["", "GiB", "2.00", "2 apples", "17179869184.00 GiB", ".5 GiB", "x"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"9".repeat(60)), None);
    }

    #[test]
    fn ranks_are_read_from_tags() {
        assert_eq!(rank_of("[rank3]: Traceback"), Some((3, " Traceback")));
        assert_eq!(rank_of("[2025-03-27 15:41:41] [rank4]:   File"), Some((4, "   File")));
        assert_eq!(rank_of("[Rank 24] (after 20 iterations)"), Some((24, " (after 20 iterations)")));
        assert_eq!(rank_of("[default7]:x"), Some((7, "x")));
        assert_eq!(rank_of("12: torch"), Some((12, "torch")));
        assert_eq!(rank_of("ValueError: [rank"), None);
        assert_eq!(rank_of("no rank"), None);
    }
}
