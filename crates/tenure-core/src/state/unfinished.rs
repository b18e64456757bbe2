//! Transfers between queue families of which only the first half was submitted.

use super::fixups::Waits;
use super::recorded::Entry;
use super::{Elsewhere, Recorded, StateBarrier, StateCell};
use crate::device::QueueSerial;

/// The second halves of transfers that a recording has to find made: what it uses was released by
/// one queue, and the submission by which another would have acquired it was refused.
///
/// Before [`resolve`](super::resolve), and under the same lock: for each, wait for its waits, submit
/// its barriers to its queue, and call [`Elsewhere::acquired`]. What takes over other resources' bytes
/// needs none: its contents are undefined.
///
/// O(resources of the recording). Allocates only where there are any; there are none as long as
/// [`Fixups::has_released`](super::Fixups::has_released) is false.
#[must_use]
pub fn unfinished<H: Clone + AsRef<StateCell>>(recorded: &Recorded<H>) -> Vec<Elsewhere<H>> {
    let mut all: Vec<Elsewhere<H>> = Vec::new();
    for entry in recorded.entries.iter().filter(|entry| entry.uses_contents(recorded)) {
        let submitted = entry.cell().lock();
        for released in &submitted.released {
            let queue = released.transfer.to;
            let found = all.iter().position(|other| other.queue == queue);
            let index = found.unwrap_or(all.len());
            if found.is_none() {
                all.push(Elsewhere { queue, waits: Waits::default(), barriers: Vec::new() });
            }
            let Some(other) = all.get_mut(index) else { continue };
            other.waits.add(&submitted.uses, queue);
            other.barriers.push(StateBarrier::Transition {
                resource: entry.resource.clone(),
                subresource: released.subresource,
                before: released.before,
                after: released.after,
                transfer: Some(released.transfer),
            });
        }
    }
    all
}

impl<H: AsRef<StateCell>> Entry<H> {
    /// True when the recording needs what is in the resource before it.
    pub(super) fn uses_contents(&self, recorded: &Recorded<H>) -> bool {
        let uses = self.parts(&recorded.spill).unwrap_or(std::slice::from_ref(&self.whole));
        uses.iter().any(|part| part.now.used && !part.now.fresh)
    }
}

impl<H: AsRef<StateCell>> Elsewhere<H> {
    /// Notes that these barriers, from [`unfinished`], are submitted.
    pub fn acquired(&self, at: QueueSerial) {
        for barrier in &self.barriers {
            if let StateBarrier::Transition { resource, subresource, after, .. } = barrier {
                resource.as_ref().note_acquired(*subresource, *after, at);
            }
        }
    }
}
