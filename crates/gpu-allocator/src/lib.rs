//! A drop-in for the crate `gpu-allocator` 0.28, on tenure's pools.
//!
//! Same name, same public surface: a program that allocates through the original, as everything on wgpu
//! does, gets this one by a line in its `Cargo.toml` and no other change:
//!
//! ```toml
//! [patch.crates-io]
//! gpu-allocator = { git = "…/tenure" }
//! ```
//!
//! # Differences
//! * **Shortages are survived if possible.** The original tries one memory type with one block size. Here a
//!   refused block is tried at a half, a quarter and an eighth of the size, then dedicated memory, then the other
//!   suitable memory types: device-local memory is preferred, not required. The OS budget counts, on Vulkan as
//!   the driver reports it (`VK_EXT_memory_budget`) and on Direct3D 12 as DXGI does: before it is exceeded,
//!   smaller blocks are tried, and unused blocks freed. It is no reason to leave video memory, because render
//!   targets would be slow elsewhere: only requests that the driver refuses there go elsewhere, which
//!   `Allocator::spilled_bytes` counts and a warning reports once. Only when all have refused twice is it
//!   [`AllocationError::OutOfMemory`], and a shortage never gives another error.
//! * **Blocks grow with the program's demand.** The block sizes of [`AllocationSizes`] bound them: a pool begins
//!   with a 64th of the smallest and never exceeds the largest, except to stay below the device's limit on
//!   allocations.
//! * **Placement repeats**: the same calls give the same offsets.
//! * Freeing an allocation of another allocator is an error without side effects.
//! * **Slices of mapped memory never dangle.** They borrow the allocation, which may outlive its allocator. The
//!   original frees the memory then. Here mapped memory with live allocations stays until the device is destroyed
//!   if the allocator is dropped before; the log has a warning, beside the report of leaks.
//!
//! * **Known faults of Direct3D 12 drivers are avoided**, by the table of `tenure_d3d12::drivers`, for the
//!   resources that this crate creates:
//!
//!   | the table says | `create_resource` | `allocate`, for resources that the program places |
//!   | --- | --- | --- |
//!   | must not be placed (Intel Iris Xe; Gen 9.5 and 11; old Intel drivers on Windows 11; AMD before 32.0.13031.8021; depth on Intel Gen 9 and 12) | it is committed, also when a placed one was asked for | a new heap for each allocation of such a category. That is clean memory, but the resource is placed all the same, which is not enough on Iris Xe and with old Intel drivers: there a program should create committed resources |
//!   | too little memory for arrays (Intel Gen 12 before 30.0.101.1692) | more layers, which nothing should use | as much memory, where `AllocationCreateDesc::from_d3d12_resource_desc` says the size |
//!   | memory of its own must be zeroed (Intel Gen 9 and 11) | `CREATE_NOT_ZEROED` is left out | new heaps are zeroed |
//!   | no clear value for depth (Intel Gen 12) | none is given | up to the program |
//!   | reads need the state of a copy's source, views show stencil everywhere (NVIDIA) | up to the program | up to the program |
//!
//! # Similarities
//! * The surface: `cargo xtask test drop-in` compares it with the original's, item by item, as rustdoc lists
//!   them. `surface-exceptions.txt` has the few exceptions.
//! * The crates that show in it: `ash` 0.38, `windows` 0.53 to 0.62. That step type-checks this crate with
//!   `windows` 0.53 and 0.59, all others have 0.62; by hand 0.54, 0.56, 0.57, 0.58, 0.60 and 0.61 were
//!   checked, too.
//! * New memory on Direct3D 12 is zeroed. tenure's own backend requests heaps that are not
//!   (`D3D12_HEAP_FLAG_CREATE_NOT_ZEROED`), which is faster. Here a program may rely on it and cannot declare
//!   that: in the original a request above the largest block always has a new heap, all of it zero.
//!
//! # Recording
//! If the environment variable `TENURE_TRACE` names a file, the program's allocations are recorded there, for
//! `tenure replay`.
//!
//! # Visualizer
//! The feature `visualizer` has the types of the original, for `egui` 0.24 to 0.27. They draw live allocations,
//! and each block byte by byte, without the handles of heaps. `render_memory_block_window` draws the blocks; the
//! original draws its table of allocations there. For a program on tenure itself there is the crate
//! `tenure-egui`.
//!
//! # Limitations
//! * `metal`: the feature exists; on Apple's systems it does not compile, with a message.
//! * `no_std`: tenure needs the standard library; without the feature `std` the public items are those of the
//!   original, but the library is linked nevertheless.

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
