//! Layouts of descriptor sets, each with its blocks of sets.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use slab::Slab;
use smallvec::SmallVec;

use super::bind::Bind;
use super::store::{DescriptorService, DescriptorStore};
use crate::context::{Context, RetiredDescriptor};
use crate::device::{
    Allowed, BindingKind, CallRule, DescriptorSource, Device, DeviceError, ObjectRef, Permit, SetBinding,
    SetWrite,
};
use crate::places::Places;
use crate::registry::{ObjectKind, RecordKey};
use crate::slot_blocks::{Slot, SlotBlocks};
use crate::time::Stamp;
use crate::{Error, Name};

/// A set layout to create.
#[derive(Clone, Debug)]
pub struct SetLayoutDesc<'a> {
    /// Its bindings, in any order; at least one.
    pub bindings: &'a [SetBinding],
    /// Its name.
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

/// The form of descriptor sets: a clone is cheap, and equal forms may be made more than once.
///
/// It goes when the last clone and the last lasting [set](crate::DescriptorSet) of the form are
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

/// What handles and lasting sets share of a layout.
pub(super) struct LayoutInner<D: Device> {
    /// `None` only inside `drop`.
    layout_inner: Option<Arc<SetLayoutInner<D>>>,
    record: RecordKey,
    born: Stamp,
    /// Declared last, as in every handle.
    pub(super) service: Arc<DescriptorService<D>>,
}

/// The layout, and its blocks. Held by the handles, and by what waits for the GPU.
pub(crate) struct SetLayoutInner<D: Device> {
    pub(super) name: Name,
    /// A small number that no other living form of the manager has.
    pub(super) id: usize,
    layout: D::SetLayout,
    /// In the order of their numbers.
    bindings: Box<[SetBinding]>,
    /// Sets of a block.
    sets: u32,
    pub(super) pool: Mutex<SetPool<D>>,
}

/// Sets that nothing uses.
pub(super) struct SetPool<D: Device> {
    /// Blocks of sets that last, one by one.
    pub(super) lasting: SlotBlocks<D::SetBlock>,
    /// Blocks for recordings; the last used on top. As command lists they are kept: how many recordings
    /// are in flight at once varies, and now and then all of them are needed.
    #[allow(
        clippy::vec_box,
        reason = "they move between recordings, the release queue and here as they are"
    )]
    pub(super) idle: Vec<Box<RecordedBlock<D>>>,
}

/// Sets of one recording after the other.
pub(crate) struct RecordedBlock<D: Device> {
    pub(super) block: D::SetBlock,
    /// Sets in it, and how many the recording has used.
    sets: u32,
    used: Cell<u32>,
    /// Who has it.
    recording: Name,
    /// Its form, while a recording or the GPU has it.
    layout_inner: Option<Arc<SetLayoutInner<D>>>,
}

impl<D: Device> RecordedBlock<D> {
    /// The next set that is not used.
    #[inline]
    pub(super) fn bump(&self) -> Option<u32> {
        let set = self.used.get();
        (set < self.sets).then(|| {
            self.used.set(set + 1);
            set
        })
    }

    pub(super) fn form_id(&self) -> Option<usize> {
        self.layout_inner.as_ref().map(|layout_inner| layout_inner.id)
    }
}

/// What a set is made from, for the device.
pub(super) type Writes<'a, D> = SmallVec<[SetWrite<'a, D>; 16]>;

