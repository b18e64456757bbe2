//! Statistics: permanent counters, and detailed reports on demand.

mod counters;
mod memory;
mod movable;
mod report;

pub(crate) use counters::{FrameMeter, StatsSources};
pub use counters::{FrameStats, MemoryParts, PoolStats, Stats};
pub use memory::{HeapMemory, MemoryReport, PressureChange, TypeMemory};
pub use movable::MovableReport;
pub use report::{
    BlockReport, HeldReport, HolderKind, LiveObject, OpenRecordingReport, PoolReport, Report, TagReport,
};
