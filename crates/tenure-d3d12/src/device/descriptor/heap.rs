//! Heaps of descriptors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tenure_core::device::{CallRule, DescriptorHeapDesc, DescriptorKind, DeviceError, check};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_DESCRIPTOR_HEAP_DESC, D3D12_DESCRIPTOR_HEAP_FLAG_NONE,
    D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, D3D12_DESCRIPTOR_HEAP_TYPE,
    D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_TYPE_RTV,
    D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, D3D12_GPU_DESCRIPTOR_HANDLE, ID3D12DescriptorHeap,
};

use crate::device::descriptor::content::Content;
use crate::device::error::Asked;
use crate::device::inner::Inner;

/// The heap type of a kind of descriptors.
pub(crate) const fn heap_type(kind: DescriptorKind) -> D3D12_DESCRIPTOR_HEAP_TYPE {
    match kind {
        DescriptorKind::Resource => D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        DescriptorKind::Sampler => D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER,
        DescriptorKind::RenderTarget => D3D12_DESCRIPTOR_HEAP_TYPE_RTV,
        DescriptorKind::DepthStencil => D3D12_DESCRIPTOR_HEAP_TYPE_DSV,
    }
}

/// Consecutive descriptors: an `ID3D12DescriptorHeap`.
///
/// One or two shader-visible heaps are set by
/// [`set_descriptor_heaps`](tenure_core::device::CommandList::set_descriptor_heaps); the program binds tables
/// from indices of these, and targets from indices of heaps that are not shader-visible:
///
/// ```no_run
/// use tenure_d3d12::{DescriptorHeap, List};
///
/// fn bind(list: &List, (tables, first): (&DescriptorHeap, u32), (targets, target): (&DescriptorHeap, u32)) {
///     let (Some(table), Some(target)) = (tables.gpu_handle(first), targets.cpu_handle(target)) else {
///         return;
///     };
///     // SAFETY: the list is open, `tables` is set on it, its root signature has a table as parameter
///     // 0, and `target` holds a view of a colour target.
///     unsafe {
///         list.raw().SetGraphicsRootDescriptorTable(0, table);
///         list.raw().OMSetRenderTargets(1, Some(&raw const target), false, None);
///     }
/// }
/// ```
pub struct DescriptorHeap {
    pub(crate) raw: ID3D12DescriptorHeap,
    pub(crate) desc: DescriptorHeapDesc,
    /// The CPU handle of the first one.
    first_cpu: usize,
    /// The GPU handle of the first one, in a shader-visible heap.
    first_gpu: u64,
    /// The bytes from one descriptor to the next.
    increment: u32,
    /// The content of each index: copies of empty indices are refused, and null descriptors have the last kind.
    contents: Box<[AtomicU8]>,
    /// Declared last: the device outlives all of its objects.
    pub(crate) device: Arc<Inner>,
}

impl DescriptorHeap {
    /// The heap itself.
    #[must_use]
    pub const fn raw(&self) -> &ID3D12DescriptorHeap {
        &self.raw
    }

    /// The description it was created with.
    #[must_use]
    pub const fn desc(&self) -> &DescriptorHeapDesc {
        &self.desc
    }

    /// The descriptor for calls of the CPU, such as `OMSetRenderTargets`; `None` beyond the heap.
    #[must_use]
    pub fn cpu_handle(&self, index: u32) -> Option<D3D12_CPU_DESCRIPTOR_HANDLE> {
        let distance = usize::try_from(self.distance(index)?).ok()?;
        Some(D3D12_CPU_DESCRIPTOR_HANDLE { ptr: self.first_cpu.checked_add(distance)? })
    }

    /// The descriptor as the start of a table, for `SetGraphicsRootDescriptorTable` and similar calls; `None`
    /// beyond the heap, and if it is not shader-visible.
    #[must_use]
    pub fn gpu_handle(&self, index: u32) -> Option<D3D12_GPU_DESCRIPTOR_HANDLE> {
        let distance = self.distance(index).filter(|_| self.desc.shader_visible)?;
        Some(D3D12_GPU_DESCRIPTOR_HANDLE { ptr: self.first_gpu.checked_add(distance)? })
    }

