//! Bytes of an upload ring.

use std::ptr::NonNull;

use crate::device::{Device, DeviceError, Mapping, State, Usage};
use crate::gpu::Shared;
use crate::state::StateError;
use crate::{Error, Name};

/// Mapped bytes for one submission: from [`UploadRing::allocate`](super::UploadRing::allocate).
///
/// It borrows the recording it was made for, so that it cannot be used once that is submitted; its
/// bytes stay as they are until that has completed. Threads may fill it side by side.
pub struct RingSlice<'r, D: Device> {
    pub(super) shared: &'r Shared<D>,
    pub(super) name: &'r Name,
    pub(super) usage: Usage,
    pub(super) resource: &'r D::Resource,
    pub(super) mapping: &'r D::Mapping,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) address: Option<u64>,
}

impl<D: Device> Clone for RingSlice<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for RingSlice<'_, D> {}

impl<'r, D: Device> RingSlice<'r, D> {
    /// The API buffer that holds it.
    #[must_use]
    pub const fn raw(&self) -> &'r D::Resource {
        self.resource
    }

    /// Byte of the API buffer at which it begins.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The GPU address of the first byte, where the API has such.
    #[must_use]
    pub const fn gpu_address(&self) -> Option<u64> {
        self.address
    }

    /// The name of its ring.
    #[must_use]
    pub const fn name(&self) -> &'r Name {
        self.name
    }

    /// Copies bytes to `offset`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Device`].
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check(offset, bytes.len() as u64)?;
        let written = self.mapping.write(self.offset + offset, bytes);
        written.map_err(|source: DeviceError| self.shared.refused(self.name, source))
    }

    /// The CPU address of its first byte, if the device has addresses. Valid as long as the slice.
    #[must_use]
    pub fn mapped_ptr(&self) -> Option<NonNull<u8>> {
        let offset = usize::try_from(self.offset).ok()?;
        NonNull::new(self.mapping.as_ptr()?.as_ptr().wrapping_add(offset))
    }

    /// Refuses what another manager records.
    pub(crate) fn check_copied(&self, shared: &Shared<D>) -> Result<(), Error> {
        if !std::ptr::eq(self.shared, shared) {
            return Err(Error::Foreign { name: self.name.clone() });
        }
        let (state, allowed) = (State::COPY_SRC, State::allowed_for(self.usage));
        let source = StateError::NotAllowedForUsage { state, allowed };
        if allowed.contains(state) { Ok(()) } else { Err(Error::State { name: self.name.clone(), source }) }
    }

    /// Refuses what is outside of it.
    pub(crate) fn check(&self, offset: u64, size: u64) -> Result<(), Error> {
        let capacity = self.size;
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= capacity);
        let name = || Name::from(format!("a slice of {}", self.name));
        if is_inside { Ok(()) } else { Err(Error::OutOfRange { name: name(), offset, size, capacity }) }
    }
}
