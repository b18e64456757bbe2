//! The cost of adding a block.

use std::hint::black_box;
use std::time::Instant;

use comfy_table::{Table, presets};
use offset_allocator::Allocator;
use serde_json::{Value, json};
use tenure_suballoc::{BlockSuballocator, Buddy, GeneralBlocks, Growing};
#[cfg(not(windows))]
use vk_mem::VirtualBlock;

#[cfg(not(windows))]
use super::peers::make_virtual_block;
use crate::counting::Count;

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
    let mut times: Vec<f64> = (0..rounds).map(|_| run(blocks).1 / blocks as f64).collect();
    times.sort_by(f64::total_cmp);
    let count = Count::start();
    let one = run(1).0;
    let first = count.live();
    drop(one);
    let all = run(blocks).0;
    let rest = count.live().saturating_sub(first);
    drop(all);
    Opening { name, nanoseconds: times[times.len() / 2], bytes: Some(rest / (blocks - 1)) }
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
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["peer", "ns", "bytes"]);
    for opening in openings {
        table.add_row([
            opening.name.to_owned(),
            format!("{:.0}", opening.nanoseconds),
            opening.bytes.map_or("–".to_owned(), |bytes| bytes.to_string()),
        ]);
    }
    table
}

/// As JSON.
pub(super) fn to_json(openings: &[Opening]) -> Value {
    let peer = |opening: &Opening| {
        let cost = json!({ "nanoseconds": opening.nanoseconds, "bytes": opening.bytes });
        (opening.name.to_owned(), cost)
    };
    Value::Object(openings.iter().map(peer).collect())
}
