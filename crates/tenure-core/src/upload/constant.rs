//! Where constants lie.

use crate::device::Device;
use crate::gpu::Shared;
use crate::time::RecordingId;

/// Constants for one submission, where the GPU finds them: from [`Scratch::constants`](super::Scratch::constants).
///
/// It borrows the recording it was made for, so that it cannot be used once that is submitted.
pub struct Constant<'r, D: Device> {
    pub(super) shared: &'r Shared<D>,
    pub(super) resource: &'r D::Resource,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) address: Option<u64>,
}

impl<D: Device> Clone for Constant<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Constant<'_, D> {}

impl<'r, D: Device> Constant<'r, D> {
    pub(crate) fn is_of(&self, shared: &Shared<D>) -> bool {
        std::ptr::eq(self.shared, shared)
    }

    /// The API buffer that holds them, with others.
    #[must_use]
    pub const fn raw(&self) -> &'r D::Resource {
        self.resource
    }

    /// Byte of the API buffer at which they begin; a multiple of the device's constant alignment.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that were pushed.
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

/// Constants without a borrow, for callers that cannot hold one, as behind a C interface: from
/// [`Scratch::untyped_constants`](super::Scratch::untyped_constants).
///
/// Where they lie is asked of their recording, with [`Scratch::find`](super::Scratch::find), which
/// refuses those of another one: the compiler's rule, checked when the program runs. The check is
/// two comparisons, and made in every build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntypedConstant {
    pub(super) recording: RecordingId,
    pub(super) name: &'static str,
    pub(super) page: usize,
    /// Tells recordings of different managers apart, which number them alike.
    pub(super) page_id: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl UntypedConstant {
    /// The recording that they were made for.
    #[must_use]
    pub const fn recording(&self) -> RecordingId {
        self.recording
    }
}
