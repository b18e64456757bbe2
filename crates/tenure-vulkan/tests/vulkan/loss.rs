//! Device loss.

use crate::harness::PERMIT;
use std::time::{Duration, Instant};

use conformance::Harness as _;
use tenure_core::device::{
    FaultAccess, HeapCategory, HeapDesc, MemoryFlags, MemoryTypeId, ObjectRef, Priority, prelude::*,
};
use tenure_core::{
    AddressUse, BufferDesc, Config, DeviceError, Error, Format, Gpu, LossReport, Queue, SyncPoint,
    TextureDesc, Usage,
};
use tenure_vulkan::ash::vk::Handle as _;
use tenure_vulkan::ash::{self, vk};
use tenure_vulkan::{Device, DeviceConfig, OptionalFeatures, Raw};

use crate::basics::{COPIES, GRAPHICS, LONG, at, buffer, heap, mapped, memory_type};
use crate::disguise::addresses::FIRST;
use crate::disguise::{Costume, faults, hooked_entry};
use crate::harness::Vulkan;

fn is_lost<T: std::fmt::Debug>(answer: Result<T, DeviceError>) {
    assert!(matches!(answer, Err(DeviceError::Lost { .. })), "{answer:?}");
}

/// After the loss every call returns the error, none blocks, and everything is still destroyed.
fn everything_is_lost(options: &DeviceConfig, lose: impl Fn(&Vulkan, &Device), reason: &str) {
    let vulkan = Vulkan::disguised(Costume::plain(), options);
    let device = vulkan.device();
    let desc = buffer(256, COPIES);
    let staging = mapped(&device, 256);
    let mapping = device.map(&staging).unwrap();
    let heap = heap(&device, &desc, 1 << 20);
    let kind = memory_type(&device, &desc, MemoryFlags::empty());
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    device.submit(PERMIT, GRAPHICS, &[], &[], 1).unwrap();
    assert!(device.wait(at(1), LONG).unwrap());
    lose(&vulkan, &device);
    let begun = Instant::now();
    let Err(DeviceError::Lost { reason: found }) = device.status() else { panic!("not lost") };
    assert!(found.contains(reason), "{found}");
    is_lost(device.requirements(&desc));
    is_lost(device.create_heap(&HeapDesc {
        size: 1 << 20,
        alignment: device.properties().heap_alignment,
        memory: kind,
        category: HeapCategory::Any,
        priority: Priority::Normal,
    }));
    is_lost(device.create_committed(&desc, kind));
    is_lost(device.create_placed(PERMIT, &desc, &heap, 0));
    is_lost(device.create_reserved(&desc));
    is_lost(device.map(&staging));
    is_lost(mapping.write(0, &[0; 4]));
    is_lost(mapping.read(0, &mut [0; 4]));
    is_lost(device.tile_layout(&staging));
    is_lost(device.create_list(PERMIT, GRAPHICS));
    is_lost(list.begin());
    is_lost(device.submit(PERMIT, GRAPHICS, &[], &[], 2));
    is_lost(device.update_tiles(PERMIT, GRAPHICS, &[], &[], 2));
    is_lost(device.completed(GRAPHICS));
    is_lost(device.wait(at(2), Duration::MAX));
    is_lost(device.budget());
    device.set_name(PERMIT, ObjectRef::Resource(&staging), "lost");
    assert!(begun.elapsed() < Duration::from_secs(5), "nothing blocks");
    drop(mapping);
    device.destroy_list(PERMIT, list);
    device.destroy_resource(PERMIT, staging);
    device.destroy_heap(PERMIT, heap);
    drop(device);
    vulkan.close();
    let problems = vulkan.log().problems();
    assert!(problems.is_empty(), "{problems:?}");
}

const LOST: vk::Result = vk::Result::ERROR_DEVICE_LOST;

#[test]
fn a_device_is_lost_at_a_submission() {
    let submit = |vulkan: &Vulkan, device: &Device| {
        vulkan.disguise().fail("vkQueueSubmit2", LOST);
        is_lost(device.submit(PERMIT, GRAPHICS, &[], &[], 2));
    };
    everything_is_lost(&DeviceConfig::default(), submit, "vkQueueSubmit2");
    let fences = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    everything_is_lost(&fences, submit, "vkQueueSubmit2");
}

#[test]
fn a_device_is_lost_at_an_allocation() {
    let allocate = |vulkan: &Vulkan, device: &Device| {
        vulkan.disguise().fail("vkAllocateMemory", LOST);
        is_lost(device.create_committed(&buffer(64, COPIES), MemoryTypeId(0)));
    };
    everything_is_lost(&DeviceConfig::default(), allocate, "vkAllocateMemory");
}

