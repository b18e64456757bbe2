//! What engines do without knowing the whole frame.

use std::collections::BTreeMap;

use tenure_plan::Item;

/// 128 MiB in units of 64 KiB.
pub const HEAP_UNITS: u64 = 2048;

/// Nothing shares memory.
pub(super) fn no_aliasing(items: &[Item]) -> u64 {
    items.iter().map(|item| item.size).sum()
}

/// Items of one size share a pool, as engines do that look for an equal description.
pub(super) fn equal_sizes(items: &[Item]) -> u64 {
    let mut alive: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (_, begins, item) in events(items) {
        let (now, most) = alive.entry(items[item].size).or_default();
        *now = if begins { *now + 1 } else { *now - 1 };
        *most = (*most).max(*now);
    }
    alive.iter().map(|(size, (_, most))| size * most).sum()
}

/// Heaps of [`HEAP_UNITS`] or the request, each filled by first fit, pass by pass, as Unreal Engine's
/// transient allocator is documented to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heaps {
    /// The sizes of all heaps together.
    pub committed: u64,
    /// The highest end in each heap, added up.
    pub high_water: u64,
}

struct Heap {
    size: u64,
    high: u64,
    /// What is alive, by offset: its end.
    alive: BTreeMap<u64, u64>,
}

impl Heap {
    /// The lowest offset with room.
    fn find(&self, size: u64) -> Option<u64> {
        let mut free = 0;
        for (&offset, &end) in &self.alive {
            if offset >= free + size {
                return Some(free);
            }
            free = end;
        }
        (self.size >= free + size).then_some(free)
    }
}

impl Heaps {
    /// What a frame needs.
    #[must_use]
    pub fn of(items: &[Item]) -> Self {
        let mut heaps: Vec<Heap> = Vec::new();
        let mut places = vec![(0, 0); items.len()];
        for (_, begins, at) in events(items) {
            let size = items[at].size;
            if !begins {
                let (heap, offset) = places[at];
                let heap: &mut Heap = &mut heaps[heap];
                heap.alive.remove(&offset);
                continue;
            }
            let found = heaps.iter().enumerate().find_map(|(heap, it)| Some((heap, it.find(size)?)));
            let (heap, offset) = found.unwrap_or_else(|| {
                heaps.push(Heap { size: size.max(HEAP_UNITS), high: 0, alive: BTreeMap::new() });
                (heaps.len() - 1, 0)
            });
            places[at] = (heap, offset);
            heaps[heap].alive.insert(offset, offset + size);
            heaps[heap].high = heaps[heap].high.max(offset + size);
        }
        Self {
            committed: heaps.iter().map(|heap| heap.size).sum(),
            high_water: heaps.iter().map(|heap| heap.high).sum(),
        }
    }
}

/// When items begin and end, in order; at one time ends come first.
fn events(items: &[Item]) -> Vec<(u64, bool, usize)> {
    let both = |(at, item): (usize, &Item)| [(item.first, true, at), (item.last, false, at)];
    let mut events: Vec<_> =
        items.iter().enumerate().filter(|(_, item)| item.size > 0).flat_map(both).collect();
    events.sort_unstable();
    events
}
