//! Requirements of resources, and memory types of imported memory: kept for the log, and replaced by those of the disguise.

use std::ffi::c_void;

use ash::vk;

use crate::chain::find_answer;
use crate::device::Device;
use crate::disguise::Shape;
use crate::functions::next;
use crate::log::{Object, Requirements};

impl Device {
    /// Replaces an answer about a resource, and keeps it.
    fn answered(&self, object: Object, out: &mut vk::MemoryRequirements, dedicated: Option<[bool; 2]>) {
        self.note(|log| {
            let Some(resource) = log.resource(object) else { return };
            if let Some(disguise) = &self.disguise {
                disguise.requirements(resource.shape, out);
            }
            // Those of a disjoint image are of one plane.
            if !resource.is_disjoint {
                let dedicated = dedicated.or_else(|| resource.known?.dedicated);
                let vk::MemoryRequirements { size, alignment, .. } = *out;
                resource.known = Some(Requirements { size, alignment, dedicated });
            }
        });
    }

    /// The requirements of a resource, by the last answer or a new one.
    ///
    /// # Safety
    ///
    /// The object lives. `plane` is that of a disjoint image, else empty.
    pub(crate) unsafe fn requirements(&self, object: Object, plane: vk::ImageAspectFlags) -> Requirements {
        let known = self.note(|log| log.resource(object)?.known).flatten();
        let can_ask = self.has_requirements2;
        if let Some(known) = known
            && (known.dedicated.is_some() || !can_ask)
        {
            return known;
        }
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut out = vk::MemoryRequirements2::default();
        if can_ask {
            out.p_next = (&raw mut dedicated).cast();
        }
        let one = &raw mut out.memory_requirements;
        // SAFETY: the object lives, and the structures are this function's.
        unsafe {
            match object {
                Object::Buffer(buffer) => {
                    let info = vk::BufferMemoryRequirementsInfo2::default().buffer(buffer);
                    match (
                        self.next.get_buffer_memory_requirements2,
                        self.next.get_buffer_memory_requirements,
                    ) {
                        (Some(ask), _) if can_ask => ask(self.handle, &raw const info, &raw mut out),
                        (_, Some(ask)) => ask(self.handle, buffer, one),
                        _ => {}
                    }
                }
                Object::Image(image) => {
                    let mut of_plane = vk::ImagePlaneMemoryRequirementsInfo::default().plane_aspect(plane);
                    let mut info = vk::ImageMemoryRequirementsInfo2::default().image(image);
                    if !plane.is_empty() {
                        info = info.push_next(&mut of_plane);
                    }
                    match (self.next.get_image_memory_requirements2, self.next.get_image_memory_requirements)
                    {
                        (Some(ask), _) if can_ask => ask(self.handle, &raw const info, &raw mut out),
                        (_, Some(ask)) => ask(self.handle, image, one),
                        _ => {}
                    }
                }
                Object::VideoSession(..) => {}
            }
        }
        let dedicated = can_ask.then(|| choice(&dedicated));
        self.answered(object, &mut out.memory_requirements, dedicated);
        let vk::MemoryRequirements { size, alignment, .. } = out.memory_requirements;
        Requirements { size, alignment, dedicated }
    }
}

const fn choice(found: &vk::MemoryDedicatedRequirements<'_>) -> [bool; 2] {
    [found.prefers_dedicated_allocation != 0, found.requires_dedicated_allocation != 0]
}

/// The driver's choice in a chain of answers.
///
/// # Safety
///
/// `chain` is that of requirements that the driver has written.
unsafe fn choice_in(chain: *mut c_void) -> Option<[bool; 2]> {
    // SAFETY: as the caller promises.
    unsafe { find_answer::<vk::MemoryDedicatedRequirements<'_>>(chain).map(|found| choice(found)) }
}

pub(crate) unsafe extern "system" fn get_buffer_memory_requirements(
    handle: vk::Device,
    buffer: vk::Buffer,
    out: *mut vk::MemoryRequirements,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_buffer_memory_requirements);
        next(handle, buffer, out);
        device.answered(Object::Buffer(buffer), &mut *out, None);
    }
}

pub(crate) unsafe extern "system" fn get_buffer_memory_requirements2(
    handle: vk::Device,
    info: *const vk::BufferMemoryRequirementsInfo2<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_buffer_memory_requirements2);
        next(handle, info, out);
        let dedicated = choice_in((*out).p_next);
        device.answered(Object::Buffer((*info).buffer), &mut (*out).memory_requirements, dedicated);
    }
}

