//! Devices by their handles and the structure that they were created with.

use std::sync::atomic::Ordering;

use conformance::Harness as _;
use tenure_core::device::prelude::*;
use tenure_vulkan::ash::{self, vk};
use tenure_vulkan::{ApiVersion, Device, DeviceConfig, DeviceFeatures, OptionalFeatures, Raw, RawQueue};

use crate::harness::{Vulkan, validated};
use crate::wrapped::{ERRORS, Engine, upload_once};

/// Runs with a second device of an engine, created with `info` and wrapped by its handles.
fn with_device(engine: &Engine, info: vk::DeviceCreateInfo<'_>, run: impl FnOnce(Device)) {
    let (instance, family) = (&engine.instance, engine.family);
    let priorities = [1.0];
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
    let info = info.queue_create_infos(&queues);
    // SAFETY: everything is made as the specification has it, and nothing uses the device at the end.
    unsafe {
        let device = instance.create_device(engine.physical, &info, None).unwrap();
        let raw = Raw::from_create_info(
            engine.entry.static_fn().get_instance_proc_addr,
            instance.handle(),
            engine.physical,
            device.handle(),
            &info,
            ApiVersion::V1_2,
            vec![RawQueue { queue: device.get_device_queue(family, 0), family, kind: None }],
        )
        .unwrap();
        run(Device::from_raw(raw, &DeviceConfig::default()).unwrap());
        device.destroy_device(None);
    }
}

/// Nothing is stated twice: enabled features of tenure's list are used, as on a device of tenure's own.
#[test]
fn a_create_info_lists_the_enabled_features() {
    // One instance at a time.
    let alone = Vulkan::new(validated().api_version(ApiVersion::V1_2));
    let own = alone.device();
    ERRORS.store(0, Ordering::Relaxed);
    let engine = Engine::new();
    // SAFETY: the physical device is one of the instance's, which was made for that version.
    let wanted = unsafe {
        DeviceFeatures::of(&engine.instance, engine.physical, ApiVersion::V1_2, &DeviceConfig::default())
    };
    let mut wanted = wanted.unwrap();
    let (enabled, extensions) = (wanted.enabled(), wanted.extensions().to_vec());
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let basic = vk::PhysicalDeviceFeatures::default().shader_int64(true);
    let mut linked = wanted.link(vk::PhysicalDeviceFeatures2::default().features(basic));
    let info = vk::DeviceCreateInfo::default().enabled_extension_names(&names).push_next(&mut linked);
    with_device(&engine, info, |device| {
        assert_eq!(device.optional_features(), enabled);
        assert_eq!(device.optional_features(), own.optional_features(), "as on a device of tenure's own");
        assert_eq!(device.properties().features, own.properties().features);
        assert_eq!(device.properties().descriptors, own.properties().descriptors);
        assert_eq!(device.enabled_features().shader_int64, vk::TRUE);
        assert_eq!((device.enabled_extensions(), device.api_version()), (&extensions[..], ApiVersion::V1_2));
        upload_once(device);
    });
    drop((own, engine));
    assert_eq!(ERRORS.load(Ordering::Relaxed), 0, "errors of validation");
    alone.end();
}

/// The structure of a whole version, Vulkan 1.0's features without a chain, and structures of another kind;
/// supported features that are not enabled are not used.
#[test]
fn a_create_info_may_have_the_structures_of_whole_versions() {
    // One instance at a time.
    let alone = Vulkan::new(validated());
    ERRORS.store(0, Ordering::Relaxed);
    let engine = Engine::new();
    let basic = vk::PhysicalDeviceFeatures::default().sampler_anisotropy(true);
    for is_on in [true, false] {
        let mut whole = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(is_on);
        let physical = [engine.physical];
        let mut group = vk::DeviceGroupDeviceCreateInfo::default().physical_devices(&physical);
        let names = [ash::khr::synchronization2::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .enabled_features(&basic)
            .enabled_extension_names(&names)
            .push_next(&mut whole)
            .push_next(&mut group);
        with_device(&engine, info, |device| {
            let found = device.optional_features();
            assert_eq!(found.contains(OptionalFeatures::TIMELINE_SEMAPHORES), is_on, "{found:?}");
            let always = OptionalFeatures::DEDICATED_ALLOCATION
                | OptionalFeatures::FORMAT_LISTS
                | OptionalFeatures::DEBUG_NAMES;
            assert_eq!(found.difference(OptionalFeatures::TIMELINE_SEMAPHORES), always);
            assert_eq!(device.enabled_features().sampler_anisotropy, vk::TRUE);
            assert!(device.entry().is_some(), "for surfaces");
        });
    }
    drop(engine);
    assert_eq!(ERRORS.load(Ordering::Relaxed), 0, "errors of validation");
    alone.end();
}
