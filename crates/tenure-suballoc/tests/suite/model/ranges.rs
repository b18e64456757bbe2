//! A plain list of live ranges, in order of their offsets.

use std::ops::Range;

use tenure_suballoc::Handle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) handle: Handle,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    capacity: u64,
    live: Vec<Live>,
}

impl Ranges {
    pub(crate) fn new(capacity: u64) -> Self {
        Self { capacity, live: Vec::new() }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn used(&self) -> u64 {
        self.live.iter().map(|live| live.size).sum()
    }

    /// Adds a range, which must overlap no other.
    pub(crate) fn insert(&mut self, new: Live) {
        let place = self.live.partition_point(|live| live.offset < new.offset);
        let floor = match place {
            0 => 0,
            _ => self.live[place - 1].offset + self.live[place - 1].size,
        };
        let ceiling = self.live.get(place).map_or(self.capacity, |live| live.offset);
        assert!(
            new.offset >= floor && new.size <= ceiling - new.offset,
            "{new:?} does not lie in {floor}..{ceiling}"
        );
        self.live.insert(place, new);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Live> + '_ {
        self.live.iter().copied()
    }

    /// Removes all ranges, and returns them.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = Live> + '_ {
        self.live.drain(..)
    }

    /// Checks that an allocator reports exactly these ranges, and all bytes between them as free: as one free
    /// range between two of them, if it merges free ranges.
    pub(crate) fn check_walks(
        &self,
        allocations: impl Iterator<Item = Live>,
        holes: impl Iterator<Item = Range<u64>>,
        merges: bool,
    ) {
        assert!(allocations.eq(self.iter()), "not the ranges that are live");
        let mut holes = holes.peekable();
        for (start, size) in self.holes() {
            let (mut end, mut count) = (start, 0);
            while end < start + size {
                let hole = holes.next_if(|hole| hole.start == end && hole.end > end);
                end = hole.map_or_else(|| panic!("no hole at {end}"), |hole| hole.end);
                count += 1;
            }
            assert!(end == start + size, "a hole that ends at {end} is not free");
            assert!(count <= 1 || !merges, "{count} holes in a row at {start}");
        }
        assert_eq!(holes.next(), None, "a hole in what is allocated");
    }

    pub(crate) fn remove(&mut self, index: usize) -> Live {
        self.live.remove(index)
    }

    /// The gaps between the live ranges, as (offset, size), including empty ones.
    pub(crate) fn holes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut end = 0;
        let before = self.live.iter().map(move |live| {
            let hole = (end, live.offset - end);
            end = live.offset + live.size;
            hole
        });
        let end = self.live.last().map_or(0, |live| live.offset + live.size);
        before.chain([(end, self.capacity - end)])
    }

    pub(crate) fn largest_hole(&self) -> u64 {
        self.holes().map(|(_, size)| size).max().unwrap_or(0)
    }
}
