//! The rows of the page: the largest blocks over time, and the sums of the others.

use std::collections::{BTreeMap, HashMap};

use super::{OwnChange, OwnRow};

/// The most blocks with a row of their own: as many as can be read on a page.
pub(super) const MOST_BLOCKS: usize = 24;

/// A block, from its first frame to its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) id: u64,
    pub(super) memory_type: Option<u32>,
    pub(super) size: u64,
    /// The frame in which it was allocated.
    pub(super) born: u32,
    /// The frame in which it was freed.
    pub(super) gone: u32,
}

/// The bytes of a row now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Now {
    reserved: u64,
    bound: u64,
    hole: u64,
    /// The row is among those that have changed.
    is_noted: bool,
}

/// The rows while they are made.
#[derive(Debug)]
pub(super) struct Rows {
    rows: Vec<OwnRow>,
    now: Vec<Now>,
    of_block: HashMap<u64, usize>,
    of_type: BTreeMap<Option<u32>, usize>,
    changed: Vec<usize>,
}

impl Rows {
    /// Chooses the blocks with rows of their own. Row 0 is the sum of all.
    pub(super) fn new(mut lives: Vec<Life>) -> Self {
        // At the ends of frames the others are never there.
        lives.retain(|life| life.gone > life.born);
        lives.sort_by_key(|life| (std::cmp::Reverse((life.size, life.gone - life.born)), life.id));
        let (largest, others) = lives.split_at(lives.len().min(MOST_BLOCKS));
        let mut largest = largest.to_vec();
        largest.sort_by_key(|life| (life.memory_type, life.born, life.id));
        let mut rows = vec![OwnRow { blocks: lives.len() as u64, ..OwnRow::default() }];
        let mut of_block = HashMap::new();
        for Life { id, memory_type, size, .. } in largest {
            of_block.insert(id, rows.len());
            rows.push(OwnRow { block: Some(id), memory_type, size, blocks: 1, changes: Vec::new() });
        }
        let mut of_type = BTreeMap::<_, u64>::new();
        others.iter().for_each(|life| *of_type.entry(life.memory_type).or_default() += 1);
        let of_type = of_type.into_iter().map(|(memory_type, blocks)| {
            rows.push(OwnRow { memory_type, blocks, ..OwnRow::default() });
            (memory_type, rows.len() - 1)
        });
        let of_type = of_type.collect();
        Self { now: vec![Now::default(); rows.len()], rows, of_block, of_type, changed: Vec::new() }
    }

    /// Changes a block from the bytes `before` to the bytes `after`, each reserved and bound; its largest hole is `hole` then.
    pub(super) fn change(
        &mut self,
        (id, memory_type): (u64, Option<u32>),
        before: [u64; 2],
        after: [u64; 2],
        hole: u64,
    ) {
        let own = self.of_block.get(&id).copied();
        let row = own.or_else(|| self.of_type.get(&memory_type).copied());
        for row in [Some(0), row].into_iter().flatten() {
            let now = &mut self.now[row];
            now.reserved = now.reserved.saturating_sub(before[0]).saturating_add(after[0]);
            now.bound = now.bound.saturating_sub(before[1]).saturating_add(after[1]);
            if Some(row) == own {
                now.hole = hole;
            }
            if !std::mem::replace(&mut now.is_noted, true) {
                self.changed.push(row);
            }
        }
    }

    /// The frame ends.
    pub(super) fn end_frame(&mut self, frame: u32) {
        for row in self.changed.drain(..) {
            let now = &mut self.now[row];
            now.is_noted = false;
            let changes = &mut self.rows[row].changes;
            let Now { reserved, bound, hole, .. } = *now;
            let bytes = |change: &OwnChange| (change.reserved, change.bound, change.hole);
            if changes.last().map_or((0, 0, 0), bytes) != (reserved, bound, hole) {
                changes.push(OwnChange { frame, reserved, bound, hole });
            }
        }
    }

    /// The rows, the first one of all blocks.
    pub(super) fn finish(self) -> Vec<OwnRow> {
        self.rows
    }
}
