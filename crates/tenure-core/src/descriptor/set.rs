//! Descriptor sets: lasting ones, and those of one recording.

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use super::bind::{Bind, KeptBind, KeptBinds, kept_source, shares};
use super::followers::WeakFollower;
use super::movable_slot::Following;
use super::service::DescriptorService;
use super::set_layout::{DynamicLayout, LayoutInner, SetLayout, Writes};
use super::{ShaderStages, ShownUse};
use crate::block_set::BlockKey;
use crate::context::Context;
use crate::descriptor_store::{LastingSet, RecordedBlock, RecordedSets, RetiredDescriptor, SetLayoutInner};
use crate::device::{DescriptorSource, Device, DeviceError, Permit, SetWrite};
use crate::held_objects::LazyHeldObjects;
use crate::memory::{Holder, MakeRoom, MovableBacking};
use crate::permit::OwnPermit as _;
use crate::registry::{ObjectKind, RegistryKey};
use crate::slot_blocks::Slot;
use crate::time::Stamp;
use crate::{Error, Name};

/// A descriptor of a set: a view, a sampler, both together, an acceleration structure or constants, with its binding and array
/// element.
///
/// ```
/// # fn bind<D: tenure::device::Device>(view: &tenure::View<D>, sampler: &tenure::Sampler<D>) {
/// use tenure::SetDescriptor;
/// let binds = [SetDescriptor::new(0, view).element(3), SetDescriptor::new(1, (view, sampler))];
/// assert_eq!((binds[0].binding, binds[0].element), (0, 3));
/// # }
/// ```
#[non_exhaustive]
pub struct SetDescriptor<'a, D: Device> {
    /// The binding in the layout.
    pub binding: u32,
    /// The array element within the binding.
    pub element: u32,
    /// The resource.
    pub bind: Bind<'a, D>,
}

impl<'a, D: Device> SetDescriptor<'a, D> {
    /// The first element of a binding.
    #[must_use]
    pub fn new(binding: u32, bind: impl Into<Bind<'a, D>>) -> Self {
        Self { binding, element: 0, bind: bind.into() }
    }

    /// An array element of the binding.
    #[must_use]
    pub fn element(self, element: u32) -> Self {
        Self { element, ..self }
    }
}

impl<D: Device> Clone for SetDescriptor<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for SetDescriptor<'_, D> {}

debug_fields!([D: Device] SetDescriptor<'_, D>, "SetDescriptor", this, binding: this.binding, element: this.element, bind: this.bind);

/// A descriptor set to create.
#[non_exhaustive]
pub struct DescriptorSetDesc<'a, D: Device> {
    /// The layout.
    pub layout: &'a SetLayout<D>,
    /// The descriptors.
    pub binds: &'a [SetDescriptor<'a, D>],
    /// The name.
    pub name: Name,
}

