//! Creation, filling and clearing of descriptor heaps.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenure_core::device::{
    BindingKind, BufferAccess, BufferView, CallRule, Descriptor, DescriptorHeapDesc, DescriptorKind,
    DescriptorSource, DeviceError, check,
};

use crate::descriptors::content::{Content, Slot, What};
use crate::descriptors::heap::{DescriptorHeap, DescriptorHeapState, check_desc, empty_slots};
use crate::descriptors::{Described, view};
use crate::hazard::{Checks, HazardKind};
use crate::object::ObjectKind;
use crate::shared::Shared;

impl Shared {
    pub(crate) fn create_descriptor_heap(
        &self,
        desc: &DescriptorHeapDesc,
    ) -> Result<DescriptorHeap, DeviceError> {
        check_desc(&self.properties.descriptors, desc)?;
        let slots = empty_slots(u64::from(desc.count))?;
        let label = self.register.create(ObjectKind::DescriptorHeap);
        Ok(DescriptorHeap { state: Arc::new(DescriptorHeapState::new(label, *desc, slots)) })
    }

    pub(crate) fn destroy_descriptor_heap(&self, heap: &DescriptorHeap) {
        let state = &heap.state;
        self.check_unread(state, 0..state.desc.count, HazardKind::DestroyedInUse, "destroy_descriptor_heap");
        self.empty(state, 0..state.desc.count, &Slot::Empty, "destroy_descriptor_heap");
        self.register.destroy(&state.label);
    }

    pub(crate) fn write_descriptor(
        &self,
        heap: &DescriptorHeap,
        index: u32,
        descriptor: &Descriptor<'_, impl Described>,
    ) -> Result<(), DeviceError> {
        let state = &heap.state;
        if state.desc.shader_visible {
            return Err(DeviceError::invalid_value(CallRule::WrittenHidden, state.label.id));
        }
        state.check_index(index)?;
        check::descriptor_kind(descriptor.kind(), state.kind())?;
        let what = self.check_descriptor(descriptor)?;
        let mut slots = state.slots.lock();
        let Some(slot) = slots.get_mut(index as usize) else { return Ok(()) };
        if slot.is_filled() {
            return Err(DeviceError::invalid_value(CallRule::DescriptorCleared, u64::from(index)));
        }
        self.take_sampler(&what)?;
        *slot = Slot::Holds(Arc::new(Content::new(what)));
        Ok(())
    }

    fn check_descriptor(&self, descriptor: &Descriptor<'_, impl Described>) -> Result<What, DeviceError> {
        let what = match descriptor {
            Descriptor::Buffer { resource, view } => {
                view::buffer(&self.properties, &resource.state, view)?;
                What::Buffer { resource: Arc::clone(&resource.state), view: *view }
            }
            Descriptor::Texture { resource, view } => {
                view::texture(&resource.state, view)?;
                What::Texture { resource: Arc::clone(&resource.state), view: *view }
            }
            Descriptor::Sampler(desc) => {
                desc.validate(self.properties.descriptors.anisotropy)?;
                What::Sampler(*desc)
            }
        };
        if let Some((resource, freed)) =
            what.resource().and_then(|resource| Some((resource, resource.freed()?)))
        {
            let detail = format!("a view of it is made, and {freed} was destroyed");
            let kind = HazardKind::DeadDescriptor;
            self.report(Checks::DESCRIPTORS, kind, &[&resource.label], detail, "write_descriptor");
        }
        Ok(what)
    }

