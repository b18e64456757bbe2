//! The C interface on a Vulkan device that a program made: as C calls it, but with `ash` as the program's own Vulkan.

#[path = "vulkan/adopt.rs"]
mod adopt;
#[path = "vulkan/descriptors.rs"]
mod descriptors;

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use tenure_c as _;
use tenure_core::{State, Usage};
use tenure_vulkan::ash::{self, vk};

#[path = "vulkan/semaphores.rs"]
mod semaphores;
#[path = "vulkan/window.rs"]
mod window;

#[derive(Clone, Copy)]
#[repr(C)]
struct Str {
    data: *const c_char,
    size: usize,
}

const NO_TEXT: Str = Str { data: ptr::null(), size: 0 };

#[repr(C)]
struct Queue {
    queue: vk::Queue,
    family: u32,
    kind: u32,
}

#[repr(C)]
struct DeviceDesc {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    instance: vk::Instance,
    physical_device: vk::PhysicalDevice,
    device: vk::Device,
    create_info: *const c_void,
    queues: *const Queue,
    queue_count: usize,
    other_families: *const u32,
    other_family_count: usize,
    api_version: u32,
    reserved: u32,
}

#[repr(C)]
struct BufferDesc {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    size: u64,
    usage: u32,
    memory: u32,
    alignment: u64,
    stride: u32,
    allocation: u32,
    priority: u32,
    reserved: u32,
    name: Str,
    tag: Str,
    data: *const c_void,
    data_size: usize,
}

#[repr(C)]
struct TextureDesc {
    struct_size: u32,
    flags: u32,
    next: *const c_void,
    dimension: u32,
    format: u32,
    width: u32,
    height: u32,
    depth_or_layers: u32,
    mips: u32,
    samples: u32,
    usage: u32,
    allocation: u32,
    priority: u32,
    clear: [u32; 8],
    view_formats: *const u32,
    view_format_count: usize,
    name: Str,
    tag: Str,
    data: *const c_void,
    data_count: usize,
    read_only: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    object: u64,
    offset: u64,
    size: u64,
    gpu_address: u64,
    mapped: *mut c_void,
}

#[repr(C)]
struct Use {
    resource: *mut c_void,
    state: u32,
    subresource: u32,
}

#[repr(C)]
struct Part {
    resource: *mut c_void,
    offset: u64,
    size: u64,
    region: [u32; 10],
}

// The functions of the header.
unsafe extern "C" {
    fn tn_last_error() -> Str;
    fn tn_device_from_vk(desc: *const DeviceDesc, out: *mut *mut c_void) -> i32;
    fn tn_gpu_create(device: *mut c_void, desc: *const c_void, out: *mut *mut c_void) -> i32;
    fn tn_buffer_create(gpu: *mut c_void, desc: *const BufferDesc, out: *mut *mut c_void) -> i32;
    fn tn_place(handle: *mut c_void, out: *mut Location) -> i32;
    fn tn_recording_begin(gpu: *mut c_void, queue: u32, name: Str, out: *mut *mut c_void) -> i32;
    fn tn_recording_use(recording: *mut c_void, uses: *const Use, count: usize) -> i32;
    fn tn_recording_native(recording: *mut c_void, out: *mut u64) -> i32;
    fn tn_recording_submit(recording: *mut c_void, done: *mut c_void) -> i32;
    fn tn_read_back(on: *mut c_void, part: *const Part, out: *mut *mut c_void) -> i32;
    fn tn_readback_wait(readback: *mut c_void, timeout_ns: u64, out: *mut u8, size: usize) -> i32;
    fn tn_gpu_shutdown(gpu: *mut c_void, out: *mut c_void, text: *mut *mut c_void) -> i32;
    fn tn_sim_run(device: *mut c_void) -> i32;
    fn tn_release(handle: *mut c_void) -> i32;
}

/// Vulkan of the program.
struct Engine {
    entry: ash::Entry,
    instance: ash::Instance,
    physical_device: vk::PhysicalDevice,
    device: ash::Device,
}

const VERSION: u32 = vk::API_VERSION_1_2;

