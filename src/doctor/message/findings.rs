//! What a message means, in numbers: what is short, what lies idle, who else holds memory.

use super::{Backend, Beside, Failure, Host, Kind, Message, Process, When, cards_of};
use crate::estimate::Estimate;
use crate::timeline::Phase;

/// How much is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Less than a hundredth of the card.
    Little,
    /// More.
    Much,
}

/// One thing that a message means (sizes in bytes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It was the host's memory.
    Host(Host),
    /// It was a kernel's memory on the chip.
    OnChip,
    /// Nobody says how much was asked, and where may be wrong: the driver reports late.
    NoNumbers(Kind),
    /// One request is larger than the whole card.
    LargerThanCard {
        /// What was asked.
        asked: u64,
        /// The card.
        capacity: u64,
    },
    /// Asked for more than is free.
    Short {
        /// What was asked.
        asked: u64,
        /// What was free.
        free: u64,
        /// Little or much.
        lack: Lack,
    },
    /// More was free than was asked for, and it was refused nevertheless.
    Refused {
        /// What was asked.
        asked: u64,
        /// What was free.
        free: u64,
    },
    /// The process may not use the whole card.
    Limited {
        /// Its limit.
        allowed: u64,
    },
    /// The allocator holds memory that no tensor uses; `enough`: more than was asked for, so it is in pieces.
    Fragmented {
        /// Held, not used.
        idle: u64,
        /// What was asked.
        asked: u64,
        /// It would have sufficed.
        enough: bool,
    },
    /// CUDA graphs keep memory to themselves.
    Graphs {
        /// How much.
        private: u64,
    },
    /// Other processes are on the card.
    Shared {
        /// What they hold together.
        bytes: u64,
        /// Each.
        processes: Vec<Process>,
    },
    /// Nobody named holds this much of the card: other processes, or this one beside its allocator.
    Unaccounted {
        /// How much.
        bytes: u64,
    },
    /// This process holds so much beside its allocator: context, NCCL, libraries.
    Outside {
        /// How much.
        bytes: u64,
    },
    /// More is allocated than the card has: the driver moved some to the host's memory.
    Spilled {
        /// What is allocated.
        allocated: u64,
        /// The card.
        capacity: u64,
    },
    /// It failed before training began.
    WhileLoading,
    /// It failed in evaluation: the estimate is of a training step.
    InEvaluation,
    /// It failed in the first optimizer step, where states are made.
    FirstStep,
    /// Several ranks failed.
    Ranks(Vec<u64>),
    /// The configuration is for another card than the message's.
    OtherCard {
        /// The message's card.
        theirs: u64,
        /// The configuration's.
        ours: u64,
    },
    /// The run holds more than the configuration explains.
    MoreThanEstimated {
        /// What tensors held and what was asked, together.
        held: u64,
        /// The estimate's peak by the same counter.
        peak: u64,
    },
    /// The configuration fits the card: the failure has another reason.
    ShouldFit {
        /// The estimate's expected total on the device.
        device: u64,
        /// The card.
        capacity: u64,
    },
    /// The configuration does not fit the card; `later`: its peak comes after the part of the run that failed, so that
    /// making room for this request is not enough.
    Explained {
        /// What tensors held and what was asked, together.
        held: u64,
        /// The estimate's peak by the same counter.
        peak: u64,
        /// The peak is still to come.
        later: bool,
    },
}

impl Finding {
    /// The report's name of it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Host(_) => "host",
            Self::OnChip => "on_chip",
            Self::NoNumbers(_) => "no_numbers",
            Self::LargerThanCard { .. } => "larger_than_card",
            Self::Short { .. } => "short",
            Self::Refused { .. } => "refused",
            Self::Limited { .. } => "limited",
            Self::Fragmented { .. } => "fragmented",
            Self::Graphs { .. } => "graphs",
            Self::Shared { .. } => "shared",
            Self::Unaccounted { .. } => "unaccounted",
            Self::Outside { .. } => "outside",
            Self::Spilled { .. } => "spilled",
            Self::WhileLoading => "while_loading",
            Self::InEvaluation => "in_evaluation",
            Self::FirstStep => "first_step",
            Self::Ranks(_) => "ranks",
            Self::OtherCard { .. } => "other_card",
            Self::MoreThanEstimated { .. } => "more_than_estimated",
            Self::ShouldFit { .. } => "should_fit",
            Self::Explained { .. } => "explained",
        }
    }
}

