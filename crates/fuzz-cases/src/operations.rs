//! Random operations of suballocators, by the million, each beside its model.

use test_random::Rng;

use crate::model::{blocks, buddy, general, linear, one_range, ring, sets, slots};

/// Operations that begin with an empty suballocator.
const ROUND: usize = 20_000;
/// The number of operations between comparisons of the whole state; the result of each operation is compared at
/// once.
const EVERY: usize = 64;

/// A suballocator: its name, and a function that plays a number of operations with it.
pub type Played = (&'static str, fn(&mut Rng, usize));

/// All of them.
pub const SUBALLOCATORS: &[Played] = &[
    ("General", general),
    ("Buddy", buddy),
    ("Slots", slots),
    ("Ring", ring),
    ("Linear", linear),
    ("GeneralBlocks", general_blocks),
    ("Growing<Buddy>", growing_buddies),
];

/// Plays `count` operations with the suballocator of that name, in rounds.
///
/// # Panics
/// If one of them violates its contract, or there is no such suballocator.
pub fn play(name: &str, count: u64, seed: u64) {
    let found = SUBALLOCATORS.iter().find(|(found, _)| *found == name);
    let Some((_, play)) = found else { panic!("no suballocator is named {name}") };
    let (mut rng, mut left) = (Rng::new(seed), count);
    while left > 0 {
        let now = left.min(ROUND as u64);
        play(&mut rng, now as usize);
        left -= now;
    }
}

/// Mostly small, now and then anything.
fn size(rng: &mut Rng) -> u64 {
    match rng.below(130) {
        0 => 0,
        1 => rng.next(),
        2 => 1 << rng.below(64),
        3..10 => 1 + rng.below(20_000),
        10..50 => 1 + rng.below(4000),
        _ => 1 + rng.below(300),
    }
}

fn align(rng: &mut Rng) -> u64 {
    match rng.below(85) {
        0 => [0, 3, u64::MAX][rng.below(3) as usize],
        1..4 => 1 << rng.below(64),
        4..45 => 1 << rng.below(9),
        _ => 1,
    }
}

/// A random capacity of a range, and a granule.
fn capacity(rng: &mut Rng) -> (u64, u64) {
    let granule = [1, 4, 16, 256][rng.below(4) as usize];
    let capacity = match rng.below(8) {
        0 => 1024 + rng.below(2000),
        1 => 1 << (10 + rng.below(11)),
        _ => 10_000 + rng.below(100_000),
    };
    (capacity, granule)
}

fn one_range(rng: &mut Rng) -> one_range::Op {
    use one_range::Op;
    match rng.below(1922) {
        0 => Op::Clear,
        1 => Op::Fill,
        2..12 => Op::FreeForeign,
        12..52 => Op::FreeAgain { nth: rng.next() as u32 },
        52..902 => Op::Free { nth: rng.next() as u32 },
        902..922 => Op::AllocateLargest { more: rng.next() as i8, align: align(rng) },
        _ => Op::Allocate { size: size(rng), align: align(rng) },
    }
}

fn general(rng: &mut Rng, count: usize) {
    let (capacity, granule) = capacity(rng);
    let ops: Vec<_> = (0..count).map(|_| one_range(rng)).collect();
    one_range::play_long(&general::GeneralRules { capacity, granule }, &ops, EVERY);
}

fn buddy(rng: &mut Rng, count: usize) {
    let (capacity, min_block) = capacity(rng);
    let ops: Vec<_> = (0..count).map(|_| one_range(rng)).collect();
    one_range::play_long(&buddy::BuddyRules { capacity, min_block }, &ops, EVERY);
}

fn slots(rng: &mut Rng, count: usize) {
    use slots::Op;
    let op = |rng: &mut Rng| match rng.below(1911) {
        0 => Op::Clear,
        1..41 => Op::FreeAgain { nth: rng.next() as u32 },
        41..891 => Op::Free { nth: rng.next() as u32 },
        891..911 => Op::AllocateLargest { more: rng.next() as i8 },
        911..921 => Op::Allocate { count: rng.next() as u32 },
        921..1000 => Op::Allocate { count: rng.below(2000) as u32 },
        1000..1500 => Op::Allocate { count: 1 + rng.below(16) as u32 },
        _ => Op::Allocate { count: 1 },
    };
    let capacity = 1 + rng.below(5000) as u32;
    let ops: Vec<_> = (0..count).map(|_| op(rng)).collect();
    slots::play(capacity, &ops, EVERY);
}

fn ring(rng: &mut Rng, count: usize) {
    use ring::Op;
    let op = |rng: &mut Rng| match rng.below(461) {
        0 => Op::Clear,
        1..61 => Op::Release { frames: rng.below(4) as u8 },
        61..136 => Op::Close,
        136..161 => Op::AllocateLargest { more: rng.next() as i8, align: align(rng) },
        _ => Op::Allocate { size: size(rng), align: align(rng) },
    };
    let capacity = match rng.below(8) {
        0 => u64::MAX,
        1..4 => rng.below(1000),
        _ => 1000 + rng.below(50_000),
    };
    let ops: Vec<_> = (0..count).map(|_| op(rng)).collect();
    ring::play_long(capacity, &ops, EVERY);
}

fn linear(rng: &mut Rng, count: usize) {
    use linear::Op;
    let op = |rng: &mut Rng| match rng.below(103) {
        0 => Op::Reset,
        1..3 => Op::AllocateRest { more: rng.next() as i8, align: align(rng) },
        _ => Op::Allocate { size: size(rng), align: align(rng) },
    };
    let start = [0, rng.below(1_000_000), u64::MAX - rng.below(1_000_000)][rng.below(3) as usize];
    let capacity = [rng.below(100), rng.below(10_000_000), u64::MAX][rng.below(3) as usize];
    let ops: Vec<_> = (0..count).map(|_| op(rng)).collect();
    linear::play(start, capacity, &ops);
}

fn set(rng: &mut Rng) -> blocks::Op {
    use blocks::Op;
    let nth = |rng: &mut Rng| rng.next() as u32;
    match rng.below(1081) {
        0 => Op::Clear,
        1..11 => Op::Fill { nth: nth(rng) },
        11..16 => Op::Trim,
        16..36 => Op::EndFrame { idle_frames: rng.below(20) as u8 },
        36..41 => Op::FreeForeign,
        41..56 => Op::FreeAgain { nth: nth(rng) },
        56..76 => Op::FreeBlock { nth: nth(rng) },
        76..451 => Op::Free { nth: nth(rng) },
        451..511 => Op::AllocateIn { nth: nth(rng), size: size(rng), align: align(rng) },
        511..521 => Op::AllocateLargest { more: rng.next() as i8, align: align(rng) },
        521..541 => Op::RemoveBlock { id: rng.below(50) as u8 },
        541..578 => Op::AddBlock { capacity: 1000 + rng.below(30_000) },
        578..581 => Op::AddBlock { capacity: rng.next() },
        _ => Op::Allocate { size: size(rng), align: align(rng) },
    }
}

fn general_blocks(rng: &mut Rng, count: usize) {
    let granule = [1, 16][rng.below(2) as usize];
    let ops: Vec<_> = (0..count).map(|_| set(rng)).collect();
    blocks::play_long(&sets::OneSetOfLists(granule), &ops, EVERY);
}

fn growing_buddies(rng: &mut Rng, count: usize) {
    let min_block = [16, 256][rng.below(2) as usize];
    let ops: Vec<_> = (0..count).map(|_| set(rng)).collect();
    blocks::play_long(&sets::Buddies(min_block), &ops, EVERY);
}
