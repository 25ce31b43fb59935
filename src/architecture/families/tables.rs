//! Types of which only the parameters are known, each described by a few lines of a table.
//!
//! A line is a statement. `type NAME… field=default…` starts a description, `def NAME` a piece that `use NAME` takes
//! in. A group (`attention`, `mlp`, `norm`, …) is followed by its tensors: `q:h>a*d` is a linear from `h` to `a·d`,
//! `table:V,h` a tensor, and behind either `!` says that there is a bias as long as the output, `?x` that there is one
//! if `x` holds. `let NAME x` names a size; `layers N … end` repeats layers with their number in `i`, `rep N … end`
//! anything with `j`; `when x … else … end` and `if x STATEMENT` choose. `in FIELD … end` reads from a nested object,
//! `model FIELD TYPE` takes in the model that it describes, and with `lm TIED` its head as well;
//! `like TYPE TIED` describes the same object. `fill TYPE field=…` says what such an object may leave out. `moe E K` tells how
//! many of the experts serve a token, `lm V h TIED` is the output embedding.

use super::compose::MOST_LAYERS;
use super::counted;
use super::expressions::{Reader, Value};
use crate::architecture::fields::{Fields, empty};
use crate::architecture::{Architecture, Body, Head, Layer, Linear, Output, Param, Sublayer};
use crate::config::{Problem, ProblemKind};
use crate::ledger::{Dim, Group, Shape, Symbol, Symbols};
use crate::text::architecture as words;
use serde_json::{Map, Value as Json};
use std::sync::LazyLock;

const TABLES: &[&str] = &[
    include_str!("tables/pieces.txt"),
    include_str!("tables/decoders.txt"),
    include_str!("tables/towers.txt"),
    include_str!("tables/pairs.txt"),
    include_str!("tables/audio.txt"),
    include_str!("tables/fills.txt"),
];

/// Models within models within models.
const MOST_NESTED: usize = 5;

/// More statements than any description runs.
const MOST_STEPS: u32 = 400_000;

/// The lines of one description.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// What its first word says it is.
    kind: Kind,
    header: &'static str,
    body: &'static str,
}

/// What an entry describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A model type.
    Type,
    /// A piece that others use.
    Piece,
    /// What a nested object may leave out.
    Fill,
}

/// Every entry of every table, cut apart once.
static ENTRIES: LazyLock<Vec<Table>> =
    LazyLock::new(|| TABLES.iter().flat_map(|text| text.split("\n\n")).filter_map(Table::cut).collect());

/// The first entry of such a kind and name.
fn entry(name: &str, kind: impl Fn(Kind) -> bool) -> Option<Table> {
    ENTRIES.iter().find(|table| kind(table.kind) && table.names().any(|known| known == name)).copied()
}

/// The names of every type that a table describes.
#[inline(never)] // apart: a first visit has none
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().filter(|table| table.kind == Kind::Type).flat_map(|table| table.names())
}

/// The description of a type.
#[inline(never)] // apart: a first visit has none
pub(super) fn find(model_type: &str) -> Option<Table> {
    entry(model_type, |kind| kind == Kind::Type)
}

impl Table {
    fn cut(text: &'static str) -> Option<Self> {
        let mut rest = text.trim_start();
        while rest.starts_with('#') {
            rest = rest.split_once('\n')?.1;
        }
        let (header, body) = rest.split_once('\n').unwrap_or((rest, ""));
        let (kind, header) = header.split_once(' ')?;
        let kind = match kind {
            "type" => Kind::Type,
            "def" => Kind::Piece,
            "fill" => Kind::Fill,
            _ => return None,
        };
        Some(Self { kind, header, body })
    }

    #[inline(never)] // apart: a first visit has none
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.header.split_whitespace().filter(|word| !word.contains('='))
    }

    /// The class default of a field.
    fn default(self, key: &str) -> Option<&'static str> {
        let mut pairs = self.header.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn lines(self) -> Vec<&'static str> {
        self.body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    }

    /// Builds the model; `None` when a field is missing or wrong (then `fields.problems` says which).
    pub(super) fn compose(self, fields: &mut Fields) -> Option<Architecture> {
        let mut writer = Writer::default();
        writer.scopes.push(Scope { base: is_base(fields.class()), ..Scope::new(fields.json(), self) });
        writer.run(&self.lines());
        fields.problems.append(&mut writer.problems);
        fields.problems.is_empty().then(|| writer.model())
    }
}

/// Whether a class has no head.
fn is_base(class: &str) -> bool {
    class.ends_with("Model") && !class.ends_with("LMHeadModel") || class.ends_with("Backbone")
}

