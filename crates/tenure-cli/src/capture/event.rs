//! The events of a recording, as the log has them: more than every recording can say.

use tenure_trace::Kind;

/// An event, and when and where it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timed {
    /// Microseconds since the creation of the device.
    pub(super) time: u64,
    pub(super) thread: u32,
    /// The last frame before; of a frame its own number.
    pub(super) frame: u64,
    pub(super) event: Event,
}

/// An event. Ids of resources and of blocks are apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    /// The program allocated memory.
    Block {
        id: u64,
        size: u64,
        memory: Memory,
    },
    /// The program freed it.
    Unblock {
        id: u64,
        size: u64,
    },
    /// A resource was bound.
    Alloc(Box<Resource>),
    /// A resource was destroyed, or its memory freed. The program had waited for the GPU before.
    Free {
        id: u64,
        size: u64,
    },
    /// The program presented; one that never does, submitted.
    Frame,
    Submit {
        number: u64,
    },
    /// The program learned that a submission is complete.
    Done {
        number: u64,
    },
}

/// The memory of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) index: u32,
    pub(super) is_dedicated: bool,
    pub(super) is_import: bool,
    pub(super) has_address: bool,
    pub(super) priority: Option<f32>,
}

/// A resource in a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resource {
    pub(super) id: u64,
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) kind: Kind,
    pub(super) block: u64,
    pub(super) offset: u64,
    /// The resource on whose bytes it is, and where in that one.
    pub(super) alias: Option<(u64, u64)>,
    pub(super) memory: Memory,
    /// Whether the memory is the device's own.
    pub(super) is_local: bool,
    pub(super) wants_dedicated: bool,
    pub(super) needs_dedicated: bool,
    pub(super) usage: u64,
    pub(super) image: Option<Image>,
    pub(super) name: Option<String>,
}

/// The description of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) extent: [u32; 3],
    pub(super) format: u32,
    pub(super) mips: u32,
    pub(super) layers: u32,
    pub(super) samples: u32,
    pub(super) is_linear: bool,
}
