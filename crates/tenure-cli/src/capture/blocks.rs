//! The program's own blocks at their peak, by memory type, and its dealings with dedicated memory.

use std::collections::{BTreeMap, HashMap};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use tenure_trace::{Details, Event, Trace};

use crate::table::{count, mib};

/// The blocks of one memory type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct TypeUse {
    pub(super) blocks: u64,
    pub(super) reserved_bytes: u64,
    /// Bytes on which a resource lies.
    pub(super) bound_bytes: u64,
    pub(super) largest_hole_bytes: u64,
}

/// The memory that the program divides itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Blocks {
    /// By the number of the memory type, when the program had most memory, and of those times the one with most resources.
    pub(super) types: BTreeMap<u32, TypeUse>,
    /// Resources that share a block although the driver prefers, or requires, memory of their own.
    pub(super) ignored_wishes: u64,
    /// Blocks for one resource, for which the driver has no such wish.
    pub(super) needless_dedicated: u64,
    /// Allocations in the second half of the frames.
    pub(super) late_allocations: u64,
}

/// A block, and the ranges of its resources.
struct Block {
    memory_type: u32,
    size: u64,
    ranges: HashMap<u64, (u64, u64)>,
}

/// The blocks at some time.
#[derive(Default)]
struct Memory {
    blocks: HashMap<u64, Block>,
    /// The block of each resource.
    places: HashMap<u64, u64>,
    reserved: u64,
    bound: u64,
}

impl Memory {
    fn apply(&mut self, event: &Event, details: &Details) {
        match *event {
            Event::Block { id, size, .. } if !details.is_import => {
                let memory_type = details.memory_type.unwrap_or_default();
                self.blocks.insert(id, Block { memory_type, size, ranges: HashMap::new() });
                self.reserved += size;
            }
            Event::Unblock { id, .. } => {
                if let Some(block) = self.blocks.remove(&id) {
                    self.reserved -= block.size;
                    self.bound -= block.ranges.values().map(|(_, size)| size).sum::<u64>();
                }
            }
            Event::Alloc { id, size, .. } => {
                let block = details.block.unwrap_or_default();
                self.place(id, block, details.offset.unwrap_or_default(), size);
            }
            // Its offset is that in the other resource.
            Event::Alias { id, size, .. } => {
                let other = details.of.and_then(|of| Some((of, *self.places.get(&of)?)));
                if let Some((of, block)) = other {
                    let start = self.blocks.get(&block).and_then(|block| block.ranges.get(&of));
                    let start = start.map_or(0, |(offset, _)| *offset);
                    self.place(id, block, start + details.offset.unwrap_or_default(), size);
                }
            }
            Event::Free { id, size, .. } => {
                let block = self.places.remove(&id).and_then(|block| self.blocks.get_mut(&block));
                if block.is_some_and(|block| block.ranges.remove(&id).is_some()) {
                    self.bound -= size;
                }
            }
            _ => {}
        }
    }

    /// Resources in memory of others are left out.
    fn place(&mut self, id: u64, block: u64, offset: u64, size: u64) {
        if let Some(found) = self.blocks.get_mut(&block) {
            found.ranges.insert(id, (offset, size));
            self.places.insert(id, block);
            self.bound += size;
        }
    }

    fn types(&self) -> BTreeMap<u32, TypeUse> {
        let mut types = BTreeMap::<u32, TypeUse>::new();
        for block in self.blocks.values() {
            let mut ranges: Vec<_> = block.ranges.values().copied().collect();
            ranges.sort_unstable();
            let found = types.entry(block.memory_type).or_default();
            let mut end = 0;
            for (offset, size) in ranges.into_iter().chain([(block.size, 0)]) {
                found.largest_hole_bytes = found.largest_hole_bytes.max(offset.saturating_sub(end));
                let next = offset.saturating_add(size).min(block.size);
                found.bound_bytes += next.saturating_sub(end.max(offset));
                end = end.max(next);
            }
            found.blocks += 1;
            found.reserved_bytes += block.size;
        }
        types
    }
}

