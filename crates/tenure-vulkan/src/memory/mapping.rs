//! The CPU's window into a buffer.

use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use tenure_core::device::{CallRule, DeviceError, mapped};

use super::allocation::{Address, Memory};
use super::flush::{FlushRange, flush_range, torn_atoms};

/// A mapped buffer. What is written to memory that is not coherent is flushed at once; what is read
/// from it is invalidated first, and so is what a flush takes along and the write leaves as it is.
///
/// The memory belongs to the driver and the GPU: no Rust reference ever points into it. Threads
/// that write the same bytes at once mix them, as the contract says.
pub struct Mapping {
    memory: Arc<Memory>,
    /// Of byte 0 of the buffer.
    address: Address,
    /// Of the buffer in the memory.
    offset: u64,
    size: u64,
    needs_flushes: bool,
}

impl Mapping {
    /// Maps `size` bytes at `offset` of `memory`.
    pub(crate) fn new(memory: &Arc<Memory>, offset: u64, size: u64) -> Result<Self, DeviceError> {
        let base = memory.map()?.get();
        let outside = DeviceError::invalid_call(
            "the mapping is inside the memory",
            offset.saturating_add(size),
            memory.size,
        );
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= memory.size);
        let (Ok(start), Ok(_), true) = (usize::try_from(offset), usize::try_from(memory.size), is_inside)
        else {
            return Err(outside);
        };
        // SAFETY: all of the memory is mapped from `base` on, and `start` is inside.
        let address = Address::new(unsafe { base.add(start) });
        let needs_flushes = memory.needs_flushes();
        Ok(Self { memory: memory.clone(), address, offset, size, needs_flushes })
    }

    /// The bytes of an access, as a place in the buffer.
    fn range(&self, offset: u64, size: usize) -> Result<Range<usize>, DeviceError> {
        self.memory.owner().alive()?;
        let end = u64::try_from(size).ok().and_then(|size| offset.checked_add(size));
        let outside =
            || DeviceError::invalid_call(CallRule::InsideMapping, end.unwrap_or(u64::MAX), self.size);
        let end = end.filter(|end| *end <= self.size).ok_or_else(outside)?;
        match (usize::try_from(offset), usize::try_from(end)) {
            (Ok(start), Ok(end)) => Ok(start..end),
            _ => Err(outside()),
        }
    }

    /// The whole atoms around a range, for a flush or an invalidation; `None` when it needs none.
    fn atoms(&self, range: &Range<usize>) -> Option<vk::MappedMemoryRange<'static>> {
        if !self.needs_flushes {
            return None;
        }
        let atom = self.memory.owner().tables.properties.non_coherent_atom;
        let start = self.offset.saturating_add(range.start as u64);
        Some(self.mapped(flush_range(start, range.len() as u64, atom, self.memory.size)?))
    }

    fn mapped(&self, FlushRange { offset, size }: FlushRange) -> vk::MappedMemoryRange<'static> {
        vk::MappedMemoryRange::default().memory(self.memory.handle).offset(offset).size(size)
    }

    /// Waits for invalidations and keeps others from beginning: they would undo what is written and not yet
    /// flushed.
    ///
    /// A flush takes whole atoms. Where the write is to a part of one, the processor may still have the rest
    /// as it was before the GPU wrote there, and would write that back; so it forgets the atom first.
    fn begin_write(&self, range: &Range<usize>) -> Result<RwLockReadGuard<'_, ()>, DeviceError> {
        let memories = self.memory.owner();
        let atom = memories.tables.properties.non_coherent_atom;
        let start = self.offset.saturating_add(range.start as u64);
        let torn = torn_atoms(start, range.len() as u64, atom, self.memory.size);
        if torn.is_empty() {
            return Ok(self.memory.unflushed.read());
        }
        let nothing_unflushed = self.memory.unflushed.write();
        let atoms: SmallVec<[_; 2]> = torn.into_iter().map(|range| self.mapped(range)).collect();
        // SAFETY: the memory is mapped, and the ranges are made of whole atoms or end with it.
        let invalidated = unsafe { memories.api.device.invalidate_mapped_memory_ranges(&atoms) };
        invalidated.map_err(|result| memories.error("vkInvalidateMappedMemoryRanges", result))?;
        Ok(RwLockWriteGuard::downgrade(nothing_unflushed))
    }
}

impl tenure_core::device::Mapping for Mapping {
    fn size(&self) -> u64 {
        self.size
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, bytes.len())?;
        let _unflushed = self.needs_flushes.then(|| self.begin_write(&range)).transpose()?;
        // SAFETY: the range is inside the mapping, which lives as long as `memory`; no reference points
        // there, and all others copy as this does.
        unsafe { mapped::write_bytes(self.address.get().add(range.start), bytes) };
        let Some(atoms) = self.atoms(&range) else { return Ok(()) };
        let memories = self.memory.owner();
        // SAFETY: the memory is mapped, and the range is made of whole atoms or ends with it.
        let flushed = unsafe { memories.api.device.flush_mapped_memory_ranges(&[atoms]) };
        flushed.map_err(|result| memories.error("vkFlushMappedMemoryRanges", result))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, out.len())?;
        if let Some(atoms) = self.atoms(&range) {
            let memories = self.memory.owner();
            // Whole atoms are invalidated, and so is what is written next to the range.
            let _nothing_unflushed = self.memory.unflushed.write();
            // SAFETY: as in `write`.
            let invalidated = unsafe { memories.api.device.invalidate_mapped_memory_ranges(&[atoms]) };
            invalidated.map_err(|result| memories.error("vkInvalidateMappedMemoryRanges", result))?;
        }
        // SAFETY: as in `write`, the other way round.
        unsafe { mapped::read_bytes(self.address.get().add(range.start), out) };
        Ok(())
    }

    fn as_ptr(&self) -> Option<NonNull<u8>> {
        (!self.needs_flushes).then(|| self.address.get())
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapping")
            .field("memory", &self.memory)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
