//! Refusals, which lose nothing.

use std::os::fd::OwnedFd;

use conformance::Harness as _;
use tenure_core::device::{ApiCode, Features, prelude::*};
use tenure_core::state::StateError;
use tenure_core::{BufferDesc, DeviceError, Error, Gpu, MemoryUse, Queue, State, Usage};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{
    Device, DeviceConfig, DeviceIds, ExportDesc, Exported, HandleKind, OptionalFeatures, ShareError,
    Sharing as _,
};

use super::{Files, SIZE, buffer_desc, manager, texture_desc};
use crate::basics::COPIES;
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

/// Imports, which fails; the handle comes back.
fn fail(gpu: &Gpu<Device>, handle: OwnedFd, info: &ExportDesc, desc: &BufferDesc) -> (ShareError, OwnedFd) {
    let files = Files::of([&handle]);
    let open = files.descriptors();
    // SAFETY: a wrong description is refused before the driver call; otherwise it is true.
    let failed = unsafe { gpu.import_buffer(handle, info, desc) }.unwrap_err();
    assert_eq!(files.descriptors(), open, "the handle is still open, and no other one");
    (failed.error, failed.handle)
}

#[test]
fn impossible_imports_are_refused_and_return_the_handle() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let buffer = gpu.create_buffer(&buffer_desc()).unwrap();
    let Exported { handle, info } = gpu.export_buffer(&buffer, HandleKind::OpaqueFd).unwrap();
    assert!(info.size >= SIZE && info.is_dedicated);
    let other = ExportDesc { ids: DeviceIds { device: [7; 16], ..info.ids }, ..info };
    let (error, handle) = fail(&gpu, handle, &other, &buffer_desc());
    let ShareError::OtherDevice { exporter, importer } = error else { panic!("{error}") };
    assert_eq!((exporter, importer), (other.ids, info.ids));
    let smaller = buffer_desc().size(SIZE - 1);
    let (error, handle) = fail(&gpu, handle, &info, &smaller);
    assert!(matches!(error, ShareError::OtherDescription { .. }), "{error}");
    let short = ExportDesc { size: SIZE / 2, ..info };
    let (error, handle) = fail(&gpu, handle, &short, &buffer_desc());
    assert!(matches!(error, ShareError::TooSmall { size, needed } if size == SIZE / 2 && needed >= SIZE));
    let long = ExportDesc { size: 1 << 62, ..info };
    let (error, handle) = fail(&gpu, handle, &long, &buffer_desc());
    let ShareError::Device(DeviceError::OutOfMemory { requested, .. }) = error else { panic!("{error}") };
    assert_eq!(requested, long.size, "no heap is that large");
    for memory_type in [31, 32, u32::MAX] {
        let (error, same) =
            fail(&gpu, handle.try_clone().unwrap(), &ExportDesc { memory_type, ..info }, &buffer_desc());
        assert!(matches!(error, ShareError::MemoryType { .. }), "{error}");
        drop(same);
    }
    // Nothing of it was in the way of the right one.
    // SAFETY: handle and information come from one export.
    let imported = unsafe { gpu.import_buffer(handle, &info, &buffer_desc()) }.unwrap();
    drop((imported, buffer));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}

/// A driver that refuses leaves the handle, and no memory behind.
#[test]
fn unshared_resources_are_not_exported() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let desc = BufferDesc::new(SIZE, COPIES);
    for desc in [desc.clone(), desc.own_resource()] {
        let plain = gpu.create_buffer(&desc).unwrap();
        let refused = gpu.export_buffer(&plain, HandleKind::OpaqueFd).unwrap_err();
        assert!(matches!(refused, ShareError::NotExportable { kind: HandleKind::OpaqueFd }), "{refused}");
        let mut recording = gpu.record(Queue::Graphics, "hands over").unwrap();
        let refused = recording.release_to_peer(&plain, State::COPY_SRC).unwrap_err();
        assert!(matches!(refused, Error::State { source: StateError::NotShared, .. }), "{refused}");
        let refused = recording.acquire_from_peer(&plain, State::COPY_SRC).unwrap_err();
        assert!(matches!(refused, Error::State { source: StateError::NotShared, .. }), "{refused}");
    }
    // Resources that the device does not export are refused, too.
    let shared = gpu.create_buffer(&buffer_desc()).unwrap();
    match gpu.export_buffer(&shared, HandleKind::DmaBuf) {
        Ok(exported) => assert_eq!(exported.info.kind, HandleKind::DmaBuf),
        Err(refused) => assert!(matches!(refused, ShareError::NotExportable { .. }), "{refused}"),
    }
    drop(shared);
    drop(gpu);
    vulkan.end();
}

