//! Live bytes, as the program sees them and as the allocator counts them.

use crate::ledger::tape::{Event, Id, Role, Tape};
use crate::ledger::{Block, ByBlock};

/// The allocator hands out multiples of this (`kMinBlockSize` in `c10/cuda/CUDACachingAllocator.cpp`).
const ROUNDING: u64 = 512;

/// A request above this gets a segment of its own (`kMinLargeAlloc`) …
const OWN_SEGMENT: u64 = 10 << 20;

/// … of a multiple of this (`kRoundLarge`) …
const SEGMENT_ROUNDING: u64 = 2 << 20;

/// … and what is left of it is split off only above this (`kSmallSize`).
const SPLIT_ABOVE: u64 = 1 << 20;

/// What the allocator counts for one tensor in a block that others used before.
const fn rounded(bytes: u64) -> i128 {
    (bytes.div_ceil(ROUNDING) as i128) * (ROUNDING as i128)
}

/// What it counts for one that got its segment when memory was fresh and keeps it from step to step: weights,
/// states, gradients. A remainder too small to split is counted with it.
fn in_own_segment(bytes: u64) -> i128 {
    let block = rounded(bytes);
    let segment = i128::from(bytes.div_ceil(SEGMENT_ROUNDING)) * i128::from(SEGMENT_ROUNDING);
    if bytes > OWN_SEGMENT && segment - block <= i128::from(SPLIT_ABOVE) { segment } else { block }
}

/// Live bytes by block, and the same as the allocator counts them (rounded, operators' scratch included).
///
/// Signed and wide: a part can free what another made, and no input may overflow a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live {
    pub(super) blocks: [i128; 5],
    pub(super) counted: i128,
}

impl Live {
    /// Adds `count` tensors of `bytes` to a block, which come and go.
    pub(super) fn add_passing(&mut self, block: Block, bytes: u64, count: u64) {
        self.blocks[block as usize] += i128::from(bytes) * i128::from(count);
        self.counted += rounded(bytes) * i128::from(count);
    }

    /// Adds `count` tensors of `bytes` to a block.
    pub(crate) fn add(&mut self, block: Block, bytes: u64, count: u64) {
        self.blocks[block as usize] += i128::from(bytes) * i128::from(count);
        self.counted += in_own_segment(bytes) * i128::from(count);
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (mine, theirs) in sum.blocks.iter_mut().zip(other.blocks) {
            *mine += theirs;
        }
        sum.counted += other.counted;
        sum
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut rest = *self;
        for (mine, theirs) in rest.blocks.iter_mut().zip(other.blocks) {
            *mine -= theirs;
        }
        rest.counted -= other.counted;
        rest
    }

    pub(super) fn times(&self, count: u64) -> Self {
        let mut product = *self;
        for block in &mut product.blocks {
            *block *= i128::from(count);
        }
        product.counted *= i128::from(count);
        product
    }

    pub(super) fn total(&self) -> i128 {
        self.blocks.iter().sum()
    }

    pub(super) fn apply(&mut self, tape: &Tape, event: &Event) {
        let storage = &tape.storages[event.storage];
        let sign = if event.born { 1 } else { -1 };
        let lasting = storage.role == Role::Gradient;
        self.counted += sign * if lasting { in_own_segment(storage.bytes) } else { rounded(storage.bytes) };
        if let Some(block) = block(storage.role) {
            self.blocks[block as usize] += sign * i128::from(storage.bytes);
        }
    }

    /// What a tape made is freed outside its own events.
    pub(super) fn free(&mut self, tape: &Tape, storage: Id) {
        self.apply(tape, &Event { storage, born: false, place: 0 });
    }

    /// As sizes that can be shown.
    pub(crate) fn by_block(&self) -> ByBlock {
        let mut all = ByBlock::default();
        for (block, bytes) in Block::ALL.into_iter().zip(self.blocks) {
            all.add(block, clamp(bytes));
        }
        all
    }
}

fn clamp(bytes: i128) -> u64 {
    u64::try_from(bytes.max(0)).unwrap_or(u64::MAX)
}

/// Which block a storage counts to (`None`: only the allocator counts it).
pub(crate) const fn block(role: Role) -> Option<Block> {
    match role {
        Role::Working => Some(Block::Overhead),
        Role::Saved | Role::WeightCopy => Some(Block::Activations),
        Role::Gradient | Role::Passing => Some(Block::Gradients),
        Role::Hidden => None,
    }
}
