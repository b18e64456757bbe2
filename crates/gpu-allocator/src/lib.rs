//! A drop-in for the crate `gpu-allocator` 0.28, on tenure's pools.
//!
//! It has the same name and the same public items. A program that allocates through the original, such as any program
//! on wgpu, uses this crate after one change, in its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! gpu-allocator = { git = "…/tenure" }
//! ```
//!
//! # Differences
//! * **Shortages are survived if possible.** The original tries one memory type with one block size. Here a refused
//!   block is tried at a half, a quarter and an eighth of the size, then dedicated memory, then the other suitable
//!   memory types: device-local memory is preferred, not required. The OS budget is considered (Vulkan:
//!   `VK_EXT_memory_budget`; Direct3D 12: DXGI): before it is exceeded, smaller blocks are tried, and unused blocks are
//!   freed. The budget alone does not move requests out of video memory, because render targets would be slow
//!   elsewhere. Only requests that the driver refuses are placed elsewhere: `Allocator::spilled_bytes` counts them, and
//!   one warning is logged. The result is [`AllocationError::OutOfMemory`] only after all memory types have refused
//!   twice; shortages never cause another error.
//! * **Blocks grow with the program's demand.** [`AllocationSizes`] limits the block sizes: a pool begins with a 64th
//!   of the smallest and never exceeds the largest, except to stay below the device's limit on allocations.
//! * **Placement is deterministic**: the same calls give the same offsets.
//! * Freeing an allocation of another allocator is an error without side effects.
//! * **Slices of mapped memory never dangle.** They borrow the allocation, which may outlive its allocator. In this
//!   case the original frees the memory. Here mapped memory with live allocations stays until the device is destroyed;
//!   a warning is logged in addition to the report of leaks.
//! * **Known faults of Direct3D 12 drivers are avoided**, according to the table of `tenure_d3d12::drivers`, for the
//!   resources that this crate creates:
//!
//!   | fault | `create_resource` | `allocate`, for resources placed by the program |
//!   | --- | --- | --- |
//!   | some resources must not be placed (Intel Iris Xe; Gen 9.5 and 11; old Intel drivers on Windows 11; AMD before 32.0.13031.8021; depth on Intel Gen 9 and 12) | the resource is committed, even if a placed one was requested | a new heap for each allocation of such a category. Its memory is clean, but the resource is still placed, which is not enough on Iris Xe and with old Intel drivers: there a program should create committed resources |
//!   | too little memory for arrays (Intel Gen 12 before 30.0.101.1692) | additional layers, which must not be used | the memory of the additional layers, if the size comes from `AllocationCreateDesc::from_d3d12_resource_desc` |
//!   | committed memory must be zeroed (Intel Gen 9 and 11) | `CREATE_NOT_ZEROED` is left out | new heaps are zeroed |
//!   | no clear value for depth (Intel Gen 12) | none is passed | up to the program |
//!   | reads need the copy source state, views show stencil everywhere (NVIDIA) | up to the program | up to the program |
//!
//! # Similarities
//! * The public items: `cargo xtask test drop-in` compares them with the original's, as listed by rustdoc.
//!   `surface-exceptions.txt` contains the few exceptions.
//! * The crates in its interface: `ash` 0.38, `windows` 0.53 to 0.62. That step type-checks this crate with `windows`
//!   0.53 and 0.59, all others use 0.62; 0.54, 0.56, 0.57, 0.58, 0.60 and 0.61 were checked by hand.
//! * New memory on Direct3D 12 is zeroed. tenure's own backend requests heaps that are not
//!   (`D3D12_HEAP_FLAG_CREATE_NOT_ZEROED`), which is faster. Here a program may rely on zeroes and cannot declare that:
//!   in the original a request above the largest block always has a new, zeroed heap.
//!
//! # Recording
//! If the environment variable `TENURE_TRACE` names a file, the program's allocations are recorded there, for
//! `tenure replay`.
//!
//! # Visualizer
//! The feature `visualizer` provides the types of the original, for `egui` 0.24 to 0.27. They draw live allocations
//! and a map of each block, without the handles of heaps. `render_memory_block_window` draws the blocks; in the
//! original it draws the table of allocations. Programs on tenure itself can use the crate `tenure-egui`.
//!
//! # Limitations
//! * `metal`: the feature exists, but is a compile error on Apple's systems.
//! * `no_std`: tenure needs the standard library. Without the feature `std` the public items are those of the
//!   original, but the library is still linked.

#[cfg(not(any(feature = "std", feature = "hashbrown")))]
compile_error!("gpu-allocator needs one of the features `std` and `hashbrown`");

#[cfg(all(target_vendor = "apple", feature = "metal"))]
compile_error!(
    "tenure's drop-in for gpu-allocator has no Metal: leave the feature `metal` out, or the patch"
);

#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
mod engine;
#[cfg(any(feature = "vulkan", all(windows, feature = "d3d12")))]
mod recording;
mod report;
mod result;
mod settings;
mod sizes;

#[cfg(all(windows, feature = "d3d12"))]
pub mod d3d12;
#[cfg(feature = "visualizer")]
pub mod visualizer;
#[cfg(feature = "vulkan")]
pub mod vulkan;

pub use report::{AllocationReport, AllocatorReport, MemoryBlockReport};
pub use result::{AllocationError, Result};
pub use settings::{AllocatorDebugSettings, MemoryLocation};
pub use sizes::AllocationSizes;
