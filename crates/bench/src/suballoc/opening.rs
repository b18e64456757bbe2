//! The cost of adding a block.

use std::hint::black_box;
use std::time::Instant;

use comfy_table::Table;
use offset_allocator::Allocator;
use tenure_suballoc::{BlockSuballocator as _, Buddy, GeneralBlocks, Growing};

#[cfg(not(windows))]
use super::peers::make_virtual_block;
use crate::counting::Count;
use crate::table::figure;
use crate::timing::median;

/// Bytes of a block, and of the smallest allocation in it.
const BLOCK: u64 = 64 << 20;
const GRANULE: u64 = 256;

/// A table of every allocator that divides blocks, the fastest first.
pub(super) fn table(rounds: u32) -> Table {
    let buddies = || Growing::new(|capacity| Buddy::with_min_block(capacity, GRANULE));
    let mut all = vec![
        opening(
            "GeneralBlocks",
            rounds,
            256,
            || GeneralBlocks::new(GRANULE),
            |set| {
                _ = black_box(set.as_mut().map(|set| set.add_block(BLOCK)));
            },
        ),
        opening("Growing<Buddy>", rounds, 64, buddies, |set| _ = black_box(set.add_block(BLOCK))),
        #[cfg(not(windows))]
        opening(
            "vk-mem, TLSF",
            rounds,
            64,
            || Vec::with_capacity(64),
            |all| {
                all.push(make_virtual_block(BLOCK));
            },
        ),
        opening("offset-allocator", rounds, 4, Vec::<Allocator>::new, |all| {
            all.push(Allocator::new((BLOCK / GRANULE) as u32));
        }),
    ];
    all.sort_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
    let rows = all.into_iter().map(|(name, nanoseconds, bytes)| {
        // The metadata of `vk-mem` is allocated by C++ and not counted.
        let bytes = (!name.starts_with("vk-mem")).then_some(bytes as f64);
        format!("{name} | {nanoseconds:.0} | {}", figure(bytes, 0))
    });
    crate::table::table("peer | ns | bytes", rows)
}

/// Nanoseconds of adding a block, the median of some rounds, and the bytes that each block after the first takes.
fn opening<S>(
    name: &'static str,
    rounds: u32,
    blocks: usize,
    make: impl Fn() -> S,
    add: impl Fn(&mut S),
) -> (&'static str, f64, usize) {
    let opened = |blocks: usize| {
        let mut set = make();
        let start = Instant::now();
        (0..blocks).for_each(|_| add(&mut set));
        (start.elapsed().as_secs_f64() * 1e9 / blocks as f64, set)
    };
    let times = (0..rounds).map(|_| opened(blocks).0).collect();
    let count = Count::start();
    let one = opened(1);
    let first = count.live();
    drop(one);
    let all = opened(blocks);
    let rest = count.live().saturating_sub(first);
    drop(all);
    (name, median(times).unwrap_or_default(), rest / (blocks - 1))
}
