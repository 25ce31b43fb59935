//! `$((…))`: whole numbers, variables, `+ - * / %` and brackets.

/// Brackets deeper than this are not read.
const DEEPEST: usize = 32;

/// The value of a formula; `None` when it is none, divides by 0, or a variable is unknown.
pub(super) fn evaluate(formula: &str, variable: impl Fn(&str) -> Option<i64>) -> Option<i64> {
    let mut reader = Reader { rest: formula, variable, depth: 0 };
    let value = reader.sum()?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'f, V> {
    rest: &'f str,
    variable: V,
    depth: usize,
}

impl<V: Fn(&str) -> Option<i64>> Reader<'_, V> {
    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign) = self.sign("+-") {
            let next = self.product()?;
            value = if sign == '+' { value.checked_add(next)? } else { value.checked_sub(next)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        while let Some(sign) = self.sign("*/%") {
            let next = self.atom()?;
            value = match sign {
                '*' => value.checked_mul(next)?,
                '/' => value.checked_div(next)?,
                _ => value.checked_rem(next)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i64> {
        self.rest = self.rest.trim_start();
        if let Some(inside) = self.rest.strip_prefix('(') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return None;
            }
            self.rest = inside;
            let value = self.sum()?;
            self.rest = self.rest.trim_start().strip_prefix(')')?;
            self.depth -= 1;
            return Some(value);
        }
        let text = self.rest.trim_start_matches(['$', '{']);
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest.trim_start_matches('}');
        word.parse().ok().or_else(|| (self.variable)(word))
    }

    fn sign(&mut self, signs: &str) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|c| signs.contains(*c))?;
        self.rest = &rest[sign.len_utf8()..];
        Some(sign)
    }
}
