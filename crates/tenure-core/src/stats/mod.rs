//! Seeing what happens: counters that are always on, and a walk on demand (spec O1, O2).

mod counters;
mod report;

pub use counters::{PoolStats, Stats};
pub use report::{BlockReport, LiveObject, OpenRecordingReport, PoolReport, Report};
