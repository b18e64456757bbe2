//! Devices with additional features of the program, in any of Vulkan's structures.

use conformance::Harness as _;
use tenure_core::QueueId;
use tenure_core::device::prelude::*;
use tenure_vulkan::ash::vk;
use tenure_vulkan::{ApiVersion, CreateError, Device, DeviceConfig, OptionalFeatures};

use crate::basics::{LONG, at};
use crate::harness::{Log, PERMIT, Vulkan, validated};

/// The structures of whole versions, with all that a device has.
#[derive(Default)]
struct Wholes {
    v11: vk::PhysicalDeviceVulkan11Features<'static>,
    v12: vk::PhysicalDeviceVulkan12Features<'static>,
    v13: vk::PhysicalDeviceVulkan13Features<'static>,
}

impl Wholes {
    fn of(device: &Device) -> Self {
        let mut wholes = Self::default();
        let mut features = wholes.link(device.api_version());
        // SAFETY: the structures are of the version that the device has.
        unsafe { device.instance().get_physical_device_features2(device.physical_device(), &mut features) };
        wholes.v11.p_next = core::ptr::null_mut();
        wholes.v12.p_next = core::ptr::null_mut();
        wholes.v13.p_next = core::ptr::null_mut();
        wholes
    }

    fn link(&mut self, version: ApiVersion) -> vk::PhysicalDeviceFeatures2<'_> {
        let mut features = vk::PhysicalDeviceFeatures2::default();
        // SAFETY: a structure's type says for how long it is linked, which is no longer than it is borrowed here.
        let Self { v11, v12, v13 } = unsafe { &mut *core::ptr::from_mut(self) };
        if version >= ApiVersion::V1_2 {
            features = features.push_next(v11).push_next(v12);
        }
        if version >= ApiVersion::V1_3 {
            features = features.push_next(v13);
        }
        features
    }
}

fn create(options: DeviceConfig, features: vk::PhysicalDeviceFeatures2<'_>) -> Result<Device, CreateError> {
    // SAFETY: the chain is valid, and its structures need no extension.
    unsafe { Device::create_with(&options, features) }
}

/// The device works on all paths with all features.
fn check_work(device: &Device) {
    device.submit(PERMIT, QueueId(0), &[], &[], 1).unwrap();
    assert!(device.wait(at(1), LONG).unwrap());
}

/// The structures of whole versions are merged with tenure's features, and not written to.
#[test]
fn structures_of_whole_versions_are_merged() {
    let alone = Vulkan::new(validated());
    let (log, device) = (Log::default(), alone.device());
    let (version, expected) = (device.api_version(), device.optional_features());
    for is_on in [true, false] {
        let mut wholes = if is_on { Wholes::of(&device) } else { Wholes::default() };
        let timeline = wholes.v12.timeline_semaphore;
        let features = wholes.link(version);
        let own = create(log.listen(validated()), features).unwrap();
        assert_eq!(own.optional_features(), expected);
        assert_eq!(own.properties(), device.properties());
        check_work(&own);
        assert_eq!(wholes.v12.timeline_semaphore, timeline, "the program's memory is its own");
        drop(own);
    }
    drop(device);
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}

/// The structures that tenure would link, linked by the program, with additional features of its own.
#[test]
fn structures_of_tenures_are_merged() {
    let alone = Vulkan::new(validated());
    let (log, device) = (Log::default(), alone.device());
    if device.api_version() >= ApiVersion::V1_3 {
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
        let mut sync = vk::PhysicalDeviceSynchronization2Features::default().synchronization2(true);
        let mut maintenance = vk::PhysicalDeviceMaintenance4Features::default();
        let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
        let mut whole = vk::PhysicalDeviceVulkan11Features::default().multiview(true);
        let features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut timeline)
            .push_next(&mut sync)
            .push_next(&mut maintenance)
            .push_next(&mut indexing)
            .push_next(&mut whole);
        let own = create(log.listen(validated()), features).unwrap();
        assert_eq!(own.optional_features(), device.optional_features());
        check_work(&own);
        drop(own);
        assert_eq!((timeline.timeline_semaphore, indexing.runtime_descriptor_array), (0, 0));
    }
    drop(device);
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}

/// A feature that tenure must not use, but the program enables, is available to the program.
#[test]
fn the_programs_features_are_not_tenures() {
    let optional = OptionalFeatures::TIMELINE_SEMAPHORES;
    let alone = Vulkan::new(validated().without(optional));
    let (log, device) = (Log::default(), alone.device());
    let mut whole = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut whole);
    let own = create(log.listen(validated()).without(optional), features).unwrap();
    assert_eq!(own.optional_features(), device.optional_features());
    assert!(!own.optional_features().contains(optional));
    check_work(&own);
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: the feature is enabled, and nothing uses the semaphore.
    unsafe {
        let semaphore = own.raw().create_semaphore(&info, None).unwrap();
        own.raw().destroy_semaphore(semaphore, None);
    }
    drop((own, device));
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}

/// Errors name missing features, and combinations that Vulkan forbids are refused before the driver call.
#[test]
fn bad_chains_are_refused() {
    let alone = Vulkan::new(validated());
    let log = Log::default();
    let refused =
        |options: DeviceConfig, features| create(log.listen(options), features).unwrap_err().to_string();

    let mut none = vk::PhysicalDeviceProtectedMemoryFeatures::default().protected_memory(true);
    let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut none);
    let found = refused(validated(), features);
    let expected = "does not have the feature protectedMemory (VkPhysicalDeviceProtectedMemoryFeatures)";
    assert!(found.contains(expected), "{found}");

    let mut whole = vk::PhysicalDeviceVulkan11Features::default().multiview(true).protected_memory(true);
    let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut whole);
    let found = refused(validated(), features);
    assert!(found.contains("protectedMemory (VkPhysicalDeviceVulkan11Features)"), "{found}");

    let basic = vk::PhysicalDeviceFeatures::default().texture_compression_astc_ldr(true);
    let found = create(log.listen(validated()), vk::PhysicalDeviceFeatures2::default().features(basic));
    let has_it = alone.device().enabled_features().texture_compression_astc_ldr == vk::TRUE;
    assert_eq!(found.is_ok(), has_it, "{found:?}");

    let mut newer = vk::PhysicalDeviceVulkan13Features::default();
    let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut newer);
    let found = refused(validated().api_version(ApiVersion::V1_2), features);
    assert!(found.contains("VkPhysicalDeviceVulkan13Features with Vulkan 1.2"), "{found}");

    drop(found);
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}

/// An unknown structure is left in the chain, and ignored by the driver.
#[test]
fn unknown_structures_are_linked_as_they_are() {
    let alone = Vulkan::new(validated());
    let kind = vk::StructureType::from_raw(1_000_999_000);
    let mut unknown = vk::BaseInStructure { s_type: kind, ..Default::default() };
    let next = core::ptr::from_mut(&mut unknown).cast();
    let features = vk::PhysicalDeviceFeatures2 { p_next: next, ..Default::default() };
    let device = create(DeviceConfig::default(), features).unwrap();
    assert_eq!(device.optional_features(), alone.device().optional_features());
    check_work(&device);
    drop(device);
    assert!(unknown.s_type == kind && unknown.p_next.is_null());
    alone.end();
}
