//! Creation, copying and clearing of descriptors.

use std::convert::Infallible;
use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{
    BindingKind, CallRule, Descriptor, DescriptorDevice, DescriptorHeapDesc, DescriptorKind,
    DescriptorSource, DeviceError, Permit, SetDevice, check,
};
use windows::Win32::Graphics::Direct3D12::D3D12_CPU_DESCRIPTOR_HANDLE;

use crate::Device;
use crate::device::descriptor::content::Content;
use crate::device::descriptor::heap::{DescriptorHeap, heap_type};
use crate::device::descriptor::sampler::sampler;
use crate::device::inner::Inner;
use crate::device::resource::object::Resource;

/// Maximum number of descriptors copied by one call; this number fits on the stack.
const AT_ONCE: usize = 16;

/// Copies to consecutive indices, made by one call.
struct Run<'a> {
    heap: &'a DescriptorHeap,
    /// The index of the first one.
    first: u32,
    count: u32,
    sources: SmallVec<[D3D12_CPU_DESCRIPTOR_HANDLE; AT_ONCE]>,
}

impl Run<'_> {
    /// # Safety
    /// The source is of a live heap of the same device and kind that is not shader-visible, and contains a
    /// descriptor; no thread writes it meanwhile. The indices are as for [`flush`](Self::flush).
    unsafe fn push(&mut self, source: D3D12_CPU_DESCRIPTOR_HANDLE) {
        self.sources.push(source);
        self.count = self.count.saturating_add(1);
        if self.sources.len() == AT_ONCE {
            // SAFETY: the caller's promise.
            unsafe { self.flush() };
        }
    }

    /// # Safety
    /// The indices filled so far are inside the heap, no other thread writes them meanwhile, and no work
    /// in flight reads them.
    unsafe fn flush(&mut self) {
        let count = self.count;
        if let Some(first) = self.heap.cpu_handle(self.first).filter(|_| count > 0) {
            let kind = heap_type(self.heap.desc.kind);
            // SAFETY: one range of `count` descriptors inside a live heap of the kind, from `count`
            // ranges of one; the arrays outlive the call. The rest is the caller's promise.
            unsafe {
                let (to, sizes) = (&raw const first, Some(&raw const count));
                self.heap.device.raw.CopyDescriptors(1, to, sizes, count, self.sources.as_ptr(), None, kind);
            }
        }
        self.sources.clear();
        self.first = self.next();
        self.count = 0;
    }

    /// The index that the next one is for.
    const fn next(&self) -> u32 {
        self.first.saturating_add(self.count)
    }
}

fn outside(end: u64, count: u32) -> DeviceError {
    DeviceError::invalid_call(CallRule::DescriptorInside, end, u64::from(count))
}

impl DescriptorDevice for Device {
    type DescriptorHeap = DescriptorHeap;

    fn create_descriptor_heap(&self, desc: &DescriptorHeapDesc) -> Result<DescriptorHeap, DeviceError> {
        self.inner.create_descriptor_heap(desc)
    }

    fn destroy_descriptor_heap(&self, _: Permit<Self>, heap: DescriptorHeap) {
        drop(heap);
    }

    fn write_descriptor(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.inner.look()?;
        heap.check_device(&self.inner)?;
        if heap.desc.shader_visible {
            return Err(DeviceError::broken_rule(CallRule::WrittenHidden));
        }
        let at = heap.cpu_handle(index).ok_or(outside(u64::from(index), heap.desc.count))?;
        check::descriptor_kind(descriptor.kind(), heap.desc.kind)?;
        heap.set_content(index, Content::Nothing);
        let content = match descriptor {
            // SAFETY: the handle is of a live heap of this device and of the descriptor's kind that is not
            // shader-visible. By the contract no other thread writes or reads the index meanwhile; the same
            // applies below.
            Descriptor::Buffer { resource, view } => unsafe { self.inner.write_buffer(resource, view, at) }?,
            Descriptor::Texture { resource, view } => {
                // SAFETY: as above.
                unsafe { self.inner.write_texture(resource, view, at) }?
            }
            Descriptor::Sampler(desc) => {
                desc.validate(self.inner.properties.descriptors.anisotropy)?;
                let desc = sampler(desc, self.inner.caps.comparison_none);
                // SAFETY: as above; the description is a local that outlives the call.
                unsafe { self.inner.raw.CreateSampler(&raw const desc, at) };
                Content::Other
            }
        };
        heap.set_content(index, content);
        self.inner.messages.deliver();
        Ok(())
    }

