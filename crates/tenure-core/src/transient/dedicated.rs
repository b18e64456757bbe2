//! Transient resources for which the driver requires dedicated memory.

use std::sync::Arc;

use slab::Slab;

use super::desc_table::Description;
use super::heap::{Acquired, Requester, object};
use super::object::Object;
use crate::context::Context;
use crate::device::Device;
use crate::memory::policy::Placement;
use crate::memory::{AllocationFlags, BlockTraits, MemoryOwner, MemoryUse, ResourceRequest};
use crate::{Error, Name};

struct Entry<D: Device> {
    description: Arc<Description>,
    object: Object<D>,
    is_in_use: bool,
    /// The newest recording that was open when it was given back.
    newest: u64,
    /// The frame in which it was given back.
    last_used: u64,
}

/// Committed resources, found by description: they share no bytes, but are reused.
pub(super) struct Dedicated<D: Device> {
    entries: Slab<Entry<D>>,
}

impl<D: Device> Default for Dedicated<D> {
    fn default() -> Self {
        Self { entries: Slab::new() }
    }
}

impl<D: Device> Dedicated<D> {
    /// A resource of this description that is not in use, created if there is none.
    pub(super) fn acquire(
        &mut self,
        context: &Arc<Context<D>>,
        requester: Requester<'_>,
        description: &Arc<Description>,
        name: &Name,
    ) -> Result<Acquired<D>, Error> {
        let is_free = |entry: &Entry<D>| {
            entry.description.id == description.id
                && !entry.is_in_use
                && (entry.newest < requester.oldest_other || entry.object.is_idle())
        };
        if let Some((key, entry)) = self.entries.iter_mut().find(|(_, entry)| is_free(entry)) {
            entry.is_in_use = true;
            return Ok(Acquired { key, object: entry.object.clone(), is_new: false });
        }
        let backing = context.place_resource(ResourceRequest {
            desc: &description.desc,
            needs: &description.needs,
            placement: Placement::Committed,
            memory_use: MemoryUse::GpuOnly,
            is_filled: false,
            owner: MemoryOwner::Transient,
            // Whoever holds the lock of the transient heaps does not wait for the GPU.
            flags: AllocationFlags::NEVER_WAIT,
            traits: BlockTraits::default(),
            name,
        })?;
        let object = object(context, description, name, backing);
        let entry = Entry {
            description: description.clone(),
            object: object.clone(),
            is_in_use: true,
            newest: 0,
            last_used: 0,
        };
        Ok(Acquired { key: self.entries.insert(entry), object, is_new: true })
    }

    /// Gives a resource back; recordings up to `newest` may still use it.
    pub(super) fn release(&mut self, key: usize, newest: u64, frame: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            (entry.is_in_use, entry.newest, entry.last_used) = (false, newest, frame);
        }
    }

    /// Destroys resources that were not acquired for `latency` frames. Returns how many.
    pub(super) fn evict(&mut self, frame: u64, latency: u64) -> u64 {
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.is_in_use || frame.saturating_sub(entry.last_used) < latency);
        (before - self.entries.len()) as u64
    }

    /// The number of resources that are not acquired, and of their views.
    pub(super) fn unused_objects(&self) -> usize {
        let unused = self.entries.iter().filter(|(_, entry)| !entry.is_in_use);
        unused.map(|(_, entry)| 1 + entry.object.views()).sum()
    }

    /// The number of resources.
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }
}