    fn take_sampler(&self, what: &What) -> Result<(), DeviceError> {
        if !matches!(what, What::Sampler(_)) {
            return Ok(());
        }
        let limit = self.properties.descriptors.samplers;
        let more = |count: u32| (count < limit).then(|| count + 1);
        let taken = self.samplers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|_| DeviceError::OutOfHostMemory { what: "samplers" })
    }

    /// Empties slots of a heap. In a heap that is not shader-visible, this destroys the views.
    fn empty(&self, heap: &DescriptorHeapState, range: Range<u32>, left: &Slot, call: &'static str) {
        let mut used = None;
        let mut slots = heap.slots.lock();
        let end = (range.end as usize).min(slots.len());
        let start = (range.start as usize).min(end);
        for (slot, index) in slots[start..end].iter_mut().zip(range.start..) {
            let before = std::mem::replace(slot, left.clone());
            let (Slot::Holds(content), false) = (before, heap.desc.shader_visible) else { continue };
            if matches!(content.what, What::Sampler(_)) {
                self.samplers.fetch_sub(1, Ordering::Relaxed);
            }
            // On Direct3D 12 the original is no longer needed.
            if !self.is_d3d12() && content.destroy() {
                used = used.or_else(|| Some((index, content.last_use.first_after(&self.observed)?)));
            }
        }
        drop(slots);
        if let Some((index, used)) = used {
            let uses = format!("reads the view at index {index}");
            self.report_use(Checks::DESCRIPTORS, HazardKind::DescriptorInUse, &heap.label, uses, used, call);
        }
    }

    /// Checks descriptors that the CPU overwrites or frees: work in flight must not read them.
    fn check_unread(
        &self,
        heap: &DescriptorHeapState,
        range: Range<u32>,
        kind: HazardKind,
        call: &'static str,
    ) {
        if !self.checks.contains(Checks::DESCRIPTORS) {
            return;
        }
        let read = heap.reads.lock().first_after(range, &self.observed.load());
        if let Some((index, queue, serial)) = read {
            let (uses, used) = (format!("reads index {index}"), (queue, serial));
            self.report_use(Checks::DESCRIPTORS, kind, &heap.label, uses, used, call);
        }
    }

    pub(crate) fn fill_descriptors(
        &self,
        heap: &DescriptorHeap,
        first: u32,
        sources: &[DescriptorSource<'_, impl Described>],
    ) -> Result<(), DeviceError> {
        let state = &heap.state;
        if !state.desc.shader_visible {
            return Err(DeviceError::invalid_value(CallRule::FilledVisible, state.label.id));
        }
        check::descriptors_inside(first, sources.len() as u64, state.desc.count)?;
        let range = first..first + sources.len() as u32;
        for source in sources {
            let binding = self.check_source(source)?;
            let is_address = binding == BindingKind::AccelerationStructure && !self.is_d3d12();
            if binding.is_for_sets_alone() || is_address {
                return Err(DeviceError::invalid_value(CallRule::InSetsAlone, binding));
            }
            let kind = if binding == BindingKind::Sampler {
                DescriptorKind::Sampler
            } else {
                DescriptorKind::Resource
            };
            check::descriptor_kind(kind, state.kind())?;
        }
        self.check_unread(state, range.clone(), HazardKind::DescriptorInUse, "fill_descriptors");
        let mut slots = state.slots.lock();
        let slots = slots.iter_mut().skip(range.start as usize);
        slots.zip(sources).for_each(|(slot, source)| *slot = slot_of(source));
        Ok(())
    }

    /// Checks the source of a descriptor; returns the kind of its binding.
    pub(super) fn check_source(
        &self,
        source: &DescriptorSource<'_, impl Described>,
    ) -> Result<BindingKind, DeviceError> {
        match source {
            DescriptorSource::Copy { heap, index } => copied(heap, *index),
            DescriptorSource::Combined { views, view, samplers, sampler } => {
                for (heap, index, wanted) in
                    [(views, *view, BindingKind::Texture), (samplers, *sampler, BindingKind::Sampler)]
                {
                    let given = copied(heap, index)?;
                    if given != wanted {
                        return Err(DeviceError::invalid_call(CallRule::BindingKind, given, wanted));
                    }
                }
                Ok(BindingKind::CombinedSampler)
            }
            DescriptorSource::Structure(structure) => {
                structure.state.check_traced()?;
                Ok(BindingKind::AccelerationStructure)
            }
            DescriptorSource::Constants { resource, offset, size } => {
                let view = BufferView { offset: *offset, size: *size, access: BufferAccess::Constants };
                view::buffer(&self.properties, &resource.state, &view)?;
                Ok(BindingKind::Constants)
            }
        }
    }

    pub(crate) fn clear_descriptors(
        &self,
        heap: &DescriptorHeap,
        first: u32,
        count: u32,
        freed_by: Option<&str>,
    ) {
        let state = &heap.state;
        let end = first.saturating_add(count);
        if end > state.desc.count {
            let detail = format!("index {} is cleared of {}", end.saturating_sub(1), state.desc.count);
            let kind = HazardKind::InvalidUse;
            self.report(Checks::DESCRIPTORS, kind, &[&state.label], detail, "clear_descriptors");
        }
        self.check_unread(state, first..end, HazardKind::DescriptorInUse, "clear_descriptors");
        self.empty(state, first..end, &Slot::cleared(freed_by), "clear_descriptors");
    }
}

/// The kind of binding for the content of a heap that is not shader-visible, at an index.
fn copied(heap: &DescriptorHeap, index: u32) -> Result<BindingKind, DeviceError> {
    let state = &heap.state;
    if state.desc.shader_visible {
        return Err(DeviceError::invalid_value(CallRule::WrittenHidden, state.label.id));
    }
    state.check_index(index)?;
    match state.slots.lock().get(index as usize) {
        Some(Slot::Holds(content)) => {
            let hidden = || DeviceError::invalid_value(CallRule::TargetsHidden, state.label.id);
            content.what.binding().ok_or_else(hidden)
        }
        _ => Err(DeviceError::invalid_value(CallRule::DescriptorWritten, u64::from(index))),
    }
}

/// The slot for a checked source.
pub(super) fn slot_of(source: &DescriptorSource<'_, impl Described>) -> Slot {
    match source {
        DescriptorSource::Copy { heap, index } => heap.state.slot(*index),
        DescriptorSource::Combined { views, view, samplers, sampler } => {
            match (views.state.slot(*view), samplers.state.slot(*sampler)) {
                (Slot::Holds(view), Slot::Holds(sampler)) => Slot::Combined(view, sampler),
                // Another thread has cleared one of them since.
                _ => Slot::Empty,
            }
        }
        DescriptorSource::Structure(structure) => Slot::Structure(Arc::clone(&structure.state)),
        DescriptorSource::Constants { resource, offset, size } => {
            Slot::Constants { resource: Arc::clone(&resource.state), offset: *offset, size: *size }
        }
    }
}