debug_fields!([D: Device] DescriptorSetDesc<'_, D>, "DescriptorSetDesc", this, name: this.name, layout: this.layout, binds: this.binds);

impl<'a, D: Device> DescriptorSetDesc<'a, D> {
    /// A set of these descriptors.
    #[must_use]
    pub fn new(layout: &'a SetLayout<D>, binds: &'a [SetDescriptor<'a, D>]) -> Self {
        Self { layout, binds, name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A lasting descriptor set.
///
/// It is immutable, so that it cannot change while the GPU reads it: to change a set, create another and drop the old one. If it
/// contains a [movable](crate::TextureDesc::movable) resource, another API set replaces it after a move, and each recording must
/// get the current one from [`Scratch::lasting_set`](crate::Scratch::lasting_set). It keeps its layout, its views and their
/// resources alive. [`Commands::use_set`](crate::Commands::use_set) declares the uses of all of these. Dropping it
/// frees it once no recording and no GPU work uses it any more. `Send` and `Sync`.
///
/// ```
/// use tenure::{
///     BufferDesc, BufferViewDesc, Config, DescriptorSetDesc, Gpu, SamplerDesc, SetDescriptor,
///     SetLayoutDesc, Usage, descriptor::{BindingKind, SetBinding}, sim,
/// };
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
/// let bindings = [
///     SetBinding::new(0, BindingKind::Buffer).count(2),
///     SetBinding::new(1, BindingKind::Sampler),
/// ];
/// let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("material"))?;
/// let lights = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).name("lights"))?;
/// let lights = gpu.create_buffer_view(&lights, &BufferViewDesc::raw())?;
/// let smooth = gpu.create_sampler(&SamplerDesc::default().name("smooth"))?;
/// let binds = [SetDescriptor::new(0, &lights).element(1), SetDescriptor::new(1, &smooth)];
/// let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("rock"))?;
/// drop((layout, lights, smooth)); // the set keeps them
/// let _bind = (set.block(), set.index());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct DescriptorSet<D: Device> {
    name: Name,
    /// `None` only inside `drop`.
    set: Option<Written<D>>,
    registry_key: RegistryKey,
    born: Stamp,
    kept: Box<[KeptBind<D>]>,
    /// The evictable blocks of its immovable resources.
    blocks: Box<[BlockKey]>,
    _layout: Arc<LayoutInner<D>>,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

debug_fields!([D: Device] DescriptorSet<D>, "DescriptorSet", this, name: this.name);

/// The API set.
enum Written<D: Device> {
    Fixed(LastingSet<D>),
    /// Replaced after each move of a resource.
    Movable(Arc<MovableSet<D>>),
}

/// A set with movable resources.
pub(crate) struct MovableSet<D: Device> {
    kept: KeptBinds<D>,
    /// The binding and the array element of each descriptor.
    at: Box<[(u32, u32)]>,
    pub(super) set: Following<LastingSet<D>>,
    /// The set, once its resources are pinned.
    pinned: OnceLock<(Arc<D::SetPool>, u32)>,
    layout_inner: Arc<SetLayoutInner<D>>,
    name: Name,
    born: Stamp,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

impl<D: Device> MovableSet<D> {
    /// The set after the current move.
    fn next(&self) -> (Arc<D::SetPool>, u32) {
        match self.set.read_next(|set| (set.slot.object.clone(), set.slot.index)) {
            Some(found) => found,
            None => unreachable!("there is a set as long as there is a handle"),
        }
    }

    /// Pins the resources, and returns the final set.
    fn pin(&self) -> (&D::SetPool, u32) {
        let (block, index) = self.pinned.get_or_init(|| {
            self.kept.pin();
            self.next()
        });
        (block, *index)
    }

    /// The set. Keeps it and the places of its resources while the recording is open.
    fn hold<'r>(&self, held: LazyHeldObjects<'r, D>) -> (&'r D::SetPool, u32) {
        self.kept.hold(held);
        let (block, index) = self.next();
        (held.get().keep_set_pool(block), index)
    }

    /// Makes another set from the views after the current move.
    fn make(&self, room: &dyn MakeRoom) -> Result<LastingSet<D>, DeviceError> {
        let next = self.kept.next();
        let write = |((binding, element), kept): (&(u32, u32), _)| SetWrite {
            binding: *binding,
            element: *element,
            source: kept_source(kept),
        };
        let writes: Writes<'_, D> = self.at.iter().zip(&next).map(write).collect();
        let slot = take_lasting(&self.service, room, &self.layout_inner, &writes)?;
        Ok(LastingSet { slot, layout_inner: self.layout_inner.clone(), name: self.name.clone() })
    }
    /// Makes another set from the views after the current move. False on failure.
    pub(super) fn follow(&self, room: &dyn MakeRoom) -> bool {
        self.set.follow(&self.service, || self.make(room))
    }

    /// Releases the unneeded set.
    pub(super) fn settle(&self) {
        self.set.take_former().into_iter().for_each(|set| retire(&self.service, set, self.born));
    }
}

impl<D: Device> Drop for MovableSet<D> {
    fn drop(&mut self) {
        self.kept.forget_follower(&self.service);
    }
}

/// Queues an unreferenced set for release.
fn retire<D: Device>(service: &DescriptorService<D>, set: LastingSet<D>, born: Stamp) {
    service.context.release_descriptors(RetiredDescriptor::Set(Box::new(set)), born);
}

/// Allocates a lasting set of a layout, and writes it.
fn take_lasting<D: Device>(
    service: &DescriptorService<D>,
    room: &dyn MakeRoom,
    layout_inner: &SetLayoutInner<D>,
    writes: &[SetWrite<'_, D>],
) -> Result<Slot<D::SetPool>, DeviceError> {
    let (context, store) = (&service.context, service.store());
    if !layout_inner.has_room() {
        context.reclaim_without_frames();
    }
    room.retry(|| layout_inner.take_lasting(store, context.device(), context.current_frame(), writes))
}

/// A pool of sets for a recording: an unused one, or a new one.
#[cold]
fn take_block<D: Device>(
    service: &DescriptorService<D>,
    room: &dyn MakeRoom,
    layout_inner: &SetLayoutInner<D>,
) -> Result<Box<RecordedBlock<D>>, DeviceError> {
    let (context, store) = (&service.context, service.store());
    let idle = layout_inner.take_idle_block().or_else(|| {
        context.reclaim_without_frames();
        layout_inner.take_idle_block()
    });
    let make = || layout_inner.make_recorded_block(store, context.device());
    idle.map_or_else(|| room.retry(make), Ok)
}

impl<D: Device> DescriptorSet<D> {
    pub(crate) fn create(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        desc: &DescriptorSetDesc<'_, D>,
    ) -> Result<Self, Error> {
        let (context, DescriptorSetDesc { layout, binds, name }) = (&service.context, desc);
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let layout_inner = layout.inner.form_for(service)?;
        let noted = OnceCell::new();
        // Holds movable resources until the follower is registered.
        let held =
            LazyHeldObjects { noted: &noted, pool: &context.held_objects, holder: Holder::NO_RECORDING };
        let writes = layout_inner.writes(service, binds, held)?;
        let kept = shares(name, binds.iter().map(|it| it.bind))?;
        let taken = take_lasting(service, room, layout_inner, &writes);
        let slot = taken.map_err(|source| context.refused(name, source))?;
        let set = LastingSet { slot, layout_inner: layout_inner.clone(), name: name.clone() };
        let born = context.clock.stamp();
        let (set, blocks) = match KeptBinds::of(binds.iter().map(|it| it.bind)) {
            Some(kept) => {
                let set = MovableSet {
                    kept,
                    at: binds.iter().map(|it| (it.binding, it.element)).collect(),
                    set: Following::new(set),
                    pinned: OnceLock::new(),
                    layout_inner: layout_inner.clone(),
                    name: name.clone(),
                    born,
                    service: service.clone(),
                };
                let set = Arc::new(set);
                set.kept.add_follower(service, || WeakFollower::Set(Arc::downgrade(&set)));
                let fixed = binds.iter().filter_map(|it| it.bind.fixed_block());
                (Written::Movable(set), fixed.collect())
            }
            None => (Written::Fixed(set), binds.iter().filter_map(|it| it.bind.block()).collect()),
        };
        Ok(Self {
            set: Some(set),
            registry_key: context.register(name, ObjectKind::DescriptorSet, 0),
            born,
            name: name.clone(),
            kept,
            blocks,
            _layout: layout.inner.clone(),
            service: service.clone(),
        })
    }

    const fn written(&self) -> &Written<D> {
        match &self.set {
            Some(set) => set,
            None => unreachable!(),
        }
    }

    /// Pins the resources, and returns the final set.
    fn pinned(&self) -> (&D::SetPool, u32) {
        match self.written() {
            Written::Fixed(set) => (&set.slot.object, set.slot.index),
            Written::Movable(set) => set.pin(),
        }
    }

    /// The set for a recording; its resources do not move until that is submitted.
    pub(crate) fn hold<'r>(&'r self, held: LazyHeldObjects<'r, D>) -> Set<'r, D> {
        let (block, index) = match self.written() {
            Written::Fixed(set) => (&*set.slot.object, set.slot.index),
            Written::Movable(set) => set.hold(held),
        };
        Set { block, index }
    }

    /// The evictable blocks that now contain its resources.
    pub(crate) fn each_block(&self, mut visit: impl FnMut(BlockKey)) {
        self.blocks.iter().copied().for_each(&mut visit);
        if let Written::Movable(set) = self.written() {
            set.kept.blocks().for_each(visit);
        }
    }

    /// The movable resources.
    pub(crate) fn movables(&self) -> &[Arc<MovableBacking<D>>] {
        match self.written() {
            Written::Fixed(_) => &[],
            Written::Movable(set) => &set.kept.movables,
        }
    }

    pub(crate) fn blocks(&self) -> &[BlockKey] {
        &self.blocks
    }

    /// The key of its registry entry, as a number.
    pub(crate) fn registry_key_bits(&self) -> u64 {
        self.registry_key.to_bits()
    }

    /// The declared uses of its resources.
    pub(crate) fn shown(&self, stages: ShaderStages) -> impl Iterator<Item = ShownUse<'_, D>> {
        self.kept.iter().filter_map(move |bind| bind.shown(stages))
    }

    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.service.context
    }

    /// The pool of sets that contains it. Pins its movable resources: recordings should use
    /// [`Scratch::lasting_set`](crate::Scratch::lasting_set) instead.
    #[must_use]
    pub fn block(&self) -> &D::SetPool {
        self.pinned().0
    }

    /// The index in the pool. Pins its movable resources: recordings should use
    /// [`Scratch::lasting_set`](crate::Scratch::lasting_set) instead.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.pinned().1
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }
}

impl<D: Device> Drop for DescriptorSet<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(set) = self.set.take() {
            self.service.context.unregister(self.registry_key);
            let set = match set {
                Written::Fixed(set) => Some(set),
                Written::Movable(set) => set.set.take(),
            };
            set.into_iter().for_each(|set| retire(&self.service, set, self.born));
        }
    }
}

/// A descriptor set for one submission: from [`Scratch::set`](crate::Scratch::set).
///
/// It borrows its recording, so that it cannot be used after the submission.
pub struct Set<'r, D: Device> {
    block: &'r D::SetPool,
    index: u32,
}

