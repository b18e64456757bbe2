//! Devices created by other libraries.

use crate::harness::PERMIT;
use core::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use conformance::Harness as _;
use tenure_core::device::{Descriptor, DescriptorHeapDesc, Features, MemoryFlags, ResourceDesc, prelude::*};
use tenure_core::{
    BufferDesc, Compare, Config, DescriptorKind, Dimension, Format, Gpu, MemoryUse, Queue, QueueId,
    QueueKind, SamplerInfo, Usage,
};
use tenure_vulkan::ash::{self, vk};
use tenure_vulkan::{
    ApiVersion, CreateError, Device, DeviceConfig, DeviceFeatures, OptionalFeatures, Raw, RawQueue,
};

use crate::basics::{LONG, memory_type, texture};
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

/// A device as the one who made it knows it.
pub(crate) fn raw_of(host: &Device) -> Raw {
    let queues = (0..8).map(QueueId).filter_map(|queue| {
        Some(RawQueue { queue: host.queue(queue)?, family: host.queue_family(queue)?, kind: None })
    });
    let (instance, device) = (host.instance().clone(), host.raw().clone());
    Raw::new(instance, host.physical_device(), device, host.api_version(), queues.collect())
        .entry(host.entry().cloned())
        .enabled(host.optional_features())
        .features(*host.enabled_features())
        .descriptor_indexing(indexing_of(host))
        .extensions(host.enabled_extensions().to_vec())
}

/// The features of descriptor indexing that tenure enables: all there is.
fn indexing_of(host: &Device) -> vk::PhysicalDeviceDescriptorIndexingFeatures<'static> {
    let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
    if host.optional_features().contains(OptionalFeatures::DESCRIPTOR_INDEXING) {
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut indexing);
        // SAFETY: the structure in the chain belongs to an enabled feature.
        unsafe { host.instance().get_physical_device_features2(host.physical_device(), &mut features) };
    }
    vk::PhysicalDeviceDescriptorIndexingFeatures { p_next: core::ptr::null_mut(), ..indexing }
}

/// Errors that the layers found in the use of an engine's device.
pub(crate) static ERRORS: AtomicU32 = AtomicU32::new(0);

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

/// An engine's device, created with plain Vulkan 1.2.
pub(crate) struct Engine {
    pub(crate) entry: ash::Entry,
    pub(crate) instance: ash::Instance,
    pub(crate) physical: vk::PhysicalDevice,
    device: ash::Device,
    queue: vk::Queue,
    pub(crate) family: u32,
    messenger: vk::DebugUtilsMessengerEXT,
}

/// The features that an engine enables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enabled {
    /// Timeline semaphores.
    Little,
    /// All that tenure asks for.
    Wanted,
}

impl Engine {
    pub(crate) fn new() -> Self {
        Self::enabling(Enabled::Little).0
    }

    /// A wrapped device, with tenure's list of features on request.
    fn enabling(enabled: Enabled) -> (Self, Option<DeviceFeatures>) {
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
            let mut wanted = (enabled == Enabled::Wanted).then(|| {
                let options = DeviceConfig::default();
                DeviceFeatures::of(&instance, physical, ApiVersion::V1_2, &options).unwrap()
            });
            let names = wanted.iter().flat_map(|wanted| wanted.extensions());
            let names: Vec<_> = names.map(|name| name.as_ptr()).collect();
            // With the engine's own features.
            let own = vk::PhysicalDeviceFeatures::default().shader_int64(true);
            let own = vk::PhysicalDeviceFeatures2::default().features(own);
            let mut linked = wanted.as_mut().map(|wanted| wanted.link(own));
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let info = match &mut linked {
                Some(linked) => info.enabled_extension_names(&names).push_next(linked),
                None => info.push_next(&mut timeline),
            };
            let device = instance.create_device(physical, &info, None).unwrap();
            let queue = device.get_device_queue(family, 0);
            (Self { entry, instance, physical, device, queue, family, messenger }, wanted)
        }
    }

    fn raw(&self) -> Raw {
        let queues = vec![RawQueue { queue: self.queue, family: self.family, kind: None }];
        let (instance, device) = (self.instance.clone(), self.device.clone());
        Raw::new(instance, self.physical, device, ApiVersion::V1_2, queues).enabled(
            OptionalFeatures::TIMELINE_SEMAPHORES
                | OptionalFeatures::DEDICATED_ALLOCATION
                | OptionalFeatures::FORMAT_LISTS
                | OptionalFeatures::DEBUG_NAMES,
        )
    }

    fn wrap(&self, raw: Raw) -> Result<Device, CreateError> {
        // SAFETY: the engine outlives it, and tells the truth.
        unsafe { Device::from_raw(raw, &DeviceConfig::default()) }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let messages = ash::ext::debug_utils::Instance::new(&self.entry, &self.instance);
        // SAFETY: nothing uses them any more. The device first: it reports its remaining objects.
        unsafe {
            self.device.destroy_device(None);
            messages.destroy_debug_utils_messenger(self.messenger, None);
            self.instance.destroy_instance(None);
        }
    }
}

