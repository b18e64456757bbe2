//! Sparse resources: their tiles, and what those are mapped to.

mod tiling;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

pub(crate) use self::tiling::{Tile, TilePart, Tiling};
use crate::memory::Memory;

/// Where the bytes of a tile are.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) memory: Arc<Memory>,
    pub(crate) offset: u64,
}

/// The tiles of a reserved resource.
pub(crate) struct Sparse {
    pub(crate) tiling: Tiling,
    /// Bytes of the address space of sparse resources.
    pub(crate) bytes: u64,
    /// What they are mapped to, by number, after all that was submitted; unmapped ones are not there.
    pub(crate) table: Mutex<HashMap<u64, Target>>,
}
