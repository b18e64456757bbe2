//! Memory: placement of buffers and textures, statistics, and behaviour in a shortage.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use tenure_core::device::{Api, Device as _};
use tenure_core::{MemoryUse, Usage};

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
mod unruly_devices;
mod untrue_budgets;
#[path = "../support/waits.rs"]
mod waits;

/// `memory`, but for buffers that shaders write on Direct3D 12, whose upload heaps cannot hold them: `GpuOnly`.
fn possible(gpu: &tenure_core::Gpu<tenure_sim::Device>, usage: Usage, memory: MemoryUse) -> MemoryUse {
    let is_written = usage.contains(Usage::UNORDERED_ACCESS);
    if is_written && gpu.device().properties().api == Api::Direct3D12 { MemoryUse::GpuOnly } else { memory }
}
