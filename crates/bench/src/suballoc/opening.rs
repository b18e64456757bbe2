//! The cost of adding a block.

use std::hint::black_box;
use std::time::Instant;

use comfy_table::Table;
use offset_allocator::Allocator;
use tenure_suballoc::{BlockSuballocator, Buddy, GeneralBlocks, Growing};
#[cfg(not(windows))]
use vk_mem::VirtualBlock;

#[cfg(not(windows))]
use super::peers::make_virtual_block;
use crate::counting::Count;
use crate::table::row;
use crate::timing::median;

/// Bytes of a block, and of the smallest thing in it.
const BLOCK: u64 = 64 << 20;
const GRANULE: u64 = 256;

/// The cost of adding a block.
pub(super) struct Opening {
    name: &'static str,
    nanoseconds: f64,
    /// Bytes of metadata, where they are counted.
    bytes: Option<usize>,
}

/// Measures every allocator that divides blocks.
pub(super) fn measure(rounds: u32) -> Vec<Opening> {
    let mut openings = vec![
        opening("GeneralBlocks", rounds, 256, general),
        opening("Growing<Buddy>", rounds, 64, buddy),
        // Its metadata is allocated by C++ and not counted.
        #[cfg(not(windows))]
        Opening { bytes: None, ..opening("vk-mem, TLSF", rounds, 64, virtual_block) },
        opening("offset-allocator", rounds, 4, offset_allocator),
    ];
    openings.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
    openings
}

/// The median of some rounds, each of which opens so many blocks.
fn opening<S>(name: &'static str, rounds: u32, blocks: usize, run: fn(usize) -> (S, f64)) -> Opening {
    let times = (0..rounds).map(|_| run(blocks).1 / blocks as f64).collect();
    let count = Count::start();
    let one = run(1).0;
    let first = count.live();
    drop(one);
    let all = run(blocks).0;
    let rest = count.live().saturating_sub(first);
    drop(all);
    Opening { name, nanoseconds: median(times).unwrap_or_default(), bytes: Some(rest / (blocks - 1)) }
}

fn timed(mut open: impl FnMut(), blocks: usize) -> f64 {
    let start = Instant::now();
    (0..blocks).for_each(|_| open());
    start.elapsed().as_secs_f64() * 1e9
}

fn general(blocks: usize) -> (Option<GeneralBlocks>, f64) {
    let Ok(mut set) = GeneralBlocks::new(GRANULE) else { return (None, f64::NAN) };
    let time = timed(|| _ = black_box(set.add_block(BLOCK)), blocks);
    (Some(set), time)
}

fn buddy(blocks: usize) -> (impl BlockSuballocator, f64) {
    let mut set = Growing::new(|capacity| Buddy::with_min_block(capacity, GRANULE));
    let time = timed(|| _ = black_box(set.add_block(BLOCK)), blocks);
    (set, time)
}

#[cfg(not(windows))]
fn virtual_block(blocks: usize) -> (Vec<Option<VirtualBlock>>, f64) {
    let mut all = Vec::with_capacity(blocks);
    let time = timed(|| all.push(make_virtual_block(BLOCK)), blocks);
    (all, time)
}

fn offset_allocator(blocks: usize) -> (Vec<Allocator>, f64) {
    let mut all = Vec::with_capacity(blocks);
    let time = timed(|| all.push(Allocator::new((BLOCK / GRANULE) as u32)), blocks);
    (all, time)
}

/// As a table.
pub(super) fn table(openings: &[Opening]) -> Table {
    let rows = openings.iter().map(|opening| {
        let bytes = opening.bytes.map_or_else(|| "–".to_owned(), |bytes| bytes.to_string());
        row![opening.name, format!("{:.0}", opening.nanoseconds), bytes]
    });
    crate::table::table(&["peer", "ns", "bytes"], rows)
}
