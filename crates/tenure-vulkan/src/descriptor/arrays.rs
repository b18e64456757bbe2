//! The large sets that shaders index.

use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{BindingKind, DescriptorKind, DeviceError};

use super::Descriptors;
use super::buffer::DescriptorBuffer;

/// One array of a shader-visible heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) binding: u32,
    /// The possible kinds of its descriptors: with more than one kind, they are mutable.
    pub(super) kinds: &'static [BindingKind],
    pub(super) length: u32,
}

impl Array {
    /// The only kind of its descriptors; `None` for mutable ones.
    pub(super) const fn only_kind(&self) -> Option<BindingKind> {
        match self.kinds {
            [kind] => Some(*kind),
            _ => None,
        }
    }

    fn vk_type(&self) -> vk::DescriptorType {
        self.only_kind().map_or(vk::DescriptorType::MUTABLE_EXT, vk_type)
    }

    /// The possible types of a mutable descriptor; empty for others.
    fn types(&self) -> SmallVec<[vk::DescriptorType; RESOURCES.len()]> {
        let kinds = if self.only_kind().is_some() { &[] } else { self.kinds };
        kinds.iter().map(|kind| vk_type(*kind)).collect()
    }
}

/// The arrays of a shader-visible heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrays {
    kind: DescriptorKind,
    /// Number of descriptors of each array except that of constants.
    each: u32,
    pub(super) constants: u32,
    /// Views are in one array of mutable descriptors.
    is_mutable: bool,
    /// The stages that see them in a buffer; `None`: in a set, which all see.
    in_buffer: Option<vk::ShaderStageFlags>,
}

impl Arrays {
    /// `most_constants`: of uniform buffers a device may index fewer than of all else.
    pub(super) fn new(kind: DescriptorKind, each: u32, most_constants: u32, is_mutable: bool) -> Self {
        Self { kind, each, constants: each.min(most_constants), is_mutable, in_buffer: None }
    }

    /// The same arrays in a descriptor buffer, for these stages.
    pub(super) const fn in_buffer(self, stages: vk::ShaderStageFlags) -> Self {
        Self { in_buffer: Some(stages), ..self }
    }

    /// The flags of each binding, and of the whole layout.
    fn flags(&self) -> (vk::DescriptorBindingFlags, vk::DescriptorSetLayoutCreateFlags) {
        use vk::DescriptorBindingFlags as Binding;
        if self.in_buffer.is_some() {
            return (Binding::PARTIALLY_BOUND, vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT);
        }
        let each =
            Binding::UPDATE_AFTER_BIND | Binding::UPDATE_UNUSED_WHILE_PENDING | Binding::PARTIALLY_BOUND;
        (each, vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL)
    }

    pub(super) const fn kind(&self) -> DescriptorKind {
        self.kind
    }

    /// The number of descriptors.
    pub(super) fn count(&self) -> u32 {
        self.iter().count() as u32
    }

