//! Accesses that barriers order: unordered ones, and accesses to acceleration structures.

use std::ops::Range;

use tenure_core::device::{QueueId, State};

use crate::interval::IntervalSet;
use crate::layout::Ranges;

/// Bytes accessed by unordered accesses since the last barrier.
#[derive(Default)]
pub(crate) struct Unordered {
    pub(crate) touched: IntervalSet,
    /// The states of these accesses.
    pub(crate) states: State,
    /// Bytes of such accesses followed by a barrier that did not lead to a state for another such access.
    led: IntervalSet,
    /// The states to which barriers have led these bytes.
    reach: State,
    pub(crate) last: Option<(QueueId, u64)>,
}

impl Unordered {
    /// Applies a barrier: everything before is done.
    pub(crate) fn settle(&mut self) {
        self.touched.clear();
        self.states = State::COMMON;
        self.led.clear();
        self.reach = State::COMMON;
        self.last = None;
    }

    /// A barrier on these bytes; `is_end`: its earlier accesses are then ordered before all later ones.
    pub(crate) fn barrier(&mut self, ranges: &Ranges, (before, after): (State, State), is_end: bool) {
        let (is_after_uses, is_after_led) = (before.intersects(self.states), before.intersects(self.reach));
        for range in ranges {
            if is_after_led && is_end {
                self.led.remove(range.clone());
            }
            if is_after_uses && self.touched.intersects(range.clone()) {
                self.touched.remove(range.clone());
                if !is_end {
                    self.led.insert(range.clone());
                }
            }
        }
        if is_after_uses || is_after_led {
            self.reach |= after;
        }
    }

    pub(crate) fn forget(&mut self, ranges: &Ranges) {
        for range in ranges {
            self.touched.remove(range.clone());
            self.led.remove(range.clone());
        }
    }

    pub(crate) fn intersects(&self, range: &Range<u64>) -> bool {
        self.touched.intersects(range.clone()) || self.led.intersects(range.clone())
    }
}

/// Bytes of structures that were accessed since the last barrier.
#[derive(Default)]
pub(crate) struct StructureAccesses {
    pub(crate) written: IntervalSet,
    pub(crate) read: IntervalSet,
    pub(crate) last: Option<(QueueId, u64)>,
}

impl StructureAccesses {
    /// Applies a barrier: everything before is done.
    pub(crate) fn settle(&mut self) {
        self.written.clear();
        self.read.clear();
        self.last = None;
    }
}
