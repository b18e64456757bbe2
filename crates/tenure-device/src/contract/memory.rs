//! Memory: heaps, and resources in them.

use std::ptr::NonNull;

#[cfg(doc)]
use crate::{Device, Features, check};
use crate::{
    DeviceError, Dimension, Format, HeapBudget, HeapDesc, MemoryTypeId, Permit, Requirements, ResourceDesc,
    State, TEXTURE_WRITES, TextureInfo, TextureWrite, Usage,
};

/// A device with memory: heaps, buffers and textures, and mappings.
///
/// Any thread may call at any time: see the [obligations of a backend](crate#obligations-of-a-backend).
pub trait MemoryDevice: Send + Sync + Sized + 'static {
    /// A block of device memory (`ID3D12Heap`, `VkDeviceMemory`).
    type Heap: Send + Sync + 'static;
    /// A buffer or a texture (`ID3D12Resource`; `VkBuffer` or `VkImage`, with its memory if committed).
    type Resource: Send + Sync + 'static;
    /// A CPU mapping of a resource.
    type Mapping: Mapping + 'static;

    /// The memory requirements of a resource: equal for equal descriptions. A manager caches the results for textures
    /// ([`TextureCache`](crate::TextureCache)).
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

    /// True when lists of graphics queues fill mips of textures of a format with a linear filter:
    /// [`CommandList::generate_mip`](crate::CommandList::generate_mip). Vulkan's blits do so for the formats that support them,
    /// never for depth, integers or compressed blocks. Direct3D 12 has no such command.
    fn generates_mips(&self, _format: Format) -> bool {
        false
    }

    /// Allocates a block of memory from the driver.
    ///
    /// # Errors
    /// A shortage ([`DeviceError::is_shortage`]): [`DeviceError::OutOfMemory`] if the driver has refused the bytes, [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError>;

    /// Frees a heap. No resource may be placed in it any more.
    fn destroy_heap(&self, permit: Permit<Self>, heap: Self::Heap);

    /// Creates a resource with dedicated memory, with the default priority of its usage ([`Usage::priority`]).
    ///
    /// # Errors
    /// A shortage, [`DeviceError::InvalidDesc`], [`DeviceError::InvalidCall`], [`DeviceError::Lost`].
    fn create_committed(
        &self,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Self::Resource, DeviceError>;

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
    /// results.
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

    /// The GPU address of the first byte of a buffer, on APIs with addresses. The address of a texture if the device reports it,
    /// only for reports of faults.
    fn gpu_address(&self, resource: &Self::Resource) -> Option<u64>;

    /// Names a range of a buffer, for messages only, as [`set_name`](Device::set_name); an empty name removes it. Does nothing on
    /// devices without range names, as by default.
    #[inline]
    fn name_range(&self, buffer: &Self::Resource, offset: u64, size: u64, name: &str) {
        let _unused = (buffer, offset, size, name);
    }

    /// Budget and usage of each memory heap, from the operating system. May take milliseconds on real drivers: call at most
    /// once a frame.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError>;
}

/// A persistently mapped resource.
///
/// Writes are visible to submissions made after them, and reads see the writes of completed submissions: a backend with
/// non-coherent memory flushes and invalidates inside these calls. The mapping is valid for the lifetime of its resource; tenure
/// never uses a mapping after the destruction of its resource.
///
/// Several threads may use it at once. Two simultaneous writes to overlapping bytes leave any mixture of both, and a simultaneous
/// read sees such a mixture; it is not a data race: see [`mapped`](crate::mapped), which backends use for copies.
pub trait Mapping: Send + Sync {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when the range exceeds the mapping, [`DeviceError::Lost`].
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies from `offset` to `out`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when the range exceeds the mapping, [`DeviceError::Lost`].
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError>;

    /// The address of the first byte, if all accesses through it are coherent with the GPU without further calls. `None` for memory
    /// that must be flushed and invalidated, or is mapped for each read, and on the simulated device, which checks each access.
    fn as_ptr(&self) -> Option<NonNull<u8>>;
}
