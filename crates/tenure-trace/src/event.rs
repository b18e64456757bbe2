//! What a recording consists of: allocations, frees and frame marks.

use std::fmt;
use std::str::FromStr;

use crate::Reason;

/// One line of a recording.
///
/// An event is a plain value of 40 bytes. It says what the recording says and no more: whether it
/// fits the events before it (the id is new, the size is possible …) is the
/// [`Validator`](crate::Validator)'s question.
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
pub enum Event {
    /// Memory was taken.
    Alloc {
        /// The allocation's name, unique within the recording and never used again.
        id: u64,
        /// Bytes, from 1 to [`MAX_SIZE`](crate::MAX_SIZE).
        size: u64,
        /// Bytes, a power of two up to [`MAX_ALIGN`](crate::MAX_ALIGN).
        align: u64,
        /// Which memory, and what lies in it.
        kind: Kind,
        /// The number of the last frame marked before the event; 0 if none was.
        frame: u64,
    },
    /// Memory was given back.
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
}

impl Event {
    /// The event's frame column: for a mark its own number, else that of the last mark before it.
    #[must_use]
    pub const fn frame(&self) -> u64 {
        match *self {
            Self::Alloc { frame, .. } | Self::Free { frame, .. } => frame,
            Self::Frame { number } => number,
        }
    }
}

/// Who reads and writes the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryKind {
    /// Only the GPU touches it: `gpu_only`.
    GpuOnly,
    /// The CPU writes and the GPU reads (upload): `cpu_to_gpu`.
    CpuToGpu,
    /// The GPU writes and the CPU reads (readback): `gpu_to_cpu`.
    GpuToCpu,
}

impl MemoryKind {
    /// Every memory kind.
    pub const ALL: [Self; 3] = [Self::GpuOnly, Self::CpuToGpu, Self::GpuToCpu];

    const fn name(self) -> &'static str {
        match self {
            Self::GpuOnly => "gpu_only",
            Self::CpuToGpu => "cpu_to_gpu",
            Self::GpuToCpu => "gpu_to_cpu",
        }
    }
}

/// What lies in the memory.
///
/// Vulkan keeps the two a `bufferImageGranularity` apart; Direct3D 12 heaps of tier 1 hold one only.
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

    const fn name(self) -> &'static str {
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
    /// Who reads and writes the memory.
    pub memory: MemoryKind,
    /// What lies in the memory.
    pub layout: Layout,
}

impl Kind {
    /// Puts a memory kind and a layout together.
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

impl FromStr for Kind {
    type Err = Reason;

    /// # Errors
    ///
    /// [`Reason::UnknownKind`] for anything but one of the six kinds, exactly as written.
    fn from_str(text: &str) -> Result<Self, Reason> {
        let unknown = || Reason::UnknownKind { found: text.into() };
        let (memory, layout) = text.split_once('+').ok_or_else(unknown)?;
        let memory = MemoryKind::ALL.into_iter().find(|m| m.name() == memory);
        let layout = Layout::ALL.into_iter().find(|l| l.name() == layout);
        match (memory, layout) {
            (Some(memory), Some(layout)) => Ok(Self { memory, layout }),
            _ => Err(unknown()),
        }
    }
}
