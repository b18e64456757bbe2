//! Uploads and readbacks.

use std::ffi::c_void;

use tenure_core::Error;

use crate::call::{call, call_create, call_status};
use crate::convert::{duration, region, texels};
use crate::object::{Buffer, Gpu, Readback, Recording, Texture, Upload, on, on_same};
use crate::pointer::{In, Out};
use crate::slot::{AnyHandle, Handle, Object as _, create};
use crate::types::*;

/// Uploads bytes to a buffer, or texels to a texture. They are copied before the call returns; uploads are batched, and
/// submitted before the next recording. `out` may be null. Later commands see them without an explicit wait.
///
/// Errors: `TN_ERROR_OUT_OF_RANGE`, `TN_ERROR_STATE`, `TN_ERROR_FIXED_STATE`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_FOREIGN`,
/// `TN_ERROR_TIMEOUT`, `TN_ERROR_WRONG_LENGTH`, `TN_ERROR_TRANSIENT`; `TN_ERROR_HANDLE` for other handles.
#[unsafe(no_mangle)]
extern "C" fn tn_upload(
    gpu: Handle<Gpu>,
    part: In<tn_Part>,
    data: In<tn_Texels>,
    out: Out<Handle<Upload>>,
) -> tn_Status {
    let cleared = out.clear_if_any();
    call(|| {
        cleared?;
        let (part, data) = (part.value("a tn_Part")?, data.value("a tn_Texels")?);
        let gpu = gpu.get()?;
        if out.is_null() {
            return upload(gpu, &part, &data).map(drop);
        }
        create(out, || upload(gpu, &part, &data))
    })
}

fn upload(gpu: &Gpu, part: &tn_Part, data: &tn_Texels) -> Result<Upload, Failure> {
    match part.resource.kind() {
        Buffer::KIND => {
            let (buffer, bytes) = (part.resource.of::<Buffer>(), data.data.bytes(data.size)?);
            Ok(on!((gpu, buffer.get()?), (gpu, buffer) => gpu.upload(buffer, part.offset, bytes)?))
        }
        Texture::KIND => {
            let (texture, data) = (part.resource.of::<Texture>(), texels(data)?);
            Ok(on!((gpu, texture.get()?), (gpu, texture) => {
                let region = region(&part.region, texture.info())?;
                gpu.upload_texture(texture, region, data)?
            }))
        }
        _ => Err(part.resource.refused("a buffer or texture")),
    }
}

/// Submits the pending uploads. `done` may be null: the sync point that covers all uploads so far.
///
/// Errors: `TN_ERROR_DEVICE_LOST`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_SHUT_DOWN`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_flush_uploads(gpu: Handle<Gpu>, done: Out<tn_SyncPoint>) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        let point = on!(gpu.get()?, gpu => gpu.flush_uploads()?);
        done.set(point.into());
        Ok(())
    })
}

/// Waits for an upload, and submits it if it is pending; `TN_NOT_READY` after the timeout.
///
/// Errors: `TN_ERROR_FOREIGN`, `TN_ERROR_DEVICE_LOST`, and those of the upload.
#[unsafe(no_mangle)]
extern "C" fn tn_upload_wait(gpu: Handle<Gpu>, upload: Handle<Upload>, timeout_ns: u64) -> tn_Status {
    call_status(|| {
        let (gpu, upload) = (gpu.get()?, upload.get()?);
        let is_complete = on!(gpu, gpu => gpu.wait_upload(upload, duration(timeout_ns))?);
        Ok(if is_complete { TN_OK } else { TN_NOT_READY })
    })
}

/// Copies bytes of a buffer, or texels of a texture, to CPU-readable memory. `on` is a `tn_Recording`, in which the copy is
/// recorded, or a `tn_Gpu`, which submits it immediately. Rows of texels are tightly packed.
///
/// Errors: `TN_ERROR_OUT_OF_RANGE`, `TN_ERROR_STATE`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_FOREIGN`; `TN_ERROR_HANDLE` for other
/// handles.
#[unsafe(no_mangle)]
extern "C" fn tn_read_back(on: AnyHandle, part: In<tn_Part>, out: Out<Handle<Readback>>) -> tn_Status {
    call_create(out, || {
        let part = part.value("a tn_Part")?;
        match on.kind() {
            Gpu::KIND => read_back(on.of::<Gpu>().get()?, &part),
            Recording::KIND => record_read_back(&mut *on.of::<Recording>().alone()?, &part),
            _ => Err(on.refused("a tn_Gpu or a tn_Recording")),
        }
    })
}

fn read_back(gpu: &Gpu, part: &tn_Part) -> Result<Readback, Failure> {
    let (offset, size) = (part.offset, part.size);
    match part.resource.kind() {
        Buffer::KIND => {
            let buffer = part.resource.of::<Buffer>();
            Ok(on_same!((gpu, buffer.get()?), (gpu, buffer) => gpu.read_back(buffer, offset, size)?))
        }
        Texture::KIND => {
            let texture = part.resource.of::<Texture>();
            Ok(on_same!((gpu, texture.get()?), (gpu, texture) => {
                gpu.read_back_texture(texture, region(&part.region, texture.info())?)?
            }))
        }
        _ => Err(part.resource.refused("a buffer or texture")),
    }
}

fn record_read_back(recording: &mut Recording, part: &tn_Part) -> Result<Readback, Failure> {
    let (offset, size) = (part.offset, part.size);
    match part.resource.kind() {
        Buffer::KIND => {
            let buffer = part.resource.of::<Buffer>();
            Ok(on_same!((recording, buffer.get()?), (list, buffer) => list.read_back(buffer, offset, size)?))
        }
        Texture::KIND => {
            let texture = part.resource.of::<Texture>();
            Ok(on_same!((recording, texture.get()?), (list, texture) => {
                list.read_back_texture(texture, region(&part.region, texture.info())?)?
            }))
        }
        _ => Err(part.resource.refused("a buffer or texture")),
    }
}

/// The size of a readback in bytes; 0 for an invalid handle.
#[unsafe(no_mangle)]
extern "C" fn tn_readback_size(readback: Handle<Readback>) -> u64 {
    let mut size = 0;
    call(|| {
        size = on!(readback.get()?, readback => readback.size());
        Ok(())
    });
    size
}

/// Waits for a readback, and for the submission of its recording, and writes its bytes to `out`; `TN_NOT_READY` after the timeout. A
/// timeout of 0 polls. It can be read repeatedly.
///
/// Errors: `TN_ERROR_WRONG_LENGTH` unless `size` is `tn_readback_size`; `TN_ERROR_DISCARDED` if its recording was released
/// without submission; `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_readback_wait(
    readback: Handle<Readback>,
    timeout_ns: u64,
    out: Out<c_void>,
    size: usize,
) -> tn_Status {
    call_status(|| {
        let readback = readback.get()?;
        // A call that fails or is not ready leaves `out` unchanged.
        let (needed, name) = on!(readback, readback => (readback.size(), readback.name()));
        let given = size as u64;
        if given != needed {
            return Err(Error::WrongLength { name: name.clone(), given, needed }.into());
        }
        if !on!(readback, readback => readback.is_ready(duration(timeout_ns))?) {
            return Ok(TN_NOT_READY);
        }
        out.fill(size, |bytes| {
            on!(readback, readback => readback.read(bytes)?);
            Ok(())
        })?;
        Ok(TN_OK)
    })
}
