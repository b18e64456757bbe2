//! Uploads written directly to the destination by the CPU.

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

/// Writes in place so far.
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

/// Writes bytes in place if the policy allows it and the GPU cannot be using the buffer: no command can use it yet, or all
/// submissions are complete. The caller has checked the range. Later submissions see the bytes as they would see copied bytes.
/// False if the bytes must be staged, also if staging will report an error.
///
/// A buffer that any command could use counts as used by all of them: draws need not declare which buffers they use. Open
/// recordings do not matter: they are submitted later than the write, as they would be later than a copy.
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
        // Another thread may be writing it; staging waits for that thread.
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

/// Writes texels in place, as [`write_in_place`] writes bytes. The caller has checked the region. False if they must be
/// staged, also after a failed write, whose regions staging writes again.
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

/// Writes texels of a texture that no other thread writes and the GPU does not use, and records their new state. `None` if the
/// CPU may not write in their current state.
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
        // The next queue that uses it need not wait.
        let declare = |part| cell.declare(part, after, &SyncPoint::NONE, None);
        match writes.len() == cell.subresources() as usize {
            true => declare(Subresource::All),
            false => subresources().map(Subresource::One).for_each(declare),
        }
    }
    Some(written)
}

/// Writes while the GPU is idle and no earlier upload is pending.
fn write_if_idle<D: Device, T>(
    context: &Context<D>,
    uploads: &Uploads<D>,
    write: impl FnOnce() -> T,
) -> Option<T> {
    // An upload that another thread stages from now on may overwrite this one: the order of the two calls is undefined.
    if uploads.is_pending() {
        return None;
    }
    context.clock.while_idle(context.device(), write)
}
