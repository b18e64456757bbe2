//! tenure's device contract and all policy above it.
//!
//! Programs use the crate `tenure`, which re-exports this one together with the devices. What each
//! module is for, and which may use which, is in the repository's `ARCHITECTURE.md`.

#![deny(unsafe_code)]

mod command;
mod config;
mod descriptor;
pub mod device;
mod error;
mod gpu;
pub mod memory;
mod name;
mod queue;
mod record;
mod registry;
mod resource;
pub mod state;
mod stats;
mod sync;
mod thread_slot;
pub mod time;
mod transfer;
pub mod transient;
mod upload;

/// For [`Scratch::constants`], whose values are plain bytes: derive `bytemuck::NoUninit`, or `Pod`.
pub use bytemuck;
pub use command::{Commands, Recording};
pub use config::{Config, ConfigError, Strategy, UploadSuballocator};
pub use descriptor::{
    Bind, BufferViewDesc, DescriptorHeapStats, DescriptorOwner, DescriptorPart, DescriptorSet,
    DescriptorStats, DescriptorTable, DescriptorUser, Descriptors, NoDescriptors, Sampler, Set, SetLayout,
    TextureViewDesc, View,
};
pub use error::{Error, OutOfMemory};
pub use gpu::{Frame, Gpu, Leak, ShutdownReport};
pub use memory::{LocationKind, MemoryUse};
pub use name::Name;
pub use queue::Queue;
pub use record::{RecordedAllocation, Recorder};
pub use registry::ObjectKind;
pub use resource::{
    Buffer, BufferDesc, Deferred, PageAllocator, PageStats, ReadbackTexture, Rejected, Reserved,
    ReservedDesc, SubresourceLayout, Texture, TextureDesc, TileQueue, Used,
};
pub use stats::{
    BlockReport, FrameStats, LiveObject, MemoryParts, OpenRecordingReport, PoolReport, PoolStats, Report,
    Stats,
};
pub use transfer::{Upload, UploadStats};
pub use transient::{Resources, Transient, TransientBuffer, TransientStats, TransientTexture};
pub use upload::{
    Constant, Readback, RingSlice, RingStats, Scratch, TexelData, UntypedConstant, UploadRing,
    UploadRingDesc, WhenTooLarge,
};
