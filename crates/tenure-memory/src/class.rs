//! Classes of allocations that may share heaps, and the order in which memory types are tried.

use std::fmt;

use smallvec::SmallVec;
use tenure_heap::MAX_MEMORY_TYPES;

use crate::device::{Api, HeapCategory, MemoryFlags, MemoryTypeId, Priority, Properties};

macro_rules! pool_kinds {
    ($($(#[$doc:meta])* $kind:ident = $text:literal,)*) => {
        /// Purpose of a pool. Each kind has its own pool in each memory type and heap category, created on demand.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
        pub enum PoolKind { $($(#[$doc])* $kind,)* }

        impl PoolKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name, for reports and debug names.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $text,)* }
            }
        }
    };
}

pool_kinds! {
    /// Ranges of equal small buffers behind one address space.
    SmallBuffers = "small buffers",
    /// The heaps that hold the backing buffers of [`SmallBuffers`](Self::SmallBuffers).
    SmallBufferSlots = "small buffer slots",
    /// Ranges of large buffers that the GPU only reads.
    ReadOnlyBuffers = "read-only buffers",
    /// Ranges of large buffers of indirect arguments.
    IndirectBuffers = "indirect buffers",
    /// Ranges of large buffers of acceleration structures.
    AccelerationStructures = "acceleration structures",
    /// Placed buffers that the GPU writes: each has its own state.
    UnorderedBuffers = "unordered-access buffers",
    /// Placed buffers that could share a buffer, placed because of
    /// [`Strategy::Placed`](crate::Strategy::Placed) or on request.
    PlacedBuffers = "placed buffers",
    /// Ranges of mapped buffers for small dynamic buffers, if the buddy suballocator divides them.
    SmallUploads = "small uploads",
    /// Ranges of mapped buffers for upload buffers.
    Uploads = "uploads",
    /// Ranges of mapped, cached buffers that the CPU reads.
    Readbacks = "readbacks",
    /// Ranges of mapped buffers that the manager fills itself: staging memory, constants, and uploads that do not fit
    /// into an upload ring. Commands only read them, so no buffer of the program may share an API buffer with them.
    UploadPages = "upload pages",
    /// Ranges of mapped, cached buffers that readbacks are copied to; no buffer of the program shares an API
    /// buffer with them.
    ReadbackPages = "readback pages",
    /// Placed textures that may be aligned to 4 KiB.
    SmallTextures = "small textures",
    /// Placed textures that the GPU only reads.
    Textures = "textures",
    /// Placed render and depth targets.
    Targets = "targets",
    /// Placed textures with unordered access.
    UnorderedTextures = "unordered-access textures",
    /// Placed multisampled textures, in heaps aligned for them (4 MiB on Direct3D 12).
    MultisampledTextures = "multisampled textures",
    /// Tiles of reserved resources.
    Tiles = "tiles",
    /// Heaps for transient resources, which alias their memory over time.
    Transient = "transient resources",
    /// Resources with dedicated memory. No pool has this kind.
    Committed = "memory of its own",
}

impl PoolKind {
    /// The residency priority of the pool's heaps.
    #[must_use]
    pub const fn priority(self) -> Priority {
        match self {
            Self::UnorderedBuffers
            | Self::Targets
            | Self::UnorderedTextures
            | Self::MultisampledTextures
            | Self::Transient => Priority::High,
            _ => Priority::Normal,
        }
    }
}

/// A class of allocations. Allocations of one class share heaps, those of different classes never do. A class
/// consists of a memory type, heap category, kind of pool, priority, evictability and movability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// The memory type.
    pub memory: MemoryTypeId,
    /// The resources that the heap may hold.
    pub category: HeapCategory,
    /// The purpose of the pool.
    pub kind: PoolKind,
    /// The residency priority of its heaps.
    pub priority: Priority,
    /// Whether its resources may be evicted while no work uses them.
    pub is_evictable: bool,
    /// Whether its resources may be moved. An immovable resource would prevent its block from being emptied.
    pub is_movable: bool,
}

/// Properties of a block as a whole: resources that differ in them never share a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTraits {
    /// `None`: the priority of the kind of pool.
    pub priority: Option<Priority>,
    pub is_evictable: bool,
    pub is_movable: bool,
}

impl BlockTraits {
    /// Bytes; an evictable resource of at least this size has dedicated memory, smaller ones share blocks of at most
    /// this size. Smaller blocks page fewer unneeded bytes, but the operating system takes time for each block: of
    /// the sizes from 768 KiB to 8 MiB, this one has the lowest total time over the scenarios with small resources of
    /// `bench -- pressure`.
    pub const ALONE: u64 = 1 << 20;

