//! Operations of a `Suballocator`, and the check of its contract.

use tenure_suballoc::{AllocError, Allocation, FilledPiece, FreeError, Handle, Suballocator};

use super::ranges::{Live, Ranges};

type Piece = FilledPiece<Allocation>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Allocate {
        size: u64,
        align: u64,
    },
    /// Requests the size of the largest hole, plus a number of bytes.
    AllocateLargest {
        more: i8,
        align: u64,
    },
    /// Frees the live range with this number, modulo their count.
    Free {
        nth: u32,
    },
    /// Frees a range that was freed before.
    FreeAgain {
        nth: u32,
    },
    /// Frees a handle of another allocator of the same kind.
    FreeForeign,
    Fill,
    Clear,
}

/// The contract of one algorithm beyond the common one.
pub(crate) trait Rules {
    type Allocator: Suballocator;

    fn make(&self) -> Self::Allocator;

    /// The managed bytes.
    fn capacity(&self) -> u64;

    /// The minimum and maximum bytes of an allocation for a request.
    fn reserved(&self, size: u64, align: u64) -> (u64, u64);

    /// Whether a request must succeed.
    fn must_serve(&self, live: &Ranges, size: u64, align: u64) -> bool;

    /// Whether no state of the allocator can serve a request.
    fn never_serves(&self, size: u64, align: u64) -> bool;

    /// The required value of `largest_free`.
    fn largest_free(&self, live: &Ranges) -> u64 {
        live.largest_hole()
    }

    /// Whether adjacent free ranges are merged.
    fn merges(&self) -> bool {
        true
    }

    /// The maximum difference between `largest_free` and its lower bound.
    fn floor_slack(&self, largest_free: u64) -> u64;

    /// Anything else.
    fn check(&self, _allocator: &Self::Allocator, _live: &Ranges) {}
}

/// The number of operations between two complete walks.
const VALIDATE_EVERY: usize = 512;

/// Plays the operations, checks each, and returns the results of the allocations.
pub(crate) fn play<R: Rules>(rules: &R, ops: &[Op]) -> Vec<Option<(u64, u64)>> {
    play_long(rules, ops, 1)
}

/// As [`play`]; the whole state is compared only after every `every` operations.
pub(crate) fn play_long<R: Rules>(rules: &R, ops: &[Op], every: usize) -> Vec<Option<(u64, u64)>> {
    let mut player = Player::new(rules);
    for (step, op) in ops.iter().enumerate() {
        player.step(*op);
        if step.is_multiple_of(every) {
            player.check(step.is_multiple_of(VALIDATE_EVERY));
        }
    }
    player.free_all();
    player.results
}

/// All arguments of an allocation.
fn live(allocation: Allocation) -> Live {
    let Allocation { offset, size, padding, handle } = allocation;
    Live { offset: offset - padding, size: size + padding, handle }
}

struct Player<'a, R: Rules> {
    rules: &'a R,
    allocator: R::Allocator,
    live: Ranges,
    freed: Vec<Handle>,
    foreign: Option<Handle>,
    results: Vec<Option<(u64, u64)>>,
}

impl<'a, R: Rules> Player<'a, R> {
    fn new(rules: &'a R) -> Self {
        let allocator = rules.make();
        assert_eq!(allocator.capacity(), rules.capacity());
        let foreign = rules.make().allocate(1, 1).ok().map(|other| other.handle);
        Self {
            rules,
            live: Ranges::new(allocator.capacity()),
            allocator,
            freed: Vec::new(),
            foreign,
            results: Vec::new(),
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Allocate { size, align } => self.allocate(size, align),
            Op::AllocateLargest { more, align } => {
                let largest = self.allocator.largest_free();
                self.allocate(largest.saturating_add_signed(i64::from(more)), align);
            }
            Op::Free { nth } => {
                if self.live.len() > 0 {
                    self.free(nth as usize % self.live.len());
                }
            }
            Op::FreeAgain { nth } => {
                if !self.freed.is_empty() {
                    let handle = self.freed[nth as usize % self.freed.len()];
                    assert_eq!(self.allocator.free(handle), Err(FreeError::DoubleFree));
                    assert_eq!(self.allocator.get(handle), None);
                }
            }
            Op::FreeForeign => {
                if let Some(handle) = self.foreign {
                    assert_eq!(self.allocator.free(handle), Err(FreeError::Foreign));
                    assert_eq!(self.allocator.get(handle), None);
                }
            }
            Op::Fill => self.fill(),
            Op::Clear => {
                self.allocator.clear();
                self.freed.extend(self.live.clear().map(|live| live.handle));
                self.check_old_handles();
            }
        }
    }

