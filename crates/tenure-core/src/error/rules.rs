//! The rules that errors cite.

use tenure_heap::InvalidProperties;

use crate::device::{AccelerationStructureKind, QueryKind, QueueId};
use crate::memory::MemoryUse;
use crate::time::RecordingId;

/// Rule for transient resources, and for calls with one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransientRule {
    /// Transient buffers are in memory for the GPU alone.
    #[error("a transient buffer must be of {:?} memory, not {memory:?}", MemoryUse::GpuOnly)]
    GpuOnly {
        /// The requested memory.
        memory: MemoryUse,
    },
    /// Transient resources are not shared with other devices or processes.
    #[error("a transient resource cannot be SHARED, because other resources use its memory, too")]
    Shared,
    /// A buffer was requested as a texture, or a texture as a buffer.
    #[error("a buffer must be requested as a buffer, a texture as a texture")]
    WrongType,
    /// A pass requested an undeclared or nonexistent resource.
    #[error("a pass can use only the resources that it declared")]
    NotDeclared,
    /// The commands of a pass were recorded in another recording than the given one.
    #[error("a pass must be recorded into the recording that it was given")]
    OtherRecording,
    /// An upload to a transient resource, which owns its memory only in recordings.
    #[error("an upload must go to a lasting resource; copy to a transient one in a recording")]
    NoUploads,
    /// The [`Gpu`](crate::Gpu) was dropped.
    #[error("transient resources need their Gpu, which is gone")]
    GpuIsGone,
}

/// Rule for swap chains, and for calls with one of their images.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwapchainRule {
    /// An image is presented without being drawn.
    #[error(
        "an image must be finished before it is presented: call finish() in the last recording that uses it"
    )]
    NotFinished,
    /// No submission waited for the image before the one that finished it: earlier commands may have drawn to
    /// it while the window showed it.
    #[error("the recording that begins with an image must be submitted before the one that finishes it")]
    BegunFirst,
    /// Two recordings finish an image.
    #[error("an image must be finished only once: by the last recording that uses it")]
    FinishedOnce,
    /// The swap chain cannot be changed while the program holds one of its images.
    #[error("the images of a swap chain must be presented or dropped before it is resized")]
    ImageHeld,
    /// An image of another swap chain, or of this one before it was resized.
    #[error("an image must be presented by the swap chain that handed it out, before a resize")]
    OtherSwapchain,
    /// A frame can have one image of a swap chain at a time.
    #[error("an image must be presented or dropped before the next is acquired")]
    OneAtATime,
    /// The window or surface is gone, or belongs to something else.
    #[error("the window must exist, and have no other swap chain")]
    WindowLost,
    /// No queue of the device can present to the window.
    #[error("a queue must be able to present to the window")]
    NoQueue,
    /// The window has no images of that format.
    #[error("the window does not offer the requested format")]
    Format,
    /// The number of images is out of range.
    #[error("{images} images: must be {min} to {max}")]
    Images {
        /// Requested number of images.
        images: u32,
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
}

/// Rule for the queries of a recording.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryRule {
    /// The recording should be submitted with a query that has begun and not ended.
    #[error("the {kind} that has begun has not ended")]
    NotEnded {
        /// The measured quantity.
        kind: QueryKind,
    },
    /// A query began while another one of the same unit had not ended.
    #[error("no {kind} can begin before the {begun} that has begun ends")]
    AlreadyBegun {
        /// The measured quantity of the new query.
        kind: QueryKind,
        /// The measured quantity of the open query.
        begun: QueryKind,
    },
    /// The query or scope that was ended is not open in the recording.
    #[error("the query or scope has not begun in this recording, or has ended")]
    NotBegun,
    /// A query or a scope of one recording was ended in another.
    #[error("a query or scope that begins in recording {begun_in} must end in that recording")]
    OtherRecording {
        /// The recording in which it began.
        begun_in: RecordingId,
    },
    /// The time between timestamps of two queues, which have different clocks.
    #[error("timestamps of the queues {} and {} have different clocks", .earlier.0, .queue.0)]
    OtherQueue {
        /// The queue of the later timestamp.
        queue: QueueId,
        /// The queue of the earlier one.
        earlier: QueueId,
    },
}

/// Rule for copies of acceleration structures.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureRule {
    /// The destination is smaller than the source, or than its compacted size.
    #[error("{needed} B are copied into an acceleration structure of {size} B")]
    TooSmall {
        /// Bytes to copy.
        needed: u64,
        /// Bytes of the destination.
        size: u64,
    },
    /// The size does not come from a query of the structure: compaction never makes a structure larger.
    #[error("{compacted} B cannot be the compacted size of an acceleration structure of {size} B")]
    NotCompacted {
        /// The given size.
        compacted: u64,
        /// Bytes of the source.
        size: u64,
    },
    /// A top-level structure is copied to a bottom-level one, or the other way round.
    #[error("a {src} acceleration structure cannot be copied to a {dst} one")]
    Kinds {
        /// The kind of the source.
        src: AccelerationStructureKind,
        /// The kind of the destination.
        dst: AccelerationStructureKind,
    },
    /// Source and destination are the same structure.
    #[error("an acceleration structure is copied to another one")]
    Itself,
}

/// Rule for the tables of a device.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractRule {
    /// The number of queues is out of range.
    #[error("{queues} queues: must be 1 to {max}")]
    Queues {
        /// Queues that the device has.
        queues: usize,
        /// The supported maximum.
        max: usize,
    },
    /// The properties of memory contradict themselves, or one of them is not a power of two.
    #[error(transparent)]
    Memory(#[from] InvalidProperties),
}

/// Rule for boxes of tiles of a reserved resource.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TileRule {
    /// The box is empty, or exceeds its subresource.
    #[error(
        "the box ends at tile {end}, but the axis has {limit} tiles: it must lie within them and not be empty"
    )]
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
    /// The source and the destination of a mapping copy are the same resource.
    #[error("mappings must be copied from another resource")]
    SameResource,
    /// The source and the destination of a mapping copy differ in shape.
    #[error("the boxes of {tiles} and {source_tiles} tiles must have the same extent")]
    Extents {
        /// Tiles of the destination box.
        tiles: usize,
        /// Tiles of the source box.
        source_tiles: usize,
    },
}
