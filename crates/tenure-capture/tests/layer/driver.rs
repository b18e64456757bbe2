//! A driver for the tests: handles that are free are used again at once, and everything that arrives is kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::sync::{Arc, Mutex, MutexGuard};

use ash::vk;
use ash::vk::Handle;

/// The device and the functions that it lacks.
#[derive(Clone)]
pub(crate) struct Config {
    /// Functions that it does not have.
    pub(crate) absent: Vec<&'static CStr>,
    /// Flags of its memory types, all of one heap.
    pub(crate) types: Vec<u32>,
    /// The types of all resources.
    pub(crate) bits: u32,
    pub(crate) version: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { absent: Vec::new(), types: vec![0b1111], bits: 1, version: vk::API_VERSION_1_3 }
    }
}

thread_local! {
    /// The driver of the instances that this thread creates.
    pub(crate) static CONFIG: RefCell<Config> = RefCell::default();
}

/// The calls that have arrived.
#[derive(Default)]
pub(crate) struct Seen {
    last: u64,
    free: Vec<u64>,
    sizes: HashMap<u64, u64>,
    pub(crate) calls: HashMap<String, u32>,
    /// The type of each allocation, and the address of its chain.
    pub(crate) allocations: Vec<(u32, usize)>,
}

impl Seen {
    fn handle(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.last += 1;
            self.last
        })
    }

    pub(crate) fn count(&self, call: &str) -> u32 {
        self.calls.get(call).copied().unwrap_or(0)
    }
}

pub(crate) struct Driver {
    config: Config,
    seen: Mutex<Seen>,
}

