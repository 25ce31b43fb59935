//! Which tensor of a configuration the failed request was.

use super::allocator::Rounding;
use super::traceback::modules;
use super::{Amount, Beside, Failure, When};
use crate::estimate::estimate;
use crate::ledger::{Block, Dtype, Entry, Phase, Symbol, Symbols, Tensor};

/// How a tensor's size meets the request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// At the configuration's own sizes.
    Same,
    /// In another element type than the configuration's.
    As(Dtype),
    /// At another micro-batch.
    Batch(u64),
    /// At another number of tokens: the least and the most that print so.
    Seq(u64, u64),
}

/// A tensor that the failed request may have been.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What it is; `count` is how many of it one step asks for, `from` when.
    pub entry: Entry,
    /// Bytes of one.
    pub bytes: u64,
    /// How its size meets the request's.
    pub fit: Fit,
    /// The numbers behind its formula, `fit` taken into account.
    pub symbols: Symbols,
    /// It is asked for in the part of the run where it failed; `None`: not known where.
    pub in_time: Option<bool>,
    /// The line that failed names its module.
    pub named: bool,
    /// Modules that ask for a tensor of the same kind and shape in the same phase.
    pub alike: Vec<&'static str>,
    /// Requests of many sizes print the same.
    pub vague: bool,
    /// How many times the configuration's own size was doubled, or halved, to meet the request's.
    pub doublings: u32,
}

/// Candidates that are told.
const MOST: usize = 8;
/// Micro-batches that are tried.
const BATCHES: u64 = 4096;
/// The longest sequence that is tried.
const LONGEST: u64 = 1 << 22;
/// Whoever names a run errs in its batch or length by fewer doublings than this.
const FAR: u32 = 7;

/// The tensors that the request may have been, the likeliest first.
pub(super) fn find(failure: &Failure, beside: Beside) -> Vec<Candidate> {
    let Some(asked) = failure.asked.filter(|asked| asked.bytes > 0) else { return Vec::new() };
    let rounding = Rounding::of(failure, asked);
    let request = Request { failure, asked, rounding, symbols: &beside.estimate.symbols };
    let mut all: Vec<Candidate> = Vec::new();
    for candidate in beside.requests.iter().filter_map(|entry| request.of(entry)) {
        match all.iter_mut().find(|known| known.says(&candidate)) {
            Some(known) => known.join(candidate),
            None => all.push(candidate),
        }
    }
    // A tensor of another size than the configuration's has at least to be one that was due.
    all.retain(|candidate| {
        candidate.fit == Fit::Same
            || candidate.in_time != Some(false) && reachable(failure, beside, candidate)
    });
    all.sort_by_key(|candidate| std::cmp::Reverse(candidate.score()));
    // Where the configuration itself explains the request, other sizes are no explanation.
    if all.first().is_some_and(|first| first.fit == Fit::Same && first.in_time != Some(false)) {
        all.retain(|candidate| candidate.fit == Fit::Same);
    }
    all.truncate(MOST);
    all
}

impl Candidate {
    /// How likely, against others: larger is likelier. The size comes first, then the place, then the time.
    pub fn score(&self) -> u32 {
        let fit = match self.fit {
            Fit::Same => 100,
            Fit::As(_) => 60,
            // Few who change a batch choose an odd one.
            Fit::Batch(batch) => {
                50 + if batch.is_power_of_two() { 12 } else { u32::from(batch % 2 == 0) * 4 }
            }
            Fit::Seq(low, high) => 30 + round_in(low, high).trailing_zeros().min(12),
        };
        let time = match self.in_time {
            Some(true) => 30,
            None => 15,
            Some(false) => 0,
        };
        let vague = if self.vague { 0 } else { 10 };
        let named = if self.named { 25 } else { 0 };
        (fit + time + vague + named).saturating_sub(self.doublings.min(20))
    }

