//! The resident blocks, and the paging of the operating system.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tenure_core::device::{HeapBudget, MemoryTypeId, Priority, Properties};

use super::budget::DriverMemory;
use super::config::Paging;
use super::stats::{PagingStats, SegmentStats};
use crate::interval::IntervalSet;
use crate::object::Label;

/// The uses of a block by a submission.
#[derive(Clone, Debug)]
pub(crate) struct BlockUse {
    /// The number of the block.
    pub(crate) block: u64,
    /// The bytes of it that commands read or write.
    pub(crate) touched: IntervalSet,
    /// The GPU address of the first touched byte; empty without one.
    pub(crate) first: Range<u64>,
}

/// A heap or a committed resource.
pub(super) struct Block {
    pub(super) label: Arc<Label>,
    /// The index of its memory heap.
    pub(super) heap: usize,
    /// Bytes.
    pub(super) size: u64,
    pub(super) priority: Priority,
    /// The number of times it was made resident, less the number of times it was evicted.
    pub(super) count: u32,
    /// Whether the block is in its own segment, not demoted to system memory.
    pub(super) is_in: bool,
    /// The bytes that submissions have touched since it was moved in; `None` if it was never demoted, or is not
    /// in.
    pub(super) touched: Option<IntervalSet>,
    /// The submission that used it last.
    pub(super) last_use: u64,
    /// Submissions that use it and have not run.
    pub(super) in_flight: u32,
    /// The point at which it was made resident.
    pub(super) point: u64,
}

/// The accessibility of a block for a submission.
pub(crate) enum Found {
    /// The GPU can use it.
    Usable,
    /// The program has evicted it.
    Evicted(Arc<Label>),
    /// It was made resident at a point that the queue has not waited for.
    NotWaitedFor(Arc<Label>, u64),
}

pub(super) struct State {
    pub(super) blocks: BTreeMap<u64, Block>,
    /// The budget of each memory heap, in bytes.
    pub(super) budgets: Vec<u64>,
    /// For each memory heap, the number of submissions run when the resident bytes began to exceed the budget.
    pub(super) over_since: Vec<Option<u64>>,
    pub(super) stats: PagingStats,
    /// The number of applied changes of the script.
    changes: usize,
    /// The newest point that was returned.
    pub(super) newest_point: u64,
}

/// Residency and its costs. It has its own lock; no other lock is taken while it is held.
pub(crate) struct Pager {
    pub(super) options: Paging,
    heap_of_type: Vec<usize>,
    /// For each memory heap, whether its blocks are paged.
    pub(super) is_paged: Vec<bool>,
    /// The script has changed a budget since the last call of `take_change`.
    has_changed: AtomicBool,
    pub(super) state: Mutex<State>,
}

impl Pager {
    pub(crate) fn new(options: Paging, properties: &Properties, memory: &DriverMemory) -> Self {
        let heaps = properties.memory_heaps.len();
        let stats = PagingStats { segments: vec![SegmentStats::default(); heaps], ..PagingStats::default() };
        let pager = Self {
            options,
            heap_of_type: properties.memory_types.iter().map(|found| usize::from(found.heap)).collect(),
            is_paged: properties.memory_heaps.iter().map(|heap| heap.device_local).collect(),
            has_changed: AtomicBool::new(false),
            state: Mutex::new(State {
                blocks: BTreeMap::new(),
                budgets: memory.budgets().iter().map(|heap| heap.budget).collect(),
                over_since: vec![None; heaps],
                stats,
                changes: 0,
                newest_point: 0,
            }),
        };
        pager.follow_script(&mut pager.state.lock());
        pager
    }

