//! The script as words of pieces, before variables are replaced.

use std::iter::Peekable;
use std::str::Chars;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text that stands for itself.
    Plain(String),
    /// What follows `$`: a name or the inside of `${…}`; quoted ones are not split.
    Variable { inside: String, quoted: bool },
    /// `$((…))`.
    Arithmetic(String),
    /// A command's output, which is not known: as it is written.
    Output(String),
}

/// A word of pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
    /// It has quotes, so that it is a word even when it is empty.
    pub(super) quoted: bool,
}

impl Word {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && !self.quoted
    }

    fn push(&mut self, c: char) {
        if let Some(Piece::Plain(text)) = self.pieces.last_mut() {
            text.push(c);
        } else {
            self.pieces.push(Piece::Plain(c.to_string()));
        }
    }

    /// `NAME=value`: the name, and the word after the sign.
    pub(super) fn assignment(&self) -> Option<(String, Self)> {
        let Piece::Plain(start) = self.pieces.first()? else { return None };
        let (name, value) = start.split_once('=')?;
        if !is_name(name) {
            return None;
        }
        let mut pieces = self.pieces.clone();
        pieces[0] = Piece::Plain(value.to_owned());
        Some((name.to_owned(), Self { pieces, quoted: true }))
    }
}

/// What a script is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// `NAME=( … )`; `more`: `NAME+=( … )`.
    List {
        name: String,
        items: Vec<Word>,
        more: bool,
    },
    /// The end of a command.
    End,
}

/// Reads tokens.
pub(super) struct Lexer<'s> {
    rest: Peekable<Chars<'s>>,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(script: &'s str) -> Self {
        Self { rest: script.chars().peekable() }
    }

    /// The next word, or `None` at the end of a command or list.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(&c) = self.rest.peek() {
            match c {
                ' ' | '\t' | '\r' if word.is_empty() => drop(self.rest.next()),
                '#' if word.is_empty() => self.comment(),
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ => {
                    self.rest.next();
                    self.piece(c, &mut word);
                }
            }
        }
        (!word.is_empty()).then_some(word)
    }

    fn comment(&mut self) {
        while self.rest.next_if(|&c| c != '\n').is_some() {}
    }

    fn piece(&mut self, c: char, word: &mut Word) {
        match c {
            '\\' => match self.rest.next() {
                // A continued line; Windows editors leave a return in between.
                Some('\n') | None => {}
                Some('\r') => drop(self.rest.next_if_eq(&'\n')),
                Some(c) => word.push(c),
            },
            '\'' => {
                word.quoted = true;
                while let Some(c) = self.rest.next_if(|&c| c != '\'') {
                    word.push(c);
                }
                self.rest.next();
            }
            '"' => self.quotes(word),
            '$' => self.dollar(word, false),
            '`' => {
                let output = self.until('`');
                word.pieces.push(Piece::Output(format!("$({output})")));
            }
            c => word.push(c),
        }
    }

    fn quotes(&mut self, word: &mut Word) {
        word.quoted = true;
        while let Some(c) = self.rest.next() {
            match c {
                '"' => break,
                '\\' => match self.rest.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                    Some('\n') | None => {}
                    Some(c) => {
                        word.push('\\');
                        word.push(c);
                    }
                },
                '$' => self.dollar(word, true),
                c => word.push(c),
            }
        }
    }

    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        match self.rest.peek() {
            Some('{') => {
                self.rest.next();
                let inside = self.until('}');
                word.pieces.push(Piece::Variable { inside, quoted });
            }
            Some('(') => {
                self.rest.next();
                let inside = self.until(')');
                match inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')) {
                    Some(formula) => word.pieces.push(Piece::Arithmetic(formula.to_owned())),
                    None => word.pieces.push(Piece::Output(format!("$({inside})"))),
                }
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?".contains(*c) => {
                let mut inside = String::new();
                let one = !(c.is_ascii_alphabetic() || *c == '_');
                while let Some(c) = self
                    .rest
                    .next_if(|c| if one { inside.is_empty() } else { c.is_ascii_alphanumeric() || *c == '_' })
                {
                    inside.push(c);
                }
                word.pieces.push(Piece::Variable { inside, quoted });
            }
            _ => word.push('$'),
        }
    }

    /// Everything before the sign that closes what has been opened; brackets of the same kind nest.
    fn until(&mut self, close: char) -> String {
        let open = match close {
            '}' => '{',
            ')' => '(',
            _ => '\0',
        };
        let (mut depth, mut inside) = (0_usize, String::new());
        for c in self.rest.by_ref() {
            if c == close && depth == 0 {
                break;
            }
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
            }
            inside.push(c);
        }
        inside
    }

    /// A word, or the list that it is the name of.
    fn list_or_word(&mut self, word: Word) -> Token {
        let start = match word.pieces.as_slice() {
            [Piece::Plain(text)] => text.strip_suffix('='),
            _ => None,
        };
        let Some(name) = start.filter(|_| self.rest.peek() == Some(&'(')) else { return Token::Word(word) };
        let (name, more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        let name = name.to_owned();
        self.rest.next();
        Token::List { name, items: self.list(), more }
    }

    fn list(&mut self) -> Vec<Word> {
        let mut items = Vec::new();
        loop {
            items.extend(self.word());
            match self.rest.next() {
                Some(')') | None => break,
                Some(_) => {}
            }
        }
        items
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            if let Some(word) = self.word() {
                return Some(self.list_or_word(word));
            }
            match self.rest.next()? {
                // Redirections go on with a file's name, which is no argument, but none of the options either.
                '<' | '>' => {}
                '&' if self.rest.peek() == Some(&'>') => {}
                _ => return Some(Token::End),
            }
        }
    }
}

/// Whether a text can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