/// An engine's device works, is left unchanged, and only enabled features are used.
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
        let staging = BufferDesc::new(1000, Usage::COPY_SRC).memory(MemoryUse::Upload).name("staging");
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
        drop(gpu);
        // The engine goes on as before. SAFETY: tenure's device is dropped, and only the engine uses the queue.
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

/// The features that tenure lists for an engine are those that it enables on its own devices, and are used.
#[test]
fn an_engines_device_has_the_features_of_tenures_list() {
    // One instance at a time.
    let alone = Vulkan::new(validated().api_version(ApiVersion::V1_2));
    let own = alone.device();
    ERRORS.store(0, Ordering::Relaxed);
    let (engine, wanted) = Engine::enabling(Enabled::Wanted);
    let wanted = wanted.unwrap();
    let mut raw = engine.raw().enabled(OptionalFeatures::empty());
    wanted.fill(&mut raw);
    assert_eq!((raw.api_version, raw.enabled), (ApiVersion::V1_2, wanted.enabled()));
    let device = engine.wrap(raw).unwrap();
    assert_eq!(device.optional_features(), wanted.enabled());
    assert_eq!(device.optional_features(), own.optional_features(), "as on a device of tenure's own");
    assert_eq!(device.properties().features, own.properties().features);
    drop(own);
    upload_once(device);
    drop(engine);
    assert_eq!(ERRORS.load(Ordering::Relaxed), 0, "errors of validation");
    alone.end();
}

/// A manager on the device uploads to a buffer, and ends.
pub(crate) fn upload_once(device: Device) {
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let buffer = gpu.create_buffer(&BufferDesc::new(1000, Usage::COPY_DST)).unwrap();
    let upload = gpu.upload(&buffer, 0, &[1; 1000]).unwrap();
    assert!(gpu.wait_upload(&upload, LONG).unwrap());
    drop((buffer, upload));
    assert!(gpu.shutdown().is_clean());
}

/// An invalid device is refused with the reason.
#[test]
fn bad_raws_are_refused() {
    let vulkan = Vulkan::new(validated());
    let host = vulkan.device();
    let good = raw_of(&host);
    let first = good.queues[0];
    let wrong = |raw: Raw, rule: &str| {
        // SAFETY: the host outlives it, and nothing is submitted.
        let error = unsafe { Device::from_raw(raw, &DeviceConfig::default()) }.unwrap_err();
        assert!(error.to_string().contains(rule), "{error}");
    };
    wrong(good.clone().api_version(ApiVersion { major: 1, minor: 0 }), "older than 1.1");
    wrong(good.clone().queues(vec![]), "1 to 8 queues");
    wrong(good.clone().queues(vec![first; 9]), "1 to 8 queues");
    wrong(good.clone().queues(vec![first; 2]), "once");
    wrong(good.clone().queues(vec![RawQueue { family: 77, ..first }]), "family of each queue");
    wrong(good.clone().other_families(vec![0, 77]), "other queues exist");
    let compute = RawQueue { kind: Some(QueueKind::Compute), ..first };
    wrong(good.clone().queues(vec![compute]), "do everything");
    drop((good, host));
    vulkan.end();
}

/// The lock is the queue's: submissions of the engine under the lock and of tenure do not overlap.
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

/// A device whose engine lists the enabled features, not the supported ones.
fn wrap_as(host: &Device, change: impl FnOnce(&mut Raw)) -> Result<Device, CreateError> {
    let mut raw = raw_of(host);
    change(&mut raw);
    // SAFETY: the host outlives it, and nothing is submitted.
    unsafe { Device::from_raw(raw, &DeviceConfig::default()) }
}

