//! The layouts of descriptor sets that there are.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use slab::Slab;

use super::set_layout::Form;
use crate::device::Device;

/// All layouts, by number.
pub(super) struct Forms<D: Device>(Mutex<Slab<Weak<Form<D>>>>);

impl<D: Device> Default for Forms<D> {
    fn default() -> Self {
        Self(Mutex::new(Slab::new()))
    }
}

impl<D: Device> Forms<D> {
    /// Takes in a layout, which is made with its number.
    pub(super) fn insert(&self, make: impl FnOnce(usize) -> Form<D>) -> Arc<Form<D>> {
        let mut forms = self.0.lock();
        let place = forms.vacant_entry();
        let form = Arc::new(make(place.key()));
        place.insert(Arc::downgrade(&form));
        form
    }

    /// A layout is destroyed, and its number free.
    pub(super) fn remove(&self, id: usize) {
        self.0.lock().try_remove(id);
    }

    /// Visits those that there are.
    pub(super) fn each(&self, visit: impl FnMut(Arc<Form<D>>)) {
        self.0.lock().iter().filter_map(|(_, form)| form.upgrade()).for_each(visit);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }
}
