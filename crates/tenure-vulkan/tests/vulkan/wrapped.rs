//! Devices that somebody else made.

use crate::harness::PERMIT;
use core::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use conformance::Harness as _;
use tenure_core::device::{Device as _, Features, QueueId, QueueKind, Usage};
use tenure_core::{BufferDesc, Config, Gpu, MemoryUse, Queue};
use tenure_vulkan::ash::{self, vk};
use tenure_vulkan::{ApiVersion, CreateError, Device, OptionalFeatures, Options, Raw, RawQueue};

use crate::basics::LONG;
use crate::harness::{Vulkan, validated};

/// A device as the one who made it knows it.
pub(crate) fn raw_of(host: &Device) -> Raw {
    let queues = (0..8).map(QueueId).filter_map(|queue| {
        Some(RawQueue { queue: host.queue(queue)?, family: host.queue_family(queue)?, kind: None })
    });
    Raw {
        entry: host.entry().cloned(),
        instance: host.instance().clone(),
        physical_device: host.physical_device(),
        device: host.raw().clone(),
        api_version: host.api_version(),
        queues: queues.collect(),
        enabled: host.optional_features(),
        features: *host.enabled_features(),
        extensions: Vec::new(),
    }
}

/// Errors that the layers found in what an engine's device was used for.
static ERRORS: AtomicU32 = AtomicU32::new(0);

unsafe extern "system" fn count(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    _: *mut c_void,
) -> vk::Bool32 {
    ERRORS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the message is valid during the call.
    unsafe { eprintln!("{:?}", CStr::from_ptr((*data).p_message)) };
    vk::FALSE
}

/// What an engine makes, by plain Vulkan 1.2 and nothing of tenure's.
struct Engine {
    entry: ash::Entry,
    instance: ash::Instance,
    physical: vk::PhysicalDevice,
    device: ash::Device,
    queue: vk::Queue,
    family: u32,
    messenger: vk::DebugUtilsMessengerEXT,
}

impl Engine {
    fn new() -> Self {
        // SAFETY: everything is made as the specification has it, and lives as long as this.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let layers = [c"VK_LAYER_KHRONOS_validation".as_ptr()];
            let extensions = [ash::ext::debug_utils::NAME.as_ptr()];
            let info = vk::InstanceCreateInfo::default()
                .application_info(&application)
                .enabled_layer_names(&layers)
                .enabled_extension_names(&extensions);
            let instance = entry.create_instance(&info, None).unwrap();
            let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
                .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
                .pfn_user_callback(Some(count));
            let messages = ash::ext::debug_utils::Instance::new(&entry, &instance);
            let messenger = messages.create_debug_utils_messenger(&info, None).unwrap();
            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let families = instance.get_physical_device_queue_family_properties(physical);
            let able = |family: &vk::QueueFamilyProperties| {
                family.queue_flags.contains(vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE)
            };
            let family = u32::try_from(families.iter().position(able).unwrap()).unwrap();
            let queues =
                [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let mut timeline =
                vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timeline);
            let device = instance.create_device(physical, &info, None).unwrap();
            let queue = device.get_device_queue(family, 0);
            Self { entry, instance, physical, device, queue, family, messenger }
        }
    }

    fn raw(&self) -> Raw {
        Raw {
            entry: None,
            instance: self.instance.clone(),
            physical_device: self.physical,
            device: self.device.clone(),
            api_version: ApiVersion::V1_2,
            queues: vec![RawQueue { queue: self.queue, family: self.family, kind: None }],
            enabled: OptionalFeatures::TIMELINE_SEMAPHORES
                | OptionalFeatures::DEDICATED_ALLOCATION
                | OptionalFeatures::FORMAT_LISTS
                | OptionalFeatures::DEBUG_NAMES,
            features: vk::PhysicalDeviceFeatures::default(),
            extensions: Vec::new(),
        }
    }

    fn wrap(&self, raw: Raw) -> Result<Device, CreateError> {
        // SAFETY: the engine outlives it, and tells the truth.
        unsafe { Device::from_raw(raw, &Options::default()) }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let messages = ash::ext::debug_utils::Instance::new(&self.entry, &self.instance);
        // SAFETY: nothing uses them any more. The device first: it reports what is left of it.
        unsafe {
            self.device.destroy_device(None);
            messages.destroy_debug_utils_messenger(self.messenger, None);
            self.instance.destroy_instance(None);
        }
    }
}

