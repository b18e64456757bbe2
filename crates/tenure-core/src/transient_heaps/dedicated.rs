//! Transient resources for which the driver requires dedicated memory.

use std::sync::Arc;

use slab::Slab;

use super::desc_table::{Description, DescriptionId};
use super::heap::Acquired;
use super::object::Object;
use super::request::{Request, Requester, ResourceRequest};
use crate::Error;
use crate::context::Context;
use crate::device::Device;
use crate::memory::policy::PlacementKind;
use crate::memory::{self, AllocationFlags, BlockTraits, MemoryOwner, MemoryUse};

struct Entry<D: Device> {
    description: Arc<Description>,
    object: Object<D>,
    is_in_use: bool,
    /// The newest recording that was open when it was released.
    newest: u64,
    /// The frame in which it was released.
    last_used: u64,
    /// A resource of the same description was recently destroyed for others: the program alternates between them.
    is_in_turn: bool,
}

impl<D: Device> Entry<D> {
    /// Whether a recording may use it; `oldest_other` is the oldest other open recording.
    fn is_free(&self, oldest_other: u64) -> bool {
        !self.is_in_use && (self.newest < oldest_other || self.object.is_idle())
    }
}

/// Committed resources, found by description: they share no bytes, but are reused.
pub(crate) struct Dedicated<D: Device> {
    entries: Slab<Entry<D>>,
    /// The descriptions of resources that were destroyed for others, with the frame of the destruction.
    superseded: Vec<(DescriptionId, u64)>,
}

impl<D: Device> Default for Dedicated<D> {
    fn default() -> Self {
        Self { entries: Slab::new(), superseded: Vec::new() }
    }
}

impl<D: Device> Dedicated<D> {
    /// An unused resource of this description, created if there is none. A creation first destroys resources that this frame
    /// has not used, unless the program alternates between them.
    pub(crate) fn acquire(
        &mut self,
        wanted: &ResourceRequest<'_, D>,
        frame: u64,
    ) -> Result<Acquired<D>, Error> {
        let ResourceRequest { request: Request { context, room, name, .. }, requester, description } =
            *wanted;
        let id = description.id;
        let suits = |entry: &Entry<D>| entry.description.id == id && entry.is_free(requester.oldest_other);
        if let Some((key, entry)) = self.entries.iter_mut().find(|(_, entry)| suits(entry)) {
            entry.is_in_use = true;
            return Ok(Acquired { key, object: entry.object.clone(), is_new: false });
        }
        let is_in_turn = self.superseded.iter().any(|(known, _)| *known == id);
        self.supersede(context, requester, frame);
        let backing = context.place_resource(
            room,
            memory::ResourceRequest {
                desc: &description.desc,
                needs: &description.needs,
                placement: PlacementKind::Committed,
                memory_use: MemoryUse::GpuOnly,
                is_filled: false,
                owner: MemoryOwner::Transient,
                // A thread that holds the lock of the transient heaps must not wait for the GPU.
                flags: AllocationFlags::NEVER_WAIT,
                traits: BlockTraits::default(),
                name,
            },
        )?;
        let object = Object::new(wanted, backing);
        let entry = Entry {
            description: description.clone(),
            object: object.clone(),
            is_in_use: true,
            newest: 0,
            last_used: 0,
            is_in_turn,
        };
        Ok(Acquired { key: self.entries.insert(entry), object, is_new: true })
    }

    /// Destroys the resources that this frame has not used, unless the program alternates between them; resources that the GPU
    /// has finished with are freed at once.
    fn supersede(&mut self, context: &Context<D>, requester: Requester<'_>, frame: u64) {
        let superseded = &mut self.superseded;
        let before = self.entries.len();
        self.entries.retain(|_, entry| {
            let stays =
                entry.is_in_turn || entry.last_used >= frame || !entry.is_free(requester.oldest_other);
            if !stays {
                superseded.push((entry.description.id, frame));
            }
            stays
        });
        if self.entries.len() < before {
            context.reclaim_now();
        }
    }

    /// Releases a resource; recordings up to `newest` may still use it.
    pub(crate) fn release(&mut self, key: usize, newest: u64, frame: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            (entry.is_in_use, entry.newest, entry.last_used) = (false, newest, frame);
        }
    }

    /// Destroys resources that were not acquired for `latency` frames. Returns how many.
    pub(crate) fn evict(&mut self, frame: u64, latency: u64) -> u64 {
        self.superseded.retain(|(_, last)| frame.saturating_sub(*last) < latency);
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.is_in_use || frame.saturating_sub(entry.last_used) < latency);
        (before - self.entries.len()) as u64
    }

    /// The number of resources that are not acquired, and of their views.
    pub(crate) fn unused_objects(&self) -> usize {
        let unused = self.entries.iter().filter(|(_, entry)| !entry.is_in_use);
        unused.map(|(_, entry)| 1 + entry.object.views()).sum()
    }

    /// The number of resources.
    pub(crate) fn len(&self) -> u64 {
        self.entries.len() as u64
    }
}
