//! Empty large blocks serve only large ranges, unless no other memory is available, or the driver would have to
//! create blocks repeatedly.

use std::collections::BTreeMap;

use tenure_heap::{BlockShape, Growth, Pool, PoolSuballocator};
use tenure_suballoc::{BlockAllocation, GeneralBlocks};
use test_random::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const ALIGN: u64 = 64 * KIB;

/// A program with a pool: a request that finds it full gets a block of exactly its size, or of the size for the
/// pool's growth.
struct Program {
    pool: Pool<u64, GeneralBlocks>,
    growth: Option<Growth>,
    retired: Vec<u64>,
    made: u64,
    /// Bytes of all blocks.
    reserved: u64,
}

impl Program {
    fn new() -> Self {
        let suballocator = GeneralBlocks::new(256).unwrap_or_else(|error| panic!("{error}"));
        let pool = Pool::new(suballocator, 16);
        Self { pool, growth: None, retired: Vec::new(), made: 0, reserved: 0 }
    }

    fn growing() -> Self {
        let (limit, shape) = (1 << 40, BlockShape::Multiple);
        let [min, max] = [128 * KIB, 64 * MIB];
        let growth = Growth { min, max, limit, divisor: 16, alignment: ALIGN, shape, halvings: 3 };
        Self { growth: Some(growth), ..Self::new() }
    }

    fn allocate(&mut self, size: u64) -> BlockAllocation {
        if let Some((found, _)) = self.pool.allocate(size, ALIGN) {
            return found;
        }
        let exact = size.next_multiple_of(ALIGN);
        let wanted = self.growth.and_then(|growth| growth.sizes(size, ALIGN, self.pool.taken()).next());
        let block = wanted.unwrap_or(exact);
        if let Some((found, _)) = self.pool.allocate_anywhere(size, ALIGN, block) {
            return found;
        }
        (self.made, self.reserved) = (self.made + 1, self.reserved + block);
        let found = self.pool.add_and_allocate(block, block, size, ALIGN, &mut self.retired);
        self.let_go();
        found.unwrap_or_else(|unfit| panic!("{unfit:?}"))
    }

    fn free(&mut self, found: &BlockAllocation, size: u64) {
        assert!(self.pool.free(found.handle, size).is_ok());
    }

    fn end_frame(&mut self) {
        self.pool.end_frame(&mut self.retired);
        self.let_go();
    }

    fn let_go(&mut self) {
        self.reserved -= self.retired.drain(..).sum::<u64>();
    }
}

/// Small ranges do not prevent the release of a level's memory.
#[test]
fn small_ranges_do_not_keep_large_blocks() {
    let mut program = Program::new();
    let level = program.allocate(16 * MIB);
    program.free(&level, 16 * MIB);
    let small = program.allocate(64 * KIB);
    assert_eq!(program.reserved, 64 * KIB);
    program.free(&small, 64 * KIB);
}

/// A request for most of the block uses it, as does a request beside a live range there.
#[test]
fn large_blocks_are_used_again() {
    let mut program = Program::new();
    let level = program.allocate(16 * MIB);
    program.free(&level, 16 * MIB);
    let next = program.allocate(12 * MIB);
    let beside = program.allocate(64 * KIB);
    assert_eq!((program.made, next.block, beside.block), (1, level.block, level.block));
    // Blocks below the size of large blocks serve all requests.
    let mut program = Program::new();
    let mesh = program.allocate(3 * MIB);
    program.free(&mesh, 3 * MIB);
    assert_eq!(program.allocate(64 * KIB).block, mesh.block);
}

/// If no new block can be allocated, the empty one serves all requests, and then is like any other block.
#[test]
fn a_large_block_is_better_than_none() {
    let mut program = Program::new();
    let level = program.allocate(16 * MIB);
    program.free(&level, 16 * MIB);
    let mut anywhere = |most| program.pool.allocate_anywhere(64 * KIB, ALIGN, most).map(|(found, _)| found);
    assert_eq!(anywhere(16 * MIB - 1), None);
    let first = anywhere(16 * MIB).unwrap_or_else(|| panic!("there is room"));
    program.free(&first, 64 * KIB);
    assert_eq!(program.allocate(64 * KIB).block, level.block);
}

/// Memory lent to another pool does not keep a large block either. Its return leaves the block empty.
#[test]
fn pieces_do_not_keep_large_blocks() {
    let mut program = Program::new();
    let level = program.allocate(16 * MIB);
    program.free(&level, 16 * MIB);
    assert_eq!(program.pool.lend(64 * KIB, ALIGN), None);
    let piece = program.pool.lend(15 * MIB, ALIGN).unwrap_or_else(|| panic!("there is room"));
    assert!(program.pool.free_lent(piece.handle).is_ok());
    assert_eq!(program.pool.lend(64 * KIB, ALIGN), None);
}