    fn fill_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, Self>],
    ) -> Result<(), DeviceError> {
        self.inner.alive()?;
        heap.check_device(&self.inner)?;
        if !heap.desc.shader_visible {
            return Err(DeviceError::broken_rule(CallRule::FilledVisible));
        }
        check::descriptors_inside(first, sources.len() as u64, heap.desc.count)?;
        // All sources are checked first, so that a failure changes nothing.
        for source in sources {
            self.inner.check_source(heap, source)?;
        }
        // SAFETY: the sources were checked, and the indices are inside the heap. By the contract no other thread
        // writes them meanwhile, no work in flight reads them, and no thread writes the sources.
        unsafe { self.inner.fill(heap, first, sources) }
        self.inner.messages.deliver();
        Ok(())
    }

    fn clear_descriptors(
        &self,
        _: Permit<Self>,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        if heap.check_device(&self.inner).is_err() {
            return;
        }
        let is_poisoned = freed_by.is_some() && heap.desc.shader_visible && self.inner.alive().is_ok();
        let end = first.saturating_add(count).min(heap.desc.count);
        for index in first..end {
            if let Some(at) = heap.cpu_handle(index).filter(|_| is_poisoned) {
                // SAFETY: the handle is of a live heap of this device. By the contract the caller frees the
                // index, so no other code and no work of the GPU uses it.
                unsafe { heap.content(index).write_null(&self.inner.raw, at) };
            }
            heap.set_content(index, Content::Nothing);
        }
        self.inner.messages.deliver();
    }
}

/// It has no sets.
impl SetDevice for Device {
    type SetLayout = Infallible;
    type SetPool = Infallible;
}

impl Inner {
    /// Refuses a view of another device's resource.
    pub(crate) fn check_viewed(&self, resource: &Resource) -> Result<(), DeviceError> {
        if std::ptr::eq(Arc::as_ptr(&resource.device), self) {
            return Ok(());
        }
        Err(DeviceError::broken_rule(CallRule::SameDevice))
    }

    /// The handle and content of a descriptor to copy.
    fn copied(
        &self,
        to: &DescriptorHeap,
        from: &DescriptorHeap,
        index: u32,
    ) -> Result<(D3D12_CPU_DESCRIPTOR_HANDLE, Content), DeviceError> {
        from.check_device(self)?;
        if from.desc.shader_visible {
            return Err(DeviceError::broken_rule(CallRule::WrittenHidden));
        }
        check::descriptor_kind(from.desc.kind, to.desc.kind)?;
        let at = from.cpu_handle(index).ok_or(outside(u64::from(index), from.desc.count))?;
        match from.content(index) {
            Content::Nothing => {
                Err(DeviceError::invalid_value(CallRule::DescriptorWritten, u64::from(index)))
            }
            content => Ok((at, content)),
        }
    }

    fn check_source(
        &self,
        heap: &DescriptorHeap,
        source: &DescriptorSource<'_, Device>,
    ) -> Result<(), DeviceError> {
        match source {
            DescriptorSource::Copy { heap: from, index } => self.copied(heap, from, *index).map(|_| ()),
            DescriptorSource::Combined { .. } => {
                Err(DeviceError::invalid_value(CallRule::InSetsAlone, BindingKind::CombinedSampler))
            }
            DescriptorSource::Structure(structure) => {
                check::descriptor_kind(DescriptorKind::Resource, heap.desc.kind)?;
                structure.check_traced(self)
            }
            DescriptorSource::Constants { resource, offset, size } => {
                check::descriptor_kind(DescriptorKind::Resource, heap.desc.kind)?;
                self.constants(resource, *offset, *size).map(|_| ())
            }
        }
    }

    /// # Safety
    /// The sources and the range of indices have passed their checks, and no other thread uses them meanwhile.
    unsafe fn fill(&self, heap: &DescriptorHeap, first: u32, sources: &[DescriptorSource<'_, Device>]) {
        let mut run = Run { heap, first, count: 0, sources: SmallVec::new() };
        for source in sources {
            let index = run.next();
            match source {
                DescriptorSource::Copy { heap: from, index: of } => {
                    let Ok((at, content)) = self.copied(heap, from, *of) else { break };
                    heap.set_content(index, content);
                    // SAFETY: the caller's promise.
                    unsafe { run.push(at) };
                }
                // A combined sampler was refused before.
                DescriptorSource::Combined { .. } => break,
                DescriptorSource::Structure(structure) => {
                    let Some(at) = heap.cpu_handle(index) else { break };
                    let desc = structure.view();
                    // SAFETY: the caller's promise; the description is a local that outlives the call, and
                    // such a view is of an address and of no resource.
                    unsafe {
                        run.flush();
                        self.raw.CreateShaderResourceView(None, Some(&raw const desc), at);
                    }
                    heap.set_content(index, Content::Other);
                    run.first = run.first.saturating_add(1);
                }
                DescriptorSource::Constants { resource, offset, size } => {
                    let desc = self.constants(resource, *offset, *size);
                    let (Ok(desc), Some(at)) = (desc, heap.cpu_handle(index)) else { break };
                    // SAFETY: the caller's promise; the description is a local that outlives the call, and
                    // its range is inside a live buffer.
                    unsafe {
                        run.flush();
                        self.raw.CreateConstantBufferView(Some(&raw const desc), at);
                    }
                    heap.set_content(index, Content::Constants);
                    run.first = run.first.saturating_add(1);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { run.flush() };
    }
}
