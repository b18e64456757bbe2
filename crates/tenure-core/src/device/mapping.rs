//! The CPU's window into mapped memory.

use core::ptr::NonNull;

use super::DeviceError;

/// A persistently mapped resource.
///
/// Writes are visible to submissions made after them and reads see what completed submissions
/// wrote: a backend with non-coherent memory flushes and invalidates inside these calls.
/// The mapping is valid as long as its resource; tenure never uses one after destroying the other.
///
/// Threads may call it at once. Two writes to overlapping bytes at the same time leave one or the
/// other's bytes, in any mixture, and a read beside them sees such; it is no data race: see
/// [`mapped`](super::mapped), by which backends copy.
pub trait Mapping: Send + Sync {
    /// Bytes that are mapped.
    fn size(&self) -> u64;

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when the range leaves the mapping, [`DeviceError::Lost`].
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies from `offset` to `out`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] when the range leaves the mapping, [`DeviceError::Lost`].
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError>;

    /// The address of byte 0, where all that is done through it is seen by the GPU and back with
    /// nothing else called. There is none in memory that is flushed and invalidated, or mapped anew for
    /// each read, nor on the simulated device, which checks each access.
    fn as_ptr(&self) -> Option<NonNull<u8>>;
}
