//! Mapped memory, as a driver gives it.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use tenure_core::DeviceError;
use tenure_core::device::{self, mapped};

type Bytes = Box<[UnsafeCell<u8>]>;

/// Mapped bytes that several threads may write.
pub struct Memory {
    bytes: Bytes,
    /// Where the bytes go at the end.
    unused: Option<Arc<Unused>>,
}

// SAFETY: the bytes are only reached through raw pointers, by copies that may overlap in time;
// there are no references to them.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory of its own, cleared.
    pub(crate) fn new(size: u64) -> Self {
        let size = usize::try_from(size).unwrap_or(0);
        Self { bytes: bytemuck::zeroed_slice_box(size), unused: None }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(unused) = &self.unused {
            unused.keep(std::mem::take(&mut self.bytes));
        }
    }
}

/// Memory of destroyed resources, by size, for the next of the same size, and its total bytes. A driver does
/// not clear it, and that took longer than all that is measured.
#[derive(Default)]
pub(crate) struct Unused(Mutex<(BTreeMap<usize, Vec<Bytes>>, usize)>);

/// Bytes that are kept at most.
const LIMIT: usize = 512 << 20;

impl Unused {
    /// Memory of that size, with any contents. 0 B where no machine has that size.
    pub(crate) fn take(self: &Arc<Self>, size: u64) -> Memory {
        let size = match usize::try_from(size) {
            Ok(0) | Err(_) => return Memory::new(0),
            Ok(size) => size,
        };
        let (kept, total) = &mut *self.0.lock();
        let bytes = kept.get_mut(&size).and_then(Vec::pop).inspect(|_| *total -= size);
        let bytes = bytes.unwrap_or_else(|| bytemuck::zeroed_slice_box(size));
        Memory { bytes, unused: Some(Arc::clone(self)) }
    }

    fn keep(&self, bytes: Bytes) {
        let (kept, total) = &mut *self.0.lock();
        if *total + bytes.len() <= LIMIT {
            *total += bytes.len();
            kept.entry(bytes.len()).or_default().push(bytes);
        }
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
        let limit = self.0.bytes.len() as u64;
        let end = offset.checked_add(size as u64);
        match end.filter(|end| *end <= limit) {
            // SAFETY: the range is inside the allocation.
            Some(_) => Ok(unsafe {
                NonNull::new_unchecked(UnsafeCell::raw_get(self.0.bytes.as_ptr()).add(offset as usize))
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
        self.0.bytes.len() as u64
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
        NonNull::new(UnsafeCell::raw_get(self.0.bytes.as_ptr()))
    }
}
