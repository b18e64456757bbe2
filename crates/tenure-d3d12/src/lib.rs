//! tenure on Direct3D 12.
//!
//! `Device` implements the contract of [`tenure_core::device`] on an `ID3D12Device`: the program's own
//! (`Device::new`, with its queues) or a new one (`Device::create`). `raw()` returns the native objects, and
//! `Resource::from_raw` wraps the program's resources. On systems other than Windows this crate only contains
//! [`drivers`].
//!
//! # Optional features
//!
//! Each of these features is used if the device supports it and `DeviceConfig` does not disable it:
//!
//! | feature | query | otherwise |
//! | --- | --- | --- |
//! | heaps for all resources (tier 2) | `OPTIONS` | separate heaps for buffers, targets and other textures |
//! | small textures at 4 KiB | `GetResourceAllocationInfo` | 64 KiB |
//! | small multisampled textures at 64 KiB | `OPTIONS4`, `GetResourceAllocationInfo` | 4 MiB |
//! | tight alignment, as far as the usage allows | `D3D12_TIGHT_ALIGNMENT`, `GetResourceAllocationInfo` | buffers at 64 KiB |
//! | GPU upload heaps, as memory type 3 | `OPTIONS16` | types 0 `DEFAULT`, 1 `UPLOAD`, 2 `READBACK` |
//! | enhanced barriers | `OPTIONS12`, `ID3D12Device10` | resource states |
//! | castable formats | `OPTIONS12`, `ID3D12Device12` | typeless formats, if the family has one |
//! | heaps that are not zeroed | `OPTIONS7` or `ID3D12Device8` | zeroed ones |
//! | residency priorities | `ID3D12Device1` | none |
//! | asynchronous residency | `ID3D12Device3` | `MakeResident`, for which the CPU waits |
//! | reserved resources | `OPTIONS`: tiled resources | `Unsupported` |
//! | acceleration structures | `OPTIONS5`, `ID3D12Device5` | `Unsupported` |
//! | the budget of each memory segment | `IDXGIAdapter3` | all of the memory |
//!
//! # Checks
//!
//! Runtimes accept invalid calls: a texture in a heap for buffers, a misaligned offset, a heap larger than the
//! memory, a copy outside its buffer. tenure rejects all of these before the runtime is called, in release
//! builds too, as [`InvalidCall`], [`InvalidDesc`], [`Unsupported`] or a shortage; `close` returns the errors of
//! recording. Only tenure's calls are checked: the program's own commands, recorded through `raw()`, are left to
//! the debug layer (`DeviceConfig::validation`).
//!
//! # Driver faults
//!
//! [`drivers`] lists the known faults with their workarounds: affected resources require dedicated memory, which is
//! zeroed, or are created without their clear value, or with extra layers. `Device::workarounds` returns the
//! faults of this driver, `DeviceConfig::driver_faults` selects the faults to work around.
//!
//! # Descriptors
//!
//! Descriptor heaps are `ID3D12DescriptorHeap`s, and each view is checked before its creation: its range and
//! alignment, its subresources and shape, the usage and the formats of the resource. Vulkan's descriptor sets do
//! not exist here: `create_set_layout` is `Unsupported`.
//!
//! A view of one layer, or one cube, that is not the first is an array of one; shaders can nevertheless read it
//! as `Texture2D` or `TextureCube`. Stencil is read as the first component, as on Vulkan, and as the second, as
//! on Direct3D. A sampler with an anisotropy above 1 uses linear filters for magnification, minification and
//! mips. Direct3D 12 has null descriptors of views only, with a kind for each: a freed descriptor becomes a null descriptor of its last kind. All
//! tiers of resource binding have heaps of 1,000,000 views and 2,048 samplers; on the first two, tables of the
//! program's root signatures must not extend beyond the written descriptors.
//!
//! # Lifetimes
//!
//! A placed resource keeps a reference to its heap and is released before it, in any order of destruction;
//! `Device::live_objects` counts heaps that were destroyed first. Objects keep a reference to their device.
//!
//! The first call that detects a removed device records it with the reason as text: from then on every call
//! returns [`Lost`], and none waits.
//!
//! # Barriers
//!
//! With resource states the device reports `StateModel::Promotion`, with enhanced barriers
//! `StateModel::Explicit`; all queues belong to one family. Textures for shader reads and copies then stay in the
//! layout `COMMON`, in which every queue uses them, and which is also the layout for presenting:
//! `to_barrier_layout` returns the layout of a state. Before its first use on a queue other than a copy queue, a
//! texture is discarded, which initialises its compression: with enhanced barriers by the flag of its first
//! barrier or by a command, with resource states by a command, for render targets and depth buffers.
//!
//! # Swap chains
//!
//! `Swapchain` presents to a window: the flip model, with the waitable object, and tearing if requested and
//! allowed. Its buffers are adopted in the linear format, targets are views in the sRGB one, and `PRESENT` is
//! `COMMON`. A buffer keeps its chain alive, and a window has one chain at a time, which is checked before DXGI
//! is called.
//!
//! # Sharing
//!
//! `Sharing` exports and opens resources of `Usage::SHARED` by NT handles, committed ones in heaps with
//! `D3D12_HEAP_FLAG_SHARED`, zeroed and without tight alignment, and fences. CPU-visible heaps cannot be shared.
//! Ownership of textures is transferred in `COMMON`.
//!
//! # Tested systems
//!
//! The tests run on Wine's vkd3d over Mesa's lavapipe, and check the bytes of results. That runtime
//! has no enhanced barriers, castable formats, GPU upload heaps, tight alignment, acceleration
//! structures or debug layer; tile mappings and `RemoveDevice` have no effect. A
//! view that is an array of one is read there by shaders that declare it as an array.
//! On request they also run on vkd3d-proton, which has all of these except the debug layer, with enhanced
//! and with legacy barriers; the translation of enhanced barriers is also tested against the
//! compatibility tables of the specification.
//! Wine's vkd3d creates shared heaps and fences, but no handles to them: `CreateSharedHandle` returns `E_NOTIMPL`.
//! Not executed so far: anything on Windows, builds of acceleration structures, and the messages of
//! the debug layer.
//!
//! [`InvalidCall`]: tenure_core::device::DeviceError::InvalidCall
//! [`InvalidDesc`]: tenure_core::device::DeviceError::InvalidDesc
//! [`Unsupported`]: tenure_core::device::DeviceError::Unsupported
//! [`Lost`]: tenure_core::device::DeviceError::Lost

#![warn(missing_debug_implementations)]

#[cfg(all(windows, feature = "device"))]
mod device;
pub mod drivers;
#[cfg(any(all(windows, feature = "device"), test))]
mod slices;
#[cfg(any(all(windows, feature = "device"), test))]
mod small_alignment;

#[cfg(all(windows, feature = "device"))]
pub use device::{
    AccelerationStructure, Adapter, AdapterId, AdapterReport, DescriptorHeap, Device, DeviceConfig,
    DriverFaults, Exported, ExternalFence, FeatureLevel, Heap, List, LiveObjects, Mapping, Message,
    MessageSink, QueryHeap, RawHandle, Resource, Severity, ShareError, SharedFence, Sharing, Swapchain,
    adapters, to_barrier_layout, to_dxgi_format, to_resource_states,
};
#[cfg(all(windows, feature = "device"))]
#[doc(no_inline)]
pub use windows;

/// Instantiates the manager's functions for this device, so programs need not compile them again.
#[doc(hidden)]
#[cfg(all(windows, feature = "device"))]
#[inline(never)]
pub fn entry_points() {
    tenure_core::entry_points::<Device>();
}

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
