//! Uploads that the CPU writes to where they stay.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::context::Context;
use crate::device::{Device, DeviceError, Mapping, State};
use crate::resource::{Buffer, Used};

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
    counters: &InPlaceCounters,
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
        is_allowed.then(|| write_if_idle(context, write)).flatten()
    } else {
        // Another thread may be writing it, and staging waits for that.
        config.initial_data.then(|| buffer.inner.while_unnamed(write)).flatten()
    };
    match written {
        Some(Ok(())) => {
            counters.note(size);
            Ok(true)
        }
        Some(Err(source)) => Err(context.refused(buffer.name(), source)),
        None => Ok(false),
    }
}

/// Writes while the GPU has nothing to do, and no earlier upload has still to be copied.
fn write_if_idle<D: Device>(
    context: &Context<D>,
    write: impl FnOnce() -> Result<(), DeviceError>,
) -> Option<Result<(), DeviceError>> {
    // What another thread stages from now on comes after this, although it is older: neither was before the other.
    if context.has_pending_uploads() {
        return None;
    }
    context.clock.while_idle(context.device(), write)
}
