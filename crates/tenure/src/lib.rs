//! tenure manages GPU memory and the lifetimes of resources on Direct3D 12 and Vulkan. A resource is a value that
//! the program owns: its memory is a range of a pool where that is possible, and after a drop it is reused only
//! when the GPU has finished with it.
//!
//! [`Gpu`] is the manager of one device. It creates resources and begins frames; a [`Frame`] hands out
//! [`Recording`]s, one for each command list:
//!
//! ```
//! use tenure::{BufferDesc, Config, Gpu, Queue, State, Subresource, Usage, sim};
//!
//! let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
//! let rock = BufferDesc::new(4096, Usage::VERTEX).name("rock");
//! let rock = gpu.create_buffer_with(&rock, &[1; 4096])?; // uploads are batched
//!
//! let frame = gpu.begin_frame()?; // waits only when the GPU is too far behind
//! let mut list = frame.record(Queue::Graphics, "opaque")?; // from any thread
//! list.use_resource(&rock, Subresource::All, State::VERTEX_OR_CONSTANT)?; // barriers follow from uses
//! let (commands, scratch) = list.split();
//! let camera = scratch.constants(&[1.0_f32; 16])?; // lives until the GPU has executed the list
//! let _draw = (commands.raw(), rock.raw(), rock.offset(), camera.gpu_address()); // the API's own objects
//! drop(rock); // its memory is reused when the GPU has executed the list
//! frame.submit(list)?;
//! frame.end()?;
//! assert!(gpu.shutdown().is_clean()); // nothing leaked
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! # Devices
//!
//! Each device has a module, behind a feature of the same name:
//! * `vulkan`: Vulkan 1.1 or newer. The feature `window` adds swap chains.
//! * `d3d12`: Direct3D 12, on Windows only.
//! * `sim`: a GPU in software, for tests, that reports use after free, missing barriers and races.
//!
//! No feature is on by default.
//!
//! # Items of the root
//!
//! * Resources: [`Buffer`], [`Texture`], [`Reserved`] (sparse) and [`AccelerationStructure`], each with a
//!   description ([`BufferDesc`], [`TextureDesc`] and so on); [`Deferred`] for objects of the program's own.
//! * Data of one frame: [`Scratch`] (constants and descriptors), [`UploadRing`], [`Readback`].
//! * Descriptors: [`View`], [`Sampler`], [`DescriptorTable`], [`DescriptorSet`].
//! * Uses of resources in a [`Recording`]: [`State`], [`Subresources`].
//! * Render graphs: [`Graph`].
//! * Settings and errors: [`Config`], [`Error`].
//! * Observation: [`Stats`] and [`Report`] (the feature `serde` serialises both). The feature `metrics` hands the
//!   statistics to the crate `metrics`.
//!
//! # Modules
//!
//! * [`prelude`]: the items that most programs use, for one import.
//! * [`config`], [`error`], [`stats`]: the parts of [`Config`], [`Error`], [`Stats`] and [`Report`].
//! * [`resource`], [`descriptor`], [`upload`], [`query`]: details of resources, views, transfers and queries.
//! * [`transient`]: render graphs, and transient resources acquired pass by pass.
//! * [`present`]: swap chains, their images, formats and modes.
//! * [`memory`]: pools, the choice of memory, and the fallback chain when memory is short.
//! * [`compaction`]: moves of resources. [`record`]: recordings of a program's allocations.
//! * [`time`]: queues, serials, and deferred release, which also works without the rest of tenure.
//! * [`state`]: tracking of resource states, and the barriers between them.
//! * [`device`]: the traits that a backend implements.
//! * [`suballoc`] and [`plan`]: suballocators for any range of numbers, and a planner that places objects with
//!   known lifetimes in little memory. Neither knows of GPUs.
//! * [`bytemuck`]: the crate whose traits mark the plain data of [`Scratch::constants`].

#![warn(missing_debug_implementations)]