/// A shared resource has memory of its own, and keeps it.
#[test]
fn shared_resources_neither_move_nor_are_evicted() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let desc = BufferDesc::new(256, COPIES).shared().movable().evictable();
    let (small, other) = (gpu.create_buffer(&desc).unwrap(), gpu.create_buffer(&desc).unwrap());
    assert!(small.movable_id().is_none());
    assert_ne!(small.raw().memory().unwrap().0, other.raw().memory().unwrap().0);
    assert_eq!(small.raw().memory().unwrap().1, 0);
    let pages = gpu.create_pages(&tenure_core::PageAllocatorDesc::new(1 << 20));
    let in_pages = pages.create_buffer(&BufferDesc::new(256, COPIES).shared()).unwrap();
    assert!(gpu.export_buffer(&in_pages, HandleKind::OpaqueFd).is_ok());
    let bare = BufferDesc::new(64, Usage::empty()).usage(Usage::SHARED);
    assert!(gpu.create_buffer(&bare).is_err(), "shared is no use by itself");
    drop((small, other, in_pages, pages));
    drop(gpu);
    vulkan.end();
}

#[test]
fn without_the_extension_nothing_is_shared() {
    let vulkan = Vulkan::new(validated().without(OptionalFeatures::EXTERNAL_MEMORY_FD));
    let device = vulkan.device();
    assert!(!device.properties().features.contains(Features::SHARED_MEMORY));
    assert!(!device.optional_features().contains(OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF));
    let gpu = manager(&vulkan);
    for error in
        [gpu.create_buffer(&buffer_desc()).unwrap_err(), gpu.create_texture(&texture_desc()).unwrap_err()]
    {
        assert!(matches!(error, Error::Device { source: DeviceError::Unsupported { .. }, .. }), "{error}");
    }
    drop((device, gpu));
    vulkan.end();
}

/// Semaphores are shared where the driver shares them; elsewhere it is an error.
#[test]
fn semaphores_count_in_both_managers_or_are_unsupported() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    match gpu.create_shared_semaphore("order", 3) {
        Err(error) => {
            assert!(matches!(error, ShareError::Device(DeviceError::Unsupported { .. })), "{error}");
        }
        Ok(semaphore) => {
            let (handle, ids) = semaphore.export().unwrap();
            // SAFETY: it was exported just now.
            let same = unsafe { gpu.import_semaphore(handle, &ids, "the same") }.unwrap();
            assert_eq!(same.value(), Ok(3));
            let refused = same.export().unwrap_err();
            assert!(matches!(refused, ShareError::Device(DeviceError::Unsupported { .. })), "{refused}");
            let mut recording = gpu.record(Queue::Graphics, "signals").unwrap();
            // SAFETY: the values rise.
            unsafe {
                recording.wait_for_external(same.at(4));
                recording.signal_external(semaphore.at(5));
                recording.submit().unwrap();
                assert_eq!(same.wait(5, std::time::Duration::from_millis(20)), Ok(false));
                same.signal(4).unwrap();
            }
            assert_eq!(same.wait(5, crate::basics::LONG), Ok(true));
            drop((semaphore, same));
        }
    }
    drop(gpu);
    vulkan.end();
}

/// A driver that reports success and creates no handle.
#[test]
fn exports_without_a_handle_are_errors() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let gpu = manager(&vulkan);
    let buffer = gpu.create_buffer(&buffer_desc()).unwrap();
    vulkan.disguise().fail("vkGetMemoryFdKHR", vk::Result::SUCCESS);
    let refused = gpu.export_buffer(&buffer, HandleKind::OpaqueFd).unwrap_err();
    let code = ApiCode::VkResult(0);
    let expected = DeviceError::ApiFailed { call: "vkGetMemoryFdKHR", code };
    assert!(matches!(&refused, ShareError::Device(error) if *error == expected), "{refused}");
    drop(buffer);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}

/// A shared mapped buffer shows the CPU a peer's writes.
#[test]
fn mapped_memory_is_shared_as_well() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let desc = buffer_desc().memory(MemoryUse::Readback);
    let buffer = gpu.create_buffer(&desc).unwrap();
    let Exported { handle, info } = gpu.export_buffer(&buffer, HandleKind::OpaqueFd).unwrap();
    // SAFETY: handle and information come from one export.
    let imported = unsafe { gpu.import_buffer(handle, &info, &desc) }.unwrap();
    buffer.write(100, &[5; 10]).unwrap();
    let mut found = [0; 12];
    imported.read(99, &mut found).unwrap();
    assert_eq!(found[1..11], [5; 10]);
    drop((buffer, imported));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
