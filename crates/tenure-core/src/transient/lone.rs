//! Transient resources with memory of their own, because the driver insists.

use std::sync::Arc;

use slab::Slab;

use super::heap::{Acquired, Taker, object};
use super::kind::Kind;
use super::object::Object;
use crate::device::Device;
use crate::gpu::Shared;
use crate::memory::policy::Placement;
use crate::memory::{MemoryOwner, MemoryUse, ResourceRequest};
use crate::{Error, Name};

struct Entry<D: Device> {
    kind: Arc<Kind>,
    object: Object<D>,
    is_in_use: bool,
    /// The newest recording that was open when it was given back.
    newest: u64,
    /// The frame of that.
    last_used: u64,
}

/// Committed resources, by description: what can share no bytes can at least be used again.
pub(super) struct Lone<D: Device> {
    entries: Slab<Entry<D>>,
}

impl<D: Device> Default for Lone<D> {
    fn default() -> Self {
        Self { entries: Slab::new() }
    }
}

impl<D: Device> Lone<D> {
    /// A resource of this description that nobody uses, made if there is none.
    pub(super) fn acquire(
        &mut self,
        shared: &Arc<Shared<D>>,
        taker: Taker,
        kind: &Arc<Kind>,
        name: &Name,
    ) -> Result<Acquired<D>, Error> {
        let is_free =
            |entry: &Entry<D>| entry.kind.id == kind.id && !entry.is_in_use && entry.newest < taker.others;
        if let Some((key, entry)) = self.entries.iter_mut().find(|(_, entry)| is_free(entry)) {
            entry.is_in_use = true;
            return Ok(Acquired { key, object: entry.object.clone(), is_new: false });
        }
        let home = shared.place_resource(ResourceRequest {
            desc: &kind.desc,
            needs: &kind.needs,
            placement: Placement::Committed,
            memory_use: MemoryUse::GpuOnly,
            owner: MemoryOwner::Transient,
            name,
        })?;
        let object = object(shared, kind, name, home);
        let entry =
            Entry { kind: kind.clone(), object: object.clone(), is_in_use: true, newest: 0, last_used: 0 };
        Ok(Acquired { key: self.entries.insert(entry), object, is_new: true })
    }

    /// Gives one back; recordings up to `newest` may still use it.
    pub(super) fn release(&mut self, key: usize, newest: u64, frame: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            (entry.is_in_use, entry.newest, entry.last_used) = (false, newest, frame);
        }
    }

    /// Lets go of what was not wanted for `latency` frames. Returns how many.
    pub(super) fn evict(&mut self, frame: u64, latency: u64) -> u64 {
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.is_in_use || frame.saturating_sub(entry.last_used) < latency);
        (before - self.entries.len()) as u64
    }

    /// Those that nobody has acquired, and the views of them.
    pub(super) fn unused_objects(&self) -> usize {
        let unused = self.entries.iter().filter(|(_, entry)| !entry.is_in_use);
        unused.map(|(_, entry)| 1 + entry.object.views()).sum()
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }
}
