//! Buffers and images of the program's Vulkan that a manager adopts.

use std::ffi::c_void;
use std::ptr::NonNull;

use tenure_core::device::{BufferInfo, DeviceError, MemoryTypeId};
use tenure_core::{Error, Name};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, Ownership, RawBuffer, RawImage, RawMemory, Resource, to_vk_format};

use crate::call::call_create;
use crate::callback::Owner;
use crate::convert::{buffer_desc, state, texture_desc, usage};
use crate::held::ResourceOf;
use crate::object::{Buffer, Gpu, On, Texture};
use crate::pointer::{Desc, In, Out};
use crate::reserved::{OF_ADOPTED, check_plain, is_plain_buffer, is_plain_texture};
use crate::slot::Handle;
use crate::types::*;

/// A `VkBuffer` or `VkImage` that the program created and bound to memory, and how it was created.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_VkAdoption {
    /// `sizeof(tn_VkAdoption)`.
    pub struct_size: u32,
    /// 0.
    pub flags: u32,
    /// Null.
    pub next: In<tn_Chain>,
    /// The `VkBuffer` or `VkImage`. If the device uses queues of several families, buffers are shared by all of them
    /// (`VK_SHARING_MODE_CONCURRENT`), and images by none, unless their usage has `TN_USAGE_ALL_QUEUES`. Images have optimal tiling.
    pub object: tn_Native,
    /// Its `VkBufferUsageFlags` or `VkImageUsageFlags`.
    pub vk_usage: u32,
    /// The `VkImageCreateFlags` of an image; 0 for a buffer.
    pub vk_flags: u32,
    /// The `VkFormat` of an image; 0: that of the description.
    pub vk_format: u32,
    /// The state of its last use. `TN_STATE_COMMON`: none; an image has undefined contents.
    pub state: tn_State,
    /// The `VkDeviceMemory` of a buffer that the CPU accesses; 0 otherwise, and the next four fields are 0, too.
    pub memory: tn_Native,
    /// Bytes of the whole allocation.
    pub memory_size: u64,
    /// The byte at which the buffer is bound.
    pub memory_offset: u64,
    /// The address of the first byte of the allocation. The program has mapped the whole allocation.
    pub mapped: *mut c_void,
    /// The memory type.
    pub memory_type: u32,
    /// 0.
    pub reserved: u32,
    /// Called once when nothing uses the object any more: it may destroy the object and free its memory. Null: nothing is called.
    pub destroy: Option<tn_DestroyFn>,
    /// Passed to `destroy`.
    pub destroy_user: *mut c_void,
    /// Passed to `destroy`.
    pub destroy_object: *mut c_void,
}

// SAFETY: `repr(C)`, begins with the head, and has only numbers, pointers and an optional function.
unsafe impl Desc for tn_VkAdoption {
    const TYPE: &'static str = "tn_VkAdoption";
    const FLAGS: u32 = 0;
}

/// Adopts a `VkBuffer` of the program: the manager tracks its states, and keeps it from the end of its handle until no open recording
/// and no GPU work can use it. Its memory does not count as the manager's. Of the description it takes size, usage, memory, name and
/// tag; memory other than `TN_MEMORY_GPU_ONLY` needs the memory of the object. What the program has submitted with the object must be
/// complete, or precede the manager's work in the same queue.
///
/// Errors: `TN_ERROR_STATE` for a state that the usage does not allow; `TN_ERROR_DEVICE` for a description that no buffer has, and
/// memory that does not contain the buffer; `TN_ERROR_POINTER`, `TN_ERROR_ENUM`, `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_FOREIGN`. Then the
/// object is still the program's, and `destroy` is not called.
#[unsafe(no_mangle)]
extern "C" fn tn_buffer_adopt_vk(
    gpu: Handle<Gpu>,
    desc: In<tn_BufferDesc>,
    adoption: In<tn_VkAdoption>,
    out: Out<Handle<Buffer>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc, adoption) = (vulkan(&gpu)?, desc.desc()?, adoption.desc()?);
        check_plain(is_plain_buffer(desc), desc.name, OF_ADOPTED)?;
        // As it is, without the uses that creation adds.
        let wanted = buffer_desc(desc)?.usage(usage(desc.usage)?);
        let buffer = object(adoption)?;
        let info = BufferInfo::new(wanted.size, wanted.usage);
        let bits = vk::BufferUsageFlags::from_raw(adoption.vk_usage);
        let raw = RawBuffer::new(buffer, info, bits, Ownership::Caller).memory(memory(adoption)?);
        // SAFETY: the header asks of the caller that the buffer is of this device, was created as described, and outlives the adopted
        // one.
        let resource = unsafe { Resource::from_raw_buffer(gpu.device(), raw) };
        let resource = resource.map_err(|error| refused(&wanted.name, error))?;
        let (owner, taken) = Owner::new(adoption.destroy, adoption.destroy_user, adoption.destroy_object);
        let adopted = gpu.adopt_buffer_in(owner, resource, &wanted, state(adoption.state)?);
        let adopted = adopted.map_err(|rejected| rejected.error)?;
        taken.note();
        Ok(On::Vulkan(ResourceOf::Own(adopted)))
    })
}

