//! Optional features of devices.

use bitflags::bitflags;

bitflags! {
    /// Optional features of a device.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Features: u32 {
        /// Reserved (sparse) buffers.
        const RESERVED_BUFFERS = 1 << 0;
        /// Reserved (sparse) 2D textures.
        const RESERVED_TEXTURES = 1 << 1;
        /// The OS reports a budget and the usage of each memory heap.
        const MEMORY_BUDGET = 1 << 2;
        /// Allocations have a priority.
        const MEMORY_PRIORITY = 1 << 3;
        /// Heaps can be created without zeroing.
        const NOT_ZEROED = 1 << 4;
        /// CPU-visible device-local memory (D3D12 GPU upload heaps, resizable BAR, shared memory) of about the size of all
        /// device-local memory, not a [window](tenure_heap::MemoryHeap::is_window) into it.
        const GPU_UPLOAD = 1 << 5;
        /// Buffers have GPU addresses.
        const DEVICE_ADDRESS = 1 << 6;
        /// The driver may prefer or require dedicated allocations.
        const DEDICATED = 1 << 7;
        /// Buffers, and textures where the driver prefers it, may be placed at alignments below 64 KiB or 4 KiB (D3D12 tight
        /// alignment).
        const TIGHT_ALIGNMENT = 1 << 8;
        /// Buffers may contain acceleration structures. Creating such a buffer is `Unsupported` otherwise.
        const ACCELERATION_STRUCTURES = 1 << 9;
        /// Textures read by shaders must be in [`State::COPY_SRC`](super::State::COPY_SRC), too, reached by a barrier:
        /// otherwise the driver flushes too little. Only on [`StateModel::Promotion`](super::StateModel::Promotion).
        const COPY_SRC_WITH_READS = 1 << 10;
        /// Unmapped tiles of reserved resources read as zero, and writes to them are ignored (D3D12 tiled resources tier 2,
        /// Vulkan's `residencyNonResidentStrict`). Without it such accesses are undefined: map every tile that the GPU may
        /// access, many of them to the same memory if necessary.
        const UNMAPPED_TILES = 1 << 11;
        /// Depth and stencil of formats with both can be copied, one plane at a time. Such copies are `Unsupported` otherwise,
        /// which is the case only on Wine's own Direct3D 12.
        const STENCIL_COPIES = 1 << 12;
        /// Ray tracing pipelines, and buffers of [`Usage::SHADER_BINDING_TABLE`](super::Usage::SHADER_BINDING_TABLE). Creating
        /// such a buffer is `Unsupported` otherwise.
        const RAY_TRACING_PIPELINES = 1 << 13;
        /// All shader stages may trace rays through acceleration structures.
        const RAY_QUERIES = 1 << 14;
        /// Resources with memory shared with other devices, processes or APIs ([`Usage::SHARED`](super::Usage::SHARED)).
        /// Creating one is `Unsupported` otherwise.
        const SHARED_MEMORY = 1 << 15;
        /// CPU writes of texels in place, for textures of [`Usage::CPU_WRITE`](super::Usage::CPU_WRITE): see
        /// [`write_texture`](super::MemoryDevice::write_texture). Creating such a texture is `Unsupported` otherwise.
        const TEXTURE_WRITES = 1 << 16;
        /// The driver drops stencil writes of buffer-to-texture copies, so these copies are `Unsupported`. Direct3D
        /// 12 only.
        const NO_STENCIL_UPLOADS = 1 << 17;
        /// The driver drops copies between depth textures to any subresource but the first, so these copies are
        /// `Unsupported`. Copy through a buffer instead. Direct3D 12 only.
        const NO_DEPTH_LAYER_COPIES = 1 << 18;
        /// [`SHARED_MEMORY`](Self::SHARED_MEMORY) across drivers and devices
        /// ([`Usage::SHARED_ACROSS_DRIVERS`](super::Usage::SHARED_ACROSS_DRIVERS)). Creating such a resource is `Unsupported`
        /// otherwise.
        const SHARED_ACROSS_DRIVERS = 1 << 19;
    }
}