    /// Descriptors in all of them.
    pub(super) fn total(&self) -> u64 {
        self.iter().map(|array| u64::from(array.length)).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Array> {
        let Self { kind, each, constants, is_mutable, .. } = *self;
        let (mixed, kinds): (&'static [BindingKind], &'static [BindingKind]) = match (kind, is_mutable) {
            (DescriptorKind::Sampler, _) => (&[], &SAMPLERS),
            (_, false) => (&[], &RESOURCES),
            (_, true) if constants < each => (&WITHOUT_CONSTANTS, &[BindingKind::Constants]),
            (_, true) => (&RESOURCES, &[]),
        };
        let mixed = (!mixed.is_empty()).then_some(Array { binding: 0, kinds: mixed, length: each });
        let of_one_kind = kinds.chunks(1).map(move |one| {
            let kind = one.first().copied().unwrap_or(BindingKind::Texture);
            let length = if kind == BindingKind::Constants { constants } else { each };
            Array { binding: heap_binding(kind), kinds: one, length }
        });
        mixed.into_iter().chain(of_one_kind).filter(|array| array.length > 0)
    }

    /// The array for descriptors of a kind.
    pub(super) fn of(&self, kind: BindingKind) -> Option<Array> {
        self.iter().find(|array| array.kinds.contains(&kind))
    }

    /// Calls `run` with the create info of the layout of such a heap.
    pub(super) fn with_layout<T>(&self, run: impl FnOnce(&vk::DescriptorSetLayoutCreateInfo<'_>) -> T) -> T {
        let (of_binding, of_layout) = self.flags();
        let flags = [of_binding; RESOURCES.len()];
        let bindings: SmallVec<[_; RESOURCES.len()]> = self
            .iter()
            .map(|array| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(array.binding)
                    .descriptor_type(array.vk_type())
                    .descriptor_count(array.length)
                    .stage_flags(self.in_buffer.unwrap_or(vk::ShaderStageFlags::ALL))
            })
            .collect();
        let flags = flags.get(..bindings.len()).unwrap_or_default();
        let mut flags = vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(of_layout)
            .bindings(&bindings)
            .push_next(&mut flags);
        self.with_types(|types| match types {
            Some(types) => run(&info.push_next(types)),
            None => run(&info),
        })
    }

    /// Calls `run` with a pool for just one set of such a heap.
    fn with_pool<T>(&self, run: impl FnOnce(vk::DescriptorPoolCreateInfo<'_>) -> T) -> T {
        let sizes: SmallVec<[_; RESOURCES.len()]> = self
            .iter()
            .map(|array| vk::DescriptorPoolSize { ty: array.vk_type(), descriptor_count: array.length })
            .collect();
        let info = vk::DescriptorPoolCreateInfo::default()
            .flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND)
            .pool_sizes(&sizes);
        self.with_types(|types| match types {
            Some(types) => run(info.push_next(types)),
            None => run(info),
        })
    }

    /// Calls `run` with the possible types of the descriptors of each array, if any are mutable.
    fn with_types<T>(
        &self,
        run: impl FnOnce(Option<&mut vk::MutableDescriptorTypeCreateInfoEXT<'_>>) -> T,
    ) -> T {
        if !self.is_mutable {
            return run(None);
        }
        let types: SmallVec<[_; RESOURCES.len()]> = self.iter().map(|array| array.types()).collect();
        let list = |types| vk::MutableDescriptorTypeListEXT::default().descriptor_types(types);
        let lists: SmallVec<[_; RESOURCES.len()]> = types.iter().map(|types| list(types)).collect();
        run(Some(
            &mut vk::MutableDescriptorTypeCreateInfoEXT::default().mutable_descriptor_type_lists(&lists),
        ))
    }
}

/// A heap that shaders see.
pub(super) struct Indexed {
    pub(super) arrays: Arrays,
    pub(super) layout: vk::DescriptorSetLayout,
    pub(super) storage: Storage,
    /// The last kind written to each mutable descriptor, if a null descriptor may be written to it.
    pub(super) kinds: LastKinds,
}

/// The storage of the descriptors.
pub(super) enum Storage {
    /// One large set.
    Set {
        pool: vk::DescriptorPool,
        set: vk::DescriptorSet,
    },
    Buffer(DescriptorBuffer),
}

/// The kinds of mutable descriptors: a null descriptor has one, too.
pub(super) struct LastKinds(Box<[AtomicU8]>);

impl LastKinds {
    /// The initial state: no descriptor is written.
    fn new(arrays: &Arrays, can_be_null: bool) -> Self {
        let mixed = arrays.iter().find(|array| can_be_null && array.only_kind().is_none());
        Self((0..mixed.map_or(0, |array| array.length)).map(|_| AtomicU8::new(0)).collect())
    }

    pub(super) fn note(&self, index: u32, kind: BindingKind) {
        let place = RESOURCES.iter().position(|known| *known == kind);
        if let (Some(last), Some(place)) = (self.0.get(index as usize), place) {
            // Relaxed: the thread that clears it was synchronised with the writer by the caller.
            last.store(place as u8 + 1, Ordering::Relaxed);
        }
    }

    fn get(&self, index: u32) -> Option<BindingKind> {
        let last = self.0.get(index as usize)?.load(Ordering::Relaxed);
        RESOURCES.get(usize::from(last.checked_sub(1)?)).copied()
    }

    /// Calls `run` with the kind, the first index and the length of each consecutive range of one kind.
    pub(super) fn rows(&self, [first, end]: [u32; 2], mut run: impl FnMut(BindingKind, u32, u32)) {
        let mut at = first;
        while at < end {
            let kind = self.get(at);
            let next = (at + 1..end).find(|index| self.get(*index) != kind).unwrap_or(end);
            kind.into_iter().for_each(|kind| run(kind, at, next - at));
            at = next;
        }
    }
}

impl Descriptors {
    pub(super) fn create_indexed(self: &Arc<Self>, arrays: Arrays) -> Result<Indexed, DeviceError> {
        let device = &self.api.device;
        let layout = arrays.with_layout(|info| {
            // SAFETY: descriptor indexing is enabled, and the counts are within its limits; there are mutable
            // descriptors, and buffers of them, only where they are enabled.
            unsafe { device.create_descriptor_set_layout(info, None) }
        });
        let layout = layout.map_err(|result| self.error("vkCreateDescriptorSetLayout", result))?;
        let storage = self.create_storage(&arrays, layout).inspect_err(|_| {
            // SAFETY: it is new, and not in use.
            unsafe { device.destroy_descriptor_set_layout(layout, None) };
        });
        let kinds = LastKinds::new(&arrays, self.limits.contract.null);
        Ok(Indexed { arrays, layout, storage: storage?, kinds })
    }

    fn create_storage(
        self: &Arc<Self>,
        arrays: &Arrays,
        layout: vk::DescriptorSetLayout,
    ) -> Result<Storage, DeviceError> {
        let descriptors = &self.limits;
        if let (Some(functions), Some(sizes)) = (&self.api.descriptor_buffers, &descriptors.sizes) {
            return DescriptorBuffer::create(self, functions, sizes, (arrays, layout)).map(Storage::Buffer);
        }
        let (pool, sets) = arrays.with_pool(|pool| self.create_sets(pool, &[layout]))?;
        Ok(Storage::Set { pool, set: sets.first().copied().unwrap_or_default() })
    }

    /// A pool with exactly one set of each layout.
    pub(super) fn create_sets(
        &self,
        pool: vk::DescriptorPoolCreateInfo<'_>,
        layouts: &[vk::DescriptorSetLayout],
    ) -> Result<(vk::DescriptorPool, Vec<vk::DescriptorSet>), DeviceError> {
        let device = &self.api.device;
        let info = pool.max_sets(u32::try_from(layouts.len()).unwrap_or(u32::MAX));
        // SAFETY: `info` is valid: at least one set, and no pool size of 0.
        let pool = unsafe { device.create_descriptor_pool(&info, None) };
        let pool = pool.map_err(|result| self.error("vkCreateDescriptorPool", result))?;
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(layouts);
        // SAFETY: the pool is new and has space for exactly these sets, whose layouts are alive.
        let sets = unsafe { device.allocate_descriptor_sets(&info) };
        let sets = sets.map_err(|result| {
            // SAFETY: it is new, and not in use.
            unsafe { device.destroy_descriptor_pool(pool, None) };
            self.error("vkAllocateDescriptorSets", result)
        })?;
        Ok((pool, sets))
    }
}

/// The content of a shader-visible heap of views: all in one array of mutable descriptors, or each kind in a
/// separate array, whose binding is its index here. A descriptor is at the same index in its array as in the
/// heap.
pub(crate) const RESOURCES: [BindingKind; 6] = [
    BindingKind::Texture,
    BindingKind::StorageTexture,
    BindingKind::Constants,
    BindingKind::Buffer,
    BindingKind::TypedBuffer,
    BindingKind::TypedStorageBuffer,
];

/// [`RESOURCES`] without constants, for a device that indexes fewer of them.
pub(crate) const WITHOUT_CONSTANTS: [BindingKind; 5] =
    [RESOURCES[0], RESOURCES[1], RESOURCES[3], RESOURCES[4], RESOURCES[5]];

/// The content of a sampler heap.
pub(crate) const SAMPLERS: [BindingKind; 1] = [BindingKind::Sampler];

/// The binding of a kind in a heap with an array for each; 0 for kinds that exist only in sets.
pub(crate) const fn heap_binding(kind: BindingKind) -> u32 {
    match kind {
        BindingKind::Texture
        | BindingKind::Sampler
        | BindingKind::CombinedSampler
        | BindingKind::InputAttachment
        | BindingKind::AccelerationStructure => 0,
        BindingKind::StorageTexture => 1,
        BindingKind::Constants | BindingKind::DynamicConstants => 2,
        BindingKind::Buffer => 3,
        BindingKind::TypedBuffer => 4,
        BindingKind::TypedStorageBuffer => 5,
    }
}

/// The heap for descriptors of a kind.
pub(crate) const fn heap_kind(kind: BindingKind) -> DescriptorKind {
    match kind {
        BindingKind::Sampler => DescriptorKind::Sampler,
        _ => DescriptorKind::Resource,
    }
}

/// True for kinds with an array in shader-visible heaps.
pub(crate) const fn is_in_heaps(kind: BindingKind) -> bool {
    !kind.is_for_sets_alone() && !matches!(kind, BindingKind::AccelerationStructure)
}

pub(crate) const fn vk_type(kind: BindingKind) -> vk::DescriptorType {
    match kind {
        BindingKind::Constants => vk::DescriptorType::UNIFORM_BUFFER,
        BindingKind::DynamicConstants => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
        BindingKind::Buffer => vk::DescriptorType::STORAGE_BUFFER,
        BindingKind::TypedBuffer => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
        BindingKind::TypedStorageBuffer => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        BindingKind::Texture => vk::DescriptorType::SAMPLED_IMAGE,
        BindingKind::StorageTexture => vk::DescriptorType::STORAGE_IMAGE,
        BindingKind::Sampler => vk::DescriptorType::SAMPLER,
        BindingKind::CombinedSampler => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        BindingKind::InputAttachment => vk::DescriptorType::INPUT_ATTACHMENT,
        BindingKind::AccelerationStructure => vk::DescriptorType::ACCELERATION_STRUCTURE_KHR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings(each: u32, constants: u32, is_mutable: bool) -> Vec<(u32, usize, u32)> {
        let arrays = Arrays::new(DescriptorKind::Resource, each, constants, is_mutable);
        arrays.iter().map(|array| (array.binding, array.kinds.len(), array.length)).collect()
    }

    #[test]
    fn mutable_descriptors_are_in_one_array() {
        assert_eq!(bindings(100, 100, true), [(0, 6, 100)]);
        assert_eq!(bindings(100, 0, true), [(0, 5, 100)], "no uniform buffers");
        assert_eq!(bindings(100, 7, true), [(0, 5, 100), (2, 1, 7)], "fewer uniform buffers");
        let typed: Vec<_> = (0..6).map(|binding| (binding, 1, if binding == 2 { 7 } else { 100 })).collect();
        assert_eq!(bindings(100, 7, false), typed);
        let samplers = Arrays::new(DescriptorKind::Sampler, 8, 0, true);
        assert_eq!((samplers.count(), samplers.total()), (1, 8));
        samplers.with_layout(|info| assert_eq!(info.binding_count, 1));
    }

    #[test]
    fn rows_have_one_kind_and_omit_unwritten_descriptors() {
        let arrays = Arrays::new(DescriptorKind::Resource, 10, 10, true);
        let kinds = LastKinds::new(&arrays, true);
        let (texture, buffer) = (BindingKind::Texture, BindingKind::Buffer);
        for (index, kind) in [(2, texture), (3, texture), (4, buffer), (9, buffer), (10, buffer)] {
            kinds.note(index, kind);
        }
        let mut rows = Vec::new();
        kinds.rows([0, 10], |kind, first, count| rows.push((kind, first, count)));
        assert_eq!(rows, [(texture, 2, 2), (buffer, 4, 1), (buffer, 9, 1)]);
        LastKinds::new(&arrays, false).rows([0, 10], |_, _, _| panic!("nothing is made null"));
    }

    #[test]
    fn each_kind_has_its_place() {
        for kind in BindingKind::ALL.into_iter().filter(|kind| is_in_heaps(*kind)) {
            let heap = if heap_kind(kind) == DescriptorKind::Sampler { &SAMPLERS[..] } else { &RESOURCES };
            let place = heap.iter().position(|known| *known == kind).unwrap();
            assert_eq!(heap_binding(kind) as usize, place, "{kind:?}");
        }
    }
}
