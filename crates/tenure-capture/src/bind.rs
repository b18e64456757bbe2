//! Memory that becomes that of a resource.

use ash::vk;

use crate::chain::{find, list};
use crate::device::Device;
use crate::disguise::Shape;
use crate::functions::next;
use crate::instance::Callbacks;
use crate::log::{Binding, Object, Requirements};

impl Device {
    /// Writes down a binding that the driver has accepted.
    ///
    /// # Safety
    ///
    /// The resource lives.
    unsafe fn bound(&self, binding: &Binding) {
        // An image of a swap chain has no memory of the program's.
        if binding.memory == vk::DeviceMemory::null() {
            return;
        }
        // SAFETY: as the caller promises. Where a layer below wraps handles, it has wrapped this one.
        let needed = unsafe { self.requirements(binding.object, binding.plane) };
        self.note(|log| log.bound(binding, &needed));
    }
}

pub(crate) unsafe extern "system" fn bind_buffer_memory(
    handle: vk::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: u64,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, bind_buffer_memory);
        let result = next(handle, buffer, memory, offset);
        if result == vk::Result::SUCCESS {
            let plane = vk::ImageAspectFlags::empty();
            device.bound(&Binding { object: Object::Buffer(buffer), memory, offset, plane });
        }
        result
    }
}

pub(crate) unsafe extern "system" fn bind_image_memory(
    handle: vk::Device,
    image: vk::Image,
    memory: vk::DeviceMemory,
    offset: u64,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, bind_image_memory);
        let result = next(handle, image, memory, offset);
        if result == vk::Result::SUCCESS {
            let plane = vk::ImageAspectFlags::empty();
            device.bound(&Binding { object: Object::Image(image), memory, offset, plane });
        }
        result
    }
}

/// Whether one binding of a call succeeded: by its own result, where the program asks for that.
///
/// # Safety
///
/// `chain` is that of the binding, after the call.
unsafe fn is_bound(chain: *const std::ffi::c_void, result: vk::Result) -> bool {
    // SAFETY: as the caller promises.
    let own = unsafe { find::<vk::BindMemoryStatusKHR<'_>>(chain).and_then(|it| it.p_result.as_ref()) };
    own.copied().unwrap_or(result) == vk::Result::SUCCESS
}

pub(crate) unsafe extern "system" fn bind_buffer_memory2(
    handle: vk::Device,
    count: u32,
    infos: *const vk::BindBufferMemoryInfo<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, bind_buffer_memory2);
        let result = next(handle, count, infos);
        for info in list(infos, count).iter().filter(|info| is_bound(info.p_next, result)) {
            let &vk::BindBufferMemoryInfo { buffer, memory, memory_offset: offset, .. } = info;
            let plane = vk::ImageAspectFlags::empty();
            device.bound(&Binding { object: Object::Buffer(buffer), memory, offset, plane });
        }
        result
    }
}

pub(crate) unsafe extern "system" fn bind_image_memory2(
    handle: vk::Device,
    count: u32,
    infos: *const vk::BindImageMemoryInfo<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, bind_image_memory2);
        let result = next(handle, count, infos);
        for info in list(infos, count).iter().filter(|info| is_bound(info.p_next, result)) {
            let &vk::BindImageMemoryInfo { image, memory, memory_offset: offset, .. } = info;
            let plane = find::<vk::BindImagePlaneMemoryInfo<'_>>(info.p_next);
            let plane = plane.map_or(vk::ImageAspectFlags::empty(), |it| it.plane_aspect);
            device.bound(&Binding { object: Object::Image(image), memory, offset, plane });
        }
        result
    }
}

/// A video session has no buffer or image: each of its ranges is a resource of the log, with the size that is bound.
pub(crate) unsafe extern "system" fn bind_video_session_memory(
    handle: vk::Device,
    session: vk::VideoSessionKHR,
    count: u32,
    infos: *const vk::BindVideoSessionMemoryInfoKHR<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, bind_video_session_memory);
        let result = next(handle, session, count, infos);
        if result == vk::Result::SUCCESS {
            for info in list(infos, count) {
                let object = Object::VideoSession(session, info.memory_bind_index);
                let needed = Requirements { size: info.memory_size, alignment: 1, dedicated: None };
                let plane = vk::ImageAspectFlags::empty();
                let binding = Binding { object, memory: info.memory, offset: info.memory_offset, plane };
                device.note(|log| {
                    log.created(object, Shape::BUFFER, false, format_args!("v {}", info.memory_size));
                    log.bound(&binding, &needed);
                });
            }
        }
        result
    }
}

pub(crate) unsafe extern "system" fn destroy_video_session(
    handle: vk::Device,
    session: vk::VideoSessionKHR,
    callbacks: Callbacks<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, destroy_video_session);
        device.note(|log| log.destroyed_session(session));
        next(handle, session, callbacks);
    }
}
