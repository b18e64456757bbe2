//! A history as compressed columns.

use std::io;

use serde::Serialize;
use tenure_trace::{OwnChange, OwnMemory};

use crate::columns::{Coding, Column, Columns};
use crate::history::{
    Clock, Frame, Heap, HeapSample, History, NEVER, Pool, PoolSample, Source, TransientPlan,
};

/// The version of the data in a page.
const VERSION: u32 = 1;

/// The subject of the columns.
#[derive(Serialize)]
struct Header<'a> {
    version: u32,
    title: &'a str,
    device: &'a str,
    backend: &'a str,
    source: Source,
    strings: &'a [String],
    heaps: &'a [Heap],
    pools: &'a [Pool],
    plan: &'a Option<TransientPlan>,
    own: &'a Option<OwnMemory>,
    columns: &'a [Column],
}

/// The history as bytes: see [`Columns::pack`].
pub(crate) fn encode(history: &History) -> io::Result<Vec<u8>> {
    let mut columns = Columns::default();
    add_objects(&mut columns, history);
    add_blocks(&mut columns, history);
    add_frames(&mut columns, history);
    add_holds(&mut columns, history);
    add_own(&mut columns, history);
    columns.pack(&Header {
        version: VERSION,
        title: &history.title,
        device: &history.device,
        backend: &history.backend,
        source: history.source,
        strings: history.strings.all(),
        heaps: &history.heaps,
        pools: &history.pools,
        plan: &history.plan,
        own: &history.own,
        columns: &columns.table,
    })
}

/// The time from one moment to a later one, plus 1; 0 for an end that has not come.
fn span(from: Clock, to: Clock) -> u64 {
    if to == NEVER { 0 } else { u64::from(to.saturating_sub(from)) + 1 }
}

/// A number plus 1; 0 for `None`.
fn optional(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number.saturating_add(1))
}

fn collect<T>(items: &[T], value: impl Fn(&T) -> u64) -> Vec<u64> {
    items.iter().map(value).collect()
}

fn add_objects(columns: &mut Columns, history: &History) {
    let objects = &history.objects;
    let mut plain = |name: &str, value: &dyn Fn(&crate::Object) -> u64| {
        columns.add(format!("object.{name}"), Coding::Plain, &collect(objects, value));
    };
    plain("life", &|object| span(object.born, object.dropped));
    // An object that was not dropped was not released.
    plain("wait", &|object| if object.dropped == NEVER { 0 } else { span(object.dropped, object.released) });
    plain("name", &|object| object.name.into());
    plain("tag", &|object| object.tag.into());
    plain("kind", &|object| object.kind.into());
    plain("location", &|object| object.location.into());
    plain("backtrace", &|object| optional(object.backtrace.map(u64::from)));
    plain("heap", &|object| optional(object.heap.map(u64::from)));
    plain("block", &|object| optional(object.block.map(u64::from)));
    plain("offset", &|object| object.offset);
    plain("origin", &|object| optional(object.origin.map(u64::from)));
    plain("size", &|object| object.size);
    plain("padding", &|object| object.reserved.saturating_sub(object.size));
    let mut delta = |name: &str, value: &dyn Fn(&crate::Object) -> u64| {
        columns.add(format!("object.{name}"), Coding::Delta, &collect(objects, value));
    };
    delta("born", &|object| object.born.into());
    delta("frame", &|object| object.frame);
}

fn add_blocks(columns: &mut Columns, history: &History) {
    let blocks = &history.blocks;
    columns.add("block.pool", Coding::Plain, &collect(blocks, |block| block.pool.into()));
    columns.add("block.number", Coding::Plain, &collect(blocks, |block| block.number.into()));
    columns.add("block.size", Coding::Plain, &collect(blocks, |block| block.size));
    columns.add("block.born", Coding::Delta, &collect(blocks, |block| block.born.into()));
    columns.add("block.life", Coding::Plain, &collect(blocks, |block| span(block.born, block.gone)));
    let others = &history.other_uses;
    columns.add("other.block", Coding::Plain, &collect(others, |other| other.block.into()));
    columns.add("other.frame", Coding::Delta, &collect(others, |other| other.frame.into()));
    columns.add("other.bytes", Coding::Plain, &collect(others, |other| other.bytes));
    columns.add("use.object", Coding::Delta, &collect(&history.uses, |used| used.0.into()));
    columns.add("use.frame", Coding::Delta, &collect(&history.uses, |used| used.1.into()));
}

