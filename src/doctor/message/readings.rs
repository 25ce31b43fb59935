//! What frameworks report of their memory on the way.

use super::scan::{Amount, after, head, mebibytes, rank_of, size, size_after};

/// Who reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// DeepSpeed, `see_memory_usage`.
    DeepSpeed,
    /// Megatron, `report_memory`.
    Megatron,
    /// PyTorch, `memory_summary`.
    Torch,
    /// torchtune, `log_memory_stats`.
    Torchtune,
}

impl Source {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeepSpeed => "DeepSpeed",
            Self::Megatron => "Megatron",
            Self::Torch => "PyTorch",
            Self::Torchtune => "torchtune",
        }
    }
}

/// The allocator's counters at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Who reported it.
    pub source: Source,
    /// Rank of the process.
    pub rank: Option<u64>,
    /// When, in the framework's words.
    pub moment: String,
    /// What tensors held.
    pub allocated: Option<Amount>,
    /// Their most so far.
    pub max_allocated: Option<Amount>,
    /// What the allocator held.
    pub reserved: Option<Amount>,
    /// Its most so far.
    pub max_reserved: Option<Amount>,
}

/// Readings that are told: the last of a log.
const MOST: usize = 64;

/// Every reading of a text; of many, the last.
pub(super) fn read(text: &str) -> Vec<Reading> {
    let mut all = Vec::new();
    deepspeed(text, &mut all);
    megatron(text, &mut all);
    summary(text, &mut all);
    torchtune(text, &mut all);
    let skipped = all.len().saturating_sub(MOST);
    all.drain(..skipped);
    all
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// `MA 7.18 GB         Max_MA 11.01 GB         CA 7.2 GB         Max_CA 11 GB`; the line above says when
/// (`deepspeed/runtime/utils.py`).
fn deepspeed(text: &str, all: &mut Vec<Reading>) {
    for (at, _) in text.match_indices("MA ").filter(|(at, _)| text[at + 3..].contains_near("Max_MA ", 40)) {
        if text[..at].ends_with("Max_") {
            continue;
        }
        let line = head(&text[at..], 160).lines().next().unwrap_or_default();
        let start = line_start(text, at);
        let above = text[..start].trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
        let moment = above.rsplit_once("see_memory_usage] ").map_or("", |(_, moment)| moment);
        all.push(Reading {
            source: Source::DeepSpeed,
            rank: None,
            moment: head(moment, 80).trim().to_owned(),
            allocated: size_after(line, "MA "),
            max_allocated: size_after(line, "Max_MA "),
            reserved: size_after(line, " CA "),
            max_reserved: size_after(line, "Max_CA "),
        });
    }
}

/// Whether something stands close by.
trait Near {
    fn contains_near(&self, words: &str, within: usize) -> bool;
}

impl Near for str {
    fn contains_near(&self, words: &str, within: usize) -> bool {
        head(self, within).contains(words)
    }
}

/// `[Rank 0] (after 1 iterations) memory (MB) | allocated: 20034.75 | max allocated: 30227.64 | reserved: 31086.0 | max
/// reserved: 31086.0` (`megatron/training/utils.py`).
fn megatron(text: &str, all: &mut Vec<Reading>) {
    for (at, words) in text.match_indices("memory (MB) |") {
        let lead = &text[line_start(text, at)..at];
        // Ranks that write at the same time share lines.
        let lead = lead.rfind("[Rank ").map_or(lead, |tag| &lead[tag..]);
        let line = head(&text[at + words.len()..], 240).lines().next().unwrap_or_default();
        let line = line.split("[Rank ").next().unwrap_or(line);
        let field = |label: &str| {
            let piece = line.split('|').find(|piece| piece.trim_start().starts_with(label))?;
            mebibytes(after(piece, ":")?)
        };
        let (rank, moment) = rank_of(lead).map_or((None, lead), |(rank, rest)| (Some(rank), rest));
        all.push(Reading {
            source: Source::Megatron,
            rank,
            moment: head(moment.trim().trim_matches(['(', ')']), 80).to_owned(),
            allocated: field("allocated"),
            max_allocated: field("max allocated"),
            reserved: field("reserved"),
            max_reserved: field("max reserved"),
        });
    }
}

/// The table of `torch.cuda.memory_summary`.
fn summary(text: &str, all: &mut Vec<Reading>) {
    for (at, words) in text.match_indices("| Allocated memory ") {
        let table = head(&text[at..], 1600);
        let cells = |row: &str| {
            let line = after(table, row)?.lines().next()?;
            let mut cells = line.split('|').map(|cell| size(cell.trim()).map(|(size, _)| size));
            // Behind the label: in use now, and at most.
            cells.next();
            Some((cells.next()??, cells.next()??))
        };
        let (Some((allocated, max_allocated)), reserved) = (cells(words), cells("| GPU reserved memory "))
        else {
            continue;
        };
        all.push(Reading {
            source: Source::Torch,
            rank: None,
            moment: "memory_summary".to_owned(),
            allocated: Some(allocated),
            max_allocated: Some(max_allocated),
            reserved: reserved.map(|(now, _)| now),
            max_reserved: reserved.map(|(_, most)| most),
        });
    }
}

/// `Memory stats after model init: GPU peak memory allocation: 7.48 GiB …` (`torchtune/training/memory.py`).
fn torchtune(text: &str, all: &mut Vec<Reading>) {
    for (at, words) in text.match_indices("Memory stats after ") {
        let part = head(&text[at + words.len()..], 240);
        let moment = part.split([':', '\n']).next().unwrap_or_default();
        let (Some(allocated), reserved) = (
            size_after(part, "peak memory allocation:").or_else(|| size_after(part, "peak memory alloc:")),
            size_after(part, "peak memory reserved:"),
        ) else {
            continue;
        };
        all.push(Reading {
            source: Source::Torchtune,
            rank: None,
            moment: head(moment, 80).to_owned(),
            allocated: None,
            max_allocated: Some(allocated),
            reserved: None,
            max_reserved: reserved,
        });
    }
}
