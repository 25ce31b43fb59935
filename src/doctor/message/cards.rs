//! Cards: tables of `nvidia-smi`, and which card of the catalogue a capacity is.

use super::Process;
use super::scan::{Amount, after, number, size};
use crate::config::{Gpu, gpus};

/// One card of an `nvidia-smi` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its number.
    pub index: u64,
    /// In use (bytes).
    pub used: u64,
    /// Its memory (bytes).
    pub capacity: u64,
    /// Who uses it, where the table says.
    pub processes: Vec<Process>,
}

/// Cards of one machine.
const MOST: usize = 64;

/// Reads the last `nvidia-smi` table of a text.
pub(super) fn read(text: &str) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    if !text.contains("MiB") || !text.contains('|') {
        return cards;
    }
    let mut index = None;
    for line in text.lines().filter(|line| line.contains('|') && line.len() < 400) {
        if line.contains("NVIDIA-SMI") {
            cards.clear();
            index = None;
        } else if let Some((used, capacity)) = usage(line) {
            if let Some(index) = index.take()
                && cards.len() < MOST
            {
                cards.push(Card { index, used, capacity, processes: Vec::new() });
            }
        } else if let Some((card, process)) = process(line) {
            if let Some(card) = cards.iter_mut().find(|known| known.index == card) {
                card.processes.push(process);
            }
        } else if let Some(number) = name(line) {
            index = Some(number);
        }
    }
    cards
}

/// `| 29%   34C    P2    64W / 250W |   8559MiB / 10989MiB |      0%      Default |`
fn usage(line: &str) -> Option<(u64, u64)> {
    let cell = line.split('|').find(|cell| cell.contains("MiB /"))?;
    let (used, capacity) = cell.split_once('/')?;
    Some((size(used)?.0.bytes, size(capacity)?.0.bytes))
}

/// `|   0  GeForce RTX 208...  Off  | 00000000:4B:00.0 Off |                  N/A |`: its first cell's number.
fn name(line: &str) -> Option<u64> {
    let first = line.split('|').nth(1)?;
    let bus = line.split('|').nth(2)?;
    bus.contains(':').then(|| number(first)).flatten()
}

/// `|    0   N/A  N/A      1234      C   python                          22990MiB |`
fn process(line: &str) -> Option<(u64, Process)> {
    let cell = line.split('|').nth(1)?;
    let words: Vec<&str> = cell.split_whitespace().collect();
    let held = words.last()?.strip_suffix("MiB")?.parse::<u64>().ok()?;
    let card = words.first()?.parse().ok()?;
    // Behind the card come the instances of a divided one (`N/A`), then the process.
    let pid = words.iter().skip(1).find_map(|word| word.parse().ok())?;
    Some((card, Process { pid, bytes: held.saturating_mul(1 << 20) }))
}

/// The catalogue's cards whose drivers report this capacity, the nearest first.
pub fn cards_of(capacity: Amount) -> Vec<&'static Gpu> {
    // Error correction and firmware keep up to a twentieth of what the catalogue has.
    let fits = |gpu: &&Gpu| capacity.low() <= gpu.usable() && capacity.bytes >= gpu.usable() / 20 * 19;
    let mut cards: Vec<&Gpu> = gpus().iter().filter(fits).collect();
    cards.sort_by_key(|gpu| gpu.usable().abs_diff(capacity.bytes));
    cards
}

/// What a capacity line of torchtitan names: `CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory`.
pub(super) fn titan(text: &str) -> Option<Amount> {
    let line = after(text, "CUDA capacity: ")?.lines().next()?;
    Some(size(after(line, " with ")?)?.0)
}
