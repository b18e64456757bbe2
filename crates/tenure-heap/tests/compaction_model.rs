//! Compaction compared with a model of a program's ranges: with allocations, frees, late or missing moves, and stops,
//! in blocks of several sizes.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use tenure_heap::{CompactionBudget, Pool, PoolSuballocator, RangeMove, RangeNeeds};
use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator, Handle};
use test_random::Rng;

const KIB: u64 = 1 << 10;
const AMPLE: CompactionBudget = CompactionBudget { bytes: u64::MAX, moves: usize::MAX, pieces: usize::MAX };

/// A range of the program.
#[derive(Clone, Copy, Debug)]
struct Live {
    at: BlockAllocation,
    size: u64,
    align: u64,
    can_move: bool,
    /// Its move was planned but abandoned: it never moves again.
    is_told: bool,
}

struct Model {
    pool: Pool<u64, PoolSuballocator>,
    /// By block and offset.
    live: BTreeMap<(usize, u64), Live>,
    /// Planned moves that are neither carried out nor abandoned.
    pending: Vec<RangeMove>,
    /// Bytes of each created block, by number.
    blocks: Vec<u64>,
    /// Numbers of freed blocks.
    retired: Vec<u64>,
    /// Numbers of blocks with planned moves since the last stop.
    left: Vec<u64>,
    /// The ranges moved since the last compaction.
    arrived: Vec<Handle>,
    rng: Rng,
}

fn key(at: &BlockAllocation) -> (usize, u64) {
    (at.block.index(), at.offset)
}

impl Model {
    fn new(is_buddy: bool, seed: u64) -> Self {
        let suballocator = if is_buddy {
            PoolSuballocator::buddy(256)
        } else {
            PoolSuballocator::general(1 << (seed % 9)).unwrap()
        };
        Self {
            pool: Pool::new(suballocator, 1_000_000),
            live: BTreeMap::new(),
            pending: Vec::new(),
            blocks: Vec::new(),
            retired: Vec::new(),
            left: Vec::new(),
            arrived: Vec::new(),
            rng: Rng::new(seed),
        }
    }

    fn is_there(&self, number: u64) -> bool {
        !self.retired.contains(&number)
    }

    fn allocate(&mut self) {
        let size = 1 + self.rng.below([300, 4 * KIB, 40 * KIB][self.rng.clone().below(3) as usize]);
        let (align, can_move) = (1 << self.rng.below(11), self.rng.below(12) > 0);
        let mut found = self.pool.allocate(size, align).map(|(found, _)| found);
        if found.is_none() {
            self.stop();
            found = self.pool.allocate(size, align).map(|(found, _)| found);
        }
        let at = found.unwrap_or_else(|| {
            let bytes = [64, 96, 128, 200, 256][self.rng.below(5) as usize] * KIB;
            let number = self.blocks.len() as u64;
            self.blocks.push(bytes);
            self.pool.add_and_allocate(number, bytes, size, align, &mut self.retired).unwrap()
        });
        self.insert(Live { at, size, align, can_move, is_told: false });
    }

    /// Adds a range, which must not overlap another.
    fn insert(&mut self, live: Live) {
        let (start, end) = (live.at.offset, live.at.offset + live.at.size);
        assert!(live.at.size >= live.size && start.is_multiple_of(live.align), "{live:?}");
        let block = live.at.block.index();
        let number = *self.pool.block(live.at.block).expect("every range is in a block");
        assert!(self.is_there(number) && end <= self.blocks[number as usize], "{live:?}");
        let before = self.live.range(..(block, end)).next_back();
        let is_apart = before.is_none_or(|((of, at), old)| *of != block || at + old.at.size <= start);
        assert!(is_apart, "{live:?} overlaps {before:?}");
        assert!(self.live.insert(key(&live.at), live).is_none());
    }

    fn free(&mut self, at: &BlockAllocation) {
        let gone = self.live.remove(&key(at)).unwrap();
        let freed = self.pool.free(gone.at.handle, gone.size).unwrap();
        assert_eq!((freed.block, freed.offset), (at.block, at.offset));
        assert!(self.pool.free(gone.at.handle, gone.size).is_err(), "freed twice");
    }