/// Two sizes alternate forever: the pool detects this and lets them share a block.
#[test]
fn sizes_that_take_turns_share_a_block() {
    let mut program = Program::new();
    for frame in 0..2000 {
        let size = if frame % 2 == 0 { 16 * MIB } else { 8 * MIB };
        let found = program.allocate(size);
        program.free(&found, size);
        program.end_frame();
    }
    assert!(program.made <= 40, "{} blocks in 2,000 frames", program.made);
    assert_eq!(program.reserved, 16 * MIB);
}

/// Levels with targets of different sizes, in units of 64 KiB, alternate. After the pool has detected this, it
/// creates no more blocks, and reserves at most half more than the largest level needs.
#[test]
fn levels_that_take_turns_share_blocks() {
    const LEVELS: [&[u64]; 6] = [
        &[30, 384, 256, 57, 225, 225, 30, 118, 118],
        &[48, 192, 192, 75, 75, 30, 63],
        &[384, 256, 127, 127, 507, 507],
        &[32, 1024, 127, 127, 507, 507],
        &[160, 30, 48, 63, 48],
        &[2, 3],
    ];
    let mut program = Program::growing();
    let (mut most, mut made, live) = (0, 0, (32 + 1024 + 2 * 127 + 2 * 507 + 20) * ALIGN);
    for round in 0..60 {
        for level in LEVELS {
            let sizes = || [1; 20].iter().chain(level).map(|units| units * ALIGN);
            let found: Vec<_> = sizes().map(|size| program.allocate(size)).collect();
            (0..7).for_each(|_| program.end_frame());
            most = most.max(program.reserved);
            found.iter().zip(sizes()).for_each(|(found, size)| program.free(found, size));
            program.end_frame();
        }
        if round == 19 {
            made = program.made;
        }
    }
    assert_eq!(program.made, made, "blocks made after 20 rounds");
    assert!(most * 2 <= live * 3, "{most} B reserved, {live} B live");
}

/// Targets with constantly changing sizes, beside lasting small ranges: sharing that wastes memory ends.
#[test]
fn sharing_that_wastes_memory_ends() {
    let mut all = [0, 0];
    for seed in 0..20 {
        let (mut program, mut rng) = (Program::growing(), Rng::new(seed));
        let mut lasting: Vec<(BlockAllocation, u64)> = Vec::new();
        let (mut targets, mut live, mut most) = (Vec::new(), 0, 0);
        for frame in 0..4000 {
            if frame % 20 < 3 {
                targets.drain(..).for_each(|(found, size)| program.free(&found, size));
                let units = 8 + rng.below(92);
                for size in [4, 8, 4, 4, 16].map(|bytes| units * bytes * ALIGN) {
                    targets.push((program.allocate(size), size));
                }
            }
            if lasting.len() > 60 {
                let (found, size) = lasting.swap_remove(rng.below(60) as usize);
                program.free(&found, size);
            }
            let size = (1 + rng.below(8)) * ALIGN;
            lasting.push((program.allocate(size), size));
            program.end_frame();
            live = live.max(program.pool.used());
            most = most.max(program.reserved);
        }
        all = [all[0] + most, all[1] + live];
    }
    let [most, live] = all;
    assert!(most * 20 <= live * 29, "{most} B reserved, {live} B live");
}

/// For all allocations and frees no two ranges overlap, and reserved bytes equal live bytes, except in shared blocks.
#[test]
fn ranges_of_all_sizes_do_not_overlap() {
    for seed in 0..20 {
        let (mut program, mut rng) = (Program::new(), Rng::new(seed));
        let mut live: Vec<(BlockAllocation, u64)> = Vec::new();
        for _ in 0..400 {
            if rng.below(2) == 0 || live.is_empty() {
                let size = [64 * KIB, 300 * KIB, 4 * MIB, 9 * MIB, 16 * MIB][rng.below(5) as usize];
                live.push((program.allocate(size), size));
            } else {
                let (found, size) = live.swap_remove(rng.below(live.len() as u64) as usize);
                program.free(&found, size);
            }
            if rng.below(8) == 0 {
                program.end_frame();
            }
            let mut taken = BTreeMap::new();
            for (found, size) in &live {
                taken.insert((found.block.index(), found.offset), size);
            }
            let ends = taken.iter().zip(taken.iter().skip(1));
            for (((block, offset), size), ((next, after), _)) in ends {
                assert!(block != next || offset + **size <= *after, "seed {seed}");
            }
            assert_eq!(program.pool.totals().capacity, program.reserved, "seed {seed}");
        }
    }
}

/// A block of a power of two that was created for a range of little more than half of it serves all later requests.
#[test]
fn padding_of_a_buddy_does_not_count() {
    let mut pool = Pool::new(PoolSuballocator::buddy(256), 16);
    let level = pool.add_and_allocate((), 16 * MIB, 9 * MIB, 1, &mut Vec::new());
    let level = level.unwrap_or_else(|unfit| panic!("{unfit:?}"));
    assert!(pool.free(level.handle, 9 * MIB).is_ok());
    assert!(pool.allocate(8 * MIB, 1).is_some(), "it was not created for one range of most of its size");
}
