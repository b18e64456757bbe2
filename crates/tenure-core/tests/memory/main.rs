//! Memory: where buffers and textures are placed, what is counted, and what happens when it is short.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod adoption;
mod allocations;
mod evictable;
mod fallback;
mod heap_pools;
mod idle;
mod paging_faults;
mod placing;
mod policy;
mod pressure_threads;
mod request_rules;
mod residency;
mod residency_kinds;
mod residency_uploads;
mod shards;
mod signals;
mod small_buffers;
mod sums;
