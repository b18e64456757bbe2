//! Memory: heaps, mappings, budgets.

mod allocation;
mod budget;
mod mapping;

use std::sync::Arc;

pub use allocation::Heap;
pub(crate) use allocation::{Address, Allocation, HandleTypes, HostOwner, Import, Memory, weight};
use budget::MemoryCount;
pub use mapping::Mapping;

use crate::loaded::{Loaded, part_of_device};

/// The memory of a device, and the number of allocated bytes.
pub(crate) struct Memories {
    loaded: Arc<Loaded>,
    count: MemoryCount,
}

impl Memories {
    pub(crate) fn new(loaded: Arc<Loaded>) -> Self {
        Self { loaded, count: MemoryCount::default() }
    }

    pub(crate) const fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }
}

part_of_device!(Memories);
