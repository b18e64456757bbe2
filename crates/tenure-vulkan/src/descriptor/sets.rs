//! Descriptor sets: their layouts, pools and writes.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{Allowed, BindingKind, CallRule, DeviceError, SetBinding, SetWrite, check};

use super::arrays::vk_type;
use super::views::{Texels, Value, Written};
use super::{Described, Descriptors};
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::structure::STRUCTURES;

/// The largest binding number: drivers allocate tables of that length.
const LAST_BINDING: u32 = u16::MAX as u32;

/// The form of descriptor sets: a handle for
/// [`Device::destroy_set_layout`](tenure_core::device::SetDevice::destroy_set_layout). Dropping it
/// without that leaks the API's layout.
///
/// All shader stages see the bindings, except input attachments, which only pixel (fragment) shaders see. If the
/// device has descriptor indexing, only the used elements of arrays must be written.
pub struct SetLayout {
    owner: Arc<Descriptors>,
    layout: vk::DescriptorSetLayout,
    bindings: Arc<[SetBinding]>,
    is_ours: bool,
}

/// The stages that see a binding.
const fn stages(kind: BindingKind) -> vk::ShaderStageFlags {
    match kind {
        BindingKind::InputAttachment => vk::ShaderStageFlags::FRAGMENT,
        _ => vk::ShaderStageFlags::ALL,
    }
}

impl Descriptors {
    pub(crate) fn create_set_layout(
        self: &Arc<Self>,
        bindings: &[SetBinding],
    ) -> Result<SetLayout, DeviceError> {
        self.alive()?;
        self.has_sets()?;
        check::set_bindings(bindings, LAST_BINDING)?;
        let traces = bindings.iter().any(|binding| binding.kind == BindingKind::AccelerationStructure);
        if traces && !self.api.uses(OptionalFeatures::ACCELERATION_STRUCTURES) {
            return Err(DeviceError::Unsupported { feature: STRUCTURES });
        }
        self.limits.check_set(bindings)?;
        let has_indexing = self.api.uses(OptionalFeatures::DESCRIPTOR_INDEXING);
        let flags: Vec<_> = bindings
            .iter()
            .map(|binding| match binding.count {
                2.. if has_indexing => vk::DescriptorBindingFlags::PARTIALLY_BOUND,
                _ => vk::DescriptorBindingFlags::empty(),
            })
            .collect();
        let api_bindings: Vec<_> = bindings
            .iter()
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding.binding)
                    .descriptor_type(vk_type(binding.kind))
                    .descriptor_count(binding.count)
                    .stage_flags(stages(binding.kind))
            })
            .collect();
        let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
        let mut info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&api_bindings);
        if has_indexing {
            info = info.push_next(&mut flags);
        }
        // SAFETY: the bindings differ, and their counts are within the limits of the device.
        let made = unsafe { self.api.device.create_descriptor_set_layout(&info, None) };
        let layout = made.map_err(|result| self.error("vkCreateDescriptorSetLayout", result))?;
        Ok(SetLayout { owner: self.clone(), layout, bindings: bindings.into(), is_ours: true })
    }

    /// Refuses sets on a device with descriptor buffers: a pipeline uses either one or the other.
    fn has_sets(&self) -> Result<(), DeviceError> {
        if self.limits.contract.sets { Ok(()) } else { Err(unsupported("descriptor sets")) }
    }
}

impl SetLayout {
    /// A layout created by the program.
    pub(crate) fn adopted(
        descriptors: &Arc<Descriptors>,
        layout: vk::DescriptorSetLayout,
        bindings: &[SetBinding],
        is_ours: bool,
    ) -> Result<Self, DeviceError> {
        descriptors.has_sets()?;
        check::set_bindings(bindings, LAST_BINDING)?;
        Ok(Self { owner: descriptors.clone(), layout, bindings: bindings.into(), is_ours })
    }

    /// The API's layout, for pipelines. Do not destroy it.
    #[must_use]
    pub const fn raw(&self) -> vk::DescriptorSetLayout {
        self.layout
    }

    /// The bindings of its sets.
    #[must_use]
    pub fn bindings(&self) -> &[SetBinding] {
        &self.bindings
    }

