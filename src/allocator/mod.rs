//! PyTorch's caching allocator: how much memory it reserves for what a step allocates.
//!
//! The rules are those of `c10/cuda/CUDACachingAllocator.cpp` (native backend, one stream): a request takes the smallest
//! free block that holds it, a new segment is asked of CUDA only when there is none, what is left of a block is split
//! off where it is worth keeping, and a freed block joins its free neighbours. So memory that one phase used serves the
//! next only where its pieces fit; what does not fit is the fragmentation that people see between *allocated* and
//! *reserved*. Where the card is full, cached segments are given back before the request is tried again.

mod step;

pub(crate) use step::{Card, Lasting, Order, reserved};

use std::collections::BTreeSet;

/// `kMinBlockSize`: sizes are multiples of this.
const LEAST: u64 = 512;
/// `kSmallSize`: requests up to this come from the small pool.
const SMALL: u64 = 1 << 20;
/// `kSmallBuffer`: segments of the small pool.
const SMALL_SEGMENT: u64 = 2 << 20;
/// `kLargeBuffer`: segments of the large pool, for requests below [`OWN_SEGMENT`].
const LARGE_SEGMENT: u64 = 20 << 20;
/// `kMinLargeAlloc`: a request of this or more gets a segment of its own …
const OWN_SEGMENT: u64 = 10 << 20;
/// … of a multiple of this (`kRoundLarge`).
const SEGMENT_ROUNDING: u64 = 2 << 20;

/// A block of a segment.
#[derive(Clone, Copy, Debug)]
struct Block {
    size: u64,
    /// Small or large.
    pool: usize,
    /// Order of addresses: segments by age, blocks by offset.
    address: u64,
    free: bool,
    before: Option<Id>,
    after: Option<Id>,
}

/// Names a block.
pub(crate) type Id = usize;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Allocator {
    blocks: Vec<Block>,
    /// Names of blocks that were joined to others, to be used again.
    spare: Vec<Id>,
    /// Free blocks of the small and the large pool: size, address, name.
    free: [BTreeSet<(u64, u64, Id)>; 2],
    next_address: u64,
    /// Asked of CUDA and not given back (bytes).
    reserved: u64,
    most_reserved: u64,
    /// What the card has room for (bytes).
    room: u64,
    /// Segments grow at their end (`expandable_segments:True`): one for each pool, whose last block this is.
    tails: Option<[Option<Id>; 2]>,
}

impl Allocator {
    /// An allocator on a card with so much room (bytes).
    pub(crate) fn new(room: u64, expandable: bool) -> Self {
        Self { room, tails: expandable.then_some([None; 2]), ..Self::default() }
    }

    /// The most that was asked of CUDA at one time (bytes).
    pub(crate) const fn most_reserved(&self) -> u64 {
        self.most_reserved
    }

    /// Takes a block for a tensor.
    pub(crate) fn take(&mut self, bytes: u64) -> Id {
        let size = bytes.max(1).div_ceil(LEAST).saturating_mul(LEAST);
        let pool = usize::from(size > SMALL);
        let fit = self.free[pool].range((size, 0, 0)..).next().copied();
        let id = match fit {
            Some(found) => {
                self.free[pool].remove(&found);
                found.2
            }
            None => match self.tails {
                Some(tails) => self.grow(size, pool, tails[pool]),
                None => self.segment(size, pool),
            },
        };
        self.split(id, size, pool);
        self.blocks[id].free = false;
        self.note_tail(id, pool);
        id
    }

    /// Gives a block back: it joins the free blocks beside it.
    pub(crate) fn give(&mut self, id: Id) {
        let mut id = id;
        let pool = self.blocks[id].pool;
        if let Some(before) = self.blocks[id].before.filter(|before| self.blocks[*before].free) {
            self.unlist(before, pool);
            id = self.join(before, id);
        }
        if let Some(after) = self.blocks[id].after.filter(|after| self.blocks[*after].free) {
            self.unlist(after, pool);
            id = self.join(id, after);
        }
        self.list(id, pool);
    }

    /// Gives whole free segments back to CUDA (`release_cached_blocks`).
    fn empty_cache(&mut self) {
        for pool in 0..2 {
            let whole: Vec<_> = self.free[pool]
                .iter()
                .copied()
                .filter(|(_, _, id)| self.blocks[*id].before.is_none() && self.blocks[*id].after.is_none())
                .collect();
            for block in whole {
                self.free[pool].remove(&block);
                self.reserved = self.reserved.saturating_sub(block.0);
                self.spare.push(block.2);
            }
        }
    }

    fn segment(&mut self, size: u64, pool: usize) -> Id {
        let size = if pool == 0 {
            SMALL_SEGMENT
        } else if size < OWN_SEGMENT {
            LARGE_SEGMENT
        } else {
            size.div_ceil(SEGMENT_ROUNDING).saturating_mul(SEGMENT_ROUNDING)
        };
        if self.reserved.saturating_add(size) > self.room {
            self.empty_cache();
        }
        self.ask(size);
        let address = self.next_address;
        self.next_address = self.next_address.saturating_add(size);
        self.block(Block { size, pool, address, free: true, before: None, after: None })
    }

    /// CUDA gives so much more.
    fn ask(&mut self, bytes: u64) {
        self.reserved = self.reserved.saturating_add(bytes);
        self.most_reserved = self.most_reserved.max(self.reserved);
    }

