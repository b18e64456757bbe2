//! Buffers, textures and views.

use std::ffi::c_void;

use tenure_core::device::Device;
use tenure_core::{BufferViewDesc, TexelData, TextureViewDesc};

use crate::call::{call, call_create, call_create_in};
use crate::convert::{
    buffer_desc, buffer_view_desc, texels, texture_desc, texture_view_desc, usual_buffer_desc,
};
use crate::held::{BufferOf, ResourceOf, TextureOf};
use crate::object::{Buffer, Gpu, Texture, View, on, on_same};
use crate::pointer::{In, Out};
use crate::slot::{Handle, Reserved};
use crate::types::*;

/// Creates a buffer, with contents where the description has them.
///
/// Errors: `TN_ERROR_OUT_OF_MEMORY`; `TN_ERROR_DEVICE` for a description that the device does not support; `TN_ERROR_ENUM`,
/// `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_SHUT_DOWN`, `TN_ERROR_DEVICE_LOST`; those of `tn_upload` for the contents.
#[unsafe(no_mangle)]
extern "C" fn tn_buffer_create(
    gpu: Handle<Gpu>,
    desc: In<tn_BufferDesc>,
    out: Out<Handle<Buffer>>,
) -> tn_Status {
    call_create_in(out, |slot| {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let Some(usual) = usual_buffer_desc(desc) else {
            return described_buffer(gpu, desc, slot);
        };
        let created = on_same!(gpu, gpu, object => {
            gpu.create_buffer_in(&usual, |buffer| slot.fill(object(ResourceOf::Own(buffer))))
        });
        created.map_err(Failure::from)
    })
}

/// The creation of a buffer with a description of any kind.
#[cold]
#[inline(never)]
fn described_buffer(
    gpu: &Gpu,
    desc: &tn_BufferDesc,
    slot: Reserved<Buffer>,
) -> Result<Handle<Buffer>, Failure> {
    let wanted = buffer_desc(desc)?;
    let Some(data) = bytes_of(desc)? else {
        return on_same!(gpu, gpu => gpu.create_buffer(&wanted), ResourceOf::Own, in slot);
    };
    on_same!(gpu, gpu => gpu.create_buffer_with(&wanted, data), ResourceOf::Own, in slot)
}

/// Writes bytes of a mapped buffer. The GPU must not use them at that time.
///
/// Errors: `TN_ERROR_NOT_MAPPED`, `TN_ERROR_OUT_OF_RANGE`.
#[unsafe(no_mangle)]
extern "C" fn tn_buffer_write(
    buffer: Handle<Buffer>,
    offset: u64,
    data: In<c_void>,
    size: usize,
) -> tn_Status {
    call(|| {
        on!(buffer.get()?, buffer => buffer.write(offset, data.bytes(size)?)?);
        Ok(())
    })
}

/// Reads bytes of a mapped buffer. The GPU must not write them at that time.
///
/// Errors: `TN_ERROR_NOT_MAPPED`, `TN_ERROR_OUT_OF_RANGE`.
#[unsafe(no_mangle)]
extern "C" fn tn_buffer_read(
    buffer: Handle<Buffer>,
    offset: u64,
    out: Out<c_void>,
    size: usize,
) -> tn_Status {
    call(|| {
        let buffer = buffer.get()?;
        // A call that fails leaves the room as it was: these are the reasons.
        let length = on!(buffer, buffer => {
            buffer.read(offset, &mut [])?;
            buffer.size()
        });
        if length.saturating_sub(offset) < size as u64 {
            let text = format!("{size} bytes at {offset}: the buffer has {length} bytes");
            return Err(Failure::new(TN_ERROR_OUT_OF_RANGE, text));
        }
        out.fill(size, |bytes| {
            on!(buffer, buffer => buffer.read(offset, bytes)?);
            Ok(())
        })
    })
}

/// Creates a texture, with contents where the description has them.
///
/// Errors: as `tn_buffer_create`; `TN_ERROR_WRONG_LENGTH` for contents of another size.
#[unsafe(no_mangle)]
extern "C" fn tn_texture_create(
    gpu: Handle<Gpu>,
    desc: In<tn_TextureDesc>,
    out: Out<Handle<Texture>>,
) -> tn_Status {
    call_create_in(out, |slot| {
        let (gpu, desc) = (gpu.get()?, desc.desc()?);
        let wanted = texture_desc(desc)?;
        let Some(data) = texels_of(desc)? else {
            return on_same!(gpu, gpu => gpu.create_texture(&wanted), ResourceOf::Own, in slot);
        };
        on_same!(gpu, gpu => gpu.create_texture_with(&wanted, &data), ResourceOf::Own, in slot)
    })
}

