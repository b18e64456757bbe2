//! The sums of a recording.

use crate::Kind;

/// The summary of a recording.
///
/// Aliases and imports are counted on their own, and excluded from all other figures: they take none of the program's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of allocations.
    pub allocs: u64,
    /// Number of frees.
    pub frees: u64,
    /// Number of frees that are [final](crate::Details::is_final).
    pub final_frees: u64,
    /// Number of frame marks.
    pub frames: u64,
    /// The most bytes that were live at once.
    pub peak_live_bytes: u64,
    /// The most allocations that were live at once.
    pub peak_live_allocations: u64,
    /// The allocations that were not freed, in the order of the ids: leaks, or the end of an incomplete
    /// recording.
    pub live_at_end: Vec<LiveAllocation>,
    /// Number of resources on the bytes of others.
    pub aliases: u64,
    /// Number of allocations in [imported](crate::Details::is_import) memory.
    pub imports: u64,
    /// Number of submissions.
    pub submissions: u64,
    /// Number of the program's own blocks.
    pub blocks: u64,
    /// The most bytes in blocks at once.
    pub peak_block_bytes: u64,
    /// The most blocks at once.
    pub peak_blocks: u64,
}

/// An allocation that is not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveAllocation {
    /// Its id.
    pub id: u64,
    /// Its size, bytes.
    pub size: u64,
    /// Its alignment, bytes.
    pub align: u64,
    /// The kind of memory and the layout of the resource.
    pub kind: Kind,
}

/// Bytes and things that are live, and the most of them at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    bytes: u64,
    count: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_count: u64,
}

impl Peak {
    /// Adds a thing; the bytes before if the sum is 2^64 or more.
    pub(crate) fn add(&mut self, size: u64) -> Result<(), u64> {
        self.bytes = self.bytes.checked_add(size).ok_or(self.bytes)?;
        self.count += 1;
        self.peak_bytes = self.peak_bytes.max(self.bytes);
        self.peak_count = self.peak_count.max(self.count);
        Ok(())
    }

    /// Removes a thing that was added.
    pub(crate) fn remove(&mut self, size: u64) {
        self.bytes -= size;
        self.count -= 1;
    }
}
