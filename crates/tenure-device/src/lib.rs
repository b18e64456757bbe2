//! The device contract: everything tenure asks of a graphics API.
//!
//! All policy is written once, above [`Device`]; a backend only translates. The contract is
//! deliberately small and has no memory of its own: a backend does not pool, defer or retry.
//!
//! # What a backend promises
//! * Every call may be made from any thread; calls on one queue are made under one lock.
//! * A failed call changes nothing.
//! * `destroy_*` is immediate.
//! * After the device is lost each call answers [`DeviceError::Lost`], none blocks, and `destroy_*`
//!   still frees what it can.
//!
//! # What a caller promises
//! A driver does not check what it is given, and a backend cannot. Calls whose breach is undefined
//! behaviour take a [`Permit`], which only `unsafe` code makes for a real device. The code that makes one
//! promises, beyond what each call asks:
//! * Objects are used with the device that made them.
//! * The GPU is done with what is destroyed, and nothing made from it is used any more: no mapping of
//!   a resource, no list that was recorded with it and is to be submitted. Resources are destroyed
//!   before the heap that they are placed in. What is not destroyed is leaked, or not dropped before
//!   the GPU is done with it.
//! * What is submitted was recorded as the API asks, of objects that still exist.
//!
//! Without a permit one can ask a device anything, map, and create what stands by itself.
//!
//! # A device that wraps another
//! A wrapper, such as one that counts calls, takes the associated types of the inner device, or types of its own around them.
//! * Its list is a type of its own, because [`CommandList`] has the device as its parameter.
//! * Arguments that name objects are made anew for the inner device, field by field: [`Barrier`], [`Descriptor`],
//!   [`DescriptorSource`], [`SetWrite`], [`AccelerationStructureRange`], [`MemoryBlock`], [`ObjectRef`], [`SubmitSync`],
//!   [`TileUpdate`], [`TileSource`].
//! * It passes on the methods that have a default, too. The compiler does not ask for them, and the default of a wrapper hides
//!   the method of the inner device: [`create_committed_with_priority`](Device::create_committed_with_priority),
//!   [`texture_write_states`](Device::texture_write_states), [`write_texture`](Device::write_texture),
//!   [`name_range`](Device::name_range), [`make_resident`](Device::make_resident), [`evict`](Device::evict),
//!   [`set_priority`](Device::set_priority), [`budget_changed`](Device::budget_changed),
//!   [`take_trim_request`](Device::take_trim_request), [`reserve`](Device::reserve) and
//!   [`CommandList::keep_unwritten`]. The defaults of [`supports_format`](Device::supports_format) and
//!   [`submit`](Device::submit) call other methods, and may stay.
//! * It makes the [`Permit`] for the inner device itself, with `unsafe`: a call that is passed on unchanged is one for which its
//!   caller has made the promise. It is [`Checked`] if the inner device is.
//! * Its [`manager_slot`](Device::manager_slot) is that of the inner device, which has one manager, wrapped or not.
//! * Memory comes from [`create_heap`](Device::create_heap) and from both methods for committed resources. A wrapper with a
//!   smaller limit lowers it in its own copy of [`Properties`], such as [`Properties::max_heap_size`]: a request within the
//!   limits that is refused as a shortage has the manager give memory back and wait for the GPU.
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
pub use queue::{MAX_QUEUES, QueueId, QueueKind, QueueProperties};
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

/// What [`Features::TEXTURE_WRITES`] is called where it is missing.
pub const TEXTURE_WRITES: &str = "writes of texels by the CPU";

/// One queue's serial that something waits for: the submission's number on that queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueSerial {
    /// The queue.
    pub queue: QueueId,
    /// The submission; 0 is complete from the start.
    pub serial: u64,
}

