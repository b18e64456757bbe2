//! A driver that refuses.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{MemoryTypeId, QueueSerial, ResourceDesc, TileSource, TileUpdate, prelude::*};
use tenure_core::{
    BufferDesc, Config, DeviceError, Error, Format, Gpu, MemoryUse, QueueId, State, TextureDesc, TileRegion,
    Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{DeviceConfig, OptionalFeatures};

use crate::basics::{
    COPIES, GRAPHICS, LONG, at, buffer, bytes, heap, mapped, read, texture, tile_heap, write,
};
use crate::disguise::Costume;
use crate::harness::Vulkan;

fn plain() -> Vulkan {
    Vulkan::disguised(Costume::plain(), &DeviceConfig::default())
}

const SHORTAGES: [vk::Result; 3] = [
    vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
    vk::Result::ERROR_OUT_OF_HOST_MEMORY,
    vk::Result::ERROR_TOO_MANY_OBJECTS,
];

/// Whichever call fails during the creation of a resource: the error is a shortage, and nothing is left.
#[test]
fn a_failed_creation_leaves_nothing() {
    let vulkan = plain();
    let device = vulkan.device();
    let bytes = buffer(5000, COPIES);
    let image = ResourceDesc::Texture(texture(64, Format::Rgba8Unorm, Usage::SHADER_READ));
    let heap = heap(&device, &bytes, 1 << 20);
    for result in SHORTAGES {
        for (desc, calls) in [
            (&bytes, ["vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory"]),
            (&image, ["vkCreateImage", "vkAllocateMemory", "vkBindImageMemory"]),
        ] {
            for call in calls {
                vulkan.disguise().fail(call, result);
                let error = device.create_committed(desc, MemoryTypeId(0)).unwrap_err();
                assert!(error.is_shortage(), "{call}, {result}: {error}");
            }
            for call in [calls[0], calls[2]] {
                vulkan.disguise().fail(call, result);
                let error = device.create_placed(PERMIT, desc, &heap, 0).unwrap_err();
                assert!(error.is_shortage(), "{call}, {result}: {error}");
            }
        }
        for call in ["vkCreateCommandPool", "vkAllocateCommandBuffers"] {
            vulkan.disguise().fail(call, result);
            assert!(device.create_list(PERMIT, GRAPHICS).unwrap_err().is_shortage());
        }
    }
    device.destroy_heap(PERMIT, heap);
    drop(device);
    vulkan.end();
}

/// The errors name the request.
#[test]
fn shortages_carry_their_numbers() {
    let vulkan = plain();
    let device = vulkan.device();
    let limit = device.properties().max_allocations;
    let desc = buffer(1 << 20, COPIES);
    let memory = MemoryTypeId(0);
    let requested = 1 << 20;
    for (result, expected) in [
        (SHORTAGES[0], DeviceError::OutOfMemory { requested, memory }),
        (SHORTAGES[1], DeviceError::OutOfHostMemory { what: "vkAllocateMemory" }),
        (SHORTAGES[2], DeviceError::TooManyAllocations { limit }),
    ] {
        vulkan.disguise().fail("vkAllocateMemory", result);
        assert_eq!(device.create_committed(&desc, memory).unwrap_err(), expected);
    }
    drop(device);
    vulkan.end();
}

/// The limit on allocations is kept, without a driver call.
#[test]
fn the_limit_on_allocations_is_kept() {
    let costume = Costume { max_allocations: 3, ..Costume::plain() };
    let vulkan = Vulkan::disguised(costume, &DeviceConfig::default());
    let device = vulkan.device();
    let desc = buffer(4096, COPIES);
    let mut alive: Vec<_> =
        (0..3).map(|_| device.create_committed(&desc, MemoryTypeId(0)).unwrap()).collect();
    for _ in 0..4 {
        let refused = device.create_committed(&desc, MemoryTypeId(0)).unwrap_err();
        assert_eq!(refused, DeviceError::TooManyAllocations { limit: 3 });
    }
    assert_eq!(vulkan.disguise().calls("vkAllocateMemory"), 3);
    device.destroy_resource(PERMIT, alive.pop().unwrap());
    alive.push(device.create_committed(&desc, MemoryTypeId(0)).unwrap());
    alive.into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
    drop(device);
    vulkan.end();
}

/// The steps of a manager: smaller blocks, then memory of its own, then another type.
#[test]
fn a_manager_lives_with_shortages_of_a_discrete_card() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let desc = BufferDesc::new(3 << 20, Usage::VERTEX).name("mesh");
    for failures in 0..6 {
        for step in 0..failures {
            vulkan.disguise().fail("vkAllocateMemory", SHORTAGES[step % 3]);
        }
        drop(gpu.create_buffer(&desc).unwrap_or_else(|error| panic!("{failures} failures: {error}")));
        gpu.reclaim().unwrap();
        gpu.trim();
    }
    // If everything is refused, the manager returns an error, and continues after the refusals end.
    for _ in 0..40 {
        vulkan.disguise().fail("vkAllocateMemory", SHORTAGES[0]);
    }
    let image = TextureDesc::from(texture(2048, Format::Rgba16Float, Usage::SHADER_READ)).name("sky");
    let refused = gpu.create_texture(&image);
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{:?}", refused.err());
    vulkan.disguise().forgive();
    drop(gpu.create_texture(&image).unwrap());
    drop(gpu.create_buffer(&desc.memory(MemoryUse::Upload)).unwrap());
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}