impl Blocks {
    /// O(events), and O(ranges · log ranges) at the peak.
    pub(super) fn of(trace: &Trace) -> Self {
        let (mut memory, mut peak) = (Memory::default(), (0, 0, 0));
        let (mut wishes, mut all) = (HashMap::new(), Self::default());
        for (index, (event, details)) in trace.iter().enumerate() {
            memory.apply(event, details);
            peak = peak.max((memory.reserved, memory.bound, index));
            match event {
                Event::Block { frame, .. } if !details.is_import => {
                    all.late_allocations += u64::from(*frame > 0 && *frame >= trace.summary.frames / 2);
                }
                Event::Alloc { id, .. } => {
                    let wishes_it = details.wants_dedicated || details.needs_dedicated;
                    wishes.insert(*id, (wishes_it, details.is_dedicated));
                }
                _ => {}
            }
        }
        let mut memory = Memory::default();
        trace.iter().take(peak.2 + 1).for_each(|(event, details)| memory.apply(event, details));
        all.types = memory.types();
        all.ignored_wishes = wishes.values().filter(|wish| **wish == (true, false)).count() as u64;
        all.needless_dedicated = wishes.values().filter(|wish| **wish == (false, true)).count() as u64;
        all
    }

    /// The table, and sentences about everything else; empty without blocks.
    pub(super) fn text(&self) -> String {
        if self.types.is_empty() {
            return String::new();
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["memory type", "blocks", "MiB", "with resources", "empty", "largest hole"]);
        for (number, found) in &self.types {
            let TypeUse { blocks, reserved_bytes, bound_bytes, largest_hole_bytes } = *found;
            let empty = reserved_bytes.saturating_sub(bound_bytes);
            let bytes = [reserved_bytes, bound_bytes, empty, largest_hole_bytes].map(mib);
            table.add_row([number.to_string(), count(blocks)].into_iter().chain(bytes));
        }
        table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        let mut text = format!("The program's own blocks at their peak, in MiB:\n{table}\n");
        for (number, what) in [
            (self.late_allocations, "Allocations of the program in the second half of its frames"),
            (self.ignored_wishes, "Resources in shared blocks that the driver prefers alone"),
            (self.needless_dedicated, "Resources alone in their memory that the driver would share"),
        ] {
            if number > 0 {
                text.push_str(&format!("{what}: {}.\n", count(number)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use tenure_trace::read_all;

    use super::*;

    fn of(lines: &str) -> Blocks {
        let text = format!("#tenure-recording=2\nop,id,size,align,kind,frame,more\n{lines}");
        Blocks::of(&read_all(text.as_bytes(), "game.csv").unwrap())
    }

    #[test]
    fn blocks_are_counted_at_the_peak_with_their_holes() {
        let blocks = of("\
block,1,1000,,,0,type=3
alloc,1,100,4,gpu_only+linear,0,block=1 offset=200
alloc,2,300,4,gpu_only+linear,0,block=1 offset=500
alias,3,100,4,gpu_only+linear,0,of=2 offset=100
block,2,50,,,0,type=0
unblock,2,50,,,0,
frame,,,,,1,
free,1,100,,gpu_only+linear,1,
");
        let empty = TypeUse { blocks: 1, reserved_bytes: 50, largest_hole_bytes: 50, ..TypeUse::default() };
        let full = TypeUse { blocks: 1, reserved_bytes: 1000, bound_bytes: 400, largest_hole_bytes: 200 };
        assert_eq!(blocks.types, BTreeMap::from([(0, empty), (3, full)]));
        assert!(blocks.text().contains("largest hole"), "{}", blocks.text());
        assert_eq!(of("frame,,,,,1,\n").text(), "");
    }

    #[test]
    fn wishes_for_dedicated_memory_are_compared_with_the_choice() {
        let blocks = of("\
block,1,1000,,,0,type=0
block,2,64,,,0,type=0 dedicated
block,9,64,,,0,type=0 import
alloc,1,100,4,gpu_only+optimal,0,block=1 offset=0 wants-dedicated
alloc,2,64,4,gpu_only+optimal,0,block=2 offset=0 dedicated
frame,,,,,1,
frame,,,,,2,
block,3,64,,,2,type=0 dedicated
alloc,3,64,4,gpu_only+optimal,2,block=3 offset=0 dedicated needs-dedicated
");
        let counts = (blocks.ignored_wishes, blocks.needless_dedicated, blocks.late_allocations);
        assert_eq!(counts, (1, 1, 1));
        assert_eq!(blocks.types[&0].blocks, 3, "imported memory is another's");
    }
}
