//! The ring suballocator: ranges of frames that are freed in order.

use alloc::collections::VecDeque;
use core::ops::Range;

use crate::suballocator::{align_up, check_request};

/// Allocates ranges from a ring and frees them frame by frame, in order.
///
/// As fast as [`Linear`](crate::Linear), and space is reclaimed without individual frees; its downside is the
/// order: one frame that stays blocks all later ones. Good for data with a lifetime of a few frames: uploads,
/// dynamic vertices.
///
/// # Algorithm
/// Allocations move a head round the range; the oldest byte in use is the tail. The allocations between two calls
/// of [`close`](Self::close) are a frame, and carry a mark, such as the sync point after which the GPU no longer
/// reads them. [`release_while`](Self::release_while) frees frames from the oldest on. A range never wraps across
/// the end: the bytes skipped there belong to the frame that skipped them, as padding does. A count of the bytes
/// in use distinguishes a full ring from an empty one; an empty ring starts again at 0, where the free space is
/// one range. While the free range at the head lasts, an allocation only moves the head: counts are computed from
/// it on demand, and settled when the head reaches the end of that range.
///
/// # Efficiency
/// `allocate` and `close` are O(1) (`close` amortised: the queue of frames may grow), releasing is
/// O(frames released).
///
/// # Origin
/// The circular buffer; in this form the upload ring of many D3D12 engines.
///
/// ```
/// use tenure_suballoc::Ring;
///
/// let mut ring = Ring::new(1024);
/// assert_eq!(ring.allocate(700, 256), Some(0));
/// ring.close(1); // the serial after which these bytes are free
/// assert_eq!(ring.allocate(700, 256), None);
///
/// let completed = 1;
/// assert_eq!(ring.release_while(|&serial| serial <= completed), 700);
/// assert_eq!(ring.allocate(700, 256), Some(0));
/// ```
#[derive(Clone, Debug)]
pub struct Ring<M> {
    capacity: u64,
    /// The offset of the next allocation.
    head: u64,
    /// The end of the free range at the head.
    limit: u64,
    /// The oldest byte in use, below `capacity`.
    tail: u64,
    /// The head's position when `used` and `open` were settled: at or below it.
    settled: u64,
    /// Bytes from tail to head, including skipped bytes.
    used: u64,
    /// The part of `used` that is not in a closed frame yet.
    open: u64,
    frames: VecDeque<Frame<M>>,
}

#[derive(Clone, Debug)]
struct Frame<M> {
    mark: M,
    bytes: u64,
}

/// The position of a possible allocation.
struct Candidate {
    offset: u64,
    /// Bytes consumed: padding or the skipped end, and the size.
    taken: u64,
}

impl<M> Ring<M> {
    /// Manages `0..capacity`. Nothing is allocated yet, and no frame is closed.
    #[must_use]
    pub const fn new(capacity: u64) -> Self {
        let frames = VecDeque::new();
        Self { capacity, head: 0, limit: capacity, tail: 0, settled: 0, used: 0, open: 0, frames }
    }

