//! Expressions of the tables of counted types: sizes computed from the fields of a file.
//!
//! `a*d`, `head_dim|(h/a)` (the second where the first is absent), `layer_types[i]=='conv'`,
//! `if(gated,2,1)*f`. Everything is a number, a text or a JSON value; `/` rounds down.

use serde_json::Value as Json;

/// What an expression comes to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'j> {
    /// A field that is not there.
    Missing(&'static str),
    Number(f64),
    Text(&'j str),
    /// A class default of several numbers: `3,4,6,3`.
    Numbers(&'static str),
    Json(&'j Json),
}

impl<'j> Value<'j> {
    pub(super) const fn flag(on: bool) -> Self {
        Self::Number(if on { 1.0 } else { 0.0 })
    }

    /// A value of a file: numbers and flags count, also when written as texts.
    pub(super) fn of(key: &'static str, json: &'j Json) -> Self {
        match json {
            Json::Null => Self::Missing(key),
            Json::Bool(on) => Self::flag(*on),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(0.0)),
            Json::String(text) => match text.parse() {
                Ok(number) => Self::Number(number),
                Err(_) if text == "true" || text == "false" => Self::flag(text == "true"),
                Err(_) => Self::Text(text),
            },
            other => Self::Json(other),
        }
    }

    /// A class default: a number or a text.
    pub(super) fn literal(text: &'static str) -> Self {
        match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) if text.starts_with(|c: char| c.is_ascii_digit()) => Self::Numbers(text),
            Err(_) => Self::Text(text),
        }
    }

    /// A number that can be a size.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    pub(super) fn whole(number: f64) -> Option<u64> {
        (0.0..=MOST).contains(&number).then_some(number as u64)
    }

    /// The number, or the field that is missing for it (or is something else).
    pub(super) fn number(self) -> Result<f64, &'static str> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Missing(key) => Err(key),
            Self::Text(_) | Self::Numbers(_) | Self::Json(_) => Err(""),
        }
    }

    /// Whether it is anything but nothing, 0, false or empty.
    pub(super) fn holds(self) -> bool {
        match self {
            Self::Missing(_) => false,
            Self::Number(number) => number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Numbers(_) | Self::Json(_) => self.length() > 0.0,
        }
    }

    fn text(self) -> &'j str {
        if let Self::Text(text) = self { text } else { "" }
    }

    fn list(self) -> &'j [Json] {
        match self {
            Self::Json(Json::Array(list)) => list,
            _ => &[],
        }
    }

    fn length(self) -> f64 {
        match self {
            Self::Numbers(text) => text.split(',').count() as f64,
            Self::Json(Json::Array(list)) => list.len() as f64,
            Self::Json(Json::Object(map)) => map.len() as f64,
            _ => 0.0,
        }
    }

    fn field(self, key: &'static str) -> Self {
        match self {
            Self::Json(Json::Object(map)) => {
                map.get(key).map_or(Self::Missing(key), |json| Self::of(key, json))
            }
            _ => Self::Missing(key),
        }
    }

    fn item(self, index: f64, key: &'static str) -> Self {
        let list = self.list();
        let index = if index < 0.0 { index + self.length() } else { index };
        if let Self::Numbers(text) = self {
            let found =
                Self::whole(index).and_then(|index| text.split(',').nth(usize::try_from(index).ok()?));
            return found.map_or(Self::Missing(key), Self::literal);
        }
        let found = Self::whole(index).and_then(|index| list.get(usize::try_from(index).ok()?));
        found.map_or(Self::Missing(key), |json| Self::of(key, json))
    }

    fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => (a - b).abs() < f64::EPSILON,
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => false,
        }
    }
}

/// An axis that no model comes near.
const MOST: f64 = 4e9;

/// Reads one expression of a text; `look` knows names.
pub(super) struct Reader<'l, 'j> {
    pub(super) rest: &'static str,
    pub(super) look: &'l dyn Fn(&'static str) -> Value<'j>,
}

