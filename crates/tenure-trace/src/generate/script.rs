//! The program behind a workload, and its list of events.

use std::collections::VecDeque;

use crate::{Event, Kind};

/// An imitated program that allocates and frees memory.
pub(super) trait Program {
    /// Writes the events of the program's next part, usually one frame. Repeated calls use up the script's
    /// allocations.
    fn step(&mut self, script: &mut Script);

    /// Frees all live allocations.
    fn finish(&mut self, script: &mut Script);
}

/// A live allocation. [`Script::free`] consumes it, so no allocation is freed twice.
#[derive(Debug)]
pub(super) struct Live {
    id: u64,
    size: u64,
}

impl Live {
    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

/// Numbers allocations and frames, and counts down the remaining allocations.
#[derive(Debug)]
pub(super) struct Script {
    events: VecDeque<Event>,
    allocs_left: u64,
    last_id: u64,
    frame: u64,
}

impl Script {
    pub(super) fn new(allocs: u64) -> Self {
        Self { events: VecDeque::new(), allocs_left: allocs, last_id: 0, frame: 0 }
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// True when no allocations remain.
    pub(super) fn spent(&self) -> bool {
        self.allocs_left == 0
    }

    pub(super) fn alloc(&mut self, size: u64, align: u64, kind: Kind) -> Option<Live> {
        self.allocs_left = self.allocs_left.checked_sub(1)?;
        self.last_id += 1;
        let id = self.last_id;
        self.events.push_back(Event::Alloc { id, size, align, kind, frame: self.frame });
        Some(Live { id, size })
    }

    pub(super) fn free(&mut self, live: Live) {
        self.events.push_back(Event::Free { id: live.id, size: live.size, frame: self.frame });
    }

    pub(super) fn end_frame(&mut self) {
        self.frame += 1;
        self.events.push_back(Event::Frame { number: self.frame });
    }
}