/// Also if a driver reports it only by a value beyond all serials.
#[test]
fn a_device_is_lost_at_a_poll() {
    let absurd = |vulkan: &Vulkan, device: &Device| {
        vulkan.disguise().fail("vkGetSemaphoreCounterValue", vk::Result::SUCCESS);
        is_lost(device.completed(GRAPHICS));
    };
    everything_is_lost(&DeviceConfig::default(), absurd, "vkGetSemaphoreCounterValue");
    let said = |vulkan: &Vulkan, device: &Device| {
        vulkan.disguise().fail("vkGetSemaphoreCounterValue", LOST);
        is_lost(device.wait(at(2), LONG));
    };
    everything_is_lost(&DeviceConfig::default(), said, "vkGetSemaphoreCounterValue");
    let fence = |vulkan: &Vulkan, device: &Device| {
        device.submit(PERMIT, GRAPHICS, &[], &[], 2).unwrap();
        // The loss is only said: the driver is to be done with the fence that will be destroyed.
        let host = vulkan.host();
        // SAFETY: there are no other submissions.
        host.with_queue(GRAPHICS, |queue| unsafe { host.raw().queue_wait_idle(queue) }).unwrap().unwrap();
        vulkan.disguise().fail("vkGetFenceStatus", LOST);
        is_lost(device.completed(GRAPHICS));
    };
    let fences = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    everything_is_lost(&fences, fence, "vkGetFenceStatus");
}

/// A thread in an endless wait returns when another thread sees the loss.
#[test]
fn waits_return_the_loss() {
    let fences = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    for options in [DeviceConfig::default(), fences] {
        let vulkan = Vulkan::disguised(Costume::plain(), &options);
        let device = vulkan.device();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| device.wait(at(1), Duration::MAX));
            std::thread::sleep(Duration::from_millis(20));
            vulkan.disguise().fail("vkQueueSubmit2", LOST);
            is_lost(device.submit(PERMIT, GRAPHICS, &[], &[], 1));
            is_lost(waiting.join().unwrap());
        });
        drop(device);
        vulkan.close();
    }
}

/// The report of the loss of a device whose driver reports a fault at byte 16 of a buffer, and has data.
fn loss(options: DeviceConfig) -> LossReport {
    let vulkan = Vulkan::wearing(Costume::plain(), options, |raw| {
        raw.extensions.push(ash::ext::device_fault::NAME.to_owned());
        raw.enabled |= OptionalFeatures::DEVICE_FAULT | OptionalFeatures::DEVICE_FAULT_DATA;
    });
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let rock = gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("rock")).unwrap();
    vulkan.disguise().fault_at(rock.gpu_address().unwrap() + 16);
    vulkan.disguise().fail("vkQueueSubmit2", LOST);
    gpu.record(Queue::Graphics, "main").unwrap().submit().unwrap_err();
    let loss = gpu.loss().unwrap();
    drop((rock, gpu));
    vulkan.close();
    loss
}

