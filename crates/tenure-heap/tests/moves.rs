//! Moving ranges of pooled heaps: their bytes are not reused, with any allocations and frees in between.

use std::cell::RefCell;
use std::rc::Rc;

use tenure_heap::{
    CompactionBudget, HeapCategory, HeapDesc, HeapDevice, HeapError, HeapPools, HeapPoolsConfig,
    HeapProperties, MemoryFlags, MemoryHeap, MemoryMove, MemoryRange, MemoryRequest, MemoryType,
    MemoryTypeId,
};
use test_random::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TYPES: [MemoryTypeId; 2] = [MemoryTypeId(0), MemoryTypeId(1)];

/// A heap of CPU memory.
type Heap = Rc<RefCell<Vec<u8>>>;

/// A card with 64 MiB of its own memory and 64 MiB of system memory in use by the tests.
struct Card;

impl HeapDevice for Card {
    type Heap = Heap;
    type Error = HeapError;

    fn properties(&self) -> HeapProperties {
        HeapProperties {
            memory_types: vec![
                MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 },
                MemoryType { flags: MemoryFlags::HOST_VISIBLE | MemoryFlags::HOST_COHERENT, heap: 1 },
            ],
            memory_heaps: vec![
                MemoryHeap { size: 64 * MIB, device_local: true },
                MemoryHeap { size: 64 * MIB, device_local: false },
            ],
            heap_alignment: 64 * KIB,
            msaa_heap_alignment: 4 * MIB,
            non_coherent_atom: 64,
            max_allocations: 4096,
            max_heap_size: 16 * MIB,
        }
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, HeapError> {
        Ok(Rc::new(RefCell::new(vec![0; usize::try_from(desc.size).unwrap_or(0)])))
    }

    fn destroy_heap(&self, heap: Heap) {
        // Overwrites ranges that are still in use.
        heap.borrow_mut().fill(0xee);
    }
}

fn pools(compacts: bool) -> HeapPools<Card> {
    let config = HeapPoolsConfig::default().compacts(compacts);
    let mut pools = HeapPools::new(Card, config).unwrap_or_else(|error| panic!("{error}"));
    assert!([0, 1].into_iter().all(|heap| pools.set_cap(heap, Some(64 * MIB))));
    pools
}

/// A range with its contents.
struct Live {
    range: MemoryRange,
    alignment: u64,
    byte: u8,
}

/// A program's ranges and moves, with a clock.
struct Program {
    pools: HeapPools<Card>,
    live: Vec<Live>,
    /// Old locations, each kept until the GPU has copied it.
    copied: Vec<MemoryRange>,
    rng: Rng,
}

impl Program {
    fn new(seed: u64) -> Self {
        Self { pools: pools(true), live: Vec::new(), copied: Vec::new(), rng: Rng::new(seed) }
    }

    fn bytes(&self, range: &MemoryRange) -> (Heap, std::ops::Range<usize>) {
        let heap = self.pools.heap(range).unwrap_or_else(|| panic!("{range:?} lives"));
        let first = range.offset() as usize;
        (heap.clone(), first..first + range.size() as usize)
    }

    fn allocate(&mut self) {
        let size = [200, 5 * KIB, 70 * KIB, 300 * KIB][self.rng.below(4) as usize] + self.rng.below(100);
        let alignment = 1 << self.rng.below(17);
        let order = if self.rng.below(3) == 0 { &TYPES[1..] } else { &TYPES[..1] };
        let category = [HeapCategory::Buffers, HeapCategory::Textures][self.rng.below(2) as usize];
        let mut request = MemoryRequest::new(size, alignment, order, category);
        request.name = "rock".into();
        let Ok((range, ())) = self.pools.allocate(request, |_| ()) else { return };
        let byte = self.rng.below(255) as u8;
        let (heap, place) = self.bytes(&range);
        heap.borrow_mut()[place].fill(byte);
        self.live.push(Live { range, alignment, byte });
    }

    fn free(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let gone = self.live.swap_remove(self.rng.below(self.live.len() as u64) as usize);
        assert_eq!(self.pools.free(&gone.range), Ok(()));
    }

    /// Copies immediately, and frees the old location at some later time.
    fn carry_out(&mut self, moved: MemoryMove) {
        let MemoryMove { from, to } = moved;
        let (old, at) = self.bytes(&from);
        let content = old.borrow()[at].to_vec();
        let (new, place) = self.bytes(&to);
        new.borrow_mut()[place].copy_from_slice(&content);
        let live = self.live.iter_mut().find(|live| live.range == from);
        let live = live.unwrap_or_else(|| panic!("only live ranges move"));
        assert_eq!((to.size(), to.memory()), (from.size(), from.memory()));
        assert_eq!(to.offset() % live.alignment, 0);
        assert_eq!(self.pools.name(&to), self.pools.name(&from));
        live.range = to;
        self.copied.push(from);
    }

