//! An engine's resources, their memory requirements, and their locations in a plan.

use core::fmt::Debug;
use core::hash::Hash;

use super::{GraphError, Name};
use crate::device::{DeviceError, Usage};

/// An engine's description of a resource.
///
/// A graph whose resources are all equal to those of an earlier one has the same plan, so equal descriptions must have equal
/// memory requirements.
pub trait Resource: Clone + Debug + Eq + Hash + From<Self::Texture> + From<Self::Buffer> {
    /// The description of a texture; `Self` if one type describes both.
    type Texture;
    /// The description of a buffer.
    type Buffer;
    /// Memory that the CPU can access. [`Infallible`](std::convert::Infallible) where no resource of a graph can be in it.
    type CpuMemory: Debug;

    /// The name, for people.
    fn name(&self) -> &Name;

    /// All its usages.
    fn usage(&self) -> Usage;

    /// True for a texture.
    fn is_texture(&self) -> bool;

    /// The alignment requested beyond the device's requirement, in bytes; a power of two.
    fn alignment(&self) -> u64 {
        1
    }

    /// The memory, if it is not GPU-only; the graph is then rejected.
    fn cpu_memory(&self) -> Option<Self::CpuMemory> {
        None
    }

    /// Checks the description, where no device accepts some.
    ///
    /// # Errors
    /// The reason; the graph is then refused.
    fn validate(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// The memory requirements of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Need {
    /// Size in bytes.
    pub size: u64,
    /// Alignment of its offset in bytes; a power of two. On Vulkan at least `bufferImageGranularity` in a class with buffers and
    /// textures.
    pub alignment: u64,
    /// Alignment of the heap that it is placed in, in bytes; a power of two. More than `alignment` for multisampled
    /// textures on Direct3D 12: see [`Properties::heap_alignment_for`](crate::device::Properties::heap_alignment_for).
    pub heap_alignment: u64,
    /// Resources of one class may share a heap; resources of class [`ALONE`](Self::ALONE) share with none. An engine numbers its
    /// classes: one for each memory type, and for each [`HeapCategory`](crate::device::HeapCategory) where heaps hold only one.
    pub class: u32,
}

impl Need {
    /// The class of resources that need dedicated memory.
    pub const ALONE: u32 = u32::MAX;
}

/// A source of memory requirements. Queried when a graph is planned, not when a plan is found in the cache.
pub trait Memory<R: Resource> {
    /// The error of a query. The planning of a graph returns it, too, so that it must be able to contain the error of an
    /// invalid graph; [`GraphError`] itself, where queries cannot fail.
    type Error: From<GraphError<R::CpuMemory>>;

    /// The requirements of a resource.
    ///
    /// # Errors
    /// If they are not available; the graph is then not planned.
    fn need(&mut self, resource: &R) -> Result<Need, Self::Error>;

    /// The largest heap that a class can have, in bytes. Asked for the class of each resource, but not for
    /// [`Need::ALONE`].
    fn largest_heap(&mut self, class: u32) -> u64;

    /// Heaps of a class are planned no larger than this, in bytes, unless a resource is larger by itself: less than
    /// [`largest_heap`](Self::largest_heap) where memory is short. Asked as [`largest_heap`](Self::largest_heap) is.
    fn preferred_heap(&mut self, class: u32) -> u64 {
        self.largest_heap(class)
    }
}

/// The location of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Placement {
    /// Index of the heap, in [`Compiled::heaps`](super::Compiled::heaps).
    pub heap: usize,
    /// Offset in the heap, in bytes.
    pub offset: u64,
}

/// An address space that a plan needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HeapPlan {
    /// The class of all resources in it. A heap of [`Need::ALONE`] has one resource.
    pub class: u32,
    /// The index among the heaps of its class; for [`Need::ALONE`], the index of its resource.
    pub ordinal: usize,
    /// The highest end of a resource, in bytes.
    pub size: u64,
    /// Required alignment of the heap, in bytes: the maximum of the alignments that [`Memory::need`] has returned for its resources.
    /// An alignment that a description asks for applies to the offset in the heap alone.
    pub alignment: u64,
}
