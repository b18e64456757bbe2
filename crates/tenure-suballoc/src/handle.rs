//! Identifiers of allocations and blocks.

use core::fmt;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU32, Ordering};

const UPPER_HALF: u64 = u64::MAX << 32;

/// The id of a block. The numbers are small and dense, and are reused after a block is removed, the lowest first. They can be
/// used as an index into the caller's own list of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub(crate) u32);

impl BlockId {
    /// The number as an index.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<BlockId> for u32 {
    fn from(id: BlockId) -> Self {
        id.0
    }
}

/// The handle of one allocation of one allocator; pass it to that allocator to free the allocation.
///
/// A handle is a plain value: copying it does not copy the allocation. It contains the id of its allocator and a tag that changes
/// whenever its place is reused, so that a double free, or a free in the wrong allocator, is an error and never affects another
/// allocation. (The tag of one place repeats after 2³¹ reuses, that of a [`Buddy`](crate::Buddy) after 2²⁷; the id of an
/// allocator repeats after 2³² allocators.)
///
/// The value itself is opaque, and the only result that may differ between two equal runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    /// Block and slot. Two words instead of four halves, because a handle is copied in words: reading a word that
    /// was just written as two halves stalls the processor.
    place: u64,
    /// Owner and tag.
    proof: NonZeroU64,
}

impl Handle {
    #[inline]
    pub(crate) fn new(owner: Owner, block: u32, slot: u32, tag: u32) -> Self {
        Self { place: u64::from(block) << 32 | u64::from(slot), proof: owner.0 | u64::from(tag) }
    }

    /// An index below the peak number of pieces, in use or free, unique among the live allocations of the
    /// allocator, or of the block if each block has an allocator of its own ([`Growing`](crate::Growing)). Use it
    /// as an index into the caller's own list of live allocations.
    ///
    /// ```
    /// use tenure_suballoc::{General, Suballocator};
    ///
    /// let mut heap = General::new(1024, 256)?;
    /// let mut names = Vec::new();
    /// let mesh = heap.allocate(512, 256)?.handle;
    /// names.resize(mesh.index() + 1, "");
    /// names[mesh.index()] = "mesh";
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.slot() as usize
    }

    /// The handle as plain values, for other languages: `live_handle` of [`General`](crate::General), [`Buddy`](crate::Buddy) and
    /// [`Slots`](crate::Slots) converts them back.
    #[must_use]
    #[inline]
    pub const fn to_raw(self) -> [u64; 2] {
        [self.place, self.proof.get()]
    }

    /// A handle of an allocator without blocks; `None` for values of another. The allocator must check that it is live.
    #[inline]
    pub(crate) fn from_raw([place, proof]: [u64; 2], owner: Owner) -> Option<Self> {
        let handle = Self { place, proof: NonZeroU64::new(proof)? };
        (handle.is_of(owner) && handle.block() == 0).then_some(handle)
    }

    #[inline]
    pub(crate) fn in_block(self, block: u32) -> Self {
        Self { place: u64::from(block) << 32 | u64::from(self.slot()), ..self }
    }

    #[inline]
    pub(crate) fn is_of(self, owner: Owner) -> bool {
        self.proof.get() & UPPER_HALF == owner.0.get()
    }

    #[inline]
    pub(crate) const fn block(self) -> u32 {
        (self.place >> 32) as u32
    }

    #[inline]
    pub(crate) const fn slot(self) -> u32 {
        self.place as u32
    }

    #[inline]
    pub(crate) const fn tag(self) -> u32 {
        self.proof.get() as u32
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({}:{}#{})", self.block(), self.slot(), self.tag())
    }
}

/// The id of an allocator, unique within the process.
///
/// It is in the upper half of the word, and never zero, so that an `Option<Handle>` is no larger than a `Handle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner(NonZeroU64);

impl Owner {
    /// Allocates the next id. Only uniqueness matters, so no ordering with other memory is needed.
    pub(crate) fn next() -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        loop {
            let next = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if let Some(name) = NonZeroU64::new(u64::from(next) << 32) {
                return Self(name);
            }
        }
    }
}