    fn compact(&mut self, budget: CompactionBudget) -> bool {
        let mut moves = Vec::new();
        let is_done = self.pools.compact(budget, |_| true, &mut moves);
        let bytes: u64 = moves.iter().map(|moved| moved.from.size()).sum();
        assert!(moves.len() <= budget.moves && (moves.len() <= 1 || bytes <= budget.bytes));
        moves.into_iter().for_each(|moved| self.carry_out(moved));
        while self.rng.below(3) > 0 {
            let Some(old) = self.copied.pop() else { break };
            assert_eq!(self.pools.free(&old), Ok(()));
        }
        is_done
    }

    /// Every range has its contents.
    fn check(&self) {
        for live in &self.live {
            let (heap, place) = self.bytes(&live.range);
            assert!(heap.borrow()[place].iter().all(|byte| *byte == live.byte), "{:?}", live.range);
        }
        let totals = self.pools.totals();
        assert_eq!(totals.allocations, (self.live.len() + self.copied.len()) as u64);
        let old = self.copied.iter().chain(self.live.iter().map(|live| &live.range));
        assert_eq!(totals.requested, old.map(MemoryRange::size).sum::<u64>());
    }
}

const FRAME: CompactionBudget = CompactionBudget { bytes: MIB, moves: 16, pieces: 100 };

#[test]
fn bytes_stay_with_their_range() {
    for seed in 0..30 {
        let mut program = Program::new(seed);
        for step in 0..600 {
            // The number of ranges grows, shrinks, and grows again.
            match program.rng.below(10) {
                0..3 => program.allocate(),
                3..6 if step / 100 % 2 == 0 => program.allocate(),
                3..6 => program.free(),
                6 => program.free(),
                7 if program.rng.below(10) == 0 => {
                    program.pools.stop_compaction();
                }
                8 if program.rng.below(10) == 0 => program.pools.trim(),
                _ => {
                    program.compact(FRAME);
                }
            }
            if step % 50 == 0 {
                program.check();
            }
        }
        program.check();
    }
}

#[test]
fn sparse_heaps_are_emptied_and_then_nothing_moves() {
    for seed in 0..10 {
        let mut program = Program::new(seed);
        (0..400).for_each(|_| program.allocate());
        (0..350).for_each(|_| program.free());
        let mut frames = 0;
        while !program.compact(FRAME) {
            frames += 1;
            assert!(frames < 1000, "seed {seed}: it does not end");
        }
        program.check();
        let (mut moves, before) = (Vec::new(), program.pools.totals().reserved);
        for _ in 0..10 {
            assert!(program.pools.compact(FRAME, |_| true, &mut moves));
        }
        assert!(moves.is_empty() && program.pools.totals().reserved == before);
        // Each of the four pools has less than one superfluous block.
        let free = before - program.pools.totals().requested;
        assert!(free < 8 * MIB, "seed {seed}: {free} of {before} are free");
    }
}

#[test]
fn immovable_ranges_do_not_move() {
    let mut program = Program::new(1);
    (0..300).for_each(|_| program.allocate());
    (0..250).for_each(|_| program.free());
    let mut moves = Vec::new();
    for _ in 0..100 {
        program.pools.compact(FRAME, |_| false, &mut moves);
    }
    assert!(moves.is_empty());
    program.check();
    // The same in pools without support for moves.
    let mut plain = pools(false);
    let request = MemoryRequest::new(100 * KIB, 256, &TYPES[..1], HeapCategory::Any);
    let ranges: Vec<_> = (0..100).filter_map(|_| plain.allocate(request.clone(), |_| ()).ok()).collect();
    for (range, ()) in ranges.iter().skip(1).step_by(2).chain(ranges.iter().step_by(4)) {
        assert_eq!(plain.free(range), Ok(()));
    }
    for _ in 0..100 {
        plain.compact(FRAME, |_| true, &mut moves);
    }
    assert!(moves.is_empty());
}

/// An impossible move is abandoned, and a request that finds no memory gets the memory reserved for moves.
#[test]
fn emptying_stops_for_a_request() {
    let mut pools = pools(true);
    let request = |size| MemoryRequest::new(size, 256, &TYPES[..1], HeapCategory::Buffers);
    let mut ranges = Vec::new();
    while let Ok((range, ())) = pools.allocate(request(MIB), |_| ()) {
        ranges.push(range);
    }
    assert!(ranges.len() >= 60);
    for range in ranges.iter().step_by(2) {
        assert_eq!(pools.free(range), Ok(()));
    }
    let mut moves = Vec::new();
    let frame = CompactionBudget { moves: 1, bytes: MIB, pieces: 10_000 };
    pools.compact(frame, |_| true, &mut moves);
    assert_eq!(moves.len(), 1);
    // All freed ranges, except the destination of the one move.
    let again: Vec<_> = std::iter::from_fn(|| pools.allocate(request(MIB), |_| ()).ok()).collect();
    assert!(again.len() + 1 >= ranges.len().div_ceil(2), "{} of {}", again.len(), ranges.len());
    assert_eq!(pools.free(&moves[0].to), Ok(()));
    assert_eq!(pools.free(&moves[0].from), Ok(()));
    assert!(pools.heap(&moves[0].from).is_none());
}
