//! Heaps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::device::HeapDesc;
use windows::Win32::Graphics::Direct3D12::ID3D12Heap;

use crate::inner::Inner;

/// The heap itself. What is placed in it keeps it, so that it goes last whatever the order.
pub(crate) struct HeapCore {
    pub(crate) raw: ID3D12Heap,
    pub(crate) desc: HeapDesc,
    /// Resources placed in it that live.
    residents: AtomicU64,
    /// Declared last: the device outlives all of its objects.
    pub(crate) device: Arc<Inner>,
}

impl HeapCore {
    pub(crate) fn enter(&self) {
        self.residents.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.residents.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn residents(&self) -> u64 {
        self.residents.load(Ordering::Relaxed)
    }
}

impl Drop for HeapCore {
    fn drop(&mut self) {
        self.device.counters.heaps.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A block of device memory: an `ID3D12Heap`.
///
/// Resources placed in it hold on to it: its memory goes back to Windows when it and all of them
/// are gone.
pub struct Heap {
    pub(crate) core: Arc<HeapCore>,
}

impl Heap {
    pub(crate) fn new(device: &Arc<Inner>, raw: ID3D12Heap, desc: HeapDesc) -> Self {
        device.counters.heaps.fetch_add(1, Ordering::Relaxed);
        let device = Arc::clone(device);
        Self { core: Arc::new(HeapCore { raw, desc, residents: AtomicU64::new(0), device }) }
    }

    /// The heap itself.
    #[must_use]
    pub fn raw(&self) -> &ID3D12Heap {
        &self.core.raw
    }

    /// What it was created as.
    #[must_use]
    pub fn desc(&self) -> &HeapDesc {
        &self.core.desc
    }
}

impl std::fmt::Debug for Heap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heap").field("desc", &self.core.desc).finish_non_exhaustive()
    }
}
