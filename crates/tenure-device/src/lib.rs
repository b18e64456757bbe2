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
//! A driver does not check its arguments, and a backend cannot. Calls with undefined behaviour on misuse take a [`Permit`],
//! which only `unsafe` code can create for a real device. The creator of a permit promises, beyond the conditions of each call:
//! * Objects are used with the device that created them.
//! * The GPU has finished with destroyed objects, and nothing created from them is used any more: no mapping of a resource, no
//!   recorded list that is to be submitted. Resources are destroyed before the heap that they are placed in. Objects that are
//!   not destroyed are leaked, or not dropped before the GPU has finished with them.
//! * Submitted commands were recorded according to the API's rules, with objects that still exist.
//!
//! Without a permit, programs can query a device, map, and create independent objects.
//!
//! # A device that wraps another
//! A wrapper, such as one that counts calls, has the associated types of the inner device, or its own types around them.
//! * Its list is a type of its own, because [`CommandList`] has the device as its parameter.
//! * It rebuilds arguments that name objects for the inner device, field by field: [`Barrier`], [`Descriptor`],
//!   [`DescriptorSource`], [`SetWrite`], [`AccelerationStructureRange`], [`MemoryBlock`], [`ObjectRef`], [`SubmitSync`],
//!   [`TileUpdate`], [`TileSource`].
//! * It forwards methods with a default, too. The compiler does not require them, and the default of a wrapper hides the method
//!   of the inner device: [`create_committed_with_priority`](Device::create_committed_with_priority),
//!   [`texture_write_states`](Device::texture_write_states), [`write_texture`](Device::write_texture),
//!   [`name_range`](Device::name_range), [`make_resident`](Device::make_resident), [`evict`](Device::evict),
//!   [`set_priority`](Device::set_priority), [`budget_changed`](Device::budget_changed),
//!   [`take_trim_request`](Device::take_trim_request), [`reserve`](Device::reserve) and
//!   [`CommandList::keep_unwritten`]. The defaults of [`supports_format`](Device::supports_format) and
//!   [`submit`](Device::submit) call other methods, and may stay.
//! * It creates the [`Permit`] for the inner device with `unsafe`: for a call that it forwards unchanged, its caller has made
//!   the promise. The permit is [`Checked`] if the inner device is.
//! * Its [`manager_slot`](Device::manager_slot) is the slot of the inner device, which has one manager, wrapped or not.
//! * Memory comes from [`create_heap`](Device::create_heap) and from both methods for committed resources. A wrapper with a
//!   smaller limit lowers it in its own copy of [`Properties`], such as [`Properties::max_heap_size`]: if it refuses a request
//!   within the limits as a shortage, the manager releases memory and waits for the GPU.
//!
//! `Counted` of the crate `tenure-cli` is such a wrapper.

#![warn(missing_debug_implementations)]
#![deny(unsafe_code)]

mod api_code;
pub mod check;
mod debug;
mod desc;
mod descriptor;
mod error;
mod features;
mod format;
mod heaps;
mod list;
pub mod mapped;
mod permit;
mod properties;
mod query;
mod queue;
mod rays;
mod residency;
mod rule;
mod submit;
mod texture_cache;
mod tile;
mod usage;
mod validate;

