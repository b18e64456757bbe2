//! Empty piles, kept for their capacity.

use super::inbox::LANES;
use super::pile::Pile;

/// More than this many are freed.
const MOST: usize = 64;

/// Each lane's piles are its own: filled by another thread, their memory would go from one processor's cache
/// to the other's with each purge.
#[derive(Debug)]
pub(super) struct Spares<T> {
    of_lanes: [Vec<Pile<T>>; LANES],
    others: Vec<Pile<T>>,
    count: usize,
}

impl<T> Spares<T> {
    pub(super) fn new() -> Self {
        Self { of_lanes: std::array::from_fn(|_| Vec::new()), others: Vec::new(), count: 0 }
    }

    /// An empty pile, with capacity if there is one.
    pub(super) fn take(&mut self) -> Pile<T> {
        let spare = self.others.pop();
        self.count -= usize::from(spare.is_some());
        spare.unwrap_or_else(Pile::new)
    }

    /// An empty pile for a lane, with capacity if there is one.
    pub(super) fn take_for(&mut self, lane: usize) -> Pile<T> {
        let spare = self.of_lanes[lane].pop().or_else(|| self.others.pop());
        self.count -= usize::from(spare.is_some());
        spare.map_or_else(|| Pile::of_lane(lane), |pile| pile.into_lane(lane))
    }

    /// Keeps an empty pile.
    pub(super) fn put(&mut self, pile: Pile<T>) {
        debug_assert!(pile.is_empty(), "what is in a pile must go somewhere");
        if self.count < MOST {
            self.count += 1;
            match pile.lane() {
                Some(lane) => self.of_lanes[lane].push(pile),
                None => self.others.push(pile),
            }
        }
    }
}
