//! Budgets of the memory heaps, queried rarely and corrected by the allocations and frees since.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_heap::{HeapBudget, HeapProperties};

use crate::device::{Device, MemoryTypeId};

/// The budgets of all memory heaps. No API has more than 16 heaps.
pub type HeapBudgets = SmallVec<[HeapBudget; 16]>;

/// Bytes of one memory heap that tenure has allocated.
#[derive(Debug, Default)]
struct HeapCount {
    ours: AtomicU64,
    /// The part of `ours` that is being freed: the driver may already have it.
    leaving: AtomicU64,
}

/// The reported budget and usage of one memory heap.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    reported: HeapBudget,
    /// The part of [`HeapCount::ours`] that is certainly included in the reported usage.
    ours: u64,
}

/// The last reported budgets and usages, for all heaps.
#[derive(Debug, Default)]
struct Answers {
    /// Empty before the first report.
    heaps: Vec<Answer>,
    /// The frame of the query.
    frame: u64,
    /// Whether the operating system has announced a change since.
    is_outdated: bool,
}

/// The budget of each memory heap from the operating system.
///
/// The budgets are queried at most once per frame, because some drivers take milliseconds for a query, and once
/// more after the operating system announces a change. Between two queries the usage is updated with the
/// manager's own allocations and frees; memory of other programs is not included. Before the end of the first
/// frame, every call queries.
///
/// If threads allocate during a query, the usage is overestimated rather than underestimated.
#[derive(Debug)]
pub struct Budgets {
    /// The index of the heap of each memory type.
    heap_of_type: Box<[u8]>,
    heaps: Box<[HeapCount]>,
    /// Frames ended so far.
    frame: AtomicU64,
    /// Budget changes announced by the operating system.
    changes: AtomicU64,
    /// Number of changes of the values that [`known`](Self::known) and [`nearer`](Self::nearer) return.
    revision: AtomicU64,
    answers: Mutex<Answers>,
    /// Held by the querying thread. While it is held, only the short lock above may be taken.
    asking: Mutex<()>,
}

impl Budgets {
    pub fn new(heaps: &HeapProperties) -> Self {
        Self {
            heap_of_type: heaps.memory_types.iter().map(|found| found.heap).collect(),
            heaps: heaps.memory_heaps.iter().map(|_| HeapCount::default()).collect(),
            frame: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            revision: AtomicU64::new(0),
            answers: Mutex::default(),
            asking: Mutex::new(()),
        }
    }

    /// The index of the heap of a memory type.
    pub fn heap_index(&self, memory: MemoryTypeId) -> Option<usize> {
        self.heap_of_type.get(usize::from(memory.0)).map(|heap| usize::from(*heap))
    }

    fn heap(&self, memory: MemoryTypeId) -> Option<&HeapCount> {
        self.heaps.get(usize::from(*self.heap_of_type.get(usize::from(memory.0))?))
    }

    /// Counts memory allocated from the driver.
    pub fn note_allocation(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some(heap) = self.heap(memory) {
            heap.ours.fetch_add(bytes, Ordering::AcqRel);
            self.note_revision();
        }
    }

    /// Counts memory that is about to be freed.
    pub fn begin_release(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some(heap) = self.heap(memory) {
            heap.leaving.fetch_add(bytes, Ordering::AcqRel);
        }
    }

    /// Counts freed memory.
    pub fn end_release(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some(heap) = self.heap(memory) {
            heap.ours.fetch_sub(bytes, Ordering::AcqRel);
            heap.leaving.fetch_sub(bytes, Ordering::AcqRel);
            self.note_revision();
        }
    }

    /// Counts a change of a budget, of a usage, or of the program's cap.
    pub fn note_revision(&self) {
        self.revision.fetch_add(1, Ordering::Release);
    }

    /// The number of changes of budgets, usages and caps so far. If it has not changed, neither have they.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Budget and usage of a memory heap, by its index; the cap and the manager's own usage if the program's
    /// cap is closer to being reached.
    pub fn nearer(&self, heap: usize, granted: HeapBudget, cap: Option<u64>) -> HeapBudget {
        let (Some(cap), Some(count)) = (cap, self.heaps.get(heap)) else { return granted };
        // A budget of 0 means unknown.
        let capped = HeapBudget { budget: cap.max(1), usage: count.ours.load(Ordering::Acquire) };
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        let is_nearer = product(capped.usage, granted.budget) > product(granted.usage, capped.budget);
        if granted.budget == 0 || is_nearer { capped } else { granted }
    }

    /// Ends a frame: the next read queries again.
    pub fn end_frame(&self) {
        self.frame.fetch_add(1, Ordering::Relaxed);
    }