impl<D: Device> SetLayout<D> {
    pub(crate) fn create(
        service: &Arc<DescriptorService<D>>,
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
        let layout = context.retry(make).map_err(|source| context.refused(&name, source))?;
        service.store.note_made();
        let sets = sets_of_block(context.config.descriptors.set_block, &bindings);
        let pool = Mutex::new(SetPool { lasting: SlotBlocks::default(), idle: Vec::new() });
        let record = context.register(&name, ObjectKind::SetLayout, 0);
        let layout_inner =
            service.store.set_layouts.insert(|id| SetLayoutInner { name, id, layout, bindings, sets, pool });
        let born = context.clock.stamp();
        let inner = LayoutInner { layout_inner: Some(layout_inner), record, born, service: service.clone() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The API's layout. Do not destroy or keep it.
    #[must_use]
    pub fn raw(&self) -> &D::SetLayout {
        &self.inner.layout_inner().layout
    }

    /// Its bindings, in the order of their numbers.
    #[must_use]
    pub fn bindings(&self) -> &[SetBinding] {
        &self.inner.layout_inner().bindings
    }

    /// Its name.
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

    /// The form, for sets of a manager.
    pub(super) fn form_for(&self, service: &DescriptorService<D>) -> Result<&Arc<SetLayoutInner<D>>, Error> {
        let layout_inner = self.layout_inner();
        if std::ptr::eq(&*self.service, service) {
            Ok(layout_inner)
        } else {
            Err(Error::Foreign { name: layout_inner.name.clone() })
        }
    }
}

impl<D: Device> Drop for LayoutInner<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(layout_inner) = self.layout_inner.take() {
            self.service.context.registry.remove(self.record);
            self.service
                .context
                .release_descriptors(RetiredDescriptor::SetLayout(Box::new(layout_inner)), self.born);
        }
    }
}

/// The bindings in the order of their numbers, if these differ and each has descriptors.
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

/// As many sets as asked for, but not very many descriptors.
fn sets_of_block(most: u32, bindings: &[SetBinding]) -> u32 {
    const DESCRIPTORS: u64 = 1 << 16;
    let of_set: u64 = bindings.iter().map(|binding| u64::from(binding.count)).sum();
    let sets = DESCRIPTORS.checked_div(of_set).unwrap_or(1).max(1);
    most.min(u32::try_from(sets).unwrap_or(u32::MAX))
}

