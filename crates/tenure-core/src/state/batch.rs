//! The barriers that a flush hands out.

use super::StateBarrier;
use super::recorded::Entry;
use crate::device::{State, Subresource};

/// A barrier, by the number of its resource's entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ready {
    Transition {
        entry: usize,
        subresource: Subresource,
        before: State,
        after: State,
    },
    Unordered {
        entry: usize,
    },
    /// `before` is the index of a previous owner.
    Aliasing {
        entry: usize,
        before: Option<usize>,
        from: State,
        to: State,
    },
}

impl Ready {
    pub(super) const fn entry(&self) -> usize {
        match self {
            Self::Transition { entry, .. } | Self::Unordered { entry } | Self::Aliasing { entry, .. } => {
                *entry
            }
        }
    }
}

/// The barriers to record before the next command; see [`Tracker::flush`](super::Tracker::flush).
#[derive(Debug)]
pub struct Flush<'a, H> {
    entries: &'a [Entry<H>],
    previous_owners: &'a [H],
    ready: std::slice::Iter<'a, Ready>,
}

impl<'a, H> Flush<'a, H> {
    pub(super) fn new(entries: &'a [Entry<H>], previous_owners: &'a [H], ready: &'a [Ready]) -> Self {
        Self { entries, previous_owners, ready: ready.iter() }
    }
}

impl<'a, H> Iterator for Flush<'a, H> {
    type Item = StateBarrier<&'a H>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let ready = self.ready.next()?;
        let resource = &self.entries.get(ready.entry())?.resource;
        Some(match *ready {
            Ready::Transition { subresource, before, after, .. } => {
                StateBarrier::Transition { resource, subresource, before, after, transfer: None }
            }
            Ready::Unordered { .. } => StateBarrier::Unordered { resource },
            Ready::Aliasing { before, from, to, .. } => {
                let before = before.and_then(|previous_owner| self.previous_owners.get(previous_owner));
                StateBarrier::Aliasing { before, resource, from, to }
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ready.size_hint()
    }
}

impl<H> ExactSizeIterator for Flush<'_, H> {}
