//! Descriptor heaps: for the CPU only, and shader-visible ones.

use core::fmt;
use std::ffi::CString;
use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{
    Allowed, BindingKind, CallRule, Descriptor, DescriptorHeapDesc, DescriptorKind, DescriptorSource,
    DeviceError, check,
};

use super::Described;
use super::Descriptors;
use super::arrays::{Array, Indexed, Storage};
use super::arrays::{RESOURCES, SAMPLERS, heap_kind, is_in_heaps};
use super::buffer::DescriptorBuffer;
use super::renumber::renumber;
use super::sets::{BATCH, WriteTarget, Writer, write_nulls};
use super::views::{Slot, Value, Written};
use crate::error::unsupported;
use crate::loaded::Loaded;

/// Maximum number of descriptors in a heap that is not shader-visible.
const MOST_HIDDEN: u32 = 1 << 20;

enum Content {
    Hidden(Box<[Mutex<Slot>]>),
    Visible(Box<Indexed>),
}

/// Descriptors: a handle for
/// [`Device::destroy_descriptor_heap`](tenure_core::device::DescriptorDevice::destroy_descriptor_heap).
/// Dropping it without that leaks the API's objects.
///
/// A heap that is not shader-visible holds views, samplers and ranges of buffers. A shader-visible one is one
/// descriptor set, which may be updated after it was bound. With [mutable
/// descriptors](crate::OptionalFeatures::MUTABLE_DESCRIPTORS) all views are in one array, otherwise there is an
/// array for each kind: a descriptor is at its index in the array of its kind. [`binding`](Self::binding) returns
/// the array. If a device indexes fewer uniform buffers than other descriptors, constants are at the first
/// [`constants`](Self::constants) indices only, in a separate array.
pub struct DescriptorHeap {
    owner: Arc<Descriptors>,
    kind: DescriptorKind,
    count: u32,
    content: Content,
}

impl Descriptors {
    pub(crate) fn create_descriptor_heap(
        self: &Arc<Self>,
        desc: &DescriptorHeapDesc,
    ) -> Result<DescriptorHeap, DeviceError> {
        self.alive()?;
        let DescriptorHeapDesc { kind, count, shader_visible } = *desc;
        let tables = &self.limits;
        if shader_visible && kind.is_for_shaders() && tables.contract.visible(kind) == 0 {
            return Err(unsupported("descriptor indexing"));
        }
        let most = if shader_visible { tables.contract.visible(kind) } else { MOST_HIDDEN };
        check::descriptor_heap(desc, most)?;
        let content = if shader_visible {
            Content::Visible(Box::new(self.create_indexed(tables.arrays(kind, count))?))
        } else {
            Content::Hidden((0..count).map(|_| Mutex::default()).collect())
        };
        Ok(DescriptorHeap { owner: self.clone(), kind, count, content })
    }
}

impl DescriptorHeap {
    /// The kind of its descriptors.
    #[must_use]
    pub const fn kind(&self) -> DescriptorKind {
        self.kind
    }

    /// Descriptors.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The set to bind; `None` if the heap is not shader-visible, or is a [buffer](Self::raw_buffer). Do not free
    /// or write it.
    #[must_use]
    pub fn set(&self) -> Option<vk::DescriptorSet> {
        match self.indexed()?.storage {
            Storage::Set { set, .. } => Some(set),
            Storage::Buffer(_) => None,
        }
    }

    /// The buffer that contains the descriptors, with [descriptor buffers](crate#descriptor-buffers); `None`
    /// without them, and if the heap is not shader-visible. Do not write it or destroy it.
    #[must_use]
    pub fn raw_buffer(&self) -> Option<vk::Buffer> {
        self.descriptor_buffer().map(|buffer| buffer.buffer)
    }

    /// Bytes of that buffer.
    #[must_use]
    pub fn buffer_size(&self) -> Option<u64> {
        self.descriptor_buffer().map(|buffer| buffer.size)
    }

