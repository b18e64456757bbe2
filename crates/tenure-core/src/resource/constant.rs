//! Ranges of API buffers for one submission.

use std::fmt;
use std::ops::Deref;

use crate::context::Context;
use crate::device::Device;

/// A range of an API buffer, for a [`Constant`] or a [`RingSlice`](crate::RingSlice).
pub struct BufferSlice<'r, D: Device> {
    pub(crate) context: &'r Context<D>,
    pub(crate) resource: &'r D::Resource,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) address: Option<u64>,
}

debug_fields!([D: Device] BufferSlice<'_, D>, "BufferSlice", this, offset: this.offset, size: this.size);

impl<D: Device> Clone for BufferSlice<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for BufferSlice<'_, D> {}

impl<'r, D: Device> BufferSlice<'r, D> {
    /// True if the bytes belong to a recording of this manager.
    pub(crate) fn is_of(&self, context: &Context<D>) -> bool {
        std::ptr::eq(self.context, context)
    }

    /// The API buffer that contains the bytes, with others.
    #[must_use]
    pub const fn raw(&self) -> &'r D::Resource {
        self.resource
    }

    /// The byte of the API buffer at which they begin.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The GPU address of the first byte, if the API has GPU addresses.
    #[must_use]
    pub const fn gpu_address(&self) -> Option<u64> {
        self.address
    }
}

/// Constants for one submission, in GPU-visible memory: from [`Scratch::constants`](crate::Scratch::constants).
///
/// Its [`offset`](BufferSlice::offset) is a multiple of the device's constant alignment. It borrows its
/// recording, so that it cannot be used after the submission.
pub struct Constant<'r, D: Device>(pub(crate) BufferSlice<'r, D>);

impl<D: Device> fmt::Debug for Constant<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Constant").field(&self.0).finish()
    }
}

impl<D: Device> Clone for Constant<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Constant<'_, D> {}

impl<'r, D: Device> Deref for Constant<'r, D> {
    type Target = BufferSlice<'r, D>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
