//! Page faults and breadcrumbs that Windows has recorded before the removal of the device (DRED).

use tenure_core::device::{DeviceFault, FaultAccess};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_AUTO_BREADCRUMB_NODE, D3D12_DRED_ALLOCATION_NODE, D3D12_DRED_ENABLEMENT_FORCED_ON,
    D3D12_DRED_PAGE_FAULT_OUTPUT, D3D12GetDebugInterface, ID3D12Device, ID3D12DeviceRemovedExtendedData,
    ID3D12DeviceRemovedExtendedDataSettings,
};
use windows::core::{Interface as _, PCWSTR};

/// Maximum number of nodes of a list that are read.
const MAX_NODES: usize = 64;

/// Has Windows record page faults and breadcrumbs of the devices created from now on; without effect on versions without DRED.
pub(crate) fn enable() {
    let mut settings: Option<ID3D12DeviceRemovedExtendedDataSettings> = None;
    // SAFETY: the pointer is to a local that outlives the call.
    let found = unsafe { D3D12GetDebugInterface(&raw mut settings) };
    if let Some(settings) = settings.filter(|_| found.is_ok()) {
        // SAFETY: the interface is alive.
        unsafe {
            settings.SetPageFaultEnablement(D3D12_DRED_ENABLEMENT_FORCED_ON);
            settings.SetAutoBreadcrumbsEnablement(D3D12_DRED_ENABLEMENT_FORCED_ON);
        }
    }
}

/// The recorded faults of a removed device.
pub(crate) fn faults(device: &ID3D12Device) -> Vec<DeviceFault> {
    let Ok(data) = device.cast::<ID3D12DeviceRemovedExtendedData>() else { return Vec::new() };
    let mut faults = Vec::new();
    // SAFETY: the interface is alive. The output lives as long as the device.
    if let Ok(fault) = unsafe { data.GetPageFaultAllocationOutput() }
        && fault.PageFaultVA != 0
    {
        faults.push(page_fault(&fault));
    }
    // SAFETY: as above.
    if let Ok(output) = unsafe { data.GetAutoBreadcrumbsOutput() } {
        let nodes = nodes(output.pHeadAutoBreadcrumbNode, |node: &D3D12_AUTO_BREADCRUMB_NODE| node.pNext);
        faults.extend(nodes.into_iter().filter_map(unfinished));
    }
    faults
}

fn page_fault(fault: &D3D12_DRED_PAGE_FAULT_OUTPUT) -> DeviceFault {
    let named = |head| {
        let nodes = nodes(head, |node: &D3D12_DRED_ALLOCATION_NODE| node.pNext);
        nodes.into_iter().map(|node| format!("'{}'", text(node.ObjectNameW))).collect::<Vec<_>>().join(", ")
    };
    let lists = [
        ("existing", named(fault.pHeadExistingAllocationNode)),
        ("freed", named(fault.pHeadRecentFreedAllocationNode)),
    ];
    let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
    let words = lists.map(|(kind, names)| format!("{kind}: {names}")).collect::<Vec<_>>().join("; ");
    let at = fault.PageFaultVA;
    DeviceFault::new(FaultAccess::Unknown, at..at.saturating_add(1), words)
}

/// A list that was begun and not ended.
fn unfinished(node: &D3D12_AUTO_BREADCRUMB_NODE) -> Option<DeviceFault> {
    // SAFETY: the value is null or lives as long as the device.
    let done = unsafe { node.pLastBreadcrumbValue.as_ref() }.copied().unwrap_or(0);
    let is_running = done > 0 && done < node.BreadcrumbCount;
    is_running.then(|| {
        let [list, queue] = [node.pCommandListDebugNameW, node.pCommandQueueDebugNameW].map(text);
        let count = node.BreadcrumbCount;
        let words = format!("list '{list}' on queue '{queue}' stopped after command {done} of {count}");
        DeviceFault::new(FaultAccess::Unknown, 0..0, words)
    })
}

/// The first nodes of a list.
fn nodes<'a, T>(head: *const T, next: impl Fn(&T) -> *const T) -> Vec<&'a T> {
    let mut found = Vec::new();
    let mut node = head;
    // SAFETY: the nodes live as long as the device, which the caller holds.
    while let Some(here) = unsafe { node.as_ref() }.filter(|_| found.len() < MAX_NODES) {
        found.push(here);
        node = next(here);
    }
    found
}

fn text(name: PCWSTR) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: the name ends with a zero, and lives as long as the device.
    String::from_utf16_lossy(unsafe { name.as_wide() })
}
