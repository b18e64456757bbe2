//! The rows of the page: the largest blocks over time, and the sums of the others.

use std::collections::{BTreeMap, HashMap};

use super::{OwnChange, OwnRow};

/// The maximum number of rows for large blocks, so that a page stays readable.
const MOST_LARGE: usize = 24;

/// The lifetime of a block.
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

/// The current bytes of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Now {
    reserved: u64,
    bound: u64,
    hole: u64,
    /// The latest block, whose largest hole is that of the row.
    block: u64,
    /// Whether the row is in the list of changed rows.
    is_noted: bool,
}

/// The rows under construction.
#[derive(Debug)]
pub(super) struct Rows {
    rows: Vec<OwnRow>,
    now: Vec<Now>,
    of_block: HashMap<u64, usize>,
    of_type: BTreeMap<Option<u32>, usize>,
    changed: Vec<usize>,
}

impl Rows {
    /// Assigns rows to the largest blocks: blocks of the same type and size share one if each begins after the end of
    /// the one before. Row 0 is the sum of all blocks. O(blocks · log blocks).
    pub(super) fn new(mut lives: Vec<Life>) -> Self {
        // The others are never live at the end of a frame.
        lives.retain(|life| life.gone > life.born);
        lives.sort_by_key(|life| (std::cmp::Reverse(life.size), life.born, life.id));
        // Each row with its last block.
        let mut large = Vec::<(OwnRow, Life)>::new();
        let mut row_of = HashMap::new();
        let mut others = BTreeMap::<_, u64>::new();
        for life in &lives {
            let Life { id, memory_type, size, born, .. } = *life;
            let fits =
                |last: &Life| (last.memory_type, last.size) == (memory_type, size) && last.gone <= born;
            let found = large.iter().position(|(_, last)| fits(last));
            if let Some((row, last)) = found.and_then(|row| large.get_mut(row)) {
                (row.blocks, *last) = (row.blocks + 1, *life);
                row_of.extend(found.map(|row| (id, row)));
            } else if large.len() < MOST_LARGE {
                row_of.insert(id, large.len());
                large.push((OwnRow { memory_type, size, blocks: 1, changes: Vec::new() }, *life));
            } else {
                *others.entry(memory_type).or_default() += 1;
            }
        }
        let mut order: Vec<_> = (0..large.len()).collect();
        order.sort_by_key(|row| large[*row].0.memory_type);
        let mut place = vec![0; large.len()];
        (1..).zip(&order).for_each(|(new, old)| place[*old] = new);
        row_of.values_mut().for_each(|row| *row = place[*row]);
        let mut rows = vec![OwnRow { blocks: lives.len() as u64, ..OwnRow::default() }];
        rows.extend(order.iter().map(|row| large[*row].0.clone()));
        let of_type = others.into_iter().map(|(memory_type, blocks)| {
            rows.push(OwnRow { memory_type, blocks, ..OwnRow::default() });
            (memory_type, rows.len() - 1)
        });
        let of_type = of_type.collect();
        Self { now: vec![Now::default(); rows.len()], rows, of_block: row_of, of_type, changed: Vec::new() }
    }

    /// Changes a block's reserved and bound bytes from `before` to `after`; `hole` is its largest hole afterwards.
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
            if before[0] == 0 {
                now.block = id;
            }
            if Some(row) == own && now.block == id {
                now.hole = hole;
            }
            if !std::mem::replace(&mut now.is_noted, true) {
                self.changed.push(row);
            }
        }
    }

    /// Ends the frame.
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

    /// The rows; the first one is the sum of all blocks.
    pub(super) fn finish(self) -> Vec<OwnRow> {
        self.rows
    }
}
