//! The cost of paging.

/// Statistics of paging and its cost: see [`Device::paging_stats`](crate::Device::paging_stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PagingStats {
    /// Each memory heap, by its index.
    pub segments: Vec<SegmentStats>,
    /// Submissions that have run, on all queues together.
    pub submissions: u64,
    /// Nanoseconds that all of them took, with the paging.
    pub time: u128,
    /// The part of these nanoseconds for moving blocks, or reading them remotely.
    pub stalled: u128,
}

/// One memory heap. Bytes since the device was made, unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// The bytes resident now.
    pub resident: u64,
    /// Blocks that the program has made resident after they were evicted.
    pub paged_in: u64,
    /// Blocks that the program has evicted.
    pub paged_out: u64,
    /// Blocks that the operating system has brought back.
    pub promoted: u64,
    /// Blocks that the operating system has moved out, because more was resident than it grants.
    pub demoted: u64,
    /// Bytes of demoted blocks that submissions have read or written remotely, because the blocks were not
    /// brought back.
    pub read_remotely: u64,
    /// The bytes paged in or promoted that no submission read or wrote before their block left again, or was
    /// destroyed: whole blocks, and the untouched bytes of used ones.
    pub unused: u64,
    /// Bytes over the budget, times the nanoseconds of that excess.
    pub over_budget: u128,
}

impl PagingStats {
    /// Bytes that went over the link towards the GPU, in all segments: by the program and by the operating
    /// system, and by remote reads.
    #[must_use]
    pub fn bytes_in(&self) -> u64 {
        self.segments.iter().map(|segment| segment.paged_in + segment.promoted + segment.read_remotely).sum()
    }
}
