//! What stands around the layers: embeddings before them, a head after them, a second stack beside them.

use super::{Layer, Linear, Norm, Param, RotaryTables};

/// What a vision model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Colour channels.
    pub channels: u64,
    /// Height and width in pixels.
    pub side: u64,
    /// Patches and class tokens.
    pub tokens: u64,
}

/// What makes the residual stream out of the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedding {
    /// Learned tables: tokens first, then positions and token types, where there are any.
    pub tables: Vec<Param>,
    /// Other parameters: patches, class tokens, projections.
    pub other: Vec<Param>,
    /// Norm of the sum.
    pub norm: Option<Norm>,
    /// Dropout probability of the result.
    pub dropout: f64,
    /// It is multiplied by a number that is kept in a buffer.
    pub scaled: bool,
    /// It reads images (their size in bytes is `channels · side²` elements) and makes so many tokens of each, whatever
    /// `seq` says.
    pub image: Option<Image>,
    /// Positions are looked up for every row of the batch (else once for all).
    pub positions_by_row: bool,
    /// Pairs of rotary tables that are made beside it.
    pub rotary_tables: u64,
    /// What they are.
    pub rotary_kind: RotaryTables,
    /// Positions of a table of sines and cosines that is kept in a buffer, in place of frequencies.
    pub rotary_rows: u64,
}

impl Embedding {
    /// Calls `each` with its parameters.
    pub fn params(&self, each: &mut dyn FnMut(Param)) {
        self.tables.iter().chain(&self.other).copied().for_each(&mut *each);
        self.norm.iter().for_each(|norm| norm.params(each));
    }
}

/// A row of layers beside the main one: the encoder of an encoder–decoder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    /// What it reads.
    pub embedding: Embedding,
    /// The distinct layers.
    pub kinds: Vec<Layer>,
    /// For each layer from the first to the last, its index in `kinds`.
    pub order: Vec<u8>,
    /// The norm after the last layer.
    pub final_norm: Option<Norm>,
    /// Dropout probability of what either stack puts out.
    pub dropout: f64,
    /// The decoder's output is multiplied by a number before the head reads it.
    pub scaled_head: bool,
}

/// What the last layer's output is turned into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output {
    /// Nothing: the bare model.
    None,
    /// Scores over the vocabulary; the weight is the input embedding's where the model is tied.
    Tokens(Linear),
    /// Scores over classes, of one vector a sequence.
    Classes(Linear),
    /// The same, of the first token's vector as a pooler makes it.
    Pooled(Pooler, Linear),
}

/// `tanh(dense(x))` of one vector a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooler {
    /// The linear.
    pub dense: Linear,
    /// Dropout probability before the linear, and after the tanh.
    pub dropout: [f64; 2],
}

/// Everything after the last layer and its norm.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Linear, activation and norm before the output (masked language models).
    pub transform: Option<(Linear, Norm)>,
    /// The output.
    pub output: Output,
    /// Other parameters, e.g. a pooler's.
    pub other: Vec<Param>,
}

impl Head {
    /// A head that is its output alone.
    pub const fn plain(output: Output) -> Self {
        Self { transform: None, output, other: Vec::new() }
    }

    /// Calls `each` with its parameters; a tied output weight is the embedding's.
    pub fn params(&self, tied: bool, each: &mut dyn FnMut(Param)) {
        if let Some((dense, norm)) = &self.transform {
            dense.params(each);
            norm.params(each);
        }
        match self.output {
            Output::Tokens(Linear { bias, .. }) if tied => bias.into_iter().for_each(&mut *each),
            Output::Tokens(linear) | Output::Classes(linear) => linear.params(each),
            Output::Pooled(pooler, linear) => {
                linear.params(each);
                pooler.dense.params(each);
            }
            Output::None => {}
        }
        self.other.iter().copied().for_each(each);
    }
}