    pub(super) const fn shared_bindings(&self) -> &Arc<[SetBinding]> {
        &self.bindings
    }

    pub(super) const fn owner(&self) -> &Arc<Descriptors> {
        &self.owner
    }

    pub(crate) fn destroy(self) {
        if self.is_ours {
            // SAFETY: by the contract it is no longer in use.
            unsafe { self.owner.api.device.destroy_descriptor_set_layout(self.layout, None) };
        }
    }
}

impl fmt::Debug for SetLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.layout, self.bindings)
    }
}

/// Maximum number of sets in a pool.
const MOST_SETS: u32 = 1 << 16;

/// A descriptor pool with sets of one layout only: a handle for
/// [`Device::destroy_set_pool`](tenure_core::device::SetDevice::destroy_set_pool). Dropping it without that leaks
/// the pool.
pub struct SetPool {
    owner: Arc<Descriptors>,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    bindings: Arc<[SetBinding]>,
}

impl Descriptors {
    pub(crate) fn create_set_pool(
        self: &Arc<Self>,
        layout: &SetLayout,
        sets: u32,
    ) -> Result<SetPool, DeviceError> {
        self.alive()?;
        self.check_same(layout.owner())?;
        check::count("sets", sets, MOST_SETS)?;
        let sizes = pool_sizes(layout.bindings(), sets)?;
        let layouts = vec![layout.raw(); usize::try_from(sets).unwrap_or(0)];
        let pool = vk::DescriptorPoolCreateInfo::default().pool_sizes(&sizes);
        let (pool, sets) = self.create_sets(pool, &layouts)?;
        Ok(SetPool { owner: self.clone(), pool, sets, bindings: layout.shared_bindings().clone() })
    }
}

/// The descriptors that a pool for `sets` sets must hold.
fn pool_sizes(bindings: &[SetBinding], sets: u32) -> Result<Vec<vk::DescriptorPoolSize>, DeviceError> {
    let mut sizes = Vec::new();
    for kind in BindingKind::ALL {
        let of_kind = bindings.iter().filter(|binding| binding.kind == kind);
        let each: u64 = of_kind.map(|binding| u64::from(binding.count)).sum();
        let all = each.saturating_mul(u64::from(sets));
        let descriptor_count = u32::try_from(all).map_err(|_| {
            DeviceError::invalid_desc(
                "sets",
                sets,
                Allowed::Rule("fewer than 2^32 descriptors of a kind in all"),
            )
        })?;
        if descriptor_count > 0 {
            sizes.push(vk::DescriptorPoolSize { ty: vk_type(kind), descriptor_count });
        }
    }
    if sizes.is_empty() {
        // A pool is for something, even if its sets are not.
        sizes.push(vk::DescriptorPoolSize { ty: vk_type(BindingKind::Sampler), descriptor_count: 1 });
    }
    Ok(sizes)
}

impl SetPool {
    /// A set to bind; `None` past the end. Do not free or write it.
    #[must_use]
    pub fn set(&self, index: u32) -> Option<vk::DescriptorSet> {
        self.sets.get(usize::try_from(index).ok()?).copied()
    }

    /// All sets.
    #[must_use]
    pub fn sets(&self) -> &[vk::DescriptorSet] {
        &self.sets
    }

    /// The pool of the sets.
    #[must_use]
    pub const fn pool(&self) -> vk::DescriptorPool {
        self.pool
    }

    /// The descriptor to write. An error if the layout has no matching binding and element.
    fn resolve(&self, write: &SetWrite<'_, impl Described>) -> Result<Written, DeviceError> {
        let binding = check::set_element(&self.bindings, write.binding, write.element)?;
        let written = self.owner.resolve(&write.source)?;
        if !binding.kind.takes(written.kind) {
            let rule = CallRule::BindingKind;
            return Err(DeviceError::invalid_call(rule, written.kind, binding.kind));
        }
        Ok(Written { kind: binding.kind, ..written })
    }

