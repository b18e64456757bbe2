//! The device contract: everything tenure asks of a graphics API.
//!
//! All policy is written once, above [`Device`]; a backend only translates. The contract is
//! deliberately small and has no memory of its own: a backend does not pool, defer or retry.
//!
//! # What a backend promises
//! * Every call may be made from any thread; calls on one queue are made under one lock.
//! * A failed call changes nothing.
//! * `destroy_*` is immediate. The caller has made sure that the GPU is done with the object;
//!   resources are destroyed before the heap they are placed in.
//! * After the device is lost each call answers [`DeviceError::Lost`], none blocks, and `destroy_*`
//!   still frees what it can.

mod desc;
mod error;
mod format;
mod list;
mod mapping;
mod properties;
mod tile;
mod usage;

use std::time::Duration;

pub use desc::{
    BufferInfo, ClearValue, Dimension, HeapCategory, HeapDesc, MemoryTypeId, Priority, Requirements,
    ResourceDesc, TextureInfo,
};
pub use error::DeviceError;
pub use format::{Block, Format};
pub use list::{Barrier, BufferLayout, CommandList, QueueTransfer, Subresource, TextureRegion};
pub use mapping::Mapping;
pub use properties::{
    Api, Features, HeapBudget, MAX_QUEUES, MemoryFlags, MemoryHeap, MemoryType, Properties, QueueId,
    QueueKind, QueueProperties, StateModel,
};
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

    /// What the device is. Does not change.
    fn properties(&self) -> &Properties;

    /// What a resource needs from a heap.
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
    fn destroy_heap(&self, heap: Self::Heap);

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
    fn destroy_resource(&self, resource: Self::Resource);

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
    fn set_name(&self, object: ObjectRef<'_, Self>, name: &str);

    /// Creates a command list for one queue. It is not open: see [`CommandList::begin`].
    ///
    /// # Errors
    /// A shortage, [`DeviceError::Lost`].
    fn create_list(&self, queue: QueueId) -> Result<Self::List, DeviceError>;

    /// Destroys a list that the GPU is done with.
    fn destroy_list(&self, list: Self::List);

    /// Submits closed lists, in order, after the given serials of other queues are complete, and
    /// sets the queue's fence to `signal` when all is done. Serials rise by one per submission.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::InvalidCall`], a shortage; then nothing was submitted.
    fn submit(
        &self,
        queue: QueueId,
        lists: &[&Self::List],
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError>;

    /// Changes tile mappings in the queue's order, as a submission that signals `signal`.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], [`DeviceError::InvalidCall`], [`DeviceError::Lost`]; then
    /// nothing was changed or submitted.
    fn update_tiles(
        &self,
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
