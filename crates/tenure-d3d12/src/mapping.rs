//! The CPU's window into a resource.

use std::ptr::NonNull;
use std::sync::Arc;

use tenure_core::device::DeviceError;
use windows::Win32::Graphics::Direct3D12::{D3D12_RANGE, ID3D12Resource};

use crate::error::{Asked, invalid};
use crate::heap::HeapCore;
use crate::inner::{Inner, made};
use crate::requirements::{GPU_ONLY, UPLOAD};
use crate::resource::Resource;

/// Nothing is read, or nothing was written.
static NOTHING: D3D12_RANGE = D3D12_RANGE { Begin: 0, End: 0 };

/// A persistently mapped buffer. It keeps the buffer's memory.
pub struct Mapping {
    start: NonNull<u8>,
    size: u64,
    /// Then mapping the range that is read makes what the GPU wrote visible.
    is_written_by_gpu: bool,
    /// Declared before the heap it may be placed in.
    raw: ID3D12Resource,
    _heap: Option<Arc<HeapCore>>,
    device: Arc<Inner>,
}

// SAFETY: the mapping is process-wide: its address is good on every thread as long as the
// resource lives, which `raw` sees to, and is never unmapped. Memory is touched only through raw
// copies of bytes within its bounds, and no reference to it is ever made.
unsafe impl Send for Mapping {}
// SAFETY: as above. Two threads that write the same bytes at once is what the contract leaves to
// the caller; the copies themselves are of plain bytes without any invariant.
unsafe impl Sync for Mapping {}

impl Inner {
    pub(crate) fn map(self: &Arc<Self>, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.look()?;
        if !Arc::ptr_eq(self, &resource.device) {
            return Err(invalid("the resource belongs to the device", 0, 1));
        }
        let info = resource.buffer()?;
        if resource.memory_type == GPU_ONLY {
            return Err(invalid("mapped memory is host-visible", u64::from(resource.memory_type.0), 1));
        }
        let mut start = std::ptr::null_mut();
        // SAFETY: the resource is a buffer in memory that the CPU may map; both pointers are to
        // locals that outlive the call. Nothing is read until `read` says so.
        unsafe { resource.raw.Map(0, Some(&raw const NOTHING), Some(&raw mut start)) }
            .map_err(|error| self.fail(&error, Asked::Object("Map")))?;
        let start = made(NonNull::new(start.cast()), "Map gives an address")?;
        Ok(Mapping {
            start,
            size: info.size,
            is_written_by_gpu: resource.memory_type != UPLOAD,
            raw: resource.raw.clone(),
            _heap: resource.heap().cloned(),
            device: Arc::clone(self),
        })
    }
}

impl Mapping {
    /// Where a range of bytes begins.
    fn at(&self, offset: u64, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        self.device.alive()?;
        let end = offset.checked_add(bytes as u64);
        match (end, usize::try_from(offset)) {
            (Some(end), Ok(offset)) if end <= self.size => {
                // SAFETY: `offset` is at most `size`, the bytes of the mapping that begins here.
                Ok(unsafe { self.start.add(offset) })
            }
            _ => Err(invalid("the range is inside the mapping", end.unwrap_or(u64::MAX), self.size)),
        }
    }

    /// Makes what the GPU wrote to the range visible to the CPU. Free where caches are coherent.
    fn look_again(&self, offset: u64, bytes: usize) -> Result<(), DeviceError> {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let range = D3D12_RANGE { Begin: begin, End: begin.saturating_add(bytes) };
        // SAFETY: the range lies in the buffer and outlives the call. Mappings nest: the address
        // stays that of the first, and the unmap below only ends this one.
        unsafe { self.raw.Map(0, Some(&raw const range), None) }
            .map_err(|error| self.device.fail(&error, Asked::Object("Map")))?;
        // SAFETY: ends the mapping made above; nothing was written.
        unsafe { self.raw.Unmap(0, Some(&raw const NOTHING)) };
        Ok(())
    }
}

impl tenure_core::device::Mapping for Mapping {
    fn size(&self) -> u64 {
        self.size
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.at(offset, bytes.len())?;
        // SAFETY: `at` has checked that so many bytes of the mapping begin there. `bytes` cannot
        // overlap them: nobody holds a reference into mapped memory.
        unsafe { to.copy_from_nonoverlapping(NonNull::from_ref(bytes).cast(), bytes.len()) };
        Ok(())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.at(offset, out.len())?;
        if self.is_written_by_gpu {
            self.look_again(offset, out.len())?;
        }
        // SAFETY: as in `write`, the other way.
        unsafe { from.copy_to_nonoverlapping(NonNull::from_mut(out).cast(), out.len()) };
        Ok(())
    }

    fn as_ptr(&self) -> Option<NonNull<u8>> {
        Some(self.start)
    }
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapping").field("size", &self.size).finish_non_exhaustive()
    }
}
