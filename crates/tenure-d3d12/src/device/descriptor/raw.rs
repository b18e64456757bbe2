//! Access to the API handles of views, samplers and tables.

use tenure_core::{DescriptorTable, Descriptors, Sampler, View};
use windows::Win32::Graphics::Direct3D12::{D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_GPU_DESCRIPTOR_HANDLE};

use crate::device::Device;

/// The handle of a descriptor: of a [`View`] or a [`Sampler`] for calls of the CPU, such as `OMSetRenderTargets`;
/// of a table its start in the shader-visible heap, for `SetGraphicsRootDescriptorTable` and similar calls. It is
/// valid until its owner is dropped; do not write to it.
///
/// ```no_run
/// use tenure_core::{Descriptors, View};
/// use tenure_d3d12::{Device, List, RawHandle as _};
///
/// fn bind(list: &List, table: Descriptors<'_, Device>, target: &View<Device>) {
///     let target = target.raw();
///     // SAFETY: the list is open, the heap of `table` is set on it, its root signature has a table as
///     // parameter 0, and `target` is a view of a colour target.
///     unsafe {
///         list.raw().SetGraphicsRootDescriptorTable(0, table.raw());
///         list.raw().OMSetRenderTargets(1, Some(&raw const target), false, None);
///     }
/// }
/// ```
pub trait RawHandle {
    /// The type.
    type Raw;

    /// The handle.
    fn raw(&self) -> Self::Raw;
}

impl RawHandle for View<Device> {
    type Raw = D3D12_CPU_DESCRIPTOR_HANDLE;

    fn raw(&self) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        self.heap().cpu_handle(self.index()).unwrap_or_default()
    }
}

impl RawHandle for Sampler<Device> {
    type Raw = D3D12_CPU_DESCRIPTOR_HANDLE;

    fn raw(&self) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        self.heap().cpu_handle(self.index()).unwrap_or_default()
    }
}

impl RawHandle for DescriptorTable<Device> {
    type Raw = D3D12_GPU_DESCRIPTOR_HANDLE;

    fn raw(&self) -> D3D12_GPU_DESCRIPTOR_HANDLE {
        self.heap().gpu_handle(self.first()).unwrap_or_default()
    }
}

impl RawHandle for Descriptors<'_, Device> {
    type Raw = D3D12_GPU_DESCRIPTOR_HANDLE;

    fn raw(&self) -> D3D12_GPU_DESCRIPTOR_HANDLE {
        self.heap().gpu_handle(self.first()).unwrap_or_default()
    }
}
