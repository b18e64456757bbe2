//! Reserved (sparse) resources, whose tiles are mapped to memory.

use super::MemoryDevice;
#[cfg(doc)]
use crate::Features;
use crate::{DeviceError, Permit, QueueId, QueueSerial, ResourceDesc, TileLayout, TileRegion};

/// A device with reserved resources ([`Features::RESERVED_BUFFERS`], [`Features::RESERVED_TEXTURES`]).
///
/// Every method has a default, for devices without: unsupported. Any thread may call at any time; calls on one queue are made
/// under one lock.
pub trait TileDevice: MemoryDevice {
    /// Creates a resource with an address range and no memory; its tiles are mapped later.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] naming the feature, a shortage, [`DeviceError::Lost`].
    fn create_reserved(&self, desc: &ResourceDesc) -> Result<Self::Resource, DeviceError> {
        let _unused = desc;
        Err(DeviceError::Unsupported { feature: "reserved resources" })
    }

    /// The tile layout of a reserved resource.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a resource that is not reserved, [`DeviceError::Lost`].
    fn tile_layout(&self, resource: &Self::Resource) -> Result<TileLayout, DeviceError> {
        let _unused = resource;
        Err(DeviceError::Unsupported { feature: "reserved resources" })
    }

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
    ) -> Result<(), DeviceError> {
        let _unused = (permit, queue, updates, waits, signal);
        Err(DeviceError::Unsupported { feature: "reserved resources" })
    }
}

/// The new mapping of a box of tiles.
pub enum TileSource<'a, D: MemoryDevice> {
    /// Consecutive tiles of a heap, beginning at byte `offset`, in the order x, y, z.
    Heap {
        /// The heap.
        heap: &'a D::Heap,
        /// Offset of the first tile in bytes; a multiple of the tile size.
        offset: u64,
    },
    /// No memory: see [`Features::UNMAPPED_TILES`](crate::Features::UNMAPPED_TILES).
    Unmapped,
    /// The current mapping of another region of the same size.
    CopyOf {
        /// The other resource.
        resource: &'a D::Resource,
        /// The region.
        region: TileRegion,
    },
}

/// A change of mappings, executed on a queue in order with its submissions.
pub struct TileUpdate<'a, D: MemoryDevice> {
    /// The reserved resource.
    pub resource: &'a D::Resource,
    /// The tiles to change.
    pub region: TileRegion,
    /// Their new mapping.
    pub source: TileSource<'a, D>,
}