/// Makes the device, and hands it over with the structure that it was created with.
fn with_engine(test: impl FnOnce(&Engine, &vk::DeviceCreateInfo<'_>)) {
    with_extensions(&[], &[], test);
}

/// As [`with_engine`], with these extensions of the instance and the device.
fn with_extensions(
    of_instance: &[*const c_char],
    of_device: &[*const c_char],
    test: impl FnOnce(&Engine, &vk::DeviceCreateInfo<'_>),
) {
    // SAFETY: plain calls of Vulkan with valid structures; everything is destroyed in the end, after its last use.
    unsafe {
        let entry = ash::Entry::load().expect("a loader");
        let application = vk::ApplicationInfo::default().api_version(VERSION);
        let info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_extension_names(of_instance);
        let instance = entry.create_instance(&info, None).expect("an instance");
        let physical_device = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
        // All of them, with those of the device's own that go with them.
        let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut indexing);
        instance.get_physical_device_features2(physical_device, &mut features);
        let features = vk::PhysicalDeviceFeatures::default()
            .shader_uniform_buffer_array_dynamic_indexing(true)
            .shader_sampled_image_array_dynamic_indexing(true)
            .shader_storage_buffer_array_dynamic_indexing(true)
            .shader_storage_image_array_dynamic_indexing(true);
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_features(&features)
            .enabled_extension_names(of_device)
            .push_next(&mut timeline)
            .push_next(&mut indexing);
        let device = instance.create_device(physical_device, &info, None).expect("a device");
        let engine = Engine { entry, instance, physical_device, device };
        test(&engine, &info);
        engine.device.destroy_device(None);
        engine.instance.destroy_instance(None);
    }
}

impl Engine {
    fn desc(&self, info: &vk::DeviceCreateInfo<'_>, queues: &[Queue]) -> DeviceDesc {
        DeviceDesc {
            struct_size: size_of::<DeviceDesc>() as u32,
            flags: 0,
            next: ptr::null(),
            get_instance_proc_addr: self.entry.static_fn().get_instance_proc_addr,
            instance: self.instance.handle(),
            physical_device: self.physical_device,
            device: self.device.handle(),
            create_info: ptr::from_ref(info).cast(),
            queues: queues.as_ptr(),
            queue_count: queues.len(),
            other_families: ptr::null(),
            other_family_count: 0,
            api_version: VERSION,
            reserved: 0,
        }
    }

    fn queue(&self, kind: u32) -> Queue {
        // SAFETY: the device was created with a queue of this family.
        Queue { queue: unsafe { self.device.get_device_queue(0, 0) }, family: 0, kind }
    }
}

fn last_error() -> String {
    // SAFETY: the text ends with NUL, and stays until the next error.
    unsafe { CStr::from_ptr(tn_last_error().data) }.to_string_lossy().into_owned()
}

/// Checks the status of a call.
#[track_caller]
fn done(status: i32) {
    assert_eq!(status, 0, "{}", last_error());
}

// The values of the header, which is written from them.
const COPY_SRC: u32 = Usage::COPY_SRC.bits();
const COPY_DST: u32 = Usage::COPY_DST.bits();
const STATE_COPY_DST: u32 = State::COPY_DST.bits();
const ALL: u32 = u32::MAX;

#[test]
fn a_program_records_its_own_commands() {
    with_engine(|engine, info| {
        let queues = [engine.queue(0)];
        let desc = engine.desc(info, &queues);
        let [mut device, mut gpu, mut buffer, mut recording, mut readback] = [ptr::null_mut(); 5];
        // SAFETY: the structures are those of the header, and pointers are valid for each call. The engine's objects outlive the
        // device.
        unsafe {
            done(tn_device_from_vk(&raw const desc, &raw mut device));
            done(tn_gpu_create(device, ptr::null(), &raw mut gpu));
            assert_eq!(tn_sim_run(device), -14, "{}", last_error());
            let bytes = [3_u8; 256];
            let buffer_desc = BufferDesc {
                struct_size: size_of::<BufferDesc>() as u32,
                flags: 0,
                next: ptr::null(),
                size: 256,
                usage: COPY_SRC | COPY_DST,
                memory: 0,
                alignment: 0,
                stride: 0,
                allocation: 0,
                priority: 0,
                reserved: 0,
                name: Str { data: c"filled".as_ptr(), size: usize::MAX },
                tag: NO_TEXT,
                data: bytes.as_ptr().cast(),
                data_size: bytes.len(),
            };
            done(tn_buffer_create(gpu, &raw const buffer_desc, &raw mut buffer));
            let mut place =
                Location { object: 0, offset: 0, size: 0, gpu_address: 0, mapped: ptr::null_mut() };
            done(tn_place(buffer, &raw mut place));
            assert_eq!((place.object != 0, place.size), (true, 256));
            done(tn_recording_begin(gpu, 0, NO_TEXT, &raw mut recording));
            let used = Use { resource: buffer, state: STATE_COPY_DST, subresource: ALL };
            done(tn_recording_use(recording, &raw const used, 1));
            let mut list = 0;
            done(tn_recording_native(recording, &raw mut list));
            let list: vk::CommandBuffer = vk::Handle::from_raw(list);
            let object: vk::Buffer = vk::Handle::from_raw(place.object);
            engine.device.cmd_fill_buffer(list, object, place.offset + 128, 128, 0x0909_0909);
            let part = Part { resource: buffer, offset: 0, size: 256, region: [0; 10] };
            done(tn_read_back(recording, &raw const part, &raw mut readback));
            // The GPU still needs it.
            done(tn_release(buffer));
            done(tn_recording_submit(recording, ptr::null_mut()));
            let mut read = [0_u8; 256];
            done(tn_readback_wait(readback, u64::MAX, read.as_mut_ptr(), read.len()));
            assert!(read[..128].iter().all(|byte| *byte == 3) && read[128..].iter().all(|byte| *byte == 9));
            done(tn_release(readback));
            done(tn_gpu_shutdown(gpu, ptr::null_mut(), ptr::null_mut()));
            done(tn_release(gpu));
            done(tn_release(device));
        }
    });
}

#[test]
fn a_device_that_breaks_a_rule_is_refused() {
    with_engine(|engine, info| {
        let mut device = ptr::null_mut();
        let mut refused = |queues: &[Queue], status: i32, part: &str| {
            let desc = engine.desc(info, queues);
            // SAFETY: as above.
            assert_eq!(unsafe { tn_device_from_vk(&raw const desc, &raw mut device) }, status);
            assert!(last_error().contains(part), "{}", last_error());
            assert!(device.is_null());
        };
        refused(&[], -80, "1 to 8 queues");
        refused(&[engine.queue(4)], -103, "kind = 4");
        refused(&[engine.queue(3)], -80, "the first queue");
        refused(&[Queue { family: 99, ..engine.queue(0) }], -80, "family");
        refused(&[Queue { queue: vk::Queue::null(), ..engine.queue(0) }], -100, "a queue is null");
        refused(&[engine.queue(0), engine.queue(0)], -80, "each queue is there once");
        refused(&(0..1000).map(|_| engine.queue(0)).collect::<Vec<_>>(), -80, "1 to 8 queues (1000)");
    });
}

/// As the loader of another instance.
unsafe extern "system" fn no_function(_: vk::Instance, _: *const c_char) -> vk::PFN_vkVoidFunction {
    None
}

/// What a program says about its device is checked as far as tenure can see it.
#[test]
fn a_description_that_is_wrong_is_refused() {
    with_engine(|engine, info| {
        let queues = [engine.queue(0)];
        let right = || engine.desc(info, &queues);
        let refused = |desc: &DeviceDesc, status: i32, part: &str| {
            let mut device = ptr::null_mut();
            // SAFETY: as above.
            assert_eq!(unsafe { tn_device_from_vk(desc, &raw mut device) }, status, "{part}");
            assert!(last_error().contains(part), "{}", last_error());
            assert!(device.is_null());
        };
        let mut endless =
            vk::BaseOutStructure { s_type: vk::StructureType::from_raw(-7), ..Default::default() };
        let at = &raw mut endless;
        // SAFETY: it is alive, and this is the only pointer to it.
        unsafe { (*at).p_next = at };
        let circle = vk::DeviceCreateInfo { p_next: at.cast(), ..*info };
        refused(&DeviceDesc { create_info: (&raw const circle).cast(), ..right() }, -80, "a chain ends");
        let names = ptr::null();
        let nameless =
            vk::DeviceCreateInfo { enabled_extension_count: 7, pp_enabled_extension_names: names, ..*info };
        refused(&DeviceDesc { create_info: (&raw const nameless).cast(), ..right() }, -80, "has a name (0)");
        refused(&DeviceDesc { get_instance_proc_addr: no_function, ..right() }, -80, "vkGetDeviceProcAddr");
        refused(&DeviceDesc { create_info: ptr::null(), ..right() }, -100, "create_info");
        refused(&DeviceDesc { queues: ptr::null(), ..right() }, -100, "queues");
        refused(&DeviceDesc { device: vk::Device::null(), ..right() }, -100, "device is null");
        let family = [99];
        let others = DeviceDesc { other_families: family.as_ptr(), other_family_count: 1, ..right() };
        refused(&others, -80, "other queues exist (99)");
        refused(&DeviceDesc { other_family_count: 1, ..right() }, -100, "other_families");
        refused(&DeviceDesc { api_version: 0, ..right() }, -80, "older than 1.1");
        refused(&DeviceDesc { struct_size: 8, ..right() }, -101, "struct_size = 8");
        refused(&DeviceDesc { next: at.cast(), ..right() }, -102, "no structure");
        refused(&DeviceDesc { flags: 1 << 31, ..right() }, -103, "0x80000000");
    });
}