    /// Allocates `size` bytes at a multiple of `align` for the open frame and returns the offset.
    ///
    /// `None`, with the state unchanged, if it does not fit now, if `size` is zero or if `align` is not a power
    /// of two. A size up to the capacity always fits once all is released.
    #[inline]
    pub fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        let padding = self.head.wrapping_neg() & align.wrapping_sub(1);
        let room = self.limit - self.head;
        // A size of zero wraps to more than any free space.
        if align.is_power_of_two() && padding <= room && size.wrapping_sub(1) < room - padding {
            let offset = self.head + padding;
            self.head = offset + size;
            return Some(offset);
        }
        self.allocate_behind(size, align)
    }

    /// Allocates if the free range at the head is too small, possibly at the beginning.
    #[cold]
    fn allocate_behind(&mut self, size: u64, align: u64) -> Option<u64> {
        check_request(size, align).ok()?;
        self.settle();
        let candidate = self.find(size, align)?;
        self.head = candidate.offset + size;
        self.used += candidate.taken;
        self.open += candidate.taken;
        self.begin_range();
        Some(candidate.offset)
    }

    /// Adds the allocations since the last call to the counts.
    fn settle(&mut self) {
        self.used = self.used();
        self.open = self.open_bytes();
        self.begin_range();
    }

    /// Finds the free range at the head, after settling.
    fn begin_range(&mut self) {
        if self.head == self.capacity {
            self.head = 0;
        }
        self.settled = self.head;
        self.limit = if self.used == self.capacity {
            self.head
        } else if self.head < self.tail {
            self.tail
        } else {
            self.capacity
        };
    }

    /// The position for an allocation: at the head, or otherwise at the beginning of the range. The counts must
    /// be settled.
    fn find(&self, size: u64, align: u64) -> Option<Candidate> {
        if let Some(offset) = align_up(self.head, align)
            && offset <= self.limit
            && size <= self.limit - offset
        {
            let taken = offset - self.head + size;
            return Some(Candidate { offset, taken });
        }
        let goes_on_at_0 = self.limit == self.capacity;
        let skipped = self.capacity - self.head;
        (goes_on_at_0 && size <= self.tail).then(|| Candidate { offset: 0, taken: skipped + size })
    }

    /// Closes the open frame: everything allocated since the last call is freed together, once
    /// [`release_while`](Self::release_while) accepts `mark`. Returns the bytes of the frame.
    ///
    /// Without allocations since the last call there is no frame to close: `mark` is dropped and the result is 0.
    pub fn close(&mut self, mark: M) -> u64 {
        self.settle();
        let bytes = core::mem::take(&mut self.open);
        if bytes > 0 {
            self.frames.push_back(Frame { mark, bytes });
        }
        bytes
    }

    /// Frees closed frames from the oldest on, while `done` returns true for their marks, and returns the bytes
    /// freed. The open frame is never freed.
    pub fn release_while(&mut self, mut done: impl FnMut(&M) -> bool) -> u64 {
        self.settle();
        let mut freed = 0;
        while self.frames.front().is_some_and(|frame| done(&frame.mark))
            && let Some(frame) = self.frames.pop_front()
        {
            freed += frame.bytes;
        }
        self.advance_tail(freed);
        self.begin_range();
        freed
    }

    fn advance_tail(&mut self, bytes: u64) {
        self.used -= bytes;
        if self.used == 0 {
            self.head = 0;
            self.tail = 0;
            return;
        }
        let to_end = self.capacity - self.tail;
        self.tail = if bytes < to_end { self.tail + bytes } else { bytes - to_end };
    }

    /// Frees everything, including the open frame, and drops all marks. O(frames).
    pub fn clear(&mut self) {
        self.frames.clear();
        (self.head, self.tail, self.used, self.open) = (0, 0, 0, 0);
        self.begin_range();
    }

    /// The bytes not in use: none, one or two ranges, in order of their offsets. O(1).
    ///
    /// ```
    /// use tenure_suballoc::Ring;
    ///
    /// let mut ring = Ring::new(1000);
    /// ring.allocate(300, 1);
    /// ring.close("first frame");
    /// ring.allocate(400, 1);
    /// ring.release_while(|_| true);
    /// assert!(ring.holes().eq([0..300, 700..1000]));
    /// ring.clear();
    /// assert_eq!(ring.holes().next(), Some(0..1000));
    /// ```
    pub fn holes(&self) -> impl Iterator<Item = Range<u64>> {
        // The range wraps around at its end.
        let at_0 = if self.limit == self.capacity { 0..self.tail } else { 0..0 };
        [at_0, self.head..self.limit].into_iter().filter(|hole| !hole.is_empty())
    }

    /// The mark of the oldest closed frame: the first to wait for when the ring is full.
    #[must_use]
    pub fn oldest(&self) -> Option<&M> {
        self.frames.front().map(|frame| &frame.mark)
    }

    /// Closed frames that are not released yet.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Bytes managed.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes in use, including padding and bytes skipped at the end.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used + (self.head - self.settled)
    }

    /// The part of [`used`](Self::used) that belongs to the open frame.
    #[must_use]
    pub const fn open_bytes(&self) -> u64 {
        self.open + (self.head - self.settled)
    }

    /// Bytes not in use. They may be in two ranges: see [`largest_free`](Self::largest_free).
    #[must_use]
    pub const fn free_bytes(&self) -> u64 {
        self.capacity - self.used()
    }

    /// The largest size that fits now at alignment 1. O(1).
    #[must_use]
    pub fn largest_free(&self) -> u64 {
        let at_head = self.limit - self.head;
        // The range wraps around at its end.
        if self.limit == self.capacity { at_head.max(self.tail) } else { at_head }
    }

    /// Whether nothing is in use.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used() == 0
    }
}
