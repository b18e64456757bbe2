//! Descriptor sets: those that last, and those of one recording.

use std::sync::Arc;

use super::DescriptorGarbage;
use super::bind::{Bind, Share, shares};
use super::set_layout::{Form, LayoutInner, SetLayout};
use super::slot_blocks::Slot;
use crate::device::{Device, Permit};
use crate::gpu::Shared;
use crate::registry::{ObjectKind, RecordKey};
use crate::time::Stamp;
use crate::upload::Scratch;
use crate::{Error, Name};

/// A descriptor set, for as long as it lives.
///
/// It does not change, so that it cannot change while the GPU reads it: to change one, make another
/// and drop the old one. It keeps its layout and its views, and those their resources. Dropping it
/// frees it once no recording and no GPU work uses it any more. `Send` and `Sync`.
///
/// ```
/// use tenure::device::{BindingKind, SamplerDesc, SetBinding, Usage};
/// use tenure::{BufferDesc, BufferViewDesc, Config, Gpu};
/// use tenure::sim;
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
/// let bindings = [
///     SetBinding { binding: 0, kind: BindingKind::Buffer, count: 2 },
///     SetBinding { binding: 1, kind: BindingKind::Sampler, count: 1 },
/// ];
/// let layout = gpu.create_set_layout(&bindings, "material")?;
/// let lights = gpu.create_buffer(&BufferDesc::new(4800, Usage::SHADER_READ).name("lights"))?;
/// let lights = gpu.create_buffer_view(&lights, &BufferViewDesc::raw())?;
/// let smooth = gpu.create_sampler(&SamplerDesc::default(), "smooth")?;
/// let set = gpu.create_descriptor_set(&layout, &[(0, 1, (&lights).into()), (1, 0, (&smooth).into())], "rock")?;
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
    _layout: Arc<LayoutInner<D>>,
    /// Declared last, as in every handle.
    shared: Arc<Shared<D>>,
}

/// A set of a block.
pub(crate) struct LastingSet<D: Device> {
    pub(super) slot: Slot<D::SetBlock>,
    pub(super) form: Arc<Form<D>>,
    pub(super) name: Name,
}

impl<D: Device> DescriptorSet<D> {
    pub(crate) fn create(
        shared: &Arc<Shared<D>>,
        layout: &SetLayout<D>,
        binds: &[(u32, u32, Bind<'_, D>)],
        name: Name,
    ) -> Result<Self, Error> {
        shared.clock.check().map_err(|source| Error::device(&name, source))?;
        let form = layout.inner.form_for(shared)?;
        let writes = form.writes(shared, binds)?;
        let kept = shares(&name, binds.iter().map(|(_, _, bind)| *bind))?;
        let taken = shared.retry(|| form.take_lasting(shared, &writes));
        let slot = taken.map_err(|source| shared.refused(&name, source))?;
        Ok(Self {
            set: Some(LastingSet { slot, form: form.clone(), name: name.clone() }),
            record: shared.register(&name, ObjectKind::DescriptorSet, 0),
            born: shared.clock.stamp(),
            name,
            _kept: kept,
            _layout: layout.inner.clone(),
            shared: shared.clone(),
        })
    }

    const fn slot(&self) -> &Slot<D::SetBlock> {
        match &self.set {
            Some(set) => &set.slot,
            None => unreachable!(),
        }
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
            self.shared.registry.remove(self.record);
            self.shared.release_descriptors(DescriptorGarbage::Set(Box::new(set)), self.born);
        }
    }
}

/// A descriptor set for one submission: from [`Scratch::set`].
///
/// It borrows the recording it was made for, so that it cannot be used once that is submitted.
pub struct Set<'r, D: Device> {
    block: &'r D::SetBlock,
    index: u32,
}

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
}

impl<'r, D: Device> Scratch<'r, D> {
    /// Makes a descriptor set for this submission: each descriptor by binding and element. The views
    /// may be dropped right after. Descriptors that are not given hold nothing that a shader may use.
    ///
    /// O(descriptors): no lock and no allocation while a block of
    /// [`Config::set_block`](crate::Config::set_block) sets lasts, but for more than 16 descriptors at
    /// once. Each recording has blocks of its own, so threads never meet; they go back to the layout
    /// through the release queue when the recording ends, and no set is written again before the
    /// submission that had it is complete.
    ///
    /// Where the layout has [`DynamicConstants`](crate::device::BindingKind::DynamicConstants) and is
    /// given constants, bind the set with their [`offset`](crate::Constant::offset).
    ///
    /// # Errors
    /// [`Error::Foreign`] for a layout or a view of another manager; [`Error::Device`] for a binding,
    /// an element or a kind that the layout does not have, a descriptor that is given twice, a
    /// shortage, or a lost device.
    ///
    /// ```
    /// use tenure::device::{BindingKind, SetBinding};
    /// use tenure::{Config, Gpu, Queue};
    /// use tenure::sim;
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let binding = SetBinding { binding: 0, kind: BindingKind::Constants, count: 1 };
    /// let layout = gpu.create_set_layout(&[binding], "camera")?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (mut commands, scratch) = recording.split();
    /// let camera = scratch.constants(&[1.0_f32; 64])?;
    /// let set = scratch.set(&layout, &[(0, 0, camera.into())])?;
    /// let _draw = (commands.raw(), set.block(), set.index());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// It is gone with the recording. The last line is one too many, and the compiler says so:
    ///
    /// ```compile_fail
    /// # use tenure::device::{BindingKind, SetBinding};
    /// # use tenure::{Config, Gpu, Queue};
    /// # use tenure::sim;
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// # let binding = SetBinding { binding: 0, kind: BindingKind::Constants, count: 1 };
    /// # let layout = gpu.create_set_layout(&[binding], "camera")?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let scratch = recording.split().1;
    /// let set = scratch.set(&layout, &[(0, 0, scratch.constants(&[1.0_f32; 64])?.into())])?;
    /// recording.submit()?;
    /// set.index();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn set(&self, layout: &SetLayout<D>, binds: &[(u32, u32, Bind<'_, D>)]) -> Result<Set<'r, D>, Error> {
        let shared = self.shared;
        let form = layout.inner.form_for(shared)?;
        let writes = form.writes(shared, binds)?;
        let sets = self.sets.get_or_init(|| shared.descriptors.recorded_sets.take());
        let refuse = |source| shared.refused(&form.name, source);
        let (block, index) = sets.take(shared, form, self.name).map_err(refuse)?;
        shared.device().write_set(Permit::own(), block, index, &writes).map_err(refuse)?;
        Ok(Set { block, index })
    }
}