/// An object of a device, to be named.
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
    /// A buffer or a texture (`ID3D12Resource`, `VkBuffer` or `VkImage` with what was committed for it).
    type Resource: Send + Sync + 'static;
    /// The CPU's window into a resource.
    type Mapping: Mapping + 'static;
    /// A command allocator with its list.
    type List: CommandList<Self> + 'static;
    /// Descriptors in a row (`ID3D12DescriptorHeap`; on Vulkan the views themselves, or one large set
    /// that shaders index).
    type DescriptorHeap: Send + Sync + 'static;
    /// The form of descriptor sets (`VkDescriptorSetLayout`).
    type SetLayout: Send + Sync + 'static;
    /// Descriptor sets of one layout (`VkDescriptorPool` with all its sets).
    type SetBlock: Send + Sync + 'static;
    /// Queries in a row (`ID3D12QueryHeap`, `VkQueryPool`).
    type QueryHeap: Send + Sync + 'static;
    /// An acceleration structure in a range of a buffer (`VkAccelerationStructureKHR`; an address on Direct3D
    /// 12).
    type AccelerationStructure: Send + Sync + 'static;
    /// A point that a semaphore or fence of the program's own reaches: `VkSemaphore`, with a value if it
    /// is a timeline; `ID3D12Fence` with a value.
    type ExternalPoint: Clone + fmt::Debug + Send + Sync + 'static;
    /// The API's queue, as the program submits to it itself (`VkQueue`, `ID3D12CommandQueue`).
    type NativeQueue<'a>;

    /// What the device is. Does not change.
    fn properties(&self) -> &Properties;

    /// The place for the one manager that the device, with all its clones, can have at a time.
    fn manager_slot(&self) -> &ManagerSlot;

    /// What a resource needs from a heap: the same whenever the description is. A manager keeps the answers about
    /// textures ([`TextureCache`]).
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`], [`DeviceError::Lost`].
    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError>;

    /// True when the device has plain 2D textures (one sample, no other [view
    /// formats](TextureInfo::view_formats)) of a format for all of `usage`: when it answers
    /// [`requirements`](Self::requirements) of one.
    fn supports_format(&self, format: Format, usage: Usage) -> bool {
        let block = format.block();
        // Whole blocks, because not every device has others.
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

    /// Takes a block of memory from the driver.
    ///
    /// # Errors
    /// A shortage ([`DeviceError::is_shortage`]): [`DeviceError::OutOfMemory`] if the driver has refused the bytes, [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError>;

    /// Gives a heap back. Nothing is placed in it any more.
    fn destroy_heap(&self, permit: Permit<Self>, heap: Self::Heap);

    /// Creates a resource with memory of its own, with the priority of its usage
    /// ([`Usage::priority`]).
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_committed(
        &self,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Self::Resource, DeviceError>;

    /// As [`create_committed`](Self::create_committed), with another priority than that of its usage. Here it is
    /// [set](Self::set_priority) afterwards; APIs where an allocation has one from the start give it that.
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
        // A hint; the next call reports a loss of the device.
        let _hinted = self.set_priority(permit, MemoryBlock::Resource(&made), priority);
        Ok(made)
    }

    /// Creates a resource at a byte offset of a heap. The heap outlives it.
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

    /// Destroys a resource. The GPU is done with it.
    fn destroy_resource(&self, permit: Permit<Self>, resource: Self::Resource);

    /// Maps a resource in host-visible memory, for as long as it lives. Mapping twice is allowed.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when its memory is not host-visible, a shortage,
    /// [`DeviceError::Lost`].
    fn map(&self, resource: &Self::Resource) -> Result<Self::Mapping, DeviceError>;

    /// The states in which the CPU may write texels of a texture with this description and
    /// [`Usage::CPU_WRITE`] beside its usage, where the GPU uses such a texture as fast as one without.
    /// [`State::COMMON`]: in none, or the GPU would be slower, as here. Of all descriptions alike where
    /// [`Features::TEXTURE_WRITES`] is missing. Asked before textures are created, so a backend keeps
    /// answers.
    fn texture_write_states(&self, info: &TextureInfo) -> State {
        let _unused = info;
        State::COMMON
    }

    /// Writes texels of a texture of [`Usage::CPU_WRITE`] by the CPU, at once and where they stay
    /// (`vkCopyMemoryToImageEXT`). What is submitted afterwards, to any queue, finds them.
    ///
    /// The subresources written to are in the state `before`, and in `after` afterwards, as after a barrier:
    /// `before` is [`State::COMMON`], and what was in the subresources is lost, or it is `after`. `after` is one of the
    /// [states](Self::texture_write_states) for it.
    ///
    /// The GPU is through with all that was submitted and uses the texture, and no other thread writes the texture
    /// or submits such work meanwhile.
    ///
    /// # Errors
    /// As [`check::texture_writes`]; [`DeviceError::InvalidCall`] for a resource that is no texture, or of another
    /// device; [`DeviceError::Unsupported`] where there is no such write, as here; a shortage,
    /// [`DeviceError::Lost`]. What the regions hold is undefined then, and where `before` is `COMMON` all of their
    /// subresources.
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

    /// The GPU address of a buffer's byte 0, where the API has one.
    fn gpu_address(&self, resource: &Self::Resource) -> Option<u64>;

    /// How a reserved resource is tiled.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when it is not reserved.
    fn tile_layout(&self, resource: &Self::Resource) -> Result<TileLayout, DeviceError>;

    /// Gives an object the name that debuggers and validation messages show. Never fails; a
    /// device without names ignores it.
    fn set_name(&self, permit: Permit<Self>, object: ObjectRef<'_, Self>, name: &str);

    /// Bytes of a buffer belong to an object of that name from now on; empty: to one without a name.
    /// For messages alone, as [`set_name`](Self::set_name): a device that has no use for it does nothing,
    /// as here.
    #[inline]
    fn name_range(&self, buffer: &Self::Resource, offset: u64, size: u64, name: &str) {
        let _unused = (buffer, offset, size, name);
    }

    /// Creates a command list for one queue. It is not open: see [`CommandList::begin`].
    ///
    /// # Errors
    /// A shortage, [`DeviceError::Lost`].
    fn create_list(&self, permit: Permit<Self>, queue: QueueId) -> Result<Self::List, DeviceError>;

    /// Destroys a list that the GPU is done with.
    fn destroy_list(&self, permit: Permit<Self>, list: Self::List);

    /// Creates a heap of descriptors, each of which holds nothing.
    ///
    /// # Errors
    /// A shortage; [`DeviceError::Unsupported`] for a shader-visible heap on a device without;
    /// [`DeviceError::InvalidDesc`] for a count beyond [`DescriptorLimits`];
    /// [`DeviceError::Lost`].
    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<Self::DescriptorHeap, DeviceError>;

    /// Destroys a heap of descriptors, with what is left in it.
    fn destroy_descriptor_heap(&self, permit: Permit<Self>, heap: Self::DescriptorHeap);

    /// Makes a descriptor in a heap that shaders do not see, at an index that holds nothing. No other
    /// thread writes or reads the same index meanwhile. It does not keep the resource.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`] or [`DeviceError::InvalidCall`] for what the API does
    /// not allow, [`DeviceError::Unsupported`], [`DeviceError::Lost`]; then the index holds nothing.
    fn write_descriptor(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// Fills indices of a shader-visible heap from `first` on. No other thread writes the same indices
    /// meanwhile, and no work in flight reads them. Allocates nothing.
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

    /// The indices hold nothing any more. What was made in a heap that shaders do not see is
    /// destroyed; in one that they see, `freed_by` is given when a use of them is to be found: they
    /// are filled with null descriptors, where the device has them.
    fn clear_descriptors(
        &self,
        permit: Permit<Self>,
        heap: &Self::DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    );

    /// Creates a form of descriptor sets; the numbers of its bindings differ.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] on a device without sets, [`DeviceError::InvalidDesc`], a
    /// shortage, [`DeviceError::Lost`].
    fn create_set_layout(&self, bindings: &[SetBinding]) -> Result<Self::SetLayout, DeviceError>;

    /// Destroys a form. No block of it is left, and nothing being recorded uses it.
    fn destroy_set_layout(&self, permit: Permit<Self>, layout: Self::SetLayout);

    /// Creates `sets` descriptor sets, which hold nothing.
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::Lost`].
    fn create_set_block(
        &self,
        permit: Permit<Self>,
        layout: &Self::SetLayout,
        sets: u32,
    ) -> Result<Self::SetBlock, DeviceError>;

    /// Destroys descriptor sets that the GPU is done with.
    fn destroy_set_block(&self, permit: Permit<Self>, block: Self::SetBlock);

    /// Writes descriptors of a set of a block. No other thread writes the block meanwhile, and no work in
    /// flight or recorded reads the set. Allocates nothing.
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

    /// A set holds nothing any more; see [`clear_descriptors`](Self::clear_descriptors).
    fn clear_set(&self, permit: Permit<Self>, block: &Self::SetBlock, set: u32, freed_by: Option<&str>);

    /// Creates a heap of queries. Where [`QueryLimits::must_reset`] says so, none of them is used before a
    /// command has reset it: see [`CommandList::reset_queries`].
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for queries that the queue does not have
    /// ([`Properties::has_queries`]), [`DeviceError::InvalidDesc`] for no queries at all,
    /// [`DeviceError::InvalidCall`] for a queue that does not exist, a shortage, [`DeviceError::Lost`].
    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<Self::QueryHeap, DeviceError>;

    /// Destroys a heap of queries.
    fn destroy_query_heap(&self, permit: Permit<Self>, heap: Self::QueryHeap);

    /// Makes an acceleration structure of a range of a buffer, which outlives it. It holds nothing until a
    /// list builds it or copies to it. On Direct3D 12 that is no call.
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

    /// The GPU address by which instances and shaders refer to an acceleration structure.
    fn acceleration_structure_address(&self, structure: &Self::AccelerationStructure) -> u64;

    /// Submits closed lists, each once until it is begun anew, in order, and sets the queue's fence to
    /// [`SubmitSync::signal`] when all is done. Serials rise by one per submission.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then nothing was submitted,
    /// and no external point is waited for or signalled.
    fn submit_with(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&Self::List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// [`submit_with`](Self::submit_with) without external points: after the given serials, as submission
    /// `signal`.
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

    /// Lets the program submit to a queue itself: after the given serials, as submission `signal`, whatever
    /// `run` submits and answers. No other call uses the queue meanwhile.
    ///
    /// `run` does not panic, and makes no submission through this contract to the same queue.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then `run` was not called. Once it
    /// was called, [`DeviceError::Lost`] alone: the device counts as lost when the fence cannot be told.
    fn submit_external<T>(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(Self::NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError>;

    /// Changes tile mappings in the queue's order, as a submission that signals `signal`. Until that is
    /// complete the resources and heaps named are in use: none of them is destroyed before. A heap is
    /// in use, too, by all work that touches tiles mapped to it.
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

    /// Makes blocks resident, each once more: as often as they are [evicted](Self::evict) they have to be
    /// made resident again. A new block counts one. The CPU does not wait: only submissions
    /// that [name](SubmitSync::paging) the answered point, or a later one, use the blocks. Destroying a block
    /// needs no count.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where [`Properties::residency`] is not [`Residency::Explicit`], as here; a
    /// shortage, [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn make_resident(
        &self,
        permit: Permit<Self>,
        blocks: &[MemoryBlock<'_, Self>],
    ) -> Result<PagingPoint, DeviceError> {
        let _unused = (permit, blocks);
        Err(DeviceError::Unsupported { feature: "residency" })
    }

    /// Takes one from how often each block was made resident. At 0 the operating system may take its
    /// memory: no work in flight uses it, and none does before it is resident again. What it holds stays.
    ///
    /// # Errors
    /// As [`make_resident`](Self::make_resident).
    fn evict(&self, permit: Permit<Self>, blocks: &[MemoryBlock<'_, Self>]) -> Result<(), DeviceError> {
        let _unused = (permit, blocks);
        Err(DeviceError::Unsupported { feature: "residency" })
    }

    /// How much it matters from now on that a block stays in fast memory. A hint: where
    /// [`Properties::residency`] is [`Residency::None`] it does nothing, as here.
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

    /// Blocks until a serial is complete or the time is over; true when it is complete.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError>;

    /// What the OS grants and counts, for each memory heap. May take milliseconds on real drivers:
    /// ask at most once a frame.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError>;

    /// Whether the operating system has said, since this was last asked, that what it grants has changed. Cheap enough
    /// to be asked several times a frame. Never, where no such thing is heard, as here: there the
    /// [budget](Self::budget) tells.
    fn budget_changed(&self) -> bool {
        false
    }

    /// What the operating system has asked to be evicted since this was last asked. Cheap. `None` where it asks for
    /// nothing, as here.
    fn take_trim_request(&self) -> Option<TrimRequest> {
        None
    }

    /// Tells the operating system how many bytes of each memory heap the program cannot do without, from now on
    /// until told otherwise. A hint, which may take as long as asking for the [budget](Self::budget). Here it does
    /// nothing.
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
/// Writes are visible to submissions made after them and reads see what completed submissions
/// wrote: a backend with non-coherent memory flushes and invalidates inside these calls.
/// The mapping is valid as long as its resource; tenure never uses one after destroying the other.
///
/// Threads may call it at once. Two writes to overlapping bytes at the same time leave one or the
/// other's bytes, in any mixture, and a read beside them sees such; it is no data race: see
/// [`mapped`], with which backends copy.
pub trait Mapping: Send + Sync {
    /// Bytes that are mapped.
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

    /// The address of byte 0, where all that is done through it is seen by the GPU and back with
    /// nothing else called. There is none in memory that is flushed and invalidated, or mapped anew for
    /// each read, nor on the simulated device, which checks each access.
    fn as_ptr(&self) -> Option<NonNull<u8>>;
}

/// The slot of a device for its only manager. All clones of a device share it.
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
