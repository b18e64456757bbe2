//! Moves of blocks, by the program and by the operating system.

use std::sync::Arc;

use tenure_core::device::Priority;

use super::pager::{Block, Pager, State};
use crate::interval::IntervalSet;
use crate::object::Label;

impl Pager {
    /// Makes blocks resident once more. Returns the newest point of any of them.
    pub(crate) fn make_resident(&self, blocks: &[u64]) -> u64 {
        let state = &mut *self.state.lock();
        let mut newest = 0;
        let next = state.newest_point + 1;
        for id in blocks {
            let Some(block) = state.blocks.get_mut(id) else { continue };
            block.count = block.count.saturating_add(1);
            if block.count == 1 {
                block.point = next;
                state.newest_point = next;
                let (heap, size) = (block.heap, block.size);
                state.stats.segments[heap].paged_in += size;
                self.move_in(state, *id);
                self.demote_excess(state, heap);
            }
            newest = newest.max(state.blocks.get(id).map_or(0, |block| block.point));
        }
        newest
    }

    /// The total bytes of the evicted ones among the blocks.
    pub(crate) fn missing(&self, blocks: impl Iterator<Item = u64>) -> u64 {
        let state = self.state.lock();
        let evicted = blocks.filter_map(|id| state.blocks.get(&id)).filter(|block| block.count == 0);
        evicted.map(|block| block.size).sum()
    }

    /// Notes that the program has learned that these blocks are resident, and need no wait.
    pub(crate) fn arrived(&self, blocks: &[u64]) {
        let mut state = self.state.lock();
        for id in blocks {
            if let Some(block) = state.blocks.get_mut(id) {
                block.point = 0;
            }
        }
    }

    /// Evicts blocks once; returns the blocks that were already evicted.
    pub(crate) fn evict(&self, blocks: &[u64]) -> Vec<Arc<Label>> {
        let state = &mut *self.state.lock();
        let mut wrong = Vec::new();
        for id in blocks {
            let Some(block) = state.blocks.get_mut(id) else { continue };
            if block.count == 0 {
                wrong.push(Arc::clone(&block.label));
                continue;
            }
            block.count -= 1;
            if block.count == 0 && block.is_in {
                let (heap, size) = (block.heap, block.size);
                state.stats.segments[heap].paged_out += size;
                self.move_out(state, *id);
            }
        }
        wrong
    }

    /// Whether a point was returned.
    pub(crate) fn has_point(&self, point: u64) -> bool {
        point <= self.state.lock().newest_point
    }

    pub(super) fn move_in(&self, state: &mut State, id: u64) {
        let Some(block) = state.blocks.get_mut(&id) else { return };
        block.is_in = true;
        block.touched = Some(IntervalSet::default());
        block.last_use = state.stats.submissions;
        state.stats.segments[block.heap].resident += block.size;
        state.stats.stalled += u128::from(self.options.per_block) + self.options.transfer(block.size);
    }

    fn move_out(&self, state: &mut State, id: u64) {
        let Some(block) = state.blocks.get_mut(&id) else { return };
        block.is_in = false;
        let segment = &mut state.stats.segments[block.heap];
        segment.resident -= block.size;
        segment.unused += block.unused();
        block.touched = None;
        state.stats.stalled += u128::from(self.options.per_block) + self.options.transfer(block.size);
    }

    /// Demotes blocks until no more is resident than the operating system grants: the lowest priority first, the
    /// least recently used first within it, and none that a submission in flight uses. Only after its delay is
    /// over.
    pub(super) fn demote_excess(&self, state: &mut State, heap: usize) {
        let budget = state.budgets[heap];
        if budget == 0 || !self.is_paged[heap] || state.stats.segments[heap].resident <= budget {
            state.over_since[heap] = None;
            return;
        }
        let now = state.stats.submissions;
        let since = *state.over_since[heap].get_or_insert(now);
        if now - since < self.options.demotion_delay {
            return;
        }
        while state.stats.segments[heap].resident > budget {
            let Some(id) = candidate(state, heap, Priority::High, u64::MAX) else { return };
            self.demote(state, id);
        }
    }

    /// Makes space for a block by demoting blocks of the same or a lower priority that the running submission
    /// does not use. False, and no block is moved, if that is not enough.
    pub(super) fn make_room(&self, state: &mut State, heap: usize, size: u64, priority: Priority) -> bool {
        let (budget, resident) = (state.budgets[heap], state.stats.segments[heap].resident);
        if budget == 0 || !self.is_paged[heap] {
            return true;
        }
        let now = state.stats.submissions;
        let movable = |block: &&Block| is_movable(block, heap, priority, now);
        let movable: u64 = state.blocks.values().filter(movable).map(|block| block.size).sum();
        if (resident - movable).saturating_add(size) > budget {
            return false;
        }
        while state.stats.segments[heap].resident + size > budget {
            let Some(id) = candidate(state, heap, priority, now) else { return false };
            self.demote(state, id);
        }
        true
    }

    fn demote(&self, state: &mut State, id: u64) {
        if let Some(block) = state.blocks.get(&id) {
            state.stats.segments[block.heap].demoted += block.size;
        }
        self.move_out(state, id);
    }
}

/// Whether the operating system may move a block out for another one of that priority, in a submission.
fn is_movable(block: &Block, heap: usize, highest: Priority, before: u64) -> bool {
    let is_idle = block.in_flight == 0 && block.last_use < before;
    block.heap == heap && block.is_in && is_idle && block.priority <= highest
}

/// The next block to demote.
fn candidate(state: &State, heap: usize, highest: Priority, before: u64) -> Option<u64> {
    let movable = state.blocks.iter().filter(|(_, block)| is_movable(block, heap, highest, before));
    movable.min_by_key(|(id, block)| (block.priority, block.last_use, **id)).map(|(id, _)| *id)
}
