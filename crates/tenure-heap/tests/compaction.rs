//! Emptying blocks: no useless moves, no losses, and every block that can be emptied is.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;

use tenure_heap::{CompactionBudget, Pool, PoolSuballocator, RangeMove, RangeNeeds};
use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator};
use test_random::Rng;

const KIB: u64 = 1 << 10;
const BLOCK: u64 = 256 * KIB;
const AMPLE: CompactionBudget = CompactionBudget { bytes: u64::MAX, moves: usize::MAX, pieces: usize::MAX };

/// A range, as the program knows it.
#[derive(Clone, Copy, Debug)]
struct Live {
    at: BlockAllocation,
    size: u64,
    align: u64,
    moves: bool,
}

/// A pool, and the ranges of a program in it.
struct Program {
    pool: Pool<u64, PoolSuballocator>,
    live: Vec<Live>,
    rng: Rng,
    /// The number of created blocks. A block's number is its index.
    made: u64,
    retired: Vec<u64>,
    moved: u64,
}

impl Program {
    fn new(suballocator: PoolSuballocator, seed: u64) -> Self {
        let pool = Pool::new(suballocator, 1_000_000);
        Self { pool, live: Vec::new(), rng: Rng::new(seed), made: 0, retired: Vec::new(), moved: 0 }
    }

    fn allocate(&mut self, size: u64, align: u64, moves: bool) {
        let found = self.pool.allocate(size, align).map(|(found, _)| found);
        let found = found.or_else(|| {
            self.pool.stop_compaction().then(|| self.pool.allocate(size, align).map(|(found, _)| found))?
        });
        let at = found.unwrap_or_else(|| {
            self.made += 1;
            let retired = &mut self.retired;
            self.pool.add_and_allocate(self.made, BLOCK, size, align, retired).unwrap()
        });
        self.live.push(Live { at, size, align, moves });
    }

    /// Fills some blocks, and frees most of their ranges.
    fn fragment(&mut self, blocks: u64, kept: u64) {
        while self.pool.totals().capacity < blocks * BLOCK {
            let (size, align) = (1 + self.rng.below(12 * KIB), 1 << self.rng.below(9));
            self.allocate(size, align, true);
        }
        for _ in 0..self.live.len() as u64 * (100 - kept) / 100 {
            self.free_some();
        }
        // Empty blocks are freed automatically.
        let mut empty = Vec::new();
        self.pool.take_empty(&mut empty);
    }

    fn free_some(&mut self) {
        if !self.live.is_empty() {
            let index = self.rng.below(self.live.len() as u64) as usize;
            let Live { at, size, .. } = self.live.swap_remove(index);
            self.pool.free(at.handle, size).unwrap();
        }
    }

    /// Makes one call, without carrying out its moves.
    fn compact(&mut self, budget: CompactionBudget, moves: &mut Vec<RangeMove>) -> bool {
        let needs: BTreeMap<(usize, u64), Live> =
            self.live.iter().map(|live| ((live.at.block.index(), live.at.offset), *live)).collect();
        let needs = |range: &BlockAllocation| {
            let live = needs.get(&(range.block.index(), range.offset)).filter(|live| live.at == *range);
            let live = live.expect("only live ranges are queried");
            live.moves.then_some(RangeNeeds { size: live.size, alignment: live.align })
        };
        self.pool.compact(budget, needs, moves, &mut self.retired)
    }

    /// Carries out moves: the ranges are at their new locations from now on, and the old ones are freed.
    fn make(&mut self, moves: &mut Vec<RangeMove>) {
        for moved in moves.drain(..) {
            let live = self.live.iter_mut().find(|live| live.at == moved.from).unwrap();
            assert!(moved.to.offset.is_multiple_of(live.align) && moved.to.size >= live.size, "{moved:?}");
            assert!(live.moves && moved.size == live.size);
            live.at = moved.to;
            self.moved += moved.size;
            self.pool.free(moved.from.handle, moved.size).unwrap();
        }
    }

