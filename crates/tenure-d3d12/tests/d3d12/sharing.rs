//! Resources and fences shared with other processes, as far as the implementation goes.

use std::os::windows::io::{AsHandle, OwnedHandle};

use tenure_core::device::{Features, prelude::*};
use tenure_core::{
    BufferDesc, Config, DeviceError, Error, Format, Gpu, MemoryUse, Queue, TextureDesc, Usage,
};
use tenure_d3d12::{AdapterId, DeviceConfig, Exported, ShareError, Sharing as _};

use crate::bench::{LONG, create, device};

const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

fn buffer_desc() -> BufferDesc {
    BufferDesc::new(1000, COPIES).name("shared buffer").shared()
}

fn texture_desc() -> TextureDesc {
    TextureDesc::d2(20, 20, Format::Rgba8Unorm, COPIES | Usage::SHADER_READ).name("shared texture").shared()
}

/// A handle to an object that no device has created.
fn other_handle() -> OwnedHandle {
    std::fs::File::open(std::env::current_exe().unwrap()).unwrap().into()
}

/// Wine has no shared handles, which is an error like others. Elsewhere a handle can be opened again.
fn is_unsupported(refused: &ShareError) -> bool {
    matches!(refused, ShareError::Device(DeviceError::Unsupported { .. }))
}

#[test]
fn resources_are_exported_or_unsupported() {
    let gpu = Gpu::new(device(), Config::default()).unwrap();
    let (buffer, texture) =
        (gpu.create_buffer(&buffer_desc()).unwrap(), gpu.create_texture(&texture_desc()).unwrap());
    match gpu.export_buffer(&buffer) {
        Err(refused) => assert!(is_unsupported(&refused), "{refused}"),
        Ok(Exported { handle, adapter }) => {
            assert_eq!(adapter, gpu.device().adapter_id());
            let same = gpu.import_buffer(handle.as_handle(), adapter, &buffer_desc()).unwrap();
            let smaller = buffer_desc().size(500);
            let refused = gpu.import_buffer(handle.as_handle(), adapter, &smaller).unwrap_err();
            assert!(matches!(refused, ShareError::Device(DeviceError::InvalidDesc { .. })), "{refused}");
            gpu.upload(&buffer, 0, &[7; 1000]).unwrap();
            gpu.flush_uploads().unwrap();
            assert!(gpu.wait(&gpu.submitted(), LONG).unwrap());
            let found = gpu.read_back(&same, 0, 1000).unwrap();
            assert_eq!(found.wait(LONG).unwrap(), [7; 1000]);
        }
    }
    match gpu.export_texture(&texture) {
        Err(refused) => assert!(is_unsupported(&refused), "{refused}"),
        Ok(Exported { handle, adapter }) => {
            assert!(gpu.import_texture(handle.as_handle(), adapter, &texture_desc()).is_ok());
        }
    }
    let plain = gpu.create_buffer(&BufferDesc::new(1000, COPIES).own_resource()).unwrap();
    let refused = gpu.export_buffer(&plain).unwrap_err();
    assert!(matches!(refused, ShareError::NotShared { .. }), "{refused}");
    assert_eq!(refused.to_string(), "created as COPY_SRC | COPY_DST, without SHARED");
    drop((buffer, texture, plain));
    assert!(gpu.shutdown().is_clean());
}

#[test]
fn fences_order_recordings_whether_they_are_exported_or_not() {
    let gpu = Gpu::new(device(), Config::default()).unwrap();
    let fence = gpu.create_shared_fence(3).unwrap();
    let other = match fence.export() {
        Ok(Exported { handle, adapter }) => gpu.import_fence(handle.as_handle(), adapter).unwrap(),
        Err(refused) => {
            assert!(is_unsupported(&refused), "{refused}");
            fence.clone()
        }
    };
    assert_eq!(other.value(), Ok(3));
    let mut recording = gpu.record(Queue::Graphics, "in between").unwrap();
    recording.wait_for_external(other.at(4));
    recording.signal_external(fence.at(5));
    let point = recording.submit().unwrap();
    assert!(!gpu.wait(&point, std::time::Duration::from_millis(10)).unwrap());
    // Also a value that an ended peer should have signalled.
    fence.signal(4).unwrap();
    assert!(gpu.wait(&point, LONG).unwrap());
    assert_eq!(other.value(), Ok(5));
    // The value that the fences of a removed device have.
    fence.signal(u64::MAX).unwrap();
    assert_eq!(other.value(), Ok(u64::MAX));
    drop((fence, other));
    assert!(gpu.shutdown().is_clean());
}

#[test]
fn handles_that_lead_nowhere_are_refused() {
    let gpu = Gpu::new(device(), Config::default()).unwrap();
    let (handle, here) = (other_handle(), gpu.device().adapter_id());
    let elsewhere = AdapterId(here.0 ^ 1);
    let refused = gpu.import_buffer(handle.as_handle(), elsewhere, &buffer_desc()).unwrap_err();
    let text = format!("exported on the adapter {elsewhere}; this is {here}");
    assert_eq!(refused.to_string(), text);
    let ShareError::OtherAdapter { exporter, importer } = refused else { panic!("{refused}") };
    assert_eq!((exporter, importer), (elsewhere, here));
    assert!(gpu.import_fence(handle.as_handle(), elsewhere).is_err());
    assert!(gpu.shutdown().is_clean());
}

/// CPU-visible memory cannot be shared, and nothing can if sharing is switched off.
#[test]
fn only_memory_of_the_gpu_is_shared() {
    let gpu = Gpu::new(device(), Config::default()).unwrap();
    for memory in [MemoryUse::Upload, MemoryUse::Readback, MemoryUse::GpuUpload] {
        let refused = gpu.create_buffer(&buffer_desc().memory(memory)).unwrap_err();
        assert!(matches!(refused, Error::OutOfMemory { .. } | Error::Device { .. }), "{memory:?}: {refused}");
    }
    assert!(gpu.shutdown().is_clean());
    let without = create(DeviceConfig::default().shared_memory(false));
    assert!(!without.properties().features.contains(Features::SHARED_MEMORY));
    let gpu = Gpu::new(without, Config::default()).unwrap();
    let refused = gpu.create_texture(&texture_desc()).unwrap_err();
    assert!(matches!(refused, Error::Device { source: DeviceError::Unsupported { .. }, .. }), "{refused}");
    assert!(gpu.shutdown().is_clean());
}
