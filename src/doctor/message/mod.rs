//! Out-of-memory messages and the logs around them: reading, matching with the ledger, telling.
//!
//! [`read`] understands the text alone. [`diagnose`] says what it means, and, beside a configuration, which of its
//! tensors the failed request was.

mod allocator;
mod candidates;
mod cards;
mod failures;
mod findings;
mod host;
mod json;
mod print;
mod readings;
pub mod say;
mod scan;
mod settings;
mod sheet;
mod torch;
mod traceback;
mod xla;

pub use candidates::{Candidate, Fit};
pub use cards::{Card, cards_of};
pub use findings::{Finding, Lack};
pub use json::json;
pub use print::print;
pub use readings::{Reading, Source};
pub use scan::Amount;
pub use sheet::{Part, sheet};
pub use traceback::{Place, When};

use crate::config::{Config, Key};
use crate::estimate::Estimate;
use crate::ledger::Entry;
use traceback::Traces;

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// PyTorch's allocator on this kind of device.
    Torch(Backend),
    /// The driver refused, and nobody says how much was asked.
    Driver,
    /// A library that brings its own memory (cuBLAS, cuDNN, …).
    Library,
    /// The communication library.
    Nccl,
    /// bitsandbytes' own allocations.
    Bitsandbytes,
    /// MLX on Apple's chips.
    Mlx,
    /// Not the device's memory: what a kernel wants on the chip itself (Triton's “shared memory”).
    OnChip,
    /// XLA on a GPU, as under JAX.
    Xla,
    /// XLA on a TPU.
    Tpu,
    /// `TensorFlow`.
    TensorFlow,
    /// `PaddlePaddle`.
    Paddle,
    /// `MindSpore`.
    MindSpore,
    /// Not the card: the machine's own memory.
    Host(Host),
}

/// Which of PyTorch's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NVIDIA.
    Cuda,
    /// NVIDIA, with the driver's own allocator (`backend:cudaMallocAsync`).
    CudaAsync,
    /// AMD.
    Hip,
    /// Intel.
    Xpu,
    /// Huawei Ascend (`torch_npu`).
    Npu,
    /// Apple.
    Mps,
    /// Another maker's plug-in (`MLU`, `MUSA`, …), which follows CUDA's wording.
    Other,
}

/// How the host's memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A program asked and was refused.
    Refused,
    /// The kernel, a container or the batch system ended the process.
    Killed,
    /// The memory that data loading workers share is too small.
    Shared,
}

/// Another program on the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u64,
    /// What it holds.
    pub bytes: u64,
}

/// One failure, as far as the text tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose message it is.
    pub kind: Kind,
    /// Rank of the process.
    pub rank: Option<u64>,
    /// Number of the device.
    pub device: Option<u64>,
    /// What was asked for, as the allocator asked the device for it.
    pub asked: Option<Amount>,
    /// What tensors hold.
    pub allocated: Option<Amount>,
    /// What the allocator holds, tensors included.
    pub reserved: Option<Amount>,
    /// Of the allocated: in pools that only CUDA graphs may use.
    pub private: Option<Amount>,
    /// Free on the device.
    pub free: Option<Amount>,
    /// The device's memory.
    pub capacity: Option<Amount>,
    /// A limit below the capacity that the program was given.
    pub allowed: Option<Amount>,
    /// What this process holds, context and libraries included.
    pub in_use: Option<Amount>,
    /// Other processes on the device.
    pub others: Vec<Process>,
    /// Shape of the tensor, where it is told.
    pub shape: Option<(Vec<u64>, String)>,
    /// The part of the run that asked.
    pub when: Option<When>,
    /// The line that asked.
    pub place: Option<Place>,
    /// How often the same was said.
    pub times: u64,
}

impl Failure {
    /// A failure of which nothing else is known.
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            rank: None,
            device: None,
            asked: None,
            allocated: None,
            reserved: None,
            private: None,
            free: None,
            capacity: None,
            allowed: None,
            in_use: None,
            others: Vec::new(),
            shape: None,
            when: None,
            place: None,
            times: 1,
        }
    }

    /// How many of its sizes are known: the more, the better it explains.
    fn known(&self) -> usize {
        let sizes = [self.asked, self.allocated, self.reserved, self.free, self.capacity, self.in_use];
        sizes.iter().flatten().count()
    }

    /// It was the device's memory that ran out.
    pub const fn on_card(&self) -> bool {
        !matches!(self.kind, Kind::Host(_) | Kind::OnChip)
    }

    /// What the allocator holds beyond tensors.
    pub fn idle(&self) -> Option<u64> {
        Some(self.reserved?.bytes.saturating_sub(self.allocated?.bytes))
    }
}

/// A buffer of XLA's list of the largest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Buffer {
    /// Its size.
    pub size: Amount,
    /// Element type and axes, as XLA writes them: `f32[4096,128,3]`.
    pub shape: String,
    /// The operator that makes it.
    pub operator: String,
}

/// A setting of the run that the log names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The configuration's key.
    pub key: Key,
    /// Its value, as the configuration takes it.
    pub value: String,
}

/// All that was understood of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// What failed, in the order of the text, each once.
    pub failures: Vec<Failure>,
    /// What frameworks reported on the way.
    pub readings: Vec<Reading>,
    /// Cards, from `nvidia-smi`.
    pub cards: Vec<Card>,
    /// XLA's largest buffers.
    pub buffers: Vec<Buffer>,
    /// Settings that the log names.
    pub settings: Vec<Setting>,
}

/// Longer texts are cut: nobody pastes more, and a browser must not stall.
pub const LONGEST: usize = 8 << 20;

/// Reads a message, a traceback or a whole log.
pub fn read(text: &str) -> Message {
    // The end of a log is where it failed.
    let text = tail(text, LONGEST);
    let text = &scan::plain(text);
    let traces = Traces::of(text);
    let failures = failures::collect(text, &traces);
    let cards = cards::read(text);
    let settings = settings::read(text, &failures, &cards);
    Message { readings: readings::read(text), buffers: xla::buffers(text), failures, cards, settings }
}

fn tail(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

impl Message {
    /// Nothing in the text was understood.
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty()
            && self.readings.is_empty()
            && self.cards.is_empty()
            && self.settings.is_empty()
    }

    /// The failure that explains most: the one with the most sizes; of these, one whose place is known, then the
    /// first.
    pub fn main(&self) -> Option<&Failure> {
        let worth = |failure: &&Failure| (failure.known(), usize::from(failure.when.is_some()));
        self.failures.iter().rev().max_by_key(worth)
    }
}

/// A message, what it means, and which tensor failed to fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// What was understood.
    pub message: Message,
    /// What it means, the most telling first.
    pub findings: Vec<Finding>,
    /// Tensors of the configuration that the failed request may have been, the likeliest first; none without a
    /// configuration.
    pub candidates: Vec<Candidate>,
}

/// A configuration and its answer, to hold a message against.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// What was asked.
    pub config: &'a Config,
    /// The answer.
    pub estimate: &'a Estimate,
    /// Every tensor that a step asks the allocator for ([`crate::estimate::requests`]).
    pub requests: &'a [Entry],
}

/// Says what a message means: alone, or beside a configuration.
pub fn diagnose(message: Message, beside: Option<Beside>) -> Diagnosis {
    let candidates = match (message.main(), beside) {
        (Some(failure), Some(beside)) if failure.on_card() => candidates::find(failure, beside),
        _ => Vec::new(),
    };
    let findings = findings::of(&message, beside);
    Diagnosis { message, findings, candidates }
}