    /// Exactly the holes become allocations, for any number of pieces per call.
    fn fill(&mut self) {
        let holes: Vec<_> = self.allocator.holes().collect();
        let before: Vec<_> = self.allocator.allocations().collect();
        let (most, mut pieces) = (1 + holes.len() % 3, Vec::new());
        while !self.allocator.fill(pieces.last().map(|last: &Piece| last.range.handle), most, &mut pieces) {}
        let (fillers, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.was_free);
        assert!(others.into_iter().map(|other| other.range).eq(before));
        let fillers: Vec<_> = fillers.into_iter().map(|filler| filler.range).collect();
        assert!(fillers.iter().map(|filler| filler.offset..filler.offset + filler.size).eq(holes));
        for filler in fillers {
            assert_eq!(self.allocator.get(filler.handle), Some(filler));
            self.live.insert(live(filler));
        }
        assert_eq!(self.allocator.free_bytes(), 0);
    }

    /// Checks that nothing can be done with handles that were freed.
    fn check_old_handles(&mut self) {
        for &handle in &self.freed {
            assert_eq!(self.allocator.get(handle), None);
            assert_eq!(self.allocator.free(handle), Err(FreeError::DoubleFree));
        }
    }

    fn allocate(&mut self, size: u64, align: u64) {
        let sure = self.allocator.largest_free_floor() >= self.allocator.sure_fit(size, align);
        match self.allocator.allocate(size, align) {
            Ok(allocation) => {
                assert!(size > 0 && align.is_power_of_two());
                assert_eq!(allocation.offset % align, 0, "misaligned");
                let (least, most) = self.rules.reserved(size, align);
                let taken = allocation.size + allocation.padding;
                assert!(allocation.size >= least && taken <= most, "{allocation:?} for {size}");
                self.live.insert(live(allocation));
                assert_eq!(self.allocator.get(allocation.handle), Some(allocation));
                self.results.push(Some((allocation.offset, allocation.size)));
            }
            Err(error) => {
                assert!(!sure, "sure_fit promised it");
                self.check_refusal(error, size, align);
                self.results.push(None);
            }
        }
    }

    fn check_refusal(&self, error: AllocError, size: u64, align: u64) {
        match error {
            AllocError::ZeroSize => assert_eq!(size, 0),
            AllocError::BadAlignment { align: named } => {
                assert!(named == align && !align.is_power_of_two());
            }
            AllocError::TooLarge { .. } => assert!(self.rules.never_serves(size, align)),
            AllocError::Full { free_bytes, largest_free, .. } => {
                assert!(!self.rules.never_serves(size, align));
                assert!(!self.rules.must_serve(&self.live, size, align), "refused {size}");
                assert_eq!(free_bytes, self.allocator.free_bytes());
                assert_eq!(largest_free, self.allocator.largest_free_floor());
            }
            other => panic!("unexpected {other:?}"),
        }
    }

    fn free(&mut self, index: usize) {
        let gone = self.live.remove(index);
        let freed = self.allocator.free(gone.handle).unwrap();
        let start = freed.offset - freed.padding;
        assert_eq!((start, freed.size + freed.padding), (gone.offset, gone.size));
        assert_eq!(self.allocator.get(gone.handle), None);
        self.freed.push(gone.handle);
    }

    fn check(&self, walk: bool) {
        let free = self.live.capacity() - self.live.used();
        let largest = self.rules.largest_free(&self.live);
        assert_eq!(self.allocator.free_bytes(), free);
        assert_eq!(self.allocator.largest_free(), largest);
        assert_eq!(self.allocator.is_empty(), self.live.len() == 0);
        let floor = self.allocator.largest_free_floor();
        assert!(floor <= largest && floor >= largest - self.rules.floor_slack(largest));
        let fragmentation = self.allocator.fragmentation();
        let expected = if free == 0 { 0.0 } else { 1.0 - largest as f64 / free as f64 };
        assert!((f64::from(fragmentation) - expected).abs() < 1e-6);
        self.rules.check(&self.allocator, &self.live);
        self.live.check_walks(
            self.allocator.allocations().map(live),
            self.allocator.holes(),
            self.rules.merges(),
        );
        let sizes = self.allocator.holes().map(|hole| hole.end - hole.start);
        assert_eq!(sizes.max().unwrap_or(0), largest);
        if walk {
            let get = |one: Live| self.allocator.get(one.handle).map(live);
            assert!(self.live.iter().all(|one| get(one) == Some(one)));
            self.allocator.validate().unwrap();
        }
    }

    /// Frees everything, from the middle outwards, which must restore the initial range.
    fn free_all(&mut self) {
        while self.live.len() > 0 {
            self.free(self.live.len() / 2);
        }
        self.check(true);
    }
}
