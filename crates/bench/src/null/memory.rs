//! Mapped memory, as a driver gives it.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;

use tenure_core::DeviceError;
use tenure_core::device::{self, mapped};

/// Mapped bytes that several threads may write.
pub struct Memory(Box<[UnsafeCell<u8>]>);

// SAFETY: the bytes are only reached through raw pointers, by copies that may overlap in time;
// there are no references to them.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new(size: u64) -> Self {
        let size = usize::try_from(size).unwrap_or(0);
        // Not byte by byte: that took longer than all that is measured.
        Self(bytemuck::zeroed_slice_box(size))
    }
}

/// The mapping of [`Memory`].
pub struct Mapping(Arc<Memory>);

impl Mapping {
    pub(crate) const fn new(memory: Arc<Memory>) -> Self {
        Self(memory)
    }

    /// The address of a range.
    #[inline]
    fn at(&self, offset: u64, size: usize) -> Result<NonNull<u8>, DeviceError> {
        let limit = self.0.0.len() as u64;
        let end = offset.checked_add(size as u64);
        match end.filter(|end| *end <= limit) {
            // SAFETY: the range is inside the allocation.
            Some(_) => Ok(unsafe {
                NonNull::new_unchecked(UnsafeCell::raw_get(self.0.0.as_ptr()).add(offset as usize))
            }),
            None => {
                let rule = "the range is inside the mapping";
                Err(DeviceError::invalid_call(rule, end.unwrap_or(u64::MAX), limit))
            }
        }
    }
}

impl device::Mapping for Mapping {
    fn size(&self) -> u64 {
        self.0.0.len() as u64
    }

    #[inline]
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.at(offset, bytes.len())?;
        // SAFETY: the range is inside the memory, which is alive.
        unsafe { mapped::write_bytes(to, bytes) };
        Ok(())
    }

    #[inline]
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.at(offset, out.len())?;
        // SAFETY: as in `write`.
        unsafe { mapped::read_bytes(from, out) };
        Ok(())
    }

    fn as_ptr(&self) -> Option<NonNull<u8>> {
        NonNull::new(UnsafeCell::raw_get(self.0.0.as_ptr()))
    }
}