    fn distance(&self, index: u32) -> Option<u64> {
        (index < self.desc.count).then(|| u64::from(index) * u64::from(self.increment))
    }

    fn content_at(&self, index: u32) -> Option<&AtomicU8> {
        self.contents.get(usize::try_from(index).ok()?)
    }

    /// The content of an index.
    pub(crate) fn content(&self, index: u32) -> Content {
        // The contract orders each read of an index after its write; this load need not.
        self.content_at(index).map_or(Content::Nothing, |at| Content::from_byte(at.load(Ordering::Relaxed)))
    }

    pub(crate) fn set_content(&self, index: u32, content: Content) {
        if let Some(at) = self.content_at(index) {
            at.store(content.to_byte(), Ordering::Relaxed);
        }
    }

    pub(crate) fn check_device(&self, device: &Inner) -> Result<(), DeviceError> {
        if std::ptr::eq(Arc::as_ptr(&self.device), device) {
            return Ok(());
        }
        Err(DeviceError::broken_rule(CallRule::SameDevice))
    }
}

impl Drop for DescriptorHeap {
    fn drop(&mut self) {
        self.device.counters.descriptor_heaps.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for DescriptorHeap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DescriptorHeap").field("desc", &self.desc).finish_non_exhaustive()
    }
}

/// The contents of a new heap of `count` descriptors; `None` if the host is out of memory.
fn nothing(count: u32) -> Option<Box<[AtomicU8]>> {
    let count = usize::try_from(count).ok()?;
    let mut contents = Vec::new();
    contents.try_reserve_exact(count).ok()?;
    contents.resize_with(count, || AtomicU8::new(Content::Nothing.to_byte()));
    Some(contents.into_boxed_slice())
}

impl Inner {
    fn check_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<(), DeviceError> {
        // Heaps that are not shader-visible are limited only by memory.
        let most =
            if desc.shader_visible { self.properties.descriptors.visible(desc.kind) } else { u32::MAX };
        check::descriptor_heap(desc, most)
    }

    pub(crate) fn create_descriptor_heap(
        self: &Arc<Self>,
        desc: &DescriptorHeapDesc,
    ) -> Result<DescriptorHeap, DeviceError> {
        self.look()?;
        self.check_descriptor_heap(desc)?;
        let kind = heap_type(desc.kind);
        let flags = if desc.shader_visible {
            D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE
        } else {
            D3D12_DESCRIPTOR_HEAP_FLAG_NONE
        };
        let raw_desc =
            D3D12_DESCRIPTOR_HEAP_DESC { Type: kind, NumDescriptors: desc.count, Flags: flags, NodeMask: 0 };
        // SAFETY: the pointer is to a local that outlives the call.
        let raw: ID3D12DescriptorHeap = unsafe { self.raw.CreateDescriptorHeap(&raw const raw_desc) }
            .map_err(|error| self.fail(&error, Asked::Object("CreateDescriptorHeap")))?;
        let contents = nothing(desc.count)
            .ok_or(DeviceError::OutOfHostMemory { what: "the contents of a heap of descriptors" })?;
        // SAFETY: the interfaces are alive; the numbers are returned by value.
        let (first_cpu, increment) = unsafe {
            (raw.GetCPUDescriptorHandleForHeapStart().ptr, self.raw.GetDescriptorHandleIncrementSize(kind))
        };
        let first_gpu = if desc.shader_visible {
            // SAFETY: as above; only heaps that shaders see have it.
            unsafe { raw.GetGPUDescriptorHandleForHeapStart() }.ptr
        } else {
            0
        };
        self.counters.descriptor_heaps.fetch_add(1, Ordering::Relaxed);
        self.messages.deliver();
        Ok(DescriptorHeap {
            raw,
            desc: *desc,
            first_cpu,
            first_gpu,
            increment,
            contents,
            device: Arc::clone(self),
        })
    }
}