/// Descriptor indexing has the enabled features, whatever the driver supports.
#[test]
fn disabled_features_are_not_used() {
    let vulkan = Vulkan::new(validated());
    let host = vulkan.device();
    let visible = |device: &Device| device.properties().descriptors.visible_resources;
    if visible(&host) > 0 {
        let without = wrap_as(&host, |raw| {
            raw.descriptor_indexing.descriptor_binding_uniform_buffer_update_after_bind = vk::FALSE;
        });
        let without = without.unwrap();
        assert!(visible(&without) > 0);
        let desc = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 16, shader_visible: true };
        let heap = without.create_descriptor_heap(&desc).unwrap();
        assert_eq!(heap.constants(), 0, "no array of uniform buffers is updated after it was bound");
        without.destroy_descriptor_heap(PERMIT, heap);
        let none = wrap_as(&host, |raw| raw.descriptor_indexing = Default::default()).unwrap();
        assert_eq!(visible(&none), 0);
        assert!(!none.optional_features().contains(OptionalFeatures::DESCRIPTOR_INDEXING));
    }
    drop(host);
    vulkan.end();
}

/// A feature that is listed as enabled but impossible with the extensions and the version is an error that
/// names both.
#[test]
fn features_need_their_extensions() {
    let vulkan = Vulkan::new(validated());
    let host = vulkan.device();
    let features = host.optional_features();
    // The oldest: all that has an extension needs it.
    let old = |raw: &mut Raw| (raw.api_version, raw.extensions) = (ApiVersion::V1_1, Vec::new());
    let rows = [
        (OptionalFeatures::TIMELINE_SEMAPHORES, c"VK_KHR_timeline_semaphore"),
        (OptionalFeatures::SYNCHRONIZATION2, c"VK_KHR_synchronization2"),
        (OptionalFeatures::MAINTENANCE4, c"VK_KHR_maintenance4"),
        (OptionalFeatures::MEMORY_BUDGET, c"VK_EXT_memory_budget"),
    ];
    for (feature, name) in rows.into_iter().filter(|row| features.contains(row.0)) {
        let refused = wrap_as(&host, |raw| {
            old(raw);
            raw.enabled = feature;
        });
        let error = refused.map(drop).unwrap_err();
        let (text, version) = (error.to_string(), ApiVersion::V1_1);
        assert!(
            matches!(error, CreateError::ExtensionNotEnabled { version: v, .. } if v == version),
            "{text}"
        );
        assert!(feature.iter_names().all(|(name, _)| text.contains(name)), "{text}");
        assert!(text.contains(name.to_str().unwrap()), "{text}");
        let named = wrap_as(&host, |raw| {
            old(raw);
            (raw.enabled, raw.extensions) = (feature, vec![name.to_owned()]);
        });
        assert!(named.unwrap().optional_features().contains(feature));
        let mut raw = raw_of(&host);
        old(&mut raw);
        raw.enabled = feature;
        // SAFETY: the host outlives it, and nothing is submitted.
        let without = unsafe { Device::from_raw(raw, &DeviceConfig::default().without(feature)) };
        assert!(without.unwrap().optional_features().is_empty(), "what is not used is not looked at");
    }
    drop(host);
    vulkan.end();
}

/// Functions are found by either name, with any version.
#[test]
fn an_older_version_finds_the_same_functions() {
    let vulkan = Vulkan::new(validated());
    let host = vulkan.device();
    for api_version in [ApiVersion::V1_1, ApiVersion::V1_2, ApiVersion::V1_3] {
        let raw = raw_of(&host);
        // SAFETY: the host outlives it, and its queues are used by this device alone.
        let device =
            unsafe { Device::from_raw(raw, &DeviceConfig::default().api_version(api_version)) }.unwrap();
        assert_eq!(device.api_version(), api_version.min(host.api_version()));
        assert_eq!(device.optional_features(), host.optional_features());
        device.submit(PERMIT, QueueId(0), &[], &[], 1).unwrap();
        assert!(device.wait(crate::basics::at(1), LONG).unwrap());
    }
    drop(host);
    vulkan.end();
}