    /// The address and usage of its buffer, for a program that binds it itself.
    #[must_use]
    pub fn buffer_binding(&self) -> Option<vk::DescriptorBufferBindingInfoEXT<'static>> {
        self.descriptor_buffer().map(DescriptorBuffer::binding)
    }

    fn descriptor_buffer(&self) -> Option<&DescriptorBuffer> {
        match &self.indexed()?.storage {
            Storage::Buffer(buffer) => Some(buffer),
            Storage::Set { .. } => None,
        }
    }

    /// The layout of the set, for pipelines; `None` if the heap is not shader-visible. Do not destroy it. Heaps
    /// of one kind and count have identically defined layouts.
    #[must_use]
    pub fn layout(&self) -> Option<vk::DescriptorSetLayout> {
        self.indexed().map(|indexed| indexed.layout)
    }

    /// The binding of the array in which shaders find descriptors of a kind; `None` for kinds that are not in the
    /// heap, and if it is not shader-visible.
    ///
    /// With [mutable descriptors](crate::OptionalFeatures::MUTABLE_DESCRIPTORS) that is 0 for all views, but 2
    /// for constants if the heap has [fewer of them](Self::constants). Without them it is 0 for sampled images, 1
    /// for storage images, 2 for uniform buffers, 3 for storage buffers, 4 for uniform texel buffers and 5 for
    /// storage texel buffers. For samplers it is 0.
    #[must_use]
    pub fn binding(&self, kind: BindingKind) -> Option<u32> {
        self.indexed()?.arrays.of(kind).map(|array| array.binding)
    }

    /// The number of API descriptors in all arrays of the heap; 0 if it is not shader-visible. With mutable
    /// descriptors it is the number of indices.
    #[must_use]
    pub fn api_descriptors(&self) -> u64 {
        self.indexed().map_or(0, |indexed| indexed.arrays.total())
    }

    /// Changes the bindings of a shader written for a heap with six arrays to those of this heap.
    ///
    /// The shader declares the heap as descriptor set `set`, with the bindings 0 to 5 that
    /// [`binding`](Self::binding) names for heaps without mutable descriptors. In a heap with one array several
    /// variables then have one binding, as Vulkan allows it. A shader that has its bindings already, and one
    /// that does not use the set, stay as they are. O(words before the first function).
    ///
    /// ```
    /// use tenure_vulkan::ash::{self, vk};
    /// use tenure_vulkan::{DescriptorHeap, Device};
    /// use tenure_core::DeviceError;
    ///
    /// fn module(raw: &ash::Device, heap: &DescriptorHeap, spirv: &[u32]) -> Result<vk::ShaderModule, DeviceError> {
    ///     let mut words = spirv.to_vec();
    ///     heap.renumber(&mut words, 0)?;
    ///     let info = vk::ShaderModuleCreateInfo::default().code(&words);
    ///     // SAFETY: `spirv` is a valid shader.
    ///     Ok(unsafe { raw.create_shader_module(&info, None) }.expect("memory for a module"))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::InvalidDesc`] if the words are not SPIR-V in this machine's byte order, for a binding of
    /// the set that this heap or every heap lacks, for decoration groups, which no compiler has written for
    /// years, and if the heap is not shader-visible. Nothing was changed then.
    pub fn renumber(&self, spirv: &mut [u32], set: u32) -> Result<(), DeviceError> {
        let hidden =
            DeviceError::invalid_desc("shader_visible", 0_u32, Allowed::Rule("a heap that shaders see"));
        let indexed = self.indexed().ok_or(hidden)?;
        let kinds = if self.kind == DescriptorKind::Sampler { &SAMPLERS[..] } else { &RESOURCES[..] };
        renumber(spirv, set, |binding| {
            let kind = kinds.get(usize::try_from(binding).ok()?)?;
            indexed.arrays.of(*kind).map(|array| array.binding)
        })
    }

    /// The number of indices, from 0 on, that may hold constants; 0 if the heap is not shader-visible.
    #[must_use]
    pub fn constants(&self) -> u32 {
        match (self.indexed(), self.kind) {
            (Some(indexed), DescriptorKind::Resource) => indexed.arrays.constants,
            _ => 0,
        }
    }

    /// The view of a texture at an index of a heap that is not shader-visible, including target views. It stays
    /// valid until the index is cleared.
    #[must_use]
    pub fn image_view(&self, index: u32) -> Option<vk::ImageView> {
        match self.slot(index)? {
            Slot::Target(view) => Some(view),
            Slot::Shader(Written { value: Value::Image(info), .. }) => {
                Some(info.image_view).filter(|view| *view != vk::ImageView::null())
            }
            Slot::Shader(_) | Slot::Nothing => None,
        }
    }

    /// The typed view of a buffer at an index of a heap that is not shader-visible.
    #[must_use]
    pub fn buffer_view(&self, index: u32) -> Option<vk::BufferView> {
        match self.slot(index)? {
            Slot::Shader(Written { value: Value::Texels(texels), .. }) => Some(texels.view),
            _ => None,
        }
    }

    /// The bytes of a buffer in view at an index of a heap that shaders do not see, unless they are
    /// typed.
    #[must_use]
    pub fn buffer(&self, index: u32) -> Option<vk::DescriptorBufferInfo> {
        match self.slot(index)? {
            Slot::Shader(Written { value: Value::Bytes(bytes), .. }) => Some(bytes.info),
            _ => None,
        }
    }

    /// The sampler at an index of a heap that is not shader-visible.
    #[must_use]
    pub fn sampler(&self, index: u32) -> Option<vk::Sampler> {
        match self.slot(index)? {
            Slot::Shader(Written { value: Value::Image(info), .. }) => {
                Some(info.sampler).filter(|sampler| *sampler != vk::Sampler::null())
            }
            _ => None,
        }
    }

    fn indexed(&self) -> Option<&Indexed> {
        match &self.content {
            Content::Hidden(_) => None,
            Content::Visible(indexed) => Some(indexed),
        }
    }

    fn hidden(&self, index: u32) -> Option<&Mutex<Slot>> {
        match &self.content {
            Content::Hidden(slots) => slots.get(usize::try_from(index).ok()?),
            Content::Visible(_) => None,
        }
    }

    fn slot(&self, index: u32) -> Option<Slot> {
        self.hidden(index).map(|slot| *slot.lock())
    }

    /// The source for copies of a descriptor.
    pub(super) fn written(&self, descriptors: &Descriptors, index: u32) -> Result<Written, DeviceError> {
        descriptors.check_same(&self.owner)?;
        let found = self.slot(index).ok_or(self.not_hidden(index))?;
        match found {
            Slot::Shader(written) => Ok(written),
            Slot::Nothing => Err(DeviceError::invalid_value(CallRule::DescriptorWritten, u64::from(index))),
            Slot::Target(_) => Err(DeviceError::invalid_value(CallRule::TargetsHidden, u64::from(index))),
        }
    }

    fn not_hidden(&self, index: u32) -> DeviceError {
        match self.content {
            Content::Hidden(_) => {
                DeviceError::invalid_call(CallRule::DescriptorInside, u64::from(index), u64::from(self.count))
            }
            Content::Visible(_) => DeviceError::invalid_value(CallRule::WrittenHidden, u64::from(index)),
        }
    }

    /// Creates a descriptor.
    pub(crate) fn write(
        &self,
        descriptors: &Descriptors,
        index: u32,
        descriptor: &Descriptor<'_, impl Described>,
    ) -> Result<(), DeviceError> {
        descriptors.alive()?;
        descriptors.check_same(&self.owner)?;
        let mut slot = self.hidden(index).ok_or(self.not_hidden(index))?.lock();
        if !slot.is_empty() {
            return Err(DeviceError::invalid_value(CallRule::DescriptorCleared, u64::from(index)));
        }
        check::descriptor_kind(descriptor.kind(), self.kind)?;
        *slot = match descriptor {
            Descriptor::Buffer { resource, view } => descriptors.create_buffer_view(resource, view)?,
            Descriptor::Texture { resource, view } => descriptors.create_texture_view(resource, view)?,
            Descriptor::Sampler(desc) => descriptors.create_sampler(desc)?,
        };
        Ok(())
    }

    /// Fills indices that shaders see.
    pub(crate) fn fill(
        &self,
        descriptors: &Descriptors,
        first: u32,
        sources: &[DescriptorSource<'_, impl Described>],
    ) -> Result<(), DeviceError> {
        descriptors.alive()?;
        descriptors.check_same(&self.owner)?;
        let Some(indexed) = self.indexed() else {
            return Err(DeviceError::broken_rule(CallRule::FilledVisible));
        };
        check::descriptors_inside(first, sources.len() as u64, self.count)?;
        // All are looked at before any is written; a batch is written as a whole.
        if sources.len() > BATCH || self.descriptor_buffer().is_some() {
            for (index, source) in (first..).zip(sources) {
                self.array(indexed, index, descriptors.resolve(source)?.kind)?;
            }
        }
        let mut writer = Writer::new(descriptors);
        for (element, source) in (first..).zip(sources) {
            let written = descriptors.resolve(source)?;
            let array = self.array(indexed, element, written.kind)?;
            if array.only_kind().is_none() {
                indexed.kinds.note(element, written.kind);
            }
            match &indexed.storage {
                Storage::Set { set, .. } => {
                    let target = WriteTarget { set: *set, binding: array.binding, element };
                    // SAFETY: the set is alive and has an array of this kind, and the index is within it; by the
                    // contract no other code uses it there, and the written resource is alive.
                    unsafe { writer.write(target, written) };
                }
                // SAFETY: as above, with the descriptor buffer in place of the set.
                Storage::Buffer(buffer) => unsafe { buffer.write(descriptors, array, element, &written) },
            }
        }
        writer.finish();
        Ok(())
    }

    /// The array for descriptors of a kind.
    fn array(&self, indexed: &Indexed, index: u32, kind: BindingKind) -> Result<Array, DeviceError> {
        if !is_in_heaps(kind) {
            return Err(DeviceError::invalid_value(CallRule::InSetsAlone, kind));
        }
        check::descriptor_kind(heap_kind(kind), self.kind)?;
        let constants = indexed.arrays.constants;
        if kind == BindingKind::Constants && index >= constants {
            let rule = "constants are at the first indices, where the device has fewer of them";
            return Err(DeviceError::invalid_call(rule, u64::from(index), u64::from(constants)));
        }
        indexed.arrays.of(kind).ok_or(DeviceError::invalid_value(CallRule::InSetsAlone, kind))
    }

    /// Clears indices: destroys the objects created there, or writes null descriptors if `is_poisoned`.
    pub(crate) fn clear(&self, first: u32, count: u32, is_poisoned: bool) {
        let end = first.saturating_add(count).min(self.count);
        match &self.content {
            Content::Hidden(_) => {
                for slot in (first..end).filter_map(|index| self.hidden(index)) {
                    std::mem::take(&mut *slot.lock()).destroy(&self.owner);
                }
            }
            Content::Visible(indexed) if is_poisoned && self.owner.limits.contract.null => {
                for array in indexed.arrays.iter() {
                    self.make_null(indexed, array, [first, end.min(array.length)]);
                }
            }
            Content::Visible(_) => {}
        }
    }

    /// Writes null descriptors to an array: to mutable ones with the kind last written to them.
    fn make_null(&self, indexed: &Indexed, array: Array, [first, end]: [u32; 2]) {
        let write = |kind, element, count| {
            // SAFETY: null descriptors are enabled; set or buffer are alive, the indices are inside the array, whose
            // descriptors may be of the kind, and by the contract nothing uses them.
            unsafe {
                match &indexed.storage {
                    Storage::Set { set, .. } => {
                        let target = WriteTarget { set: *set, binding: array.binding, element };
                        write_nulls(&self.owner, target, kind, count);
                    }
                    Storage::Buffer(buffer) => buffer.write_nulls(&self.owner, (array, kind), element, count),
                }
            }
        };
        match array.only_kind() {
            Some(kind) => write(kind, first, end.saturating_sub(first)),
            None => indexed.kinds.rows([first, end], write),
        }
    }

    pub(crate) fn destroy(self) {
        self.clear(0, self.count, false);
        let Content::Visible(indexed) = self.content else { return };
        let Indexed { layout, storage, .. } = *indexed;
        let device = &self.owner.api.device;
        match storage {
            // SAFETY: by the contract the GPU no longer uses it. The set is freed with its pool.
            Storage::Set { pool, .. } => unsafe { device.destroy_descriptor_pool(pool, None) },
            Storage::Buffer(buffer) => buffer.destroy(&self.owner),
        }
        // SAFETY: as above.
        unsafe { device.destroy_descriptor_set_layout(layout, None) };
    }

    /// Checks that shaders may index it for descriptors of that kind.
    pub(crate) fn check_bound(&self, loaded: &Loaded, kind: DescriptorKind) -> Result<(), DeviceError> {
        loaded.check_same(&self.owner)?;
        if self.kind != kind || self.indexed().is_none() {
            return Err(DeviceError::broken_rule("shaders see the heap of descriptors, as one of its kind"));
        }
        Ok(())
    }

    pub(crate) fn set_name(&self, name: &CString) {
        let Some(indexed) = self.indexed() else { return };
        self.owner.name(indexed.layout, name);
        match &indexed.storage {
            Storage::Set { pool, set } => {
                self.owner.name(*pool, name);
                self.owner.name(*set, name);
            }
            Storage::Buffer(buffer) => {
                self.owner.name(buffer.buffer, name);
                self.owner.name(buffer.memory.handle, name);
            }
        }
    }
}

impl fmt::Debug for DescriptorHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, count, .. } = self;
        f.debug_struct("DescriptorHeap")
            .field("kind", kind)
            .field("count", count)
            .field("set", &self.set())
            .finish_non_exhaustive()
    }
}
