//! Properties of a device.

use tenure_heap::{HeapProperties, MemoryHeap, MemoryType};

use super::{
    Allowed, CallRule, DescriptorLimits, DeviceError, Features, MarkerLimits, QueryHeapDesc, QueryKind,
    QueryLimits, Queue, QueueId, QueueKind, QueueProperties, Requirements, Residency, ResourceDesc,
    TimestampClock,
};

/// The API whose rules apply to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// Direct3D 12: memory types are heap types, which fix how resources in them are used (upload
    /// heaps are only read by the GPU, readback heaps only copied to), and structured views begin at
    /// any element.
    Direct3D12,
    /// Vulkan.
    Vulkan,
}

/// The model of resource states of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateModel {
    /// D3D12's legacy states: buffers (and textures, for a few read states and copies) are promoted from `COMMON` on first use
    /// without a barrier; promoted resources, and every buffer, decay to `COMMON` when the submission completes.
    Promotion,
    /// Vulkan: no implicit transitions, images have layouts, each write needs a barrier before the next use, and another queue
    /// family needs an ownership transfer. Also D3D12's enhanced barriers, with their own layouts and one family for all
    /// queues.
    Explicit,
}

/// The constant properties of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// Display name of the adapter.
    pub name: String,
    /// `"sim"`, `"vulkan"` or `"d3d12"`.
    pub backend: &'static str,
    /// The memory types, at most 32.
    pub memory_types: Vec<MemoryType>,
    /// The memory heaps, at most 16.
    pub memory_heaps: Vec<MemoryHeap>,
    /// The queues, at most [`MAX_QUEUES`](super::MAX_QUEUES). The first one supports all kinds of work.
    pub queues: Vec<QueueProperties>,
    /// Supported features.
    pub features: Features,
    /// The API whose rules apply.
    pub api: Api,
    /// The model of resource states.
    pub state_model: StateModel,
    /// The party that controls residency.
    pub residency: Residency,
    /// True if CPU and GPU share their memory.
    pub uma: bool,
    /// Alignment of constant (uniform) buffer views, in bytes; a power of two.
    pub constant_alignment: u64,
    /// Alignment of structured or storage buffer views, in bytes; a power of two.
    pub storage_alignment: u64,
    /// Alignment of an acceleration structure in its buffer, in bytes.
    pub acceleration_structure_alignment: u64,
    /// Minimum alignment of a heap, and granularity of heap sizes, in bytes.
    pub heap_alignment: u64,
    /// Heap alignment for multisampled textures, in bytes; a power of two.
    pub msaa_heap_alignment: u64,
    /// Row pitch alignment of buffer-texture copies, in bytes; a power of two.
    pub copy_pitch_alignment: u64,
    /// Offset alignment of buffer-texture copies, in bytes; a power of two.
    pub copy_offset_alignment: u64,
    /// Granularity of flushes of non-coherent memory, in bytes; a power of two.
    pub non_coherent_atom: u64,
    /// Size of one tile of a reserved resource, in bytes; a power of two.
    pub tile_size: u64,
    /// Maximum number of live memory allocations (Vulkan: `maxMemoryAllocationCount`).
    pub max_allocations: u64,
    /// Maximum size of a heap, in bytes.
    pub max_heap_size: u64,
    /// Maximum size of a buffer, in bytes.
    pub max_buffer_size: u64,
    /// Maximum width and height of a 2D texture, in texels.
    pub max_texture_2d: u32,
    /// Maximum side of a 3D texture, in texels.
    pub max_texture_3d: u32,
    /// Maximum number of layers of an array texture.
    pub max_layers: u32,
    /// Descriptor limits.
    pub descriptors: DescriptorLimits,
    /// Query limits.
    pub queries: QueryLimits,
    /// Limits of ray-tracing memory.
    pub rays: RayTracingLimits,
    /// Limits of markers.
    pub markers: MarkerLimits,
}

impl Properties {
    /// The properties used by memory pools.
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