    /// Frames since the last report; `u64::MAX` before the first, and after an announced change.
    pub fn age(&self) -> u64 {
        let (frame, answers) = (self.frame.load(Ordering::Relaxed), self.answers.lock());
        if answers.heaps.is_empty() || answers.is_outdated {
            u64::MAX
        } else {
            frame.saturating_sub(answers.frame)
        }
    }

    /// Budget changes announced by the operating system so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Polls for a change announced by the operating system; true if there was one.
    pub fn hear_change<D: Device>(&self, device: &D) -> bool {
        let has_changed = device.budget_changed();
        if has_changed {
            self.changes.fetch_add(1, Ordering::Relaxed);
            self.answers.lock().is_outdated = true;
        }
        has_changed
    }

    /// The budgets, by heap. Queries the operating system if this frame has not done so, or if it announced a
    /// change since. While another thread queries, returns the last known budgets.
    pub fn current<D: Device>(&self, device: &D) -> HeapBudgets {
        if self.is_stale() || self.hear_change(device) {
            let asking = if self.is_known() { self.asking.try_lock() } else { Some(self.asking.lock()) };
            if asking.is_some() && self.is_stale() {
                self.ask(device);
            }
        }
        self.known()
    }

    /// The last known budgets, by heap. Never queries; empty before the first query.
    pub fn known(&self) -> HeapBudgets {
        let answers = self.answers.lock();
        answers.heaps.iter().zip(&self.heaps).map(|(answer, heap)| answer.corrected(heap)).collect()
    }

    fn is_known(&self) -> bool {
        !self.answers.lock().heaps.is_empty()
    }

    fn is_stale(&self) -> bool {
        let (frame, answers) = (self.frame.load(Ordering::Relaxed), self.answers.lock());
        answers.heaps.is_empty() || answers.is_outdated || frame == 0 || frame != answers.frame
    }

    fn ask<D: Device>(&self, device: &D) {
        let frame = self.frame.load(Ordering::Relaxed);
        let before: Vec<u64> = self.heaps.iter().map(|heap| heap.ours.load(Ordering::Acquire)).collect();
        // The report may not include changes announced from here on.
        self.answers.lock().is_outdated = false;
        // A device without budgets grants everything, and refuses allocations itself.
        let reported = device.budget().unwrap_or_default();
        let answer = |(index, (heap, before)): (usize, (&HeapCount, u64))| Answer {
            reported: reported.get(index).copied().unwrap_or_default(),
            ours: heap.certain(before),
        };
        let heaps = self.heaps.iter().zip(before).enumerate().map(answer).collect();
        let answers = &mut *self.answers.lock();
        *answers = Answers { heaps, frame, is_outdated: answers.is_outdated };
        self.note_revision();
    }
}

impl HeapCount {
    /// The bytes certainly included in a usage reported after there were `before` bytes: without those
    /// allocated meanwhile, and without those that may have been freed.
    fn certain(&self, before: u64) -> u64 {
        // In this order: memory freed after the first line was still allocated when the usage was reported.
        let leaving = self.leaving.load(Ordering::Acquire);
        let after = self.ours.load(Ordering::Acquire);
        before.min(after).saturating_sub(leaving)
    }
}

impl Answer {
    /// The report, corrected by the allocations and frees since.
    fn corrected(&self, heap: &HeapCount) -> HeapBudget {
        let HeapBudget { budget, usage } = self.reported;
        let now = heap.ours.load(Ordering::Acquire);
        let usage = usage.saturating_add(now.saturating_sub(self.ours));
        HeapBudget { budget, usage: usage.saturating_sub(self.ours.saturating_sub(now)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, HeapCount};
    use crate::device::HeapBudget;
    use std::sync::atomic::Ordering;

    #[test]
    fn bytes_taken_and_released_since_the_query_count() {
        let heap = HeapCount::default();
        heap.ours.store(100, Ordering::Relaxed);
        let answer = Answer { reported: HeapBudget { budget: 1000, usage: 300 }, ours: heap.certain(100) };
        assert_eq!(answer.corrected(&heap).usage, 300);
        heap.ours.store(150, Ordering::Relaxed);
        assert_eq!(answer.corrected(&heap).usage, 350);
        heap.ours.store(20, Ordering::Relaxed);
        assert_eq!(answer.corrected(&heap).usage, 220);
    }

    /// Whatever happens during a query, the usage is never estimated below the real one.
    #[test]
    fn changes_during_a_question_count_twice_rather_than_not_at_all() {
        let heap = HeapCount::default();
        heap.ours.store(150, Ordering::Relaxed);
        assert_eq!(heap.certain(100), 100, "50 were taken, and may be in the report or not");
        assert_eq!(heap.certain(200), 150, "50 were freed, and may be in the report or not");
        heap.leaving.store(30, Ordering::Relaxed);
        assert_eq!(heap.certain(150), 120, "30 are being freed");
    }
}
