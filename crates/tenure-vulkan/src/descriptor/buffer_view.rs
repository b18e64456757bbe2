//! Views of buffers.

use ash::vk;
use tenure_core::device::{
    Allowed, BindingKind, BufferAccess, BufferView, CallRule, DeviceError, Elements, Format, check,
};

use super::Descriptors;
use super::slot::{Slot, Texels, Value, Written};
use crate::error::{unsupported, unsupported_format};
use crate::format::to_vk_format;
use crate::resource::{Resource, VkUsage};

/// The usage that the API's buffer needs.
const fn needed_usage(kind: BindingKind) -> vk::BufferUsageFlags {
    match kind {
        BindingKind::Constants => vk::BufferUsageFlags::UNIFORM_BUFFER,
        BindingKind::TypedBuffer => vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER,
        BindingKind::TypedStorageBuffer => vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER,
        _ => vk::BufferUsageFlags::STORAGE_BUFFER,
    }
}

impl Descriptors {
    /// Makes what a view of a buffer needs.
    pub(super) fn create_buffer_view(
        &self,
        resource: &Resource,
        view: &BufferView,
    ) -> Result<Slot, DeviceError> {
        let kind = BindingKind::from(view.access);
        let buffer = self.check_bytes(resource, view.access, [view.offset, view.size])?;
        let (BufferAccess::Read(elements) | BufferAccess::ReadWrite(elements)) = view.access else {
            return Ok(Slot::Shader(bytes(kind, buffer, view.offset, view.size)));
        };
        if let Elements::Structured(stride) = elements
            && (stride == 0 || !stride.is_multiple_of(4))
        {
            return Err(DeviceError::invalid_desc(
                "stride",
                stride,
                Allowed::Rule("a multiple of 4, and not 0"),
            ));
        }
        // The format is checked first: of those that buffers do not have, elements mean nothing.
        let format = match elements {
            Elements::Typed(format) => Some(self.texel_format(format, kind)?),
            Elements::Raw | Elements::Structured(_) => None,
        };
        check::multiple(CallRule::ViewWholeElements, view.size, elements.bytes())?;
        match format {
            None => Ok(Slot::Shader(bytes(kind, buffer, view.offset, view.size))),
            Some(format) => self.create_texel_view(buffer, view, elements.bytes(), (kind, format)),
        }
    }

    /// In descriptor buffers, descriptors of buffers are addresses.
    fn may_be_described(&self, resource: &Resource) -> bool {
        let has_address = match resource.usage {
            VkUsage::Buffer(usage) => usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS),
            VkUsage::Image(..) => true,
        };
        has_address || self.api.descriptor_buffers.is_none()
    }

    /// Checks a range of a buffer that shaders are to see, and says which buffer it is.
    pub(super) fn check_bytes(
        &self,
        resource: &Resource,
        access: BufferAccess,
        [offset, size]: [u64; 2],
    ) -> Result<vk::Buffer, DeviceError> {
        resource.check_device(self)?;
        let (buffer, info) = resource.as_buffer()?;
        let kind = BindingKind::from(access);
        let is_made_for_it = match resource.usage {
            VkUsage::Buffer(usage) => usage.contains(needed_usage(kind)),
            VkUsage::Image(..) => false,
        };
        if !info.usage.contains(access.usage()) || !is_made_for_it {
            return Err(DeviceError::MissingUsage { needs: access.usage(), has: info.usage });
        }
        if !self.may_be_described(resource) {
            return Err(unsupported("descriptors of buffers without an address (descriptor buffers)"));
        }
        check::buffer_view(offset, size, info.size)?;
        let tables = &self.limits;
        let (alignment, most) = match kind {
            BindingKind::Constants => (tables.constant_alignment, tables.contract.constant_size),
            BindingKind::TypedBuffer | BindingKind::TypedStorageBuffer => {
                (tables.contract.typed_alignment, u64::MAX)
            }
            _ => (tables.storage_alignment, tables.contract.storage_size),
        };
        check::multiple(CallRule::ViewAligned, offset, alignment)?;
        check::at_most(CallRule::ViewTooLarge, size, most)?;
        Ok(buffer)
    }

    /// The API's format, where the device has buffers of it.
    fn texel_format(&self, format: Format, kind: BindingKind) -> Result<vk::Format, DeviceError> {
        let found = to_vk_format(format);
        // SAFETY: the physical device is one of the instance's.
        let properties =
            unsafe { self.api.instance.get_physical_device_format_properties(self.api.physical, found) };
        let needed = match kind {
            BindingKind::TypedBuffer => vk::FormatFeatureFlags::UNIFORM_TEXEL_BUFFER,
            _ => vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER,
        };
        if !properties.buffer_features.contains(needed) {
            return Err(unsupported_format(format, "typed views of buffers"));
        }
        Ok(found)
    }

    fn create_texel_view(
        &self,
        buffer: vk::Buffer,
        view: &BufferView,
        element: u64,
        (kind, format): (BindingKind, vk::Format),
    ) -> Result<Slot, DeviceError> {
        let (elements, most) = (view.size / element.max(1), self.limits.contract.typed_elements);
        check::at_most(CallRule::ViewTooLarge, elements, u64::from(most))?;
        let info = vk::BufferViewCreateInfo::default()
            .buffer(buffer)
            .format(format)
            .offset(view.offset)
            .range(view.size);
        // SAFETY: the buffer is alive and made for such views, the range is inside it and aligned,
        // and the device has such buffers of the format.
        let made = unsafe { self.api.device.create_buffer_view(&info, None) };
        let made = made.map_err(|result| self.error("vkCreateBufferView", result))?;
        let bytes = vk::DescriptorBufferInfo { buffer, offset: view.offset, range: view.size };
        Ok(Slot::Shader(Written { kind, value: Value::Texels(Texels { view: made, bytes, format }) }))
    }
}

/// A uniform or storage buffer.
pub(super) fn bytes(kind: BindingKind, buffer: vk::Buffer, offset: u64, range: u64) -> Written {
    Written { kind, value: Value::Bytes(vk::DescriptorBufferInfo { buffer, offset, range }) }
}
