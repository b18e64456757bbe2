//! tenure on Direct3D 12.
//!
//! `Device` is the contract of [`tenure_core::device`] on an `ID3D12Device`: the program's own
//! (`Device::new`, with its queues) or one created from nothing (`Device::create`). Everything
//! native comes out again by `raw()`, and `Resource::from_raw` takes the program's resources in. On
//! other systems than Windows this crate is empty but for [`opt_out`].
//!
//! # What is used where
//!
//! Each of these is used where the device offers it, and switched off by `Options`:
//!
//! | feature | asked of | else |
//! | --- | --- | --- |
//! | heaps for everything (tier 2) | `OPTIONS` | buffers, targets and other textures apart |
//! | small textures at 4 KiB, small multisampled ones at 64 KiB | `GetResourceAllocationInfo` | 64 KiB, 4 MiB |
//! | tight alignment | `TIGHT_ALIGNMENT` | buffers at 64 KiB |
//! | GPU upload heaps, as memory type 3 | `OPTIONS16` | types 0 `DEFAULT`, 1 `UPLOAD`, 2 `READBACK` |
//! | enhanced barriers | `OPTIONS12`, `ID3D12Device10` | resource states |
//! | castable formats | `OPTIONS12`, `ID3D12Device10` | typeless formats, where the family is one |
//! | heaps that are not zeroed | `OPTIONS7` or `ID3D12Device8` | zeroed ones |
//! | residency priorities | `ID3D12Device1` | none |
//! | reserved resources | `OPTIONS`: tiled resources | `Unsupported` |
//! | acceleration structures | `OPTIONS5`, `ID3D12Device5` | `Unsupported` |
//! | the budget of each memory segment | `IDXGIAdapter3` | all of the memory |
//!
//! # Checks
//!
//! Runtimes let calls pass that are wrong: a texture in a heap for buffers, a misaligned offset, a
//! heap larger than the memory, a copy that leaves its buffer. All of these are refused before
//! they reach the runtime, in release builds too, as [`InvalidCall`], [`InvalidDesc`],
//! [`Unsupported`] or a shortage; those of recording come out of `close`. What is checked is what
//! tenure calls: commands of the program's own, recorded through `raw()`, are the debug layer's
//! business (`Options::validation`).
//!
//! # Lifetimes
//!
//! A placed resource holds on to its heap and is released before it, whatever the order in which
//! the two are destroyed; `Device::live_objects` tells of a heap that went first. Objects hold on
//! to their device.
//!
//! The first call that meets a removed device remembers it with the reason in words: from then on
//! every call answers [`Lost`], and none waits.
//!
//! # Barriers
//!
//! With resource states the device reports `StateModel::Promotion` and one family of queues; with
//! enhanced barriers `StateModel::Explicit` and a family for each queue. Textures that shaders read
//! and copies use then stay in the layout `COMMON`, which is also what a swap chain presents:
//! `to_barrier_layout` says which layout a state means. Before its first use on a queue that is no
//! copy queue, a texture is discarded, which sets up its compression.
//!
//! # What has run, and where
//!
//! The tests run on Wine's vkd3d over Mesa's lavapipe: real calls, and bytes checked. That runtime
//! has no enhanced barriers, castable formats, GPU upload heaps, tight alignment, acceleration
//! structures or debug layer; it takes tile mappings without effect, and `RemoveDevice` as well.
//! Not executed so far, on Windows or elsewhere: enhanced barriers (their translation is tested
//! against the compatibility tables of the specification), castable formats, GPU upload heaps,
//! tight alignment, acceleration structures, the messages of the debug layer, and what tiles of
//! reserved resources hold once they are mapped.
//!
//! [`InvalidCall`]: tenure_core::device::DeviceError::InvalidCall
//! [`InvalidDesc`]: tenure_core::device::DeviceError::InvalidDesc
//! [`Unsupported`]: tenure_core::device::DeviceError::Unsupported
//! [`Lost`]: tenure_core::device::DeviceError::Lost

#[cfg(windows)]
mod adapter;
#[cfg(windows)]
mod barriers;
#[cfg(windows)]
mod budget;
#[cfg(windows)]
mod caps;
#[cfg(windows)]
mod copies;
#[cfg(windows)]
mod create;
#[cfg(windows)]
mod desc;
#[cfg(windows)]
mod device;
#[cfg(windows)]
mod error;
#[cfg(windows)]
mod events;
#[cfg(windows)]
mod feature_level;
#[cfg(windows)]
mod format_support;
#[cfg(windows)]
mod formats;
#[cfg(windows)]
mod heap;
#[cfg(windows)]
mod inner;
#[cfg(windows)]
mod list;
#[cfg(windows)]
mod mapping;
#[cfg(windows)]
mod messages;
#[cfg(windows)]
mod names;
pub mod opt_out;
#[cfg(windows)]
mod options;
#[cfg(windows)]
mod properties;
#[cfg(windows)]
mod queue;
#[cfg(windows)]
mod requirements;
#[cfg(windows)]
mod resource;
#[cfg(any(windows, test))]
mod small;
#[cfg(windows)]
mod states;
#[cfg(windows)]
mod tiles;

#[cfg(windows)]
pub use windows;

#[cfg(windows)]
pub use self::{
    adapter::{Adapter, AdapterInfo, adapters},
    barriers::to_barrier_layout,
    device::Device,
    feature_level::FeatureLevel,
    formats::to_dxgi_format,
    heap::Heap,
    inner::LiveObjects,
    list::List,
    mapping::Mapping,
    messages::{Message, MessageSink, Severity},
    options::{OptOuts, Options},
    resource::Resource,
    states::to_resource_states,
};
