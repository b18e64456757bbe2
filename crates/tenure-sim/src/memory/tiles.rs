//! The mappings of the tiles of reserved resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::HeapState;
use crate::object::Label;

/// The memory of a tile.
#[derive(Clone)]
pub(crate) struct TileTarget {
    pub(crate) heap: Arc<HeapState>,
    pub(crate) offset: u64,
}

/// The mappings of one reserved resource; a tile not in it is unmapped.
#[derive(Default)]
pub(crate) struct TileTable(BTreeMap<u64, TileTarget>);

impl TileTable {
    pub(crate) fn get(&self, tile: u64) -> Option<&TileTarget> {
        self.0.get(&tile)
    }

    pub(crate) fn set(&mut self, tile: u64, target: Option<TileTarget>) {
        match target {
            Some(target) => self.0.insert(tile, target),
            None => self.0.remove(&tile),
        };
    }

    /// The first tile with a destroyed heap, and that heap. O(mapped tiles).
    pub(crate) fn first_dead_heap(&self) -> Option<(u64, Arc<Label>)> {
        let dead = self.0.iter().find(|(_, target)| target.heap.label.is_destroyed());
        dead.map(|(tile, target)| (*tile, Arc::clone(&target.heap.label)))
    }
}
