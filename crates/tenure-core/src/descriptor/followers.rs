//! Descriptors that follow movable resources to their new places: views, and the tables and sets of views.

use std::collections::hash_map::Entry;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::movable_slot::MovableSlot;
use super::service::DescriptorService;
use super::set::MovableSet;
use super::table::MovableRow;
use crate::device::Device;
use crate::memory::{ApiPlace, MakeRoom, MovableBacking, MovableId};

/// A view, table or set of a movable resource.
///
/// During a move no other thread reads it: readers hold the resource, or have pinned it.
pub(crate) enum Follower<D: Device> {
    View(Arc<MovableSlot<D>>),
    Table(Arc<MovableRow<D>>),
    Set(Arc<MovableSet<D>>),
}

impl<D: Device> Follower<D> {
    /// Makes the descriptor of a view for the new place of its resource. False on failure.
    pub(crate) fn follow(&self, room: &dyn MakeRoom, to: &ApiPlace<D>) -> bool {
        match self {
            Self::View(view) => view.follow(room, to),
            Self::Table(_) | Self::Set(_) => true,
        }
    }

    /// Makes the new version of a table or a set of views. Called after the new descriptors of all views were
    /// made, possibly more than once. False on failure.
    pub(crate) fn follow_views(&self, room: &dyn MakeRoom) -> bool {
        match self {
            Self::View(_) => true,
            Self::Table(table) => table.follow(room),
            Self::Set(set) => set.follow(room),
        }
    }

    /// Switches to the new version, after the resource has moved. May be called more than once.
    pub(crate) fn finish(&self) {
        match self {
            Self::View(view) => view.slot.finish(),
            Self::Table(table) => table.range.finish(),
            Self::Set(set) => set.set.finish(),
        }
    }

    /// Discards the new version, because the resource stays in place. May be called more than once.
    pub(crate) fn cancel(&self) {
        match self {
            Self::View(view) => view.slot.cancel(),
            Self::Table(table) => table.range.cancel(),
            Self::Set(set) => set.set.cancel(),
        }
    }

    /// Releases the unneeded version; other threads may continue then. May be called more than once.
    pub(crate) fn settle(&self) {
        match self {
            Self::View(view) => view.settle(),
            Self::Table(table) => table.settle(),
            Self::Set(set) => set.settle(),
        }
    }
}

/// A weak reference to a follower.
pub(super) enum WeakFollower<D: Device> {
    View(Weak<MovableSlot<D>>),
    Table(Weak<MovableRow<D>>),
    Set(Weak<MovableSet<D>>),
}

impl<D: Device> WeakFollower<D> {
    fn upgrade(&self) -> Option<Follower<D>> {
        match self {
            Self::View(view) => view.upgrade().map(Follower::View),
            Self::Table(table) => table.upgrade().map(Follower::Table),
            Self::Set(set) => set.upgrade().map(Follower::Set),
        }
    }

    fn is_alive(&self) -> bool {
        let count = match self {
            Self::View(view) => view.strong_count(),
            Self::Table(table) => table.strong_count(),
            Self::Set(set) => set.strong_count(),
        };
        count > 0
    }
}

/// The followers of each movable resource.
pub(super) struct Followers<D: Device>(Mutex<FxHashMap<MovableId, OfResource<D>>>);

struct OfResource<D: Device> {
    followers: Vec<WeakFollower<D>>,
    /// An upper bound of the followers dropped since the last cleanup.
    gone: usize,
}

impl<D: Device> Default for Followers<D> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<D: Device> Followers<D> {
    /// Adds a follower of a resource. The caller holds the resource.
    pub(super) fn add(&self, movable: &MovableBacking<D>, follower: WeakFollower<D>) {
        let mut all = self.0.lock();
        let known = all.entry(movable.id).or_insert_with(|| OfResource { followers: Vec::new(), gone: 0 });
        known.followers.push(follower);
    }

    /// Notes that a follower of a resource was dropped. Amortized O(1).
    pub(super) fn note_gone(&self, movable: &MovableBacking<D>) {
        let mut all = self.0.lock();
        let Entry::Occupied(mut known) = all.entry(movable.id) else { return };
        let OfResource { followers, gone } = known.get_mut();
        *gone += 1;
        if *gone * 2 >= followers.len() {
            followers.retain(WeakFollower::is_alive);
            *gone = 0;
            if followers.is_empty() {
                known.remove();
            }
        }
    }
}

impl<D: Device> DescriptorService<D> {
    /// The followers of a resource.
    pub(crate) fn followers_of(&self, movable: &MovableBacking<D>) -> Vec<Follower<D>> {
        let all = self.followers.0.lock();
        let known = all.get(&movable.id).into_iter();
        known.flat_map(|known| known.followers.iter().filter_map(WeakFollower::upgrade)).collect()
    }

    /// Whether a resource has followers.
    pub(crate) fn has_followers(&self, movable: &MovableBacking<D>) -> bool {
        let all = self.followers.0.lock();
        all.get(&movable.id).is_some_and(|known| known.followers.iter().any(WeakFollower::is_alive))
    }
}
