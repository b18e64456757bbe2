//! What Windows grants and counts.

use tenure_core::device::{DeviceError, HeapBudget};
use windows::Win32::Graphics::Dxgi::{
    DXGI_MEMORY_SEGMENT_GROUP, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL,
    DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter3,
};

use crate::error::Asked;
use crate::inner::Inner;

/// The memory segments, in the order of [`Properties::memory_heaps`]: on a UMA device all memory
/// is local.
///
/// [`Properties::memory_heaps`]: tenure_core::device::Properties::memory_heaps
const SEGMENTS: [DXGI_MEMORY_SEGMENT_GROUP; 2] =
    [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL];

impl Inner {
    /// Where Windows does not count, all of the memory is granted and nothing is known to be used.
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
