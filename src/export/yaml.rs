//! Settings as YAML that Python reads as the same values.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::import::tables::scalar;

/// A mapping, a setting a line.
pub(super) fn write(values: &Map<String, Value>) -> String {
    let mut out = String::new();
    mapping(values, 0, &mut out);
    out
}

fn mapping(values: &Map<String, Value>, indent: usize, out: &mut String) {
    for (name, value) in values {
        let _ = write!(out, "{:indent$}{name}:", "");
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                out.push('\n');
                mapping(fields, indent + 2, out);
            }
            value => {
                let _ = writeln!(out, " {}", plain(value));
            }
        }
    }
}

/// A scalar; quoted (JSON's strings are YAML's) where it would be read as something else.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let safe = |c: char| c.is_ascii_alphanumeric() || "_-./@+".contains(c);
            let unquoted = text.chars().all(safe) && scalar(text).as_str() == Some(text);
            if unquoted && !text.starts_with(['-', '@', '.']) { text.clone() } else { value.to_string() }
        }
        value => value.to_string(),
    }
}
