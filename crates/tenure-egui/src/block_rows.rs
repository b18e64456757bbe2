//! Which row of a block map shows what: for each block a line of text, and lines of bytes.

use crate::snapshot::BlockView;

/// A row of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// What a block is.
    Heading {
        /// The block's index in its pool.
        block: usize,
    },
    /// Some of a block's bytes.
    Bytes {
        /// The block's index in its pool.
        block: usize,
        /// The first byte.
        from: u64,
        /// The byte after the last.
        to: u64,
    },
}

/// The rows of a pool's blocks.
#[derive(Debug)]
pub(crate) struct BlockRows {
    /// Bytes of a full row.
    pub(crate) bytes: u64,
    /// The number of rows before each block, and of all.
    before: Vec<usize>,
}

impl BlockRows {
    /// Rows of such a length that the largest block has `most` of them.
    pub(crate) fn new(blocks: &[BlockView], most: u64) -> Self {
        let largest = blocks.iter().map(|block| block.size).max().unwrap_or(0);
        let bytes = largest.div_ceil(most.max(1)).max(1);
        let mut before = vec![0];
        let mut sum: usize = 0;
        for block in blocks {
            let lines = usize::try_from(block.size.div_ceil(bytes)).unwrap_or(usize::MAX);
            sum = sum.saturating_add(lines).saturating_add(1);
            before.push(sum);
        }
        Self { bytes, before }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.before.last().copied().unwrap_or(0)
    }

    /// The content of a row. O(log blocks).
    pub(crate) fn row(&self, row: usize, blocks: &[BlockView]) -> Option<Row> {
        let block = self.before.partition_point(|before| *before <= row).checked_sub(1)?;
        let size = blocks.get(block)?.size;
        let Some(line) = row.checked_sub(*self.before.get(block)? + 1) else {
            return Some(Row::Heading { block });
        };
        let from = (line as u64).saturating_mul(self.bytes);
        Some(Row::Bytes { block, from, to: from.saturating_add(self.bytes).min(size) })
    }

    /// The row that shows a byte of a block.
    pub(crate) fn row_of(&self, block: usize, byte: u64) -> usize {
        let before = self.before.get(block).copied().unwrap_or(0);
        before.saturating_add(1).saturating_add(usize::try_from(byte / self.bytes).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockRows, Row};
    use crate::snapshot::BlockView;

    fn blocks(sizes: &[u64]) -> Vec<BlockView> {
        sizes.iter().map(|&size| BlockView { size, ..BlockView::default() }).collect()
    }

    #[test]
    fn rows_show_each_byte_once() {
        for most in [1, 3, 64] {
            let blocks = blocks(&[1000, 0, 7, 640, 1]);
            let rows = BlockRows::new(&blocks, most);
            let mut shown = vec![0; blocks.len()];
            for number in 0..rows.len() {
                match rows.row(number, &blocks) {
                    Some(Row::Heading { block }) => assert_eq!(shown[block], 0),
                    Some(Row::Bytes { block, from, to }) => {
                        assert!(from == shown[block] && to > from && to - from <= rows.bytes);
                        assert_eq!(rows.row_of(block, from), number);
                        assert_eq!(rows.row_of(block, to - 1), number);
                        shown[block] = to;
                    }
                    None => panic!("row {number} of {} shows nothing", rows.len()),
                }
            }
            assert!(shown.iter().zip(&blocks).all(|(shown, block)| *shown == block.size));
            assert!(rows.row(rows.len(), &blocks).is_none());
        }
        assert_eq!(BlockRows::new(&[], 5).len(), 0);
        let huge = blocks(&[u64::MAX, u64::MAX]);
        assert_eq!(BlockRows::new(&huge, 64).len(), 2 * 65);
    }
}