    /// Whether a resource should be evicted alone: in a shared block, unneeded resources would be paged with it.
    pub const fn wants_own_memory(self, size: u64) -> bool {
        self.is_evictable && size >= Self::ALONE
    }

    /// Whether these are the traits of most resources.
    #[inline]
    pub const fn is_usual(self) -> bool {
        self.priority.is_none() && !self.is_evictable && !self.is_movable
    }
}

const PRIORITIES: usize = Priority::High as usize + 1;
/// Combinations of evictable and movable.
const FLAGS: usize = 4;

impl Class {
    /// The number of possible classes.
    pub const COUNT: usize =
        PoolKind::ALL.len() * HeapCategory::ALL.len() * MAX_MEMORY_TYPES * PRIORITIES * FLAGS;

    pub fn new(memory: MemoryTypeId, category: HeapCategory, kind: PoolKind, traits: BlockTraits) -> Self {
        let BlockTraits { priority, is_evictable, is_movable } = traits;
        let priority = priority.unwrap_or(kind.priority());
        Self { memory, category, kind, priority, is_evictable, is_movable }
    }

    /// The traits of its blocks.
    pub const fn traits(self) -> BlockTraits {
        let Self { priority, is_evictable, is_movable, .. } = self;
        BlockTraits { priority: Some(priority), is_evictable, is_movable }
    }

    /// A dense index; `None` for a memory type that no device can have.
    pub fn index(self) -> Option<usize> {
        let memory = usize::from(self.memory.0);
        let family = self.kind as usize * HeapCategory::ALL.len() + self.category as usize;
        let flags = usize::from(self.is_evictable) + 2 * usize::from(self.is_movable);
        let family = (family * PRIORITIES + self.priority as usize) * FLAGS + flags;
        (memory < MAX_MEMORY_TYPES).then_some(family * MAX_MEMORY_TYPES + memory)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (memory type {}, {:?} heaps", self.kind.as_str(), self.memory.0, self.category)?;
        if self.priority != self.kind.priority() {
            write!(f, ", {:?} priority", self.priority)?;
        }
        f.write_str(if self.is_evictable { ", evictable" } else { "" })?;
        f.write_str(if self.is_movable { ", movable)" } else { ")" })
    }
}

/// CPU and GPU access to the memory of a resource.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryUse {
    /// Accessed only by the GPU; filled by copies.
    #[default]
    GpuOnly,
    /// Written by the CPU, read by the GPU: mapped, and mostly in system memory.
    Upload,
    /// Written by the GPU, read by the CPU: mapped and cached.
    Readback,
    /// Written by the CPU, read by the GPU, in device-local memory on devices with sufficient mappable device-local
    /// memory ([`Features::GPU_UPLOAD`](crate::device::Features::GPU_UPLOAD)); otherwise like
    /// [`Upload`](Self::Upload), because the BAR window without resizable BAR is small, and used by the driver
    /// itself.
    GpuUpload,
}

impl MemoryUse {
    /// Every use, in index order.
    pub const ALL: [Self; 4] = [Self::GpuOnly, Self::Upload, Self::Readback, Self::GpuUpload];

    /// True when the CPU maps it.
    #[must_use]
    pub const fn is_mapped(self) -> bool {
        !matches!(self, Self::GpuOnly)
    }

    const fn required(self) -> MemoryFlags {
        if self.is_mapped() { MemoryFlags::HOST_VISIBLE } else { MemoryFlags::empty() }
    }

    const fn preferred(self) -> MemoryFlags {
        match self {
            Self::GpuOnly => MemoryFlags::DEVICE_LOCAL,
            Self::Upload => MemoryFlags::HOST_COHERENT,
            // Reading uncached memory costs far more than an invalidation.
            Self::Readback => MemoryFlags::HOST_CACHED,
            Self::GpuUpload => MemoryFlags::DEVICE_LOCAL.union(MemoryFlags::HOST_COHERENT),
        }
    }

    /// Flags reserved for uses that need them: the small BAR window, cached memory.
    const fn avoided(self) -> MemoryFlags {
        match self {
            Self::GpuOnly => MemoryFlags::HOST_VISIBLE.union(MemoryFlags::HOST_CACHED),
            Self::Upload => MemoryFlags::DEVICE_LOCAL.union(MemoryFlags::HOST_CACHED),
            Self::Readback => MemoryFlags::DEVICE_LOCAL,
            Self::GpuUpload => MemoryFlags::HOST_CACHED,
        }
    }
}

