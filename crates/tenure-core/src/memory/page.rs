//! Pages: a heap with a linear allocator, reset when the last resource in it is gone (spec M8).

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_suballoc::Linear;

use crate::device::{Device, HeapCategory, MemoryTypeId};

/// One page.
pub(crate) struct Page<D: Device> {
    pub(crate) heap: D::Heap,
    pub(crate) size: u64,
    pub(crate) memory: MemoryTypeId,
    pub(crate) category: HeapCategory,
    fill: Mutex<Fill>,
}

struct Fill {
    bytes: Linear,
    live: u64,
}

/// A resource's share in a page.
pub(crate) struct PageSeat<D: Device> {
    pub(crate) page: Arc<Page<D>>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl<D: Device> Clone for PageSeat<D> {
    fn clone(&self) -> Self {
        Self { page: self.page.clone(), ..*self }
    }
}

impl<D: Device> Page<D> {
    pub(crate) fn new(heap: D::Heap, size: u64, memory: MemoryTypeId, category: HeapCategory) -> Self {
        let fill = Fill { bytes: Linear::new(size), live: 0 };
        Self { heap, size, memory, category, fill: Mutex::new(fill) }
    }

    /// Takes the next bytes; `None` when the page is too full.
    pub(crate) fn take(self: &Arc<Self>, size: u64, align: u64) -> Option<PageSeat<D>> {
        let mut fill = self.fill.lock();
        let offset = fill.bytes.allocate(size, align)?;
        fill.live += 1;
        Some(PageSeat { page: self.clone(), offset, size })
    }

    /// Notes that a resource is gone. The last one resets the page.
    pub(crate) fn leave(&self) {
        let mut fill = self.fill.lock();
        fill.live -= 1;
        if fill.live == 0 {
            fill.bytes.reset();
        }
    }

    /// Bytes used since the last reset, and resources alive.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let fill = self.fill.lock();
        (fill.bytes.used(), fill.live)
    }
}
