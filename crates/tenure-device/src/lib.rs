//! The device contract: the interface between tenure and a graphics API.
//!
//! All policy is written once, above [`Device`]; a backend only translates. The contract is deliberately small and keeps no
//! state: a backend does not pool, defer or retry.
//!
//! # Obligations of a backend
//! * Every call may be made from any thread; calls on one queue are made under one lock.
//! * A failed call changes nothing.
//! * `destroy_*` is immediate.
//! * After the device is lost each call returns [`DeviceError::Lost`], none blocks, and `destroy_*` still frees as much as
//!   possible.
//!
//! # Obligations of a caller
//! A driver does not check its arguments, and a backend cannot. Calls with undefined behaviour on misuse take a [`Permit`], which
//! only `unsafe` code can create for a real device. The creator of a permit promises, in addition to the conditions of each call:
//! * Objects are used with the device that created them.
//! * The GPU has finished with destroyed objects, and nothing created from them is used any more: no mapping of a resource, no
//!   recorded list that is to be submitted. Resources are destroyed before the heap that they are placed in. Objects that are
//!   not destroyed are leaked, or not dropped before the GPU has finished with them.
//! * Submitted commands were recorded according to the API's rules, with objects that still exist.
//!
//! Without a permit, programs can query a device, map, and create independent objects.
//!
//! # Capabilities of a device
//! [`Device`] is the sum of [`MemoryDevice`], [`ResidencyDevice`], [`TileDevice`], [`DescriptorDevice`], [`SetDevice`],
//! [`QueryDevice`], [`RayDevice`] and [`QueueDevice`]. Capabilities that a GPU or an API may lack have default methods: a backend
//! without them implements the trait with an empty body, or with [`Infallible`](std::convert::Infallible) as its type.
//!
//! # Devices that wrap another
//! [`forward_device!`] implements the contract with another device, except for the given methods: see [`Wrap`].

#![warn(missing_debug_implementations)]
#![deny(unsafe_code)]

mod api_code;
pub mod check;
mod contract;
mod desc;
mod descriptor;
mod error;
mod fault;
mod features;
mod format;
mod heaps;
pub mod mapped;
mod marker;
pub mod prelude;
mod properties;
mod query;
mod queue;
mod rays;
mod region;
mod residency;
mod rule;
mod single_manager;
mod texture_cache;
mod tile;
mod usage;
mod validate;
mod wrap;

pub use api_code::ApiCode;
pub use contract::{
    AccelerationStructureRange, Barrier, Checked, CommandList, Descriptor, DescriptorDevice,
    DescriptorSource, Device, Mapping, MemoryBlock, MemoryDevice, ObjectRef, Permit, QueryDevice,
    QueueDevice, QueueTransfer, RayDevice, ResidencyDevice, SetDevice, SetWrite, SubmitSync, TileDevice,
    TileSource, TileUpdate,
};
pub use desc::{BufferInfo, ClearValue, Dimension, Requirements, ResourceDesc, TextureInfo};
pub use descriptor::{
    AddressMode, BindingKind, BorderColor, BufferAccess, BufferView, Compare, DescriptorHeapDesc,
    DescriptorKind, DescriptorLimits, Elements, Filter, SamplerInfo, SamplerKey, SetBinding, TextureAccess,
    TextureView, ViewShape,
};
pub use error::{Allowed, DeviceError, FieldValue};
pub use fault::{DeviceFault, FaultAccess};
pub use features::Features;
pub use format::{Compression, Format, Plane, TexelBlock};
pub use heaps::DeviceHeaps;
pub use marker::{Marker, MarkerLimits, MarkerPoint};
pub use properties::{Api, Properties, RayTracingLimits, StateModel};
pub use query::{BegunQueries, QueryHeapDesc, QueryKind, QueryLimits, TimestampClock};
pub use queue::{MAX_QUEUES, Queue, QueueId, QueueKind, QueueProperties, QueueSerial};
pub use rays::{AccelerationStructureKind, check_structure_copy};
pub use region::{BufferLayout, BufferRegion, Subresource, TextureRegion, TextureWrite};
pub use residency::{PagingPoint, Residency, TrimRequest};
pub use rule::CallRule;
pub use single_manager::{ManagerClaim, SingleManager};
#[doc(hidden)]
pub use tenure_heap::setters;
pub use tenure_heap::{
    HeapBudget, HeapCategory, HeapDesc, MemoryFlags, MemoryHeap, MemoryType, MemoryTypeId, Priority,
};
pub use texture_cache::{TextureCache, TextureKey};
pub use tile::{TileLayout, TileRegion};
pub use usage::{State, Usage};
#[doc(hidden)]
pub use wrap::{Inward, contract_names};
pub use wrap::{Wrap, WrappedList};

/// The name of [`Features::TEXTURE_WRITES`] in errors.
pub const TEXTURE_WRITES: &str = "writes of texels by the CPU";

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
