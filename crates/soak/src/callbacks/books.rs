//! A recorder that keeps track of live allocations, and panics now and then.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::{RecordedAllocation, RecordedPlace, RecordedPlacement, Recorder};

use super::{Act, Callbacks, locked};
use crate::wrong::{Checked, wrong};

/// Live allocations and places, as reported to the recorder.
#[derive(Default)]
pub(super) struct Books {
    allocations: HashSet<u64>,
    /// The keys of places.
    places: HashSet<u64>,
    wrong: Option<String>,
}

impl Books {
    fn insist(&mut self, is_right: bool, words: impl FnOnce() -> String) {
        if !is_right {
            self.wrong.get_or_insert_with(words);
        }
    }

    fn place(&mut self, place: &RecordedPlace) {
        let is_new = self.places.insert(place.key);
        self.insist(is_new, || format!("the recorder is told of a place twice: {place:?}"));
    }

    /// Everything was dropped and given back.
    pub(super) fn check(&self) -> Checked {
        match &self.wrong {
            Some(words) => wrong(words.clone()),
            None if self.allocations.is_empty() && self.places.is_empty() => Ok(()),
            None => wrong(format!(
                "the recorder got no drop of allocations {:?}, and no release of places {:?}",
                self.allocations, self.places
            )),
        }
    }
}

/// The recorder.
pub(super) struct Recorded {
    callbacks: Arc<Callbacks>,
    /// Calls per panic. 0: it never panics.
    panics_each: u64,
    calls: AtomicU64,
}

impl Recorded {
    pub(super) fn new(callbacks: &Arc<Callbacks>, panics_each: u64) -> Self {
        let panics_each = if callbacks.is_hostile { panics_each } else { 0 };
        Self { callbacks: callbacks.clone(), panics_each, calls: AtomicU64::new(0) }
    }

    /// Records a call, and may panic.
    fn note(&self, take_down: impl FnOnce(&mut Books)) {
        take_down(&mut locked(&self.callbacks.books));
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.panics_each > 0 && calls.is_multiple_of(self.panics_each) {
            self.callbacks.act(Act::Panic);
        }
    }
}

impl Recorder for Recorded {
    fn allocated(&self, allocation: &RecordedAllocation) {
        self.note(|books| {
            let is_new = books.allocations.insert(allocation.id);
            books.insist(is_new, || format!("the recorder is told of an allocation twice: {allocation:?}"));
        });
    }

    fn placed(&self, placement: &RecordedPlacement<'_>) {
        self.note(|books| books.place(&placement.place));
    }

    fn moved(&self, _: u64, to: &RecordedPlace) {
        self.note(|books| books.place(to));
    }

    fn released(&self, key: u64) {
        self.note(|books| {
            // The manager's own allocations are not reported to the recorder.
            books.places.remove(&key);
        });
    }

    fn freed(&self, id: u64, _: u64) {
        self.note(|books| {
            let was_known = books.allocations.remove(&id);
            books
                .insist(was_known, || format!("the recorder is told twice that allocation {id} was dropped"));
        });
    }

    fn frame_ended(&self, _: u64) {
        self.note(|_| ());
    }
}
