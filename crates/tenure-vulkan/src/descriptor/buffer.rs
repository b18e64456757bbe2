//! Descriptor buffers, which shaders index.

use core::ffi::CStr;
use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::device::{
    Allowed, BindingKind, CallRule, DescriptorKind, DeviceError, MemoryFlags, MemoryTypeId, Priority,
};

use super::Descriptors;
use super::arrays::{Array, Arrays};
use super::arrays::{RESOURCES, vk_type};
use super::views::{Bytes, Texels, Value, Written};
use crate::error::unsupported;
use crate::memory::{Address, Allocation, HandleTypes, Memory};
use crate::resource::{Object, Plan};

/// Bytes of descriptors.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorSizes {
    resources: [u64; RESOURCES.len()],
    sampler: u64,
    space: SpaceLimits,
}

impl DescriptorSizes {
    /// `is_robust`: accesses of buffers are checked, which makes descriptors larger on some drivers.
    pub(super) fn new(found: &vk::PhysicalDeviceDescriptorBufferPropertiesEXT<'_>, is_robust: bool) -> Self {
        let either = |plain, robust| if is_robust { robust } else { plain };
        let size = |kind| match kind {
            BindingKind::Texture => found.sampled_image_descriptor_size,
            BindingKind::StorageTexture => found.storage_image_descriptor_size,
            BindingKind::Constants => {
                either(found.uniform_buffer_descriptor_size, found.robust_uniform_buffer_descriptor_size)
            }
            BindingKind::TypedBuffer => either(
                found.uniform_texel_buffer_descriptor_size,
                found.robust_uniform_texel_buffer_descriptor_size,
            ),
            BindingKind::TypedStorageBuffer => either(
                found.storage_texel_buffer_descriptor_size,
                found.robust_storage_texel_buffer_descriptor_size,
            ),
            _ => either(found.storage_buffer_descriptor_size, found.robust_storage_buffer_descriptor_size),
        };
        let sampler = found.sampler_descriptor_size as u64;
        Self { resources: RESOURCES.map(|kind| size(kind) as u64), sampler, space: SpaceLimits::new(found) }
    }

    /// The size of a descriptor of a kind supported in heaps.
    pub(super) fn of(&self, kind: BindingKind) -> u64 {
        let known = RESOURCES.iter().zip(self.resources).find(|(known, _)| **known == kind);
        known.map_or(self.sampler, |(_, size)| size)
    }

    pub(super) fn sum(&self, kinds: &[BindingKind]) -> u64 {
        kinds.iter().map(|kind| self.of(*kind)).sum()
    }

    /// The size in bytes of a mutable descriptor: that of the largest of its kinds.
    pub(super) fn largest(&self, kinds: &[BindingKind]) -> u64 {
        kinds.iter().map(|kind| self.of(*kind)).max().unwrap_or(0)
    }
}

/// The stages of the device. Mesa's lavapipe (25.0) writes outside of its tables if a layout for descriptor
/// buffers names missing stages, as `VK_SHADER_STAGE_ALL` does.
pub(crate) fn stages(has_extension: impl Fn(&CStr) -> bool) -> vk::ShaderStageFlags {
    use vk::ShaderStageFlags as Stage;
    let mesh = Stage::TASK_EXT | Stage::MESH_EXT;
    let rays = Stage::RAYGEN_KHR
        | Stage::ANY_HIT_KHR
        | Stage::CLOSEST_HIT_KHR
        | Stage::MISS_KHR
        | Stage::INTERSECTION_KHR
        | Stage::CALLABLE_KHR;
    let optional = [
        (mesh, [ash::ext::mesh_shader::NAME, ash::nv::mesh_shader::NAME]),
        (rays, [ash::khr::ray_tracing_pipeline::NAME, ash::nv::ray_tracing::NAME]),
    ];
    let found = optional.into_iter().filter(|(_, names)| names.iter().any(|name| has_extension(name)));
    found.fold(Stage::ALL_GRAPHICS | Stage::COMPUTE, |stages, (more, _)| stages | more)
}

/// The offset of an array, and the stride of its descriptors, in bytes.
#[derive(Clone, Copy, Debug)]
struct Row {
    binding: u32,
    offset: u64,
    stride: u64,
}

/// A buffer with all arrays of a heap, in CPU-visible memory.
pub(super) struct DescriptorBuffer {
    pub(super) buffer: vk::Buffer,
    pub(super) memory: Arc<Memory>,
    pub(super) usage: vk::BufferUsageFlags,
    /// The GPU address of byte 0.
    pub(super) address: vk::DeviceAddress,
    /// Bytes.
    pub(super) size: u64,
    /// The CPU address of byte 0.
    mapped: Address,
    rows: SmallVec<[Row; RESOURCES.len()]>,
}

