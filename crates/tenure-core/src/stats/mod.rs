//! Seeing what happens: counters that are always on, and a walk on demand.

mod counters;
mod memory;
mod report;

pub(crate) use counters::{FrameMeter, StatsSources};
pub use counters::{FrameStats, MemoryParts, PoolStats, Stats};
pub use memory::{HeapMemory, MemoryReport, PressureChange, TypeMemory};
pub use report::{BlockReport, LiveObject, OpenRecordingReport, PoolReport, Report, TagReport};
