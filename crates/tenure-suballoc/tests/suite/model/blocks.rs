//! Operations of a `BlockSuballocator`, and the check of its contract.

use std::cmp::Reverse;

use tenure_suballoc::{
    AllocError, BlockAllocation, BlockError, BlockId, BlockSuballocator, DEFAULT_IDLE_FRAMES, FilledPiece,
    FreeError, Handle,
};

use super::one_range::Rules;
use super::ranges::{Live, Ranges};

type Piece = FilledPiece<BlockAllocation>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    AddBlock {
        capacity: u64,
    },
    /// Removes the block with this number, even if it does not exist or is not empty.
    RemoveBlock {
        id: u8,
    },
    Allocate {
        size: u64,
        align: u64,
    },
    AllocateLargest {
        more: i8,
        align: u64,
    },
    /// In one block.
    AllocateIn {
        nth: u32,
        size: u64,
        align: u64,
    },
    Free {
        nth: u32,
    },
    /// Frees all of one block.
    FreeBlock {
        nth: u32,
    },
    FreeAgain {
        nth: u32,
    },
    FreeForeign,
    /// Fills one block.
    Fill {
        nth: u32,
    },
    Clear,
    EndFrame {
        idle_frames: u8,
    },
    /// In the middle of a frame.
    RetireIdle {
        idle_frames: u8,
        bytes: u64,
    },
    Trim,
}

/// The contract of one algorithm.
pub(crate) trait BlockRules {
    type Allocator: BlockSuballocator;
    /// The rules of a single block.
    type One: Rules;

    fn make(&self) -> Self::Allocator;

    fn one(&self, capacity: u64) -> Self::One;

    /// Whether a block with these live ranges guarantees that a request succeeds.
    fn must_serve(&self, one: &Self::One, live: &Ranges, size: u64, align: u64) -> bool;
}

/// The maximum number of blocks.
const MAX_BLOCKS: usize = 40;
const VALIDATE_EVERY: usize = 512;

struct Block<R> {
    rules: R,
    live: Ranges,
    /// Frames that it has been empty for, not counting the one in which it ran empty.
    idle: u32,
    /// Whether it ran empty in this frame.
    fresh: bool,
    /// Frames of its last use so far; `None` for a new block.
    used: Option<u32>,
    /// Frames without a block before that use.
    after: Option<u32>,
}

impl<R> Block<R> {
    /// Frames since it ran empty or was added.
    fn age(&self) -> u32 {
        if self.fresh { 0 } else { self.idle + 1 }
    }

    /// Notes that a range of it is used; `made_way`: the frames since another block made way.
    fn note_use(&mut self, made_way: Option<u32>) {
        if self.live.len() == 0 {
            self.after = if self.used.is_some() { Some(self.age()) } else { made_way };
            self.used = Some(0);
        }
    }

    /// Whether it is new, or used for short times one after the other.
    fn is_in_turns(&self) -> bool {
        let is_short = |frames| frames < DEFAULT_IDLE_FRAMES;
        self.used.is_none_or(|frames| is_short(frames) && self.after.is_some_and(is_short))
    }
}

/// Plays the operations, checks each, and returns the results of the allocations.
pub(crate) fn play<R: BlockRules>(rules: &R, ops: &[Op]) -> Vec<Option<(usize, u64, u64)>> {
    play_long(rules, ops, 1)
}

/// As [`play`]; the whole state is compared only after every `every` operations.
pub(crate) fn play_long<R: BlockRules>(
    rules: &R,
    ops: &[Op],
    every: usize,
) -> Vec<Option<(usize, u64, u64)>> {
    let mut other = rules.make();
    let foreign = other.add_block(4096).ok().and_then(|_| other.allocate(1, 1).ok());
    let mut player = Player {
        rules,
        allocator: rules.make(),
        blocks: Vec::new(),
        freed: Vec::new(),
        foreign: foreign.map(|allocation| allocation.handle),
        clock: 0,
        made_way: None,
        results: Vec::new(),
    };
    for op in ops {
        player.step(*op);
        if player.clock.is_multiple_of(every) {
            player.check(player.clock.is_multiple_of(VALIDATE_EVERY));
        }
        player.clock += 1;
    }
    player.free_all();
    player.results
}