impl<'j> Reader<'_, 'j> {
    /// Takes a mark if it comes next.
    pub(super) fn takes(&mut self, mark: &str) -> bool {
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes the longest piece of such characters.
    fn word(&mut self, part: impl Fn(char) -> bool) -> &'static str {
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// A whole expression: comparisons of sums.
    pub(super) fn expression(&mut self) -> Value<'j> {
        let left = self.sum();
        if self.takes("==") {
            return Value::flag(left.equals(self.sum()));
        }
        if self.takes("<") {
            return both(left, self.sum(), |a, b| f64::from(u8::from(a < b)));
        }
        left
    }

    fn sum(&mut self) -> Value<'j> {
        let mut left = self.product();
        loop {
            if self.takes("+") {
                left = both(left, self.product(), |a, b| a + b);
            } else if self.takes("-") {
                left = both(left, self.product(), |a, b| a - b);
            } else {
                return left;
            }
        }
    }

    fn product(&mut self) -> Value<'j> {
        let mut left = self.either();
        loop {
            if self.takes("*") {
                left = both(left, self.either(), |a, b| a * b);
            } else if self.takes("/") {
                left = both(left, self.either(), |a, b| if b == 0.0 { 0.0 } else { (a / b).floor() });
            } else if self.takes("%") {
                left = both(left, self.either(), |a, b| if b == 0.0 { 0.0 } else { a.rem_euclid(b) });
            } else {
                return left;
            }
        }
    }

    /// The first of several that is there.
    fn either(&mut self) -> Value<'j> {
        let mut first = self.item();
        while self.takes("|") {
            let second = self.item();
            if matches!(first, Value::Missing(_)) {
                first = second;
            }
        }
        first
    }

    /// A value with what is picked out of it.
    fn item(&mut self) -> Value<'j> {
        let start = self.rest;
        let mut value = self.single();
        loop {
            if self.takes("[") {
                let index = self.expression();
                self.takes("]");
                let key = start.get(..start.len() - self.rest.len()).unwrap_or(start);
                value = index.number().map_or_else(Value::Missing, |index| value.item(index, key));
            } else if self.takes(".") {
                value = value.field(self.word(|c| c.is_ascii_alphanumeric() || c == '_'));
            } else {
                return value;
            }
        }
    }

    fn single(&mut self) -> Value<'j> {
        if self.takes("(") {
            let inner = self.expression();
            self.takes(")");
            return inner;
        }
        if self.takes("-") {
            return both(Value::Number(0.0), self.item(), |a, b| a - b);
        }
        if self.takes("'") {
            let text = self.word(|c| c != '\'');
            self.takes("'");
            return Value::Text(text);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Value::Number(self.word(|c| c.is_ascii_digit() || c == '.').parse().unwrap_or(0.0));
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.takes("(") {
            return self.call(name);
        }
        (self.look)(name)
    }

    fn call(&mut self, name: &str) -> Value<'j> {
        let mut args = [Value::Number(0.0); 3];
        for arg in &mut args {
            *arg = self.expression();
            if !self.takes(",") {
                break;
            }
        }
        self.takes(")");
        let [a, b, c] = args;
        match name {
            "if" => return if a.holds() { b } else { c },
            "not" => return Value::flag(!a.holds()),
            "given" => return Value::flag(!matches!(a, Value::Missing(_))),
            "len" => return Value::Number(a.length()),
            "has" => {
                let found = a.list().iter().any(|json| Value::of("", json).equals(b));
                return Value::flag(found || !b.text().is_empty() && a.text().contains(b.text()));
            }
            "ends" => return Value::flag(a.text().ends_with(b.text())),
            "starts" => return Value::flag(a.text().starts_with(b.text())),
            "sum" => {
                let numbers = a.list().iter().filter_map(Json::as_f64);
                return Value::Number(numbers.sum());
            }
            "count" => {
                let same = a.list().iter().filter(|json| Value::of("", json).equals(b));
                return Value::Number(same.count() as f64);
            }
            "int" => return both(a, b, |a, _| a.trunc()),
            "round" => return both(a, b, |a, _| a.round_ties_even()),
            _ => {}
        }
        both(a, b, |a, b| match name {
            "max" => a.max(b),
            "min" => a.min(b),
            // a ÷ b, rounded up or not at all; a rounded up to a multiple; a to the power of b.
            "ceil" => (a / b.max(1.0)).ceil(),
            "over" => {
                if b == 0.0 {
                    0.0
                } else {
                    a / b
                }
            }
            "up" => (a / b.max(1.0)).ceil() * b,
            "pow" => a.powf(b),
            _ => 0.0,
        })
    }
}

/// A function of two numbers; what is missing stays missing.
fn both<'j>(a: Value<'j>, b: Value<'j>, f: impl Fn(f64, f64) -> f64) -> Value<'j> {
    match (a.number(), b.number()) {
        (Ok(a), Ok(b)) => Value::Number(f(a, b)),
        (Err(key), _) | (_, Err(key)) => Value::Missing(key),
    }
}