impl DescriptorBuffer {
    /// A buffer for a layout of the arrays.
    pub(super) fn create(
        descriptors: &Arc<Descriptors>,
        functions: &ash::ext::descriptor_buffer::Device,
        sizes: &DescriptorSizes,
        (arrays, layout): (&Arrays, vk::DescriptorSetLayout),
    ) -> Result<Self, DeviceError> {
        let row = |array: Array| Row {
            binding: array.binding,
            // SAFETY: the layout is alive, is for buffers, and has the binding.
            offset: unsafe { functions.get_descriptor_set_layout_binding_offset(layout, array.binding) },
            stride: sizes.largest(array.kinds),
        };
        let rows: SmallVec<_> = arrays.iter().map(row).collect();
        // SAFETY: as above.
        let size = unsafe { functions.get_descriptor_set_layout_size(layout) };
        let end = |(row, array): (&Row, Array)| {
            let length = row.stride.saturating_mul(u64::from(array.length));
            row.offset.saturating_add(length)
        };
        let end = rows.iter().zip(arrays.iter()).map(end).max().unwrap_or(0);
        if end > size {
            return Err(DeviceError::invalid_desc("count", end, Allowed::AtMost(size)));
        }
        let kind = match arrays.kind() {
            DescriptorKind::Sampler => vk::BufferUsageFlags::SAMPLER_DESCRIPTOR_BUFFER_EXT,
            _ => vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT,
        };
        let usage = kind | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        descriptors.space.take(arrays.kind(), size, sizes.space)?;
        let made = descriptors.create_mapped(size, usage);
        let (buffer, memory, mapped) =
            made.inspect_err(|_| descriptors.space.release(arrays.kind(), size))?;
        let address = descriptors.resources.address_of(Object::Buffer(buffer)).unwrap_or(0);
        Ok(Self { buffer, memory, usage, address, size, mapped, rows })
    }

    /// Writes a descriptor.
    ///
    /// # Safety
    /// The described resource is alive, and no other code uses this element of the array.
    pub(super) unsafe fn write(
        &self,
        descriptors: &Descriptors,
        array: Array,
        element: u32,
        written: &Written,
    ) {
        let of = |bytes: &Bytes, format| {
            vk::DescriptorAddressInfoEXT::default()
                .address(bytes.address)
                .range(bytes.info.range)
                .format(format)
        };
        let (bytes, image, sampler);
        let data = match (&written.value, written.kind) {
            (Value::Bytes(info), BindingKind::Constants) => {
                bytes = of(info, vk::Format::UNDEFINED);
                vk::DescriptorDataEXT { p_uniform_buffer: &raw const bytes }
            }
            (Value::Bytes(info), _) => {
                bytes = of(info, vk::Format::UNDEFINED);
                vk::DescriptorDataEXT { p_storage_buffer: &raw const bytes }
            }
            (Value::Texels(Texels { bytes: info, format, .. }), BindingKind::TypedBuffer) => {
                bytes = of(info, *format);
                vk::DescriptorDataEXT { p_uniform_texel_buffer: &raw const bytes }
            }
            (Value::Texels(Texels { bytes: info, format, .. }), _) => {
                bytes = of(info, *format);
                vk::DescriptorDataEXT { p_storage_texel_buffer: &raw const bytes }
            }
            (Value::Image(info), BindingKind::Sampler) => {
                sampler = info.sampler;
                vk::DescriptorDataEXT { p_sampler: &raw const sampler }
            }
            (Value::Image(info), BindingKind::StorageTexture) => {
                image = *info;
                vk::DescriptorDataEXT { p_storage_image: &raw const image }
            }
            (Value::Image(info), _) => {
                image = *info;
                vk::DescriptorDataEXT { p_sampled_image: &raw const image }
            }
            // Heaps contain no acceleration structures.
            (Value::Structure(_), _) => return,
        };
        // SAFETY: as the caller promises; the data and its pointers live until the call returns.
        unsafe { self.put(descriptors, (array, element), written.kind, data) };
    }

