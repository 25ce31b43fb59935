//! The article's four lines: parameters, gradients, optimizer states, activations, each with its arithmetic.
//!
//! Its one-line formula is total ≈ parameters × (1 + 1 + c) + activations, with c = 2 for Adam, 1 for SGD with
//! momentum, 0 for plain SGD. A [`Line`] holds its factors and nothing else, so what is printed is what was
//! multiplied. Where the article is silent (8-bit states, adapters, …) the bytes per parameter are those of the
//! optimizer's own implementation, and the line's note says so.
//!
//! ```
//! use trainmem::config::{Config, Precision, Units};
//! use trainmem::quick::{Given, quick};
//!
//! let config = Config { params: Some(7_000_000_000), precision: Precision::Fp32, ..Config::default() };
//! let answer = quick(&config, Given::default());
//! assert_eq!(answer.lines[0].arithmetic(Units::Gb), "7 × 10⁹ × 4 B = 28 GB");
//! assert_eq!(answer.sum(Units::Gb), "28 + 28 + 56 = 112 GB");
//! ```

mod number;

use serde_json::{Map, Value};

use crate::config::{
    Config, DEFAULT_MODEL, GradDtype, Method, Optimizer, Precision, Quantization, Units, preset,
};
use crate::ledger::Block;
use crate::report::share;
use crate::text::{Lang, Text, quick as text};
use number::{exact_other, in_giga, power_of_ten, size};

/// What the configuration does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The model's parameter total (elements), used when the configuration has no `params`.
    pub params: Option<u64>,
    /// Activations typed in (bytes), instead of the formula.
    pub activations: Option<u64>,
}

/// One factor of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    /// Parameters, written as a power of ten where that is exact.
    Parameters(u64),
    /// A plain number.
    Number(u64),
    /// Bytes of one element.
    Bytes(PerElement),
}

/// Bytes of one element, as written and as computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PerElement {
    text: &'static str,
    numerator: u64,
    denominator: u64,
}

impl PerElement {
    const fn whole(text: &'static str, bytes: u64) -> Self {
        Self { text, numerator: bytes, denominator: 1 }
    }
}

const ONE: PerElement = PerElement::whole("1 B", 1);
const TWO: PerElement = PerElement::whole("2 B", 2);
const FOUR: PerElement = PerElement::whole("4 B", 4);
const TWO_AND_MASTER: PerElement = PerElement::whole("(2 + 4) B", 6);
const HALF: PerElement = PerElement { text: "0.5 B", numerator: 1, denominator: 2 };
// bitsandbytes' block-wise states: bitsandbytes/optim/optimizer.py, block size 256.
const TWO_BYTES_AND_SCALES: PerElement =
    PerElement { text: "(2 × 1 + 2 × 4 / 256) B", numerator: 520, denominator: 256 };

/// One of the four lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which block.
    pub block: Block,
    /// Size in bytes (`u64::MAX` when it is larger than that).
    pub bytes: u64,
    /// Where it comes from, or what is missing.
    pub note: Note,
    factors: Vec<Factor>,
}

/// A sentence under a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A sentence.
    Plain(Text),
    /// The two parts of weights with a master copy (bytes).
    MasterCopy {
        /// 16-bit weights.
        weights: u64,
        /// FP32 copy.
        copy: u64,
    },
}

impl Note {
    /// The sentence for the reader.
    pub fn message(self, lang: Lang, units: Units) -> String {
        match self {
            Self::Plain(text) => text.get(lang).to_owned(),
            Self::MasterCopy { weights, copy } => text::WEIGHTS_MASTER_COPY
                .fill(lang, &[("weights", &size(weights, units).0), ("copy", &size(copy, units).0)]),
        }
    }
}

impl Line {
    fn product(block: Block, note: Note, factors: Vec<Factor>) -> Self {
        let bytes = multiply(&factors);
        let note = if bytes == u64::MAX { Note::Plain(text::TOO_LARGE) } else { note };
        Self { block, bytes, note, factors }
    }

    fn known(block: Block, note: Text, bytes: u64) -> Self {
        Self { block, bytes, note: Note::Plain(note), factors: Vec::new() }
    }

    /// The line written out: `7 × 10⁹ × 4 B = 28 GB`, `≈` where the size is rounded, the exact size in the other
    /// unit behind it where only that one is whole: `… ≈ 2.147 GB (= 2 GiB)`.
    pub fn arithmetic(&self, units: Units) -> String {
        let (shown, exact) = size(self.bytes, units);
        if self.factors.is_empty() {
            return shown;
        }
        let mut out = String::with_capacity(64);
        for (i, factor) in self.factors.iter().enumerate() {
            if i > 0 {
                out.push_str(" × ");
            }
            match factor {
                Factor::Parameters(count) => out.push_str(&power_of_ten(*count)),
                Factor::Number(number) => out.push_str(&number.to_string()),
                Factor::Bytes(bytes) => out.push_str(bytes.text),
            }
        }
        out.push_str(if self.bytes == u64::MAX {
            " > "
        } else if exact {
            " = "
        } else {
            " ≈ "
        });
        out.push_str(&shown);
        if !exact && let Some(other) = exact_other(self.bytes, units) {
            out.push_str(" (= ");
            out.push_str(&other);
            out.push(')');
        }
        out
    }
}

