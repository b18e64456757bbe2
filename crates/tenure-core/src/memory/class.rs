//! Classes: what must not share a heap, and what had better not.

use std::fmt;

use crate::device::{HeapCategory, MemoryTypeId, Priority};

macro_rules! pool_kinds {
    ($($(#[$doc:meta])* $kind:ident = $text:literal,)*) => {
        /// What a pool is for. Each kind has a pool of its own in each memory type and heap
        /// category, made on demand.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
        pub enum PoolKind { $($(#[$doc])* $kind,)* }

        impl PoolKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// For people.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $text,)* }
            }
        }
    };
}

pool_kinds! {
    /// Ranges of equal small buffers behind one address space (spec M6).
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
    /// Ranges of mapped buffers for dynamic buffers (spec U1).
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
    /// Heaps in which transient resources take turns.
    Transient = "transient resources",
    /// Resources with memory of their own: the class of what a driver or the program wants so, and no pool's.
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

/// What an allocation must share a heap with, and nothing else: memory type, heap category and
/// the kind of pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// The memory type.
    pub memory: MemoryTypeId,
    /// What the heap may hold.
    pub category: HeapCategory,
    /// What the pool is for.
    pub kind: PoolKind,
}

/// Memory types a device may have.
pub(crate) const MAX_MEMORY_TYPES: usize = 32;

impl Class {
    /// How many classes there can be.
    pub(crate) const COUNT: usize = PoolKind::ALL.len() * HeapCategory::ALL.len() * MAX_MEMORY_TYPES;

    /// A dense number; `None` for a memory type no device can have.
    pub(crate) fn index(self) -> Option<usize> {
        let memory = usize::from(self.memory.0);
        let family = self.kind as usize * HeapCategory::ALL.len() + self.category as usize;
        (memory < MAX_MEMORY_TYPES).then_some(family * MAX_MEMORY_TYPES + memory)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (memory type {}, {:?} heaps)", self.kind.as_str(), self.memory.0, self.category)
    }
}
