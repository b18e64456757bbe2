//! A table of the memory in use.

use comfy_table::{CellAlignment, Table, presets};
use tenure::{
    Report,
    stats::{MemoryParts, PoolStats},
};

/// The least size of a committed resource on Direct3D 12.
const COMMITTED: u64 = 64 << 10;

/// A table of the pools, of other reserved memory and of the total; and a sentence on how much memory committed
/// resources would take.
#[must_use]
pub fn memory_table(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["pool", "live objects", "asked for", "used", "capacity", "overhead", "reserved"]);
    for pool in report.pools.iter().map(|pool| &pool.stats).filter(|pool| pool.capacity > 0) {
        table.add_row(row(pool));
    }
    let MemoryParts { pools: _, committed, pages, transient } = report.stats.reserved_by;
    let others = [("memory of their own", committed), ("pages", pages), ("transient resources", transient)];
    for (part, bytes) in others.into_iter().filter(|(_, bytes)| *bytes > 0) {
        table.add_row([part, "", "", "", "", "", &kib(bytes)]);
    }
    let objects = &report.objects;
    let asked: u64 = objects.iter().map(|object| object.bytes).sum();
    let (count, reserved) = (objects.len() as u64, report.stats.reserved);
    let total = ["all", &thousands(count), &kib(asked), "", "", &percent(asked, reserved), &kib(reserved)];
    table.add_row(total.map(str::to_owned));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("Sizes in KiB.\n{table}\n{}", in_words(report, asked))
}

/// The row of a pool. The pool of small buffers reserves no memory: its blocks are ranges of the pool of slots,
/// which counts them as used.
fn row(pool: &PoolStats) -> [String; 7] {
    [
        pool.kind.as_str().to_owned(),
        thousands(pool.allocations),
        kib(pool.requested),
        kib(pool.used),
        kib(pool.capacity),
        percent(pool.requested, pool.capacity),
        kib(pool.reserved),
    ]
}

fn in_words(report: &Report, asked: u64) -> String {
    let stats = &report.stats;
    let resources: Vec<u64> =
        report.objects.iter().map(|object| object.bytes).filter(|bytes| *bytes > 0).collect();
    let committed: u64 = resources.iter().map(|bytes| bytes.next_multiple_of(COMMITTED)).sum();
    format!(
        "The driver was asked for memory {} times and made {} API resources: {:.2} times what was asked for is reserved.\n\
         One committed resource each, at 64 KiB or more, would be {} of both, and {} KiB: {:.2} times.",
        thousands(stats.driver_allocations),
        thousands(stats.resources_created),
        ratio(stats.reserved, asked),
        thousands(resources.len() as u64),
        kib(committed),
        ratio(committed, asked),
    )
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The reserved bytes beyond the requested ones, in per cent; empty if nothing was requested.
fn percent(asked: u64, reserved: u64) -> String {
    if asked == 0 { String::new() } else { format!("{:+.1} %", 100.0 * (ratio(reserved, asked) - 1.0)) }
}

fn kib(bytes: u64) -> String {
    thousands(bytes.div_ceil(1 << 10))
}

/// A number with commas between the thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
