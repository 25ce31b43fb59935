//! Shapes in symbols: one value that is both evaluated and printed, so formula and figure cannot drift apart.

use std::fmt::{self, Write as _};

/// A quantity that shapes are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// Micro-batch (sequences).
    B,
    /// Tokens per sequence.
    S,
    /// Tokens per sequence of the other stack: an encoder–decoder's targets, seen from its encoder.
    T,
    /// Hidden size.
    H,
    /// Query heads.
    A,
    /// Key/value heads.
    K,
    /// Head dimension.
    D,
    /// Feed-forward width.
    F,
    /// Vocabulary.
    V,
    /// Experts.
    E,
    /// Experts per token.
    Top,
    /// Expert width.
    M,
    /// Width of the shared experts together.
    Shared,
    /// Rank of the key/value latent.
    R,
    /// Rank of the query latent.
    Rq,
    /// Head dimension without positions (latent attention).
    Dn,
    /// Head dimension with rotary positions (latent attention).
    Dr,
    /// Head dimension of values (latent attention).
    Dv,
    /// LoRA rank.
    Lora,
    /// Tokens per sequence where sequence parallelism splits them: between the tensor-parallel parts.
    Split,
    /// Copies of tokens that this rank's experts serve in a micro-batch.
    Routed,
    /// Elements of this rank's share of the buffer that the distributed optimizer steps on.
    Share,
    /// The same of the buffer of experts.
    ExpertShare,
}

impl Symbol {
    /// Every symbol, with the letter shown.
    pub const ALL: [Self; 23] = [
        Self::B,
        Self::S,
        Self::T,
        Self::H,
        Self::A,
        Self::K,
        Self::D,
        Self::F,
        Self::V,
        Self::E,
        Self::Top,
        Self::M,
        Self::Shared,
        Self::R,
        Self::Rq,
        Self::Dn,
        Self::Dr,
        Self::Dv,
        Self::Lora,
        Self::Split,
        Self::Routed,
        Self::Share,
        Self::ExpertShare,
    ];

    /// The letter of the formulas.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::B => "b",
            Self::S => "s",
            Self::T => "t",
            Self::H => "h",
            Self::A => "a",
            Self::K => "k",
            Self::D => "d",
            Self::F => "f",
            Self::V => "V",
            Self::E => "E",
            Self::Top => "K",
            Self::M => "m",
            Self::Shared => "fs",
            Self::R => "r",
            Self::Rq => "rq",
            Self::Dn => "dn",
            Self::Dr => "dr",
            Self::Dv => "dv",
            Self::Lora => "R",
            Self::Split => "s′",
            Self::Routed => "n",
            Self::Share => "N",
            Self::ExpertShare => "N′",
        }
    }
}

/// The reader's numbers, one for each [`Symbol`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    numbers: [u64; Symbol::ALL.len()],
    /// Among how many ranks an axis is split, where the symbol stands for one rank's share (0: it does not).
    ranks: [u16; Symbol::ALL.len()],
}

impl Symbols {
    /// The number behind a symbol.
    pub const fn get(&self, symbol: Symbol) -> u64 {
        self.numbers[symbol as usize]
    }

    /// The numbers as the decoder of an encoder–decoder sees them: its own tokens are the targets.
    #[must_use]
    pub const fn exchanged(mut self) -> Self {
        let [s, t] = [Symbol::S as usize, Symbol::T as usize];
        (self.numbers[s], self.numbers[t]) = (self.numbers[t], self.numbers[s]);
        (self.ranks[s], self.ranks[t]) = (self.ranks[t], self.ranks[s]);
        self
    }

    /// Sets the number behind a symbol.
    pub const fn set(&mut self, symbol: Symbol, value: u64) {
        self.numbers[symbol as usize] = value;
    }

    /// Makes a symbol stand for the share of one of `ranks`: at least 1 of what there is.
    pub fn share(&mut self, symbol: Symbol, ranks: u64) {
        let whole = self.get(symbol);
        if ranks > 1 && whole > 0 {
            self.ranks[symbol as usize] = u16::try_from(ranks.min(whole)).unwrap_or(u16::MAX);
            self.set(symbol, whole.div_ceil(ranks));
        }
    }

    /// Among how many ranks the axis behind a symbol is split, where it is.
    pub fn ranks(&self, symbol: Symbol) -> Option<u16> {
        Some(self.ranks[symbol as usize]).filter(|ranks| *ranks > 0)
    }
}

