//! Seeing what happens: counters that are always on, and a walk on demand (spec O1, O2).

mod counters;
mod report;

pub(crate) use counters::FrameMeter;
pub use counters::{FrameStats, MemoryParts, PoolStats, Stats};
pub use report::{BlockReport, LiveObject, OpenRecordingReport, PoolReport, Report};
