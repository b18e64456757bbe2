//! The queue family that a peer is, by its driver.

use tenure_core::{DeviceError, Error, State};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{
    DeviceConfig, DeviceIds, ExportDesc, Exported, HandleKind, OptionalFeatures, ShareError, Sharing as _,
};

use super::{SIZE, buffer_desc, manager, run, texture_desc};
use crate::basics::COPIES;
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

/// Resources shared across drivers are transferred to and from `FOREIGN`, all others to and from `EXTERNAL`.
#[test]
fn a_peer_of_another_driver_is_another_family() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let gpu = manager(&vulkan);
    let has_foreign = gpu.device().optional_features().contains(OptionalFeatures::QUEUE_FAMILY_FOREIGN);
    let rows = [
        (buffer_desc(), texture_desc(), vk::QUEUE_FAMILY_EXTERNAL),
        (
            buffer_desc().shared_across_drivers(),
            texture_desc().shared_across_drivers(),
            vk::QUEUE_FAMILY_FOREIGN_EXT,
        ),
    ];
    for (buffer, texture, family) in rows {
        if family == vk::QUEUE_FAMILY_FOREIGN_EXT && !has_foreign {
            continue;
        }
        let (buffer, texture) = (gpu.create_buffer(&buffer).unwrap(), gpu.create_texture(&texture).unwrap());
        vulkan.disguise().take_barriers();
        run(&gpu, "hand over", |recording| {
            recording.release_to_peer(&buffer, State::COPY_SRC).unwrap();
            recording.release_to_peer(&texture, State::COPY_SRC).unwrap();
        });
        run(&gpu, "take back", |recording| {
            recording.acquire_from_peer(&buffer, State::COPY_SRC).unwrap();
            recording.acquire_from_peer(&texture, State::COPY_SRC).unwrap();
        });
        let peers: Vec<_> =
            vulkan.disguise().take_barriers().into_iter().flat_map(|call| call.peers).collect();
        let is_to = |peers: &[[u32; 2]]| peers.iter().all(|[_, to]| *to == family);
        let is_from = |peers: &[[u32; 2]]| peers.iter().all(|[from, _]| *from == family);
        assert_eq!(peers.len(), 4, "{peers:?}");
        assert!(is_to(&peers[..2]) && is_from(&peers[2..]), "{peers:?}");
    }
    drop(gpu);
    vulkan.end();
}

/// Without the extension there is no such family.
#[test]
fn without_the_family_nothing_is_shared_across_drivers() {
    let vulkan = Vulkan::new(validated().without(OptionalFeatures::QUEUE_FAMILY_FOREIGN));
    let gpu = manager(&vulkan);
    let (buffer, texture) = (buffer_desc().shared_across_drivers(), texture_desc().shared_across_drivers());
    for error in [gpu.create_buffer(&buffer).unwrap_err(), gpu.create_texture(&texture).unwrap_err()] {
        let Error::Device { source: DeviceError::Unsupported { feature }, .. } = error else {
            panic!("{error}")
        };
        assert!(feature.contains("VK_EXT_queue_family_foreign"), "{feature}");
    }
    drop(gpu);
    vulkan.end();
}

/// A DMA-BUF of another driver is imported by a description that says so, and by no other.
#[test]
fn a_dma_buf_is_imported_across_drivers_only_if_described() {
    let vulkan = Vulkan::new(validated());
    let gpu = manager(&vulkan);
    let uses = OptionalFeatures::QUEUE_FAMILY_FOREIGN | OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF;
    if gpu.device().optional_features().contains(uses) {
        let desc = tenure_core::BufferDesc::new(SIZE, COPIES).shared_across_drivers();
        let buffer = gpu.create_buffer(&desc).unwrap();
        if let Ok(Exported { handle, info }) = gpu.export_buffer(&buffer, HandleKind::DmaBuf) {
            let foreign = ExportDesc { ids: DeviceIds { driver: [7; 16], ..info.ids }, ..info };
            let plain = buffer_desc();
            // SAFETY: the handle and its description come from one export.
            let refused = unsafe { gpu.import_buffer(handle, &foreign, &plain) }.unwrap_err();
            assert!(matches!(refused.error, ShareError::OtherDevice { .. }), "{refused}");
            // SAFETY: as above.
            let refused = unsafe { gpu.import_buffer(refused.handle, &info, &plain) }.unwrap_err();
            assert!(matches!(refused.error, ShareError::OtherDescription { .. }), "{refused}");
            // SAFETY: as above.
            drop(unsafe { gpu.import_buffer(refused.handle, &foreign, &desc) }.unwrap());
        }
        drop(buffer);
    }
    drop(gpu);
    vulkan.end();
}
