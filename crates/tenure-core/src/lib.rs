//! The manager: all policy above the device contract of [`tenure_device`].
//!
//! Programs use the crate `tenure`, which re-exports this one together with the devices. The purpose of each module, and the
//! modules it may use, are listed in the repository's `docs/modules.md`.

#![warn(missing_debug_implementations)]
#![deny(unsafe_code)]

#[macro_use(event)]
extern crate tenure_track;

#[macro_use]
mod debug;

mod append_list;
mod command;
mod compaction;
mod context;
mod descriptor;
mod descriptor_store;
mod duration;
mod entry_points;
mod error;
mod execute;
mod gpu;
mod held_objects;
mod list;
mod markers;
pub mod memory;
mod page_allocator;
mod permit;
pub mod prelude;
pub mod present;
mod query;
mod readback;
mod record;
mod registry;
mod reserved;
mod resource;
mod scratch;
mod service;
mod services;
mod slot_blocks;
mod staging;
mod stats;
mod ticket;
pub mod transient;
mod transient_heaps;
mod unnamed;
mod upload;
mod whose;

pub use command::{Commands, Needed, Recording, Transient, TransientBuffer, TransientTexture};
pub use compaction::{CompactionReport, CompactionStats, MovedResource};
pub use descriptor::{
    Bind, BufferViewDesc, DescriptorSet, DescriptorSetDesc, DescriptorTable, DescriptorTableDesc,
    Descriptors, Sampler, SamplerDesc, Set, SetDescriptor, SetLayout, SetLayoutDesc, ShaderStages,
    TextureViewDesc, View,
};
pub use descriptor_store::{DescriptorHeapStats, DescriptorOwner, DescriptorStats};
#[doc(hidden)]
pub use entry_points::entry_points;
pub use error::{
    Awaited, ContractRule, DescriptorPart, DescriptorUser, Error, ErrorKind, NoDescriptors, OutOfMemory,
    QueryRule, StructureRule, SubmitAllError, SwapchainRule, TileRule, TransientRule,
};
pub use execute::Resources;
pub use gpu::{Frame, Gpu, ShutdownReport};
pub use markers::RecordingProgress;
pub use page_allocator::{PageAllocator, PageAllocatorDesc, PageStats};
pub use present::{ColorSpace, HdrMetadata, PresentMode, SurfaceFormat, SwapchainDesc, SwapchainImage};
pub use query::{
    AnySamples, CompactedSize, GpuTime, GpuTimeScope, OpenQuery, PipelineStatistics, QueryTicket, QueryValue,
    SampleCount, Timestamp,
};
pub use readback::Readback;
pub use record::{RecordedAllocation, RecordedPlace, RecordedPlacement, Recorder};
pub use registry::{Leak, ObjectKind};
pub use reserved::{Reserved, ReservedDesc, TileQueue};
pub use resource::{
    AccelerationStructure, AccelerationStructureDesc, Buffer, BufferDesc, BufferSlice, Constant, Deferred,
    NotReleased, ReadbackTexture, Rejected, SubresourceLayout, Subresources, Texture, TextureDesc, Used,
};
pub use scratch::{
    DynamicConstant, RingSlice, Scratch, UntypedConstant, UntypedSlice, UploadRing, UploadRingDesc,
    WhenTooLarge,
};
pub use staging::{BuildScratch, RingStats, TexelData};
pub use stats::{
    BlockReport, FrameStats, HeapMemory, HeldReport, HolderKind, LiveObject, MemoryParts, MemoryReport,
    MovableReport, OpenRecordingReport, PoolReport, PoolStats, PressureChange, Report, Stats, TagReport,
    TypeMemory,
};
#[doc(inline)]
pub use tenure_device as device;
#[doc(inline)]
pub use tenure_device::{
    AccelerationStructureKind, AddressMode, BindingKind, BorderColor, BufferAccess, BufferInfo, BufferLayout,
    ClearValue, Compare, Compression, DescriptorKind, DeviceError, Dimension, Elements, Filter, Format,
    Plane, QueryKind, Queue, QueueId, QueueKind, SamplerInfo, SetBinding, State, Subresource, TexelBlock,
    TextureAccess, TextureInfo, TextureRegion, TileRegion, Usage, ViewShape,
};
pub use tenure_heap::Name;
#[doc(hidden)]
pub use tenure_heap::setters;
#[doc(inline)]
pub use tenure_memory::{
    AllocationFlags, CompactionBudget, CompactionConfig, Config, ConfigError, ConfigRule, ConfigUnit, Cost,
    DescriptorConfig, FrameConfig, InPlaceConfig, LocationKind, MemoryUse, MovableId, PoolConfig, Pressure,
    PressureConfig, StagingConfig, Strategy, TransientConfig, UploadConfig, UploadSuballocator,
};
use tenure_memory::{api_resource, block_set, config, repeated};
#[doc(hidden)]
pub use tenure_track::callback::emit;
#[doc(inline)]
pub use tenure_track::time::{RecordingId, SyncPoint};
use tenure_track::{callback, thread_slot};
pub use tenure_track::{state, time};
#[doc(no_inline)]
pub use transient_heaps::TransientStats;
#[doc(inline)]
pub use transient_heaps::graph::{Graph, GraphError, TransientDesc};
pub use upload::{Upload, UploadStats};
pub use whose::{
    AddressOwner, AddressReport, AddressUse, FaultReport, LossReport, UnfinishedRecording, UnfinishedWork,
};

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
