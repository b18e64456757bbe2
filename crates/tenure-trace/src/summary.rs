//! The sums of a recording.

use crate::Kind;

/// The summary of a recording.
///
/// Aliases and imports are counted separately and excluded from all other figures: they take none of the program's
/// memory.
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
    /// Peak of the live bytes.
    pub peak_live_bytes: u64,
    /// Peak number of live allocations.
    pub peak_live_allocations: u64,
    /// The allocations that were not freed, in order of their ids: leaks, or the end of an incomplete recording.
    pub live_at_end: Vec<LiveAllocation>,
    /// Number of resources that alias others.
    pub aliases: u64,
    /// Number of allocations in [imported](crate::Details::is_import) memory.
    pub imports: u64,
    /// Number of submissions.
    pub submissions: u64,
    /// Number of the program's own blocks.
    pub blocks: u64,
    /// Peak of the bytes in blocks.
    pub peak_block_bytes: u64,
    /// Peak number of blocks.
    pub peak_blocks: u64,
}

/// An unfreed allocation.
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

/// Live bytes and objects, and their peaks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    bytes: u64,
    count: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_count: u64,
}

impl Peak {
    /// Adds an object. If the sum would be 2^64 or more, returns the bytes before.
    pub(crate) fn add(&mut self, size: u64) -> Result<(), u64> {
        self.bytes = self.bytes.checked_add(size).ok_or(self.bytes)?;
        self.count += 1;
        self.peak_bytes = self.peak_bytes.max(self.bytes);
        self.peak_count = self.peak_count.max(self.count);
        Ok(())
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, size: u64) {
        self.bytes -= size;
        self.count -= 1;
    }
}