    /// Writes descriptors of a set.
    pub(crate) fn write(
        &self,
        descriptors: &Descriptors,
        set: u32,
        writes: &[SetWrite<'_, impl Described>],
    ) -> Result<(), DeviceError> {
        descriptors.alive()?;
        descriptors.check_same(&self.owner)?;
        let count = self.sets.len() as u64;
        let set =
            self.set(set).ok_or(DeviceError::invalid_call(CallRule::SetExists, u64::from(set), count))?;
        // All are looked at before any is written; a batch is written as a whole.
        if writes.len() > BATCH {
            for write in writes {
                self.resolve(write)?;
            }
        }
        let mut writer = Writer::new(descriptors);
        for write in writes {
            let written = self.resolve(write)?;
            let target = WriteTarget { set, binding: write.binding, element: write.element };
            // SAFETY: the set is alive, and its layout has such a descriptor there; by the contract no other code
            // uses the set, and the written resource is alive.
            unsafe { writer.write(target, written) };
        }
        writer.finish();
        Ok(())
    }

    /// Writes null descriptors to a set, if the device supports them.
    pub(crate) fn poison(&self, set: u32) {
        let Some(set) = self.set(set).filter(|_| self.owner.limits.contract.null) else {
            return;
        };
        for SetBinding { binding, kind, count } in self.bindings.iter().copied() {
            let target = WriteTarget { set, binding, element: 0 };
            // SAFETY: null descriptors are enabled; the set is alive, its layout has exactly these, and by the
            // contract they are not in use.
            unsafe { write_nulls(&self.owner, target, kind, count) };
        }
    }

    pub(crate) fn destroy(self) {
        // SAFETY: by the contract the GPU no longer uses the sets, which are freed with their pool.
        unsafe { self.owner.api.device.destroy_descriptor_pool(self.pool, None) };
    }
}

impl fmt::Debug for SetPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} sets", self.pool, self.sets.len())
    }
}

/// Number of descriptors passed to the driver at once.
pub(super) const BATCH: usize = 16;
/// Number of null descriptors passed to the driver at once.
const NULLS: usize = 64;

/// The binding of a set to write a descriptor to.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteTarget {
    pub(super) set: vk::DescriptorSet,
    pub(super) binding: u32,
    pub(super) element: u32,
}

/// Collects descriptors and writes them in batches. Dropping it before it is finished discards the pending ones.
pub(super) struct Writer<'a> {
    descriptors: &'a Descriptors,
    batch: SmallVec<[(WriteTarget, Written); BATCH]>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(descriptors: &'a Descriptors) -> Self {
        Self { descriptors, batch: SmallVec::new() }
    }

    /// Writes a descriptor, now or before [`finish`](Self::finish) returns.
    ///
    /// # Safety
    /// The set is alive, its layout has a descriptor of that kind at the target, and no other code uses
    /// it until `finish` returns. The objects that the descriptor names are alive.
    pub(super) unsafe fn write(&mut self, target: WriteTarget, written: Written) {
        if self.batch.len() == BATCH {
            self.flush();
        }
        self.batch.push((target, written));
    }

    /// Writes the pending rest.
    pub(super) fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        let mut structures: SmallVec<[_; BATCH]> = SmallVec::new();
        let mut buffers: SmallVec<[_; BATCH]> = SmallVec::new();
        let mut texels: SmallVec<[_; BATCH]> = SmallVec::new();
        let mut images: SmallVec<[_; BATCH]> = SmallVec::new();
        let mut runs: SmallVec<[Run; BATCH]> = SmallVec::new();
        for (target, written) in &self.batch {
            let first = match written.value {
                Value::Structure(structure) => put(&mut structures, structure),
                Value::Bytes(bytes) => put(&mut buffers, bytes.info),
                Value::Texels(Texels { view, .. }) => put(&mut texels, view),
                Value::Image(info) => put(&mut images, info),
            };
            match runs.last_mut().filter(|run| run.is_continued(*target, written.kind)) {
                Some(run) => run.count += 1,
                None => runs.push(Run { target: *target, kind: written.kind, first, count: 1 }),
            }
        }
        let chained = |run: &Run| {
            let structures = run.of(&structures);
            vk::WriteDescriptorSetAccelerationStructureKHR::default().acceleration_structures(structures)
        };
        let mut chained: SmallVec<[_; BATCH]> = runs.iter().map(chained).collect();
        let write = |(run, chained): (&Run, _)| {
            let write = to(run.target, run.kind);
            match run.kind {
                BindingKind::AccelerationStructure => write.descriptor_count(run.count).push_next(chained),
                BindingKind::Constants | BindingKind::DynamicConstants | BindingKind::Buffer => {
                    write.buffer_info(run.of(&buffers))
                }
                BindingKind::TypedBuffer | BindingKind::TypedStorageBuffer => {
                    write.texel_buffer_view(run.of(&texels))
                }
                _ => write.image_info(run.of(&images)),
            }
        };
        let writes: SmallVec<[_; BATCH]> = runs.iter().zip(&mut chained).map(write).collect();
        if !writes.is_empty() {
            // SAFETY: for each descriptor, the caller of `write` guarantees its requirements.
            unsafe { self.descriptors.api.device.update_descriptor_sets(&writes, &[]) };
        }
        drop(writes);
        self.batch.clear();
    }
}

