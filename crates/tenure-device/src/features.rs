//! What a device may offer.

use bitflags::bitflags;

bitflags! {
    /// What a device offers beyond the minimum.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Features: u32 {
        /// Reserved (sparse) buffers.
        const RESERVED_BUFFERS = 1 << 0;
        /// Reserved (sparse) 2D textures.
        const RESERVED_TEXTURES = 1 << 1;
        /// The OS reports a budget and the usage for each memory heap.
        const MEMORY_BUDGET = 1 << 2;
        /// Allocations take a priority.
        const MEMORY_PRIORITY = 1 << 3;
        /// Heaps can be had without being zeroed.
        const NOT_ZEROED = 1 << 4;
        /// Device-local memory that the CPU can map (D3D12 GPU upload heaps, resizable BAR, shared
        /// memory): about as much as there is device-local memory, not a
        /// [window](tenure_heap::MemoryHeap::is_window) into it.
        const GPU_UPLOAD = 1 << 5;
        /// Buffers have GPU addresses.
        const DEVICE_ADDRESS = 1 << 6;
        /// A committed resource may be preferred or required by the driver.
        const DEDICATED = 1 << 7;
        /// Buffers, and textures where the driver likes to, may be placed at less than 64 KiB or 4 KiB (D3D12 tight
        /// alignment).
        const TIGHT_ALIGNMENT = 1 << 8;
        /// Buffers may hold acceleration structures. Elsewhere creating such a buffer is
        /// `Unsupported`.
        const ACCELERATION_STRUCTURES = 1 << 9;
        /// Textures that shaders read must be in [`State::COPY_SRC`](super::State::COPY_SRC), too,
        /// and a barrier has to lead there: the driver flushes too little otherwise. On
        /// [`StateModel::Promotion`](super::StateModel::Promotion) alone.
        const COPY_SRC_WITH_READS = 1 << 10;
        /// Tiles of reserved resources that are mapped to nothing read as zero, and writes to them go
        /// nowhere (D3D12 tiled resources tier 2, Vulkan's `residencyNonResidentStrict`). Elsewhere
        /// what touches them is undefined: map all that the GPU may touch, many tiles to the same
        /// memory if need be.
        const UNMAPPED_TILES = 1 << 11;
        /// Depth and stencil of formats with both are copied, each by itself. Elsewhere, which is on Wine's
        /// own Direct3D 12 alone, such copies are `Unsupported`.
        const STENCIL_COPIES = 1 << 12;
        /// Pipelines of ray tracing shaders, and buffers of
        /// [`Usage::SHADER_BINDING_TABLE`](super::Usage::SHADER_BINDING_TABLE). Elsewhere creating such a
        /// buffer is `Unsupported`.
        const RAY_TRACING_PIPELINES = 1 << 13;
        /// All shaders may trace rays through acceleration structures.
        const RAY_QUERIES = 1 << 14;
        /// Resources whose memory other devices, processes or APIs use, too
        /// ([`Usage::SHARED`](super::Usage::SHARED)). Elsewhere creating one is `Unsupported`.
        const SHARED_MEMORY = 1 << 15;
        /// The CPU writes texels where they stay, of textures of
        /// [`Usage::CPU_WRITE`](super::Usage::CPU_WRITE): see
        /// [`Device::write_texture`](super::Device::write_texture). Elsewhere creating such a texture is
        /// `Unsupported`.
        const TEXTURE_WRITES = 1 << 16;
        /// The driver drops stencil writes of buffer-to-texture copies, so these copies are `Unsupported`. Direct3D
        /// 12 only.
        const NO_STENCIL_UPLOADS = 1 << 17;
        /// The driver drops copies between depth textures to any subresource but the first, so these copies are
        /// `Unsupported`. Copy through a buffer instead. Direct3D 12 only.
        const NO_DEPTH_LAYER_COPIES = 1 << 18;
        /// [`SHARED_MEMORY`](Self::SHARED_MEMORY) is handed to other drivers and devices, too
        /// ([`Usage::SHARED_ACROSS_DRIVERS`](super::Usage::SHARED_ACROSS_DRIVERS)). Elsewhere creating such a resource is
        /// `Unsupported`.
        const SHARED_ACROSS_DRIVERS = 1 << 19;
    }
}
