//! The barriers returned by a flush.

use super::recorded::Entry;
use super::{StateBarrier, StateCell};
use crate::device::{QueueKind, State, Subresource};

/// A barrier, by the index of its resource's entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ready {
    Transition {
        entry: usize,
        subresource: Subresource,
        /// The states before and after, and whether the contents are discarded in between.
        states: (State, State, bool),
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
    kind: QueueKind,
}

impl<'a, H> Flush<'a, H> {
    pub(super) fn new(
        (entries, previous_owners): (&'a [Entry<H>], &'a [H]),
        ready: &'a [Ready],
        kind: QueueKind,
    ) -> Self {
        Self { entries, previous_owners, ready: ready.iter(), kind }
    }
}

impl<'a, H: AsRef<StateCell>> Iterator for Flush<'a, H> {
    type Item = StateBarrier<&'a H>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let ready = self.ready.next()?;
        let resource = &self.entries.get(ready.entry())?.resource;
        Some(match *ready {
            Ready::Transition { subresource, states: (before, after, discards), .. } => {
                let discarded_in = || resource.as_ref().discarded_in(self.kind);
                match if discards { discarded_in() } else { None } {
                    Some(discarded_in) => {
                        StateBarrier::Initialize { resource, subresource, before, discarded_in, after }
                    }
                    None => StateBarrier::Transition { resource, subresource, before, after, transfer: None },
                }
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

impl<H: AsRef<StateCell>> ExactSizeIterator for Flush<'_, H> {}
