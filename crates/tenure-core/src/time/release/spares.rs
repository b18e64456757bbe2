//! Empty piles, kept for their capacity.

use super::pile::Pile;

/// More than this many are freed.
const MOST: usize = 64;

#[derive(Debug)]
pub(super) struct Spares<T>(Vec<Pile<T>>);

impl<T> Spares<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty pile, with capacity if there is one.
    pub(super) fn take(&mut self) -> Pile<T> {
        self.0.pop().unwrap_or_else(Pile::new)
    }

    /// Keeps an empty pile.
    pub(super) fn put(&mut self, pile: Pile<T>) {
        debug_assert!(pile.is_empty(), "what is in a pile must go somewhere");
        if self.0.len() < MOST {
            self.0.push(pile);
        }
    }
}
