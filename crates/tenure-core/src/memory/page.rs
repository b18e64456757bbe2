//! Pages: a heap with a linear allocator, reset when the last resource in it is gone (spec M8).

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_suballoc::Linear;

use crate::device::{Device, HeapCategory, HeapDesc, MemoryTypeId};

/// One page.
pub(crate) struct Page<D: Device> {
    pub(crate) size: u64,
    pub(crate) memory: MemoryTypeId,
    pub(crate) category: HeapCategory,
    /// Bytes; of the heap.
    pub(crate) alignment: u64,
    fill: Mutex<Fill<D>>,
}

struct Fill<D: Device> {
    bytes: Linear,
    live: u64,
    /// Shared only while a resource is being placed, which has a seat by then. `None` once the
    /// page is gone.
    heap: Option<Arc<D::Heap>>,
    /// The allocator is gone: the page goes with the last resource in it.
    is_retired: bool,
}

/// A resource's share in a page.
pub(crate) struct PageSeat<D: Device> {
    pub(crate) page: Arc<Page<D>>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl<D: Device> Page<D> {
    pub(crate) fn new(heap: D::Heap, desc: &HeapDesc) -> Self {
        let HeapDesc { size, alignment, memory, category, .. } = *desc;
        let heap = Some(Arc::new(heap));
        let fill = Fill { bytes: Linear::new(size), live: 0, heap, is_retired: false };
        Self { size, memory, category, alignment, fill: Mutex::new(fill) }
    }

    /// Takes the next bytes, with the heap to place a resource in; let go of the heap before the
    /// seat. `None` when the page is too full.
    pub(crate) fn take(self: &Arc<Self>, size: u64, align: u64) -> Option<(PageSeat<D>, Arc<D::Heap>)> {
        let mut fill = self.fill.lock();
        let heap = fill.heap.clone()?;
        let offset = fill.bytes.allocate(size, align)?;
        fill.live += 1;
        Some((PageSeat { page: self.clone(), offset, size }, heap))
    }

    /// Notes that a resource is gone. The last one resets the page, or, when the allocator is gone
    /// too, yields the heap to be destroyed.
    #[must_use]
    pub(crate) fn leave(&self) -> Option<D::Heap> {
        let mut fill = self.fill.lock();
        fill.live -= 1;
        if fill.live == 0 {
            fill.bytes.reset();
        }
        fill.take_heap()
    }

    /// Notes that the allocator is gone. Yields the heap to be destroyed if nothing is in it.
    #[must_use]
    pub(crate) fn retire(&self) -> Option<D::Heap> {
        let mut fill = self.fill.lock();
        fill.is_retired = true;
        fill.take_heap()
    }

    /// Bytes used since the last reset, and resources alive.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let fill = self.fill.lock();
        (fill.bytes.used(), fill.live)
    }
}

impl<D: Device> Fill<D> {
    fn take_heap(&mut self) -> Option<D::Heap> {
        let is_over = self.is_retired && self.live == 0;
        self.heap.take_if(|_| is_over).and_then(Arc::into_inner)
    }
}