/// Adds a value; returns its index.
fn put<T>(values: &mut SmallVec<[T; BATCH]>, value: T) -> usize {
    values.push(value);
    values.len() - 1
}

/// Consecutive elements of a binding, written by one structure. Their values are consecutive, too.
struct Run {
    target: WriteTarget,
    kind: BindingKind,
    /// The index of the first value among those of its type.
    first: usize,
    count: u32,
}

impl Run {
    /// Whether a descriptor is the next element.
    fn is_continued(&self, target: WriteTarget, kind: BindingKind) -> bool {
        let element = self.target.element.saturating_add(self.count);
        kind == self.kind
            && (target.set, target.binding, target.element) == (self.target.set, self.target.binding, element)
    }

    /// The values; none of another type.
    fn of<'a, T>(&self, values: &'a [T]) -> &'a [T] {
        values.get(self.first..).and_then(|rest| rest.get(..self.count as usize)).unwrap_or_default()
    }
}

fn to(target: WriteTarget, kind: BindingKind) -> vk::WriteDescriptorSet<'static> {
    vk::WriteDescriptorSet::default()
        .dst_set(target.set)
        .dst_binding(target.binding)
        .dst_array_element(target.element)
        .descriptor_type(vk_type(kind))
}

/// Writes `count` null descriptors, beginning at `target`; samplers, separate or combined, and input
/// attachments have none.
///
/// # Safety
/// Null descriptors are enabled. The set is alive, its layout has such descriptors there, and no
/// other code uses them meanwhile.
pub(super) unsafe fn write_nulls(
    descriptors: &Descriptors,
    target: WriteTarget,
    kind: BindingKind,
    count: u32,
) {
    let layout = match kind {
        BindingKind::StorageTexture => vk::ImageLayout::GENERAL,
        _ => vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
    };
    let images = [vk::DescriptorImageInfo::default().image_layout(layout); NULLS];
    let buffers = [vk::DescriptorBufferInfo::default().range(vk::WHOLE_SIZE); NULLS];
    let texels = [vk::BufferView::null(); NULLS];
    let structures = [vk::AccelerationStructureKHR::null(); NULLS];
    let mut done = 0;
    while done < count {
        let left = usize::try_from(count - done).unwrap_or(NULLS).min(NULLS);
        let mut chained = vk::WriteDescriptorSetAccelerationStructureKHR::default();
        let write = to(WriteTarget { element: target.element + done, ..target }, kind);
        let write = match kind {
            BindingKind::Constants | BindingKind::DynamicConstants | BindingKind::Buffer => {
                write.buffer_info(buffers.get(..left).unwrap_or_default())
            }
            BindingKind::TypedBuffer | BindingKind::TypedStorageBuffer => {
                write.texel_buffer_view(texels.get(..left).unwrap_or_default())
            }
            BindingKind::Texture | BindingKind::StorageTexture => {
                write.image_info(images.get(..left).unwrap_or_default())
            }
            BindingKind::AccelerationStructure => {
                chained = chained.acceleration_structures(structures.get(..left).unwrap_or_default());
                write.descriptor_count(left as u32).push_next(&mut chained)
            }
            BindingKind::Sampler | BindingKind::CombinedSampler | BindingKind::InputAttachment => return,
        };
        // SAFETY: as the caller promises; null is allowed for these kinds.
        unsafe { descriptors.api.device.update_descriptor_sets(&[write], &[]) };
        done += left as u32;
    }
}
