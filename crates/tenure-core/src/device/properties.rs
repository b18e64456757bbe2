//! What a device is and has.

use bitflags::bitflags;

use tenure_heap::{HeapProperties, MemoryHeap, MemoryType};

use super::{DescriptorLimits, QueryLimits, RayTracingLimits, Requirements, Residency, ResourceDesc};

/// The most queues a device may expose to tenure. Sync points are arrays of this length.
pub const MAX_QUEUES: usize = 8;

/// Index of a queue in [`Properties::queues`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u8);

impl QueueId {
    /// No queue of the device: another device, process or API, as one side of a
    /// [`QueueTransfer`](super::QueueTransfer).
    pub const PEER: Self = Self(u8::MAX);

    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a queue can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueKind {
    /// Everything (D3D12: direct).
    Graphics,
    /// Dispatches and copies.
    Compute,
    /// Copies.
    Copy,
}

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
        /// [window](MemoryHeap::is_window) into it.
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
        /// [`StateModel::Promotion`] alone.
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

/// One queue that tenure may submit to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueProperties {
    /// What it can do.
    pub kind: QueueKind,
    /// Queues of equal family share textures without an ownership transfer (Vulkan). On D3D12 all
    /// queues have the same family. Buffers are shared by all families: the
    /// device creates them so (Vulkan's concurrent sharing, which costs buffers nothing).
    pub family: u32,
}

/// Whose rules a device keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// Direct3D 12: memory types are heap types, which fix how resources in them are used (upload
    /// heaps are only read by the GPU, readback heaps only copied to), and structured views begin at
    /// any element.
    Direct3D12,
    /// Vulkan.
    Vulkan,
}

/// How the API treats resource states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateModel {
    /// D3D12's legacy states: buffers (and textures, for a few read states and copies) are
    /// promoted from `COMMON` on first use without a barrier; what was promoted, and every
    /// buffer, decays to `COMMON` when the submission completes.
    Promotion,
    /// Vulkan: nothing is implied, images have layouts, each write needs a barrier before the
    /// next use, and another queue family needs a transfer. D3D12's enhanced barriers, too, with
    /// layouts of their own and one family.
    Explicit,
}

/// Everything about a device that does not change while it lives.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// The adapter, for people.
    pub name: String,
    /// `"sim"`, `"vulkan"` or `"d3d12"`.
    pub backend: &'static str,
    /// At most 32.
    pub memory_types: Vec<MemoryType>,
    /// At most 16.
    pub memory_heaps: Vec<MemoryHeap>,
    /// At most [`MAX_QUEUES`], the first of them able to do everything.
    pub queues: Vec<QueueProperties>,
    /// What is offered.
    pub features: Features,
    /// Whose rules it keeps.
    pub api: Api,
    /// How states work.
    pub state_model: StateModel,
    /// Who decides what is resident.
    pub residency: Residency,
    /// CPU and GPU share one memory.
    pub uma: bool,
    /// Bytes between the starts of constant (uniform) buffer views; a power of two.
    pub constant_alignment: u64,
    /// Bytes between the starts of structured or storage buffer views; a power of two.
    pub storage_alignment: u64,
    /// Bytes; the alignment of an acceleration structure in its buffer.
    pub acceleration_structure_alignment: u64,
    /// Bytes; the smallest alignment a heap may be created with, and that heap sizes are rounded to.
    pub heap_alignment: u64,
    /// Bytes; the heap alignment that multisampled textures need; a power of two.
    pub msaa_heap_alignment: u64,
    /// Bytes; row pitch alignment of buffer-texture copies; a power of two.
    pub copy_pitch_alignment: u64,
    /// Bytes; offset alignment of buffer-texture copies; a power of two.
    pub copy_offset_alignment: u64,
    /// Bytes; flushes of non-coherent memory are rounded to this; a power of two.
    pub non_coherent_atom: u64,
    /// Bytes of one tile of a reserved resource; a power of two.
    pub tile_size: u64,
    /// Most driver memory allocations alive at once (Vulkan: `maxMemoryAllocationCount`).
    pub max_allocations: u64,
    /// Bytes of the largest single heap.
    pub max_heap_size: u64,
    /// Bytes of the largest buffer.
    pub max_buffer_size: u64,
    /// Texels of the longest side of a 2D texture.
    pub max_texture_2d: u32,
    /// Texels of the longest side of a 3D texture.
    pub max_texture_3d: u32,
    /// Most layers of an array texture.
    pub max_layers: u32,
    /// What it offers of descriptors.
    pub descriptors: DescriptorLimits,
    /// What it offers of queries.
    pub queries: QueryLimits,
    /// What it says about memory for ray tracing.
    pub rays: RayTracingLimits,
}