    /// Whether two say the same to a reader, but for the module: a tensor of one kind, size and time.
    fn says(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.entry.from, it.entry.dtype, it.bytes, it.fit, it.entry.block);
        std::ptr::eq(self.entry.tensor, other.entry.tensor) && of(self) == of(other)
    }

    /// Takes in another that says the same; the one whose module the traceback names stands for both.
    fn join(&mut self, mut other: Self) {
        if other.named && !self.named {
            std::mem::swap(self, &mut other);
            self.alike.append(&mut other.alike);
        }
        self.entry.count = self.entry.count.saturating_add(other.entry.count);
        if other.entry.module != self.entry.module && !self.alike.contains(&other.entry.module) {
            self.alike.push(other.entry.module);
        }
    }

    /// The kind of tensor.
    pub fn tensor(&self) -> &'static Tensor {
        self.entry.tensor
    }
}

/// Whether a run of these sizes gets as far as to ask for the tensor: all that its step holds before that part must
/// fit the card. (In the first step there are no optimizer states yet.)
fn reachable(failure: &Failure, beside: Beside, candidate: &Candidate) -> bool {
    let mut config = beside.config.clone();
    match candidate.fit {
        Fit::Same | Fit::As(_) => return true,
        Fit::Batch(_) | Fit::Seq(..) if candidate.doublings >= FAR => return false,
        Fit::Batch(batch) => config.batch = batch,
        Fit::Seq(low, high) => config.seq = round_in(low, high),
    }
    let Ok(answer) = estimate(&config) else { return false };
    let capacity = failure.capacity.map_or(beside.estimate.fits.capacity, |capacity| capacity.bytes);
    let before = answer.timeline.iter().filter(|instant| instant.moment.phase < candidate.entry.from);
    let mut held = before.map(|instant| instant.live.sum() - instant.live.get(Block::Optimizer));
    held.all(|held| held <= capacity)
}

/// The roundest number from `low` to `high`: the multiple of the highest power of two.
pub(super) fn round_in(low: u64, high: u64) -> u64 {
    let mut best = low;
    for power in (0..22).rev() {
        let step = 1_u64 << power;
        let candidate = low.div_ceil(step).saturating_mul(step);
        if candidate <= high {
            best = candidate;
            break;
        }
    }
    best
}

/// What was asked, beside what it is held against.
struct Request<'a> {
    failure: &'a Failure,
    asked: Amount,
    rounding: Rounding,
    symbols: &'a Symbols,
}

