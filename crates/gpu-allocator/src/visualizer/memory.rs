//! The data to draw.

use std::backtrace::Backtrace;
use std::num::NonZeroU64;
use std::sync::Arc;

use tenure_heap::MemoryBlockId;

/// A live allocation.
pub(crate) struct LiveView {
    pub(crate) name: String,
    pub(crate) serial: NonZeroU64,
    /// Bytes from the start of its block.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) is_linear: bool,
    /// The stack of its allocation, if kept. Converting it to text is slow.
    pub(crate) trace: Option<Arc<Backtrace>>,
}

/// A block.
pub(crate) struct BlockView {
    pub(crate) id: MemoryBlockId,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) is_dedicated: bool,
    /// The allocations, sorted by offset.
    pub(crate) allocations: Vec<LiveView>,
}

impl BlockView {
    /// Bytes of live allocations.
    pub(crate) fn allocated(&self) -> u64 {
        self.allocations.iter().map(|found| found.size).sum()
    }
}

/// A memory type and its blocks.
pub(crate) struct MemoryTypeView {
    /// Lines about its properties.
    pub(crate) lines: Vec<String>,
    pub(crate) blocks: Vec<BlockView>,
}

/// The content of an allocator.
pub(crate) struct Memory {
    /// Lines about its overall properties.
    pub(crate) lines: Vec<String>,
    /// A line about each memory heap.
    pub(crate) heaps: Vec<String>,
    pub(crate) types: Vec<MemoryTypeView>,
    pub(crate) keeps_traces: bool,
}
