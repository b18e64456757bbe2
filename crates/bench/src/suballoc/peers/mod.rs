//! The measured allocators.

mod best_fit;
mod offsets;
mod tenure;
#[cfg(not(windows))]
mod vk_mem;
#[cfg(not(windows))]
mod vk_mem_blocks;

use std::ops::Range;

#[cfg(not(windows))]
pub(super) use vk_mem::make_virtual_block;

use super::trace::Trace;
use super::{metadata, replay};
use tenure::{Blocks, OneRange};
use tenure_suballoc::{Buddy, General, GeneralBlocks, Growing};

/// An allocator that can replay a trace.
pub trait Peer: Sized {
    /// The data needed to free an allocation.
    type Handle;

    /// An allocator for `capacity` bytes, or for blocks; all alignments are at least the granule of the trace.
    fn new(trace: &Trace, capacity: u64) -> Self;

    /// Allocates; `None` when it is full.
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Self::Handle>>;

    /// Frees.
    fn free(&mut self, handle: Self::Handle);

    /// Ends a frame, for allocators that free by frame.
    fn end_frame(&mut self) {}

    /// Frees unused metadata, for allocators that do so only on request.
    fn trim(&mut self) {}

    /// Bytes of all blocks, where there are blocks.
    fn reserved(&self) -> u64 {
        0
    }
}

/// An allocation.
pub struct Placed<H> {
    /// The handle to free it with.
    pub handle: H,
    /// The number of its block.
    pub block: u64,
    /// Its offset in the block, in bytes.
    pub offset: u64,
    /// The range of the block that it occupies, including padding and rounding.
    pub taken: Range<u64>,
}

impl<H> Placed<H> {
    /// An allocation of `size` bytes in one range, without padding.
    #[inline]
    fn new(handle: H, offset: u64, size: u64) -> Self {
        Self { handle, block: 0, offset, taken: offset..offset + size }
    }
}

/// The memory that a peer divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// One range, whose size is found by trying.
    One,
    /// Blocks, added when a request fits into none; at most one empty block is kept.
    Blocks,
    /// No memory: a lower bound for the time.
    None,
}

/// A peer with its name, ready to be measured.
pub struct Contender {
    /// The name to print.
    pub name: &'static str,
    /// The memory that it divides.
    pub space: Space,
    /// Whether its metadata can be counted: it is allocated from Rust's heap.
    pub is_counted: bool,
    /// Whether it can replay a trace.
    pub can_replay: fn(&Trace) -> bool,
    /// Replays a trace, given the bytes of the range.
    pub time: fn(&Trace, u64) -> replay::Timed,
    /// The nanoseconds of each allocation, given those that the clock takes.
    pub singles: fn(&Trace, u64, u32) -> Vec<u32>,
    /// Whether a range of the given number of bytes is enough for a trace.
    pub serves: fn(&Trace, u64) -> bool,
    /// Bytes of all blocks: at most, and on average over the operations.
    pub reserved: fn(&Trace) -> (u64, f64),
    /// Replays a trace and measures the bytes of metadata.
    pub metadata: fn(&Trace, u64) -> metadata::Metadata,
    /// Replays a trace and checks that no allocations overlap and all are aligned. Returns their number.
    #[cfg(test)]
    pub(super) check: fn(&Trace, u64) -> Result<usize, String>,
    /// Replays a trace; the calls are made from separate functions, whose instructions callgrind counts.
    pub counted: fn(&Trace, u64),
}

impl Contender {
    fn new<P: Peer>(name: &'static str, space: Space) -> Self {
        Self {
            name,
            space,
            is_counted: true,
            can_replay: |_| true,
            time: replay::time::<P>,
            singles: replay::singles::<P>,
            serves: replay::serves::<P>,
            reserved: replay::reserved::<P>,
            metadata: metadata::measure::<P>,
            #[cfg(test)]
            check: replay::tests::check::<P>,
            counted: replay::counted::<P>,
        }
    }

    fn only(self, can_replay: fn(&Trace) -> bool) -> Self {
        Self { can_replay, ..self }
    }

    #[cfg(not(windows))]
    fn uncounted(self) -> Self {
        Self { is_counted: false, ..self }
    }
}

/// The name of the reference for packing in one range.
pub const PACKING_REFERENCE: &str = "best fit (two maps)";
/// The name of the reference for time in one range.
pub const TIME_REFERENCE: &str = "offset-allocator";
/// The name of the reference for memory in blocks.
pub const BLOCKS_PACKING_REFERENCE: &str = "best fit (two maps), blocks";
/// The name of the reference for time in blocks.
pub const BLOCKS_TIME_REFERENCE: &str = "vk-mem, blocks";

/// All peers.
#[must_use]
pub fn all() -> Vec<Contender> {
    let is_ring = |trace: &Trace| trace.is_ring;
    vec![
        Contender::new::<OneRange<General>>("General", Space::One),
        Contender::new::<OneRange<General, true>>("General, reserved", Space::One),
        Contender::new::<OneRange<Buddy>>("Buddy", Space::One),
        Contender::new::<tenure::FrameRing>("Ring", Space::One).only(is_ring),
        Contender::new::<tenure::Bump>("floor: bump", Space::None),
        Contender::new::<best_fit::BestFit>(PACKING_REFERENCE, Space::One),
        Contender::new::<offsets::Offsets>(TIME_REFERENCE, Space::One),
        #[cfg(not(windows))]
        Contender::new::<vk_mem::Tlsf>("vk-mem, TLSF", Space::One).uncounted(),
        #[cfg(not(windows))]
        Contender::new::<vk_mem::Linear>("vk-mem, linear", Space::One).only(is_ring).uncounted(),
        Contender::new::<Blocks<GeneralBlocks>>("GeneralBlocks", Space::Blocks),
        Contender::new::<Blocks<Growing<Buddy>>>("Growing<Buddy>", Space::Blocks),
        Contender::new::<best_fit::BestFitBlocks>(BLOCKS_PACKING_REFERENCE, Space::Blocks),
        #[cfg(not(windows))]
        Contender::new::<vk_mem_blocks::VkMemBlocks>(BLOCKS_TIME_REFERENCE, Space::Blocks).uncounted(),
    ]
}
