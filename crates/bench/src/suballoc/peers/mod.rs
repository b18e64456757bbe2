//! The allocators that are measured: one trait, one file each.

mod best_fit;
mod best_fit_blocks;
mod buddy;
mod buddy_system;
mod bump;
mod general;
pub(crate) mod general_blocks;
mod gpu_alloc;
mod growing_buddy;
mod lifo;
mod offset_allocator;
mod range_alloc;
mod ring;
#[cfg(not(windows))]
mod vk_mem;
#[cfg(not(windows))]
mod vk_mem_blocks;

use std::ops::Range;

#[cfg(not(windows))]
pub(super) use vk_mem::make_virtual_block;

use super::trace::Trace;
use super::{check, metadata, packing, replay, reserved, singles};

/// An allocator that can replay a trace.
pub trait Peer: Sized {
    /// What it takes to free an allocation.
    type Handle;

    /// Manages `capacity` bytes, or blocks; all alignments will be at least the trace's granule.
    fn new(trace: &Trace, capacity: u64) -> Self;

    /// Allocates; `None` when it is full.
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Self::Handle>>;

    /// Frees.
    fn free(&mut self, handle: Self::Handle);

    /// Ends a frame, for those that free by frame.
    fn end_frame(&mut self) {}

    /// Gives back what it can of its own memory, for those that have to be asked.
    fn trim(&mut self) {}

    /// Bytes of memory that it has now: the capacity, or all blocks.
    fn reserved(&self) -> u64;
}

/// An allocation.
pub struct Placed<H> {
    /// What to free it by.
    pub handle: H,
    /// Which of many blocks it lies in.
    pub block: u64,
    /// Where it begins, in bytes from the start of the block.
    pub offset: u64,
    /// All that it takes of the block, with what it has been given beyond the request.
    pub taken: Range<u64>,
}

impl<H> Placed<H> {
    /// An allocation of so many bytes in the one range, with nothing before it.
    #[inline]
    fn new(handle: H, offset: u64, size: u64) -> Self {
        Self { handle, block: 0, offset, taken: offset..offset + size }
    }
}

/// What a peer is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One of tenure's.
    Ours,
    /// What it takes to do nothing useful: no allocator can be faster.
    Floor,
    /// The reference for packing.
    Packing,
    /// Somebody else's.
    Other,
}

/// How a peer's memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// One range, of a size that is found by trying.
    One,
    /// Blocks, added when nothing fits; of those that ran empty one at most is kept.
    Blocks,
    /// Memory plays no role.
    None,
}

/// A peer with its name, ready to be measured.
pub struct Contender {
    /// The name to print.
    pub name: &'static str,
    /// What it is there for.
    pub role: Role,
    /// How its memory is divided.
    pub space: Space,
    /// Takes so long that it is measured on the first part of the traces, and only when asked for.
    pub is_slow: bool,
    /// Whether what it takes for itself can be counted: it comes from Rust's heap.
    pub is_counted: bool,
    /// Whether it can replay a trace.
    pub can_replay: fn(&Trace) -> bool,
    /// Replays a trace, given the bytes of the range.
    pub time: fn(&Trace, u64) -> replay::Timed,
    /// Replays a trace and takes the time of each call.
    pub singles: fn(&Trace, u64, &mut singles::Singles),
    /// Whether a range of so many bytes is enough for a trace.
    pub serves: fn(&Trace, u64) -> bool,
    /// Replays a trace and says how many bytes of memory it had.
    pub reserved: fn(&Trace) -> reserved::Reserved,
    /// Replays a trace and says how many bytes of its own it needed.
    pub metadata: fn(&Trace, u64) -> metadata::Metadata,
    /// Replays a trace and looks whether allocations overlap or are not aligned.
    pub check: fn(&Trace, u64) -> Result<check::Checked, String>,
    /// Replays a trace; one of the calls is made from a function of its own, to be counted.
    pub counted: fn(&Trace, u64),
}

impl Contender {
    fn new<P: Peer>(name: &'static str, role: Role, space: Space) -> Self {
        Self {
            name,
            role,
            space,
            is_slow: false,
            is_counted: true,
            can_replay: |_| true,
            time: replay::time::<P>,
            singles: singles::record::<P>,
            serves: packing::serves::<P>,
            reserved: reserved::measure::<P>,
            metadata: metadata::measure::<P>,
            check: check::check::<P>,
            counted: crate::instructions::counted::replay::<P>,
        }
    }

    fn only(self, can_replay: fn(&Trace) -> bool) -> Self {
        Self { can_replay, ..self }
    }

    #[cfg(not(windows))]
    fn uncounted(self) -> Self {
        Self { is_counted: false, ..self }
    }

    fn slow(self) -> Self {
        Self { is_slow: true, ..self }
    }
}

/// The name of the reference for packing in one range.
pub const PACKING_REFERENCE: &str = "best fit (two maps)";
/// The name of the reference for memory in blocks.
pub const BLOCKS_PACKING_REFERENCE: &str = "best fit (two maps), blocks";
/// The name of the reference for time in one range.
pub const TIME_REFERENCE: &str = "offset-allocator";
/// The name of the reference for time in blocks.
pub const BLOCKS_TIME_REFERENCE: &str = "vk-mem, blocks";

/// All of them.
#[must_use]
pub fn all() -> Vec<Contender> {
    let is_ring = |trace: &Trace| trace.is_ring;
    let one = [
        Contender::new::<general::Growing>("General", Role::Ours, Space::One),
        Contender::new::<general::Reserved>("General, reserved", Role::Ours, Space::One),
        Contender::new::<buddy::OneBuddy>("Buddy", Role::Ours, Space::One),
        Contender::new::<ring::FrameRing>("Ring", Role::Ours, Space::One).only(is_ring),
        Contender::new::<bump::Bump>("floor: bump", Role::Floor, Space::None),
        Contender::new::<lifo::Lifo>("floor: LIFO per size", Role::Floor, Space::None),
        Contender::new::<best_fit::BestFit>(PACKING_REFERENCE, Role::Packing, Space::One),
        Contender::new::<offset_allocator::Offsets>(TIME_REFERENCE, Role::Other, Space::One),
        #[cfg(not(windows))]
        Contender::new::<vk_mem::Tlsf>("vk-mem, TLSF", Role::Other, Space::One).uncounted(),
        #[cfg(not(windows))]
        Contender::new::<vk_mem::Linear>("vk-mem, linear", Role::Other, Space::One).only(is_ring).uncounted(),
        Contender::new::<buddy_system::Frames>("buddy_system_allocator", Role::Other, Space::One),
        Contender::new::<range_alloc::Ranges>("range-alloc", Role::Other, Space::One).slow(),
    ];
    let blocks = [
        Contender::new::<general_blocks::Blocks>("GeneralBlocks", Role::Ours, Space::Blocks),
        Contender::new::<growing_buddy::Buddies>("Growing<Buddy>", Role::Ours, Space::Blocks),
        Contender::new::<best_fit_blocks::BestFitBlocks>(
            BLOCKS_PACKING_REFERENCE,
            Role::Packing,
            Space::Blocks,
        ),
        #[cfg(not(windows))]
        Contender::new::<vk_mem_blocks::VkMemBlocks>(BLOCKS_TIME_REFERENCE, Role::Other, Space::Blocks)
            .uncounted(),
        Contender::new::<gpu_alloc::Buddies>("gpu-alloc, buddy", Role::Other, Space::Blocks),
        Contender::new::<gpu_alloc::FreeLists>("gpu-alloc, free list", Role::Other, Space::Blocks).slow(),
    ];
    one.into_iter().chain(blocks).collect()
}
