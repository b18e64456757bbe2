//! Buffers and images of the program's Vulkan that a manager adopts.

use std::ffi::c_void;
use std::ptr::NonNull;

use tenure_core::device::{BufferInfo, DeviceError, MemoryTypeId, Usage};
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

/// A `VkBuffer` or `VkImage` that the program created and bound to memory, with its creation parameters.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_VkAdoption {
    /// `sizeof(tn_VkAdoption)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The `VkBuffer` or `VkImage`. On a device with several queue families (`queues` and `other_families` of the device), a buffer
    /// must be shared by all of them (`VK_SHARING_MODE_CONCURRENT`), and an image must be exclusive unless its usage has
    /// `TN_USAGE_ALL_QUEUES`. Images must have optimal tiling.
    pub object: tn_Native,
    /// The `VkBufferUsageFlags` or `VkImageUsageFlags` of its creation: at least those required by the usage of the description.
    pub vk_usage: u32,
    /// The `VkImageCreateFlags` of an image; 0 for a buffer.
    pub vk_flags: u32,
    /// The `VkFormat` of an image; 0: the format of the description. 0 for a buffer.
    pub vk_format: u32,
    /// The state after its last use. `TN_STATE_COMMON`: no use yet; the contents of an image are undefined. An image must be in the
    /// layout of the state: `SHADER_READ_ONLY_OPTIMAL` for shader reads, `TRANSFER_SRC_OPTIMAL`, `TRANSFER_DST_OPTIMAL`,
    /// `COLOR_ATTACHMENT_OPTIMAL`, `DEPTH_STENCIL_ATTACHMENT_OPTIMAL` for `TN_STATE_DEPTH_WRITE`, `DEPTH_STENCIL_READ_ONLY_OPTIMAL`
    /// for `TN_STATE_DEPTH_READ`, also combined with shader reads, `PRESENT_SRC_KHR`; `GENERAL` for unordered access and other
    /// combinations.
    pub state: tn_State,
    /// The whole `VkDeviceMemory` bound to a CPU-visible buffer. For other buffers and for images, this and the next four fields
    /// are 0.
    pub memory: tn_Native,
    /// The size of the whole `VkDeviceMemory` in bytes.
    pub memory_size: u64,
    /// The offset of the buffer in that memory.
    pub memory_offset: u64,
    /// The CPU address of the first byte of that memory, which the program has mapped entirely. In memory that is not coherent, the
    /// CPU must not write anything else within the units of `nonCoherentAtomSize` that the buffer touches.
    pub mapped: *mut c_void,
    /// The memory type.
    pub memory_type: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Called once, after the handle and all views are released and no open recording and no GPU work can use the object, in the
    /// calls listed at `tn_gpu_defer`; never called if the GPU does not finish. It may destroy the object and free its memory.
    /// Null: the program destroys them itself, after releasing the handle and the views, `tn_gpu_wait` for all submissions, and
    /// `tn_gpu_reclaim`.
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

/// Adopts a `VkBuffer` of the program: the manager tracks its states, and reports when nothing uses it any more. The object must
/// exist until then. Its memory is not counted as the manager's. The description provides size, usage, memory, name and tag; memory
/// other than `TN_MEMORY_GPU_ONLY` requires the memory of the object. Earlier submissions of the program that use the object must
/// be complete, or submitted in `tn_gpu_submit_external` to the queue that uses it next.
///
/// Errors: `TN_ERROR_STATE` for a state that the usage does not allow; `TN_ERROR_DEVICE` for an invalid description, and memory
/// that does not contain the buffer; `TN_ERROR_ARGUMENT` for other fields; `TN_ERROR_POINTER`, `TN_ERROR_ENUM`, `TN_ERROR_TEXT`,
/// `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_FOREIGN`, `TN_ERROR_SHUT_DOWN`. On error the program still owns the object, and `destroy` is
/// not called.
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
        let is_plain = [adoption.vk_flags, adoption.vk_format, adoption.reserved] == [0; 3];
        check_plain(is_plain, desc.name, "vk_flags, vk_format and reserved of an adopted buffer")?;
        // Without the usages that a creation would add.
        let wanted = buffer_desc(desc)?.usage(usage(desc.usage)?);
        let buffer = object(adoption)?;
        let info = BufferInfo::new(wanted.size, wanted.usage);
        let bits = vk::BufferUsageFlags::from_raw(adoption.vk_usage);
        let raw = RawBuffer::new(buffer, info, bits, Ownership::Caller).memory(memory(adoption)?);
        // SAFETY: the header requires that the buffer is of this device, was created as described, and outlives the adopted one.
        let resource = unsafe { Resource::from_raw_buffer(gpu.device(), raw) };
        let resource = resource.map_err(|error| refused(&wanted.name, error))?;
        let (owner, taken) = Owner::new(adoption.destroy, adoption.destroy_user, adoption.destroy_object);
        let adopted = gpu.adopt_buffer_in(owner, resource, &wanted, state(adoption.state)?);
        let adopted = adopted.map_err(|rejected| rejected.error)?;
        taken.note();
        Ok(On::Vulkan(ResourceOf::Own(adopted)))
    })
}

/// Adopts a `VkImage` of the program, as `tn_buffer_adopt_vk`. The description provides all texel fields, usage, name and tag. An
/// image with contents must be used first on a queue of the family that owns it.
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
        let is_plain = adoption.memory == 0 && !has_place(adoption) && adoption.reserved == 0;
        check_plain(is_plain, desc.name, "memory, its fields and reserved of an adopted image")?;
        let mut wanted = texture_desc(desc)?;
        wanted.info.usage = usage(desc.usage)?;
        // Images change the queue family by ownership transfers, unless all families share them.
        if !wanted.info.usage.contains(Usage::ALL_QUEUES) {
            wanted.info.usage |= Usage::EXCLUSIVE;
        }
        let format = match adoption.vk_format {
            0 => to_vk_format(wanted.info.format),
            format => vk::Format::from_raw(format.cast_signed()),
        };
        let image = object(adoption)?;
        let bits = vk::ImageUsageFlags::from_raw(adoption.vk_usage);
        let raw = RawImage::new(image, wanted.info.clone(), format, bits, Ownership::Caller)
            .flags(vk::ImageCreateFlags::from_raw(adoption.vk_flags));
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
    if adoption.memory == 0 {
        return match has_place(adoption) {
            true => Err(Failure::new(
                TN_ERROR_POINTER,
                "tn_VkAdoption: memory is null, and its size, offset, address or type is not 0",
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

/// Whether any field describes the memory of an object.
fn has_place(adoption: &tn_VkAdoption) -> bool {
    [adoption.memory_size, adoption.memory_offset, adoption.memory_type.into()] != [0; 3]
        || !adoption.mapped.is_null()
}

fn refused(name: &Name, source: DeviceError) -> Error {
    Error::Device { name: name.clone(), source }
}
