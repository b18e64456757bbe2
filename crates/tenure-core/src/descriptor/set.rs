//! Descriptor sets: those that last, and those of one recording.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use elsa::FrozenVec;
use parking_lot::Mutex;

use super::bind::{Bind, Share, shares};
use super::set_layout::{LayoutInner, RecordedBlock, SetLayout, SetLayoutInner, release_block};
use super::store::DescriptorService;
use crate::block_set::BlockKey;
use crate::context::{Context, RetiredDescriptor};
use crate::device::{Device, DeviceError, Permit};
use crate::registry::{ObjectKind, RecordKey};
use crate::slot_blocks::Slot;
use crate::time::Stamp;
use crate::{Error, Name};

/// A descriptor set to create.
pub struct DescriptorSetDesc<'a, D: Device> {
    /// Its layout.
    pub layout: &'a SetLayout<D>,
    /// Its descriptors, each with its binding and its element there.
    pub binds: &'a [(u32, u32, Bind<'a, D>)],
    /// Its name.
    pub name: Name,
}

debug_fields!([D: Device] DescriptorSetDesc<'_, D>, "DescriptorSetDesc", this, name: this.name, layout: this.layout, binds: this.binds);

impl<'a, D: Device> DescriptorSetDesc<'a, D> {
    /// A set of these descriptors, each by binding and element.
    #[must_use]
    pub fn new(layout: &'a SetLayout<D>, binds: &'a [(u32, u32, Bind<'a, D>)]) -> Self {
        Self { layout, binds, name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A descriptor set, for as long as it lives.
///
/// It does not change, so that it cannot change while the GPU reads it: to change one, make another
/// and drop the old one. It keeps its layout and its views, and those their resources. Dropping it
/// frees it once no recording and no GPU work uses it any more. `Send` and `Sync`.
///
/// ```
/// use tenure::{
///     BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorSetDesc, Gpu, SamplerDesc, SetBinding,
///     SetLayoutDesc, Usage, sim,
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
/// let binds = [(0, 1, (&lights).into()), (1, 0, (&smooth).into())];
/// let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("rock"))?;
/// drop((layout, lights, smooth)); // the set keeps them
/// let _bind = (set.block(), set.index());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct DescriptorSet<D: Device> {
    name: Name,
    /// `None` only inside `drop`.
    set: Option<LastingSet<D>>,
    record: RecordKey,
    born: Stamp,
    _kept: Box<[Share]>,
    /// The evictable blocks that it shows.
    blocks: Box<[BlockKey]>,
    _layout: Arc<LayoutInner<D>>,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

debug_fields!([D: Device] DescriptorSet<D>, "DescriptorSet", this, name: this.name);

/// A set of a block.
pub(crate) struct LastingSet<D: Device> {
    pub(super) slot: Slot<D::SetBlock>,
    pub(super) layout_inner: Arc<SetLayoutInner<D>>,
    pub(super) name: Name,
}

impl<D: Device> DescriptorSet<D> {
    pub(crate) fn create(
        service: &Arc<DescriptorService<D>>,
        desc: &DescriptorSetDesc<'_, D>,
    ) -> Result<Self, Error> {
        let (context, DescriptorSetDesc { layout, binds, name }) = (&service.context, desc);
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let layout_inner = layout.inner.form_for(service)?;
        let writes = layout_inner.writes(service, binds)?;
        let kept = shares(name, binds.iter().map(|(_, _, bind)| *bind))?;
        let taken = context.retry(|| layout_inner.take_lasting(service, &writes));
        let slot = taken.map_err(|source| context.refused(name, source))?;
        Ok(Self {
            set: Some(LastingSet { slot, layout_inner: layout_inner.clone(), name: name.clone() }),
            record: context.register(name, ObjectKind::DescriptorSet, 0),
            born: context.clock.stamp(),
            name: name.clone(),
            _kept: kept,
            blocks: binds.iter().filter_map(|(_, _, bind)| bind.block()).collect(),
            _layout: layout.inner.clone(),
            service: service.clone(),
        })
    }

    const fn slot(&self) -> &Slot<D::SetBlock> {
        match &self.set {
            Some(set) => &set.slot,
            None => unreachable!(),
        }
    }

    pub(crate) fn blocks(&self) -> &[BlockKey] {
        &self.blocks
    }

    pub(crate) fn context(&self) -> &Arc<Context<D>> {
        &self.service.context
    }

    /// The block of sets that it is in.
    #[must_use]
    pub fn block(&self) -> &D::SetBlock {
        &self.slot().object
    }

    /// Its number in the block.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.slot().index
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }
}

impl<D: Device> Drop for DescriptorSet<D> {
    fn drop(&mut self) {
        if let Some(set) = self.set.take() {
            self.service.context.registry.remove(self.record);
            self.service.context.release_descriptors(RetiredDescriptor::Set(Box::new(set)), self.born);
        }
    }
}

/// A descriptor set for one submission: from [`Scratch::set`](crate::Scratch::set).
///
/// It borrows the recording it was made for, so that it cannot be used once that is submitted.
pub struct Set<'r, D: Device> {
    block: &'r D::SetBlock,
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
    /// The block of sets that it is in.
    #[must_use]
    pub const fn block(&self) -> &'r D::SetBlock {
        self.block
    }

    /// Its number in the block.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Takes a set for a recording and writes it.
    pub(crate) fn take(
        service: &'r DescriptorService<D>,
        recorded: &'r OnceCell<Box<RecordedSets<D>>>,
        recording: &Name,
        layout: &SetLayout<D>,
        binds: &[(u32, u32, Bind<'_, D>)],
    ) -> Result<Self, Error> {
        let context = &service.context;
        let layout_inner = layout.inner.form_for(service)?;
        let writes = layout_inner.writes(service, binds)?;
        let sets = recorded.get_or_init(|| service.store.recorded_sets.take());
        let refuse = |source| context.refused(&layout_inner.name, source);
        let (block, index) = sets.take(service, layout_inner, recording).map_err(refuse)?;
        context.device().write_set(Permit::own(), block, index, &writes).map_err(refuse)?;
        Ok(Self { block, index })
    }
}

/// No block.
const NONE: u32 = u32::MAX;

/// Blocks of the layouts that a recording uses.
pub(crate) struct RecordedSets<D: Device> {
    blocks: FrozenVec<Box<RecordedBlock<D>>>,
    /// By the number of the layout: the index of the block that is being filled.
    current: RefCell<Vec<u32>>,
}

impl<D: Device> RecordedSets<D> {
    fn new() -> Self {
        Self { blocks: FrozenVec::new(), current: RefCell::new(Vec::new()) }
    }

    /// A set of a form that nobody else is given before the recording's submission is complete.
    #[inline]
    pub(super) fn take(
        &self,
        service: &DescriptorService<D>,
        layout_inner: &Arc<SetLayoutInner<D>>,
        recording: &Name,
    ) -> Result<(&D::SetBlock, u32), DeviceError> {
        let current = self.current.borrow().get(layout_inner.id).copied().unwrap_or(NONE);
        if let Some(block) = self.blocks.get(current as usize)
            && let Some(set) = block.bump()
        {
            return Ok((&block.block, set));
        }
        self.take_block(service, layout_inner, recording)
    }

    #[cold]
    fn take_block(
        &self,
        service: &DescriptorService<D>,
        layout_inner: &Arc<SetLayoutInner<D>>,
        recording: &Name,
    ) -> Result<(&D::SetBlock, u32), DeviceError> {
        let block = layout_inner.take_block(service, recording)?;
        let index = u32::try_from(self.blocks.len()).unwrap_or(NONE);
        let block = self.blocks.push_get(block);
        let mut current = self.current.borrow_mut();
        if current.len() <= layout_inner.id {
            current.resize(layout_inner.id + 1, NONE);
        }
        if let Some(place) = current.get_mut(layout_inner.id) {
            *place = index;
        }
        let set = block.bump().ok_or(DeviceError::OutOfHostMemory { what: "a block of sets" })?;
        Ok((&block.block, set))
    }

    /// Nothing uses the recording's sets any more: gives the blocks back to their layouts.
    fn release(&mut self, context: &Context<D>) {
        for block in self.blocks.as_mut().drain(..) {
            if let Some(place) = block.form_id().and_then(|id| self.current.get_mut().get_mut(id)) {
                *place = NONE;
            }
            release_block(context, block);
        }
    }
}

/// What recordings note their sets in, between recordings.
#[allow(clippy::vec_box, reason = "they move between recordings, the release queue and here as they are")]
pub(super) struct RecordedSetsPool<D: Device>(Mutex<Vec<Box<RecordedSets<D>>>>);

impl<D: Device> Default for RecordedSetsPool<D> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<D: Device> RecordedSetsPool<D> {
    /// For a recording.
    pub(super) fn take(&self) -> Box<RecordedSets<D>> {
        self.0.lock().pop().unwrap_or_else(|| Box::new(RecordedSets::new()))
    }

    /// Of a recording whose sets nothing uses any more.
    pub(super) fn put_back(&self, mut sets: Box<RecordedSets<D>>, context: &Context<D>) {
        sets.release(context);
        self.0.lock().push(sets);
    }
}