impl Request<'_> {
    fn of(&self, entry: &Entry) -> Option<Candidate> {
        let each = entry.bytes / entry.count.max(1);
        let fit = if self.prints(each) { Fit::Same } else { self.other_sizes(entry)? };
        let mut symbols = *self.symbols;
        match fit {
            Fit::Same | Fit::As(_) => {}
            Fit::Batch(batch) => symbols.set(Symbol::B, batch),
            Fit::Seq(low, high) => symbols.set(Symbol::S, round_in(low, high)),
        }
        let mut entry = entry.clone();
        if let Fit::As(dtype) = fit {
            entry.dtype = dtype;
        }
        let bytes = if fit == Fit::Same { each } else { size(&entry, &symbols) };
        Some(Candidate {
            bytes,
            fit,
            symbols,
            in_time: self.failure.when.map(|when| in_time(when, &entry)),
            named: self.names(&entry),
            alike: Vec::new(),
            vague: self.rounding.is_vague(self.asked),
            entry,
            doublings: (each.max(bytes) / each.min(bytes).max(1)).checked_ilog2().unwrap_or_default(),
        })
    }

    fn prints(&self, bytes: u64) -> bool {
        self.rounding.prints(bytes, self.asked)
    }

    /// The other element type, micro-batch or lengths at which this tensor prints as what was asked. (A request that
    /// many sizes print as is no reason to look for other sizes.)
    fn other_sizes(&self, entry: &Entry) -> Option<Fit> {
        if self.rounding.is_vague(self.asked) {
            return None;
        }
        let at = |symbol, value| {
            let mut symbols = *self.symbols;
            symbols.set(symbol, value);
            size(entry, &symbols)
        };
        let own = size(entry, self.symbols);
        // Weights, gradients and states come in types that the program chooses; activations follow the weights.
        if entry.from == Phase::Always || entry.block == Block::Gradients {
            let elements = entry.shape.elements(self.symbols);
            let types = [Dtype::Fp32, if entry.dtype == Dtype::Fp16 { Dtype::Fp16 } else { Dtype::Bf16 }];
            let mut others = types.into_iter().filter(|dtype| dtype.bytes() != entry.dtype.bytes());
            let prints = |dtype: &Dtype| self.prints(elements.saturating_mul(dtype.bytes()));
            if entry.dtype.bytes() > 1
                && let Some(dtype) = others.find(prints)
            {
                return Some(Fit::As(dtype));
            }
        }
        // Sizes that are no formula of their own (paddings, remainders) are not solved for.
        if own != entry.bytes / entry.count.max(1) {
            return None;
        }
        let depends = |symbol| at(symbol, self.symbols.get(symbol).saturating_mul(2)) != own;
        if depends(Symbol::B)
            && let Some((low, high)) = self.solve(BATCHES, |batch| at(Symbol::B, batch))
            && low == high
        {
            return Some(Fit::Batch(low));
        }
        if depends(Symbol::S)
            && let Some((low, high)) = self.solve(LONGEST, |seq| at(Symbol::S, seq))
            // A thousand lengths that all fit are no answer.
            && high - low <= low / 64
        {
            return Some(Fit::Seq(low, high));
        }
        None
    }

    /// The least and the most of `1..=most` at which a size that never falls prints as what was asked.
    fn solve(&self, most: u64, at: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        let first = first_where(most, |value| self.rounding.ask(at(value)) >= self.asked.low());
        let past = first_where(most, |value| self.rounding.ask(at(value)) > self.asked.high());
        (first < past && self.prints(at(first))).then(|| (first, past - 1))
    }

    /// Whether the line that failed names the tensor's module.
    fn names(&self, entry: &Entry) -> bool {
        let Some(place) = &self.failure.place else { return false };
        // Whoever computes the loss has the logits already.
        if self.failure.when == Some(When::Loss) && entry.module == "loss" {
            return !place.code.contains("lm_head");
        }
        let own =
            entry.module.rsplit('.').find(|word| *word != "weight" && *word != "bias").unwrap_or_default();
        !own.is_empty() && modules(&place.code).any(|module| module == own)
    }
}

/// The least of `1..=most` (else the next) from which a condition holds that, once it holds, goes on holding.
fn first_where(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (1, most + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

fn size(entry: &Entry, symbols: &Symbols) -> u64 {
    entry.shape.elements(symbols).saturating_mul(entry.dtype.bytes())
}

/// Whether a tensor is asked for in this part of the run.
fn in_time(when: When, entry: &Entry) -> bool {
    let lasting = entry.from == Phase::Always;
    // What engines make around each layer is asked for again and again while its row lives; all else when it is born.
    let until = if entry.block == Block::Overhead { entry.until } else { entry.from };
    let within = |first: Phase, last: Phase| !lasting && entry.from <= last && until >= first;
    match when {
        When::Loading => lasting && entry.block == Block::Parameters,
        // Wrappers make copies and buffers of the weights' sizes.
        When::Setup => lasting,
        When::Forward | When::Evaluation => {
            within(Phase::Embedding, Phase::Loss) || lasting && entry.block == Block::Overhead
        }
        When::Loss => within(Phase::Loss, Phase::Loss),
        When::Backward => within(Phase::LossBackward, Phase::EmbeddingBackward),
        // States are made in the first step.
        When::Step => {
            within(Phase::Optimizer, Phase::Optimizer) || lasting && entry.block == Block::Optimizer
        }
        When::Saving => false,
    }
}
