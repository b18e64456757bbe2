//! What resources need, and where they go.

use super::{GraphError, TransientDesc};

/// What a resource needs of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    /// Bytes it occupies.
    pub size: u64,
    /// Bytes, of its offset; a power of two.
    pub alignment: u64,
    /// Bytes, of the heap that it is placed in; a power of two. More than `alignment` for multisampled textures on
    /// Direct3D 12: see [`Properties::heap_alignment_for`](crate::device::Properties::heap_alignment_for).
    pub heap_alignment: u64,
    /// Resources of one class may share a heap; [`ALONE`](Self::ALONE) shares with none.
    pub class: u32,
}

impl Need {
    /// The class of what needs memory of its own.
    pub const ALONE: u32 = u32::MAX;
}

/// Who knows what resources need. Asked when a graph is planned, not when a plan is found.
pub trait Memory {
    /// Why it may not know.
    type Error: From<GraphError>;

    /// What a resource needs.
    ///
    /// # Errors
    /// Whatever keeps it from being known; the graph is then not planned.
    fn need(&mut self, resource: &TransientDesc) -> Result<Need, Self::Error>;

    /// The largest heap that there can be of a class, in bytes. Asked for the class of each resource, but
    /// not for [`Need::ALONE`].
    fn largest_heap(&mut self, class: u32) -> u64;

    /// Heaps of a class are planned no larger than this, in bytes, but for a resource that is larger by itself:
    /// less than [`largest_heap`](Self::largest_heap) where memory is short. Asked as that is.
    fn preferred_heap(&mut self, class: u32) -> u64 {
        self.largest_heap(class)
    }
}

/// Where a resource goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Index of the heap, in [`Compiled::heaps`](super::Compiled::heaps).
    pub heap: usize,
    /// Byte of the heap at which it begins.
    pub offset: u64,
}

/// An address space that a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeapPlan {
    /// The class of everything in it. In one of [`Need::ALONE`] there is one resource.
    pub class: u32,
    /// Which of its class it is, from 0; among those of [`Need::ALONE`], the index of its resource.
    pub ordinal: usize,
    /// The highest end of a resource, in bytes.
    pub size: u64,
    /// The alignment that the heap must have, in bytes: the largest that a resource in it needs of its offset or
    /// of its heap.
    pub alignment: u64,
}
