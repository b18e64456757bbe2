//! Classes, what must not share a heap, and memory types: which to try, in which order.

use std::fmt;

use smallvec::SmallVec;
use tenure_heap::MAX_MEMORY_TYPES;

use crate::device::{Api, HeapCategory, MemoryFlags, MemoryTypeId, Priority, Properties};

macro_rules! pool_kinds {
    ($($(#[$doc:meta])* $kind:ident = $text:literal,)*) => {
        /// What a pool is for. Each kind has a pool of its own in each memory type and heap
        /// category, made on demand.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
        pub enum PoolKind { $($(#[$doc])* $kind,)* }

        impl PoolKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// For reports and debug names.
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
    /// Placed buffers that the GPU writes: each has a state of its own.
    UnorderedBuffers = "unordered-access buffers",
    /// Placed buffers that could share one: under [`Strategy::Placed`](crate::Strategy::Placed),
    /// or by request.
    PlacedBuffers = "placed buffers",
    /// Ranges of mapped buffers for small dynamic buffers, when the buddy suballocator divides them.
    SmallUploads = "small uploads",
    /// Ranges of mapped buffers for upload buffers.
    Uploads = "uploads",
    /// Ranges of mapped, cached buffers that the CPU reads.
    Readbacks = "readbacks",
    /// Ranges of mapped buffers that the manager fills itself: what uploads stage, constants, what an
    /// upload ring has no room for. Commands only ever read them, so that no buffer of the program may
    /// share one with them.
    UploadPages = "upload pages",
    /// Ranges of mapped, cached buffers that readbacks are copied to; no buffer of the program shares one
    /// with them.
    ReadbackPages = "readback pages",
    /// Placed textures that may lie at 4 KiB.
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
    /// Heaps that transient resources share, one after the other.
    Transient = "transient resources",
    /// Resources with memory of their own. No pool is of this kind.
    Committed = "memory of its own",
}

impl PoolKind {
    /// How much it matters that the pool's heaps stay in fast memory.
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

/// What an allocation must share a heap with, and nothing else: memory type, heap category, the kind of pool,
/// priority, whether it may be evicted, and whether it may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// The memory type.
    pub memory: MemoryTypeId,
    /// What the heap may hold.
    pub category: HeapCategory,
    /// What the pool is for.
    pub kind: PoolKind,
    /// How much it matters that its heaps stay in fast memory.
    pub priority: Priority,
    /// Whether what it holds may be evicted while no work uses it.
    pub is_evictable: bool,
    /// Whether what it holds may move to another place. What may not would keep its block from being emptied.
    pub is_movable: bool,
}

/// What holds for a block as a whole, so that resources in which it differs share none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockTraits {
    /// `None`: that of the kind of pool.
    pub(crate) priority: Option<Priority>,
    pub(crate) is_evictable: bool,
    pub(crate) is_movable: bool,
}

impl BlockTraits {
    /// Bytes; an evictable resource of at least this size has memory of its own, and the smaller ones share blocks of
    /// at most this size. In smaller blocks fewer bytes move that are not needed, but each block that moves takes the
    /// operating system a while: of sizes from 768 KiB to 8 MiB this takes the least time over the scenarios of
    /// small things of `bench -- pressure` together.
    pub(crate) const ALONE: u64 = 1 << 20;

    /// Whether a resource leaves and comes back alone: else others would be moved with it that are not needed.
    pub(crate) const fn wants_own_memory(self, size: u64) -> bool {
        self.is_evictable && size >= Self::ALONE
    }

    /// Those of most resources.
    #[inline]
    pub(crate) const fn is_usual(self) -> bool {
        self.priority.is_none() && !self.is_evictable && !self.is_movable
    }
}

const PRIORITIES: usize = Priority::High as usize + 1;
/// Combinations of what may be evicted and what may move.
const FLAGS: usize = 4;

impl Class {
    /// How many classes there can be.
    pub(crate) const COUNT: usize =
        PoolKind::ALL.len() * HeapCategory::ALL.len() * MAX_MEMORY_TYPES * PRIORITIES * FLAGS;

    pub(crate) fn new(
        memory: MemoryTypeId,
        category: HeapCategory,
        kind: PoolKind,
        traits: BlockTraits,
    ) -> Self {
        let BlockTraits { priority, is_evictable, is_movable } = traits;
        let priority = priority.unwrap_or(kind.priority());
        Self { memory, category, kind, priority, is_evictable, is_movable }
    }

    /// What holds for its blocks.
    pub(crate) const fn traits(self) -> BlockTraits {
        let Self { priority, is_evictable, is_movable, .. } = self;
        BlockTraits { priority: Some(priority), is_evictable, is_movable }
    }

    /// A dense number; `None` for a memory type no device can have.
    pub(crate) fn index(self) -> Option<usize> {
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

/// How a resource's memory is read and written.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryUse {
    /// The GPU alone; filled by copies.
    #[default]
    GpuOnly,
    /// Written by the CPU, read by the GPU: mapped, and mostly in system memory.
    Upload,
    /// Written by the GPU, read by the CPU: mapped and cached.
    Readback,
    /// Written by the CPU, read by the GPU, in device-local memory where there is enough of it
    /// ([`Features::GPU_UPLOAD`](crate::device::Features::GPU_UPLOAD)); else as
    /// [`Upload`](Self::Upload), because the window of a card without a resized BAR is small, and
    /// its driver needs it.
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

    /// Flags better left to those who need them: the small BAR window, cached memory.
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
    /// Whether D3D12 fixes the state of resources in such memory to one that this use cannot live
    /// with: its upload heaps are only ever read by the GPU, its (cached) readback heaps only ever
    /// copied to.
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

/// The memory types to try for a use: those with the required flags, most preferred flags first,
/// then coherent before others where the CPU accesses them, then fewest avoided ones, then in the device's own order, by which drivers rank them too.
/// Memory for special purposes is never tried, nor lazily allocated memory ([`target_type_order`]), nor, on D3D12, heaps in which resources have a
/// fixed state that rules the use out.
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
            // Each access to others is flushed or invalidated.
            let needs_flushes =
                memory_use.is_mapped() && !memory_type.flags.contains(MemoryFlags::HOST_COHERENT);
            (missing, needs_flushes, unwanted, index)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(.., index)| MemoryTypeId(index)).collect()
}

/// The memory types to try for a [transient attachment](crate::Usage::TRANSIENT_ATTACHMENT): lazily allocated ones
/// first, in the device's own order, then those for the GPU alone. Which of them suit, the requirements say.
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

/// The memory types that are allocated lazily, of those that are for any program.
pub(super) fn lazy_types(properties: &Properties) -> impl Iterator<Item = MemoryTypeId> + '_ {
    let lazy = (0_u8..).zip(&properties.memory_types).filter(|(_, memory_type)| {
        let flags = memory_type.flags;
        flags.contains(MemoryFlags::LAZILY_ALLOCATED) && !flags.contains(MemoryFlags::SPECIAL)
    });
    lazy.map(|(index, _)| MemoryTypeId(index))
}