/// Length of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A number.
    Const(u32),
    /// `h`
    Sym(Symbol),
    /// `a·d`
    Mul(Symbol, Symbol),
    /// `2·h`
    Scale(u32, Symbol),
    /// `s + 1`
    Plus(Symbol, u32),
    /// `a + 2·k`
    Lin(Symbol, u32, Symbol),
    /// `s` rounded up to a multiple.
    RoundUp(Symbol, u32),
    /// `d / 2`
    Over(Symbol, u32),
    /// A number of more than 32 bits: so many, doubled so often.
    Large(u32, u8),
}

impl Dim {
    /// A number. Of one that needs more than 32 bits the first 32 are kept, rounded up (flat buffers are that long; they
    /// are multiples of large powers of two).
    pub fn of(number: u64) -> Self {
        u32::try_from(number).map_or_else(
            |_| {
                let doublings = 32 - number.leading_zeros();
                let kept = number.div_ceil(1 << doublings);
                u32::try_from(kept).map_or(Self::Large(1 << 31, 33), |kept| {
                    Self::Large(kept, u8::try_from(doublings).unwrap_or(33))
                })
            },
            Self::Const,
        )
    }

    /// The number of elements along this axis.
    pub const fn value(self, n: &Symbols) -> u64 {
        match self {
            Self::Const(value) => value as u64,
            Self::Sym(a) => n.get(a),
            Self::Mul(a, b) => n.get(a).saturating_mul(n.get(b)),
            Self::Scale(by, a) => (by as u64).saturating_mul(n.get(a)),
            Self::Plus(a, more) => n.get(a).saturating_add(more as u64),
            Self::Lin(a, by, b) => n.get(a).saturating_add((by as u64).saturating_mul(n.get(b))),
            Self::RoundUp(a, to) => n.get(a).div_ceil(to as u64).saturating_mul(to as u64),
            Self::Over(a, by) => n.get(a) / by as u64,
            Self::Large(kept, doublings) => (kept as u64) << doublings,
        }
    }
}

impl Dim {
    /// The same axis named from the other stack.
    const fn exchanged(self) -> Self {
        const fn other(symbol: Symbol) -> Symbol {
            match symbol {
                Symbol::S => Symbol::T,
                Symbol::T => Symbol::S,
                same => same,
            }
        }
        match self {
            Self::Const(value) => Self::Const(value),
            Self::Sym(a) => Self::Sym(other(a)),
            Self::Mul(a, b) => Self::Mul(other(a), other(b)),
            Self::Scale(by, a) => Self::Scale(by, other(a)),
            Self::Plus(a, more) => Self::Plus(other(a), more),
            Self::Lin(a, by, b) => Self::Lin(other(a), by, other(b)),
            Self::RoundUp(a, to) => Self::RoundUp(other(a), to),
            Self::Over(a, by) => Self::Over(other(a), by),
            Self::Large(kept, doublings) => Self::Large(kept, doublings),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Const(value) => write!(f, "{value}"),
            Self::Sym(a) => f.write_str(a.letter()),
            Self::Mul(a, b) => write!(f, "{}·{}", a.letter(), b.letter()),
            Self::Scale(by, a) => write!(f, "{by}{}", a.letter()),
            Self::Plus(a, more) => write!(f, "({}+{more})", a.letter()),
            Self::Lin(a, 1, b) => write!(f, "({}+{})", a.letter(), b.letter()),
            Self::Lin(a, by, b) => write!(f, "({}+{by}{})", a.letter(), b.letter()),
            Self::RoundUp(a, to) => write!(f, "⌈{}⌉{to}", a.letter()),
            Self::Over(a, by) => write!(f, "{}/{by}", a.letter()),
            Self::Large(kept, doublings) => write!(f, "{}", u64::from(kept) << doublings),
        }
    }
}

/// Element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the field's own
pub enum Dtype {
    Fp64,
    Fp32,
    Bf16,
    Fp16,
    Fp8,
    Int64,
    Int32,
    Bool,
    Byte,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp64 | Self::Int64 => 8,
            Self::Fp32 | Self::Int32 => 4,
            Self::Bf16 | Self::Fp16 => 2,
            Self::Fp8 | Self::Bool | Self::Byte => 1,
        }
    }

    /// Short name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Bool => "bool",
            Self::Byte => "uint8",
        }
    }
}

/// Shape of one tensor: at most five axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    dims: [Dim; 5],
    rank: u8,
    /// One value stands for so many elements: the tensor is flat, and as long as their number over this, rounded up.
    over: u16,
    /// One rank's share of so many: of the first axis, or (where one value stands for many elements) of the flat
    /// tensor; rounded up.
    shards: u32,
}