    /// Alignment of a heap for a placed resource with these requirements, in bytes.
    ///
    /// ```
    /// use tenure::device::{ResourceDesc, prelude::*};
    /// use tenure::{Format, TextureDesc, Usage, sim};
    /// let device = sim::Device::new(sim::Profile::D3D12_TIER2);
    /// let target = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
    /// let desc = ResourceDesc::Texture(target.info);
    /// let needs = device.requirements(&desc)?;
    /// assert_eq!(device.properties().heap_alignment_for(&desc, &needs), 4 << 20);
    /// # Ok::<(), tenure::error::DeviceError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn heap_alignment_for(&self, desc: &ResourceDesc, needs: &Requirements) -> u64 {
        let heap = if desc.is_multisampled() { self.msaa_heap_alignment } else { self.heap_alignment };
        heap.max(needs.alignment)
    }

    /// Size of a committed resource with these requirements, in bytes: whole pages of 4 KiB on Direct3D 12, also with tight
    /// alignment, where it may take less of a heap.
    ///
    /// ```
    /// use tenure::device::{ResourceDesc, prelude::*};
    /// use tenure::{Usage, resource::BufferInfo, sim};
    /// let device = sim::Device::with_config(sim::DeviceConfig::new(sim::Profile::D3D12_TIER2).tight_alignment(true));
    /// let needs = device.requirements(&ResourceDesc::Buffer(BufferInfo::new(100, Usage::VERTEX)))?;
    /// assert_eq!((needs.size, device.properties().committed_size(&needs)), (104, 4096));
    /// # Ok::<(), tenure::error::DeviceError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn committed_size(&self, needs: &Requirements) -> u64 {
        const PAGE: u64 = 4 << 10;
        match self.api {
            Api::Direct3D12 => needs.size.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX),
            Api::Vulkan => needs.size,
        }
    }

    /// True where CPU visibility of GPU writes needs a barrier,
    /// [`CommandList::make_visible_to_cpu`](super::CommandList::make_visible_to_cpu): Vulkan. On Direct3D 12 the end of a
    /// submission is enough.
    #[must_use]
    pub const fn has_host_barriers(&self) -> bool {
        matches!(self.api, Api::Vulkan)
    }

    /// True where lists set the shader-visible descriptor heaps,
    /// [`CommandList::set_descriptor_heaps`](super::CommandList::set_descriptor_heaps): Direct3D 12, and Vulkan with descriptor
    /// buffers, which both have no [sets](super::DescriptorLimits::sets). Elsewhere such a heap is a descriptor set, which the
    /// program binds.
    #[must_use]
    pub const fn sets_descriptor_heaps(&self) -> bool {
        !self.descriptors.sets
    }

    /// The queue for work of `kind`: the first of that kind, else the first that supports it, which the first queue always
    /// does.
    #[must_use]
    pub fn queue(&self, kind: QueueKind) -> QueueId {
        Queue::from(kind).among(&self.queues)
    }
}

impl Queue {
    /// The queue's number on a device.
    #[must_use]
    pub fn id(self, properties: &Properties) -> QueueId {
        self.among(&properties.queues)
    }
}

impl Properties {
    /// The clock of a queue's timestamps.
    #[must_use]
    pub fn timestamp_clock(&self, queue: QueueId) -> TimestampClock {
        self.queries.timestamps.get(queue.index()).copied().unwrap_or_default()
    }

    /// True when lists of the queue support queries of that kind.
    #[must_use]
    pub fn has_queries(&self, kind: QueryKind, queue: QueueId) -> bool {
        let is_graphics =
            self.queues.get(queue.index()).is_some_and(|found| found.kind == QueueKind::Graphics);
        match kind {
            QueryKind::Timestamp => self.timestamp_clock(queue).is_there(),
            QueryKind::BinaryOcclusion => is_graphics,
            QueryKind::Occlusion => is_graphics && self.queries.precise_occlusion,
            QueryKind::PipelineStatistics => is_graphics && self.queries.pipeline_statistics,
            QueryKind::CompactedSize => self.builds_acceleration_structures(queue),
        }
    }

    /// Checks the description of a query heap.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a queue that does not exist, [`DeviceError::Unsupported`] for queries that it does not
    /// support, [`DeviceError::InvalidDesc`] for a count of 0.
    pub fn check_query_heap(&self, desc: &QueryHeapDesc) -> Result<(), DeviceError> {
        let queues = self.queues.len() as u64;
        if desc.queue.index() >= self.queues.len() {
            return Err(DeviceError::invalid_call(CallRule::QueueExists, u64::from(desc.queue.0), queues));
        }
        if !self.has_queries(desc.kind, desc.queue) {
            return Err(DeviceError::Unsupported { feature: unsupported(desc.kind) });
        }
        match desc.count {
            0 => Err(DeviceError::invalid_desc("count", 0_u32, Allowed::AtLeast(1))),
            _ => Ok(()),
        }
    }
}

impl Properties {
    /// True when lists of the queue support building, copying and compacting acceleration structures.
    #[must_use]
    pub fn builds_acceleration_structures(&self, queue: QueueId) -> bool {
        let runs_shaders = |kind: QueueKind| kind != QueueKind::Copy;
        self.features.contains(Features::ACCELERATION_STRUCTURES)
            && self.queues.get(queue.index()).is_some_and(|queue| runs_shaders(queue.kind))
    }
}

const fn unsupported(kind: QueryKind) -> &'static str {
    match kind {
        QueryKind::Timestamp => "timestamps on this queue",
        QueryKind::Occlusion => "precise occlusion queries on this queue",
        QueryKind::BinaryOcclusion => "occlusion queries on this queue",
        QueryKind::PipelineStatistics => "pipeline statistics on this queue",
        QueryKind::CompactedSize => "acceleration structures on this queue",
    }
}

/// Limits of ray-tracing memory, beside [`acceleration_structure_alignment`](Properties::acceleration_structure_alignment).
/// Valid with [`Features::ACCELERATION_STRUCTURES`]; the limits of shader groups with [`Features::RAY_TRACING_PIPELINES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RayTracingLimits {
    /// Alignment of the GPU address of a build's scratch memory, in bytes; a power of two.
    pub scratch_alignment: u64,
    /// Size of the handle of a shader group, in bytes.
    pub group_handle_size: u64,
    /// Alignment of the records of a shader binding table, in bytes; a power of two.
    pub group_handle_alignment: u64,
    /// Alignment of the GPU address of a shader binding table, in bytes; a power of two.
    pub group_base_alignment: u64,
}

impl Default for RayTracingLimits {
    /// The values of all Direct3D 12 devices, which are maxima of Vulkan's.
    fn default() -> Self {
        Self {
            scratch_alignment: 256,
            group_handle_size: 32,
            group_handle_alignment: 32,
            group_base_alignment: 64,
        }
    }
}
