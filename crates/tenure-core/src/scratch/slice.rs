//! Constants without a borrow, and bytes of an upload ring.

use std::ops::Deref;
use std::ptr::NonNull;

use crate::context::Context;
use crate::device::{Device, DeviceError, Mapping, State, Usage};
use crate::resource::BufferSlice;
use crate::state::StateError;
use crate::time::RecordingId;
use crate::{Error, Name};

/// Constants without a borrow, for callers that cannot hold one, such as a C interface: from
/// [`Scratch::untyped_constants`](super::Scratch::untyped_constants).
///
/// Their recording returns the location, with [`Scratch::find`](super::Scratch::find), which rejects constants of another
/// recording: the compiler's rule, checked at run time. The check is two comparisons, in every build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntypedConstant {
    pub(super) recording: RecordingId,
    /// The recording's name, if it is static, because this type is `Copy`.
    pub(super) name: Option<&'static str>,
    pub(super) page: usize,
    /// Distinguishes recordings of different managers, which have the same ids.
    pub(super) page_id: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl UntypedConstant {
    /// Their recording.
    #[must_use]
    pub const fn recording(&self) -> RecordingId {
        self.recording
    }
}

/// A slice of an upload ring without a borrow, for callers that cannot hold one, such as a C interface: from
/// [`UploadRing::allocate_untyped`](super::UploadRing::allocate_untyped).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntypedSlice {
    pub(super) recording: RecordingId,
    /// The id of the ring.
    pub(super) ring: u64,
    /// The index and the id of a dedicated page.
    pub(super) page: Option<(usize, u64)>,
    /// From the first byte of the ring.
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl UntypedSlice {
    /// Plain values for other languages: pass them to [`from_raw`](Self::from_raw).
    #[must_use]
    pub const fn into_raw(self) -> [u64; 6] {
        let (page, id) = match self.page {
            Some((page, id)) => (page as u64, id),
            None => (0, 0),
        };
        [self.recording.get(), self.ring, page, id, self.offset, self.size]
    }

    /// A slice from the values of [`into_raw`](Self::into_raw). Other values are safe:
    /// [`UploadRing::find`](super::UploadRing::find) rejects values of another ring or recording, and values outside the ring.
    #[must_use]
    pub const fn from_raw([recording, ring, page, id, offset, size]: [u64; 6]) -> Self {
        let page = if id == 0 { None } else { Some((page as usize, id)) };
        Self { recording: RecordingId::from_raw(recording), ring, page, offset, size }
    }
}

/// Mapped bytes for one submission: from [`UploadRing::allocate`](super::UploadRing::allocate).
///
/// It borrows its recording, so that it cannot be used after the submission; its bytes stay unchanged until that has completed.
/// Several threads may fill it at the same time.
pub struct RingSlice<'r, D: Device> {
    pub(super) bytes: BufferSlice<'r, D>,
    pub(super) name: &'r Name,
    pub(super) usage: Usage,
    pub(super) mapping: &'r D::Mapping,
}

debug_fields!([D: Device] RingSlice<'_, D>, "RingSlice", this, name: this.name, bytes: this.bytes, usage: this.usage);

impl<D: Device> Clone for RingSlice<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for RingSlice<'_, D> {}

impl<'r, D: Device> Deref for RingSlice<'r, D> {
    type Target = BufferSlice<'r, D>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.bytes
    }
}

impl<'r, D: Device> RingSlice<'r, D> {
    /// The name of its ring.
    #[must_use]
    pub const fn name(&self) -> &'r Name {
        self.name
    }

    /// Copies bytes to `offset`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Device`].
    #[inline(never)]
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check(offset, bytes.len() as u64)?;
        let written = self.mapping.write(self.offset + offset, bytes);
        written.map_err(|source: DeviceError| self.context.refused(self.name, source))
    }

    /// The CPU address of its first byte, if the device has addresses. Valid until the recording is submitted.
    #[must_use]
    pub fn mapped_ptr(&self) -> Option<NonNull<u8>> {
        let offset = usize::try_from(self.offset).ok()?;
        NonNull::new(self.mapping.as_ptr()?.as_ptr().wrapping_add(offset))
    }

    /// Rejects recordings of another manager.
    pub(crate) fn check_copied(&self, context: &Context<D>) -> Result<(), Error> {
        if !self.is_of(context) {
            return Err(Error::Foreign { name: self.name.clone() });
        }
        let (state, allowed) = (State::COPY_SRC, State::allowed_for(self.usage));
        let source = StateError::NotAllowedForUsage { state, allowed };
        if allowed.contains(state) { Ok(()) } else { Err(Error::State { name: self.name.clone(), source }) }
    }

    /// Rejects ranges outside of it.
    pub(crate) fn check(&self, offset: u64, size: u64) -> Result<(), Error> {
        let capacity = self.size;
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= capacity);
        let name = || Name::from(format!("a slice of {}", self.name));
        if is_inside { Ok(()) } else { Err(Error::OutOfRange { name: name(), offset, size, capacity }) }
    }
}
