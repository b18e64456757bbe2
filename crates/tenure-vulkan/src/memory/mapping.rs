//! CPU mappings of buffers.

use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use tenure_core::device::{CallRule, DeviceError, mapped};

use super::allocation::{Address, Memory};

/// A mapped buffer. Writes to non-coherent memory are flushed at once; reads are invalidated first, and so are
/// the bytes that a flush includes beyond the written range.
///
/// The memory belongs to the driver and the GPU: no Rust reference ever points into it. Concurrent writes to the
/// same bytes mix, as in the contract.
pub struct Mapping {
    memory: Arc<Memory>,
    /// The address of byte 0 of the buffer.
    address: Address,
    /// The offset of the buffer in the memory.
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

    /// The bytes of an access, as a range of the buffer.
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

    /// The whole atoms around a range, for a flush or an invalidation; `None` if the memory is coherent.
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

    /// Waits for invalidations and blocks new ones: they would discard written bytes that are not yet flushed.
    ///
    /// A flush takes whole atoms. If the write is to a part of one, the processor may still have the rest with
    /// its content before the GPU wrote there, and would write that back; so it invalidates the atom first.
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
        // SAFETY: the range is inside the mapping, which is valid until `memory` is dropped. No references into
        // mapped memory exist, and all other code accesses it by the same functions.
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
            // Whole atoms are invalidated, so concurrent writes next to the range must be flushed first.
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

/// A range of an allocation: offset and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushRange {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The smallest range of whole atoms around `size` bytes at `offset` of an allocation of `allocation` bytes, cut
/// off at its end; `None` if it is empty.
///
/// The range to flush. `atom` is `nonCoherentAtomSize`, a power of two. Bytes outside the allocation are left
/// out.
pub(crate) fn flush_range(offset: u64, size: u64, atom: u64, allocation: u64) -> Option<FlushRange> {
    let mask = atom.checked_sub(1)?;
    let start = offset & !mask;
    let end = offset.saturating_add(size);
    // An overflow on rounding up means the end of the allocation.
    let end = end.checked_add(mask).map_or(allocation, |end| (end & !mask).min(allocation));
    let is_empty = size == 0 || end <= start;
    (!is_empty).then(|| FlushRange { offset: start, size: end - start })
}

/// The atoms, in order, that a write of `size` bytes at `offset` changes partially: at most the first and the
/// last.
/// Parameters as in [`flush_range`].
pub(crate) fn torn_atoms(offset: u64, size: u64, atom: u64, allocation: u64) -> SmallVec<[FlushRange; 2]> {
    let mut torn = SmallVec::new();
    let end = offset.saturating_add(size).min(allocation);
    if size == 0 || offset >= end || atom <= 1 {
        return torn;
    }
    let mask = atom - 1;
    // The last atom ends with the allocation.
    let whole = |at: u64| at & mask == 0 || at == allocation;
    let around = |byte: u64| flush_range(byte, 1, atom, allocation);
    let first = around(offset).filter(|_| !whole(offset));
    let last = around(end - 1).filter(|last| !whole(end) && Some(*last) != first);
    torn.extend(first.into_iter().chain(last));
    torn
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte: the atoms of all bytes of the range.
    fn naive(offset: u64, size: u64, atom: u64, allocation: u64) -> Option<FlushRange> {
        let touched: Vec<u64> = (0..allocation)
            .filter(|byte| (offset..offset + size).any(|wanted| wanted / atom == byte / atom))
            .collect();
        let first = touched.first()?;
        Some(FlushRange { offset: *first, size: touched.last()? - first + 1 })
    }

    #[test]
    fn ranges_are_those_of_the_naive_search() {
        for atom in [1, 2, 8, 16] {
            for allocation in [1, 7, 16, 40, 48] {
                for offset in 0..allocation {
                    for size in 0..=(allocation - offset) {
                        let found = flush_range(offset, size, atom, allocation);
                        let expected = naive(offset, size, atom, allocation);
                        assert_eq!(found, expected, "{offset} + {size}, atom {atom}, of {allocation}");
                    }
                }
            }
        }
    }

    #[test]
    fn torn_atoms_are_those_of_the_naive_search() {
        for atom in [1, 2, 8, 16] {
            for allocation in [1, 7, 16, 40, 48] {
                for offset in 0..allocation {
                    for size in 0..=(allocation - offset) {
                        let is_written = |byte: &u64| (offset..offset + size).contains(byte);
                        let is_torn = |start: &u64| {
                            let mut bytes = *start..allocation.min(start + atom);
                            bytes.clone().any(|byte| is_written(&byte))
                                && !bytes.all(|byte| is_written(&byte))
                        };
                        let torn: Vec<_> = (0..allocation).step_by(atom as usize).filter(is_torn).collect();
                        let found = torn_atoms(offset, size, atom, allocation);
                        let starts: Vec<_> = found.iter().map(|range| range.offset).collect();
                        assert_eq!(starts, torn, "{offset} + {size}, atom {atom}, of {allocation}");
                        assert!(found.iter().all(|range| range.offset + range.size <= allocation));
                    }
                }
            }
        }
    }

    /// The API's rules for a range.
    #[test]
    fn ranges_are_valid() {
        for (offset, size, allocation) in [(5, 1, 100), (99, 1, 100), (64, 36, 100), (0, 100, 100)] {
            let range = flush_range(offset, size, 64, allocation).unwrap();
            let end = range.offset + range.size;
            assert!(range.offset.is_multiple_of(64));
            assert!(range.size.is_multiple_of(64) || end == allocation, "{range:?}");
            assert!(range.offset <= offset && end >= offset + size && end <= allocation, "{range:?}");
        }
    }

    #[test]
    fn extreme_ranges_do_not_overflow() {
        let whole = FlushRange { offset: 0, size: u64::MAX };
        assert_eq!(flush_range(0, u64::MAX, 256, u64::MAX), Some(whole));
        assert_eq!(flush_range(u64::MAX, u64::MAX, 256, 100), None);
        assert_eq!(flush_range(0, 1, 0, 100), None);
    }
}
