//! The uses of resources in a recording.

use super::StateCell;
use super::part_use::PartUse;
use crate::device::{QueueKind, State, StateModel, Subresource};

/// One resource in a recording.
#[derive(Clone, Debug)]
pub(super) struct Entry<H> {
    pub(super) resource: H,
    /// The use of all subresources, unless `split`.
    pub(super) whole: PartUse,
    pub(super) split: bool,
    /// Index of the subresources' separate uses, once they were needed.
    pub(super) parts: Option<usize>,
    /// Number of subresources with a pending barrier.
    pub(super) pending: usize,
    /// The last group with an unordered barrier on this resource; 0: none.
    pub(super) barrier: u32,
    /// The states after the last aliasing barrier for this resource, if there is one.
    pub(super) led: Option<State>,
}

impl<H: AsRef<StateCell>> Entry<H> {
    pub(super) fn cell(&self) -> &StateCell {
        self.resource.as_ref()
    }

    /// The separate uses of the subresources; `None` for one common use.
    pub(super) fn parts<'a>(&self, spill: &'a [PartUse]) -> Option<&'a [PartUse]> {
        let start = self.parts.filter(|_| self.split)?;
        spill.get(start..start + self.cell().count())
    }
}

/// A closed recording: the first and the last state of each subresource in use.
///
/// May be [`resolve`](super::resolve)d any number of times, once for each submission; only once with activations. Holds a
/// handle of every resource it uses, and of the previous owners of activated memory.
#[derive(Clone, Debug)]
pub struct Recorded<H> {
    pub(super) entries: Vec<Entry<H>>,
    pub(super) spill: Vec<PartUse>,
    /// The previous owners of activated memory, whose uses on other queues are waited for.
    pub(super) previous_owners: Vec<H>,
    pub(super) model: StateModel,
    pub(super) kind: QueueKind,
    /// See [`Tracker::set_publishing`](super::Tracker::set_publishing).
    pub(super) is_publishing: bool,
}

/// The use of one subresource, or of all, in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedUse<'a, H> {
    /// The resource.
    pub resource: &'a H,
    /// The part of it.
    pub subresource: Subresource,
    /// The required state before the recording.
    pub first: State,
    /// The state after the recording.
    pub last: State,
}

impl<H: AsRef<StateCell>> Recorded<H> {
    /// The kind of queue it was recorded for.
    #[must_use]
    pub const fn queue_kind(&self) -> QueueKind {
        self.kind
    }

    /// True when no resource is used or activated.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every resource used, in the order of first use, with its subresources in index order.
    pub fn uses(&self) -> impl Iterator<Item = RecordedUse<'_, H>> {
        self.entries.iter().flat_map(move |entry| {
            let parts = entry.parts(&self.spill).unwrap_or(std::slice::from_ref(&entry.whole));
            let whole = !entry.split;
            let name = move |index| if whole { Subresource::All } else { Subresource::One(index) };
            (0..).zip(parts).filter(|(_, part)| part.now.used).map(move |(index, part)| RecordedUse {
                resource: &entry.resource,
                subresource: name(index),
                first: part.now.first,
                last: part.now.current,
            })
        })
    }

    /// Every resource used, and whether the recording only reads it, without a change of its state or its owner.
    #[doc(hidden)]
    pub fn resources(&self) -> impl Iterator<Item = (&H, bool)> {
        let is_read = |part: &PartUse| {
            let uses = &part.now;
            !uses.used || !(uses.changes() || uses.fresh || uses.overwrites)
        };
        self.entries.iter().map(move |entry| {
            let parts = entry.parts(&self.spill).unwrap_or(std::slice::from_ref(&entry.whole));
            (&entry.resource, parts.iter().all(is_read))
        })
    }

    /// The rules for one of its resources.
    pub(super) fn rules(&self, cell: &StateCell) -> super::rules::Rules {
        super::rules::Rules::of(self.model, cell, self.kind)
    }
}
