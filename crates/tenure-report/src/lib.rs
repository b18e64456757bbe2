//! A program's GPU memory over time, as one HTML page that opens from disk.
//!
//! - [`HistoryRecorder`] records a running manager: every allocation with its place, until its bytes can be used
//!   again.
//! - [`read_snapshots`] reads `Gpu::report()`s, one in JSON a line, as a program writes them while it runs.
//! - [`History::write_html`] writes the page: a timeline of each memory heap, the blocks of every pool at any
//!   frame, the objects waiting for release, two frames compared.
//!
//! The page needs no network and no other file. It is one script and one style, kept as files of this crate; the data
//! is columns of numbers, compressed.

#![warn(missing_debug_implementations)]

mod columns;
mod encode;
mod history;
mod holds;
mod page;
mod plan;
mod recorder;
mod samples;
mod snapshots;

pub use history::{
    Block, Clock, Frame, Heap, HeapSample, History, Hold, NEVER, Object, OtherUse, PlannedResource, Pool,
    PoolSample, Source, Strings, Totals, TransientPlan,
};
pub use recorder::HistoryRecorder;
pub use snapshots::{SnapshotError, read_snapshots};

/// Compiles and runs the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