/// Creates a view of a buffer, which lives at least as long as the view. A transient buffer keeps its views with the object of
/// the API, so that they are created once, and not each frame.
///
/// Errors: `TN_ERROR_NO_DESCRIPTORS`, `TN_ERROR_FOREIGN`, `TN_ERROR_OUT_OF_RANGE`; `TN_ERROR_DEVICE` for a description that
/// does not suit the buffer; `TN_ERROR_ENUM`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_buffer_view_create(
    gpu: Handle<Gpu>,
    buffer: Handle<Buffer>,
    desc: In<tn_BufferViewDesc>,
    out: Out<Handle<View>>,
) -> tn_Status {
    call_create(out, || {
        let raw = desc.desc()?;
        let desc = buffer_view_desc(raw)?;
        let make =
            || Ok(on_same!((gpu.get()?, buffer.get()?), (gpu, buffer) => buffer_view(gpu, buffer, &desc)?));
        make().map_err(|failure: Failure| failure.of_access(raw.access, "TN_BUFFER_CONSTANTS"))
    })
}

/// Creates a view of a texture, which lives at least as long as the view.
///
/// Errors: as `tn_buffer_view_create`.
#[unsafe(no_mangle)]
extern "C" fn tn_texture_view_create(
    gpu: Handle<Gpu>,
    texture: Handle<Texture>,
    desc: In<tn_TextureViewDesc>,
    out: Out<Handle<View>>,
) -> tn_Status {
    call_create(out, || {
        let raw = desc.desc()?;
        let desc = texture_view_desc(raw)?;
        let make = || {
            Ok(on_same!((gpu.get()?, texture.get()?), (gpu, texture) => texture_view(gpu, texture, &desc)?))
        };
        make().map_err(|failure: Failure| failure.of_access(raw.access, "TN_TEXTURE_SAMPLED"))
    })
}

/// The contents of a new buffer, if it has any.
#[inline]
pub(crate) fn bytes_of(desc: &tn_BufferDesc) -> Result<Option<&[u8]>, Failure> {
    if desc.data.is_null() && desc.data_size == 0 {
        return Ok(None);
    }
    some(desc.data.bytes(desc.data_size)?, "data_size").map(Some)
}

/// The contents of a new texture, if it has any.
#[inline]
pub(crate) fn texels_of(desc: &tn_TextureDesc) -> Result<Option<Vec<TexelData<'_>>>, Failure> {
    if desc.data.is_null() && desc.data_count == 0 {
        return Ok(None);
    }
    let data = some(desc.data.array(desc.data_count, "data")?, "data_count")?;
    data.iter().map(texels).collect::<Result<_, _>>().map(Some)
}

/// Contents with a number that was not forgotten.
fn some<'a, T>(data: &'a [T], count: &str) -> Result<&'a [T], Failure> {
    if data.is_empty() {
        return Err(Failure::new(
            TN_ERROR_WRONG_LENGTH,
            format!("{count} = 0, and data is not null: set both, or none"),
        ));
    }
    Ok(data)
}

fn buffer_view<D: Device>(
    gpu: &tenure_core::Gpu<D>,
    buffer: &BufferOf<D>,
    desc: &BufferViewDesc,
) -> Result<tenure_core::View<D>, Failure> {
    gpu.check_creates(Some((&**buffer).into()))?;
    match buffer {
        ResourceOf::Own(_) | ResourceOf::OfSwapchain { .. } => Ok(gpu.create_buffer_view(buffer, desc)?),
        ResourceOf::Transient(buffer) => Ok(buffer.view(desc)?.share()),
        ResourceOf::OfPass(_, resources, id) => Ok(resources.buffer_view(*id, desc)?.share()),
    }
}

fn texture_view<D: Device>(
    gpu: &tenure_core::Gpu<D>,
    texture: &TextureOf<D>,
    desc: &TextureViewDesc,
) -> Result<tenure_core::View<D>, Failure> {
    gpu.check_creates(Some((&**texture).into()))?;
    match texture {
        ResourceOf::Own(_) | ResourceOf::OfSwapchain { .. } => Ok(gpu.create_texture_view(texture, desc)?),
        ResourceOf::Transient(texture) => Ok(texture.view(desc)?.share()),
        ResourceOf::OfPass(_, resources, id) => Ok(resources.texture_view(*id, desc)?.share()),
    }
}