fn multiply(factors: &[Factor]) -> u64 {
    let (mut product, mut denominator) = (1_u128, 1_u128);
    for factor in factors {
        let by = match factor {
            Factor::Parameters(number) | Factor::Number(number) => *number,
            Factor::Bytes(bytes) => {
                denominator *= u128::from(bytes.denominator);
                bytes.numerator
            }
        };
        product = product.saturating_mul(u128::from(by));
    }
    u64::try_from(product.div_ceil(denominator)).unwrap_or(u64::MAX)
}

/// The article's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quick {
    /// Parameters, gradients, optimizer states, activations.
    pub lines: [Line; 4],
    /// Their sum in bytes (`u64::MAX` when it is larger than that).
    pub total: u64,
}

impl Quick {
    /// The article's reminder that the parameters are only part of it; none where they are all there is.
    pub fn reminder(&self, lang: Lang) -> Option<String> {
        let parameters = self.lines[0].bytes;
        let is_part = parameters > 0 && parameters < self.total;
        is_part.then(|| {
            let share = share(parameters, self.total, lang);
            text::ONLY_PARAMETERS.fill(lang, &[("share", &share)])
        })
    }

    /// The sum written out: `28 + 28 + 56 = 112 GB` (lines of nothing left out, `≈` where a size is rounded).
    pub fn sum(&self, units: Units) -> String {
        let mut out = String::with_capacity(48);
        let mut all_exact = true;
        for line in self.lines.iter().filter(|line| line.bytes > 0) {
            let (shown, exact) = in_giga(line.bytes, units);
            all_exact &= exact;
            if !out.is_empty() {
                out.push_str(" + ");
            }
            out.push_str(&shown);
        }
        let (total, exact) = in_giga(self.total, units);
        if !out.is_empty() {
            out.push_str(if all_exact && exact { " = " } else { " ≈ " });
        }
        out.push_str(&total);
        out.push_str(match units {
            Units::Gib => " GiB",
            Units::Gb => " GB",
        });
        out
    }
}

/// Estimates by the article.
pub fn quick(config: &Config, given: Given) -> Quick {
    let lines = match config.params.or(given.params) {
        Some(params) => [weights(config, params), gradients(config, params), states(config, params)],
        None => [Block::Parameters, Block::Gradients, Block::Optimizer]
            .map(|block| Line::known(block, text::PARAMETERS_UNKNOWN, 0)),
    };
    let [weights, gradients, states] = lines;
    let lines = [weights, gradients, states, activations(config, given.activations)];
    let total = lines.iter().fold(0_u64, |sum, line| sum.saturating_add(line.bytes));
    Quick { lines, total }
}

/// One way of loading a model in 16 bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it is called.
    pub name: Text,
    /// What it means.
    pub why: Text,
    /// The bytes of weights.
    pub weights: Line,
}

/// The three things that “load it in FP16” can mean, for a number of parameters: pure 16-bit, autocast over FP32
/// weights, 16-bit weights with an FP32 master copy.
pub fn sixteen_bit(params: u64) -> [Case; 3] {
    let precisions = [
        (Precision::Fp16, text::PURE, text::PURE_WHY),
        (Precision::Fp16Autocast, text::AUTOCAST, text::AUTOCAST_WHY),
        (Precision::Fp16Mixed, text::MASTER, text::MASTER_WHY),
    ];
    precisions.map(|(precision, name, why)| {
        let config = Config { precision, ..Config::default() };
        Case { name, why, weights: weights(&config, params) }
    })
}

/// How a precision stores what is trained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// Everything in 4 bytes.
    Full,
    /// Weights in 4 bytes, computed in 2.
    Autocast,
    /// Everything in 2 bytes.
    Pure,
    /// Weights in 2 bytes and again in 4.
    MasterCopy,
}

const fn storage(precision: Precision) -> Storage {
    match precision {
        Precision::Fp32 => Storage::Full,
        Precision::Bf16Autocast | Precision::Fp16Autocast => Storage::Autocast,
        Precision::Bf16 | Precision::Fp16 => Storage::Pure,
        Precision::Bf16Mixed | Precision::Fp16Mixed | Precision::Fp8Mixed => Storage::MasterCopy,
    }
}

const fn is_frozen(config: &Config) -> bool {
    matches!(config.method, Method::Lora | Method::Qlora)
}

