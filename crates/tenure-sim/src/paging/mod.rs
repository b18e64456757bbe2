//! Paging: the residency of blocks, their moves by the program and the operating system, and the cost.
//!
//! A block is a heap or a committed resource. Segments are the device's memory heaps; the ones that are local to
//! the GPU are paged, and blocks are demoted to the others.

mod budget;
mod config;
mod notices;
mod pager;
mod residency;
mod stats;

pub(crate) use budget::DriverMemory;
pub use config::{BudgetChange, Paging};
pub(crate) use notices::Notices;
pub(crate) use pager::{BlockUse, Found, Pager};
pub use stats::{PagingStats, SegmentStats};
