//! How large heaps for graphs are planned, while memory is short and after.

use crate::device::{HeapCategory, MemoryTypeId, Properties};

/// After so many frames a heap as large as before is tried for the first time.
const FIRST_WAIT: u64 = 64;
/// Each trial in vain doubles the wait, up to so many frames.
const LONGEST_WAIT: u64 = 4096;

/// What may share a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapClass {
    pub(super) memory: MemoryTypeId,
    pub(super) category: HeapCategory,
    /// Bytes of the largest heap that the device allows.
    largest: u64,
    shortage: Option<Shortage>,
}

/// A heap was refused for lack of memory.
#[derive(Clone, Copy, Debug)]
struct Shortage {
    /// Heaps are planned no larger than this, in bytes.
    limit: u64,
    /// Frames from one trial of larger ones to the next.
    wait: u64,
    /// The frame of the next trial.
    next_trial: u64,
    /// Heaps are planned without the limit, until one that is larger is had or refused.
    is_trying: bool,
}

impl HeapClass {
    pub(super) const fn new(memory: MemoryTypeId, category: HeapCategory, properties: &Properties) -> Self {
        let granule = if properties.heap_alignment > 0 { properties.heap_alignment } else { 1 };
        let largest = properties.max_heap_size - properties.max_heap_size % granule;
        Self { memory, category, largest, shortage: None }
    }

    /// Bytes of the largest heap that the device allows.
    pub(super) const fn largest(&self) -> u64 {
        self.largest
    }

    /// Heaps are planned no larger than this, in bytes, but for a resource that is larger.
    pub(super) fn preferred(&self) -> u64 {
        let limit = self.shortage.filter(|shortage| !shortage.is_trying).map(|shortage| shortage.limit);
        limit.unwrap_or(self.largest)
    }

    /// There was no room for a larger heap than `limit` bytes.
    pub(super) fn shrink(&mut self, limit: u64, frame: u64) {
        let wait = self.shortage.map_or(FIRST_WAIT, |shortage| shortage.wait);
        self.shortage = Some(Shortage { limit, wait, next_trial: frame + wait, is_trying: false });
    }

    /// True when heaps are planned without a limit from now on that they were planned with so far.
    pub(super) fn begin_trial(&mut self, frame: u64) -> bool {
        let due =
            self.shortage.as_mut().filter(|shortage| !shortage.is_trying && frame >= shortage.next_trial);
        due.map(|shortage| shortage.is_trying = true).is_some()
    }

    /// Whether a heap of that size is a trial: nothing that is in use or kept should go for it.
    pub(super) fn is_trial(&self, size: u64) -> bool {
        self.shortage.is_some_and(|shortage| shortage.is_trying && size > shortage.limit)
    }

    /// A heap of that size is there.
    pub(super) fn note_had(&mut self, size: u64) {
        if self.is_trial(size) {
            self.shortage = None;
        }
    }

    /// A heap of that size was refused. True when it was a trial: the limit holds again.
    pub(super) fn note_refused(&mut self, size: u64, frame: u64) -> bool {
        let is_trial = self.is_trial(size);
        if let Some(shortage) = self.shortage.as_mut().filter(|_| is_trial) {
            shortage.is_trying = false;
            shortage.wait = (shortage.wait * 2).min(LONGEST_WAIT);
            shortage.next_trial = frame + shortage.wait;
        }
        is_trial
    }

    /// Much may have been given back: larger heaps are tried as soon as they are wanted.
    pub(super) fn hope(&mut self) {
        if let Some(shortage) = &mut self.shortage {
            (shortage.wait, shortage.next_trial) = (FIRST_WAIT, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_WAIT, HeapClass, LONGEST_WAIT};
    use crate::device::{HeapCategory, MemoryTypeId};

    const LARGEST: u64 = 1000;

    fn class() -> HeapClass {
        HeapClass { memory: MemoryTypeId(0), category: HeapCategory::Any, largest: LARGEST, shortage: None }
    }

    #[test]
    fn a_limit_lasts_until_a_larger_heap_is_had() {
        let mut class = class();
        assert!(!class.begin_trial(u64::MAX));
        class.shrink(100, 7);
        assert_eq!((class.preferred(), class.largest()), (100, LARGEST));
        assert!(!class.begin_trial(7 + FIRST_WAIT - 1));
        assert!(class.begin_trial(7 + FIRST_WAIT) && !class.begin_trial(7 + FIRST_WAIT));
        assert_eq!(class.preferred(), LARGEST);
        // One that is no larger tells nothing.
        assert!(!class.is_trial(100) && class.is_trial(101));
        class.note_had(100);
        assert!(class.is_trial(101));
        class.note_had(101);
        assert_eq!((class.preferred(), class.begin_trial(u64::MAX)), (LARGEST, false));
    }

    #[test]
    fn trials_in_vain_become_rare_but_never_end() {
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
        class.hope();
        assert!(class.begin_trial(frame));
    }
}