use core::fmt;
use core::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use api_code::ApiCode;
pub use desc::{BufferInfo, ClearValue, Dimension, Requirements, ResourceDesc, TextureInfo};
pub use descriptor::{
    AddressMode, BindingKind, BorderColor, BufferAccess, BufferView, Compare, Descriptor, DescriptorHeapDesc,
    DescriptorKind, DescriptorLimits, DescriptorSource, Elements, Filter, SamplerInfo, SetBinding, SetWrite,
    TextureAccess, TextureView, ViewShape,
};
pub use error::{Allowed, DeviceError, FieldValue};
pub use features::Features;
pub use format::{Block, Compression, Format, Plane};
pub use heaps::DeviceHeaps;
pub use list::{Barrier, BufferLayout, CommandList, QueueTransfer, Subresource, TextureRegion, TextureWrite};
pub use permit::{Checked, Permit};
pub use properties::{Api, Properties, RayTracingLimits, StateModel};
pub use query::{BegunQueries, QueryHeapDesc, QueryKind, QueryLimits, TimestampClock};
pub use queue::{MAX_QUEUES, Queue, QueueId, QueueKind, QueueProperties};
pub use rays::{AccelerationStructureKind, AccelerationStructureRange, check_structure_copy};
pub use residency::{MemoryBlock, PagingPoint, Residency, TrimRequest};
pub use rule::CallRule;
pub use submit::SubmitSync;
pub use tenure_heap::{
    HeapBudget, HeapCategory, HeapDesc, MemoryFlags, MemoryHeap, MemoryType, MemoryTypeId, Priority,
};
pub use texture_cache::{TextureCache, TextureKey};
pub use tile::{TileLayout, TileRegion, TileSource, TileUpdate};
pub use usage::{State, Usage};

/// The name of [`Features::TEXTURE_WRITES`] in errors.
pub const TEXTURE_WRITES: &str = "writes of texels by the CPU";

/// One submission of a queue: the queue, and the submission's serial on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueSerial {
    /// The queue.
    pub queue: QueueId,
    /// The submission; 0 is complete from the start.
    pub serial: u64,
}