fn weights(config: &Config, params: u64) -> Line {
    let quantized = matches!(config.method, Method::Qlora).then_some(config.quantization);
    let (bytes, note) = match (quantized, storage(config.precision)) {
        (Some(Quantization::Int8), _) => (ONE, Note::Plain(text::WEIGHTS_INT8)),
        (Some(Quantization::Nf4 | Quantization::Nf4Double), _) => (HALF, Note::Plain(text::WEIGHTS_NF4)),
        (_, Storage::Full) => (FOUR, Note::Plain(text::WEIGHTS)),
        (_, Storage::Autocast) => (FOUR, Note::Plain(text::WEIGHTS_AUTOCAST)),
        (_, Storage::Pure) => (TWO, Note::Plain(text::WEIGHTS)),
        // Frozen weights are never stepped, so nobody keeps a master copy of them.
        (_, Storage::MasterCopy) if is_frozen(config) => (TWO, Note::Plain(text::WEIGHTS)),
        (_, Storage::MasterCopy) => {
            let (weights, copy) = (params.saturating_mul(2), params.saturating_mul(4));
            (TWO_AND_MASTER, Note::MasterCopy { weights, copy })
        }
    };
    Line::product(Block::Parameters, note, vec![Factor::Parameters(params), Factor::Bytes(bytes)])
}

fn gradients(config: &Config, params: u64) -> Line {
    let block = Block::Gradients;
    if is_frozen(config) {
        return Line::known(block, text::FROZEN, 0);
    }
    if config.optimizer == Optimizer::Lomo {
        return Line::known(block, text::GRADIENTS_LOMO, 0);
    }
    let (bytes, note) = match (config.grad_dtype, storage(config.precision)) {
        (GradDtype::Fp32, Storage::Pure) => (FOUR, text::GRADIENTS_CHOSEN),
        (GradDtype::Bf16 | GradDtype::Fp16, Storage::Full | Storage::Autocast | Storage::MasterCopy) => {
            (TWO, text::GRADIENTS_CHOSEN)
        }
        (_, Storage::Pure) => (TWO, text::GRADIENTS),
        (_, Storage::MasterCopy) => (FOUR, text::GRADIENTS_MIXED),
        (_, Storage::Full | Storage::Autocast) => (FOUR, text::GRADIENTS),
    };
    Line::product(block, Note::Plain(note), vec![Factor::Parameters(params), Factor::Bytes(bytes)])
}

fn states(config: &Config, params: u64) -> Line {
    let block = Block::Optimizer;
    if is_frozen(config) {
        return Line::known(block, text::FROZEN, 0);
    }
    let (times, note) = match config.optimizer {
        // The article's three.
        Optimizer::Adamw => (2, text::STATES_ADAM),
        Optimizer::SgdMomentum => (1, text::STATES_MOMENTUM),
        Optimizer::Sgd => (0, text::STATES_NONE),
        // What the article leaves out, by what the implementations allocate.
        Optimizer::Adamw8bit | Optimizer::AdamwPaged8bit => {
            let factors = vec![Factor::Parameters(params), Factor::Bytes(TWO_BYTES_AND_SCALES)];
            return Line::product(block, Note::Plain(text::STATES_8BIT), factors);
        }
        Optimizer::Lion => (1, text::STATES_LION),
        Optimizer::Muon => (1, text::STATES_MUON),
        Optimizer::AdamMini => (1, text::STATES_ADAM_MINI),
        Optimizer::Adafactor => (0, text::STATES_ADAFACTOR),
        Optimizer::Galore | Optimizer::Apollo => (2, text::STATES_PROJECTED),
        Optimizer::Lomo => (0, text::STATES_LOMO),
    };
    let bytes = if storage(config.precision) == Storage::Pure { TWO } else { FOUR };
    let mut factors = vec![Factor::Parameters(params), Factor::Bytes(bytes)];
    if times != 1 {
        factors.insert(0, Factor::Number(times));
    }
    Line::product(block, Note::Plain(note), factors)
}

fn activations(config: &Config, typed: Option<u64>) -> Line {
    let block = Block::Activations;
    if let Some(bytes) = typed {
        return Line::known(block, text::ACTIVATIONS_TYPED, bytes);
    }
    let (Some(hidden), Some(layers)) = (
        dimension(config, &["hidden_size", "n_embd", "d_model"]),
        dimension(config, &["num_hidden_layers", "n_layer", "num_layers"]),
    ) else {
        return Line::known(block, text::ACTIVATIONS_UNKNOWN, 0);
    };
    let bytes = if config.precision == Precision::Fp32 { FOUR } else { TWO };
    let factors = vec![
        Factor::Number(hidden),
        Factor::Number(config.seq),
        Factor::Number(config.batch),
        Factor::Number(layers),
        Factor::Bytes(bytes),
    ];
    Line::product(block, Note::Plain(text::ACTIVATIONS), factors)
}

/// A field of the given architecture, else of the chosen preset. A bare parameter count has no shape, so the default
/// preset answers only where no count was given either.
fn dimension(config: &Config, names: &[&str]) -> Option<u64> {
    let given = |fields: &Map<String, Value>| names.iter().find_map(|name| fields.get(*name)?.as_u64());
    given(&config.architecture).or_else(|| {
        let model = match &config.model {
            Some(model) => model,
            None if config.params.is_none() => DEFAULT_MODEL,
            None => return None,
        };
        given(&preset(model)?.config)
    })
}

#[cfg(test)]
mod tests;