debug_fields!([D: Device] Set<'_, D>, "Set", this, index: this.index);

impl<D: Device> Clone for Set<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Set<'_, D> {}

impl<'r, D: Device> Set<'r, D> {
    /// The pool of sets that contains it.
    #[must_use]
    pub const fn block(&self) -> &'r D::SetPool {
        self.block
    }

    /// The index in the pool.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Allocates a set for a recording, and writes it.
    pub(crate) fn take(
        service: &'r DescriptorService<D>,
        room: &dyn MakeRoom,
        recorded: &'r OnceCell<Box<RecordedSets<D>>>,
        recording: &Name,
        held: LazyHeldObjects<'_, D>,
        layout: &SetLayout<D>,
        binds: &[SetDescriptor<'_, D>],
    ) -> Result<Self, Error> {
        let layout_inner = layout.inner.form_for(service)?;
        let writes = layout_inner.writes(service, binds, held)?;
        Self::take_written(service, room, recorded, recording, layout_inner, &writes)
    }

    /// Allocates a set for a recording, with checked writes.
    fn take_written(
        service: &'r DescriptorService<D>,
        room: &dyn MakeRoom,
        recorded: &'r OnceCell<Box<RecordedSets<D>>>,
        recording: &Name,
        layout_inner: &Arc<SetLayoutInner<D>>,
        writes: &[SetWrite<'_, D>],
    ) -> Result<Self, Error> {
        let context = &service.context;
        let sets = recorded.get_or_init(|| service.store().recorded_sets.take());
        let refuse = |source| context.refused(&layout_inner.name, source);
        let (block, index) = match sets.take(layout_inner) {
            Some(set) => set,
            None => take_block(service, room, layout_inner)
                .and_then(|block| sets.add(layout_inner, recording, block))
                .map_err(refuse)?,
        };
        context.device().write_set(Permit::own(), block, index, writes).map_err(refuse)?;
        Ok(Self { block, index })
    }

    /// The set of a page of constants for a layout of dynamic constants, if the recording has one: its page has the index `page`,
    /// and its range holds `size` bytes and ends within `room` bytes.
    #[inline]
    pub(crate) fn of_page(
        recorded: &'r OnceCell<Box<RecordedSets<D>>>,
        layout: &DynamicLayout<'_, D>,
        page: usize,
        (size, room): (u64, u64),
    ) -> Option<Self> {
        let sets = recorded.get()?;
        let found = sets.of_page(layout.layout_inner)?;
        let is_shown = found.page == page && size <= found.range && found.range <= room;
        let (block, index) = sets.find(found).filter(|_| is_shown)?;
        Some(Self { block, index })
    }

    /// Allocates a set for a page of constants, `page` with its buffer, with a range that holds `size` bytes and all earlier
    /// sizes, if that range ends within `room` bytes.
    #[cold]
    pub(crate) fn make_of_page(
        service: &'r DescriptorService<D>,
        room: &dyn MakeRoom,
        recorded: &'r OnceCell<Box<RecordedSets<D>>>,
        recording: &Name,
        DynamicLayout { layout_inner, binding }: &DynamicLayout<'_, D>,
        (page, resource): (usize, &D::Resource),
        (size, bytes): (u64, u64),
    ) -> Result<Self, Error> {
        let last = recorded.get().and_then(|sets| sets.of_page(layout_inner)).map_or(0, |last| last.range);
        let range = if last <= bytes { last.max(size) } else { size };
        let source = DescriptorSource::Constants { resource, offset: 0, size: range };
        let writes = [SetWrite { binding: *binding, element: 0, source }];
        let taken = Self::take_written(service, room, recorded, recording, layout_inner, &writes)?;
        if let Some(sets) = recorded.get() {
            sets.keep_of_page(layout_inner, (page, range), taken.index);
        }
        Ok(taken)
    }
}
