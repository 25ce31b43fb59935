//! Every sentence shown to a person, in Chinese and English.
//!
//! A [`Text`] cannot be built without both languages, so the compiler checks that none is missing.

pub mod accuracy;
pub mod app;
pub mod architecture;
pub mod chart;
pub mod cli;
pub mod config;
pub mod doctor;
pub mod estimate;
pub mod export;
pub mod import;
pub mod layout;
pub mod ledger;
pub mod oom;
pub mod quick;
pub mod report;
pub mod tensors;

use std::fmt::Write as _;

/// A language the reader may choose (`lang` in a link).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

impl Lang {
    /// The word in links and messages.
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The language of that word.
    pub fn parse(code: &str) -> Option<Self> {
        [Self::En, Self::Zh].into_iter().find(|lang| lang.code() == code)
    }
}

/// One sentence in both languages. `{name}` marks a place that [`Text::fill`] fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// The English sentence.
    pub en: &'static str,
    /// The Chinese sentence.
    pub zh: &'static str,
}

impl Text {
    /// A sentence in English and in Chinese.
    pub const fn new(en: &'static str, zh: &'static str) -> Self {
        Self { en, zh }
    }

    /// A word that is the same in both languages (a name, a symbol).
    pub const fn same(word: &'static str) -> Self {
        Self { en: word, zh: word }
    }

    /// The sentence in one language.
    pub const fn get(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En => self.en,
            Lang::Zh => self.zh,
        }
    }

    /// The sentence with each `{name}` replaced. Unknown names stay as they are.
    pub fn fill(self, lang: Lang, values: &[(&str, &dyn std::fmt::Display)]) -> String {
        let mut rest = self.get(lang);
        let mut out = String::with_capacity(rest.len() + 32);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                out.push('{');
                rest = after;
                continue;
            };
            match values.iter().find(|(key, _)| *key == name) {
                Some((_, value)) => {
                    let _ = write!(out, "{value}");
                }
                None => {
                    let _ = write!(out, "{{{name}}}");
                }
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{Lang, Text};

    #[test]
    fn places_are_filled_by_name_in_any_order() {
        let text = Text::new("{a} of {b}", "{b} 中的 {a}");
        assert_eq!(text.fill(Lang::En, &[("a", &1), ("b", &2)]), "1 of 2");
        assert_eq!(text.fill(Lang::Zh, &[("a", &1), ("b", &2)]), "2 中的 1");
        assert_eq!(Text::same("{x} {").fill(Lang::En, &[]), "{x} {");
    }
}
