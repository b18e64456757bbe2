//! Memory: heaps and their placed resources, tiles, memory shared with other devices, and the written bytes.

mod bytes;
mod heap;
mod history;
mod sharing;
mod tiles;
mod written_bytes;

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::MemoryTypeId;

pub(crate) use self::bytes::{Bytes, MAX_BYTES};
pub use self::heap::Heap;
pub(crate) use self::heap::{HeapState, Store, Tenant};
pub(crate) use self::history::{Access, History};
pub(crate) use self::sharing::{Handover, SharedMemory};
pub(crate) use self::tiles::{TileTable, TileTarget};
pub(crate) use self::written_bytes::Written;
use crate::layout::TILE;

/// The memory of a resource.
pub(crate) enum Memory {
    /// Dedicated memory.
    Committed {
        store: Arc<Store>,
        memory: MemoryTypeId,
        size: u64,
        /// Whether this device allocated the memory, not another one that shares it.
        is_counted: bool,
    },
    /// A range of a heap.
    Placed { heap: Arc<HeapState>, tenant: Arc<Tenant>, offset: u64, size: u64 },
    /// The mappings of its tiles.
    Reserved(Mutex<TileTable>),
}

impl Memory {
    /// Calls `visit` with each piece of memory behind `range`, in order; no store: unmapped.
    pub(crate) fn pieces(&self, range: Range<u64>, mut visit: impl FnMut(Option<&Arc<Store>>, Range<u64>)) {
        match self {
            Self::Committed { store, .. } => visit(Some(store), range),
            Self::Placed { heap, offset, .. } => {
                visit(Some(&heap.store), range.start + offset..range.end + offset);
            }
            Self::Reserved(table) => {
                let mut at = range.start;
                while at < range.end {
                    let end = (at - at % TILE + TILE).min(range.end);
                    let target = table.lock().get(at / TILE).cloned();
                    match target {
                        Some(target) => {
                            let start = target.offset + at % TILE;
                            visit(Some(&target.heap.store), start..start + (end - at));
                        }
                        None => visit(None, 0..end - at),
                    }
                    at = end;
                }
            }
        }
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) {
        let mut rest = bytes;
        self.pieces(offset..offset + bytes.len() as u64, |store, range| {
            let (now, later) = rest.split_at((range.end - range.start) as usize);
            if let Some(store) = store {
                store.bytes.write(range.start, now);
            }
            rest = later;
        });
    }

    /// Unmapped tiles read as zero, as on every device with tiled resources tier 2.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) {
        let mut done = 0;
        self.pieces(offset..offset + out.len() as u64, |store, range| {
            let size = (range.end - range.start) as usize;
            let part = &mut out[done..done + size];
            match store {
                Some(store) => store.bytes.read(range.start, part),
                None => part.fill(0),
            }
            done += size;
        });
    }

    pub(crate) fn fill(&self, range: Range<u64>, byte: u8) {
        self.pieces(range, |store, range| {
            if let Some(store) = store {
                store.bytes.fill(range.start, range.end - range.start, byte);
            }
        });
    }
}