impl Driver {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

/// The object of a dispatchable handle: the loader's key comes first.
#[repr(C)]
pub(crate) struct Object {
    key: *const u8,
    driver: Arc<Driver>,
}

fn object<H: Handle>(driver: &Arc<Driver>, key: *const u8) -> H {
    let object = Box::new(Object { key, driver: Arc::clone(driver) });
    H::from_raw(Box::into_raw(object) as u64)
}

/// A new key, at no other's address. Never freed, like the rest here: a handle that is used too late is then a wrong count, not
/// a crash.
fn key() -> *const u8 {
    Box::into_raw(Box::new(0))
}

pub(crate) fn driver(handle: impl Handle) -> Arc<Driver> {
    // SAFETY: all dispatchable handles are made by `object`.
    unsafe { (*(handle.as_raw() as *const Object)).driver.clone() }
}

/// A handle with the key of another one.
pub(crate) fn child<H: Handle>(of: impl Handle) -> H {
    // SAFETY: as above.
    let of = unsafe { &*(of.as_raw() as *const Object) };
    object(&of.driver, of.key)
}

fn call(handle: impl Handle, name: &str) -> Arc<Driver> {
    let driver = driver(handle);
    *driver.seen().calls.entry(name.to_owned()).or_default() += 1;
    driver
}

/// The next layer's function of a name.
fn function(config: &Config, name: &CStr) -> vk::PFN_vkVoidFunction {
    macro_rules! table {
        ($($name:literal => $function:ident as $type:ident,)+) => {
            match name {
                $(name if name == $name => {
                    let function: vk::$type = $function;
                    // SAFETY: callers know the type by the name.
                    Some(unsafe { transmute::<vk::$type, unsafe extern "system" fn()>(function) })
                })+
                _ => None,
            }
        };
    }
    if config.absent.contains(&name) {
        return None;
    }
    table! {
        c"vkCreateInstance" => create_instance as PFN_vkCreateInstance,
        c"vkDestroyInstance" => destroy_instance as PFN_vkDestroyInstance,
        c"vkCreateDevice" => create_device as PFN_vkCreateDevice,
        c"vkGetPhysicalDeviceProperties" => properties as PFN_vkGetPhysicalDeviceProperties,
        c"vkGetPhysicalDeviceProperties2" => properties2 as PFN_vkGetPhysicalDeviceProperties2,
        c"vkGetPhysicalDeviceMemoryProperties" => memory_properties as PFN_vkGetPhysicalDeviceMemoryProperties,
        c"vkGetPhysicalDeviceMemoryProperties2" => memory_properties2 as PFN_vkGetPhysicalDeviceMemoryProperties2,
        c"vkGetPhysicalDeviceMemoryProperties2KHR" => memory_properties2 as PFN_vkGetPhysicalDeviceMemoryProperties2,
        c"vkGetDeviceProcAddr" => device_function as PFN_vkGetDeviceProcAddr,
        c"vkDestroyDevice" => destroy_device as PFN_vkDestroyDevice,
        c"vkAllocateMemory" => allocate as PFN_vkAllocateMemory,
        c"vkFreeMemory" => free as PFN_vkFreeMemory,
        c"vkMapMemory" => map as PFN_vkMapMemory,
        c"vkUnmapMemory" => unmap as PFN_vkUnmapMemory,
        c"vkMapMemory2" => map2 as PFN_vkMapMemory2KHR,
        c"vkMapMemory2KHR" => map2 as PFN_vkMapMemory2KHR,
        c"vkUnmapMemory2" => unmap2 as PFN_vkUnmapMemory2KHR,
        c"vkUnmapMemory2KHR" => unmap2 as PFN_vkUnmapMemory2KHR,
        c"vkCreateBuffer" => create_buffer as PFN_vkCreateBuffer,
        c"vkDestroyBuffer" => destroy_buffer as PFN_vkDestroyBuffer,
        c"vkCreateImage" => create_image as PFN_vkCreateImage,
        c"vkDestroyImage" => destroy_image as PFN_vkDestroyImage,
        c"vkSetDebugUtilsObjectNameEXT" => set_name as PFN_vkSetDebugUtilsObjectNameEXT,
        c"vkBindBufferMemory" => bind_buffer as PFN_vkBindBufferMemory,
        c"vkBindBufferMemory2" => bind_buffers as PFN_vkBindBufferMemory2,
        c"vkBindBufferMemory2KHR" => bind_buffers as PFN_vkBindBufferMemory2,
        c"vkBindImageMemory" => bind_image as PFN_vkBindImageMemory,
        c"vkBindImageMemory2" => bind_images as PFN_vkBindImageMemory2,
        c"vkBindImageMemory2KHR" => bind_images as PFN_vkBindImageMemory2,
        c"vkGetBufferMemoryRequirements" => of_buffer as PFN_vkGetBufferMemoryRequirements,
        c"vkGetBufferMemoryRequirements2" => of_buffer2 as PFN_vkGetBufferMemoryRequirements2,
        c"vkGetBufferMemoryRequirements2KHR" => of_buffer2 as PFN_vkGetBufferMemoryRequirements2,
        c"vkGetImageMemoryRequirements" => of_image as PFN_vkGetImageMemoryRequirements,
        c"vkGetImageMemoryRequirements2" => of_image2 as PFN_vkGetImageMemoryRequirements2,
        c"vkGetImageMemoryRequirements2KHR" => of_image2 as PFN_vkGetImageMemoryRequirements2,
        c"vkGetDeviceBufferMemoryRequirements" => of_buffer_info as PFN_vkGetDeviceBufferMemoryRequirements,
        c"vkGetDeviceBufferMemoryRequirementsKHR" => of_buffer_info as PFN_vkGetDeviceBufferMemoryRequirements,
        c"vkGetDeviceImageMemoryRequirements" => of_image_info as PFN_vkGetDeviceImageMemoryRequirements,
        c"vkGetDeviceImageMemoryRequirementsKHR" => of_image_info as PFN_vkGetDeviceImageMemoryRequirements,
        c"vkGetGeneratedCommandsMemoryRequirementsEXT" => of_other as PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
        c"vkGetTensorMemoryRequirementsARM" => of_other as PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
        c"vkGetDeviceTensorMemoryRequirementsARM" => of_other as PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
        c"vkGetDataGraphPipelineSessionMemoryRequirementsARM"
            => of_other as PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
        c"vkGetMemoryMetalHandlePropertiesEXT" => of_pointer as PFN_vkGetMemoryHostPointerPropertiesEXT,
        c"vkGetMemoryFdPropertiesKHR" => of_descriptor as PFN_vkGetMemoryFdPropertiesKHR,
        c"vkGetMemoryHostPointerPropertiesEXT" => of_pointer as PFN_vkGetMemoryHostPointerPropertiesEXT,
        c"vkQueueSubmit" => submit as PFN_vkQueueSubmit,
        c"vkQueueSubmit2" => submit2 as PFN_vkQueueSubmit2,
        c"vkQueueSubmit2KHR" => submit2 as PFN_vkQueueSubmit2,
        c"vkQueueBindSparse" => bind_sparse as PFN_vkQueueBindSparse,
        c"vkQueuePresentKHR" => present as PFN_vkQueuePresentKHR,
        c"vkQueueWaitIdle" => wait_idle as PFN_vkQueueWaitIdle,
        c"vkDeviceWaitIdle" => wait_device_idle as PFN_vkDeviceWaitIdle,
        c"vkWaitForFences" => wait_for_fences as PFN_vkWaitForFences,
        c"vkGetFenceStatus" => fence_status as PFN_vkGetFenceStatus,
        c"vkWaitSemaphores" => wait_semaphores as PFN_vkWaitSemaphores,
        c"vkWaitSemaphoresKHR" => wait_semaphores as PFN_vkWaitSemaphores,
        c"vkGetSemaphoreCounterValue" => semaphore_value as PFN_vkGetSemaphoreCounterValue,
        c"vkGetSemaphoreCounterValueKHR" => semaphore_value as PFN_vkGetSemaphoreCounterValue,
        c"vkCreateSwapchainKHR" => create_swapchain as PFN_vkCreateSwapchainKHR,
    }
}

pub(crate) unsafe extern "system" fn instance_function(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: a string.
    let name = unsafe { CStr::from_ptr(name) };
    if instance == vk::Instance::null() {
        return CONFIG.with_borrow(|config| function(config, name));
    }
    function(&driver(instance).config, name)
}

pub(crate) unsafe extern "system" fn device_function(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: a string.
    function(&driver(device).config, unsafe { CStr::from_ptr(name) })
}

type Callbacks<'a> = *const vk::AllocationCallbacks<'a>;

const DONE: vk::Result = vk::Result::SUCCESS;

/// The functions of the driver. Their arguments are those of the tests.
macro_rules! functions {
    ($($function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)+) => {
        $(
            unsafe extern "system" fn $function($($argument: $type),*) $(-> $result)? {
                // SAFETY: what the tests hand over.
                #[allow(unused_unsafe, reason = "some only count")]
                unsafe { $body }
            }
        )+
    };
}

functions! {
    create_instance(_info: *const vk::InstanceCreateInfo<'_>, _callbacks: Callbacks<'_>, out: *mut vk::Instance)
        -> vk::Result {
        let driver = Arc::new(Driver { config: CONFIG.with_borrow(Clone::clone), seen: Mutex::default() });
        *out = object(&driver, key());
        DONE
    }
    destroy_instance(instance: vk::Instance, _callbacks: Callbacks<'_>) {
        call(instance, "vkDestroyInstance");
    }
    create_device(
        physical: vk::PhysicalDevice,
        _info: *const vk::DeviceCreateInfo<'_>,
        _callbacks: Callbacks<'_>,
        out: *mut vk::Device
    ) -> vk::Result {
        *out = object(&driver(physical), key());
        DONE
    }
    destroy_device(device: vk::Device, _callbacks: Callbacks<'_>) {
        call(device, "vkDestroyDevice");
    }
    properties(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties) {
        let driver = driver(physical);
        *out = vk::PhysicalDeviceProperties { api_version: driver.config.version, ..Default::default() };
        (*out).limits.buffer_image_granularity = 1;
        (*out).limits.non_coherent_atom_size = 1;
        (*out).limits.max_memory_allocation_count = 1 << 20;
        for (letter, place) in b"A\nname".iter().zip(&mut (*out).device_name) {
            *place = *letter as c_char;
        }
    }
    properties2(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties2<'_>) {
        properties(physical, &raw mut (*out).properties);
        if let Some(next) = (*out).p_next.cast::<vk::PhysicalDeviceMaintenance3Properties<'_>>().as_mut() {
            next.max_memory_allocation_size = 1 << 40;
        }
    }
    memory_properties(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceMemoryProperties) {
        *out = vk::PhysicalDeviceMemoryProperties { memory_heap_count: 1, ..Default::default() };
        (*out).memory_heaps[0].size = 1 << 34;
        for (place, flags) in (*out).memory_types.iter_mut().zip(&driver(physical).config.types) {
            place.property_flags = vk::MemoryPropertyFlags::from_raw(*flags);
            (*out).memory_type_count += 1;
        }
    }
    memory_properties2(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceMemoryProperties2<'_>) {
        memory_properties(physical, &raw mut (*out).memory_properties);
    }
    allocate(
        device: vk::Device,
        info: *const vk::MemoryAllocateInfo<'_>,
        _callbacks: Callbacks<'_>,
        out: *mut vk::DeviceMemory
    ) -> vk::Result {
        let driver = driver(device);
        let mut seen = driver.seen();
        if (*info).allocation_size == super::REFUSED {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        seen.allocations.push(((*info).memory_type_index, (*info).p_next as usize));
        *out = vk::DeviceMemory::from_raw(seen.handle());
        DONE
    }
    free(device: vk::Device, memory: vk::DeviceMemory, _callbacks: Callbacks<'_>) {
        let driver = call(device, "vkFreeMemory");
        if memory != vk::DeviceMemory::null() {
            driver.seen().free.push(memory.as_raw());
        }
    }
    map(
        device: vk::Device,
        _memory: vk::DeviceMemory,
        _offset: u64,
        _size: u64,
        _flags: vk::MemoryMapFlags,
        _out: *mut *mut c_void
    ) -> vk::Result {
        call(device, "vkMapMemory");
        DONE
    }
    unmap(device: vk::Device, _memory: vk::DeviceMemory) {
        call(device, "vkUnmapMemory");
    }
    map2(device: vk::Device, _info: *const vk::MemoryMapInfoKHR<'_>, _out: *mut *mut c_void) -> vk::Result {
        call(device, "vkMapMemory2");
        DONE
    }
    unmap2(device: vk::Device, _info: *const vk::MemoryUnmapInfoKHR<'_>) -> vk::Result {
        call(device, "vkUnmapMemory2");
        DONE
    }
    create_buffer(
        device: vk::Device,
        info: *const vk::BufferCreateInfo<'_>,
        _callbacks: Callbacks<'_>,
        out: *mut vk::Buffer
    ) -> vk::Result {
        let driver = driver(device);
        let mut seen = driver.seen();
        let handle = seen.handle();
        seen.sizes.insert(handle, (*info).size);
        *out = vk::Buffer::from_raw(handle);
        DONE
    }
    destroy_buffer(device: vk::Device, buffer: vk::Buffer, _callbacks: Callbacks<'_>) {
        let driver = call(device, "vkDestroyBuffer");
        if buffer != vk::Buffer::null() {
            driver.seen().free.push(buffer.as_raw());
        }
    }
    create_image(
        device: vk::Device,
        info: *const vk::ImageCreateInfo<'_>,
        _callbacks: Callbacks<'_>,
        out: *mut vk::Image
    ) -> vk::Result {
        let driver = driver(device);
        let mut seen = driver.seen();
        let handle = seen.handle();
        let vk::Extent3D { width, height, depth } = (*info).extent;
        seen.sizes.insert(handle, 4 * u64::from(width * height * depth));
        *out = vk::Image::from_raw(handle);
        DONE
    }
    destroy_image(device: vk::Device, image: vk::Image, _callbacks: Callbacks<'_>) {
        call(device, "vkDestroyImage").seen().free.push(image.as_raw());
    }
    set_name(device: vk::Device, _info: *const vk::DebugUtilsObjectNameInfoEXT<'_>) -> vk::Result {
        call(device, "vkSetDebugUtilsObjectNameEXT");
        DONE
    }
    bind_buffer(device: vk::Device, _buffer: vk::Buffer, _memory: vk::DeviceMemory, _offset: u64) -> vk::Result {
        call(device, "vkBindBufferMemory");
        DONE
    }
    bind_image(device: vk::Device, _image: vk::Image, _memory: vk::DeviceMemory, _offset: u64) -> vk::Result {
        call(device, "vkBindImageMemory");
        DONE
    }
    bind_buffers(device: vk::Device, _count: u32, _infos: *const vk::BindBufferMemoryInfo<'_>) -> vk::Result {
        call(device, "vkBindBufferMemory2");
        DONE
    }
    bind_images(device: vk::Device, _count: u32, _infos: *const vk::BindImageMemoryInfo<'_>) -> vk::Result {
        call(device, "vkBindImageMemory2");
        DONE
    }
    of_buffer(device: vk::Device, buffer: vk::Buffer, out: *mut vk::MemoryRequirements) {
        let driver = call(device, "vkGetBufferMemoryRequirements");
        let size = driver.seen().sizes[&buffer.as_raw()];
        *out = vk::MemoryRequirements { size, alignment: 4, memory_type_bits: driver.config.bits };
    }
    of_image(device: vk::Device, image: vk::Image, out: *mut vk::MemoryRequirements) {
        of_buffer(device, vk::Buffer::from_raw(image.as_raw()), out);
    }
    of_buffer2(
        device: vk::Device,
        info: *const vk::BufferMemoryRequirementsInfo2<'_>,
        out: *mut vk::MemoryRequirements2<'_>
    ) {
        call(device, "vkGetBufferMemoryRequirements2");
        of_buffer(device, (*info).buffer, &raw mut (*out).memory_requirements);
        if let Some(dedicated) = (*out).p_next.cast::<vk::MemoryDedicatedRequirements<'_>>().as_mut() {
            dedicated.prefers_dedicated_allocation = vk::TRUE;
        }
    }
    of_image2(
        device: vk::Device,
        info: *const vk::ImageMemoryRequirementsInfo2<'_>,
        out: *mut vk::MemoryRequirements2<'_>
    ) {
        call(device, "vkGetImageMemoryRequirements2");
        of_image(device, (*info).image, &raw mut (*out).memory_requirements);
        let plane = (*info).p_next.cast::<vk::ImagePlaneMemoryRequirementsInfo<'_>>();
        if plane.as_ref().is_some_and(|it| it.plane_aspect == vk::ImageAspectFlags::PLANE_1) {
            (*out).memory_requirements.size /= 2;
        }
    }
    of_buffer_info(
        device: vk::Device,
        info: *const vk::DeviceBufferMemoryRequirements<'_>,
        out: *mut vk::MemoryRequirements2<'_>
    ) {
        let driver = call(device, "vkGetDeviceBufferMemoryRequirements");
        let size = (*(*info).p_create_info).size;
        (*out).memory_requirements =
            vk::MemoryRequirements { size, alignment: 4, memory_type_bits: driver.config.bits };
    }
    of_image_info(
        device: vk::Device,
        _info: *const vk::DeviceImageMemoryRequirements<'_>,
        out: *mut vk::MemoryRequirements2<'_>
    ) {
        let driver = call(device, "vkGetDeviceImageMemoryRequirements");
        (*out).memory_requirements =
            vk::MemoryRequirements { size: 64, alignment: 4, memory_type_bits: driver.config.bits };
    }
    of_other(
        device: vk::Device,
        _info: *const vk::GeneratedCommandsMemoryRequirementsInfoNV<'_>,
        out: *mut vk::MemoryRequirements2<'_>
    ) {
        let memory_type_bits = driver(device).config.bits;
        (*out).memory_requirements = vk::MemoryRequirements { size: 64, alignment: 4, memory_type_bits };
    }
    of_descriptor(
        device: vk::Device,
        _kind: vk::ExternalMemoryHandleTypeFlags,
        _descriptor: i32,
        out: *mut vk::MemoryFdPropertiesKHR<'_>
    ) -> vk::Result {
        (*out).memory_type_bits = driver(device).config.bits;
        DONE
    }
    of_pointer(
        device: vk::Device,
        _kind: vk::ExternalMemoryHandleTypeFlags,
        _pointer: *const c_void,
        out: *mut vk::MemoryHostPointerPropertiesEXT<'_>
    ) -> vk::Result {
        (*out).memory_type_bits = driver(device).config.bits;
        DONE
    }
    submit(queue: vk::Queue, _count: u32, _submits: *const vk::SubmitInfo<'_>, _fence: vk::Fence) -> vk::Result {
        call(queue, "vkQueueSubmit");
        DONE
    }
    submit2(queue: vk::Queue, _count: u32, _submits: *const vk::SubmitInfo2<'_>, _fence: vk::Fence) -> vk::Result {
        call(queue, "vkQueueSubmit2");
        DONE
    }
    bind_sparse(queue: vk::Queue, _count: u32, _infos: *const vk::BindSparseInfo<'_>, _fence: vk::Fence)
        -> vk::Result {
        call(queue, "vkQueueBindSparse");
        DONE
    }
    present(queue: vk::Queue, _info: *const vk::PresentInfoKHR<'_>) -> vk::Result {
        call(queue, "vkQueuePresentKHR");
        DONE
    }
    wait_idle(queue: vk::Queue) -> vk::Result {
        call(queue, "vkQueueWaitIdle");
        DONE
    }
    wait_device_idle(device: vk::Device) -> vk::Result {
        call(device, "vkDeviceWaitIdle");
        DONE
    }
    wait_for_fences(
        device: vk::Device,
        _count: u32,
        _fences: *const vk::Fence,
        _all: vk::Bool32,
        timeout: u64
    ) -> vk::Result {
        call(device, "vkWaitForFences");
        if timeout == 0 { vk::Result::TIMEOUT } else { DONE }
    }
    fence_status(device: vk::Device, _fence: vk::Fence) -> vk::Result {
        call(device, "vkGetFenceStatus");
        DONE
    }
    wait_semaphores(device: vk::Device, _info: *const vk::SemaphoreWaitInfo<'_>, _timeout: u64) -> vk::Result {
        call(device, "vkWaitSemaphores");
        DONE
    }
    semaphore_value(device: vk::Device, _semaphore: vk::Semaphore, out: *mut u64) -> vk::Result {
        call(device, "vkGetSemaphoreCounterValue");
        *out = 7;
        DONE
    }
    create_swapchain(
        device: vk::Device,
        _info: *const vk::SwapchainCreateInfoKHR<'_>,
        _callbacks: Callbacks<'_>,
        out: *mut vk::SwapchainKHR
    ) -> vk::Result {
        call(device, "vkCreateSwapchainKHR");
        *out = vk::SwapchainKHR::from_raw(1);
        DONE
    }
}