/// Mapping fails for want of addresses, flushing for want of memory.
#[test]
fn failed_mappings_of_a_discrete_card_are_shortages() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let device = vulkan.device();
    let staging = mapped(&device, 1024);
    vulkan.disguise().fail("vkMapMemory", vk::Result::ERROR_MEMORY_MAP_FAILED);
    assert!(device.map(&staging).unwrap_err().is_shortage());
    let mapping = device.map(&staging).unwrap();
    vulkan.disguise().fail("vkFlushMappedMemoryRanges", SHORTAGES[1]);
    assert!(mapping.write(0, &[1; 16]).unwrap_err().is_shortage());
    vulkan.disguise().fail("vkInvalidateMappedMemoryRanges", SHORTAGES[1]);
    assert!(mapping.read(0, &mut [0; 16]).unwrap_err().is_shortage());
    mapping.write(0, &[1; 16]).unwrap();
    drop(mapping);
    device.destroy_resource(PERMIT, staging);
    drop(device);
    vulkan.end();
}

/// A failed submission has no effect: its serial and its waits belong to the next one.
fn failed_submissions_are_made_again(options: &DeviceConfig, submit: &'static str) {
    let vulkan = Vulkan::disguised(Costume::discrete(), options);
    let device = vulkan.device();
    let (one, two) = (mapped(&device, 4096), mapped(&device, 4096));
    let mut lists = [0, 1].map(|queue| device.create_list(PERMIT, QueueId(queue)).unwrap());
    for serial in 1..=6 {
        for (index, list) in lists.iter_mut().enumerate() {
            list.begin().unwrap();
            if index == 0 {
                list.copy_buffer(&one, 0, &two, 0, 4096);
                list.make_visible_to_cpu(State::COPY_DST);
            }
            list.close().unwrap();
        }
        write(&device, &one, &bytes(4096, u8::try_from(serial).unwrap()));
        device.submit(PERMIT, QueueId(1), &[&lists[1]], &[], serial).unwrap();
        let wait = [QueueSerial { queue: QueueId(1), serial }];
        for _ in 0..2 {
            vulkan.disguise().fail(submit, SHORTAGES[1]);
            let refused = device.submit(PERMIT, GRAPHICS, &[&lists[0]], &wait, serial);
            // With fences the bridge may have failed, or the submission behind it.
            assert!(refused.unwrap_err().is_shortage());
            assert_eq!(device.completed(GRAPHICS), Ok(serial - 1));
        }
        device.submit(PERMIT, GRAPHICS, &[&lists[0]], &wait, serial).unwrap();
        assert!(device.wait(at(serial), LONG).unwrap());
        assert!(device.wait(wait[0], LONG).unwrap());
        assert_eq!(read(&device, &two, 4096), bytes(4096, u8::try_from(serial).unwrap()));
    }
    lists.into_iter().for_each(|list| device.destroy_list(PERMIT, list));
    device.destroy_resource(PERMIT, one);
    device.destroy_resource(PERMIT, two);
    drop(device);
    vulkan.end();
}

#[test]
fn submissions_of_a_discrete_card_are_retried_with_semaphores() {
    failed_submissions_are_made_again(&DeviceConfig::default(), "vkQueueSubmit2");
    let older = DeviceConfig::default().without(OptionalFeatures::SYNCHRONIZATION2);
    failed_submissions_are_made_again(&older, "vkQueueSubmit");
}

