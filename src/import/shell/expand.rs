//! Variables: what a script has set so far, and what words become with it.

use std::collections::HashMap;

use super::arithmetic;
use super::words::{Lexer, Piece, Token, Word, is_name};

/// Longer values are cut: scripts that double a variable over and over end here.
const LONGEST: usize = 1 << 16;
/// Defaults within defaults, `${A:-${B:-…}}`, deeper than this stay as they are written.
const DEEPEST: usize = 8;

/// The variables of a script.
#[derive(Default)]
pub(super) struct Variables {
    values: HashMap<String, Vec<String>>,
    order: Vec<String>,
}

impl Variables {
    pub(super) fn set(&mut self, name: String, value: String) {
        self.set_list(name, vec![value], false);
    }

    pub(super) fn set_list(&mut self, name: String, items: Vec<String>, more: bool) {
        let mut list = if more { self.values.remove(&name).unwrap_or_default() } else { Vec::new() };
        let mut length: usize = list.iter().map(String::len).sum();
        for mut item in items {
            if length + item.len() > LONGEST {
                let end = (0..=LONGEST - length.min(LONGEST)).rev().find(|&end| item.is_char_boundary(end));
                item.truncate(end.unwrap_or_default());
            }
            length += item.len();
            list.push(item);
        }
        if !self.order.contains(&name) {
            self.order.push(name.clone());
        }
        self.values.insert(name, list);
    }

    /// Every variable in the order in which it was first set.
    pub(super) fn into_pairs(mut self) -> Vec<(String, String)> {
        let values = self.order.into_iter();
        values.filter_map(|name| self.values.remove(&name).map(|list| (name, list.join(" ")))).collect()
    }

    /// The words that a word becomes.
    pub(super) fn expand(&self, word: &Word) -> Vec<String> {
        self.expand_within(word, DEEPEST)
    }

    fn expand_within(&self, word: &Word, depth: usize) -> Vec<String> {
        let mut words = Vec::new();
        let mut open: Option<String> = word.quoted.then(String::new);
        for piece in &word.pieces {
            match piece {
                Piece::Plain(text) | Piece::Output(text) => open.get_or_insert_default().push_str(text),
                Piece::Arithmetic(formula) => {
                    let value = arithmetic::evaluate(formula, |name| self.number(name));
                    let text = value.map_or_else(|| format!("$(({formula}))"), |value| value.to_string());
                    open.get_or_insert_default().push_str(&text);
                }
                Piece::Variable { inside, quoted } => {
                    let items = self.variable(inside, depth);
                    // In quotes only a list's items are words of their own; else every blank divides.
                    let whole = *quoted && !inside.ends_with("[@]");
                    if whole {
                        open.get_or_insert_default().push_str(&items.join(" "));
                        continue;
                    }
                    let parts: Vec<String> = if *quoted {
                        items
                    } else {
                        items.iter().flat_map(|item| item.split_whitespace()).map(str::to_owned).collect()
                    };
                    let last = parts.len().saturating_sub(1);
                    if parts.is_empty() && open.as_deref() == Some("") && word.pieces.len() == 1 {
                        open = None;
                    }
                    for (at, part) in parts.into_iter().enumerate() {
                        open.get_or_insert_default().push_str(&part);
                        if at < last {
                            words.extend(open.take());
                        }
                    }
                }
            }
        }
        words.extend(open);
        words
    }

    /// What stands inside `${…}`: the variable's items, or its default, or itself as it is written.
    fn variable(&self, inside: &str, depth: usize) -> Vec<String> {
        let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
        let (name, rest) = inside.split_at(end);
        let rest = rest.strip_prefix("[@]").or_else(|| rest.strip_prefix("[*]")).unwrap_or(rest);
        if let Some(list) = self.values.get(name) {
            return list.clone();
        }
        let default = [":-", ":=", "-", "="].iter().find_map(|sign| rest.strip_prefix(sign));
        match default {
            Some(default) if depth > 0 => {
                let words = Lexer::new(default).filter_map(|token| match token {
                    Token::Word(word) => Some(self.expand_within(&word, depth - 1)),
                    _ => None,
                });
                words.flatten().collect()
            }
            _ if is_name(inside) => vec![format!("${inside}")],
            _ => vec![format!("${{{inside}}}")],
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.values.get(name).and_then(|list| list.first()).and_then(|text| text.trim().parse().ok())
    }
}