/// An engine's device works, is left as it was, and only what was enabled is used.
#[test]
fn an_engines_device_is_used_and_left_alone() {
    // One instance at a time.
    let alone = Vulkan::new(validated());
    ERRORS.store(0, Ordering::Relaxed);
    let engine = Engine::new();
    for _ in 0..2 {
        let device = engine.wrap(engine.raw()).unwrap();
        assert!(device.entry().is_none());
        assert_eq!(device.api_version(), ApiVersion::V1_2);
        assert_eq!(device.queue(QueueId(0)), Some(engine.queue));
        assert_eq!(device.queue(QueueId(1)), None);
        let features = device.properties().features;
        let not_enabled = Features::DEVICE_ADDRESS | Features::RESERVED_BUFFERS | Features::MEMORY_BUDGET;
        assert!(!features.intersects(not_enabled), "{features:?}");
        let gpu = Gpu::new(device, Config::default()).unwrap();
        let staging = BufferDesc::new(1000, Usage::COPY_SRC).memory(MemoryUse::Dynamic).name("staging");
        let staging = gpu.create_buffer(&staging).unwrap();
        staging.write(0, &[42; 1000]).unwrap();
        let readback = BufferDesc::new(1000, Usage::COPY_DST).memory(MemoryUse::Readback);
        let readback = gpu.create_buffer(&readback).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "wrapped").unwrap();
        recording.copy_buffer(&staging, 0, &readback, 0, 1000).unwrap();
        let done = recording.submit().unwrap();
        assert!(gpu.wait(&done, LONG).unwrap());
        let mut found = [0; 1000];
        readback.read(0, &mut found).unwrap();
        assert_eq!(found, [42; 1000]);
        drop((staging, readback));
        assert!(gpu.shutdown().is_clean());
        // The engine goes on as before.
        // SAFETY: tenure is gone, the queue is the engine's alone.
        unsafe {
            let fence = engine.device.create_fence(&vk::FenceCreateInfo::default(), None).unwrap();
            engine.device.queue_submit(engine.queue, &[], fence).unwrap();
            engine.device.wait_for_fences(&[fence], true, u64::MAX).unwrap();
            engine.device.destroy_fence(fence, None);
        }
    }
    drop(engine);
    assert_eq!(ERRORS.load(Ordering::Relaxed), 0, "errors of validation, leaks included");
    alone.end();
}

/// What cannot be wrapped is said.
#[test]
fn bad_raws_are_refused() {
    let vulkan = Vulkan::new(validated());
    let host = vulkan.device();
    let good = raw_of(&host);
    let first = good.queues[0];
    let wrong = |raw: Raw, rule: &str| {
        // SAFETY: the host outlives it, and nothing is submitted.
        let error = unsafe { Device::from_raw(raw, &Options::default()) }.unwrap_err();
        assert!(error.to_string().contains(rule), "{error}");
    };
    wrong(Raw { api_version: ApiVersion { major: 1, minor: 0 }, ..good.clone() }, "older than 1.1");
    wrong(Raw { queues: vec![], ..good.clone() }, "1 to 8 queues");
    wrong(Raw { queues: vec![first; 9], ..good.clone() }, "1 to 8 queues");
    wrong(Raw { queues: vec![first; 2], ..good.clone() }, "once");
    wrong(Raw { queues: vec![RawQueue { family: 77, ..first }], ..good.clone() }, "family of each queue");
    let compute = RawQueue { kind: Some(QueueKind::Compute), ..first };
    wrong(Raw { queues: vec![compute], ..good.clone() }, "do everything");
    drop((good, host));
    vulkan.end();
}

/// The lock is the queue's: what an engine submits under it and what tenure submits do not meet.
#[test]
fn a_queue_is_shared_under_its_lock() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    assert_eq!(device.with_queue(QueueId(100), |_| ()), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for serial in 1..=200 {
                device.submit(PERMIT, QueueId(0), &[], &[], serial).unwrap();
            }
        });
        for _ in 0..200 {
            device.with_queue(QueueId(0), |queue| {
                // SAFETY: under the lock the queue is this thread's.
                unsafe { device.raw().queue_submit(queue, &[], vk::Fence::null()) }.unwrap();
            });
        }
    });
    assert!(device.wait(crate::basics::at(200), LONG).unwrap());
    drop(device);
    vulkan.end();
}