pub(crate) unsafe extern "system" fn get_image_memory_requirements(
    handle: vk::Device,
    image: vk::Image,
    out: *mut vk::MemoryRequirements,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_image_memory_requirements);
        next(handle, image, out);
        device.answered(Object::Image(image), &mut *out, None);
    }
}

pub(crate) unsafe extern "system" fn get_image_memory_requirements2(
    handle: vk::Device,
    info: *const vk::ImageMemoryRequirementsInfo2<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_image_memory_requirements2);
        next(handle, info, out);
        let dedicated = choice_in((*out).p_next);
        device.answered(Object::Image((*info).image), &mut (*out).memory_requirements, dedicated);
    }
}

pub(crate) unsafe extern "system" fn get_device_image_memory_requirements(
    handle: vk::Device,
    info: *const vk::DeviceImageMemoryRequirements<'_>,
    out: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the program's own call, passed on.
    unsafe {
        let (device, next) = next!(Device of handle, get_device_image_memory_requirements);
        next(handle, info, out);
        if let (Some(disguise), Some(created)) = (&device.disguise, (*info).p_create_info.as_ref()) {
            disguise.requirements(Shape::of_image(created), &mut (*out).memory_requirements);
        }
    }
}

pub(crate) unsafe extern "system" fn get_video_session_memory_requirements(
    handle: vk::Device,
    session: vk::VideoSessionKHR,
    count: *mut u32,
    out: *mut vk::VideoSessionMemoryRequirementsKHR<'_>,
) -> vk::Result {
    // SAFETY: the program's own call, passed on; the driver has written that many answers.
    unsafe {
        let (device, next) = next!(Device of handle, get_video_session_memory_requirements);
        let result = next(handle, session, count, out);
        if let (Some(disguise), false) = (&device.disguise, out.is_null()) {
            for index in 0..*count as usize {
                disguise.requirements(Shape::BUFFER, &mut (*out.add(index)).memory_requirements);
            }
        }
        result
    }
}

/// Hooks of functions that ask for the requirements of something that is bound as a buffer is.
macro_rules! as_buffers {
    ($($function:ident: $info:ident;)+) => {
        $(pub(crate) unsafe extern "system" fn $function(
            handle: vk::Device,
            info: *const vk::$info<'_>,
            out: *mut vk::MemoryRequirements2<'_>,
        ) {
            // SAFETY: the program's own call, passed on.
            unsafe {
                let (device, next) = next!(Device of handle, $function);
                next(handle, info, out);
                if let Some(disguise) = &device.disguise {
                    disguise.requirements(Shape::BUFFER, &mut (*out).memory_requirements);
                }
            }
        })+
    };
}

as_buffers! {
    get_device_buffer_memory_requirements: DeviceBufferMemoryRequirements;
    get_structure_memory_requirements: AccelerationStructureMemoryRequirementsInfoNV;
    get_generated_commands_memory_requirements: GeneratedCommandsMemoryRequirementsInfoNV;
    get_generated_commands_memory_requirements_ext: GeneratedCommandsMemoryRequirementsInfoNV;
    get_tensor_memory_requirements: GeneratedCommandsMemoryRequirementsInfoNV;
    get_device_tensor_memory_requirements: GeneratedCommandsMemoryRequirementsInfoNV;
    get_data_graph_memory_requirements: GeneratedCommandsMemoryRequirementsInfoNV;
}

/// Hooks of functions that ask which memory types can import memory; that of the CPU is told apart.
macro_rules! importing {
    ($($function:ident: $external:ty, $properties:ident, $is_of_cpu:literal;)+) => {
        $(pub(crate) unsafe extern "system" fn $function(
            handle: vk::Device,
            kind: vk::ExternalMemoryHandleTypeFlags,
            external: $external,
            out: *mut vk::$properties<'_>,
        ) -> vk::Result {
            // SAFETY: the program's own call, passed on.
            unsafe {
                let (device, next) = next!(Device of handle, $function);
                let result = next(handle, kind, external, out);
                if let (Some(disguise), vk::Result::SUCCESS) = (&device.disguise, result) {
                    (*out).memory_type_bits = disguise.imported((*out).memory_type_bits, $is_of_cpu);
                }
                result
            }
        })+
    };
}

importing! {
    get_memory_fd_properties: i32, MemoryFdPropertiesKHR, false;
    get_memory_handle_properties: vk::HANDLE, MemoryWin32HandlePropertiesKHR, false;
    get_memory_host_pointer_properties: *const c_void, MemoryHostPointerPropertiesEXT, true;
    get_memory_metal_handle_properties: *const c_void, MemoryHostPointerPropertiesEXT, false;
}
