//! The structure of a profile's table.

use tenure_core::device::{
    Api, Compression, DescriptorLimits, Features, Format, MarkerLimits, MemoryFlags, MemoryHeap, MemoryType,
    Properties, QueryLimits, QueueKind, QueueProperties, RayTracingLimits, Residency, StateModel,
    TimestampClock,
};

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const GIB: u64 = 1 << 30;

/// The features of most desktop GPUs.
pub(super) const FEATURES: Features = Features::RESERVED_BUFFERS
    .union(Features::RESERVED_TEXTURES)
    .union(Features::UNMAPPED_TILES)
    .union(Features::STENCIL_COPIES)
    .union(Features::MEMORY_BUDGET)
    .union(Features::MEMORY_PRIORITY)
    .union(Features::NOT_ZEROED)
    .union(Features::DEVICE_ADDRESS)
    .union(Features::ACCELERATION_STRUCTURES)
    .union(Features::RAY_TRACING_PIPELINES)
    .union(Features::RAY_QUERIES);

/// All properties fixed by a profile. Sizes and alignments are in bytes.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) adapter: &'static str,
    pub(crate) rules: Rules,
    /// Flags and heap of each memory type.
    pub(crate) types: &'static [(MemoryFlags, u8)],
    /// Size of each memory heap, and whether it is local to the GPU.
    pub(crate) heaps: &'static [(u64, bool)],
    /// Kind and family of each queue.
    pub(crate) queues: &'static [(QueueKind, u32)],
    pub(crate) features: Features,
    pub(crate) uma: bool,
    pub(crate) zeroed: bool,
    pub(crate) constant_alignment: u64,
    pub(crate) storage_alignment: u64,
    pub(crate) heap_alignment: u64,
    pub(crate) msaa_heap_alignment: u64,
    pub(crate) copy_pitch_alignment: u64,
    pub(crate) copy_offset_alignment: u64,
    pub(crate) non_coherent_atom: u64,
    pub(crate) max_allocations: u64,
    pub(crate) max_heap_size: u64,
    pub(crate) max_buffer_size: u64,
    pub(crate) max_texture_2d: u32,
    pub(crate) max_texture_3d: u32,
    pub(crate) max_layers: u32,
    pub(crate) descriptors: DescriptorLimits,
    /// The clock of the queues that have timestamps.
    pub(crate) timestamps: TimestampClock,
    pub(crate) formats: Formats,
    /// Copy granularity of copy queues, in blocks along each axis.
    pub(crate) copy_steps: [u32; 3],
}

/// Optional formats.
#[derive(Clone, Copy)]
pub(crate) struct Formats {
    pub(crate) compression: &'static [Compression],
    /// 24 bits of depth with stencil.
    pub(crate) d24s8: bool,
    /// Block-compressed textures whose sides are not whole blocks.
    pub(crate) unaligned_blocks: bool,
}

impl Formats {
    /// True when the device has textures of the format.
    pub(crate) fn has(self, format: Format) -> bool {
        let is_left_out = format == Format::D24UnormS8Uint && !self.d24s8;
        let is_compressed_here = |family| self.compression.contains(&family);
        !is_left_out && format.compression().is_none_or(is_compressed_here)
    }
}

/// A desktop GPU.
pub(super) const DESKTOP: Formats =
    Formats { compression: &[Compression::Bc], d24s8: true, unaligned_blocks: true };

/// The rules for sizes and placement of resources.
#[derive(Clone, Copy)]
pub(crate) enum Rules {
    /// Direct3D 12.
    D3d12 {
        /// Heap tier 1 separates categories.
        tier1: bool,
        /// Enhanced barriers: layouts and access are named, and states are not promoted.
        enhanced: bool,
    },
    /// Vulkan.
    Vulkan {
        buffer_alignment: u64,
        /// The alignment of images up to 64 KiB.
        image_alignment: u64,
        /// The alignment of larger images.
        large_image_alignment: u64,
        /// Bit *i* is set when memory type *i* holds optimal images.
        image_types: u32,
        /// `bufferImageGranularity` is coarser than the alignments, so buffers and images have
        /// separate heaps.
        split: bool,
        /// Bytes from which the driver prefers a dedicated allocation for targets.
        dedicated_targets_from: u64,
    },
}

impl Rules {
    const fn api(&self) -> Api {
        match self {
            Self::D3d12 { .. } => Api::Direct3D12,
            Self::Vulkan { .. } => Api::Vulkan,
        }
    }

    const fn state_model(&self) -> StateModel {
        match self {
            Self::D3d12 { enhanced: false, .. } => StateModel::Promotion,
            Self::D3d12 { .. } | Self::Vulkan { .. } => StateModel::Explicit,
        }
    }
}

impl Table {
    fn queries(&self) -> QueryLimits {
        let is_vulkan = self.rules.api() == Api::Vulkan;
        // Vulkan's copy-only queues cannot copy the results.
        let clock = |kind| match kind {
            QueueKind::Copy if is_vulkan => TimestampClock::default(),
            _ => self.timestamps,
        };
        QueryLimits {
            timestamps: self.queues.iter().map(|&(kind, _)| clock(kind)).collect(),
            precise_occlusion: true,
            pipeline_statistics: true,
            must_reset: is_vulkan,
        }
    }

    fn rays(&self) -> RayTracingLimits {
        match self.rules.api() {
            Api::Direct3D12 => RayTracingLimits::default(),
            Api::Vulkan => RayTracingLimits { scratch_alignment: 128, ..RayTracingLimits::default() },
        }
    }

    pub(crate) fn properties(&self) -> Properties {
        Properties {
            name: self.adapter.to_owned(),
            backend: "sim",
            memory_types: self.types.iter().map(|&(flags, heap)| MemoryType { flags, heap }).collect(),
            memory_heaps: self
                .heaps
                .iter()
                .map(|&(size, device_local)| MemoryHeap { size, device_local })
                .collect(),
            queues: self.queues.iter().map(|&(kind, family)| QueueProperties { kind, family }).collect(),
            features: self.features,
            api: self.rules.api(),
            state_model: self.rules.state_model(),
            residency: Residency::None,
            uma: self.uma,
            constant_alignment: self.constant_alignment,
            storage_alignment: self.storage_alignment,
            acceleration_structure_alignment: 256,
            heap_alignment: self.heap_alignment,
            msaa_heap_alignment: self.msaa_heap_alignment,
            copy_pitch_alignment: self.copy_pitch_alignment,
            copy_offset_alignment: self.copy_offset_alignment,
            non_coherent_atom: self.non_coherent_atom,
            tile_size: 64 << 10,
            max_allocations: self.max_allocations,
            max_heap_size: self.max_heap_size,
            max_buffer_size: self.max_buffer_size,
            max_texture_2d: self.max_texture_2d,
            max_texture_3d: self.max_texture_3d,
            max_layers: self.max_layers,
            descriptors: self.descriptors,
            queries: self.queries(),
            rays: self.rays(),
            markers: MarkerLimits::default(),
        }
    }
}