#[doc(no_inline)]
pub use bytemuck;
#[doc(inline)]
pub use tenure_core::{
    AccelerationStructure, AccelerationStructureDesc, Bind, Buffer, BufferDesc, BufferSlice, BufferViewDesc,
    Commands, Config, Constant, Deferred, DescriptorSet, DescriptorSetDesc, DescriptorTable,
    DescriptorTableDesc, Error, Format, Frame, Gpu, Graph, MemoryUse, Queue, Readback, Recording, Report,
    Reserved, ReservedDesc, Sampler, SamplerDesc, Scratch, SetDescriptor, SetLayout, SetLayoutDesc,
    ShaderStages, State, Stats, Subresource, Subresources, SyncPoint, Texture, TextureDesc, TextureViewDesc,
    UploadRing, UploadRingDesc, Usage, View,
};
#[doc(inline)]
pub use tenure_core::{device, memory, prelude, present, state, time, transient};
pub use tenure_plan as plan;
pub use tenure_suballoc as suballoc;

#[cfg(all(feature = "d3d12", windows))]
pub use tenure_d3d12 as d3d12;
#[cfg(feature = "sim")]
pub use tenure_sim as sim;
#[cfg(feature = "vulkan")]
pub use tenure_vulkan as vulkan;

/// The parts of a [`Config`], and errors of its values.
pub mod config {
    #[doc(inline)]
    pub use tenure_core::{
        CompactionConfig, ConfigError, ConfigRule, ConfigUnit, DescriptorConfig, FrameConfig, InPlaceConfig,
        PoolConfig, PressureConfig, StagingConfig, Strategy, TransientConfig, UploadConfig,
        UploadSuballocator,
    };
}

/// The parts of an [`Error`]: broken rules with the numbers, and values that failed calls return.
pub mod error {
    #[doc(inline)]
    pub use tenure_core::{
        Awaited, ContractRule, DescriptorPart, DescriptorUser, DeviceError, ErrorKind, GraphError,
        NoDescriptors, NotReleased, OutOfMemory, QueryRule, Rejected, StructureRule, SubmitAllError,
        SwapchainRule, TileRule, TransientRule,
    };
}

/// Details of views, samplers, sets and tables.
pub mod descriptor {
    #[doc(inline)]
    pub use tenure_core::{
        AddressMode, BindingKind, BorderColor, BufferAccess, Compare, DescriptorHeapStats, DescriptorKind,
        DescriptorOwner, DescriptorStats, Descriptors, Elements, Filter, SamplerInfo, Set, SetBinding,
        TextureAccess, ViewShape,
    };
}

/// Queries: GPU times, occlusion, pipeline statistics, and their results.
pub mod query {
    #[doc(inline)]
    pub use tenure_core::{
        AnySamples, CompactedSize, GpuTime, GpuTimeScope, OpenQuery, PipelineStatistics, QueryKind,
        QueryTicket, QueryValue, SampleCount, Timestamp,
    };
}

/// The parts of [`Stats`] and [`Report`]: memory by pool, heap, tag and object.
pub mod stats {
    #[doc(inline)]
    pub use tenure_core::{
        AddressOwner, AddressReport, AddressUse, BlockReport, FaultReport, FrameStats, HeapMemory,
        HeldReport, HolderKind, Leak, LiveObject, LossReport, MemoryParts, MemoryReport, MovableReport,
        ObjectKind, OpenRecordingReport, PoolReport, PoolStats, PressureChange, RecordingProgress,
        ShutdownReport, TagReport, TypeMemory, UnfinishedRecording, UnfinishedWork,
    };
}

/// Recordings of a program's allocations, for `tenure replay`.
pub mod record {
    #[doc(inline)]
    pub use tenure_core::{RecordedAllocation, RecordedPlace, RecordedPlacement, Recorder};
}

/// Moves of resources that give memory back or free large ranges.
pub mod compaction {
    #[doc(inline)]
    pub use tenure_core::{CompactionBudget, CompactionReport, CompactionStats, MovableId, MovedResource};
}

/// Details of buffers and textures: formats by block, regions of copies, layouts in memory, tiles.
pub mod resource {
    #[doc(inline)]
    pub use tenure_core::{
        AccelerationStructureKind, BufferInfo, BufferLayout, ClearValue, Compression, Dimension, Needed,
        Plane, ReadbackTexture, SubresourceLayout, TexelBlock, TexelData, TextureInfo, TextureRegion,
        TileQueue, TileRegion, Used,
    };
}

/// Uploads, rings of upload memory, and build scratch memory.
pub mod upload {
    #[doc(inline)]
    pub use tenure_core::{
        BuildScratch, DynamicConstant, PageAllocator, PageAllocatorDesc, PageStats, RingSlice, RingStats,
        UntypedConstant, Upload, UploadStats, WhenTooLarge,
    };
}

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