    /// Compacts until no work is left, and frees the old ranges of moves; returns the number of calls.
    fn settle(&mut self, budget: CompactionBudget) -> usize {
        let (mut moves, mut left) = (Vec::new(), Vec::new());
        for call in 0..10_000 {
            let is_done = self.compact(budget, &mut moves);
            assert!(moves.len() <= budget.moves);
            let bytes: u64 = moves.iter().map(|moved| moved.size).sum();
            assert!(bytes <= budget.bytes || moves.len() == 1, "{bytes} of {budget:?}");
            left.extend(moves.iter().map(|moved| moved.from.block));
            self.make(&mut moves);
            self.check();
            if is_done {
                let in_vain = left.iter().find(|block| self.pool.block(**block).is_some());
                assert_eq!(in_vain, None, "moved in vain");
                return call + 1;
            }
        }
        panic!("it does not end: {:?}", self.pool.totals());
    }

    /// Checks that the pool has exactly the ranges of the program.
    fn check(&self) {
        let totals = self.pool.totals();
        assert_eq!(totals.allocations, self.live.len() as u64);
        assert_eq!(totals.requested, self.live.iter().map(|live| live.size).sum::<u64>());
        assert_eq!(totals.used, self.live.iter().map(|live| live.at.size + live.at.padding).sum::<u64>());
        let suballocator = self.pool.suballocator();
        self.live.iter().for_each(|live| assert_eq!(suballocator.get(live.at.handle), Some(live.at)));
        suballocator.validate().unwrap();
    }

    /// Used bytes of each block, fewest first.
    fn by_block(&self) -> Vec<u64> {
        let mut used: BTreeMap<usize, u64> =
            self.pool.blocks().map(|(id, ..): (BlockId, _, _, _)| (id.index(), 0)).collect();
        for live in &self.live {
            *used.entry(live.at.block.index()).or_default() += live.size;
        }
        let mut used: Vec<u64> = used.into_values().collect();
        used.sort_unstable();
        used
    }
}

fn pools(seed: u64) -> [Program; 2] {
    [PoolSuballocator::general(16).unwrap(), PoolSuballocator::buddy(256)].map(|it| Program::new(it, seed))
}

/// The ranges of the emptiest blocks move once, and these blocks are freed.
#[test]
fn a_fragmented_pool_becomes_dense_by_the_fewest_moves() {
    for seed in 0..8 {
        let mut program = Program::new(PoolSuballocator::general(16).unwrap(), seed);
        program.fragment(64, 12);
        let (before, blocks) = (program.by_block(), program.pool.totals().capacity / BLOCK);
        program.settle(AMPLE);
        let totals = program.pool.totals();
        let left = totals.capacity / BLOCK;
        let least: u64 = before.iter().take((blocks - left) as usize).sum();
        assert_eq!(program.retired.len() as u64, blocks - left);
        assert_eq!(left, totals.used.div_ceil(BLOCK), "no packing has fewer blocks");
        // Blocks with nearly equal bytes may be chosen in either order, because sizes are rounded up.
        assert!(
            program.moved <= least + least / 100,
            "{} moved, {least} in the emptiest blocks",
            program.moved
        );
        // Then no work is left.
        let moved = program.moved;
        assert_eq!((program.settle(AMPLE), program.moved), (1, moved));
    }
}

/// The final result does not depend on the budget per call, and no call exceeds its budget.
#[test]
fn calls_stay_within_their_budget() {
    let some =
        [(64 * KIB, 5, 100), (KIB, 1, 1), (u64::MAX, usize::MAX, 7), (16 * KIB, usize::MAX, usize::MAX)];
    for (bytes, moves, pieces) in some {
        for mut program in pools(3) {
            program.fragment(24, 15);
            let before = program.pool.totals().capacity;
            let calls = program.settle(CompactionBudget { bytes, moves, pieces });
            assert!(calls > 5 && program.pool.totals().capacity < before / 2, "{calls}");
        }
    }
}

/// A range that cannot move keeps its block, and no other.
#[test]
fn ranges_that_cannot_move_keep_their_block() {
    let mut program = Program::new(PoolSuballocator::general(16).unwrap(), 5);
    program.fragment(24, 10);
    let pinned = program.by_block().len() / 3;
    for index in 0..pinned {
        let block = program.live[index * 7 % program.live.len()].at.block;
        let of_block = program.live.iter_mut().find(|live| live.at.block == block).unwrap();
        of_block.moves = false;
    }
    let blocks: std::collections::BTreeSet<usize> =
        program.live.iter().filter(|live| !live.moves).map(|live| live.at.block.index()).collect();
    program.settle(AMPLE);
    let left: Vec<usize> = program.pool.blocks().map(|(id, ..)| id.index()).collect();
    assert!(blocks.iter().all(|block| left.contains(block)));
    assert!(left.len() <= blocks.len() + 1, "{left:?} for {blocks:?}");
}

