//! The original gpu-allocator and tenure's in one, measured at the boundary to the program.
//!
//! It has the part of gpu-allocator's surface that wgpu uses on Vulkan. `TENURE_ALLOCATOR` (`original`,
//! `tenure`) selects the allocator when a program creates its device; when an allocator ends, the measurements
//! so far are written to the file `TENURE_FIGURES`, as JSON.

mod convert;
mod figures;
mod sizes;
pub mod vulkan;

pub use original::{
    AllocationError, AllocationReport, AllocatorDebugSettings, AllocatorReport, MemoryBlockReport,
    MemoryLocation, Result,
};
pub use sizes::AllocationSizes;

#[cfg(all(windows, feature = "d3d12"))]
compile_error!("the programs are measured on Vulkan: build them without wgpu's feature `dx12`");
