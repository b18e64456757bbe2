//! Devices created by tenure, and the effects of options.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{Features, prelude::*};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Adapter, ApiVersion, CreateError, Device, DeviceConfig, OptionalFeatures, adapters};

use crate::basics::{COPIES, buffer};
use crate::harness::{Log, Vulkan, validated};

/// Adapters are listed, named and opened; the best one is first.
#[test]
fn adapters_are_listed() {
    let alone = Vulkan::new(validated());
    let log = Log::default();
    let options = log.listen(validated());
    let adapters = adapters(&options).unwrap();
    assert!(adapters.windows(2).all(|pair| pair[0].kind() <= pair[1].kind()), "{adapters:?}");
    let first: &Adapter = adapters.first().expect("an adapter");
    assert!(!first.name().is_empty() && !first.driver().is_empty());
    assert!(first.vendor_id() > 0 && first.api_version() >= ApiVersion::V1_1);
    // Two devices of one adapter, and a third of its clone.
    let devices = [first.create(&options).unwrap(), Device::create_on(first, &options).unwrap()];
    assert_eq!(devices[0].properties().name, first.name());
    let third = first.clone().create(&options.clone().max_queues(1)).unwrap();
    assert_eq!(third.properties().queues.len(), 1);
    drop(options);
    drop((adapters, devices));
    assert!(!log.is_closed(), "a device keeps its instance");
    drop(third);
    assert!(log.is_closed());
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}

/// Each switch disables only its feature.
#[test]
fn features_are_switched_off() {
    let all = Vulkan::new(validated());
    let whole = all.device().optional_features();
    let of_contract = all.device().properties().features;
    assert!(whole.contains(OptionalFeatures::DEDICATED_ALLOCATION));
    all.end();
    let structures = OptionalFeatures::ACCELERATION_STRUCTURES;
    let (queries, pipelines) = (OptionalFeatures::RAY_QUERIES, OptionalFeatures::RAY_TRACING_PIPELINES);
    let (pageable, mutable) = (OptionalFeatures::PAGEABLE_MEMORY, OptionalFeatures::MUTABLE_DESCRIPTORS);
    let rays = Features::RAY_QUERIES | Features::RAY_TRACING_PIPELINES;
    let table = [
        (OptionalFeatures::MEMORY_BUDGET, Features::MEMORY_BUDGET),
        // Priorities that change need some to begin with.
        (OptionalFeatures::MEMORY_PRIORITY | pageable, Features::MEMORY_PRIORITY),
        (pageable, Features::empty()),
        (OptionalFeatures::DEDICATED_ALLOCATION, Features::DEDICATED),
        (OptionalFeatures::SPARSE_BUFFERS, Features::RESERVED_BUFFERS),
        (OptionalFeatures::SPARSE_TEXTURES, Features::RESERVED_TEXTURES),
        // Rays need structures to be traced through.
        (structures | queries | pipelines, Features::ACCELERATION_STRUCTURES | rays),
        (queries, Features::RAY_QUERIES),
        (pipelines, Features::RAY_TRACING_PIPELINES),
        (OptionalFeatures::MAINTENANCE4, Features::empty()),
        (OptionalFeatures::SYNCHRONIZATION2, Features::empty()),
        // A mutable descriptor is one that shaders index.
        (OptionalFeatures::DESCRIPTOR_INDEXING | mutable, Features::empty()),
        (mutable, Features::empty()),
        (OptionalFeatures::NULL_DESCRIPTORS, Features::empty()),
        (
            OptionalFeatures::EXTERNAL_MEMORY_FD
                | OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF
                | OptionalFeatures::QUEUE_FAMILY_FOREIGN,
            Features::SHARED_MEMORY | Features::SHARED_ACROSS_DRIVERS,
        ),
        (OptionalFeatures::QUEUE_FAMILY_FOREIGN, Features::SHARED_ACROSS_DRIVERS),
        (OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF, Features::empty()),
        (OptionalFeatures::EXTERNAL_MEMORY_HOST, Features::empty()),
        (OptionalFeatures::HOST_IMAGE_COPY, Features::TEXTURE_WRITES),
    ];
    for (optional, feature) in table {
        let vulkan = Vulkan::new(validated().without(optional));
        let device = vulkan.device();
        assert_eq!(device.optional_features(), whole.difference(optional), "{optional:?}");
        assert_eq!(device.properties().features, of_contract.difference(feature), "{optional:?}");
        let needs = device.requirements(&buffer(1000, COPIES)).unwrap();
        assert!(needs.size >= 1000 && needs.memory_types != 0);
        drop(device);
        vulkan.end();
    }
}

