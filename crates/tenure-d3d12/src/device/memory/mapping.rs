//! The CPU's window into a resource.

use std::ptr::NonNull;
use std::sync::Arc;

use tenure_core::device::{CallRule, DeviceError, mapped};
use windows::Win32::Graphics::Direct3D12::{D3D12_RANGE, ID3D12Resource};

use crate::device::error::Asked;
use crate::device::inner::{Inner, made};
use crate::device::memory::heap::HeapCore;
use crate::device::memory::requirements::{GPU_ONLY, READBACK, UPLOAD};
use crate::device::resource::object::Resource;

/// The empty range, for no reads or no writes.
static NOTHING: D3D12_RANGE = D3D12_RANGE { Begin: 0, End: 0 };

/// A mapped buffer. It keeps the buffer's memory alive.
///
/// Memory that the CPU only writes stays mapped. Readback memory is mapped around each access, with the range
/// that is read or was written, as the API requires: the runtime may have to invalidate caches at `Map` and to
/// flush them at `Unmap`.
pub struct Mapping {
    /// `None` if each access maps the buffer.
    start: Option<NonNull<u8>>,
    size: u64,
    /// Mapping the read range then makes the GPU's writes visible.
    is_written_by_gpu: bool,
    /// Declared before the heap it may be placed in.
    raw: ID3D12Resource,
    _heap: Option<Arc<HeapCore>>,
    device: Arc<Inner>,
}

// SAFETY: mappings are process-wide: their address is valid on every thread until `unmap`, and the resource is
// alive as long as `raw`. Memory is accessed only through copies of bytes within its bounds, and no reference to
// it is ever made.
unsafe impl Send for Mapping {}
// SAFETY: as above. `Map` and `Unmap` may be called from several threads and nest; the copies are safe under
// concurrent access.
unsafe impl Sync for Mapping {}

impl Inner {
    pub(crate) fn map(self: &Arc<Self>, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.look()?;
        if !Arc::ptr_eq(self, &resource.device) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let info = resource.buffer()?;
        if resource.memory_type == GPU_ONLY {
            return Err(DeviceError::invalid_call(
                CallRule::HostVisible,
                u64::from(resource.memory_type.0),
                1_u64,
            ));
        }
        let mut mapping = Mapping {
            start: None,
            size: info.size,
            is_written_by_gpu: resource.memory_type != UPLOAD,
            raw: resource.raw.clone(),
            _heap: resource.heap().cloned(),
            device: Arc::clone(self),
        };
        let start = mapping.begin(&NOTHING)?;
        if resource.memory_type == READBACK {
            mapping.end(&NOTHING); // it can be mapped
        } else {
            mapping.start = Some(start);
        }
        Ok(mapping)
    }
}

impl Mapping {
    /// A range of bytes, which must be inside.
    fn range(&self, offset: u64, bytes: usize) -> Result<D3D12_RANGE, DeviceError> {
        self.device.alive()?;
        let end = offset.checked_add(bytes as u64);
        let inside = end.filter(|end| *end <= self.size).and_then(|end| usize::try_from(end).ok());
        match inside {
            Some(end) => Ok(D3D12_RANGE { Begin: end - bytes, End: end }),
            None => {
                Err(DeviceError::invalid_call(CallRule::InsideMapping, end.unwrap_or(u64::MAX), self.size))
            }
        }
    }

    /// Maps the buffer, once more if it is mapped, and returns the address of byte 0. The GPU's writes to `read`
    /// are visible.
    fn begin(&self, read: &D3D12_RANGE) -> Result<NonNull<u8>, DeviceError> {
        let mut start = std::ptr::null_mut();
        // SAFETY: the resource is a buffer in memory that the CPU may map, and the range lies in it; both
        // pointers are to locals that outlive the call.
        unsafe { self.raw.Map(0, Some(&raw const *read), Some(&raw mut start)) }
            .map_err(|error| self.device.fail(&error, Asked::Object("Map")))?;
        made(NonNull::new(start.cast()), "Map gives an address")
    }

    /// Ends the access started by `begin`.
    fn end(&self, written: &D3D12_RANGE) {
        // SAFETY: `begin` has mapped it, and its address is no longer used.
        unsafe { self.raw.Unmap(0, Some(&raw const *written)) };
    }
}

impl tenure_core::device::Mapping for Mapping {
    fn size(&self) -> u64 {
        self.size
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, bytes.len())?;
        let start = self.start.map_or_else(|| self.begin(&NOTHING), Ok)?;
        // SAFETY: the range is inside the mapped buffer. No references into mapped memory exist, and all other code
        // accesses it by the same functions.
        unsafe { mapped::write_bytes(start.add(range.Begin), bytes) };
        if self.start.is_none() {
            self.end(&range);
        }
        Ok(())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, out.len())?;
        let start = match self.start {
            Some(start) if !self.is_written_by_gpu => start,
            _ => self.begin(&range)?,
        };
        // SAFETY: as in `write`, the other way.
        unsafe { mapped::read_bytes(start.add(range.Begin), out) };
        if self.is_written_by_gpu {
            self.end(&NOTHING);
        }
        Ok(())
    }

    fn as_ptr(&self) -> Option<NonNull<u8>> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.start.is_some() {
            self.end(&NOTHING);
        }
    }
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapping").field("size", &self.size).finish_non_exhaustive()
    }
}
