//! Buffers and images.

use ash::vk;
use ash::vk::Handle as _;

use crate::chain::name as name_of;
use crate::device::Device;
use crate::disguise::Shape;
use crate::functions::next;
use crate::instance::Callbacks;
use crate::log::Object;

pub(crate) unsafe extern "system" fn create_buffer(
    handle: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    callbacks: Callbacks<'_>,
    out: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, create_buffer);
        let result = next(handle, info, callbacks, out);
        if result == vk::Result::SUCCESS {
            let &vk::BufferCreateInfo { size, usage, flags, .. } = &*info;
            let sparse = if flags.contains(vk::BufferCreateFlags::SPARSE_BINDING) { " sparse" } else { "" };
            let usage = usage.as_raw();
            device.note(|log| {
                let object = Object::Buffer(*out);
                log.created(object, Shape::BUFFER, false, format_args!("b {size} {usage:x}{sparse}"));
            });
        }
        result
    }
}

pub(crate) unsafe extern "system" fn destroy_buffer(
    handle: vk::Device,
    buffer: vk::Buffer,
    callbacks: Callbacks<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, destroy_buffer);
        // Before the call: afterwards another thread can get the same handle.
        device.note(|log| log.destroyed(Object::Buffer(buffer)));
        next(handle, buffer, callbacks);
    }
}

pub(crate) unsafe extern "system" fn create_image(
    handle: vk::Device,
    info: *const vk::ImageCreateInfo<'_>,
    callbacks: Callbacks<'_>,
    out: *mut vk::Image,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, create_image);
        let result = next(handle, info, callbacks, out);
        if result == vk::Result::SUCCESS {
            let info = &*info;
            let vk::Extent3D { width, height, depth } = info.extent;
            let tiling = match info.tiling {
                vk::ImageTiling::OPTIMAL => 'o',
                vk::ImageTiling::LINEAR => 'l',
                _ => 'm',
            };
            let is_disjoint = info.flags.contains(vk::ImageCreateFlags::DISJOINT);
            let sparse = info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING);
            device.note(|log| {
                let event = format_args!(
                    "i {width}x{height}x{depth} {} {} {} {} {tiling} {:x}{}",
                    info.format.as_raw(),
                    info.mip_levels,
                    info.array_layers,
                    info.samples.as_raw(),
                    info.usage.as_raw(),
                    if sparse { " sparse" } else { "" },
                );
                log.created(Object::Image(*out), Shape::of_image(info), is_disjoint, event);
            });
        }
        result
    }
}

pub(crate) unsafe extern "system" fn destroy_image(
    handle: vk::Device,
    image: vk::Image,
    callbacks: Callbacks<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, destroy_image);
        // Before the call: afterwards another thread can get the same handle.
        device.note(|log| log.destroyed(Object::Image(image)));
        next(handle, image, callbacks);
    }
}

pub(crate) unsafe extern "system" fn set_name(
    handle: vk::Device,
    info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, set_name);
        if device.instance.has_names {
            let info = &*info;
            let object = match info.object_type {
                vk::ObjectType::BUFFER => Some(Object::Buffer(vk::Buffer::from_raw(info.object_handle))),
                vk::ObjectType::IMAGE => Some(Object::Image(vk::Image::from_raw(info.object_handle))),
                _ => None,
            };
            if let Some(object) = object {
                device.note(|log| log.named(object, &name_of(info.p_object_name)));
            }
        }
        next(handle, info)
    }
}
