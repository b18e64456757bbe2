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
//! behaviour take a [`Permit`], which only `unsafe` code makes for a real device. Who makes one promises,
//! beyond what each call asks:
//! * Objects are used with the device that made them.
//! * The GPU is done with what is destroyed, and nothing made from it is used any more: no mapping of
//!   a resource, no list that was recorded with it and is to be submitted. Resources are destroyed
//!   before the heap that they are placed in. What is not destroyed is leaked, or not dropped before
//!   the GPU is done with it.
//! * What is submitted was recorded as the API asks, of objects that still exist.
//!
//! Without a permit one can ask a device anything, map, and create what stands by itself.

mod desc;
mod descriptor;
mod error;
mod format;
mod list;
mod manager_slot;
pub mod mapped;
mod mapping;
mod permit;
mod properties;
mod texture_cache;
mod texture_key;
mod tile;
mod usage;

use std::time::Duration;

pub use desc::{
    BufferInfo, ClearValue, Dimension, HeapCategory, HeapDesc, MemoryTypeId, Priority, Requirements,
    ResourceDesc, TextureInfo,
};
pub use descriptor::{
    AddressMode, BindingKind, BorderColor, BufferAccess, BufferView, Compare, Descriptor, DescriptorHeapDesc,
    DescriptorKind, DescriptorLimits, DescriptorSource, Elements, Filter, Plane, SamplerDesc, SetBinding,
    SetWrite, TextureAccess, TextureView, ViewShape,
};
pub use error::{Allowed, DeviceError, FieldValue};
pub use format::{Block, Format};
pub use list::{Barrier, BufferLayout, CommandList, QueueTransfer, Subresource, TextureRegion};
pub use manager_slot::{ManagerSeat, ManagerSlot};
pub use mapping::Mapping;
pub use permit::{Checked, Permit};
pub use properties::{
    Api, Features, HeapBudget, MAX_QUEUES, MemoryFlags, MemoryHeap, MemoryType, Properties, QueueId,
    QueueKind, QueueProperties, StateModel,
};
pub use texture_cache::TextureCache;
pub(crate) use texture_key::texture_key;
pub use tile::{TileLayout, TileRegion, TileSource, TileUpdate};
pub use usage::{State, Usage};

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

    /// What the device is. Does not change.
    fn properties(&self) -> &Properties;

    /// The place for the one manager that the device, with all its clones, can have at a time.
    fn manager_slot(&self) -> &ManagerSlot;

    /// What a resource needs from a heap: the same whenever the description is. Asked before each
    /// texture is created, so a backend whose driver takes its time keeps answers ([`TextureCache`]).
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`], [`DeviceError::Lost`].
    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError>;

    /// Takes a block of memory from the driver.
    ///
    /// # Errors
    /// A shortage ([`DeviceError::is_shortage`]), [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError>;

    /// Gives a heap back. Nothing is placed in it any more.
    fn destroy_heap(&self, permit: Permit<Self>, heap: Self::Heap);

    /// Creates a resource with memory of its own, with the priority of its usage
    /// ([`Priority::for_usage`]).
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_committed(
        &self,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Self::Resource, DeviceError>;

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

    /// Makes a descriptor in a heap that shaders do not see, at an index that holds nothing. Nobody
    /// else writes or reads the same index meanwhile. It does not keep the resource.
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

    /// Fills indices of a shader-visible heap from `first` on. Nobody else writes the same indices
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

    /// Writes descriptors of a set of a block. Nobody else writes the block meanwhile, and no work in
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

    /// Submits closed lists, each once until it is begun anew, in order, after the given serials of other queues are complete, and
    /// sets the queue's fence to `signal` when all is done. Serials rise by one per submission.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then nothing was submitted.
    fn submit(
        &self,
        permit: Permit<Self>,
        queue: QueueId,
        lists: &[&Self::List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError>;

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

    /// `Err` with the reason once the device is lost.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn status(&self) -> Result<(), DeviceError>;
}