/// A feature that is listed as enabled but is not is an error, not a crash.
#[test]
fn a_missing_function_is_an_error() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let missing = [
        ("vkGetSemaphoreCounterValue", OptionalFeatures::TIMELINE_SEMAPHORES),
        ("vkCmdPipelineBarrier2", OptionalFeatures::SYNCHRONIZATION2),
        ("vkGetDeviceImageMemoryRequirements", OptionalFeatures::MAINTENANCE4),
        ("vkGetBufferDeviceAddress", OptionalFeatures::BUFFER_DEVICE_ADDRESS),
    ];
    let host = vulkan.host();
    for (function, feature) in missing.into_iter().filter(|row| host.optional_features().contains(row.1)) {
        vulkan.disguise().lacks(Some(function));
        let found = vulkan.disguise().wrap_again(&host, &DeviceConfig::default());
        assert_eq!(found.map(drop).unwrap_err(), CreateError::NoFunction { function });
        let without = vulkan.disguise().wrap_again(&host, &DeviceConfig::default().without(feature));
        without.unwrap();
    }
    vulkan.disguise().lacks(None);
    drop(host);
    vulkan.end();
}

/// The engine's other queues use tenure's buffers, too.
#[test]
fn other_families_of_a_discrete_card_share_all_buffers() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let host = vulkan.host();
    let options = DeviceConfig::default().max_queues(1);
    let alone = vulkan.disguise().wrap_again(&host, &options).unwrap();
    assert_eq!(alone.queue_families(), [0]);
    let shared = vulkan.disguise().wrap_with(&host, &options, |raw| raw.other_families = vec![2, 0]).unwrap();
    assert_eq!(shared.queue_families(), [0, 2]);
    drop((alone, shared, host));
    vulkan.end();
}

/// A portability subset lacks the features that it does not enable.
#[test]
fn disabled_features_of_a_portability_subset_are_not_used() {
    let vulkan = Vulkan::new(validated());
    let host = vulkan.device();
    let everything = vk::PhysicalDevicePortabilitySubsetFeaturesKHR::default()
        .image_view2_d_on3_d_image(true)
        .multisample_array_image(true)
        .mutable_comparison_samplers(true)
        .sampler_mip_lod_bias(true)
        .image_view_format_reinterpretation(true);
    let subset = |features: Option<_>| wrap_as(&host, |raw| raw.portability = features).unwrap();
    let (whole, part) = (subset(Some(everything)), subset(Some(Default::default())));
    let named = wrap_as(&host, |raw| raw.extensions.push(c"VK_KHR_portability_subset".to_owned())).unwrap();

    let target = texture(64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let array = ResourceDesc::Texture(target.clone().samples(4).depth_or_layers(2));
    let cast = texture(64, Format::R32Float, Usage::SHADER_READ);
    let cast = ResourceDesc::Texture(cast.view_formats(vec![Format::Rgba8Unorm]));
    let volume = target.dimension(Dimension::D3).depth_or_layers(4);
    let volume = ResourceDesc::Texture(volume);
    for (device, can) in [(&subset(None), true), (&whole, true), (&part, false), (&named, false)] {
        assert_eq!(device.requirements(&array).is_ok(), can, "arrays with samples");
        assert_eq!(device.requirements(&cast).is_ok(), can, "views of other components");
        let memory = memory_type(device, &volume, MemoryFlags::empty());
        let volume = device.create_committed(&volume, memory).unwrap();
        let flags = volume.image_flags().unwrap();
        assert_eq!(flags.contains(vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE), can);
        device.destroy_resource(PERMIT, volume);
        let heap = DescriptorHeapDesc { kind: DescriptorKind::Sampler, count: 4, shader_visible: false };
        let heap = device.create_descriptor_heap(&heap).unwrap();
        let compares = SamplerInfo::default().compare(Some(Compare::Less));
        let biased = SamplerInfo::default().mip_bias(0.5);
        let write = |index, desc| device.write_descriptor(PERMIT, &heap, index, &Descriptor::Sampler(desc));
        assert_eq!(write(0, compares).is_ok(), can, "samplers that compare");
        assert_eq!(write(1, biased).is_ok(), can, "samplers with a bias");
        assert!(write(2, SamplerInfo::default()).is_ok());
        device.clear_descriptors(PERMIT, &heap, 0, 4, None);
        device.destroy_descriptor_heap(PERMIT, heap);
    }
    drop((whole, part, named, host));
    vulkan.end();
}