impl Shape {
    /// A shape of at most five axes.
    ///
    /// # Panics
    /// When there are more (shapes are constants of this crate, never input).
    pub const fn new(axes: &[Dim]) -> Self {
        assert!(axes.len() <= 5, "a shape has at most five axes");
        let mut dims = [Dim::Const(1); 5];
        let mut i = 0;
        while i < axes.len() {
            dims[i] = axes[i];
            i += 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "five at most")]
        let rank = axes.len() as u8;
        Self { dims, rank, over: 1, shards: 1 }
    }

    /// A flat tensor with one value for every `block` elements of this shape (statistics of a quantised tensor, or
    /// several of its elements packed into one).
    ///
    /// # Panics
    /// When `block` is 0 (blocks are constants of this crate, never input).
    #[must_use]
    pub const fn per_block(self, block: u16) -> Self {
        assert!(block > 0, "a block has elements");
        Self { over: block, ..self }
    }

    /// A flat tensor of so many elements.
    pub fn flat(elements: u64) -> Self {
        Self::new(&[Dim::of(elements)])
    }

    /// The same shape with nothing split off.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self { shards: 1, ..self }
    }

    /// The share of one of `ranks` that split the first axis among them, rounded up. (A tensor without axes stays
    /// whole.)
    #[must_use]
    pub fn sharded(self, ranks: u64) -> Self {
        let ranks = u32::try_from(ranks.max(1)).unwrap_or(u32::MAX);
        Self { shards: self.shards.saturating_mul(ranks), ..self }
    }

    /// The same shape with another last axis.
    #[must_use]
    pub const fn with_last(mut self, last: Dim) -> Self {
        if self.rank > 0 {
            self.dims[self.rank as usize - 1] = last;
        }
        self
    }

    /// The same shape with another number of tokens (the second axis).
    #[must_use]
    pub const fn with_tokens(mut self, tokens: Dim) -> Self {
        if self.rank > 1 {
            self.dims[1] = tokens;
        }
        self
    }

    /// The same shape with another number of heads (the axis before the last).
    #[must_use]
    pub const fn with_heads(mut self, heads: Dim) -> Self {
        if self.rank > 1 {
            self.dims[self.rank as usize - 2] = heads;
        }
        self
    }

    /// The same shape named from the other stack: what is `s` to a decoder is `t` to its model.
    #[must_use]
    pub(crate) fn exchanged(mut self) -> Self {
        self.dims = self.dims.map(Dim::exchanged);
        self
    }

    /// The axes.
    pub fn dims(&self) -> &[Dim] {
        &self.dims[..self.rank as usize]
    }

    /// Number of elements.
    pub const fn elements(&self, symbols: &Symbols) -> u64 {
        let mut product = 1_u64;
        let mut i = 0;
        while i < self.rank as usize {
            let mut length = self.dims[i].value(symbols);
            if i == 0 && self.over == 1 {
                length = length.div_ceil(self.shards as u64);
            }
            product = product.saturating_mul(length);
            i += 1;
        }
        if self.over == 1 { product } else { product.div_ceil(self.over as u64).div_ceil(self.shards as u64) }
    }

    /// `32 · b·s·h · 2 B`, or with numbers in the symbols' places.
    pub fn formula(&self, count: u64, dtype: Dtype, numbers: Option<&Symbols>) -> String {
        let mut out = String::new();
        if count != 1 {
            let _ = write!(out, "{count} · ");
        }
        let _ = self.write(&mut out, "·", numbers);
        if self.rank > 0 {
            out.push_str(" · ");
        }
        let _ = write!(out, "{} B", dtype.bytes());
        out
    }

    /// The axes with `between` them; what is divided and rounded up stands in brackets.
    fn write(&self, out: &mut impl fmt::Write, between: &str, numbers: Option<&Symbols>) -> fmt::Result {
        let flat = self.over > 1;
        if flat {
            out.write_char('⌈')?;
        }
        for (i, dim) in self.dims().iter().enumerate() {
            if i > 0 {
                out.write_str(between)?;
            }
            let split = i == 0 && !flat && self.shards > 1;
            if split {
                out.write_char('⌈')?;
            }
            match numbers {
                Some(numbers) => write!(out, "{}", dim.value(numbers))?,
                None => write!(out, "{dim}")?,
            }
            if split {
                write!(out, "/{}⌉", self.shards)?;
            }
        }
        match (flat, self.shards) {
            (true, 1) => write!(out, "/{}⌉", self.over),
            (true, shards) => write!(out, "/{}/{shards}⌉", self.over),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        self.write(f, if self.over > 1 { "·" } else { ", " }, None)?;
        f.write_char(']')
    }
}