fn add_frames(columns: &mut Columns, history: &History) {
    let frames = &history.frames;
    let mut add = |name: String, value: &dyn Fn(&Frame) -> u64| {
        columns.add(name, Coding::Delta, &collect(frames, value));
    };
    add("frame.number".to_owned(), &|frame| frame.number);
    add("frame.at".to_owned(), &|frame| frame.at.into());
    add("frame.reserved".to_owned(), &|frame| frame.totals.reserved);
    add("frame.peak_reserved".to_owned(), &|frame| frame.totals.peak_reserved);
    add("frame.live_objects".to_owned(), &|frame| frame.totals.live_objects);
    add("frame.pending_releases".to_owned(), &|frame| frame.totals.pending_releases);
    add("frame.pending_bytes".to_owned(), &|frame| frame.totals.pending_bytes);
    add("frame.open_recordings".to_owned(), &|frame| frame.totals.open_recordings);
    add("frame.driver_allocations".to_owned(), &|frame| frame.totals.driver_allocations);
    add("frame.waited_ns".to_owned(), &|frame| frame.totals.waited_ns);
    for heap in 0..history.heaps.len() {
        for (name, value) in HEAP_COLUMNS {
            add(format!("heap.{heap}.{name}"), &|frame| frame.heaps.get(heap).map_or(0, value));
        }
    }
    for pool in 0..history.pools.len() {
        for (name, value) in POOL_COLUMNS {
            add(format!("pool.{pool}.{name}"), &|frame| frame.pools.get(pool).map_or(0, value));
        }
    }
}

type Value<T> = (&'static str, fn(&T) -> u64);

const HEAP_COLUMNS: [Value<HeapSample>; 8] = [
    ("budget", |heap| optional(heap.budget)),
    ("usage", |heap| heap.usage),
    ("pools", |heap| heap.pools),
    ("committed", |heap| heap.committed),
    ("pages", |heap| heap.pages),
    ("transient", |heap| heap.transient),
    ("used", |heap| heap.used),
    ("idle", |heap| heap.idle),
];

const POOL_COLUMNS: [Value<PoolSample>; 7] = [
    ("capacity", |pool| pool.capacity),
    ("reserved", |pool| pool.reserved),
    ("used", |pool| pool.used),
    ("requested", |pool| pool.requested),
    ("alignment_waste", |pool| pool.alignment_waste),
    ("allocations", |pool| pool.allocations),
    ("largest_free", |pool| pool.largest_free),
];

fn add_holds(columns: &mut Columns, history: &History) {
    let holds =
        || (0_u64..).zip(&history.frames).flat_map(|(at, frame)| frame.holds.iter().map(move |h| (at, h)));
    let mut add = |name: &str, value: &dyn Fn((u64, &crate::Hold)) -> u64| {
        let values: Vec<u64> = holds().map(value).collect();
        columns.add(format!("hold.{name}"), Coding::Delta, &values);
    };
    add("frame", &|(frame, _)| frame);
    add("holder", &|(_, hold)| hold.holder.into());
    add("name", &|(_, hold)| hold.name.into());
    add("serial", &|(_, hold)| optional(hold.serial));
    add("bytes", &|(_, hold)| hold.bytes);
    add("count", &|(_, hold)| hold.count);
    add("age", &|(_, hold)| hold.age);
}

/// The rows of the program's own memory, one behind the other: changes of their bytes.
fn add_own(columns: &mut Columns, history: &History) {
    let rows = || (0_u64..).zip(history.own.iter().flat_map(|own| &own.rows));
    let changes = || rows().flat_map(|(at, row)| row.changes.iter().map(move |change| (at, change)));
    let mut add = |name: &str, value: &dyn Fn((u64, &OwnChange)) -> u64| {
        columns.add(format!("own.{name}"), Coding::Delta, &changes().map(value).collect::<Vec<_>>());
    };
    add("row", &|(row, _)| row);
    add("frame", &|(_, change)| change.frame.into());
    add("reserved", &|(_, change)| change.reserved);
    add("bound", &|(_, change)| change.bound);
    add("hole", &|(_, change)| change.hole);
}
