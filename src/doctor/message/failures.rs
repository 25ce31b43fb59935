//! Finding failures: each program has a few fixed words that its messages begin with.

use super::scan::{head, rank_of};
use super::traceback::Traces;
use super::{Failure, Host, Kind, host, torch, xla};

/// Fixed words, and what they mean.
struct Anchor {
    words: &'static str,
    means: Means,
}

enum Means {
    /// The words alone say it.
    Alone(Kind),
    /// What reads the message of which the words stand at a position; `None`: they mean something else there.
    Read(fn(&str, usize) -> Option<Failure>),
}

const fn anchor(words: &'static str, read: fn(&str, usize) -> Option<Failure>) -> Anchor {
    Anchor { words, means: Means::Read(read) }
}

const fn killed(words: &'static str) -> Anchor {
    Anchor { words, means: Means::Alone(Kind::Host(Host::Killed)) }
}

const ANCHORS: &[Anchor] = &[
    anchor("Tried to allocate ", torch::allocator),
    anchor("尝试分配", torch::allocator),
    anchor("out of memory", torch::driver),
    Anchor { words: "CUDA_ERROR_OUT_OF_MEMORY", means: Means::Alone(Kind::Driver) },
    Anchor { words: "cudaErrorMemoryAllocation", means: Means::Alone(Kind::Driver) },
    Anchor { words: "hipErrorOutOfMemory", means: Means::Alone(Kind::Driver) },
    anchor("would exceed allowed memory", torch::asynchronous),
    anchor("MODULE:PT_DEVMEM Allocation failed for size::", torch::gaudi),
    anchor("rtMalloc fail", torch::ascend),
    Anchor { words: "ERROR_OUT_OF_DEVICE_MEMORY", means: Means::Alone(Kind::Driver) },
    Anchor { words: "ERROR_OUT_OF_RESOURCES", means: Means::Alone(Kind::Driver) },
    anchor("[metal::malloc] ", torch::mlx),
    anchor("out of resource: shared memory", torch::on_chip),
    anchor("_ALLOC_FAILED", torch::library),
    anchor("Failed to CUDA ", torch::nccl),
    anchor("Cannot allocate ", torch::paddle),
    anchor("上分配", torch::paddle),
    anchor("memory isn't enough and alloc failed", torch::mindspore),
    anchor("trying to allocate ", xla::allocator),
    anchor("Out of memory allocating ", xla::plain),
    anchor("failed to alloc", xla::executor),
    anchor("Failed to allocate request for ", xla::request),
    anchor("Ran out of memory in memory space ", xla::space),
    anchor("That was not possible. There are ", xla::reservation),
    anchor("OOM when allocating tensor ", xla::tensor),
    anchor("you tried to allocate ", host::refused),
    anchor("Unable to allocate ", host::refused),
    anchor("Killed", host::killed),
    anchor("illed by signal: ", host::worker),
    anchor("exitcode", host::exit),
    anchor("SIGKILL", host::sigkill),
    // Batch systems, containers, launchers.
    killed("oom-kill event"),
    killed("oom_kill event"),
    killed("OOMKilled"),
    killed("return code = -9"),
    killed("xit code 137"),
    killed("xit Code: 137"),
    killed("due to the node running low on memory"),
    killed("[Errno 12] Cannot allocate memory"),
    Anchor { words: "insufficient shared memory (shm)", means: Means::Alone(Kind::Host(Host::Shared)) },
];

/// Distinct failures that are told; a log that repeats one for hours has no more.
const MOST: usize = 64;
/// Messages of one text that are read.
const READ: usize = 4096;

/// Every failure of a text, each once, in its order.
pub(super) fn collect(text: &str, traces: &Traces) -> Vec<Failure> {
    let mut at: Vec<(usize, &Anchor)> = Vec::new();
    for anchor in ANCHORS {
        at.extend(text.match_indices(anchor.words).take(READ).map(|(position, _)| (position, anchor)));
    }
    at.sort_unstable_by_key(|(position, _)| *position);
    let mut all: Vec<Failure> = Vec::new();
    for (position, anchor) in at {
        let found = match anchor.means {
            Means::Alone(kind) => Some(Failure::new(kind)),
            Means::Read(read) => read(text, position),
        };
        if let Some(found) = found {
            let found = placed(found, text, position, traces, all.len() < MOST);
            add(&mut all, found);
        }
    }
    forget_echoes(&mut all);
    all
}

/// Completes a failure by the rank of its line and by the traceback above it.
fn placed(mut failure: Failure, text: &str, position: usize, traces: &Traces, explain: bool) -> Failure {
    let line = line_at(text, position);
    failure.rank = failure.rank.or_else(|| rank_of(line).map(|(rank, _)| rank));
    if explain && failure.kind != Kind::Host(Host::Killed) {
        (failure.when, failure.place) = traces.explain(position, rank_of(line).map(|(rank, _)| rank));
    }
    failure
}

/// Adds a failure, or counts it where the same was said before: a launcher repeats what its workers print, without
/// or with their rank.
fn add(all: &mut Vec<Failure>, found: Failure) {
    let bare =
        |failure: &Failure| Failure { rank: None, when: None, place: None, times: 1, ..failure.clone() };
    let alike = |one: &Option<u64>, other: &Option<u64>| one == other || one.is_none() || other.is_none();
    let (key, room) = (bare(&found), all.len() < MOST);
    match all.iter_mut().find(|known| alike(&known.rank, &found.rank) && bare(known) == key) {
        Some(known) => {
            known.times += 1;
            known.rank = known.rank.or(found.rank);
            if known.when.is_none() {
                (known.when, known.place) = (found.when, found.place);
            }
        }
        None if room => all.push(found),
        None => {}
    }
}

/// Drops failures that only say again, with fewer numbers, what another says in full: the driver's refusal behind the
/// allocator's, the exit code of a process whose message is there.
fn forget_echoes(all: &mut Vec<Failure>) {
    let told =
        |failure: &Failure| matches!(failure.kind, Kind::Torch(_) | Kind::Xla | Kind::Tpu | Kind::TensorFlow);
    let full = all.iter().any(|failure| told(failure) && failure.asked.is_some());
    if full {
        let echo = |failure: &Failure| {
            failure.kind == Kind::Driver || (failure.asked.is_none() && failure.kind == Kind::Xla)
        };
        all.retain(|failure| !echo(failure));
    }
}

/// The line that this position is in.
pub(super) fn line_at(text: &str, position: usize) -> &str {
    let start = text[..position].rfind('\n').map_or(0, |at| at + 1);
    // A line of noise may be the whole text.
    let start = start.max(floor(text, position.saturating_sub(2000)));
    head(&text[start..], position - start + 500).lines().next().unwrap_or_default()
}

/// The last `limit` bytes before this position.
pub(super) fn before(text: &str, position: usize, limit: usize) -> &str {
    &text[floor(text, position.saturating_sub(limit))..position]
}

/// The next character boundary from here on.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