impl MemoryUse {
    /// Whether D3D12 restricts resources in such memory to a fixed state that excludes this use: the GPU can only
    /// read upload heaps, and only copy to (cached) readback heaps.
    const fn is_ruled_out_by_state(self, flags: MemoryFlags) -> bool {
        let is_default = flags.contains(MemoryFlags::DEVICE_LOCAL);
        let is_readback = flags.contains(MemoryFlags::HOST_CACHED);
        match self {
            Self::GpuOnly => flags.contains(MemoryFlags::HOST_VISIBLE) && !is_default,
            Self::Upload | Self::GpuUpload => is_readback,
            Self::Readback => !is_readback,
        }
    }
}

/// Memory types in order of preference.
pub type TypeOrder = SmallVec<[MemoryTypeId; 8]>;

/// The memory types to try for a use. Only types with the required flags; ordered by preferred flags, then, for CPU
/// access, coherent before others, then by fewest avoided flags, then in the device's own order, the ranking of the
/// driver. Memory for special purposes is never tried, nor lazily allocated memory ([`target_type_order`]), nor, on
/// D3D12, heaps with a fixed resource state that excludes the use.
///
/// ```
/// use tenure::device::Device;
/// use tenure::memory::type_order;
/// use tenure::{MemoryUse, sim};
/// let device = sim::Device::new(sim::Profile::DISCRETE);
/// let order = type_order(device.properties(), MemoryUse::Readback);
/// assert_eq!(order[0].0, 2, "D3D12's readback heap");
/// ```
#[must_use]
pub fn type_order(properties: &Properties, memory_use: MemoryUse) -> TypeOrder {
    let has_fixed_states = properties.api == Api::Direct3D12;
    let is_usable = |flags: MemoryFlags| {
        flags.contains(memory_use.required())
            && !flags.intersects(MemoryFlags::SPECIAL | MemoryFlags::LAZILY_ALLOCATED)
            && !(has_fixed_states && memory_use.is_ruled_out_by_state(flags))
    };
    let heaps = &properties.memory_heaps;
    let has_upload = properties.memory_types.iter().any(|memory_type| memory_type.is_gpu_upload(heaps));
    let memory_use = match memory_use {
        MemoryUse::GpuUpload if !has_upload => MemoryUse::Upload,
        memory_use => memory_use,
    };
    let mut order: Vec<(u32, bool, u32, u8)> = (0_u8..)
        .zip(&properties.memory_types)
        .filter(|(_, memory_type)| is_usable(memory_type.flags))
        .map(|(index, memory_type)| {
            let missing = memory_use.preferred().difference(memory_type.flags).bits().count_ones();
            let unwanted = memory_use.avoided().intersection(memory_type.flags).bits().count_ones();
            // Each access to other types needs a flush or an invalidation.
            let needs_flushes =
                memory_use.is_mapped() && !memory_type.flags.contains(MemoryFlags::HOST_COHERENT);
            (missing, needs_flushes, unwanted, index)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(.., index)| MemoryTypeId(index)).collect()
}

/// The memory types to try for a [transient attachment](crate::device::Usage::TRANSIENT_ATTACHMENT): lazily allocated
/// ones first, in the device's own order, followed by those for GPU-only memory. The resource's requirements restrict
/// them.
///
/// ```
/// use tenure::device::Device;
/// use tenure::memory::target_type_order;
/// use tenure::sim;
/// let device = sim::Device::new(sim::Profile::VULKAN_MOBILE);
/// assert_eq!(target_type_order(device.properties())[0].0, 2, "lazily allocated");
/// ```
#[must_use]
pub fn target_type_order(properties: &Properties) -> TypeOrder {
    lazy_types(properties).chain(type_order(properties, MemoryUse::GpuOnly)).collect()
}

/// The lazily allocated memory types that any program may use.
pub(super) fn lazy_types(properties: &Properties) -> impl Iterator<Item = MemoryTypeId> + '_ {
    let lazy = (0_u8..).zip(&properties.memory_types).filter(|(_, memory_type)| {
        let flags = memory_type.flags;
        flags.contains(MemoryFlags::LAZILY_ALLOCATED) && !flags.contains(MemoryFlags::SPECIAL)
    });
    lazy.map(|(index, _)| MemoryTypeId(index))
}

/// The mask of a memory type.
pub(super) fn bit(memory: MemoryTypeId) -> u32 {
    1_u32.checked_shl(u32::from(memory.0)).unwrap_or(0)
}

/// True when the mask has the memory type.
pub fn allows(memory_types: u32, memory: MemoryTypeId) -> bool {
    memory_types & bit(memory) != 0
}

/// The first allowed memory type.
pub(super) fn first_allowed(order: &[MemoryTypeId], memory_types: u32) -> Option<MemoryTypeId> {
    order.iter().copied().find(|memory| allows(memory_types, *memory))
}
