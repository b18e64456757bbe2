//! The ranges of resources in the program's blocks.

use std::collections::HashMap;
use std::ops::Range;

use crate::{Details, Event};

/// A range of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockRange {
    pub(super) block: u64,
    /// The range in the block, not empty.
    pub(super) range: Range<u64>,
}

/// A change of ranges by an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Bound(BlockRange),
    Unbound(BlockRange),
}

/// The live resources in live blocks, without imported memory.
#[derive(Debug, Default)]
pub(super) struct Places {
    resources: HashMap<u64, BlockRange>,
    /// The size of each block.
    blocks: HashMap<u64, u64>,
}

impl Places {
    /// Applies an event. The ranges of a freed block are removed with it.
    pub(super) fn apply(&mut self, event: &Event, details: &Details) -> Option<Change> {
        match *event {
            Event::Block { id, size, .. } if !details.is_import => {
                self.blocks.insert(id, size);
            }
            Event::Unblock { id, .. } => {
                self.blocks.remove(&id);
            }
            Event::Alloc { id, size, .. } => {
                return self.bind(id, details.block?, details.offset.unwrap_or(0), size);
            }
            Event::Alias { id, size, .. } => {
                let BlockRange { block, range } = self.resources.get(&details.of?)?;
                // The offset of an alias is relative to the other resource.
                let offset = range.start.saturating_add(details.offset.unwrap_or(0));
                return self.bind(id, *block, offset, size);
            }
            Event::Free { id, .. } => {
                let place = self.resources.remove(&id)?;
                return self.blocks.contains_key(&place.block).then_some(Change::Unbound(place));
            }
            _ => {}
        }
        None
    }

    fn bind(&mut self, id: u64, block: u64, offset: u64, size: u64) -> Option<Change> {
        let whole = *self.blocks.get(&block)?;
        let range = offset.min(whole)..offset.saturating_add(size).min(whole);
        if range.is_empty() {
            return None;
        }
        let place = BlockRange { block, range };
        self.resources.insert(id, place.clone());
        Some(Change::Bound(place))
    }
}
