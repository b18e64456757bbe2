//! The allocators that are measured: one trait, one file each.

mod best_fit;
mod buddy;
mod bump;
mod general;
mod general_blocks;
mod growing_buddy;
mod lifo;
mod offset_allocator;
mod ring;

use std::time::Duration;

use super::measure;
use super::trace::Trace;

/// An allocator that can replay a trace.
pub trait Peer: Sized {
    /// What it takes to free an allocation.
    type Handle: Copy;

    /// Manages `capacity` bytes; all alignments will be at least `granule`.
    fn new(trace: &Trace, capacity: u64) -> Self;

    /// Allocates; `None` when it is full.
    fn allocate(&mut self, size: u64, align: u64) -> Option<Self::Handle>;

    /// Frees.
    fn free(&mut self, handle: Self::Handle);

    /// Ends a frame, for those that free by frame.
    fn end_frame(&mut self) {}

    /// Bytes of memory that it has taken: the capacity, or all blocks.
    fn reserved(&self) -> u64;
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
pub enum Range {
    /// One range, of a size that is found by trying.
    One,
    /// Blocks, added when nothing fits.
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
    pub range: Range,
    /// Whether it can replay a trace.
    pub can_replay: fn(&Trace) -> bool,
    /// Replays a trace and says how long that took, or `None` when it ran out of memory.
    pub time: fn(&Trace, u64) -> Option<Duration>,
    /// Replays a trace and returns the bytes that it reserved at most, or `None`.
    pub reserved: fn(&Trace, u64) -> Option<u64>,
}

impl Contender {
    fn new<P: Peer>(name: &'static str, role: Role, range: Range) -> Self {
        Self {
            name,
            role,
            range,
            can_replay: |_| true,
            time: measure::time::<P>,
            reserved: measure::reserved::<P>,
        }
    }

    fn only(self, can_replay: fn(&Trace) -> bool) -> Self {
        Self { can_replay, ..self }
    }
}

/// The name of the reference for packing.
pub const PACKING_REFERENCE: &str = "best fit (two maps)";
/// The name of the reference for time.
pub const TIME_REFERENCE: &str = "offset-allocator";

/// All of them.
#[must_use]
pub fn all() -> Vec<Contender> {
    vec![
        Contender::new::<general::OneRange>("General", Role::Ours, Range::One),
        Contender::new::<general_blocks::Blocks>("GeneralBlocks", Role::Ours, Range::Blocks),
        Contender::new::<buddy::OneBuddy>("Buddy", Role::Ours, Range::One),
        Contender::new::<growing_buddy::Buddies>("Growing<Buddy>", Role::Ours, Range::Blocks),
        Contender::new::<ring::FrameRing>("Ring", Role::Ours, Range::One).only(ring::wants),
        Contender::new::<bump::Bump>("floor: bump", Role::Floor, Range::None),
        Contender::new::<lifo::Lifo>("floor: LIFO per size", Role::Floor, Range::None),
        Contender::new::<best_fit::BestFit>(PACKING_REFERENCE, Role::Packing, Range::One),
        Contender::new::<offset_allocator::Offsets>(TIME_REFERENCE, Role::Other, Range::One),
    ]
}