    /// Grows the pool's expandable segment until its end holds `size`, in whole pages.
    fn grow(&mut self, size: u64, pool: usize, tail: Option<Id>) -> Id {
        let page = if pool == 0 { SMALL_SEGMENT } else { LARGE_SEGMENT };
        let free = tail.filter(|tail| self.blocks[*tail].free);
        let there = free.map_or(0, |tail| self.blocks[tail].size);
        let more = size.saturating_sub(there).div_ceil(page).saturating_mul(page);
        self.ask(more);
        if let Some(tail) = free {
            self.unlist(tail, pool);
            self.blocks[tail].size = there.saturating_add(more);
            return tail;
        }
        // Pools lie far apart: addresses only order the blocks of one.
        let address = tail.map_or(0, |tail| self.blocks[tail].address.saturating_add(self.blocks[tail].size));
        let id = self.block(Block { size: more, pool, address, free: true, before: tail, after: None });
        if let Some(tail) = tail {
            self.blocks[tail].after = Some(id);
        }
        id
    }

    fn block(&mut self, block: Block) -> Id {
        if let Some(id) = self.spare.pop() {
            self.blocks[id] = block;
            return id;
        }
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// Splits off what is left of a block (`should_split`).
    fn split(&mut self, id: Id, size: u64, pool: usize) {
        let whole = self.blocks[id];
        let left = whole.size - size;
        let worth = if pool == 0 { left >= LEAST } else { left > SMALL };
        if !worth {
            return;
        }
        let rest = Block {
            size: left,
            pool,
            address: whole.address.saturating_add(size),
            free: true,
            before: Some(id),
            after: whole.after,
        };
        let rest = self.block(rest);
        if let Some(after) = whole.after {
            self.blocks[after].before = Some(rest);
        }
        self.blocks[id].size = size;
        self.blocks[id].after = Some(rest);
        self.list(rest, pool);
    }

    /// Remembers the last block of each pool.
    fn note_tail(&mut self, id: Id, pool: usize) {
        if self.blocks[id].after.is_none()
            && let Some(tails) = &mut self.tails
        {
            tails[pool] = Some(id);
        }
    }

    /// Two neighbours become one, which keeps the first one's name.
    fn join(&mut self, first: Id, second: Id) -> Id {
        let Block { size, after, .. } = self.blocks[second];
        self.blocks[first].size = self.blocks[first].size.saturating_add(size);
        self.blocks[first].after = after;
        if let Some(after) = after {
            self.blocks[after].before = Some(first);
        }
        self.spare.push(second);
        first
    }

    fn list(&mut self, id: Id, pool: usize) {
        self.blocks[id].free = true;
        let Block { size, address, .. } = self.blocks[id];
        self.free[pool].insert((size, address, id));
        self.note_tail(id, pool);
    }

    fn unlist(&mut self, id: Id, pool: usize) {
        let Block { size, address, .. } = self.blocks[id];
        self.free[pool].remove(&(size, address, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_requests_share_a_segment_and_large_ones_have_their_own() {
        let mut allocator = Allocator::new(u64::MAX, false);
        let first = allocator.take(100);
        allocator.take(SMALL);
        assert_eq!(allocator.most_reserved(), SMALL_SEGMENT);
        allocator.take(SMALL + 1);
        assert_eq!(allocator.most_reserved(), SMALL_SEGMENT + LARGE_SEGMENT);
        allocator.take(2 * OWN_SEGMENT + 1);
        let own = 2 * OWN_SEGMENT + SEGMENT_ROUNDING;
        assert_eq!(allocator.most_reserved(), SMALL_SEGMENT + LARGE_SEGMENT + own);
        allocator.give(first);
        allocator.take(100);
        assert_eq!(allocator.most_reserved(), SMALL_SEGMENT + LARGE_SEGMENT + own);
    }

    #[test]
    fn a_freed_block_joins_its_neighbours_and_serves_again() {
        let mut allocator = Allocator::new(u64::MAX, false);
        let ids: Vec<Id> = (0..4).map(|_| allocator.take(4 << 20)).collect();
        assert_eq!(allocator.most_reserved(), LARGE_SEGMENT);
        for id in [ids[0], ids[2], ids[1], ids[3]] {
            allocator.give(id);
        }
        allocator.take(9 << 20);
        allocator.take(9 << 20);
        assert_eq!(allocator.most_reserved(), LARGE_SEGMENT, "18 of the 20 MiB that are one block again");
        allocator.take(9 << 20);
        assert_eq!(allocator.most_reserved(), 2 * LARGE_SEGMENT);
    }

    #[test]
    fn a_full_card_gets_whole_free_segments_back() {
        let mut allocator = Allocator::new(60 << 20, false);
        allocator.take(4 << 20);
        let freed = allocator.take(30 << 20);
        allocator.give(freed);
        allocator.take(32 << 20);
        assert_eq!(
            allocator.most_reserved(),
            52 << 20,
            "20 MiB that are in use, 32 in place of the cached 30"
        );
    }

    #[test]
    fn an_expandable_segment_grows_by_pages_and_wastes_nothing_between() {
        let mut allocator = Allocator::new(u64::MAX, true);
        let first = allocator.take(30 << 20);
        let second = allocator.take(30 << 20);
        assert_eq!(allocator.most_reserved(), 60 << 20);
        allocator.give(first);
        allocator.give(second);
        allocator.take(70 << 20);
        assert_eq!(allocator.most_reserved(), 80 << 20, "the free 60 MiB are the start of the 70");
    }
}