/// Ranges move only if that frees blocks, and empty blocks are not filled.
#[test]
fn a_dense_pool_is_left_alone() {
    for mut program in pools(9) {
        program.fragment(8, 100);
        assert_eq!((program.settle(AMPLE), program.moved, program.retired.len()), (1, 0, 0));
        while program.live.len() > 1 {
            program.free_some();
        }
        let capacity = program.pool.totals().capacity;
        program.settle(AMPLE);
        assert_eq!(
            (program.moved, program.pool.totals().capacity),
            (0, capacity),
            "empty blocks are freed automatically"
        );
    }
}

/// Requests can immediately use free ranges of blocks that are being emptied.
#[test]
fn requests_use_blocks_that_are_being_emptied() {
    for mut program in pools(11) {
        program.fragment(16, 10);
        let made = program.made;
        let budget = CompactionBudget { bytes: 1, moves: 1, pieces: usize::MAX };
        let mut moves = Vec::new();
        assert!(!program.compact(budget, &mut moves));
        program.make(&mut moves);
        let free = program.pool.totals().capacity - program.pool.totals().used;
        while program.pool.totals().capacity - program.pool.totals().used > free / 2 {
            program.allocate(KIB, 16, true);
            program.check();
        }
        assert_eq!(program.made, made);
    }
}

/// An empty block receives no ranges from another: the number of blocks would not decrease.
#[test]
fn empty_blocks_receive_no_ranges() {
    let mut program = Program::new(PoolSuballocator::general(16).unwrap(), 0);
    // Two blocks with 100 KiB in the middle, more than the free ranges beside them, and a third, empty block.
    [78, 100, 78, 78, 100, 78].into_iter().for_each(|size| program.allocate(size * KIB, 16, true));
    program.allocate(BLOCK, 16, true);
    for size in [78 * KIB, BLOCK] {
        for gone in program.live.extract_if(.., |live| live.size == size) {
            program.pool.free(gone.at.handle, gone.size).unwrap();
        }
    }
    assert_eq!(program.pool.totals().capacity, 3 * BLOCK);
    program.settle(AMPLE);
    assert_eq!(program.moved, 0);
}

/// A block stays filled until all ranges have left it, even if a range is dropped instead of moved.
#[test]
fn compaction_places_no_range_in_a_block_being_emptied() {
    for mut program in pools(13) {
        program.fragment(16, 10);
        let mut moves = Vec::new();
        assert!(!program.compact(AMPLE, &mut moves));
        let dropped = moves.pop().unwrap();
        let index = program.live.iter().position(|live| live.at == dropped.from).unwrap();
        let Live { size, align, .. } = program.live.swap_remove(index);
        for place in [dropped.from, dropped.to] {
            program.pool.free(place.handle, size).unwrap();
        }
        // Dropped ranges leave no free range for others, even before the next call.
        while let Some((found, _)) = program.pool.allocate(size, align) {
            assert!(moves.iter().all(|moved| moved.from.block != found.block), "{found:?}");
            program.live.push(Live { at: found, size, align, moves: true });
        }
        program.make(&mut moves);
        program.check();
    }
}