    /// Writes null descriptors; samplers have none.
    ///
    /// # Safety
    /// Null descriptors are enabled, and no other code uses these elements of the array, which may be of the kind.
    pub(super) unsafe fn write_nulls(
        &self,
        descriptors: &Descriptors,
        (array, kind): (Array, BindingKind),
        first: u32,
        count: u32,
    ) {
        if kind == BindingKind::Sampler {
            return;
        }
        let data = vk::DescriptorDataEXT { p_uniform_buffer: core::ptr::null() };
        for element in first..first.saturating_add(count) {
            // SAFETY: as the caller promises; a null pointer in any member is a null descriptor.
            unsafe { self.put(descriptors, (array, element), kind, data) };
        }
    }

    /// # Safety
    /// As [`write`](Self::write); `data` is of the kind.
    unsafe fn put(
        &self,
        descriptors: &Descriptors,
        (array, element): (Array, u32),
        kind: BindingKind,
        data: vk::DescriptorDataEXT<'_>,
    ) {
        let (Some(functions), Some(sizes)) = (&descriptors.api.descriptor_buffers, &descriptors.limits.sizes)
        else {
            return;
        };
        let Some(row) = self.rows.iter().find(|row| row.binding == array.binding) else { return };
        let (at, size) = (row.offset + row.stride * u64::from(element), sizes.of(kind));
        if element >= array.length || at.saturating_add(size) > self.size {
            return;
        }
        let info = vk::DescriptorGetInfoEXT { ty: vk_type(kind), data, ..Default::default() };
        // SAFETY: the bytes are inside the buffer, which is mapped for its whole lifetime, and the caller
        // promises that no other code uses them. Their number is the size of a descriptor of the kind.
        unsafe {
            let bytes = self.mapped.get().as_ptr().add(at as usize);
            functions.get_descriptor(&info, core::slice::from_raw_parts_mut(bytes, size as usize));
        }
    }

    /// The binding info for command buffers.
    pub(super) fn binding(&self) -> vk::DescriptorBufferBindingInfoEXT<'static> {
        vk::DescriptorBufferBindingInfoEXT::default().address(self.address).usage(self.usage)
    }

    pub(super) fn destroy(self, descriptors: &Descriptors) {
        // SAFETY: by the contract the GPU no longer uses it, and it was made here.
        unsafe { descriptors.api.device.destroy_buffer(self.buffer, None) };
        self.memory.destroy();
        let is_of_samplers = self.usage.contains(vk::BufferUsageFlags::SAMPLER_DESCRIPTOR_BUFFER_EXT);
        let kind = if is_of_samplers { DescriptorKind::Sampler } else { DescriptorKind::Resource };
        descriptors.space.release(kind, self.size);
    }
}

impl Descriptors {
    /// A buffer with dedicated memory, which the CPU writes and the GPU sees without flushes: device-local if any
    /// such memory is host-visible.
    fn create_mapped(
        &self,
        size: u64,
        usage: vk::BufferUsageFlags,
    ) -> Result<(vk::Buffer, Arc<Memory>, Address), DeviceError> {
        let flags = vk::BufferCreateFlags::empty();
        let plan = Plan::Buffer { size, usage, flags, external: HandleTypes::empty() };
        let bare = self.resources.create(&plan)?;
        let needs = self.resources.needs_of(bare.object).memory;
        let usable = needs.memory_type_bits & self.tables.general_types;
        let coherent = MemoryFlags::HOST_VISIBLE | MemoryFlags::HOST_COHERENT;
        let mut found: SmallVec<[_; 4]> = (0_u8..32)
            .zip(&self.tables.properties.memory_types)
            .filter(|(index, found)| usable & 1 << index != 0 && found.flags.contains(coherent))
            .map(|(index, found)| (!found.flags.contains(MemoryFlags::DEVICE_LOCAL), MemoryTypeId(index)))
            .collect();
        found.sort_by_key(|(is_far, _)| *is_far);
        let mut result = Err(unsupported("descriptor buffers without coherent memory"));
        for (_, kind) in found {
            result = self.bind_new(bare.object, needs.size, kind);
            if !result.as_ref().is_err_and(DeviceError::is_shortage) {
                break;
            }
        }
        let (memory, mapped) = result?;
        match bare.keep() {
            Object::Buffer(buffer) => Ok((buffer, memory, mapped)),
            Object::Image(_) => Err(DeviceError::broken_rule(CallRule::IsBuffer)),
        }
    }