/// The vendor's data becomes a file where the options have a folder for it.
#[test]
fn the_report_has_the_fault_and_the_file_of_the_vendors_data() {
    let of_rock = |loss: &LossReport| {
        let fault = &loss.faults[0];
        let owner = &fault.whose.as_ref().unwrap().owners[0];
        assert_eq!((fault.fault.access, owner.name.as_str()), (FaultAccess::Read, "rock"));
        assert_eq!(fault.fault.addresses.start, owner.addresses.start + 16);
    };
    let without = loss(DeviceConfig::default());
    of_rock(&without);
    assert_eq!(without.faults.len(), 1, "{without}");

    let folder = std::env::temp_dir().join(format!("tenure-loss-{}", std::process::id()));
    let with = loss(DeviceConfig::default().fault_folder(&folder));
    of_rock(&with);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(std::fs::read(file).unwrap(), faults::DATA);
    let words = format!("4 B of the vendor's data, in '{}'", file.display());
    assert_eq!(with.faults[1].fault.description, words);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The loader's functions are hooked, so that the driver reports addresses.
fn with_addresses(options: DeviceConfig) -> Vulkan {
    Vulkan::wearing(Costume::plain(), options, |raw| {
        raw.entry = raw.entry.take().map(hooked_entry);
        raw.extensions.push(ash::ext::device_address_binding_report::NAME.to_owned());
        raw.extensions.push(ash::ext::device_fault::NAME.to_owned());
        raw.enabled |= OptionalFeatures::ADDRESS_REPORTS | OptionalFeatures::DEVICE_FAULT;
    })
}

/// A texture has the address of the largest range that the driver reports for it, whatever it reports of other objects.
#[test]
fn the_report_names_the_texture_whose_address_the_driver_has_reported() {
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let vulkan = with_addresses(DeviceConfig::default().address_reports(true));
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    assert!(gpu.device().optional_features().contains(OptionalFeatures::ADDRESS_REPORTS));
    let rock = gpu.create_texture(&desc.clone().name("rock")).unwrap();
    let handle = rock.raw().image().unwrap().as_raw();
    vulkan.disguise().report(vk::ObjectType::IMAGE, handle, Some(16));
    vulkan.disguise().report(vk::ObjectType::IMAGE, handle, None);
    (1..1000).for_each(|other| vulkan.disguise().report(vk::ObjectType::BUFFER, other, Some(other)));
    (1..5000).for_each(|other| vulkan.disguise().report(vk::ObjectType::IMAGE, other, Some(other)));
    let tree = gpu.create_texture(&desc.name("tree")).unwrap();
    for (owner, address) in [("rock", FIRST), ("tree", 2 * FIRST)] {
        let report = gpu.whose(address + 8);
        assert_eq!(report.owners[0].name, owner, "{report}");
        assert_eq!(report.owners[0].addresses.start, address);
    }
    drop(rock);
    gpu.trim();
    vulkan.disguise().fault_at(FIRST + 16);
    vulkan.disguise().fail("vkQueueSubmit2", LOST);
    gpu.record(Queue::Graphics, "main").unwrap().submit().unwrap_err();
    let loss = gpu.loss().unwrap();
    let owner = &loss.faults[0].whose.as_ref().unwrap().owners[0];
    assert_eq!((owner.name.as_str(), owner.addresses.start), ("rock", FIRST), "{loss}");
    assert!(matches!(owner.state, AddressUse::Released { .. }), "{loss}");
    drop((tree, gpu));
    vulkan.close();
    assert!(vulkan.log().problems().is_empty());
}

/// Without the option, or if the driver refuses the messenger, there are no addresses of textures, and no feature.
#[test]
fn reports_of_addresses_are_optional() {
    let refused = |vulkan: &Vulkan| {
        vulkan.disguise().fail("vkCreateDebugUtilsMessengerEXT", vk::Result::ERROR_OUT_OF_HOST_MEMORY);
    };
    let with_reports = DeviceConfig::default().address_reports(true);
    for options in [DeviceConfig::default(), with_reports.clone().without(OptionalFeatures::DEBUG_NAMES)] {
        let vulkan = with_addresses(options);
        has_no_addresses(&vulkan, vulkan.device());
        vulkan.close();
    }
    let vulkan = with_addresses(with_reports.clone());
    refused(&vulkan);
    let enable = |raw: &mut Raw| {
        raw.entry = raw.entry.take().map(hooked_entry);
        raw.extensions.push(ash::ext::device_address_binding_report::NAME.to_owned());
        raw.enabled |= OptionalFeatures::ADDRESS_REPORTS;
    };
    let device = vulkan.disguise().wrap_with(&vulkan.host(), &with_reports, enable).unwrap();
    has_no_addresses(&vulkan, device);
    vulkan.close();
}

fn has_no_addresses(vulkan: &Vulkan, device: Device) {
    assert!(!device.optional_features().contains(OptionalFeatures::ADDRESS_REPORTS));
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let desc = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).name("rock");
    let rock = gpu.create_texture(&desc).unwrap();
    vulkan.disguise().report(vk::ObjectType::IMAGE, rock.raw().image().unwrap().as_raw(), Some(FIRST));
    assert!(gpu.whose(FIRST).owners.is_empty());
}

/// Where a device has both extensions, the newer one is asked first, and the older one if that has no report.
#[test]
fn the_newer_extension_is_asked_for_faults_first() {
    for has_report in [true, false] {
        let vulkan = Vulkan::wearing(Costume::plain(), DeviceConfig::default(), |raw| {
            raw.extensions.extend([c"VK_KHR_device_fault", ash::ext::device_fault::NAME].map(Into::into));
            raw.enabled |= OptionalFeatures::KHR_DEVICE_FAULT | OptionalFeatures::DEVICE_FAULT;
        });
        let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
        let rock = gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("rock")).unwrap();
        vulkan.disguise().fault_at(rock.gpu_address().unwrap() + 16);
        if has_report {
            vulkan.disguise().has_khr_report();
        }
        vulkan.disguise().fail("vkQueueSubmit2", LOST);
        gpu.record(Queue::Graphics, "main").unwrap().submit().unwrap_err();
        let loss = gpu.loss().unwrap();
        assert_eq!(loss.faults[0].whose.as_ref().unwrap().owners[0].name, "rock", "{loss}");
        let words = if has_report { faults::KHR_WORDS } else { b"" };
        assert_eq!(loss.faults[0].fault.description.as_bytes(), words, "{loss}");
        drop((rock, gpu));
        vulkan.close();
    }
}

/// A loss that only tenure has noted is not the driver's, which must not be asked for its reasons.
#[test]
fn only_a_driver_that_has_lost_the_device_is_asked_for_faults() {
    let vulkan = Vulkan::wearing(Costume::plain(), DeviceConfig::default(), |raw| {
        raw.extensions.push(c"VK_KHR_device_fault".into());
        raw.enabled |= OptionalFeatures::KHR_DEVICE_FAULT;
    });
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    vulkan.disguise().has_khr_report();
    vulkan.disguise().fail("vkQueueSubmit2", vk::Result::ERROR_OUT_OF_HOST_MEMORY);
    let submitted = gpu.submit_external(Queue::Graphics, &SyncPoint::NONE, |_| Ok::<_, Error>(()));
    assert!(submitted.unwrap_err().is_device_lost());
    let loss = gpu.loss().unwrap();
    assert!(loss.faults.is_empty(), "{loss}");
    drop(gpu);
    vulkan.close();
}