    fn free_some(&mut self) {
        let nth = self.rng.below(self.live.len().max(1) as u64) as usize;
        let Some(at) = self.live.values().nth(nth).map(|live| live.at) else { return };
        // Dropping a moving range drops all its locations: each move may be followed by another.
        let mut places = vec![at];
        let mut next = 0;
        while let Some(at) = places.get(next).copied() {
            for moved in self.pending.extract_if(.., |moved| moved.from == at || moved.to == at) {
                places.push(if moved.from == at { moved.to } else { moved.from });
            }
            next += 1;
        }
        places.iter().for_each(|at| self.free(at));
    }

    fn compact(&mut self, budget: CompactionBudget) -> bool {
        let mut moves = Vec::new();
        let mut asked = Vec::new();
        let live = &self.live;
        let needs = |range: &BlockAllocation| {
            let found = live.get(&key(range)).filter(|live| live.at == *range);
            let found = found.expect("only live ranges are queried");
            assert!(!found.is_told, "told again");
            assert!(!asked.contains(&key(range)), "queried twice in a call");
            asked.push(key(range));
            found.can_move.then_some(RangeNeeds { size: found.size, alignment: found.align })
        };
        let is_done = self.pool.compact(budget, needs, &mut moves, &mut self.retired);
        let bytes: u64 = moves.iter().map(|moved| moved.size).sum();
        assert!(moves.len() <= budget.moves && (bytes <= budget.bytes || moves.len() == 1));
        self.left.retain(|number| !self.retired.contains(number));
        moves.into_iter().for_each(|moved| self.note_move(moved));
        self.retired.sort_unstable();
        assert!(self.retired.is_sorted_by(|one, next| one < next), "retired twice");
        let lost = self.live.values().find(|live| self.pool.block(live.at.block).is_none());
        assert!(lost.is_none(), "{lost:?} is in a retired block");
        if is_done {
            self.arrived.clear();
            assert_eq!(self.left, [], "ranges moved out of a block that was not retired");
        }
        is_done
    }

    fn note_move(&mut self, moved: RangeMove) {
        let RangeMove { from, to, size } = moved;
        let live =
            self.live.get_mut(&key(&from)).filter(|live| live.at == from).expect("only live ranges move");
        assert!(live.can_move && !live.is_told && live.size == size && from.block != to.block);
        assert!(!self.arrived.contains(&from.handle), "{from:?} moves twice");
        live.is_told = true;
        let arriving = Live { at: to, is_told: false, ..*live };
        let number = *self.pool.block(from.block).unwrap();
        if !self.left.contains(&number) {
            self.left.push(number);
        }
        self.insert(arriving);
        self.arrived.push(to.handle);
        self.pending.push(moved);
    }

    /// Carries out some or all of the moves, in the planned order.
    fn make(&mut self, is_all: bool) {
        while !self.pending.is_empty() && (is_all || self.rng.below(4) > 0) {
            let moved = self.pending.remove(0);
            self.free(&moved.from);
        }
    }

    /// Abandons the last moves: the ranges stay in place, and their moves are not planned again.
    fn fail(&mut self) {
        while let Some(moved) = self.pending.pop_if(|moved| !self.live[&key(&moved.to)].is_told) {
            self.free(&moved.to);
        }
        self.stop();
    }

    /// Stops: all free bytes can be allocated again.
    fn stop(&mut self) {
        self.pool.stop_compaction();
        (self.left, self.arrived) = (Vec::new(), Vec::new());
        let ranges = self.pool.suballocator();
        for block in ranges.blocks() {
            let used: u64 = ranges.allocations_in(block).map(|range| range.size + range.padding).sum();
            let known = self.live.range((block.index(), 0)..(block.index() + 1, 0));
            let known: u64 = known.map(|(_, live)| live.at.size + live.at.padding).sum();
            assert_eq!(used, known, "compaction left allocations in {block:?}");
        }
        assert!(!self.pool.stop_compaction(), "stopped twice");
    }