/// Where names are looked up.
struct Scope<'j> {
    json: &'j Map<String, Json>,
    table: Table,
    /// What `let` named.
    names: Vec<(&'static str, Value<'j>)>,
    base: bool,
}

impl<'j> Scope<'j> {
    const fn new(json: &'j Map<String, Json>, table: Table) -> Self {
        Self { json, table, names: Vec::new(), base: true }
    }

    fn named(&self, name: &str) -> Option<Value<'j>> {
        self.names.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// What the statements have said so far.
#[derive(Default)]
struct Writer<'j> {
    scopes: Vec<Scope<'j>>,
    problems: Vec<Problem>,
    steps: u32,
    /// Tensors of the layer that is being described.
    layer: Option<Vec<Param>>,
    kinds: Vec<Layer>,
    order: Vec<u8>,
    before: Vec<Param>,
    after: Vec<Param>,
    output: Option<(Linear, bool)>,
    symbols: Symbols,
}

impl<'j> Writer<'j> {
    fn look(&self, name: &'static str) -> Value<'j> {
        let Some(scope) = self.scopes.last() else { return Value::Missing(name) };
        if let Some(value) = scope.named(name) {
            return value;
        }
        if let Some(json) = scope.json.get(name) {
            return Value::of(name, json);
        }
        match name {
            "base" => return Value::flag(scope.base),
            "class" => {
                let first = scope.json.get("architectures").and_then(|all| all.get(0));
                return Value::Text(first.and_then(Json::as_str).unwrap_or(""));
            }
            "labels" => {
                let named = scope.json.get("id2label").and_then(Json::as_object).map(|map| map.len() as f64);
                let number = scope.json.get("num_labels").and_then(Json::as_f64);
                return Value::Number(named.or(number).unwrap_or(2.0));
            }
            _ => {}
        }
        if let Some(default) = scope.table.default(name) {
            return Value::literal(default);
        }
        let outer = self.scopes.iter().rev().skip(1).find_map(|outer| outer.named(name));
        outer.unwrap_or(Value::Missing(name))
    }

    fn evaluate(&self, text: &'static str) -> Value<'j> {
        Reader { rest: text, look: &|name| self.look(name) }.expression()
    }

    /// A size; what is missing or no size is noted.
    fn size(&mut self, value: Value<'j>) -> u64 {
        let note = |key: &str, value: String, text| Problem {
            key: key.to_owned(),
            value,
            kind: ProblemKind::Note(text),
        };
        let problem = match value.number() {
            Ok(number) => match Value::whole(number) {
                Some(size) => return size,
                None => note("model_type", number.to_string(), words::NOT_A_SIZE),
            },
            Err(key) => note(if key.is_empty() { "model_type" } else { key }, String::new(), words::MISSING),
        };
        if !self.problems.iter().any(|known| known.key == problem.key) {
            self.problems.push(problem);
        }
        0
    }

    fn run(&mut self, lines: &[&'static str]) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            self.steps += 1;
            if self.steps > MOST_STEPS || !self.problems.is_empty() {
                return;
            }
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if !matches!(word, "layers" | "rep" | "when" | "in") {
                self.statement(word, rest);
                at += 1;
                continue;
            }
            let (otherwise, end) = block(lines, at);
            let inner = lines.get(at + 1..otherwise.unwrap_or(end)).unwrap_or(&[]);
            let other = otherwise.and_then(|start| lines.get(start + 1..end)).unwrap_or(&[]);
            self.block(word, rest, inner, other);
            at = end + 1;
        }
    }

    fn block(&mut self, word: &str, rest: &'static str, inner: &[&'static str], other: &[&'static str]) {
        match word {
            "when" => self.run(if self.evaluate(rest).holds() { inner } else { other }),
            "in" => {
                let Some(json) = self.nested(rest) else { return };
                let table = Table { kind: Kind::Piece, header: "", body: "" };
                self.scopes.push(Scope::new(json, table));
                self.run(inner);
                self.scopes.pop();
            }
            _ => {
                let of_layers = word == "layers";
                let count = self.evaluate(rest);
                let count = self.size(count);
                if count > MOST_LAYERS {
                    self.size(Value::Number(f64::INFINITY));
                    return;
                }
                for index in 0..count {
                    self.name(if of_layers { "i" } else { "j" }, Value::Number(index as f64));
                    if of_layers && self.layer.is_none() {
                        self.layer = Some(Vec::new());
                        self.run(inner);
                        let params = self.layer.take().unwrap_or_default();
                        self.place(params);
                    } else {
                        self.run(inner);
                    }
                }
            }
        }
    }

    fn statement(&mut self, word: &'static str, rest: &'static str) {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "let" => {
                let value = self.evaluate(more);
                self.name(first, value);
            }
            "if" => {
                if self.evaluate(first).holds() {
                    self.run(&[more]);
                }
            }
            "use" => {
                if let Some(piece) = entry(first, |kind| kind != Kind::Fill) {
                    self.run(&piece.lines());
                }
            }
            "model" => {
                if let Some(json) = self.nested(first) {
                    let [default, head, tied] = three(more);
                    let model_type = json.get("model_type").and_then(Json::as_str).unwrap_or(default);
                    self.take_in(json, model_type, head, tied);
                }
            }
            "like" => {
                if let Some((json, base)) = self.scopes.last().map(|scope| (scope.json, scope.base)) {
                    let head = if base { "" } else { "lm" };
                    self.take_in(
                        json,
                        first,
                        head,
                        if more.is_empty() { "tie_word_embeddings" } else { more },
                    );
                }
            }
            "moe" => {
                let [count, top] = [first, more].map(|text| self.evaluate(text));
                let (count, top) = (self.size(count), self.size(top));
                self.symbols.set(Symbol::E, count);
                self.symbols.set(Symbol::Top, top.min(count));
            }
            "lm" => {
                let [rows, width, tied] = three(rest).map(|text| self.evaluate(text));
                let shape = [self.size(rows), self.size(width)].map(Dim::of);
                let weight = Param::new("lm_head", Group::LmHead, &shape);
                self.output = Some((Linear { weight, bias: None }, tied.holds()));
            }
            _ => {
                let group = group(word);
                for token in rest.split_whitespace() {
                    self.tensor(group, token);
                }
            }
        }
    }

    /// `name:in>out?bias` or `name:axis,axis!`.
    fn tensor(&mut self, group: Group, token: &'static str) {
        let (path, axes) = token.split_once(':').unwrap_or(("weight", token));
        let mut reader = Reader { rest: axes, look: &|name| self.look(name) };
        let mut values = Vec::with_capacity(4);
        values.push(reader.expression());
        let linear = reader.takes(">");
        while linear && values.len() == 1 || reader.takes(",") {
            values.push(reader.expression());
        }
        let biased = reader.takes("!") || reader.takes("?") && reader.expression().holds();
        if linear {
            values.reverse();
        }
        let axes: Vec<Dim> = values.into_iter().take(5).map(|value| Dim::of(self.size(value))).collect();
        if axes.contains(&Dim::Const(0)) {
            return;
        }
        self.push(Param::new(path, group, &axes));
        if biased {
            self.push(Param::new(path, group, axes.get(..1).unwrap_or(&[])));
        }
    }

    fn push(&mut self, param: Param) {
        match (&mut self.layer, param.group) {
            (Some(layer), _) => layer.push(param),
            (None, Group::Embedding) => self.before.push(param),
            (None, _) => self.after.push(param),
        }
    }

    fn name(&mut self, name: &'static str, value: Value<'j>) {
        if let Some(scope) = self.scopes.last_mut() {
            match scope.names.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = value,
                None => scope.names.push((name, value)),
            }
        }
    }

