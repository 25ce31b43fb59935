//! Who splits what: how many ranks share the model along each axis, and which layers a pipeline stage holds.

use super::schedule::{self, Turn};
use super::{Symbol, Symbols};
use crate::architecture::Architecture;
use crate::config::{Config, Problem, ProblemKind, Stack};
use crate::text::layout as words;
use std::ops::Range;

/// Degrees of parallelism, each at least 1, and the stages of the pipeline.
///
/// Ranks are numbered tensor parallel first, then context, data, pipeline (Megatron, `parallel_state.py`, order
/// `tp-cp-ep-dp-pp`). Experts divide the same ranks of a stage anew: by `etp · ep`, and what is left is their own data
/// parallel group.
#[derive(Clone, Debug)]
#[allow(dead_code)] // the degrees are read by whoever splits along them
pub(crate) struct Layout {
    pub(crate) tp: u64,
    /// The parts between tensor-parallel ones are split along the sequence.
    pub(crate) sp: bool,
    pub(crate) pp: u64,
    pub(crate) vpp: u64,
    pub(crate) cp: u64,
    pub(crate) ep: u64,
    pub(crate) etp: u64,
    /// Replicas of everything but the experts, context-parallel ranks not counted.
    pub(crate) dp: u64,
    /// Ranks that share the states of everything but the experts under a sharded optimizer: `dp · cp`.
    pub(crate) dp_cp: u64,
    /// Replicas of the experts.
    pub(crate) expert_dp: u64,
    /// From the first stage to the last.
    pub(crate) stages: Vec<Stage>,
    pub(crate) problems: Vec<Problem>,
}

/// One stage of the pipeline: one rank of it holds these parts.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// Its number, from 0.
    pub(crate) rank: u64,
    /// One chunk, or one for each virtual stage.
    pub(crate) chunks: Vec<Chunk>,
    /// What waits while a chunk runs.
    pub(crate) turns: Vec<Turn>,
}

/// A part of the model that runs without a break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Positions of its layers in the model.
    pub(crate) layers: Range<usize>,
    /// The embedding runs before them.
    pub(crate) embedding: bool,
    /// Norm, head and loss run after them.
    pub(crate) loss: bool,
}

impl Stage {
    /// Whether it holds the embedding's table.
    pub(crate) fn embeds(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.embedding)
    }

    /// Whether it holds final norm and head.
    pub(crate) fn ends(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.loss)
    }

    /// Forward passes of a chunk that wait for their backward at most, the running one counted.
    pub(crate) fn in_flight(&self) -> u64 {
        let passes = self.turns.iter().map(|turn| turn.waiting.iter().sum::<u64>().saturating_add(1));
        passes.max().unwrap_or(1)
    }

    /// Positions of all its layers.
    pub(crate) fn layers(&self) -> impl Iterator<Item = usize> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.layers.clone())
    }
}

impl Layout {
    /// The layout of a configuration. Degrees that do not fit together are [`Config::checked`]'s matter; here nothing
    /// is refused, and what cannot be split evenly is rounded up.
    pub(crate) fn of(model: &Architecture, config: &Config) -> Self {
        let positive = |degree: u64| degree.max(1);
        let [tp, cp, ep, etp] = [config.tp, config.cp, config.ep, config.etp].map(positive);
        let layers = (model.layers() as u64).max(1);
        let pp = config.pp.clamp(1, layers);
        let vpp = if pp == 1 { 1 } else { config.vpp.clamp(1, layers) };
        let gpus = positive(config.gpus);
        let dp = positive(gpus / tp.saturating_mul(pp).saturating_mul(cp));
        let expert_dp = positive(gpus / etp.saturating_mul(ep).saturating_mul(pp));
        let mut problems = Vec::new();
        let sizes = sizes(model.layers() as u64, pp, config, &mut problems);
        let stages = (0..pp)
            .map(|rank| Stage {
                rank,
                chunks: chunks(rank, &sizes, vpp, model.layers()),
                turns: schedule::turns(config.schedule, rank, pp, vpp, config.accumulation),
            })
            .collect();
        Self {
            tp,
            sp: config.sp && tp > 1,
            pp,
            vpp,
            cp,
            ep,
            etp,
            dp,
            dp_cp: dp.saturating_mul(cp),
            expert_dp,
            stages,
            problems,
        }
    }

    /// One rank's numbers: what a letter stands for is its share of that axis.
    pub(crate) fn symbols(&self, model: &Architecture, config: &Config) -> Symbols {
        let mut numbers = model.symbols;
        numbers.set(Symbol::B, config.batch);
        // An image makes its own number of tokens.
        numbers.set(Symbol::S, model.embedding.image.map_or(config.seq, |image| image.tokens));
        if model.encoder.is_some() {
            numbers.set(Symbol::T, target_length(config));
        }
        numbers.share(Symbol::S, self.cp);
        numbers.share(Symbol::T, self.cp);
        if let Some(padded) = padded_vocabulary(model, config, self.tp) {
            numbers.set(Symbol::V, padded);
        }
        for symbol in [Symbol::A, Symbol::K, Symbol::F, Symbol::V, Symbol::Shared] {
            numbers.share(symbol, self.tp);
        }
        numbers.share(Symbol::E, self.ep);
        numbers.share(Symbol::M, self.etp);
        if self.tp > 1 || config.stack != Stack::Transformers {
            numbers.set(Symbol::Split, numbers.get(Symbol::S));
            if self.sp {
                numbers.share(Symbol::Split, self.tp);
            }
        }
        numbers
    }

