//! Layouts of descriptor sets, each with its pools of sets.

use std::sync::Arc;

use smallvec::SmallVec;

use super::SetDescriptor;
use super::service::DescriptorService;
use super::view::constant_size;
use crate::descriptor_store::{RetiredDescriptor, SetLayoutInner};
use crate::device::{
    Allowed, BindingKind, CallRule, DescriptorSource, Device, DeviceError, SetBinding, SetWrite,
};
use crate::held_objects::LazyHeldObjects;
use crate::memory::MakeRoom;
use crate::registry::{ObjectKind, RegistryKey};
use crate::time::Stamp;
use crate::{Error, Name};

/// A set layout to create.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetLayoutDesc<'a> {
    /// The bindings, in any order; at least one.
    pub bindings: &'a [SetBinding],
    /// The name.
    pub name: Name,
}

impl<'a> SetLayoutDesc<'a> {
    /// A layout of these bindings.
    #[must_use]
    pub fn new(bindings: &'a [SetBinding]) -> Self {
        Self { bindings, name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// The layout of descriptor sets: a clone is cheap, and equal layouts may be created more than once.
///
/// It is destroyed when the last clone and the last lasting [set](crate::DescriptorSet) of the layout are
/// dropped, and no recording and no GPU work uses it any more. `Send` and `Sync`.
pub struct SetLayout<D: Device> {
    pub(super) inner: Arc<LayoutInner<D>>,
}

debug_fields!([D: Device] SetLayout<D>, "SetLayout", this, name: this.name(), bindings: this.bindings());

impl<D: Device> Clone for SetLayout<D> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

/// The part of a layout that handles and lasting sets share.
pub(super) struct LayoutInner<D: Device> {
    /// `None` only inside `drop`.
    layout_inner: Option<Arc<SetLayoutInner<D>>>,
    registry_key: RegistryKey,
    born: Stamp,
    /// Declared last, as in every handle.
    pub(super) service: Arc<DescriptorService<D>>,
}

/// The descriptor writes of a set, for the device.
pub(super) type Writes<'a, D> = SmallVec<[SetWrite<'a, D>; 16]>;

impl<D: Device> SetLayout<D> {
    pub(crate) fn create(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        desc: &SetLayoutDesc<'_>,
    ) -> Result<Self, Error> {
        let (context, name) = (&service.context, desc.name.clone());
        let refuse = |source| Error::device(&desc.name, source);
        context.clock.check().map_err(refuse)?;
        if !context.device().properties().descriptors.sets {
            return Err(refuse(DeviceError::Unsupported { feature: "descriptor sets" }));
        }
        let bindings = sorted(desc.bindings).map_err(refuse)?;
        context.reclaim_without_frames();
        let make = || context.device().create_set_layout(&bindings);
        let layout = room.retry(make).map_err(|source| context.refused(&name, source))?;
        let store = service.store();
        store.note_made();
        let sets = sets_of_block(context.config.descriptors.set_pool, &bindings);
        let registry_key = context.register(&name, ObjectKind::SetLayout, 0);
        let layout_inner =
            store.set_layouts.insert(|id| SetLayoutInner::new(name, id, layout, bindings, sets));
        let (born, service) = (context.clock.stamp(), service.clone());
        let inner = LayoutInner { layout_inner: Some(layout_inner), registry_key, born, service };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The API's layout. Do not destroy or keep it.
    #[must_use]
    pub fn raw(&self) -> &D::SetLayout {
        &self.inner.layout_inner().layout
    }

    /// The bindings, in the order of their numbers.
    #[must_use]
    pub fn bindings(&self) -> &[SetBinding] {
        &self.inner.layout_inner().bindings
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.inner.layout_inner().name
    }
}

impl<D: Device> LayoutInner<D> {
    pub(super) const fn layout_inner(&self) -> &Arc<SetLayoutInner<D>> {
        match &self.layout_inner {
            Some(layout_inner) => layout_inner,
            None => unreachable!(),
        }
    }

    /// The inner layout, for sets of this manager.
    pub(super) fn form_for(&self, service: &DescriptorService<D>) -> Result<&Arc<SetLayoutInner<D>>, Error> {
        let layout_inner = self.layout_inner();
        if std::ptr::eq(&*self.service, service) {
            Ok(layout_inner)
        } else {
            Err(Error::Foreign { name: layout_inner.name.clone() })
        }
    }
}

/// A layout with a single descriptor, of dynamic constants.
pub(crate) struct DynamicLayout<'a, D: Device> {
    pub(super) layout_inner: &'a Arc<SetLayoutInner<D>>,
    pub(super) binding: u32,
}

impl<D: Device> SetLayout<D> {
    /// The layout, for constants of `size` bytes with an offset.
    #[inline]
    pub(crate) fn dynamic(
        &self,
        service: &DescriptorService<D>,
        size: u64,
    ) -> Result<DynamicLayout<'_, D>, Error> {
        let layout_inner = self.inner.form_for(service)?;
        let properties = service.context.device().properties();
        match (&*layout_inner.bindings, constant_size(size, properties)) {
            ([SetBinding { binding, kind: BindingKind::DynamicConstants, count: 1 }], Ok(_)) => {
                Ok(DynamicLayout { layout_inner, binding: *binding })
            }
            ([SetBinding { kind: BindingKind::DynamicConstants, count: 1, .. }], Err(source)) => {
                Err(Error::device(&layout_inner.name, source))
            }
            (bindings, _) => Err(not_dynamic(&layout_inner.name, bindings)),
        }
    }
}

/// The error for a layout with other descriptors than one of dynamic constants.
#[cold]
fn not_dynamic(name: &Name, bindings: &[SetBinding]) -> Error {
    let rule = "dynamic constants have a layout of one binding of DynamicConstants, with one descriptor";
    let is_dynamic = |binding: &&SetBinding| binding.kind == BindingKind::DynamicConstants;
    let source = match (bindings.iter().find(|binding| !is_dynamic(binding)), bindings) {
        (Some(other), _) => DeviceError::invalid_call(rule, other.kind, BindingKind::DynamicConstants),
        (None, [one]) => DeviceError::invalid_call(rule, one.count, 1_u32),
        (None, all) => DeviceError::invalid_call(rule, all.len() as u64, 1_u64),
    };
    Error::device(name, source)
}

impl<D: Device> Drop for LayoutInner<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(layout_inner) = self.layout_inner.take() {
            self.service.context.unregister(self.registry_key);
            self.service.context.release_descriptors(RetiredDescriptor::SetLayout(layout_inner), self.born);
        }
    }
}