    /// A layer of these tensors follows.
    fn place(&mut self, params: Vec<Param>) {
        let body = Body::Counted(params);
        let sublayer =
            Sublayer { before: None, body, after: None, on_sum: None, dropout: 0.0, dropped_by_layer: false };
        let layer = Layer { sublayers: vec![sublayer], parallel: false };
        let index = self.kinds.iter().position(|kind| *kind == layer).unwrap_or_else(|| {
            self.kinds.push(layer);
            self.kinds.len() - 1
        });
        // More kinds than a byte tells apart have no place of their own.
        match u8::try_from(index) {
            Ok(index) => self.order.push(index),
            Err(_) => {
                if let Some(Body::Counted(params)) =
                    self.kinds.pop().and_then(|mut kind| kind.sublayers.pop()).map(|last| last.body)
                {
                    self.after.extend(params);
                }
            }
        }
    }

    fn nested(&mut self, key: &'static str) -> Option<&'j Map<String, Json>> {
        let found = self.scopes.last()?.json.get(key).filter(|json| !json.is_null());
        match found {
            None => Some(empty()),
            Some(Json::Object(map)) => Some(map),
            Some(other) => {
                let kind = ProblemKind::Note(words::NOT_A_SIZE);
                self.problems.push(Problem { key: key.to_owned(), value: other.to_string(), kind });
                None
            }
        }
    }

    /// The model that an object describes, with its head after `lm`.
    fn take_in(&mut self, json: &'j Map<String, Json>, model_type: &str, head: &str, tied: &'static str) {
        let tied = self.evaluate(tied).holds();
        let base = head != "lm";
        if self.scopes.len() > MOST_NESTED {
            return;
        }
        if let Some(table) = find(model_type) {
            self.scopes.push(Scope { base, ..Scope::new(json, table) });
            self.run(&table.lines());
            self.scopes.pop();
            if let (Some((_, of_head)), false) = (&mut self.output, base) {
                *of_head = tied;
            }
            return;
        }
        let Some(family) = super::known(model_type) else {
            self.problems.push(super::unsupported(model_type));
            return;
        };
        let mut filled = json.clone();
        if let Some(table) = entry(model_type, |kind| kind == Kind::Fill) {
            for (key, value) in table.header.split_whitespace().filter_map(|word| word.split_once('=')) {
                if let (false, Ok(size)) = (family.finds(&filled, key), value.parse::<u64>()) {
                    filled.insert(key.to_owned(), size.into());
                }
            }
        }
        let mut fields = Fields::new(&filled);
        fields.as_class = Some(if base { "Model" } else { "ForCausalLM" });
        let model = family.compose(&mut fields, None);
        self.problems.append(&mut fields.problems);
        if let Some(model) = model {
            self.absorb(&model, base, tied);
        }
    }

    /// Takes in a model whose sizes are symbols.
    fn absorb(&mut self, model: &Architecture, base: bool, tied: bool) {
        let fixed = |param: Param| {
            let axes: Vec<Dim> =
                param.shape.dims().iter().map(|dim| Dim::of(dim.value(&model.symbols))).collect();
            Param { shape: Shape::new(&axes), ..param }
        };
        for symbol in [Symbol::E, Symbol::Top] {
            if model.size(symbol) > 0 {
                self.symbols.set(symbol, model.size(symbol));
            }
        }
        model.embedding.params(&mut |param| self.before.push(fixed(param)));
        model.final_norm.iter().for_each(|norm| norm.params(&mut |param| self.after.push(fixed(param))));
        for kind in &model.order {
            let mut params = Vec::new();
            if let Some(kind) = model.kinds.get(usize::from(*kind)) {
                kind.sublayers.iter().for_each(|sublayer| sublayer.params(&mut |p| params.push(fixed(p))));
            }
            self.place(params);
        }
        let mut head = model.head.clone();
        if let (Output::Tokens(linear), false) = (head.output, base) {
            let weight = fixed(linear.weight);
            self.output = Some((Linear { weight, bias: linear.bias.map(fixed) }, tied));
            head.output = Output::None;
        }
        head.params(false, &mut |param| self.after.push(fixed(param)));
    }

    fn model(self) -> Architecture {
        let mut symbols = self.symbols;
        let names = [
            ("h", Symbol::H),
            ("f", Symbol::F),
            ("a", Symbol::A),
            ("k", Symbol::K),
            ("d", Symbol::D),
            ("V", Symbol::V),
        ];
        for (name, symbol) in names {
            let value = self.scopes.first().and_then(|scope| scope.named(name));
            if let Some(size) = value.and_then(|value| Value::whole(value.number().ok()?)) {
                symbols.set(symbol, size);
            }
        }
        let (output, tied) = match self.output {
            Some((linear, tied)) => (Output::Tokens(linear), tied),
            None => (Output::None, false),
        };
        let head = Head { transform: None, output, other: self.after };
        counted::model(symbols, self.before, (self.kinds, self.order), head, tied)
    }
}

/// The first three words of a line.
fn three(line: &'static str) -> [&'static str; 3] {
    let mut words = line.split_whitespace();
    [(); 3].map(|()| words.next().unwrap_or(""))
}

/// Where a block that starts at a line has its `else`, and where it ends.
fn block(lines: &[&'static str], start: usize) -> (Option<usize>, usize) {
    let mut depth = 0_u32;
    let mut otherwise = None;
    for (at, line) in lines.iter().enumerate().skip(start) {
        match line.split(' ').next().unwrap_or("") {
            "layers" | "rep" | "when" | "in" => depth += 1,
            "else" if depth == 1 => otherwise = Some(at),
            "end" if depth == 1 => return (otherwise, at),
            "end" => depth -= 1,
            _ => {}
        }
    }
    (otherwise, lines.len())
}

fn group(word: &str) -> Group {
    match word {
        "embedding" => Group::Embedding,
        "attention" => Group::Attention,
        "cross" => Group::CrossAttention,
        "mlp" => Group::Mlp,
        "experts" => Group::Experts,
        "shared" => Group::SharedExperts,
        "router" => Group::Router,
        "norm" => Group::Norm,
        "final" => Group::FinalNorm,
        "head" => Group::LmHead,
        _ => Group::Other,
    }
}
