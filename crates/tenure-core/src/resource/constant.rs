//! Ranges of API buffers for one submission.

use std::fmt;
use std::ops::Deref;

use crate::context::Context;
use crate::device::Device;

/// A range of an API buffer: where a [`Constant`] or a [`RingSlice`](crate::RingSlice) lies.
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
    /// True where the bytes are of a recording of this manager.
    pub(crate) fn is_of(&self, context: &Context<D>) -> bool {
        std::ptr::eq(self.context, context)
    }

    /// The API buffer that holds the bytes, with others.
    #[must_use]
    pub const fn raw(&self) -> &'r D::Resource {
        self.resource
    }

    /// Byte of the API buffer at which they begin.
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
}

/// Constants for one submission, where the GPU finds them: from [`Scratch::constants`](crate::Scratch::constants).
///
/// Its [`offset`](BufferSlice::offset) is a multiple of the device's constant alignment. It borrows the
/// recording it was made for, so that it cannot be used once that is submitted.
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
