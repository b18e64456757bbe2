//! The rules that errors name.

use tenure_heap::InvalidProperties;

use crate::device::{AccelerationStructureKind, QueryKind};
use crate::memory::MemoryUse;
use crate::time::RecordingId;

/// What a transient resource, or a call that is given one, must satisfy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransientRule {
    /// Transient buffers are in memory for the GPU alone.
    #[error("a transient buffer must be of {:?} memory, not {memory:?}", MemoryUse::GpuOnly)]
    GpuOnly {
        /// The memory asked for.
        memory: MemoryUse,
    },
    /// Transient resources are shared with no other device or process.
    #[error("a transient resource, whose memory is another's before and after, cannot be SHARED")]
    Shared,
    /// A buffer was asked for as a texture, or a texture as a buffer.
    #[error("a buffer must be asked for as a buffer, a texture as a texture")]
    WrongType,
    /// A pass asked for a resource that it did not declare, or that does not exist.
    #[error("a pass can use only the resources that it declared")]
    NotDeclared,
    /// The commands of a pass went to another recording than the one given.
    #[error("a pass must be recorded into the recording that it was given")]
    OtherRecording,
    /// An upload to a transient resource, whose memory is its own only in recordings.
    #[error("an upload must go to a lasting resource; copy to a transient one in a recording")]
    NoUploads,
    /// The [`Gpu`](crate::Gpu) is gone.
    #[error("transient resources need their Gpu, which is gone")]
    GpuIsGone,
}

/// What a swap chain, or a call with one of its images, must satisfy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwapchainRule {
    /// An image is presented that nothing has drawn.
    #[error(
        "an image is presented after a recording that finished it was submitted: call finish() in the last one"
    )]
    NotFinished,
    /// No submission waited for the image before the one that finished it: what drew to it may have done so while the
    /// window showed it.
    #[error("the recording that begins with an image is submitted before the one that finishes it")]
    BegunFirst,
    /// Two recordings finish an image.
    #[error("an image is finished once: by the last recording that uses it")]
    FinishedOnce,
    /// The swap chain cannot be changed while the program holds one of its images.
    #[error("the images of a swap chain must be presented or dropped before it is resized")]
    ImageHeld,
    /// An image of another swap chain, or of this one before it was resized.
    #[error("an image is presented by the swap chain that handed it out, before that is resized")]
    OtherSwapchain,
    /// A frame can have one image of a swap chain at a time.
    #[error("an image is presented or dropped before the next is acquired")]
    OneAtATime,
    /// The window or surface is gone, or belongs to something else.
    #[error("the window must exist, and have no other swap chain")]
    WindowLost,
    /// No queue of the device can present to the window.
    #[error("a queue must be able to present to the window")]
    NoQueue,
    /// The window has no images of that format.
    #[error("the window must have images of the format asked for")]
    Format,
    /// The number of images is out of range.
    #[error("{images} images: must be {min} to {max}")]
    Images {
        /// Images asked for.
        images: u32,
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
}

/// What the queries of a recording must satisfy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryRule {
    /// The recording was to be submitted with a query that has begun and not ended.
    #[error("the {kind} that has begun has not ended")]
    NotEnded {
        /// What it measures.
        kind: QueryKind,
    },
    /// A query began while another one of the same unit had not ended.
    #[error("no {kind} can begin before the {begun} that has begun ends")]
    AlreadyBegun {
        /// What the new one was to measure.
        kind: QueryKind,
        /// What the one measures that has begun.
        begun: QueryKind,
    },
    /// The query or scope that was ended is not open in the recording.
    #[error("the query or scope has not begun in this recording, or has ended")]
    NotBegun,
    /// A query or a scope of one recording was ended in another.
    #[error("what has begun in recording {begun_in} ends there")]
    OtherRecording {
        /// The recording in which it began.
        begun_in: RecordingId,
    },
}

/// What a copy of an acceleration structure must satisfy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureRule {
    /// The destination is smaller than the source, or than its compacted size.
    #[error("{needed} B are copied into an acceleration structure of {size} B")]
    TooSmall {
        /// Bytes that are copied.
        needed: u64,
        /// Bytes of the destination.
        size: u64,
    },
    /// The size does not come from a query of the structure: compaction never makes one larger.
    #[error("{compacted} B are no compacted size of an acceleration structure of {size} B")]
    NotCompacted {
        /// The size that was given.
        compacted: u64,
        /// Bytes of the source.
        size: u64,
    },
    /// A top-level structure is copied to a bottom-level one, or the other way round.
    #[error("a {src} acceleration structure cannot be copied to a {dst} one")]
    Kinds {
        /// What the source holds.
        src: AccelerationStructureKind,
        /// What the destination holds.
        dst: AccelerationStructureKind,
    },
    /// Source and destination are the same.
    #[error("an acceleration structure is copied to another one")]
    Itself,
}

/// What the tables of a device must satisfy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractRule {
    /// The number of queues is out of range.
    #[error("{queues} queues: must be 1 to {max}")]
    Queues {
        /// Queues that the device has.
        queues: usize,
        /// The most that are supported.
        max: usize,
    },
    /// The properties of memory contradict themselves, or one of them is not a power of two.
    #[error(transparent)]
    Memory(#[from] InvalidProperties),
}

/// What a box of tiles of a reserved resource must satisfy.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TileRule {
    /// The box is empty, or leaves its subresource.
    #[error("the box ends at tile {end} of the {limit} along an axis: it must lie within and not be empty")]
    OutOfRange {
        /// The tile after the last one of the box, along the axis concerned.
        end: u64,
        /// Tiles of the subresource along that axis.
        limit: u64,
    },
    /// The subresource does not exist, or is among the packed mips.
    #[error("subresource {subresource} of {count} must exist and be tiled by itself")]
    Subresource {
        /// The subresource.
        subresource: u32,
        /// Subresources that the resource has.
        count: u64,
    },
    /// Mappings are copied within one resource.
    #[error("mappings must be copied from another resource")]
    SameResource,
    /// Mappings are copied between boxes of different shapes.
    #[error("the boxes of {tiles} and {source_tiles} tiles must have the same extent")]
    Extents {
        /// Tiles of the box that is mapped.
        tiles: usize,
        /// Tiles of the box that is copied.
        source_tiles: usize,
    },
}