impl<D: Device> SetLayoutInner<D> {
    /// What the device is to write, if the bindings exist, take what they are given, and each
    /// descriptor is written once.
    pub(super) fn writes<'a: 's, 's>(
        &self,
        service: &DescriptorService<D>,
        binds: &[(u32, u32, Bind<'a, D>)],
        places: Places<'s, D>,
    ) -> Result<Writes<'s, D>, Error> {
        let refuse = |source| Err(Error::device(&self.name, source));
        let mut writes = Writes::new();
        for (binding, element, bind) in binds {
            let Ok(index) = self.bindings.binary_search_by_key(binding, |known| known.binding) else {
                return refuse(DeviceError::invalid_value(CallRule::BindingExists, *binding));
            };
            let known = self.bindings[index];
            if *element >= known.count {
                return refuse(DeviceError::invalid_call(CallRule::ElementExists, *element, known.count));
            }
            let (kind, source) = bind.source(service, places).map_err(|error| *error)?;
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

    /// A set that lasts; the device writes it while nobody else can write its block.
    pub(super) fn take_lasting(
        &self,
        service: &DescriptorService<D>,
        writes: &[SetWrite<'_, D>],
    ) -> Result<Slot<D::SetBlock>, DeviceError> {
        let context = &service.context;
        let mut pool = self.pool.lock();
        if pool.lasting.with_room().is_none() {
            drop(pool);
            context.reclaim_without_frames();
            pool = self.pool.lock();
        }
        if pool.lasting.with_room().is_none() {
            let block = self.make_block(service)?;
            if let Err(block) = pool.lasting.add(block, self.sets, context.current_frame()) {
                service.store.destroy_set_block(context.device(), block);
            }
        }
        let slot = pool.lasting.take().ok_or(DeviceError::OutOfHostMemory { what: "a block of sets" })?;
        match context.device().write_set(Permit::own(), &slot.object, slot.index, writes) {
            Ok(()) => Ok(slot),
            Err(error) => {
                pool.lasting.free(slot, context.current_frame());
                Err(error)
            }
        }
    }

    /// Nothing reads a lasting set any more.
    pub(super) fn release_lasting(&self, context: &Context<D>, slot: Slot<D::SetBlock>, name: &Name) {
        let mut pool = self.pool.lock();
        let freed_by = context.config.descriptors.poison.then_some(name.as_str());
        context.device().clear_set(Permit::own(), &slot.object, slot.index, freed_by);
        pool.lasting.free(slot, context.current_frame());
    }

    /// A block for a recording: one that nothing uses, or else a new one.
    pub(super) fn take_block(
        self: &Arc<Self>,
        service: &DescriptorService<D>,
        recording: &Name,
    ) -> Result<Box<RecordedBlock<D>>, DeviceError> {
        let find = || self.pool.lock().idle.pop();
        let idle = find().or_else(|| {
            service.context.reclaim_without_frames();
            find()
        });
        let mut block = match idle {
            Some(block) => block,
            None => {
                let block = service.context.retry(|| self.make_block(service))?;
                let (sets, used) = (self.sets, Cell::new(0));
                Box::new(RecordedBlock { block, sets, used, recording: Name::default(), layout_inner: None })
            }
        };
        block.recording = recording.clone();
        block.layout_inner = Some(self.clone());
        Ok(block)
    }

    fn make_block(&self, service: &DescriptorService<D>) -> Result<D::SetBlock, DeviceError> {
        let block = service.context.device().create_set_block(Permit::own(), &self.layout, self.sets)?;
        service.store.note_set_block();
        if !self.name.is_empty() {
            service.context.device().set_name(Permit::own(), ObjectRef::SetBlock(&block), self.name.as_str());
        }
        Ok(block)
    }

    /// Takes out the blocks of lasting sets that nothing has used since before `oldest`.
    pub(super) fn retire(&self, oldest: u64, retired: &mut Vec<D::SetBlock>) {
        self.pool.lock().lasting.retire(oldest, retired);
    }

    /// Takes out the blocks for recordings that nothing uses.
    pub(super) fn trim(&self, retired: &mut Vec<D::SetBlock>) {
        retired.extend(self.pool.lock().idle.drain(..).map(|block| block.block));
    }

    /// Whether something refers to a block of lasting sets: on a device that is lost a recording may that is open.
    pub(super) fn is_referred_to(&self) -> bool {
        self.pool.lock().lasting.is_referred_to()
    }

    /// Destroys the layout and its blocks, none of which is used.
    pub(super) fn destroy(self, store: &DescriptorStore<D>, device: &D) {
        let SetPool { mut lasting, idle } = self.pool.into_inner();
        let blocks = lasting.take_all().into_iter().chain(idle.into_iter().map(|block| block.block));
        blocks.for_each(|block| store.destroy_set_block(device, block));
        device.destroy_set_layout(Permit::own(), self.layout);
    }
}

/// The view of constants whose offset is given when the set is bound begins where the buffer does.
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
    // In order, as they mostly are, none is there twice.
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

/// Nothing reads the sets of a recording any more.
pub(super) fn release_block<D: Device>(context: &Context<D>, mut block: Box<RecordedBlock<D>>) {
    let Some(layout_inner) = block.layout_inner.take() else { return };
    let used = block.used.replace(0);
    if context.config.descriptors.poison {
        for set in 0..used {
            context.device().clear_set(Permit::own(), &block.block, set, Some(block.recording.as_str()));
        }
    }
    layout_inner.pool.lock().idle.push(block);
}

/// All layouts, by number.
pub(super) struct SetLayouts<D: Device>(Mutex<Slab<Weak<SetLayoutInner<D>>>>);

impl<D: Device> Default for SetLayouts<D> {
    fn default() -> Self {
        Self(Mutex::new(Slab::new()))
    }
}

impl<D: Device> SetLayouts<D> {
    /// Takes in a layout, which is made with its number.
    pub(super) fn insert(&self, make: impl FnOnce(usize) -> SetLayoutInner<D>) -> Arc<SetLayoutInner<D>> {
        let mut set_layouts = self.0.lock();
        let place = set_layouts.vacant_entry();
        let layout_inner = Arc::new(make(place.key()));
        place.insert(Arc::downgrade(&layout_inner));
        layout_inner
    }

    /// A layout is destroyed, and its number free.
    pub(super) fn remove(&self, id: usize) {
        self.0.lock().try_remove(id);
    }

    /// Visits those that there are.
    pub(super) fn each(&self, visit: impl FnMut(Arc<SetLayoutInner<D>>)) {
        self.0.lock().iter().filter_map(|(_, layout_inner)| layout_inner.upgrade()).for_each(visit);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.lock().len()
    }
}