#[test]
fn submissions_of_a_discrete_card_are_retried_with_fences() {
    let fences = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    failed_submissions_are_made_again(&fences, "vkQueueSubmit2");
}

/// When the queue waited for has its bridge and the submission behind it fails, the next one crosses
/// the same bridge.
#[test]
fn unused_bridges_of_a_discrete_card_are_reused() {
    let fences = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    let vulkan = Vulkan::disguised(Costume::discrete(), &fences);
    let device = vulkan.device();
    let wait = [QueueSerial { queue: QueueId(1), serial: 1 }];
    vulkan.disguise().seem_busy(true);
    device.submit(PERMIT, QueueId(1), &[], &[], 1).unwrap();
    vulkan.disguise().take_trace();
    vulkan.disguise().fail("vkQueueSubmit2", SHORTAGES[1]);
    assert!(device.submit(PERMIT, GRAPHICS, &[], &wait, 1).unwrap_err().is_shortage(), "no bridge");
    vulkan.disguise().fail_after(1, "vkQueueSubmit2", SHORTAGES[1]);
    assert!(device.submit(PERMIT, GRAPHICS, &[], &wait, 1).unwrap_err().is_shortage());
    device.submit(PERMIT, GRAPHICS, &[], &wait, 1).unwrap();
    let trace = vulkan.disguise().take_trace();
    assert_eq!(trace.iter().map(|batch| batch.family).collect::<Vec<_>>(), [1, 0], "{trace:?}");
    assert!(trace[1].follows(&trace[0]));
    vulkan.disguise().seem_busy(false);
    assert!(device.wait(at(1), LONG).unwrap());
    drop(device);
    vulkan.end();
}

/// So do changes of mappings, which leave the mappings unchanged.
#[test]
fn failed_changes_of_mappings_change_nothing() {
    let without = OptionalFeatures::TIMELINE_SEMAPHORES;
    for options in [DeviceConfig::default(), DeviceConfig::default().without(without)] {
        let vulkan = Vulkan::disguised(Costume::plain(), &options);
        let device = vulkan.device();
        let desc = buffer(4 * device.properties().tile_size, COPIES);
        let Ok(sparse) = device.create_reserved(&desc) else {
            drop(device);
            vulkan.end();
            continue;
        };
        let tile = device.tile_layout(&sparse).unwrap().tile_size;
        let heap = tile_heap(&device, &sparse, &desc, 2 * tile);
        let staging = mapped(&device, tile);
        let pattern = bytes(usize::try_from(tile).unwrap(), 9);
        write(&device, &staging, &pattern);
        let update = |source| TileUpdate { resource: &sparse, region: TileRegion::buffer(0, 1), source };
        let map = || update(TileSource::Heap { heap: &heap, offset: tile });
        vulkan.disguise().fail("vkQueueBindSparse", SHORTAGES[0]);
        assert!(device.update_tiles(PERMIT, GRAPHICS, &[map()], &[], 1).unwrap_err().is_shortage());
        device.update_tiles(PERMIT, GRAPHICS, &[map()], &[], 1).unwrap();
        crate::basics::run(&device, 2, |list| list.copy_buffer(&staging, 0, &sparse, 0, tile));
        vulkan.disguise().fail("vkQueueBindSparse", SHORTAGES[0]);
        let unmap = update(TileSource::Unmapped);
        assert!(device.update_tiles(PERMIT, GRAPHICS, &[unmap], &[], 3).unwrap_err().is_shortage());
        // The table is unchanged: a copy of the mapping shows the bytes.
        let from = TileSource::CopyOf { resource: &sparse, region: TileRegion::buffer(0, 1) };
        let copy = TileUpdate { resource: &sparse, region: TileRegion::buffer(3, 1), source: from };
        device.update_tiles(PERMIT, GRAPHICS, &[copy], &[], 3).unwrap();
        write(&device, &staging, &[0; 16]);
        crate::basics::run(&device, 4, |list| list.copy_buffer(&sparse, 3 * tile, &staging, 0, tile));
        assert!(read(&device, &staging, pattern.len()) == pattern);
        [sparse, staging].into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
        device.destroy_heap(PERMIT, heap);
        drop(device);
        vulkan.end();
    }
}