    fn bind_new(
        &self,
        object: Object,
        size: u64,
        kind: MemoryTypeId,
    ) -> Result<(Arc<Memory>, Address), DeviceError> {
        let memory = self.resources.memory.allocate(Allocation {
            size,
            kind,
            priority: Priority::High,
            holds_buffers: true,
            dedicated: None,
            exported: HandleTypes::empty(),
            import: None,
        })?;
        // The memory is mapped first: a buffer is bound once, and perhaps tried with other memory.
        let mapped = memory.map();
        match mapped.and_then(|mapped| self.resources.bind(object, &memory, 0).map(|()| mapped)) {
            Ok(mapped) => Ok((memory, mapped)),
            Err(error) => {
                memory.destroy();
                Err(error)
            }
        }
    }
}

/// Maximum size of all descriptor buffers together, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpaceLimits {
    resources: u64,
    samplers: u64,
    both: u64,
}

impl SpaceLimits {
    pub(super) const fn new(found: &vk::PhysicalDeviceDescriptorBufferPropertiesEXT<'_>) -> Self {
        Self {
            resources: found.resource_descriptor_buffer_address_space_size,
            samplers: found.sampler_descriptor_buffer_address_space_size,
            both: found.descriptor_buffer_address_space_size,
        }
    }
}

/// The total bytes of the live descriptor buffers.
#[derive(Debug, Default)]
pub(crate) struct DescriptorSpace(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    resources: u64,
    samplers: u64,
}

impl DescriptorSpace {
    /// Counts a buffer before its creation.
    ///
    /// # Errors
    /// The exceeded limit. Destroying a heap frees space, so it is a shortage.
    pub(super) fn take(
        &self,
        kind: DescriptorKind,
        size: u64,
        limits: SpaceLimits,
    ) -> Result<(), DeviceError> {
        let mut taken = self.0.lock();
        let both = taken.resources.saturating_add(taken.samplers).saturating_add(size);
        let (own, most, what) = match kind {
            DescriptorKind::Sampler => (
                &mut taken.samplers,
                limits.samplers,
                "descriptor buffers: samplerDescriptorBufferAddressSpaceSize",
            ),
            _ => (
                &mut taken.resources,
                limits.resources,
                "descriptor buffers: resourceDescriptorBufferAddressSpaceSize",
            ),
        };
        let sum = own.saturating_add(size);
        if sum > most {
            return Err(DeviceError::OutOfDeviceMemory { what });
        }
        if both > limits.both {
            let what = "descriptor buffers: descriptorBufferAddressSpaceSize";
            return Err(DeviceError::OutOfDeviceMemory { what });
        }
        *own = sum;
        Ok(())
    }

    /// Returns the bytes of a buffer that was destroyed, or not created.
    pub(super) fn release(&self, kind: DescriptorKind, size: u64) {
        let mut taken = self.0.lock();
        let own = match kind {
            DescriptorKind::Sampler => &mut taken.samplers,
            _ => &mut taken.resources,
        };
        *own = own.saturating_sub(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_those_of_enabled_extensions() {
        use vk::ShaderStageFlags as Stage;
        let with = |name: &'static CStr| stages(|known| known == name);
        assert_eq!(with(c"none"), Stage::ALL_GRAPHICS | Stage::COMPUTE);
        assert!(with(ash::ext::mesh_shader::NAME).contains(Stage::MESH_EXT | Stage::TASK_EXT));
        let rays = with(ash::khr::ray_tracing_pipeline::NAME);
        assert!(rays.contains(Stage::RAYGEN_KHR | Stage::CALLABLE_KHR) && !rays.contains(Stage::MESH_EXT));
    }

    #[test]
    fn each_kind_and_both_have_their_limits() {
        use DescriptorKind::{Resource, Sampler};
        let (space, limits) =
            (DescriptorSpace::default(), SpaceLimits { resources: 100, samplers: 60, both: 120 });
        let take = |kind, size| match space.take(kind, size, limits) {
            Ok(()) => "",
            Err(DeviceError::OutOfDeviceMemory { what }) => what.rsplit(' ').next().unwrap(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(take(Resource, 101), "resourceDescriptorBufferAddressSpaceSize");
        assert_eq!(take(Sampler, 61), "samplerDescriptorBufferAddressSpaceSize");
        assert_eq!([take(Resource, 100), take(Sampler, 20)], ["", ""]);
        assert_eq!(take(Sampler, 1), "descriptorBufferAddressSpaceSize");
        assert_eq!(take(Resource, u64::MAX), "resourceDescriptorBufferAddressSpaceSize");
        space.release(Resource, 100);
        assert_eq!([take(Resource, 60), take(Sampler, 40)], ["", ""]);
        assert_eq!(take(Sampler, u64::MAX), "samplerDescriptorBufferAddressSpaceSize");
    }
}
