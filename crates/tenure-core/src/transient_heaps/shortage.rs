//! Classes of heaps for graphs: their maximum planned size during a shortage, the time of the next larger trial, and whether
//! graphs share them.

use super::heap::HeapKind;
use crate::device::Properties;

/// The number of frames before the first trial of a heap of the earlier size.
const FIRST_WAIT: u64 = 64;
/// The number of frames for which graphs count as running at the same time after two did.
const SHARED_FOR: u64 = 64;
/// Each failed trial doubles the wait, up to this number of frames.
const LONGEST_WAIT: u64 = 4096;

/// Resources of one class may share a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapClass {
    pub(crate) kind: HeapKind,
    /// Bytes of the largest heap that the device allows.
    largest: u64,
    shortage: Option<Shortage>,
    /// The last frame in which a graph needed a heap that another one used at the same time.
    shared: Option<u64>,
    /// The last frame in which a larger heap replaced others.
    grown: Option<u64>,
}

/// A refusal of a heap for lack of memory.
#[derive(Clone, Copy, Debug)]
struct Shortage {
    /// Maximum planned size of heaps, in bytes.
    limit: u64,
    /// Frames between trials of larger heaps.
    wait: u64,
    /// The frame of the next trial.
    next_trial: u64,
    /// Heaps are planned without the limit, until the driver grants or refuses a larger one.
    is_trial_running: bool,
}

impl HeapClass {
    pub(crate) const fn new(kind: HeapKind, properties: &Properties) -> Self {
        let granule = if properties.heap_alignment > 0 { properties.heap_alignment } else { 1 };
        let largest = properties.max_heap_size - properties.max_heap_size % granule;
        Self { kind, largest, shortage: None, shared: None, grown: None }
    }

    /// Bytes of the largest heap that the device allows.
    pub(crate) const fn largest(&self) -> u64 {
        self.largest
    }

    /// Maximum planned size of heaps in bytes, except for a larger single resource.
    pub(crate) fn preferred(&self) -> u64 {
        let limit =
            self.shortage.filter(|shortage| !shortage.is_trial_running).map(|shortage| shortage.limit);
        limit.unwrap_or(self.largest)
    }

    /// Notes that the driver had no memory for a heap larger than `limit` bytes.
    pub(crate) fn shrink(&mut self, limit: u64, frame: u64) {
        let wait = self.shortage.map_or(FIRST_WAIT, |shortage| shortage.wait);
        self.shortage = Some(Shortage { limit, wait, next_trial: frame + wait, is_trial_running: false });
    }

    /// Begins a trial if one is due: heaps are planned without the limit from now on. True if it began.
    pub(crate) fn begin_trial(&mut self, frame: u64) -> bool {
        let due = self
            .shortage
            .as_mut()
            .filter(|shortage| !shortage.is_trial_running && frame >= shortage.next_trial);
        due.map(|shortage| shortage.is_trial_running = true).is_some()
    }

    /// Whether a heap of that size is a trial: no memory should be freed for it.
    pub(crate) fn is_trial(&self, size: u64) -> bool {
        self.shortage.is_some_and(|shortage| shortage.is_trial_running && size > shortage.limit)
    }

    /// Notes that a heap of that size exists.
    pub(crate) fn note_granted(&mut self, size: u64) {
        if self.is_trial(size) {
            self.shortage = None;
        }
    }

    /// Notes that a heap of that size was refused. True when it was a trial: the limit holds again.
    pub(crate) fn note_refused(&mut self, size: u64, frame: u64) -> bool {
        let is_trial = self.is_trial(size);
        if let Some(shortage) = self.shortage.as_mut().filter(|_| is_trial) {
            shortage.is_trial_running = false;
            shortage.wait = (shortage.wait * 2).min(LONGEST_WAIT);
            shortage.next_trial = frame + shortage.wait;
        }
        is_trial
    }

    /// Records that a graph needs a heap that another one uses at the same time.
    pub(crate) fn note_shared(&mut self, frame: u64) {
        self.shared = Some(frame);
    }

    /// Whether graphs need these heaps at the same time.
    pub(crate) fn is_shared(&self, frame: u64) -> bool {
        self.shared.is_some_and(|last| frame.saturating_sub(last) <= SHARED_FOR)
    }

    /// Notes that a larger heap replaces others. True if that also happened in the last `latency` frames.
    pub(crate) fn note_growth(&mut self, frame: u64, latency: u64) -> bool {
        let last = self.grown.replace(frame);
        last.is_some_and(|last| frame.saturating_sub(last) <= latency)
    }

    /// Allows a trial at the next request for a larger heap, because memory may have been freed.
    pub(crate) fn retry_soon(&mut self) {
        if let Some(shortage) = &mut self.shortage {
            (shortage.wait, shortage.next_trial) = (FIRST_WAIT, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_WAIT, HeapClass, LONGEST_WAIT};
    use crate::device::{HeapCategory, MemoryTypeId};
    use crate::transient_heaps::desc_table::Tenants;
    use crate::transient_heaps::heap::{HeapKind, Road};

    const LARGEST: u64 = 1000;

    fn class() -> HeapClass {
        let tenants = Tenants { category: HeapCategory::Any, are_structures: false };
        let kind = HeapKind { road: Road::Graph, memory: MemoryTypeId(0), tenants };
        HeapClass { kind, largest: LARGEST, shortage: None, shared: None, grown: None }
    }

    #[test]
    fn a_limit_lasts_until_a_larger_heap_is_granted() {
        let mut class = class();
        assert!(!class.begin_trial(u64::MAX));
        class.shrink(100, 7);
        assert_eq!((class.preferred(), class.largest()), (100, LARGEST));
        assert!(!class.begin_trial(7 + FIRST_WAIT - 1));
        assert!(class.begin_trial(7 + FIRST_WAIT) && !class.begin_trial(7 + FIRST_WAIT));
        assert_eq!(class.preferred(), LARGEST);
        // A heap within the limit is no trial.
        assert!(!class.is_trial(100) && class.is_trial(101));
        class.note_granted(100);
        assert!(class.is_trial(101));
        class.note_granted(101);
        assert_eq!((class.preferred(), class.begin_trial(u64::MAX)), (LARGEST, false));
    }

    #[test]
    fn failed_trials_become_rare_but_never_end() {
        let mut class = class();
        class.shrink(100, 0);
        let (mut frame, mut waits) = (0, Vec::new());
        while waits.len() < 10 {
            let begun = frame;
            while !class.begin_trial(frame) {
                frame += 1;
            }
            waits.push(frame - begun);
            assert!(!class.note_refused(100, frame) && class.note_refused(200, frame));
            assert_eq!(class.preferred(), 100);
        }
        assert_eq!((waits[0], waits[1]), (FIRST_WAIT, 2 * FIRST_WAIT));
        assert_eq!((waits[8], waits[9]), (LONGEST_WAIT, LONGEST_WAIT));
        class.retry_soon();
        assert!(class.begin_trial(frame));
    }
}