    /// For each layer of the model its place among those of its chunk.
    pub(crate) fn places(&self, layers: usize) -> Vec<usize> {
        let mut places = vec![0; layers];
        for chunk in self.stages.iter().flat_map(|stage| &stage.chunks) {
            for (place, layer) in chunk.layers.clone().enumerate() {
                if let Some(slot) = places.get_mut(layer) {
                    *slot = place;
                }
            }
        }
        places
    }
}

/// Tokens of a target sequence. T5's own pretraining pairs 512 tokens with 114 (Raffel et al. 2020, section 3.1.4):
/// about a quarter.
fn target_length(config: &Config) -> u64 {
    let given = config.advanced.get("max_target_length").and_then(serde_json::Value::as_u64);
    given.unwrap_or((config.seq / 4).max(1))
}

/// The vocabulary with the rows that make it divide: as given, or as Megatron pads it (`--make-vocab-size-divisible-by`
/// 128, times tp: `megatron/training/tokenizer/tokenizer.py`, `_vocab_size_with_padding`).
fn padded_vocabulary(model: &Architecture, config: &Config, tp: u64) -> Option<u64> {
    const MULTIPLE: u64 = 128;
    let own = model.size(Symbol::V);
    let given = config.advanced.get("padded_vocab_size").and_then(serde_json::Value::as_u64);
    match given {
        Some(given) => Some(given.max(own)),
        None if config.stack == Stack::MegatronCore && own > 0 => {
            let multiple = MULTIPLE.saturating_mul(tp);
            Some(own.div_ceil(multiple).saturating_mul(multiple))
        }
        None => None,
    }
}

/// How many layers each stage has: as many as all others, unless the first or the last has a number of its own
/// (Megatron, `transformer_block.py`, `get_num_layers_to_build`). What does not divide goes to the first stages.
fn sizes(layers: u64, pp: u64, config: &Config, problems: &mut Vec<Problem>) -> Vec<u64> {
    let given = |key: &str| {
        let given = config.advanced.get(key).and_then(serde_json::Value::as_u64);
        given.filter(|_| pp > 1)
    };
    let (first, last) =
        (given("decoder_first_pipeline_num_layers"), given("decoder_last_pipeline_num_layers"));
    let (first, last) = (first.map(|n| n.min(layers)), last.map(|n| n.min(layers)));
    let left = layers.saturating_sub(first.unwrap_or(0)).saturating_sub(last.unwrap_or(0));
    let inner = pp - u64::from(first.is_some()) - u64::from(last.is_some());
    let (each, more) = (left.checked_div(inner).unwrap_or(0), left.checked_rem(inner).unwrap_or(left));
    if more > 0 {
        problems.push(Problem {
            key: "pp".to_owned(),
            value: pp.to_string(),
            kind: ProblemKind::Fact {
                rule: words::LAYERS_DO_NOT_DIVIDE,
                values: Box::new([("layers", left.to_string()), ("stages", inner.to_string())]),
            },
        });
    }
    let mut shares: Vec<u64> = (0..inner).map(|i| each + u64::from(i < more)).collect();
    if let Some(first) = first {
        shares.insert(0, first);
    }
    // With two stages of given sizes the last takes what is left.
    shares.extend(last.map(|last| if inner == 0 { last + more } else { last }));
    shares
}

/// The chunks of a stage. Virtual stages go around the pipeline: each rank's first chunk, then each rank's second one.
fn chunks(rank: u64, sizes: &[u64], vpp: u64, layers: usize) -> Vec<Chunk> {
    let stages = sizes.len() as u64;
    // Chunk c of a stage of n layers: n/v, and one more for the first n mod v.
    let of = |stage: u64, chunk: u64| {
        let size = usize::try_from(stage).ok().and_then(|stage| sizes.get(stage)).copied().unwrap_or(0);
        size / vpp + u64::from(chunk < size % vpp)
    };
    let mut out = Vec::new();
    let mut start = 0;
    for chunk in 0..vpp {
        for stage in 0..stages {
            let end = start + of(stage, chunk);
            if stage == rank {
                let place = |n: u64| usize::try_from(n).unwrap_or(layers).min(layers);
                out.push(Chunk {
                    layers: place(start)..place(end),
                    embedding: chunk == 0 && stage == 0,
                    loss: chunk + 1 == vpp && stage + 1 == stages,
                });
            }
            start = end;
        }
    }
    out
}