/// The fillers of a block are freed over several calls, and buddies merge into several free ranges, which are all
/// filled again.
#[test]
fn compaction_places_no_range_in_a_block_freed_in_steps() {
    let mut program = Program::new(PoolSuballocator::buddy(256), 1);
    // 128, 64 and 8 KiB, and the same again with half in use.
    for (block, sizes) in [(200 * KIB, vec![KIB; 200]), (BLOCK, vec![128 * KIB, KIB])] {
        for (number, size) in sizes.into_iter().enumerate() {
            let found = program.pool.allocate(size, 16).filter(|_| number > 0).map(|(at, _)| at);
            let retired = &mut program.retired;
            let at = found
                .unwrap_or_else(|| program.pool.add_and_allocate(block, block, size, 16, retired).unwrap());
            program.live.push(Live { at, size, align: 16, moves: true });
        }
    }
    let sparse = program.live[0].at.block;
    let mut number = 0;
    let is_gone = |live: &mut Live| {
        number += 1;
        live.at.block == sparse && number % 2 == 0
    };
    for gone in program.live.extract_if(.., is_gone) {
        program.pool.free(gone.at.handle, gone.size).unwrap();
    }
    let (mut moves, budget) = (Vec::new(), CompactionBudget { pieces: 1, ..AMPLE });
    for _ in 0..10_000 {
        program.compact(budget, &mut moves);
        program.make(&mut moves);
        if program.pool.block(sparse).is_none() {
            return program.check();
        }
        if let Some((found, _)) = program.pool.allocate(6 * KIB, 16) {
            assert_ne!(found.block, sparse);
            program.pool.free(found.handle, 6 * KIB).unwrap();
        }
    }
    panic!("it does not end");
}

/// A planned move is not planned again when its block is chosen again, whether or not it is carried out.
#[test]
fn planned_moves_are_not_planned_again_after_a_stop() {
    for mut program in pools(17) {
        program.fragment(16, 10);
        let (mut told, mut more) = (Vec::new(), Vec::new());
        let frame = CompactionBudget { moves: 10, ..AMPLE };
        assert!(!program.compact(frame, &mut told) && told.len() == 10);
        assert!(program.pool.stop_compaction());
        for moved in &told {
            program.pool.free(moved.to.handle, moved.size).unwrap();
        }
        let blocks: Vec<BlockId> = told.iter().map(|moved| moved.from.block).collect();
        while !program.compact(AMPLE, &mut more) {
            assert!(more.iter().all(|moved| !told.iter().any(|old| old.from == moved.from)));
            program.make(&mut more);
        }
        assert!(blocks.iter().all(|block| program.pool.block(*block).is_some()));
        // After they are freed, the others can move.
        for moved in told {
            let gone = program.live.extract_if(.., |live| live.at == moved.from).next().unwrap();
            program.pool.free(gone.at.handle, gone.size).unwrap();
        }
        program.settle(AMPLE);
    }
}

/// With blocks of many sizes the kept blocks are just large enough, each range moves once, and not much more moves
/// than the content of the same number of emptiest blocks.
#[test]
fn the_smallest_sufficient_blocks_are_kept() {
    for seed in 0..10 {
        let mut program = Program::new(PoolSuballocator::general(16).unwrap(), seed);
        for block in 0..40 {
            let block = BLOCK + block * 64 * KIB;
            let at = program.pool.add_and_allocate(block, block, 2 * KIB, 16, &mut program.retired).unwrap();
            program.live.push(Live { at, size: 2 * KIB, align: 16, moves: true });
            // A block is filled before the next one is created.
            loop {
                let size = 512 + program.rng.below(1536);
                let Some((at, _)) = program.pool.allocate(size, 16) else { break };
                program.live.push(Live { at, size, align: 16, moves: true });
            }
        }
        for _ in 0..program.live.len() * 9 / 10 {
            program.free_some();
        }
        let (before, count) = (program.by_block(), program.live.len());
        let mut calls = 0;
        let mut moves = Vec::new();
        let mut told = std::collections::BTreeSet::new();
        while !program.compact(CompactionBudget { pieces: 250, ..AMPLE }, &mut moves) {
            for moved in &moves {
                let is_new = told.insert((moved.to.block.index(), moved.to.offset));
                assert!(is_new && !told.contains(&(moved.from.block.index(), moved.from.offset)), "twice");
            }
            program.make(&mut moves);
            calls += 1;
            assert!(calls < 10_000, "it does not end");
        }
        program.check();
        let after = program.by_block();
        let least: u64 = before.iter().take(before.len() - after.len()).sum();
        assert!(program.moved * 100 <= least * 115, "seed {seed}: {} moved, not {least}", program.moved);
        let totals = program.pool.totals();
        assert!(
            totals.requested * 100 >= totals.capacity * 95,
            "seed {seed}: {count} ranges, {totals:?}, {} blocks of {}",
            after.len(),
            before.len()
        );
    }
}
