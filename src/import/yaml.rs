//! YAML as the JSON value that `PyYAML` would load, within bounds: aliases are unfolded only up to [`MOST_NODES`], and
//! nothing goes deeper than [`DEEPEST`].
//!
//! Scalars follow YAML 1.1, which the Python frameworks read: `yes` and `off` are switches.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::Unreadable;

/// More values than any configuration has; what an “alias bomb” unfolds to ends here.
const MOST_NODES: usize = 50_000;
/// Deeper than any configuration.
const DEEPEST: usize = 64;

/// Reads the first document.
pub(super) fn parse(text: &str) -> Result<Value, Unreadable> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        match event {
            Ok((Event::DocumentEnd, _)) => break,
            Ok((event, _)) => tree.take(event)?,
            Err(error) => return Err(Unreadable::Yaml { line: error.marker().line() }),
        }
    }
    Ok(tree.root)
}

/// A value with the number of values in it.
#[derive(Clone)]
struct Node {
    value: Value,
    nodes: usize,
}

enum Open {
    List { items: Vec<Value>, anchor: usize, nodes: usize },
    Map { fields: Map<String, Value>, key: Option<String>, merged: Vec<Value>, anchor: usize, nodes: usize },
}

#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    root: Value,
    nodes: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>) -> Result<(), Unreadable> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if plain { scalar(&text) } else { Value::String(text.into_owned()) };
                self.close(Node { value, nodes: 1 }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.enter(Open::List { items: Vec::new(), anchor, nodes: 1 }),
            Event::MappingStart(anchor, _) => {
                self.enter(Open::Map { fields: Map::new(), key: None, merged: Vec::new(), anchor, nodes: 1 })
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { items, anchor, nodes }) => {
                    self.close(Node { value: Value::Array(items), nodes }, anchor)
                }
                Some(Open::Map { mut fields, merged, anchor, nodes, .. }) => {
                    for (key, value) in merged.into_iter().flat_map(sources) {
                        fields.entry(key).or_insert(value);
                    }
                    self.close(Node { value: Value::Object(fields), nodes }, anchor)
                }
                None => Ok(()),
            },
            // An alias within its own anchor has no value yet.
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).map(|node| node.nodes);
                self.count(node.unwrap_or(1))?;
                let node = self.anchors.get(&anchor).cloned();
                self.put(node.unwrap_or(Node { value: Value::Null, nodes: 1 }));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open) -> Result<(), Unreadable> {
        self.open.push(open);
        if self.open.len() > DEEPEST { Err(Unreadable::TooLarge) } else { Ok(()) }
    }

    fn count(&mut self, nodes: usize) -> Result<(), Unreadable> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES { Err(Unreadable::TooLarge) } else { Ok(()) }
    }

    /// A value is whole.
    fn close(&mut self, node: Node, anchor: usize) -> Result<(), Unreadable> {
        self.count(1)?;
        if anchor > 0 {
            // Its copy stays as long as the document.
            self.count(node.nodes)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.put(node);
        Ok(())
    }

    fn put(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(Open::List { items, nodes, .. }) => {
                *nodes += node.nodes;
                items.push(node.value);
            }
            Some(Open::Map { fields, key, merged, nodes, .. }) => {
                *nodes += node.nodes;
                match key.take() {
                    None => *key = Some(super::given::plain(&node.value)),
                    Some(merge) if merge == "<<" => merged.push(node.value),
                    Some(key) => drop(fields.insert(key, node.value)),
                }
            }
            None => self.root = node.value,
        }
    }
}

/// What `<<` lays under a mapping: one mapping, or several of which the first goes before.
fn sources(value: Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(fields) => fields.into_iter().collect(),
        Value::Array(items) => {
            let maps = items.into_iter().filter_map(|item| match item {
                Value::Object(fields) => Some(fields),
                _ => None,
            });
            maps.flatten().collect()
        }
        _ => Vec::new(),
    }
}

/// A plain scalar by YAML 1.1's rules, but for numbers in base 60 and 8, which nobody means.
pub(crate) fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Value::String(text.to_owned());
    }
    let digits = text.strip_prefix('+').unwrap_or(text).replace('_', "");
    if let Ok(whole) = digits.parse::<i64>() {
        return whole.into();
    }
    match digits.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) => Value::Number(number),
        None => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fmt::Write as _;

    #[test]
    fn scalars_are_what_python_loads() {
        let text =
            "a: yes\nb: 'yes'\nc: 5e8\nd: 1_000\ne: ~\nf: 1.5\ng: bf16\nh: [q, v]\ni: off\nj: -1\nk: 0.1.2";
        let expected = json!({
            "a": true, "b": "yes", "c": 5e8, "d": 1000, "e": null, "f": 1.5, "g": "bf16", "h": ["q", "v"], "i": false,
            "j": -1, "k": "0.1.2"
        });
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn aliases_and_merges_are_unfolded() {
        let text = "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nlist: [*b, *b]";
        let expected = json!({
            "base": {"x": 1, "y": 2}, "use": {"y": 3, "x": 1}, "list": [{"x": 1, "y": 2}, {"x": 1, "y": 2}]
        });
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn bombs_and_towers_end_early() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..30 {
            let below = level - 1;
            let line = vec![format!("*a{below}"); 10].join(", ");
            writeln!(bomb, "a{level}: &a{level} [{line}]").unwrap();
        }
        assert_eq!(parse(&bomb), Err(Unreadable::TooLarge));
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert_eq!(parse(&"[".repeat(100)), Err(Unreadable::TooLarge));
        assert_eq!(parse(&"- ".repeat(100_000)), Err(Unreadable::TooLarge));
        assert_eq!(parse("a: &a [*a]"), Ok(json!({"a": [null]})));
    }
}