/// Adopts a `VkImage` of the program, as `tn_buffer_adopt_vk`. Of the description it takes all that describes texels, the usage, name
/// and tag.
///
/// Errors: as `tn_buffer_adopt_vk`.
#[unsafe(no_mangle)]
extern "C" fn tn_texture_adopt_vk(
    gpu: Handle<Gpu>,
    desc: In<tn_TextureDesc>,
    adoption: In<tn_VkAdoption>,
    out: Out<Handle<Texture>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc, adoption) = (vulkan(&gpu)?, desc.desc()?, adoption.desc()?);
        check_plain(is_plain_texture(desc), desc.name, OF_ADOPTED)?;
        let mut wanted = texture_desc(desc)?;
        wanted.info.usage = usage(desc.usage)?;
        let format = match adoption.vk_format {
            0 => to_vk_format(wanted.info.format),
            format => vk::Format::from_raw(format.cast_signed()),
        };
        let image = object(adoption)?;
        let bits = vk::ImageUsageFlags::from_raw(adoption.vk_usage);
        let raw = RawImage::new(image, wanted.info.clone(), format, bits, Ownership::Caller)
            .flags(vk::ImageCreateFlags::from_raw(adoption.vk_flags))
            .memory(memory(adoption)?);
        // SAFETY: as in `tn_buffer_adopt_vk`.
        let resource = unsafe { Resource::from_raw_image(gpu.device(), raw) };
        let resource = resource.map_err(|error| refused(&wanted.name, error))?;
        let (owner, taken) = Owner::new(adoption.destroy, adoption.destroy_user, adoption.destroy_object);
        let adopted = gpu.adopt_texture_in(owner, resource, &wanted, state(adoption.state)?);
        let adopted = adopted.map_err(|rejected| rejected.error)?;
        taken.note();
        Ok(On::Vulkan(ResourceOf::Own(adopted)))
    })
}

fn vulkan(gpu: &Handle<Gpu>) -> Result<&tenure_core::Gpu<Device>, Failure> {
    match gpu.get()? {
        On::Vulkan(gpu) => Ok(gpu),
        _ => Err(Failure::foreign()),
    }
}

fn object<T: vk::Handle>(adoption: &tn_VkAdoption) -> Result<T, Failure> {
    match adoption.object {
        0 => Err(Failure::new(TN_ERROR_POINTER, "tn_VkAdoption: object is null")),
        object => Ok(T::from_raw(object)),
    }
}

fn memory(adoption: &tn_VkAdoption) -> Result<Option<RawMemory>, Failure> {
    let has_others = adoption.memory_size != 0 || adoption.memory_offset != 0 || !adoption.mapped.is_null();
    if adoption.memory == 0 {
        return match has_others {
            true => Err(Failure::new(
                TN_ERROR_POINTER,
                "tn_VkAdoption: memory is null, and its size, offset or address is not 0",
            )),
            false => Ok(None),
        };
    }
    let found = <vk::DeviceMemory as vk::Handle>::from_raw(adoption.memory);
    let found = RawMemory::new(
        found,
        adoption.memory_size,
        MemoryTypeId(u8::try_from(adoption.memory_type).unwrap_or(u8::MAX)),
    );
    Ok(Some(found.offset(adoption.memory_offset).mapped(NonNull::new(adoption.mapped.cast()))))
}

fn refused(name: &Name, source: DeviceError) -> Error {
    Error::Device { name: name.clone(), source }
}
