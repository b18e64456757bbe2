//! Resources that recordings bind through sets and tables without declaring a use: detected in debug
//! builds.

use std::cell::RefCell;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::Name;
use crate::state::StateCell;

/// Maximum number of reports that are stored and logged.
const MOST: usize = 1 << 12;

/// A resource bound by a recording.
struct BoundResource {
    /// The set or table: the key of its registry entry, and its name; `None` for one made for the
    /// recording.
    container: Option<(u64, Name)>,
    /// The id of the state cell.
    cell: u64,
    name: Name,
}

/// The resources bound by a recording. Empty unless the configuration enables the reports.
#[derive(Default)]
pub(crate) struct BoundResources {
    resources: RefCell<Vec<BoundResource>>,
    /// The keys of the sets and tables whose resources were noted.
    containers: RefCell<FxHashSet<u64>>,
}

impl BoundResources {
    /// True when the recording binds a set or a table for the first time: its resources are noted once.
    pub(crate) fn is_first(&self, container: u64) -> bool {
        self.containers.borrow_mut().insert(container)
    }

    /// Notes that a recording has bound a resource.
    pub(crate) fn note(&self, container: Option<(u64, &Name)>, cell: &StateCell, name: &Name) {
        let container = container.map(|(key, name)| (key, name.clone()));
        self.resources.borrow_mut().push(BoundResource { container, cell: cell.id(), name: name.clone() });
    }
}

/// The reports of a manager so far.
#[derive(Default)]
pub(crate) struct UnnamedUses(Mutex<FxHashSet<(u64, u64)>>);

impl UnnamedUses {
    /// The number of reports.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().len() as u64
    }

    /// Logs the resources that a recording has bound without declaring a use: once for each resource and
    /// set.
    #[cold]
    fn report(&self, recording: &Name, bound: &[BoundResource], named: &FxHashSet<u64>) {
        let mut reported = self.0.lock();
        let is_new = |bound: &&BoundResource| {
            let key = bound.container.as_ref().map_or(0, |(key, _)| *key);
            !named.contains(&bound.cell) && reported.len() < MOST && reported.insert((key, bound.cell))
        };
        let new: Vec<_> = bound.iter().filter(is_new).collect();
        // The program's subscriber may call the manager.
        drop(reported);
        for BoundResource { container, name: resource, .. } in new {
            let set = container.as_ref().map_or(recording, |(_, name)| name);
            event!(warn, %resource, %set, %recording, "a resource is bound and not named: name it by use_set, use_table, use_binds or use_resource, or make it read-only");
        }
    }

    /// Compares the bound resources of a recording with its declared uses.
    #[inline]
    pub(crate) fn check<'a>(
        &self,
        recording: &Name,
        bound: BoundResources,
        named: impl Iterator<Item = &'a StateCell>,
    ) {
        let bound = bound.resources.into_inner();
        if !bound.is_empty() {
            self.report(recording, &bound, &named.map(StateCell::id).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BoundResources;

    /// A pass over a large table for each of its draws would take most of a frame.
    #[test]
    fn a_container_is_looked_through_once_in_a_recording() {
        let bound = BoundResources::default();
        assert_eq!([1, 2, 1, 2].map(|key| bound.is_first(key)), [true, true, false, false]);
    }
}
