//! Windows' budget and usage of the device's memory.

use tenure_heap::HeapBudget;
use windows::Win32::Graphics::Direct3D12::ID3D12Device;
use windows::Win32::Graphics::Dxgi::{
    CreateDXGIFactory1, DXGI_MEMORY_SEGMENT_GROUP, DXGI_MEMORY_SEGMENT_GROUP_LOCAL,
    DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL, DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter3, IDXGIFactory4,
};

/// The device's adapter, which reports memory budgets.
pub(super) struct Budget(IDXGIAdapter3);

impl Budget {
    /// `None` if Windows reports no budget: before Windows 10, and for devices without an adapter in DXGI.
    pub(super) fn of(device: &ID3D12Device) -> Option<Self> {
        // SAFETY: plain queries; their results are owned.
        let adapter = unsafe {
            let factory: IDXGIFactory4 = CreateDXGIFactory1().ok()?;
            factory.EnumAdapterByLuid(device.GetAdapterLuid()).ok()?
        };
        Some(Self(adapter))
    }

    /// The budgets of the card's memory heap (or of all memory if there is no card) and then the system's, up to the
    /// requested number.
    pub(super) fn ask(&self, heaps: usize) -> Option<Vec<HeapBudget>> {
        let segments = [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL];
        segments.into_iter().take(heaps).map(|segment| self.segment(segment)).collect()
    }

    fn segment(&self, segment: DXGI_MEMORY_SEGMENT_GROUP) -> Option<HeapBudget> {
        let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the pointer is to a local that outlives the call.
        unsafe { self.0.QueryVideoMemoryInfo(0, segment, &raw mut info) }.ok()?;
        Some(HeapBudget { budget: info.Budget, usage: info.CurrentUsage })
    }
}