/// Features of the program's own are enabled beside tenure's.
#[test]
fn features_of_the_program_are_enabled() {
    let alone = Vulkan::new(validated());
    let (log, own) = (Log::default(), vk::PhysicalDeviceFeatures::default().wide_lines(true));
    let options = log.listen(validated());
    let adapter = adapters(&options).unwrap().remove(0);
    for is_wanted in [true, false] {
        let mut halves =
            vk::PhysicalDevice16BitStorageFeatures::default().storage_buffer16_bit_access(is_wanted);
        let features = vk::PhysicalDeviceFeatures2::default().features(own).push_next(&mut halves);
        // SAFETY: the structure is of Vulkan 1.1.
        let device = unsafe { Device::create_on_with(&adapter, &options, features) }.unwrap();
        assert_eq!(device.enabled_features().wide_lines, vk::TRUE);
        assert_eq!(device.optional_features(), alone.device().optional_features());
    }
    assert_eq!(log.problems(), Vec::<String>::new());
    alone.end();
}

/// Without acceleration structures, or without the addresses that they need, there are no rays.
#[test]
fn rays_require_their_features() {
    for optional in [OptionalFeatures::ACCELERATION_STRUCTURES, OptionalFeatures::BUFFER_DEVICE_ADDRESS] {
        let vulkan = Vulkan::new(validated().without(optional));
        let device = vulkan.device();
        let rays = OptionalFeatures::RAY_QUERIES | OptionalFeatures::RAY_TRACING_PIPELINES;
        assert!(!device.optional_features().intersects(rays), "{optional:?}");
        drop(device);
        vulkan.end();
    }
}

/// Buffers of acceleration structures are supported, or refused by name.
#[test]
fn acceleration_structures_are_created_or_refused() {
    use tenure_core::device::MemoryTypeId;
    use tenure_core::{DeviceError, Usage};
    for options in [validated(), validated().without(OptionalFeatures::ACCELERATION_STRUCTURES)] {
        let vulkan = Vulkan::new(options);
        let device = vulkan.device();
        let desc = buffer(4096, Usage::ACCELERATION_STRUCTURE | Usage::SHADER_READ);
        let made = device.create_committed(&desc, MemoryTypeId(0));
        if device.properties().features.contains(Features::ACCELERATION_STRUCTURES) {
            device.destroy_resource(PERMIT, made.unwrap());
        } else {
            for refused in [made.map(drop), device.requirements(&desc).map(drop)] {
                assert!(matches!(refused, Err(DeviceError::Unsupported { .. })), "{refused:?}");
            }
        }
        drop(device);
        vulkan.end();
    }
}

/// A budget estimated by tenure counts tenure's own allocations.
#[test]
fn without_the_extension_the_budget_is_a_share() {
    let vulkan = Vulkan::new(validated().without(OptionalFeatures::MEMORY_BUDGET));
    let device = vulkan.device();
    let before = device.budget().unwrap();
    let heap = &device.properties().memory_heaps[0];
    assert_eq!((before[0].budget, before[0].usage), (heap.size - heap.size / 5, 0));
    // Memory for CPU writes is in another heap on a card.
    let used = || device.budget().unwrap().iter().map(|heap| heap.usage).sum::<u64>();
    let big = crate::basics::mapped(&device, 3 << 20);
    assert!(used() >= 3 << 20);
    device.destroy_resource(PERMIT, big);
    assert_eq!(used(), 0);
    drop(device);
    vulkan.end();
}

#[test]
fn missing_versions_layers_and_extensions_are_errors() {
    let alone = Vulkan::new(validated());
    let created = |options: DeviceConfig| Device::create(&options).map(drop).unwrap_err();
    let old = created(DeviceConfig::default().api_version(ApiVersion { major: 1, minor: 0 }));
    assert_eq!(old, CreateError::TooOld { found: ApiVersion { major: 1, minor: 0 } });
    let unknown = || vec![c"VK_TENURE_nothing".to_owned()];
    let expected = CreateError::NoExtension { extension: "VK_TENURE_nothing".to_owned() };
    assert_eq!(created(DeviceConfig::default().device_extensions(unknown())), expected);
    assert_eq!(created(DeviceConfig::default().instance_extensions(unknown())), expected);
    alone.end();
}

/// Everything common, under advice on performance too: with blocks of the size that the layers recommend, there
/// is no message about memory.
#[test]
fn pooled_memory_follows_the_advice_of_the_layers() {
    let advice = validated().validation.best_practices(true);
    let vulkan = Vulkan::new(validated().validation(advice));
    let config = tenure_core::Config::from(tenure_core::PoolConfig::default().min_block(4 << 20));
    let gpu = tenure_core::Gpu::new(vulkan.device(), config).unwrap();
    crate::advice::load(&gpu);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