/// The bindings in the order of their numbers, if the numbers differ and each binding has descriptors.
fn sorted(bindings: &[SetBinding]) -> Result<Box<[SetBinding]>, DeviceError> {
    let bad = |field, value: u32, allowed| Err(DeviceError::invalid_desc(field, value, allowed));
    if bindings.is_empty() {
        return bad("bindings", 0, Allowed::AtLeast(1));
    }
    if bindings.iter().any(|binding| binding.count == 0) {
        return bad("count", 0, Allowed::AtLeast(1));
    }
    let mut sorted: Box<[SetBinding]> = bindings.into();
    sorted.sort_by_key(|binding| binding.binding);
    let twice = sorted.windows(2).find_map(|pair| match pair {
        [first, second] if first.binding == second.binding => Some(first.binding),
        _ => None,
    });
    match twice {
        Some(binding) => {
            bad("binding", binding, Allowed::Rule("a number that no other binding of the set has"))
        }
        None => Ok(sorted),
    }
}

/// The number of sets in a pool: the configured one, limited by a maximum number of descriptors.
fn sets_of_block(most: u32, bindings: &[SetBinding]) -> u32 {
    const DESCRIPTORS: u64 = 1 << 16;
    let of_set: u64 = bindings.iter().map(|binding| u64::from(binding.count)).sum();
    let sets = DESCRIPTORS.checked_div(of_set).unwrap_or(1).max(1);
    most.min(u32::try_from(sets).unwrap_or(u32::MAX))
}

impl<D: Device> SetLayoutInner<D> {
    /// The descriptor writes for the device, if the bindings exist, accept their sources, and each descriptor
    /// is written once.
    pub(super) fn writes<'a: 's, 's>(
        &self,
        service: &DescriptorService<D>,
        binds: &[SetDescriptor<'a, D>],
        held: LazyHeldObjects<'s, D>,
    ) -> Result<Writes<'s, D>, Error> {
        let refuse = |source| Err(Error::device(&self.name, source));
        let mut writes = Writes::new();
        for SetDescriptor { binding, element, bind } in binds {
            let Ok(index) = self.bindings.binary_search_by_key(binding, |known| known.binding) else {
                return refuse(DeviceError::invalid_value(CallRule::BindingExists, *binding));
            };
            let known = self.bindings[index];
            if *element >= known.count {
                return refuse(DeviceError::invalid_call(CallRule::ElementExists, *element, known.count));
            }
            let (kind, source) = bind.source(service, held).map_err(|error| *error)?;
            if !known.kind.takes(kind) {
                return refuse(DeviceError::invalid_call(CallRule::BindingKind, kind, known.kind));
            }
            let source = based(known.kind, source);
            writes.push(SetWrite { binding: *binding, element: *element, source });
        }
        match written_twice(&writes) {
            Some((_, element)) => refuse(DeviceError::invalid_value("each element is written once", element)),
            None => Ok(writes),
        }
    }
}

/// The source of a descriptor in a set. For dynamic constants the view begins at the start of the buffer, because binding the
/// set adds the offset.
fn based<D: Device>(kind: BindingKind, source: DescriptorSource<'_, D>) -> DescriptorSource<'_, D> {
    match source {
        DescriptorSource::Constants { resource, size, .. } if kind == BindingKind::DynamicConstants => {
            DescriptorSource::Constants { resource, offset: 0, size }
        }
        source => source,
    }
}

/// A descriptor, by binding and element, that is written more than once.
fn written_twice<D: Device>(writes: &[SetWrite<'_, D>]) -> Option<(u32, u32)> {
    let place = |write: &SetWrite<'_, D>| (write.binding, write.element);
    // Strictly sorted writes, the usual case, have no duplicates.
    if writes.is_sorted_by(|first, second| place(first) < place(second)) {
        return None;
    }
    let mut places: SmallVec<[(u32, u32); 16]> = writes.iter().map(place).collect();
    places.sort_unstable();
    places.windows(2).find_map(|pair| match pair {
        [first, second] if first == second => Some(*first),
        _ => None,
    })
}