impl Properties {
    /// What pools need to know about the device's memory.
    #[must_use]
    pub fn heap_properties(&self) -> HeapProperties {
        HeapProperties {
            memory_types: self.memory_types.clone(),
            memory_heaps: self.memory_heaps.clone(),
            heap_alignment: self.heap_alignment,
            msaa_heap_alignment: self.msaa_heap_alignment,
            non_coherent_atom: self.non_coherent_atom,
            max_allocations: self.max_allocations,
            max_heap_size: self.max_heap_size,
        }
    }

    /// Bytes; the alignment of a heap in which a resource with these requirements is to be placed.
    ///
    /// ```
    /// use tenure::device::{Device, ResourceDesc};
    /// use tenure::{Format, TextureDesc, Usage, sim};
    /// let device = sim::Device::new(sim::Profile::D3D12_TIER2);
    /// let target = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
    /// let desc = ResourceDesc::Texture(target.info);
    /// let needs = device.requirements(&desc)?;
    /// assert_eq!(device.properties().heap_alignment_for(&desc, &needs), 4 << 20);
    /// # Ok::<(), tenure::DeviceError>(())
    /// ```
    #[must_use]
    pub fn heap_alignment_for(&self, desc: &ResourceDesc, needs: &Requirements) -> u64 {
        let heap = if desc.is_multisampled() { self.msaa_heap_alignment } else { self.heap_alignment };
        heap.max(needs.alignment)
    }

    /// Bytes that a resource with these requirements takes with memory of its own: whole pages of 4 KiB on Direct3D 12, also
    /// with tight alignment, which lets it take less of a heap.
    ///
    /// ```
    /// use tenure::device::{Device, ResourceDesc};
    /// use tenure::{BufferInfo, Usage, sim};
    /// let device = sim::Device::with_options(sim::Options::new(sim::Profile::D3D12_TIER2).tight_alignment(true));
    /// let needs = device.requirements(&ResourceDesc::Buffer(BufferInfo { size: 100, usage: Usage::VERTEX }))?;
    /// assert_eq!((needs.size, device.properties().committed_size(&needs)), (104, 4096));
    /// # Ok::<(), tenure::DeviceError>(())
    /// ```
    #[must_use]
    pub fn committed_size(&self, needs: &Requirements) -> u64 {
        const PAGE: u64 = 4 << 10;
        match self.api {
            Api::Direct3D12 => needs.size.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX),
            Api::Vulkan => needs.size,
        }
    }

    /// True where the CPU sees what the GPU wrote only after a barrier for it,
    /// [`CommandList::make_visible_to_cpu`](super::CommandList::make_visible_to_cpu): Vulkan. On Direct3D 12
    /// the end of a submission is enough.
    #[must_use]
    pub const fn has_host_barriers(&self) -> bool {
        matches!(self.api, Api::Vulkan)
    }

    /// True where lists are told in which heaps shaders find their descriptors,
    /// [`CommandList::set_descriptor_heaps`](super::CommandList::set_descriptor_heaps): Direct3D 12, and Vulkan with
    /// descriptor buffers, which both have no [sets](super::DescriptorLimits::sets). Else such a heap is a
    /// descriptor set, which the program binds.
    #[must_use]
    pub const fn sets_descriptor_heaps(&self) -> bool {
        !self.descriptors.sets
    }

    /// The queue to use for work of `kind`: the first of that kind, else the first that can do
    /// it, which the first queue always can.
    #[must_use]
    pub fn queue(&self, kind: QueueKind) -> QueueId {
        let find = |wanted| self.queues.iter().position(|queue| queue.kind == wanted);
        let index = match kind {
            QueueKind::Graphics => find(QueueKind::Graphics),
            QueueKind::Compute => find(QueueKind::Compute),
            QueueKind::Copy => find(QueueKind::Copy).or_else(|| find(QueueKind::Compute)),
        };
        QueueId(index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0))
    }
}
