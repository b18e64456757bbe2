//! Operations of a `Ring`, and the check of its contract.

use std::collections::VecDeque;
use std::ops::Range;

use tenure_suballoc::Ring;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Allocate {
        size: u64,
        align: u64,
    },
    /// Requests the size of the largest free range, plus a number of bytes.
    AllocateLargest {
        more: i8,
        align: u64,
    },
    Close,
    Clear,
    /// Releases up to this number of frames.
    Release {
        frames: u8,
    },
}

/// Bytes that are in use, and by which frame: `None` for the open one.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    frame: Option<u64>,
}

/// Every range that is in use, in order of allocation; padding and skipped ends are ranges too.
struct Model {
    capacity: u64,
    head: u64,
    segments: VecDeque<Segment>,
    frames: VecDeque<u64>,
    closed: u64,
}

impl Model {
    fn is_free(&self, start: u64, end: u64) -> bool {
        self.segments.iter().all(|used| end <= used.start || used.end <= start)
    }

    fn used(&self) -> u64 {
        self.segments.iter().map(|used| used.end - used.start).sum()
    }

    fn take(&mut self, start: u64, end: u64) {
        if start < end {
            self.segments.push_back(Segment { start, end, frame: None });
        }
    }

    fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        if size == 0 || align.count_ones() != 1 {
            return None;
        }
        if self.segments.is_empty() {
            self.head = 0;
        }
        let padded = u128::from(self.head).div_ceil(u128::from(align)) * u128::from(align);
        let end = padded + u128::from(size);
        if end <= u128::from(self.capacity) {
            let (offset, end) = (padded as u64, end as u64);
            if self.is_free(self.head, end) {
                self.take(self.head, end);
                self.head = end;
                return Some(offset);
            }
        }
        let fits_at_0 = size <= self.capacity && self.is_free(0, size);
        if fits_at_0 && self.is_free(self.head, self.capacity) && self.head >= size {
            self.take(self.head, self.capacity);
            self.take(0, size);
            self.head = size;
            return Some(0);
        }
        None
    }

    fn largest_free(&self) -> u64 {
        if self.segments.is_empty() {
            return self.capacity;
        }
        let after = |start: u64| {
            let next = self.segments.iter().map(|used| used.start).filter(|&next| next >= start);
            let inside = self.segments.iter().any(|used| used.start <= start && start < used.end);
            if inside { 0 } else { next.min().unwrap_or(self.capacity) - start }
        };
        let at_head = after(self.head);
        let wraps = self.head + at_head == self.capacity;
        if wraps { at_head.max(after(0)) } else { at_head }
    }

    fn clear(&mut self) {
        self.segments.clear();
        self.frames.clear();
    }

    /// The free ranges, in order.
    fn holes(&self) -> Vec<Range<u64>> {
        let mut used: Vec<_> = self.segments.iter().map(|used| used.start..used.end).collect();
        used.push(self.capacity..self.capacity);
        used.sort_unstable_by_key(|used| used.start);
        let mut end = 0;
        let before = used.into_iter().map(|used| {
            let hole = end..used.start;
            end = used.end;
            hole
        });
        before.filter(|hole| !hole.is_empty()).collect()
    }

    fn close(&mut self) -> u64 {
        let mark = self.closed;
        let mut bytes = 0;
        for used in self.segments.iter_mut().filter(|used| used.frame.is_none()) {
            used.frame = Some(mark);
            bytes += used.end - used.start;
        }
        if bytes > 0 {
            self.frames.push_back(mark);
            self.closed += 1;
        }
        bytes
    }

    fn release(&mut self, frames: u8) -> u64 {
        let before = self.used();
        for _ in 0..frames {
            let Some(mark) = self.frames.pop_front() else { break };
            self.segments.retain(|used| used.frame != Some(mark));
        }
        before - self.used()
    }
}

/// Plays the operations and checks each.
pub(crate) fn play(capacity: u64, ops: &[Op]) {
    play_long(capacity, ops, 1);
}

/// As [`play`]; the whole state is compared only after every `every` operations.
pub(crate) fn play_long(capacity: u64, ops: &[Op], every: usize) {
    let mut ring = Ring::new(capacity);
    let mut model =
        Model { capacity, head: 0, segments: VecDeque::new(), frames: VecDeque::new(), closed: 0 };
    for (step, op) in ops.iter().enumerate() {
        match *op {
            Op::Allocate { size, align } => allocate(&mut ring, &mut model, size, align),
            Op::AllocateLargest { more, align } => {
                let size = ring.largest_free().saturating_add_signed(i64::from(more));
                allocate(&mut ring, &mut model, size, align);
            }
            Op::Clear => {
                ring.clear();
                model.clear();
            }
            Op::Close => assert_eq!(ring.close(model.closed), model.close()),
            Op::Release { frames } => {
                let mut asked = 0;
                let freed = ring.release_while(|_| {
                    asked += 1;
                    asked <= u32::from(frames)
                });
                assert_eq!(freed, model.release(frames));
            }
        }
        if step.is_multiple_of(every) {
            check(&ring, &model);
        }
    }
}

fn allocate(ring: &mut Ring<u64>, model: &mut Model, size: u64, align: u64) {
    let empty = ring.is_empty();
    let offset = ring.allocate(size, align);
    assert_eq!(offset, model.allocate(size, align), "{size} aligned to {align}");
    if empty && size > 0 && size <= model.capacity && align.is_power_of_two() {
        assert_eq!(offset, Some(0), "an empty ring serves all that it can");
    }
}

fn check(ring: &Ring<u64>, model: &Model) {
    assert_eq!(ring.used(), model.used());
    assert_eq!(ring.free_bytes(), model.capacity - model.used());
    assert_eq!(ring.largest_free(), model.largest_free());
    assert!(ring.holes().eq(model.holes()), "{:?}", model.holes());
    assert_eq!(ring.oldest(), model.frames.front());
    assert_eq!(ring.frames(), model.frames.len());
    assert_eq!(ring.is_empty(), model.segments.is_empty());
    let open = model.segments.iter().filter(|used| used.frame.is_none());
    assert_eq!(ring.open_bytes(), open.map(|used| used.end - used.start).sum::<u64>());
}
