//! Uploads that the CPU writes to where they stay.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Uploads;
use crate::Error;
use crate::context::Context;
use crate::device::{
    Device, DeviceError, Mapping, Permit, State, Subresource, TextureInfo, TextureRegion, TextureWrite,
};
use crate::memory::in_place::first_written_state;
use crate::permit::OwnPermit as _;
use crate::resource::{Buffer, Texture, Used};
use crate::staging::Footprint;
use crate::state::StateCell;
use crate::time::SyncPoint;

/// Writes so far.
#[derive(Debug, Default)]
pub(super) struct InPlaceCounters {
    uploads: AtomicU64,
    bytes: AtomicU64,
}

impl InPlaceCounters {
    fn note(&self, bytes: u64) {
        self.uploads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Uploads, and their bytes.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.uploads.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Writes bytes, which the buffer has, into place if the policy says so and the GPU cannot be using the buffer: no command
/// can name it yet, or all that was submitted is complete. What is submitted later sees the bytes, as it would see those of
/// a copy. False where the bytes must be staged, also for the error that the staging finds.
///
/// A buffer that any command could name counts as used by all of them: draws need not say which buffers they use.
/// Recordings that are open do not matter: whether their copies or those of the CPU come first, they are submitted later.
pub(super) fn write_in_place<D: Device>(
    context: &Arc<Context<D>>,
    buffer: &Buffer<D>,
    offset: u64,
    bytes: &[u8],
    uploads: &Uploads<D>,
) -> Result<bool, Error> {
    let Some((mapping, begin)) = buffer.in_place() else { return Ok(false) };
    let (config, size) = (&context.config.in_place, bytes.len() as u64);
    let is_allowed = context.pools.in_place.allows(size)
        && context.clock.loss().is_none()
        && Used::from(buffer).allows(context, State::COPY_DST);
    if !is_allowed {
        return Ok(false);
    }
    let write = || mapping.write(begin + offset, bytes);
    let written = if buffer.inner.is_named() {
        let is_allowed = config.uploads && size <= config.max_upload;
        is_allowed.then(|| write_if_idle(context, uploads, write)).flatten()
    } else {
        // Another thread may be writing it, and staging waits for that.
        config.initial_data.then(|| buffer.inner.while_unnamed(write)).flatten()
    };
    match written {
        Some(Ok(())) => {
            uploads.in_place.note(size);
            Ok(true)
        }
        Some(Err(source)) => Err(context.refused(buffer.name(), source)),
        None => Ok(false),
    }
}

/// Writes texels, which the texture has, into place, as [`write_in_place`] writes bytes. False where they must be staged,
/// also after a failed write, whose regions staging writes anew.
pub(super) fn write_texels_in_place<D: Device>(
    context: &Arc<Context<D>>,
    texture: &Texture<D>,
    writes: &[TextureWrite<'_>],
    uploads: &Uploads<D>,
) -> Result<bool, Error> {
    let Some(found) = texture.in_place() else { return Ok(false) };
    let (config, info) = (&context.config.in_place, texture.info());
    let size = writes.iter().map(|write| texel_bytes(info, write)).fold(0, u64::saturating_add);
    let is_allowed = Arc::ptr_eq(texture.inner.context(), context)
        && context.pools.in_place.allows_texture(size)
        && context.clock.loss().is_none();
    if !is_allowed {
        return Ok(false);
    }
    let write = || write_texels(context.device(), found, info, writes);
    let written = if texture.inner.is_named() {
        let is_allowed = config.uploads && size <= config.max_upload;
        is_allowed.then(|| write_if_idle(context, uploads, write)).flatten()
    } else {
        config.initial_data.then(|| texture.inner.while_unnamed(write)).flatten()
    };
    match written.flatten() {
        Some(Ok(())) => {
            uploads.in_place.note(size);
            Ok(true)
        }
        Some(Err(source @ DeviceError::Lost { .. })) => Err(context.refused(texture.name(), source)),
        Some(Err(_)) | None => Ok(false),
    }
}

/// Bytes of the texels, without padding.
fn texel_bytes(info: &TextureInfo, write: &TextureWrite<'_>) -> u64 {
    let TextureRegion { extent, .. } = write.region;
    let tight = Footprint::new(write.region.block(info.format), extent, 1);
    tight.map_or(u64::MAX, |footprint| footprint.tight())
}

/// Writes texels of a texture that no other thread writes, and the GPU does not use, and notes the state that they are
/// in. `None` where their state is none in which the CPU may write.
fn write_texels<D: Device>(
    device: &D,
    (object, cell, states): (&D::Resource, &StateCell, State),
    info: &TextureInfo,
    writes: &[TextureWrite<'_>],
) -> Option<Result<(), DeviceError>> {
    let subresources = || writes.iter().map(|write| write.subresource(info));
    let before = cell.state_to_write(subresources().next()?)?;
    let is_alike = subresources().all(|subresource| cell.state_to_write(subresource) == Some(before));
    let after = if before.is_empty() { first_written_state(states, info.usage)? } else { before };
    if !is_alike || !states.contains(after) {
        return None;
    }
    let written = device.write_texture(Permit::own(), object, (before, after), writes);
    if written.is_ok() && before.is_empty() {
        // The next queue to use it has nothing to wait for.
        let declare = |part| cell.declare(part, after, &SyncPoint::NONE, None);
        match writes.len() == cell.subresources() as usize {
            true => declare(Subresource::All),
            false => subresources().map(Subresource::One).for_each(declare),
        }
    }
    Some(written)
}

/// Writes while the GPU has nothing to do, and no earlier upload has still to be copied.
fn write_if_idle<D: Device, T>(
    context: &Context<D>,
    uploads: &Uploads<D>,
    write: impl FnOnce() -> T,
) -> Option<T> {
    // What another thread stages from now on comes after this, although it is older: neither was before the other.
    if uploads.is_pending() {
        return None;
    }
    context.clock.while_idle(context.device(), write)
}