/// An object to be named.
pub enum ObjectRef<'a, D: Device> {
    /// A heap.
    Heap(&'a D::Heap),
    /// A resource.
    Resource(&'a D::Resource),
    /// A command list.
    List(&'a D::List),
    /// A heap of descriptors.
    DescriptorHeap(&'a D::DescriptorHeap),
    /// A block of descriptor sets.
    SetBlock(&'a D::SetBlock),
    /// A heap of queries.
    QueryHeap(&'a D::QueryHeap),
    /// An acceleration structure.
    AccelerationStructure(&'a D::AccelerationStructure),
}

/// One GPU behind one API. See the [module documentation](self).
pub trait Device: Send + Sync + Sized + 'static {
    /// A block of device memory (`ID3D12Heap`, `VkDeviceMemory`).
    type Heap: Send + Sync + 'static;
    /// A buffer or a texture (`ID3D12Resource`; `VkBuffer` or `VkImage`, with its memory if committed).
    type Resource: Send + Sync + 'static;
    /// A CPU mapping of a resource.
    type Mapping: Mapping + 'static;
    /// A command allocator with its list.
    type List: CommandList<Self> + 'static;
    /// Contiguous descriptors (`ID3D12DescriptorHeap`; on Vulkan the views themselves, or one large set that shaders index).
    type DescriptorHeap: Send + Sync + 'static;
    /// The layout of descriptor sets (`VkDescriptorSetLayout`).
    type SetLayout: Send + Sync + 'static;
    /// Descriptor sets of one layout (`VkDescriptorPool` with all its sets).
    type SetBlock: Send + Sync + 'static;
    /// Contiguous queries (`ID3D12QueryHeap`, `VkQueryPool`).
    type QueryHeap: Send + Sync + 'static;
    /// An acceleration structure in a range of a buffer (`VkAccelerationStructureKHR`; an address on Direct3D
    /// 12).
    type AccelerationStructure: Send + Sync + 'static;
    /// A point of an external semaphore or fence: `VkSemaphore`, with a value if it is a timeline; `ID3D12Fence` with a value.
    type ExternalPoint: Clone + fmt::Debug + Send + Sync + 'static;
    /// The API's queue, for submissions by the program itself (`VkQueue`, `ID3D12CommandQueue`).
    type NativeQueue<'a>;

    /// The properties of the device. They do not change.
    fn properties(&self) -> &Properties;

    /// The slot for the single manager of the device and all of its clones.
    fn manager_slot(&self) -> &ManagerSlot;

    /// The memory requirements of a resource: equal for equal descriptions. A manager caches the answers for textures
    /// ([`TextureCache`]).
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`], [`DeviceError::Lost`].
    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError>;

    /// True when the device supports plain 2D textures (one sample, no other [view formats](TextureInfo::view_formats)) of a
    /// format for all of `usage`: when [`requirements`](Self::requirements) of such a texture succeeds.
    fn supports_format(&self, format: Format, usage: Usage) -> bool {
        let block = format.block();
        // Whole blocks, because not every device supports partial ones.
        let desc = ResourceDesc::Texture(TextureInfo {
            dimension: Dimension::D2,
            width: block.width * 4,
            height: block.height * 4,
            depth_or_layers: 1,
            mips: 1,
            samples: 1,
            format,
            usage,
            clear: None,
            view_formats: Vec::new(),
        });
        self.requirements(&desc).is_ok()
    }

    /// Allocates a block of memory from the driver.
    ///
    /// # Errors
    /// A shortage ([`DeviceError::is_shortage`]): [`DeviceError::OutOfMemory`] if the driver has refused the bytes, [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError>;

    /// Frees a heap. No resource may be placed in it any more.
    fn destroy_heap(&self, permit: Permit<Self>, heap: Self::Heap);

    /// Creates a resource with memory of its own, with the default priority of its usage ([`Usage::priority`]).
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_committed(
        &self,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Self::Resource, DeviceError>;

    /// As [`create_committed`](Self::create_committed), with a priority other than the default of its usage. By default it is
    /// [set](Self::set_priority) afterwards; APIs with a priority at allocation pass it there.
    ///
    /// # Errors
    /// As [`create_committed`](Self::create_committed).
    fn create_committed_with_priority(
        &self,
        permit: Permit<Self>,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
        priority: Priority,
    ) -> Result<Self::Resource, DeviceError> {
        let made = self.create_committed(desc, memory)?;
        // A hint: a loss of the device is reported by the next call.
        let _hinted = self.set_priority(permit, MemoryBlock::Resource(&made), priority);
        Ok(made)
    }

    /// Creates a resource at a byte offset of a heap. The heap must outlive it.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::InvalidCall`] for a wrong heap
    /// category, alignment or range, [`DeviceError::Lost`].
    fn create_placed(
        &self,
        permit: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Self::Heap,
        offset: u64,
    ) -> Result<Self::Resource, DeviceError>;

    /// Creates a resource with an address range and no memory; its tiles are mapped later.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] naming the feature, a shortage, [`DeviceError::Lost`].
    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Self::Resource, DeviceError>;

    /// Destroys a resource. The GPU must have finished with it.
    fn destroy_resource(&self, permit: Permit<Self>, resource: Self::Resource);

    /// Maps a resource in host-visible memory, until its destruction. Mapping twice is allowed.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when its memory is not host-visible, a shortage,
    /// [`DeviceError::Lost`].
    fn map(&self, resource: &Self::Resource) -> Result<Self::Mapping, DeviceError>;

    /// The states in which the CPU may write texels of a texture with this description and, beside its usage,
    /// [`Usage::CPU_WRITE`], provided that the flag does not make the texture slower for the GPU. [`State::COMMON`] means none:
    /// no such state exists, or the texture would be slower; the default implementation returns it. [`State::COMMON`] for all
    /// descriptions where [`Features::TEXTURE_WRITES`] is missing. Queried before textures are created, so backends cache the
    /// answers.
    fn texture_write_states(&self, info: &TextureInfo) -> State {
        let _unused = info;
        State::COMMON
    }

    /// Writes texels of a texture of [`Usage::CPU_WRITE`] by the CPU, at once and in place (`vkCopyMemoryToImageEXT`). Later
    /// submissions to any queue see them.
    ///
    /// The written subresources must be in the state `before`, and are in `after` afterwards, as after a barrier: either
    /// `before` is [`State::COMMON`], and the earlier contents of the subresources are lost, or it equals `after`. `after` must
    /// be one of the [states](Self::texture_write_states) of the texture.
    ///
    /// The GPU must have finished all submissions that use the texture, and no other thread may write the texture or submit
    /// such work meanwhile.
    ///
    /// # Errors
    /// As [`check::texture_writes`]; [`DeviceError::InvalidCall`] for a buffer, or a resource of another device;
    /// [`DeviceError::Unsupported`] without such writes, as by default; a shortage, [`DeviceError::Lost`]. The contents of the
    /// regions are undefined then; where `before` is `COMMON`, the contents of all their subresources.
    fn write_texture(
        &self,
        permit: Permit<Self>,
        texture: &Self::Resource,
        (before, after): (State, State),
        writes: &[TextureWrite<'_>],
    ) -> Result<(), DeviceError> {
        let _unused = (permit, texture, before, after, writes);
        Err(DeviceError::Unsupported { feature: TEXTURE_WRITES })
    }

    /// The GPU address of a buffer's byte 0, on APIs with addresses.
    fn gpu_address(&self, resource: &Self::Resource) -> Option<u64>;

    /// The tile layout of a reserved resource.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a resource that is not reserved.
    fn tile_layout(&self, resource: &Self::Resource) -> Result<TileLayout, DeviceError>;

    /// Gives an object the name that debuggers and validation messages show. Never fails; a
    /// device without names ignores it.
    fn set_name(&self, permit: Permit<Self>, object: ObjectRef<'_, Self>, name: &str);

    /// Names a range of a buffer, for messages only, as [`set_name`](Self::set_name); an empty name removes it. Devices without
    /// a use for it do nothing, as by default.
    #[inline]
    fn name_range(&self, buffer: &Self::Resource, offset: u64, size: u64, name: &str) {
        let _unused = (buffer, offset, size, name);
    }

    /// Creates a command list for one queue. It is closed: see [`CommandList::begin`].
    ///
    /// # Errors
    /// A shortage, [`DeviceError::Lost`].
    fn create_list(&self, permit: Permit<Self>, queue: QueueId) -> Result<Self::List, DeviceError>;

    /// Destroys a list. The GPU must have finished with it.
    fn destroy_list(&self, permit: Permit<Self>, list: Self::List);

    /// Creates a heap of empty descriptors.
    ///
    /// # Errors
    /// A shortage; [`DeviceError::Unsupported`] for a shader-visible heap on a device without;
    /// [`DeviceError::InvalidDesc`] for a count beyond [`DescriptorLimits`];
    /// [`DeviceError::Lost`].
    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<Self::DescriptorHeap, DeviceError>;

    /// Destroys a heap of descriptors, with all descriptors in it.
    fn destroy_descriptor_heap(&self, permit: Permit<Self>, heap: Self::DescriptorHeap);

    /// Creates a descriptor at an empty index of a heap that is not shader-visible. No other thread may write or read the same
    /// index meanwhile. The descriptor does not keep the resource alive.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`] or [`DeviceError::InvalidCall`] for views that the API does not allow,
    /// [`DeviceError::Unsupported`], [`DeviceError::Lost`]; the index stays empty then.
    fn write_descriptor(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// Writes descriptors of a shader-visible heap from index `first` on. No other thread may write the same indices meanwhile,
    /// and no work in flight may read them. Allocates nothing.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`], [`DeviceError::Unsupported`], [`DeviceError::Lost`].
    fn fill_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError>;

    /// Empties descriptors. In a heap that is not shader-visible they are destroyed. In a shader-visible heap, `freed_by` is
    /// given if later uses are to be detected: the indices are then filled with null descriptors, on devices that support them.
    fn clear_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    );

    /// Creates a layout of descriptor sets; the numbers of its bindings must differ.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] on a device without sets, [`DeviceError::InvalidDesc`], a
    /// shortage, [`DeviceError::Lost`].
    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<Self::SetLayout, DeviceError>;

    /// Destroys a layout. All of its blocks must be destroyed, and no open recording may use it.
    fn destroy_set_layout(&self, permit: Permit<Self>, layout: Self::SetLayout);

    /// Creates `sets` empty descriptor sets.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::Lost`].
    fn create_set_block(
        &self,
        permit: Permit<Self>,
        layout: &Self::SetLayout,
        sets: u32,
    ) -> Result<Self::SetBlock, DeviceError>;

    /// Destroys descriptor sets. The GPU must have finished with them.
    fn destroy_set_block(&self, permit: Permit<Self>, block: Self::SetBlock);

    /// Writes descriptors of a set of a block. No other thread may write the block meanwhile, and no work in flight or recorded
    /// may read the set. Allocates nothing.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a binding, element or kind that the layout does not have,
    /// [`DeviceError::Lost`].
    fn write_set(
        &self,
        permit: Permit<Self>,
        block: &Self::SetBlock,
        set: u32,
        writes: &[SetWrite<'_, Self>],
    ) -> Result<(), DeviceError>;

    /// Empties a set; see [`clear_descriptors`](Self::clear_descriptors).
    fn clear_set(&self, permit: Permit<Self>, block: &Self::SetBlock, set: u32, freed_by: Option<&str>);

    /// Creates a heap of queries. Where [`QueryLimits::must_reset`] is true, a command must reset each query before its first
    /// use: see [`CommandList::reset_queries`].
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for queries that the queue does not support ([`Properties::has_queries`]),
    /// [`DeviceError::InvalidDesc`] for a count of 0, [`DeviceError::InvalidCall`] for a queue that does not exist, a shortage,
    /// [`DeviceError::Lost`].
    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<Self::QueryHeap, DeviceError>;

    /// Destroys a heap of queries.
    fn destroy_query_heap(&self, permit: Permit<Self>, heap: Self::QueryHeap);

    /// Creates an acceleration structure in a range of a buffer. The buffer must outlive it. The structure is empty until a
    /// list builds it or copies to it. Direct3D 12 needs no API call for it.
    ///
    /// # Errors
    /// As [`AccelerationStructureRange::check`]; a shortage, [`DeviceError::Lost`].
    fn create_acceleration_structure(
        &self,
        permit: Permit<Self>,
        range: &AccelerationStructureRange<'_, Self>,
    ) -> Result<Self::AccelerationStructure, DeviceError>;

    /// Destroys an acceleration structure. The buffer stays.
    fn destroy_acceleration_structure(&self, permit: Permit<Self>, structure: Self::AccelerationStructure);

    /// The GPU address of an acceleration structure, for instances and shaders.
    fn acceleration_structure_address(&self, structure: &Self::AccelerationStructure) -> u64;

    /// Submits closed lists in order, each only once before its next `begin`, and signals [`SubmitSync::signal`] on the queue's
    /// fence when all are complete. Serials increase by one per submission.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then nothing was submitted, and no external point is
    /// waited for or signalled.
    fn submit_with(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&Self::List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// [`submit_with`](Self::submit_with) without external points: after the given serials, as submission `signal`.
    ///
    /// # Errors
    /// As [`submit_with`](Self::submit_with).
    #[inline]
    fn submit(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&Self::List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.submit_with(permit, queue, lists, SubmitSync::new(waits, signal))
    }

    /// Lets the program submit to a queue itself: after the given serials, as submission `signal`, independent of the
    /// submissions and the result of `run`. No other call may use the queue meanwhile.
    ///
    /// `run` must not panic, and must not submit to the same queue through this contract.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then `run` was not called. After the call of `run` only
    /// [`DeviceError::Lost`]: if the fence cannot be signalled, the device counts as lost.
    fn submit_external<T>(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(Self::NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError>;

    /// Changes tile mappings in the queue's order, as a submission that signals `signal`. Until that is complete the resources
    /// and heaps in `updates` are in use: none may be destroyed before. A heap is in use by all work that accesses tiles mapped
    /// to it, too.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], [`DeviceError::InvalidCall`], [`DeviceError::Lost`]; then
    /// nothing was changed or submitted.
    fn update_tiles(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        updates: &[TileUpdate<'_, Self>],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError>;

    /// Makes blocks resident. Residency is counted: a block is resident until it was [evicted](Self::evict) as often as it was
    /// made resident; a new block has a count of one. The CPU does not wait: only submissions that [name](SubmitSync::paging)
    /// the returned point, or a later one, may use the blocks. A block may be destroyed at any count.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where [`Properties::residency`] is not [`Residency::Explicit`], as by default; a shortage,
    /// [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn make_resident(
        &self,
        permit: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        let _unused = (permit, blocks);
        Err(DeviceError::Unsupported { feature: "residency" })
    }

    /// Decrements the residency count of each block. At 0 the operating system may take its memory: no work in flight may use
    /// it, and no later work before it is resident again. Its contents are kept.
    ///
    /// # Errors
    /// As [`make_resident`](Self::make_resident).
    fn evict(&self, permit: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        let _unused = (permit, blocks);
        Err(DeviceError::Unsupported { feature: "residency" })
    }

    /// Sets the priority of a block for staying in fast memory. A hint: no effect where [`Properties::residency`] is
    /// [`Residency::None`], as by default.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn set_priority(
        &self,
        permit: Permit<Self>,
        block: MemoryBlock<'_, Self>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        let _unused = (permit, block, priority);
        Ok(())
    }

    /// The newest completed serial of a queue. Never blocks.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError>;

    /// Blocks until a serial is complete or the timeout expires; true when it is complete.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError>;

    /// Budget and usage of each memory heap, from the operating system. May take milliseconds on real drivers: call at most
    /// once a frame.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError>;

    /// Whether the operating system has reported a change of the budget since the last call. Cheap enough for several calls a
    /// frame. Always false on systems without such reports, as by default: query the [budget](Self::budget) there.
    fn budget_changed(&self) -> bool {
        false
    }

    /// The operating system's request for evictions since the last call. Cheap. `None` without a request, as by default.
    fn take_trim_request(&self) -> Option<TrimRequest> {
        None
    }

    /// Tells the operating system the minimum of bytes that the program needs in each memory heap, until the next call. A hint,
    /// which may take as long as a [budget](Self::budget) query. No effect by default.
    fn reserve(&self, bytes: &[u64]) {
        let _unused = bytes;
    }

    /// `Err` with the reason once the device is lost.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn status(&self) -> Result<(), DeviceError>;
}

/// A persistently mapped resource.
///
/// Writes are visible to submissions made after them, and reads see the writes of completed submissions: a backend with
/// non-coherent memory flushes and invalidates inside these calls. The mapping is valid as long as its resource; tenure never
/// uses a mapping after the destruction of its resource.
///
/// Several threads may use it at once. Two simultaneous writes to overlapping bytes leave the bytes of either, in any mixture,
/// and a simultaneous read sees such a mixture; it is not a data race: see [`mapped`], which backends copy with.
pub trait Mapping: Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when the range leaves the mapping, [`DeviceError::Lost`].
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies from `offset` to `out`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when the range leaves the mapping, [`DeviceError::Lost`].
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError>;

    /// The address of byte 0, if all accesses through it are coherent with the GPU without further calls. `None` for memory
    /// that is flushed and invalidated, or mapped anew for each read, and on the simulated device, which checks each access.
    fn as_ptr(&self) -> Option<NonNull<u8>>;
}

/// The slot of a device for its single manager. All clones of a device share it.
///
/// A manager counts the submissions of each queue, and the queue's fence counts with it. Two managers of one
/// device would give the same numbers to different submissions.
///
/// ```
/// use tenure::device::ManagerSlot;
///
/// let slot = ManagerSlot::default();
/// let first = slot.take().expect("it is free");
/// assert!(slot.take().is_none());
/// drop(first);
/// assert!(slot.take().is_some());
/// ```
#[derive(Debug, Default)]
pub struct ManagerSlot(Arc<AtomicBool>);

impl ManagerSlot {
    /// Claims the slot, until the claim is dropped; `None` while another manager has it.
    #[must_use]
    pub fn take(&self) -> Option<ManagerClaim> {
        let was_taken = self.0.swap(true, Ordering::AcqRel);
        (!was_taken).then(|| ManagerClaim(self.0.clone()))
    }
}

/// A manager's claim to the [`ManagerSlot`] of its device. Dropping it frees the slot.
#[derive(Debug)]
#[must_use = "the slot is free again when the claim is dropped"]
pub struct ManagerClaim(Arc<AtomicBool>);

impl Drop for ManagerClaim {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