    /// Whether the script has changed a budget since the last call.
    pub(crate) fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::Acquire)
    }

    pub(crate) fn stats(&self) -> PagingStats {
        self.state.lock().stats.clone()
    }

    /// Granted and resident bytes of each memory heap.
    pub(crate) fn budgets(&self) -> Vec<HeapBudget> {
        let state = self.state.lock();
        let segments = state.stats.segments.iter();
        let each = |(budget, segment): (&u64, &SegmentStats)| HeapBudget {
            budget: *budget,
            usage: segment.resident,
        };
        state.budgets.iter().zip(segments).map(each).collect()
    }

    pub(crate) fn set_budget(&self, heap: usize, bytes: u64) {
        let state = &mut *self.state.lock();
        if let Some(budget) = state.budgets.get_mut(heap) {
            *budget = bytes;
            self.demote_excess(state, heap);
        }
    }

    /// Adds a new block, which is resident.
    pub(crate) fn created(&self, label: &Arc<Label>, memory: MemoryTypeId, size: u64, priority: Priority) {
        let Some(heap) = self.heap_of_type.get(usize::from(memory.0)).copied() else { return };
        let state = &mut *self.state.lock();
        let block = Block {
            label: Arc::clone(label),
            heap,
            size,
            priority,
            count: 1,
            is_in: true,
            touched: None,
            last_use: state.stats.submissions,
            in_flight: 0,
            point: 0,
        };
        state.blocks.insert(label.id, block);
        state.stats.segments[heap].resident += size;
        self.demote_excess(state, heap);
    }

    pub(crate) fn destroyed(&self, block: u64) {
        let state = &mut *self.state.lock();
        if let Some(block) = state.blocks.remove(&block).filter(|block| block.is_in) {
            let segment = &mut state.stats.segments[block.heap];
            segment.resident -= block.size;
            segment.unused += block.unused();
        }
    }

    pub(crate) fn set_priority(&self, block: u64, priority: Priority) {
        if let Some(block) = self.state.lock().blocks.get_mut(&block) {
            block.priority = priority;
        }
    }

    /// Notes a submission that uses these blocks.
    pub(crate) fn submitted(&self, uses: &[BlockUse]) {
        let mut state = self.state.lock();
        for used in uses {
            if let Some(block) = state.blocks.get_mut(&used.block) {
                block.in_flight += 1;
            }
        }
    }

    /// Ends a submission whose queue has waited for the points up to `paged`. Returns a finding for each block
    /// that was not usable, with the address of its first use.
    pub(crate) fn ran(&self, uses: &[BlockUse], paged: u64) -> Vec<(Found, Range<u64>)> {
        let state = &mut *self.state.lock();
        state.stats.submissions += 1;
        self.follow_script(state);
        let now = state.stats.submissions;
        let mut wrong = Vec::new();
        for used in uses {
            let Some(block) = state.blocks.get_mut(&used.block) else { continue };
            block.in_flight = block.in_flight.saturating_sub(1);
            block.last_use = now;
            match block.state(paged) {
                Found::Usable => {}
                found => wrong.push((found, used.first.clone())),
            }
        }
        let stalled = state.stats.stalled;
        for used in uses {
            self.reach(state, used);
            if let Some(touched) = state.blocks.get_mut(&used.block).and_then(|block| block.touched.as_mut())
            {
                used.touched.iter().for_each(|range| touched.insert(range));
            }
        }
        let took = u128::from(self.options.per_submission) + (state.stats.stalled - stalled);
        pass(state, took);
        // Blocks that were in flight until now may be demoted.
        (0..self.is_paged.len()).for_each(|heap| self.demote_excess(state, heap));
        wrong
    }

    /// Makes a block accessible to the GPU: a demoted block is brought back if there is space, and read over the
    /// link if not.
    fn reach(&self, state: &mut State, used: &BlockUse) {
        let Some(block) = state.blocks.get(&used.block) else { return };
        if block.is_in || block.count == 0 {
            return;
        }
        let (heap, size, priority) = (block.heap, block.size, block.priority);
        if self.make_room(state, heap, size, priority) {
            state.stats.segments[heap].promoted += size;
            self.move_in(state, used.block);
        } else {
            let bytes = used.touched.bytes();
            state.stats.segments[heap].read_remotely += bytes;
            state.stats.stalled += self.options.transfer(bytes);
        }
    }

    fn follow_script(&self, state: &mut State) {
        let due = |change: &&super::BudgetChange| change.after <= state.stats.submissions;
        let changes: Vec<_> = self.options.script[state.changes..].iter().take_while(due).copied().collect();
        state.changes += changes.len();
        for change in changes {
            self.has_changed.store(true, Ordering::Release);
            if let Some(budget) = state.budgets.get_mut(change.heap) {
                *budget = change.bytes;
                self.demote_excess(state, change.heap);
            }
        }
    }
}

/// Time passes.
fn pass(state: &mut State, nanoseconds: u128) {
    state.stats.time += nanoseconds;
    for (segment, budget) in state.stats.segments.iter_mut().zip(&state.budgets) {
        let over = if *budget == 0 { 0 } else { segment.resident.saturating_sub(*budget) };
        segment.over_budget += u128::from(over) * nanoseconds;
    }
}

impl Block {
    /// The bytes that were moved in and not accessed since.
    pub(super) fn unused(&self) -> u64 {
        self.touched.as_ref().map_or(0, |touched| self.size.saturating_sub(touched.bytes()))
    }

    /// Whether a queue that has waited for the points up to `paged` can use it.
    fn state(&self, paged: u64) -> Found {
        if self.count == 0 {
            Found::Evicted(Arc::clone(&self.label))
        } else if self.point > paged {
            Found::NotWaitedFor(Arc::clone(&self.label), self.point)
        } else {
            Found::Usable
        }
    }
}