    fn check(&self) {
        let totals = self.pool.totals();
        assert_eq!(totals.allocations, self.live.len() as u64);
        assert_eq!(totals.requested, self.live.values().map(|live| live.size).sum::<u64>());
        assert_eq!(totals.used, self.live.values().map(|live| live.at.size + live.at.padding).sum::<u64>());
        assert_eq!(totals.padding, self.live.values().map(|live| live.at.padding).sum::<u64>());
        let bytes = (0..).zip(&self.blocks).filter(|(number, _)| self.is_there(*number));
        let granule = 256;
        assert!(totals.capacity.abs_diff(bytes.map(|(_, bytes)| *bytes).sum()) < granule);
        let ranges = self.pool.suballocator();
        self.live.values().for_each(|live| assert_eq!(ranges.get(live.at.handle), Some(live.at)));
        ranges.validate().unwrap();
    }

    /// Compacts until no work is left.
    fn settle(&mut self, budget: CompactionBudget) {
        for call in 0.. {
            assert!(call < 20_000, "it does not end");
            let is_done = self.compact(budget);
            self.make(true);
            if is_done {
                break;
            }
        }
        let (totals, retired) = (self.pool.totals(), self.retired.len());
        for _ in 0..3 {
            assert!(self.compact(AMPLE));
        }
        assert_eq!((self.pool.totals(), self.retired.len()), (totals, retired));
        assert!(self.pending.is_empty());
        self.check();
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Allocate(u8),
    Free(u8),
    Compact { bytes: u64, moves: usize, pieces: usize },
    Make,
    Fail,
    Stop,
    EndFrame,
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let budget = (0..64 * KIB, 0..20_usize, 0..60_usize);
    prop_oneof![
        30 => (1..20_u8).prop_map(Step::Allocate),
        30 => (1..24_u8).prop_map(Step::Free),
        60 => budget.prop_map(|(bytes, moves, pieces)| Step::Compact { bytes, moves, pieces }),
        20 => Just(Step::Make),
        2 => Just(Step::Fail),
        2 => Just(Step::Stop),
        4 => Just(Step::EndFrame),
        2 => Just(Step::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn compaction_agrees_with_the_model(
        seed: u64,
        is_buddy: bool,
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut model = Model::new(is_buddy, seed);
        (0..150).for_each(|_| model.allocate());
        (0..90).for_each(|_| model.free_some());
        for step in steps {
            match step {
                Step::Allocate(count) => (0..count).for_each(|_| model.allocate()),
                Step::Free(count) => (0..count).for_each(|_| model.free_some()),
                Step::Compact { bytes, moves, pieces } => {
                    model.compact(CompactionBudget { bytes, moves, pieces });
                }
                Step::Make => model.make(false),
                Step::Fail => model.fail(),
                Step::Stop => model.stop(),
                Step::EndFrame => {
                    model.pool.end_frame(&mut model.retired);
                    model.pool.take_empty(&mut model.retired);
                }
                Step::Settle => {
                    model.make(true);
                    model.settle(CompactionBudget { bytes: 9 * KIB, moves: 7, pieces: 11 });
                }
            }
            model.check();
        }
        model.make(true);
        model.settle(AMPLE);
        while let Some(at) = model.live.values().next().map(|live| live.at) {
            model.free(&at);
        }
        model.stop();
        prop_assert!(model.pool.suballocator().is_empty());
    }
}

/// Tracks the existing blocks, to detect a number that is reused for another block.
#[test]
fn blocks_are_returned_once_and_empty() {
    for seed in 0..6 {
        let mut model = Model::new(seed % 2 == 0, seed);
        (0..400).for_each(|_| model.allocate());
        (0..330).for_each(|_| model.free_some());
        model.settle(CompactionBudget { bytes: 32 * KIB, moves: 5, pieces: 40 });
        let left: Vec<BlockId> = model.pool.blocks().map(|(id, ..)| id).collect();
        assert!(model.live.values().all(|live| left.contains(&live.at.block)));
    }
}
