//! The events of a recording (allocations, frees, frame marks and others), and the limits of their values.

use std::fmt;

/// The first line of a recording of version 1: its columns.
pub const HEADER: &str = "op,id,size,align,kind,frame";

/// The first line of a recording of version 2, which [`TraceWriter`](crate::TraceWriter) writes.
pub const FIRST_LINE: &str = "#tenure-recording=2";

/// The last line of the header of version 2: the columns.
pub const COLUMNS: &str = "op,id,size,align,kind,frame,more";

/// The longest line that a reader accepts, in bytes without the line end.
///
/// Writers produce lines of less than 1,300 bytes. The limit bounds the memory for a file without line ends.
pub const MAX_LINE_BYTES: usize = 2048;

/// The maximum number of `#key=value` lines of a header.
pub const MAX_HEADER_LINES: usize = 256;

/// The longest name of a resource, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// The largest size of an allocation in a recording: 2^44 bytes (16 TiB), beyond any device.
pub const MAX_SIZE: u64 = 1 << 44;

/// The largest alignment in a recording: 2^30 bytes (1 GiB).
///
/// The largest alignment that today's APIs require is 4 MiB (multisampled textures on Direct3D 12).
pub const MAX_ALIGN: u64 = 1 << 30;

/// The maximum number of events of a recording in memory: 2^24, which take 640 MiB.
///
/// Their [`Details`](crate::Details) take at most another 1 GiB.
pub const MAX_EVENTS: usize = 1 << 24;

/// One line of a recording.
///
/// An event is a plain value of 40 bytes. It holds the first six columns of the line; the words of the seventh are
/// its [`Details`](crate::Details). The [`Validator`](crate::Validator) checks whether an event is consistent with
/// earlier events (new id, possible size …).
///
/// ```
/// use tenure_trace::{Event, Kind, Layout, MemoryKind};
///
/// let alloc = Event::Alloc {
///     id: 1,
///     size: 2304,
///     align: 64,
///     kind: Kind::new(MemoryKind::GpuOnly, Layout::Linear),
///     frame: 0,
/// };
/// assert_eq!(alloc.frame(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// An allocation was created.
    Alloc {
        /// The allocation's number, unique within the recording.
        id: u64,
        /// Bytes, from 1 to [`MAX_SIZE`](crate::MAX_SIZE).
        size: u64,
        /// Bytes, a power of two up to [`MAX_ALIGN`](crate::MAX_ALIGN).
        align: u64,
        /// The kind of memory and the layout of the resource.
        kind: Kind,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// An allocation was freed.
    Free {
        /// The id of a live allocation.
        id: u64,
        /// Bytes: the size that was allocated.
        size: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// A frame ended: the program presented.
    Frame {
        /// The number of the frame, greater than that of the mark before.
        number: u64,
    },
    /// A resource was created on the bytes of another one, [`of`](crate::Details::of). It takes no memory, and is
    /// freed by a [`Free`](Self::Free).
    Alias {
        /// The resource's number, unique among allocations and aliases.
        id: u64,
        /// Bytes, from 1 to [`MAX_SIZE`](crate::MAX_SIZE).
        size: u64,
        /// Bytes, a power of two up to [`MAX_ALIGN`](crate::MAX_ALIGN).
        align: u64,
        /// The kind of memory and the layout of the resource.
        kind: Kind,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// The program submitted work to the GPU.
    Submit {
        /// The submission's number, unique within the recording.
        number: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// The program has learned that the GPU completed a submission.
    Done {
        /// The number of the submission.
        number: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// The program took memory from the driver, for resources that it places itself.
    Block {
        /// The block's number, unique among blocks.
        id: u64,
        /// Bytes, from 1 to [`MAX_SIZE`](crate::MAX_SIZE).
        size: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// The program returned a block to the driver. Its resources may be freed later.
    Unblock {
        /// The number of the block.
        id: u64,
        /// Bytes: the size of the block.
        size: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// The program mapped a block.
    Map {
        /// The number of the block.
        id: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// The program unmapped a block.
    Unmap {
        /// The number of the block.
        id: u64,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
}

impl Event {
    /// The event's frame column: a mark's own number, otherwise that of the last mark before it.
    #[must_use]
    pub const fn frame(&self) -> u64 {
        match *self {
            Self::Frame { number } => number,
            Self::Alloc { frame, .. }
            | Self::Free { frame, .. }
            | Self::Alias { frame, .. }
            | Self::Submit { frame, .. }
            | Self::Done { frame, .. }
            | Self::Block { frame, .. }
            | Self::Unblock { frame, .. }
            | Self::Map { frame, .. }
            | Self::Unmap { frame, .. } => frame,
        }
    }
}

/// The processors that write and read the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryKind {
    /// Only the GPU reads and writes it: `gpu_only`.
    GpuOnly,
    /// The CPU writes and the GPU reads (upload): `cpu_to_gpu`.
    CpuToGpu,
    /// The GPU writes and the CPU reads (readback): `gpu_to_cpu`.
    GpuToCpu,
}

impl MemoryKind {
    /// Every memory kind.
    pub const ALL: [Self; 3] = [Self::GpuOnly, Self::CpuToGpu, Self::GpuToCpu];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::GpuOnly => "gpu_only",
            Self::CpuToGpu => "cpu_to_gpu",
            Self::GpuToCpu => "gpu_to_cpu",
        }
    }
}

/// The layout of the resource in the memory.
///
/// Vulkan requires a `bufferImageGranularity` between linear and optimal resources; a Direct3D 12
/// heap of tier 1 holds only one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layout {
    /// A buffer (or a linear image): `linear`.
    Linear,
    /// An image with optimal tiling: `optimal`.
    Optimal,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Optimal];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Optimal => "optimal",
        }
    }
}

/// The `kind` column: a memory kind and a layout, written `gpu_only+linear`.
///
/// ```
/// use tenure_trace::{Kind, Layout, MemoryKind};
///
/// let kind: Kind = "cpu_to_gpu+linear".parse()?;
/// assert_eq!(kind, Kind::new(MemoryKind::CpuToGpu, Layout::Linear));
/// assert_eq!(kind.to_string(), "cpu_to_gpu+linear");
/// # Ok::<(), tenure_trace::Reason>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// The processor that writes and the one that reads the memory.
    pub memory: MemoryKind,
    /// The layout of the resource in the memory.
    pub layout: Layout,
}

impl Kind {
    /// A kind of the given memory kind and layout.
    #[must_use]
    pub const fn new(memory: MemoryKind, layout: Layout) -> Self {
        Self { memory, layout }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.memory.name(), self.layout.name())
    }
}