/// All arguments of an allocation.
fn live(allocation: BlockAllocation) -> Live {
    let BlockAllocation { offset, size, padding, handle, .. } = allocation;
    Live { offset: offset - padding, size: size + padding, handle }
}

struct Player<'a, R: BlockRules> {
    rules: &'a R,
    allocator: R::Allocator,
    blocks: Vec<Option<Block<R::One>>>,
    freed: Vec<Handle>,
    foreign: Option<Handle>,
    clock: usize,
    /// Frames since a block made way before its idle frames were over.
    made_way: Option<u32>,
    results: Vec<Option<(usize, u64, u64)>>,
}

impl<R: BlockRules> Player<'_, R> {
    fn step(&mut self, op: Op) {
        match op {
            Op::AddBlock { capacity } => self.add_block(capacity),
            Op::RemoveBlock { id } => self.remove_block(usize::from(id)),
            Op::Allocate { size, align } => self.allocate(size, align),
            Op::AllocateLargest { more, align } => {
                let largest = self.allocator.largest_free();
                self.allocate(largest.saturating_add_signed(i64::from(more)), align);
            }
            Op::AllocateIn { nth, size, align } => {
                let ids: Vec<BlockId> = self.allocator.blocks().collect();
                if !ids.is_empty() {
                    self.allocate_in(ids[nth as usize % ids.len()], size, align);
                }
            }
            Op::Free { nth } => self.free_nth(nth as usize),
            Op::FreeBlock { nth } => {
                let ids: Vec<usize> = self.existing().collect();
                if !ids.is_empty() {
                    self.free_block(ids[nth as usize % ids.len()]);
                }
            }
            Op::FreeAgain { nth } => self.free_again(nth as usize),
            Op::FreeForeign => {
                if let Some(handle) = self.foreign {
                    assert_eq!(self.allocator.free(handle), Err(FreeError::Foreign));
                    assert_eq!(self.allocator.get(handle), None);
                }
            }
            Op::Fill { nth } => {
                let ids: Vec<BlockId> = self.allocator.blocks().collect();
                if !ids.is_empty() {
                    self.fill(ids[nth as usize % ids.len()]);
                }
            }
            Op::Clear => self.clear(),
            Op::EndFrame { idle_frames } => self.end_frame(u32::from(idle_frames)),
            Op::RetireIdle { idle_frames, bytes } => self.trim_oldest(u32::from(idle_frames), bytes),
            Op::Trim => self.trim(),
        }
    }

    fn existing(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.blocks.len()).filter(|&id| self.blocks[id].is_some())
    }

    fn present(&self) -> impl Iterator<Item = &Block<R::One>> {
        self.blocks.iter().flatten()
    }

    fn add_block(&mut self, capacity: u64) {
        if self.present().count() >= MAX_BLOCKS {
            return;
        }
        let before = self.allocator.capacity();
        let Ok(id) = self.allocator.add_block(capacity) else {
            assert_eq!(self.allocator.capacity(), before);
            return;
        };
        let index = id.index();
        let vacant = self.blocks.iter().position(Option::is_none);
        assert_eq!(index, vacant.unwrap_or(self.blocks.len()), "the lowest number is used");
        let rules = self.rules.one(capacity);
        let block = Some(Block {
            live: Ranges::new(rules.capacity()),
            rules,
            idle: 0,
            fresh: true,
            used: None,
            after: None,
        });
        if index == self.blocks.len() {
            self.blocks.push(block);
        } else {
            self.blocks[index] = block;
        }
    }

    fn remove_block(&mut self, index: usize) {
        // Blocks that do not exist can only be named by numbers of removed ones.
        let Some(id) = self.allocator.blocks().find(|id| id.index() == index) else {
            return;
        };
        let used = self.blocks[index].as_ref().map_or(0, |block| block.live.used());
        let removed = self.allocator.remove_block(id);
        if used > 0 {
            assert_eq!(removed, Err(BlockError::InUse { block: id, used }));
        } else {
            assert_eq!(removed, Ok(()));
            self.blocks[index] = None;
            assert_eq!(self.allocator.remove_block(id), Err(BlockError::Unknown { block: id }));
        }
    }

    fn allocate(&mut self, size: u64, align: u64) {
        match self.allocator.allocate(size, align) {
            Ok(allocation) => self.note(allocation, size, align),
            Err(error) => {
                self.check_refusal(error, size, align);
                self.results.push(None);
            }
        }
    }

    fn allocate_in(&mut self, id: BlockId, size: u64, align: u64) {
        match self.allocator.allocate_in(id, size, align) {
            Ok(allocation) => {
                assert_eq!(allocation.block, id);
                self.note(allocation, size, align);
            }
            Err(AllocError::Full { free_bytes, largest_free, .. }) => {
                let block = self.blocks[id.index()].as_ref().unwrap();
                assert_eq!(free_bytes, block.live.capacity() - block.live.used());
                let holes = self.allocator.holes_in(id).map(|hole| hole.end - hole.start);
                assert_eq!(largest_free, holes.max().unwrap_or(0));
                assert!(!self.rules.must_serve(&block.rules, &block.live, size, align), "refused {size}");
                self.results.push(None);
            }
            Err(error) => {
                self.check_refusal(error, size, align);
                self.results.push(None);
            }
        }
    }

    /// Checks that an allocation matches its request, and overlaps no other.
    fn note(&mut self, allocation: BlockAllocation, size: u64, align: u64) {
        assert!(size > 0 && align.is_power_of_two());
        assert_eq!(allocation.offset % align, 0, "misaligned");
        let block = self.blocks[allocation.block.index()].as_mut().unwrap();
        let (least, most) = block.rules.reserved(size, align);
        let taken = allocation.size + allocation.padding;
        assert!(allocation.size >= least && taken <= most, "{allocation:?} for {size}");
        block.note_use(self.made_way);
        block.live.insert(live(allocation));
        assert_eq!(self.allocator.get(allocation.handle), Some(allocation));
        let block = allocation.block.index();
        self.results.push(Some((block, allocation.offset, allocation.size)));
    }

    fn check_refusal(&self, error: AllocError, size: u64, align: u64) {
        match error {
            AllocError::ZeroSize => assert_eq!(size, 0),
            AllocError::BadAlignment { .. } => assert!(!align.is_power_of_two()),
            AllocError::TooLarge { capacity, .. } => assert!(size > capacity),
            AllocError::Full { free_bytes, largest_free, .. } => {
                assert_eq!(free_bytes, self.allocator.free_bytes());
                let largest = self.allocator.largest_free();
                assert!(largest_free <= largest && largest_free >= largest / 2);
                for block in self.present() {
                    let must = self.rules.must_serve(&block.rules, &block.live, size, align);
                    assert!(!must, "refused {size}");
                }
                assert!(!self.an_empty_block_serves(size, align), "refused {size}");
            }
            other => panic!("unexpected {other:?}"),
        }
    }

    /// Whether the only empty block serves a request. (Of several, only one is looked at.)
    fn an_empty_block_serves(&self, size: u64, align: u64) -> bool {
        let mut empty = self.present().filter(|block| block.live.len() == 0);
        let (first, second) = (empty.next(), empty.next());
        second.is_none()
            && first.is_some_and(|block| {
                !block.rules.never_serves(size, align) && block.rules.must_serve(&block.live, size, align)
            })
    }

    fn free_nth(&mut self, nth: usize) {
        let total: usize = self.present().map(|block| block.live.len()).sum();
        if total == 0 {
            return;
        }
        let mut nth = nth % total;
        for id in 0..self.blocks.len() {
            let count = self.blocks[id].as_ref().map_or(0, |block| block.live.len());
            if nth < count {
                return self.free(id, nth);
            }
            nth -= count;
        }
    }

    fn free(&mut self, id: usize, index: usize) {
        let block = self.blocks[id].as_mut().unwrap();
        let gone = block.live.remove(index);
        let is_empty = block.live.len() == 0;
        if is_empty {
            block.idle = 0;
            block.fresh = true;
        }
        let freed = self.allocator.free(gone.handle).unwrap();
        let start = freed.offset - freed.padding;
        assert_eq!((start, freed.size + freed.padding), (gone.offset, gone.size));
        assert_eq!((freed.block.index(), freed.block_is_empty), (id, is_empty));
        assert_eq!(self.allocator.get(gone.handle), None);
        self.freed.push(gone.handle);
    }

    fn free_block(&mut self, id: usize) {
        while self.blocks[id].as_ref().is_some_and(|block| block.live.len() > 0) {
            self.free(id, 0);
        }
    }

    fn free_again(&mut self, nth: usize) {
        if !self.freed.is_empty() {
            let handle = self.freed[nth % self.freed.len()];
            // After its block is removed, the owner of a handle is unknown.
            assert!(self.allocator.free(handle).is_err());
            assert_eq!(self.allocator.get(handle), None);
        }
    }

    /// Exactly the holes of the block become allocations, for any number of pieces per call.
    fn fill(&mut self, id: BlockId) {
        let holes: Vec<_> = self.allocator.holes_in(id).collect();
        let before: Vec<_> = self.allocator.allocations_in(id).collect();
        let (most, mut pieces) = (1 + holes.len() % 3, Vec::new());
        loop {
            let after = pieces.last().map(|last: &Piece| last.range.handle);
            if self.allocator.fill_block(id, after, most, &mut pieces) {
                break;
            }
        }
        let (fillers, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.was_free);
        assert!(others.into_iter().map(|other| other.range).eq(before));
        let fillers: Vec<_> = fillers.into_iter().map(|filler| filler.range).collect();
        let filled = fillers.iter().map(|filler| filler.offset..filler.offset + filler.size);
        assert!(filled.eq(holes) && fillers.iter().all(|filler| filler.block == id));
        let block = self.blocks[id.index()].as_mut().unwrap();
        if !fillers.is_empty() {
            block.note_use(self.made_way);
        }
        for filler in fillers {
            assert_eq!(self.allocator.get(filler.handle), Some(filler));
            block.live.insert(live(filler));
        }
        assert_eq!(block.live.used(), block.live.capacity());
    }

    fn clear(&mut self) {
        self.allocator.clear();
        for block in self.blocks.iter_mut().flatten().filter(|block| block.live.len() > 0) {
            block.idle = 0;
            block.fresh = true;
            self.freed.extend(block.live.clear().map(|live| live.handle));
        }
        for &handle in &self.freed {
            assert!(self.allocator.free(handle).is_err());
            assert_eq!(self.allocator.get(handle), None);
        }
    }

    fn end_frame(&mut self, idle_frames: u32) {
        self.made_way = self.made_way.map(|frames| frames + 1);
        let mut expected = Vec::new();
        for (id, place) in self.blocks.iter_mut().enumerate() {
            let Some(block) = place else { continue };
            if block.live.len() > 0 {
                block.used = block.used.map(|frames| frames + 1);
                continue;
            }
            if !std::mem::take(&mut block.fresh) {
                block.idle += 1;
            }
            if block.idle >= idle_frames {
                *place = None;
                expected.push(id);
            }
        }
        let mut retired = Vec::new();
        self.allocator.end_frame(idle_frames, &mut retired);
        assert_eq!(sorted(&retired), expected);
    }

    /// Only blocks that were empty for that long, or are not used in turns, are removed, the oldest first, then the smallest; no more of
    /// them than are enough, and all where they are not enough.
    fn trim_oldest(&mut self, idle_frames: u32, bytes: u64) {
        let is_old = |block: &Block<R::One>| block.age() >= idle_frames || !block.is_in_turns();
        let is_old = |block: &&Block<R::One>| block.live.len() == 0 && is_old(block);
        let order = |block: &Block<R::One>| (Reverse(block.age()), block.live.capacity());
        let mut old: Vec<_> = self.present().filter(is_old).map(order).collect();
        old.sort_unstable();
        let mut expected = 0;
        let is_missing = |(_, capacity): &(Reverse<u32>, u64)| {
            let goes = expected < bytes;
            expected += if goes { *capacity } else { 0 };
            goes
        };
        old = old.into_iter().take_while(is_missing).collect();
        let mut retired = Vec::new();
        let removed = self.allocator.trim_oldest(idle_frames, DEFAULT_IDLE_FRAMES, bytes, &mut retired);
        assert_eq!(removed, expected);
        let went: Vec<_> = retired.iter().map(|id| order(&self.blocks[id.index()].take().unwrap())).collect();
        assert_eq!(went, old);
        if went.iter().any(|(Reverse(age), _)| *age < idle_frames) {
            self.made_way = Some(0);
        }
    }

    fn trim(&mut self) {
        let any_in_use = self.present().any(|block| block.live.len() > 0);
        let mut expected: Vec<usize> = self.existing().collect();
        expected.retain(|&id| self.blocks[id].as_ref().is_some_and(|b| b.live.len() == 0));
        let mut retired = Vec::new();
        self.allocator.trim(&mut retired);
        let retired = sorted(&retired);
        let kept: Vec<usize> = expected.iter().copied().filter(|id| !retired.contains(id)).collect();
        if any_in_use || expected.is_empty() {
            assert!(kept.is_empty(), "{kept:?}");
        } else {
            self.check_kept(&kept);
        }
        for id in retired {
            self.blocks[id] = None;
        }
    }

    /// Checks which block stays when all are empty: the youngest within the idle frames.
    fn check_kept(&self, kept: &[usize]) {
        // The number of frames since it ran empty.
        let idle = Block::<R::One>::age;
        let youngest = self.present().map(idle).min().unwrap_or(0);
        if youngest <= DEFAULT_IDLE_FRAMES {
            assert_eq!(kept.len(), 1);
            assert_eq!(self.blocks[kept[0]].as_ref().map(idle), Some(youngest));
        } else {
            assert!(kept.is_empty(), "{kept:?}");
        }
    }

    fn check(&self, walk: bool) {
        let ids: Vec<usize> = self.allocator.blocks().map(BlockId::index).collect();
        assert!(ids.iter().copied().eq(self.existing()));
        let (mut capacity, mut used, mut largest) = (0, 0, 0);
        for (id, block) in self.allocator.blocks().zip(self.present()) {
            assert_eq!(self.allocator.block_capacity(id), Some(block.live.capacity()));
            assert_eq!(self.allocator.block_used(id), Some(block.live.used()));
            capacity += block.live.capacity();
            used += block.live.used();
            largest = largest.max(block.rules.largest_free(&block.live));
        }
        assert_eq!(self.allocator.capacity(), capacity);
        assert_eq!(self.allocator.free_bytes(), capacity - used);
        assert_eq!(self.allocator.largest_free(), largest);
        if walk {
            self.allocator.validate().unwrap();
        }
        self.check_walks();
    }

    fn check_walks(&self) {
        for (id, block) in self.allocator.blocks().zip(self.present()) {
            let allocations = self.allocator.allocations_in(id).map(live);
            block.live.check_walks(allocations, self.allocator.holes_in(id), block.rules.merges());
        }
        let all = self.present().flat_map(|block| block.live.iter());
        assert!(self.allocator.allocations().map(live).eq(all));
        let free: u64 = self.allocator.holes().map(|(_, hole)| hole.end - hole.start).sum();
        assert_eq!(free, self.allocator.free_bytes());
        let exists = |id: BlockId| self.allocator.block_capacity(id).is_some();
        assert!(self.allocator.holes().all(|(id, _)| exists(id)));
    }

    fn free_all(&mut self) {
        for id in 0..self.blocks.len() {
            self.free_block(id);
        }
        self.check(true);
        assert!(self.allocator.is_empty());
        self.end_frame(0);
        self.check(true);
        assert_eq!(self.allocator.blocks().count(), 0);
    }
}

fn sorted(ids: &[BlockId]) -> Vec<usize> {
    let mut ids: Vec<usize> = ids.iter().map(|id| id.index()).collect();
    ids.sort_unstable();
    ids
}
