//! Heaps, and Windows' budgets and usage.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::device::{DeviceError, HeapBudget, HeapDesc};
use windows::Win32::Graphics::Direct3D12::ID3D12Heap;
use windows::Win32::Graphics::Dxgi::{
    DXGI_MEMORY_SEGMENT_GROUP, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL,
    DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter3,
};

use crate::device::error::Asked;
use crate::device::inner::Inner;

/// The heap itself. Resources placed in it hold a reference, so that it is destroyed after them in any order of
/// drops.
pub(crate) struct HeapCore {
    pub(crate) raw: ID3D12Heap,
    pub(crate) desc: HeapDesc,
    /// Live resources placed in it.
    residents: AtomicU64,
    /// Declared last: the device outlives all of its objects.
    pub(crate) device: Arc<Inner>,
}

impl HeapCore {
    pub(crate) fn enter(&self) {
        self.residents.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_resource(&self) {
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
/// Resources placed in it keep a reference: its memory is freed when it and all of them are destroyed.
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

    /// The description it was created with.
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

/// The memory segments, in the order of [`Properties::memory_heaps`]: on a UMA device all memory
/// is local.
///
/// [`Properties::memory_heaps`]: tenure_core::device::Properties::memory_heaps
pub(crate) const SEGMENTS: [DXGI_MEMORY_SEGMENT_GROUP; 2] =
    [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL];

impl Inner {
    /// If Windows does not report budgets, all of the memory is granted and the usage is 0.
    pub(crate) fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.look()?;
        let heaps = self.properties.memory_heaps.iter().zip(SEGMENTS);
        let budgets = heaps.map(|(heap, segment)| match &self.adapter {
            Some(adapter) => self.segment(adapter, segment),
            None => Ok(HeapBudget { budget: heap.size, usage: 0 }),
        });
        budgets.collect()
    }

    fn segment(
        &self,
        adapter: &IDXGIAdapter3,
        segment: DXGI_MEMORY_SEGMENT_GROUP,
    ) -> Result<HeapBudget, DeviceError> {
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the interface is alive; the pointer is to a local that outlives the call.
        unsafe { adapter.QueryVideoMemoryInfo(0, segment, &raw mut info) }
            .map_err(|error| self.fail(&error, Asked::Object("QueryVideoMemoryInfo")))?;
        Ok(HeapBudget { budget: info.Budget, usage: info.CurrentUsage })
    }
}
