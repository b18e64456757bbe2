//! Which bytes a flush or an invalidation names.

use smallvec::SmallVec;

/// A range of an allocation: offset and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushRange {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The smallest range of whole atoms around `size` bytes at `offset` of an allocation of
/// `allocation` bytes, cut off at its end; `None` when there is nothing to do.
///
/// `atom` is `nonCoherentAtomSize`, a power of two. What is outside the allocation is left out.
pub(crate) fn flush_range(offset: u64, size: u64, atom: u64, allocation: u64) -> Option<FlushRange> {
    let mask = atom.checked_sub(1)?;
    let start = offset & !mask;
    let end = offset.saturating_add(size);
    // Rounding up past the largest number there is means the end of the allocation.
    let end = end.checked_add(mask).map_or(allocation, |end| (end & !mask).min(allocation));
    let is_empty = size == 0 || end <= start;
    (!is_empty).then(|| FlushRange { offset: start, size: end - start })
}

/// The atoms, in order, of which a write of `size` bytes at `offset` changes a part: at most the first and
/// the last. As for [`flush_range`].
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

    /// Byte by byte: the atoms that any byte of the range lies in.
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

    /// What the API asks of a range.
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
    fn nothing_overflows() {
        let whole = FlushRange { offset: 0, size: u64::MAX };
        assert_eq!(flush_range(0, u64::MAX, 256, u64::MAX), Some(whole));
        assert_eq!(flush_range(u64::MAX, u64::MAX, 256, 100), None);
        assert_eq!(flush_range(0, 1, 0, 100), None);
    }
}