/// What is outside the allocator on a card that runs one program: the upper end of the device band
/// (`estimate::totals`). What is above it has another reason.
const USUAL_OUTSIDE: u64 = 1_000_000_000;

/// Less than this is nobody's problem (bytes).
const WORTH_A_WORD: u64 = 1 << 28;

/// Everything that a message means; the most telling first.
pub(super) fn of(message: &Message, beside: Option<Beside>) -> Vec<Finding> {
    let mut all = Vec::new();
    let Some(failure) = message.main() else { return all };
    if let Kind::Host(host) = failure.kind {
        all.push(Finding::Host(host));
        return all;
    }
    if failure.kind == Kind::OnChip {
        all.push(Finding::OnChip);
        return all;
    }
    alone(failure, &mut all);
    others(failure, message, &mut all);
    in_time(failure, &mut all);
    let mut ranks: Vec<u64> = message.failures.iter().filter_map(|failure| failure.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.len() > 1 {
        all.push(Finding::Ranks(ranks));
    }
    // A host failure beside the card's is another problem, and worth a word.
    let hosts = message.failures.iter().filter_map(|failure| match failure.kind {
        Kind::Host(host @ (Host::Refused | Host::Shared)) => Some(host),
        _ => None,
    });
    all.extend(hosts.take(1).map(Finding::Host));
    if let Some(beside) = beside {
        compared(failure, beside.estimate, &mut all);
    }
    all
}

/// What the numbers of one failure say by themselves.
fn alone(failure: &Failure, all: &mut Vec<Finding>) {
    let bytes = |amount: Option<super::Amount>| amount.map(|amount| amount.bytes);
    let (asked, free, capacity) = (bytes(failure.asked), bytes(failure.free), bytes(failure.capacity));
    if asked.is_none() {
        all.push(Finding::NoNumbers(failure.kind));
    }
    let whole = matches!((asked, capacity), (Some(asked), Some(capacity)) if asked > capacity);
    if let (Some(asked), Some(capacity)) = (asked, capacity)
        && whole
    {
        all.push(Finding::LargerThanCard { asked, capacity });
    }
    let allocated = bytes(failure.allocated);
    if let (Some(allocated), Some(capacity)) = (allocated, capacity)
        && allocated > capacity
    {
        all.push(Finding::Spilled { allocated, capacity });
    }
    let limited = failure.allowed.filter(|allowed| capacity.is_none_or(|capacity| allowed.bytes < capacity));
    if let Some(allowed) = limited {
        all.push(Finding::Limited { allowed: allowed.bytes });
    }
    if let (Some(idle), Some(asked)) = (failure.idle(), asked) {
        let enough = idle >= asked;
        // A tenth of what is held lies idle in ordinary runs (415 runs of the allocator: 4 % at the median, 17 % at
        // the 95th percentile).
        let much = allocated.is_some_and(|allocated| idle > allocated / 100 * 17);
        if enough || much && idle > WORTH_A_WORD {
            all.push(Finding::Fragmented { idle, asked, enough });
        }
    }
    if let (Some(asked), Some(free)) = (asked, free)
        && !whole
    {
        if asked > free {
            let little = capacity.is_some_and(|capacity| asked - free < capacity / 100);
            let lack = if little { Lack::Little } else { Lack::Much };
            all.push(Finding::Short { asked, free, lack });
        } else if limited.is_none() {
            all.push(Finding::Refused { asked, free });
        }
    }
    if let Some(private) = failure.private.filter(|private| private.bytes > WORTH_A_WORD) {
        all.push(Finding::Graphs { private: private.bytes });
    }
}

/// Who else holds the card's memory.
fn others(failure: &Failure, message: &Message, all: &mut Vec<Finding>) {
    let bytes = failure.others.iter().fold(0_u64, |sum, process| sum.saturating_add(process.bytes));
    let known = bytes > 0;
    if bytes > WORTH_A_WORD {
        all.push(Finding::Shared { bytes, processes: failure.others.clone() });
    }
    if let (Some(in_use), Some(reserved)) = (failure.in_use, failure.reserved) {
        let outside = in_use.bytes.saturating_sub(reserved.bytes);
        if outside > USUAL_OUTSIDE && failure.kind != Kind::Torch(Backend::Mps) {
            all.push(Finding::Outside { bytes: outside });
        }
        return;
    }
    let listed = |card: &&super::Card| Some(card.index) == failure.device && card.processes.len() > 1;
    if let Some(card) = message.cards.iter().find(listed).filter(|_| !known) {
        let mut processes = card.processes.clone();
        processes.sort_by_key(|process| std::cmp::Reverse(process.bytes));
        // The largest is taken for the one that failed.
        let others = processes.split_off(1);
        let bytes = others.iter().fold(0_u64, |sum, process| sum.saturating_add(process.bytes));
        all.push(Finding::Shared { bytes, processes: others });
        return;
    }
    if let (Some(capacity), Some(free), Some(reserved)) = (failure.capacity, failure.free, failure.reserved) {
        let bytes = capacity.bytes.saturating_sub(free.bytes).saturating_sub(reserved.bytes);
        if bytes > USUAL_OUTSIDE && !known {
            all.push(Finding::Unaccounted { bytes });
        }
    }
}

/// What the part of the run says.
fn in_time(failure: &Failure, all: &mut Vec<Finding>) {
    match failure.when {
        Some(When::Loading | When::Setup) => all.push(Finding::WhileLoading),
        Some(When::Evaluation) => all.push(Finding::InEvaluation),
        Some(When::Step) => all.push(Finding::FirstStep),
        _ => {}
    }
}

/// The message against the estimate.
fn compared(failure: &Failure, estimate: &Estimate, all: &mut Vec<Finding>) {
    let ours = estimate.fits.capacity;
    let theirs = failure.capacity.map_or(ours, |capacity| {
        // A driver reports a little less than the catalogue has: cards are compared by the catalogue.
        cards_of(capacity).first().map_or(capacity.bytes, |card| card.usable())
    });
    if theirs.abs_diff(ours) > ours / 20 {
        all.push(Finding::OtherCard { theirs, ours });
    }
    let training =
        !matches!(failure.when, Some(When::Loading | When::Setup | When::Evaluation | When::Saving));
    let (Some(allocated), Some(asked), true) = (failure.allocated, failure.asked, training) else { return };
    let (held, peak) = (allocated.bytes.saturating_add(asked.bytes), estimate.allocated);
    // Both sizes were printed with two decimals, and the request is rounded up to a segment.
    all.push(if held > peak.saturating_add(allocated.half).saturating_add(2 << 20) {
        Finding::MoreThanEstimated { held, peak }
    } else if estimate.device.expected <= theirs {
        Finding::ShouldFit { device: estimate.device.expected, capacity: theirs }
    } else {
        Finding::Explained { held, peak, later: later(failure, estimate) }
    });
}

/// Whether the estimate's worst moment comes after the part of the run that failed.
fn later(failure: &Failure, estimate: &Estimate) -> bool {
    let worst = estimate.peak.moment.phase;
    match failure.when {
        Some(When::Forward) => worst >= Phase::Loss,
        Some(When::Loss) => worst > Phase::Loss,
        Some(When::Backward) => worst > Phase::EmbeddingBackward,
        _ => false,
    }
}
