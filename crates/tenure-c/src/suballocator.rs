//! Functions: suballocators, which divide a range of offsets. They need no device.

use tenure_suballoc::{
    AllocError, Allocation, BlockError, Buddy, FreeError, General, Ring, SlotRange, Slots, Suballocator as _,
};

use crate::call::{call, call_create};
use crate::convert::unknown;
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// The algorithm of a suballocator.
pub type tn_SuballocatorKind = u32;
/// Any size, in constant time.
pub const TN_SUBALLOCATOR_GENERAL: tn_SuballocatorKind = 0;
/// Powers of two; other sizes are rounded up.
pub const TN_SUBALLOCATOR_BUDDY: tn_SuballocatorKind = 1;
/// Consecutive indices, such as descriptors: exact sizes, with alignment 1.
pub const TN_SUBALLOCATOR_SLOTS: tn_SuballocatorKind = 2;
/// Ranges that are freed in the order of their frames, by `tn_suballocator_close` and `tn_suballocator_release_up_to`.
pub const TN_SUBALLOCATOR_RING: tn_SuballocatorKind = 3;

/// A suballocator of the offsets from 0 to `capacity`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SuballocatorDesc {
    /// `sizeof(tn_SuballocatorDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes; indices for `TN_SUBALLOCATOR_SLOTS`.
    pub capacity: u64,
    /// The granularity in bytes, a power of two. 0: 1, or 256 for `TN_SUBALLOCATOR_BUDDY`. Only for `TN_SUBALLOCATOR_GENERAL` and
    /// `TN_SUBALLOCATOR_BUDDY`.
    pub granule: u64,
    /// `TN_SUBALLOCATOR_…`.
    pub kind: tn_SuballocatorKind,
    /// Must be 0.
    pub reserved: u32,
}

/// An allocated range. A plain value that can be copied.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Range {
    /// The first byte, a multiple of the alignment.
    pub offset: u64,
    /// The usable bytes: at least the requested size.
    pub size: u64,
    /// Padding bytes before `offset`.
    pub padding: u64,
    /// Internal identity of the range. Zero for the ranges of a ring.
    pub handle: [u64; 2],
}

/// Statistics of a suballocator, in bytes, or in indices for `TN_SUBALLOCATOR_SLOTS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SuballocatorTotals {
    /// `sizeof(tn_SuballocatorTotals)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The managed capacity; for `TN_SUBALLOCATOR_BUDDY`, rounded to whole blocks.
    pub capacity: u64,
    /// Free bytes in total.
    pub free: u64,
    /// The largest free range.
    pub largest_free: u64,
}

descs! {
    tn_SuballocatorDesc: 0,
    tn_SuballocatorTotals: 0,
}

impl Outcome for tn_SuballocatorTotals {}

/// The object behind a `tn_Suballocator`.
pub(crate) enum Suballocator {
    General(General),
    Buddy(Buddy),
    Slots(Slots),
    Ring(Ring<u64>),
}

impl From<BlockError> for Failure {
    #[cold]
    fn from(error: BlockError) -> Self {
        Self::new(TN_ERROR_CONFIG, error.to_string())
    }
}

impl From<AllocError> for Failure {
    #[cold]
    fn from(error: AllocError) -> Self {
        let text = error.to_string();
        match error {
            AllocError::TooLarge { .. } => Self::new(TN_ERROR_TOO_LARGE, text),
            AllocError::Full { size, align: alignment, largest_free, .. } => {
                let shortage = Shortage { size, alignment, largest_free, ..Shortage::default() };
                Self::new(TN_ERROR_OUT_OF_MEMORY, text).with_numbers(shortage)
            }
            _ => Self::new(TN_ERROR_ARGUMENT, text),
        }
    }
}

/// The error for a range that is not allocated.
#[cold]
fn not_allocated(error: FreeError, range: &tn_Range) -> Failure {
    let offset = range.offset;
    match error {
        FreeError::Foreign => {
            let text = format!("the range at {offset} was not allocated by this tn_Suballocator");
            Failure::new(TN_ERROR_FOREIGN, text)
        }
        _ => Failure::new(TN_ERROR_HANDLE, format!("the range at {offset} was freed before")),
    }
}

impl From<Allocation> for tn_Range {
    #[inline]
    fn from(range: Allocation) -> Self {
        let Allocation { offset, size, padding, handle } = range;
        Self { offset, size, padding, handle: handle.to_raw() }
    }
}

impl From<SlotRange> for tn_Range {
    #[inline]
    fn from(range: SlotRange) -> Self {
        let (offset, size) = (range.first.into(), range.count.into());
        Self { offset, size, padding: 0, handle: range.handle.to_raw() }
    }
}

/// The error for a function of another kind.
#[cold]
fn wrong_kind(reason: &str) -> Failure {
    Failure::new(TN_ERROR_ARGUMENT, reason)
}

fn allocate_slots(slots: &mut Slots, count: u64, alignment: u64) -> Result<tn_Range, Failure> {
    if alignment != 1 {
        return Err(wrong_kind("the alignment of TN_SUBALLOCATOR_SLOTS is 1"));
    }
    let capacity = slots.capacity().into();
    let count = u32::try_from(count).map_err(|_| AllocError::TooLarge { size: count, capacity })?;
    Ok(slots.allocate(count)?.into())
}

fn allocate_in_ring(ring: &mut Ring<u64>, size: u64, alignment: u64) -> Result<tn_Range, Failure> {
    match ring.allocate(size, alignment) {
        Some(offset) => Ok(tn_Range { offset, size, padding: 0, handle: [0; 2] }),
        None => Err(refusal_of_ring(ring, size, alignment).into()),
    }
}

#[cold]
fn refusal_of_ring(ring: &Ring<u64>, size: u64, align: u64) -> AllocError {
    let (capacity, free_bytes, largest_free) = (ring.capacity(), ring.free_bytes(), ring.largest_free());
    match () {
        () if size == 0 => AllocError::ZeroSize,
        () if !align.is_power_of_two() => AllocError::BadAlignment { align },
        () if size > capacity => AllocError::TooLarge { size, capacity },
        () => AllocError::Full { size, align, free_bytes, largest_free },
    }
}

/// Creates a suballocator. It must be used by one thread at a time.
///
/// Errors: `TN_ERROR_CONFIG` for a capacity or granule that its kind does not support, `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_create(
    desc: In<tn_SuballocatorDesc>,
    out: Out<Handle<Suballocator>>,
) -> tn_Status {
    call_create(out, || {
        let tn_SuballocatorDesc { capacity, granule, kind, .. } = *desc.desc()?;
        let or = |default: u64| if granule == 0 { default } else { granule };
        if granule > 1 && matches!(kind, TN_SUBALLOCATOR_SLOTS | TN_SUBALLOCATOR_RING) {
            return Err(BlockError::BadGranule { granule }.into());
        }
        Ok(match kind {
            TN_SUBALLOCATOR_GENERAL => Suballocator::General(General::new(capacity, or(1))?),
            TN_SUBALLOCATOR_BUDDY => {
                Suballocator::Buddy(Buddy::with_min_block(capacity, or(Buddy::DEFAULT_MIN_BLOCK))?)
            }
            TN_SUBALLOCATOR_SLOTS => {
                let max = 1 << 31;
                let indices = u32::try_from(capacity).map_err(|_| BlockError::TooLarge { capacity, max })?;
                Suballocator::Slots(Slots::new(indices)?)
            }
            TN_SUBALLOCATOR_RING if capacity == 0 => {
                return Err(BlockError::TooSmall { capacity, min: 1 }.into());
            }
            TN_SUBALLOCATOR_RING => Suballocator::Ring(Ring::new(capacity)),
            kind => return unknown("kind", kind),
        })
    })
}

/// Allocates a range. The program stores it for `tn_suballocator_free`, except for a ring.
///
/// Errors: `TN_ERROR_OUT_OF_MEMORY` if no free range fits now; `TN_ERROR_TOO_LARGE` if none can ever fit; `TN_ERROR_ARGUMENT` for
/// a size of 0 or an alignment that is not a power of two; `TN_ERROR_BUSY`. Nothing is changed then.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_allocate(
    suballocator: Handle<Suballocator>,
    size: u64,
    alignment: u64,
    out: Out<tn_Range>,
) -> tn_Status {
    call(|| {
        out.check("a tn_Range")?;
        out.set(match &mut *suballocator.alone()? {
            Suballocator::General(general) => general.allocate(size, alignment)?.into(),
            Suballocator::Buddy(buddy) => buddy.allocate(size, alignment)?.into(),
            Suballocator::Slots(slots) => allocate_slots(slots, size, alignment)?,
            Suballocator::Ring(ring) => allocate_in_ring(ring, size, alignment)?,
        });
        Ok(())
    })
}

/// Frees a range, identified by its `handle`.
///
/// Errors: `TN_ERROR_HANDLE` for a range that was already freed; `TN_ERROR_FOREIGN` for a range of another suballocator;
/// `TN_ERROR_ARGUMENT` for a ring; `TN_ERROR_BUSY`. Nothing is changed then.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_free(suballocator: Handle<Suballocator>, range: In<tn_Range>) -> tn_Status {
    call(|| {
        let range = range.value("a tn_Range")?;
        let raw = range.handle;
        let freed = match &mut *suballocator.alone()? {
            Suballocator::General(general) => {
                general.live_handle(raw).and_then(|handle| general.free(handle)).map(drop)
            }
            Suballocator::Buddy(buddy) => {
                buddy.live_handle(raw).and_then(|handle| buddy.free(handle)).map(drop)
            }
            Suballocator::Slots(slots) => {
                slots.live_handle(raw).and_then(|handle| slots.free(handle)).map(drop)
            }
            Suballocator::Ring(_) => {
                return Err(wrong_kind("a ring frees ranges by tn_suballocator_release_up_to alone"));
            }
        };
        freed.map_err(|error| not_allocated(error, &range))
    })
}

/// Frees all ranges, which become invalid.
///
/// Errors: `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_clear(suballocator: Handle<Suballocator>) -> tn_Status {
    call(|| {
        match &mut *suballocator.alone()? {
            Suballocator::General(general) => general.clear(),
            Suballocator::Buddy(buddy) => buddy.clear(),
            Suballocator::Slots(slots) => slots.clear(),
            Suballocator::Ring(ring) => ring.clear(),
        }
        Ok(())
    })
}

/// Capacity, free bytes, and the largest free range, in constant time.
///
/// Errors: `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_totals(
    suballocator: Handle<Suballocator>,
    out: Out<tn_SuballocatorTotals>,
) -> tn_Status {
    call(|| {
        out.check_head()?;
        let (capacity, free, largest_free) = match &*suballocator.alone()? {
            Suballocator::General(general) => {
                (general.capacity(), general.free_bytes(), general.largest_free())
            }
            Suballocator::Buddy(buddy) => (buddy.capacity(), buddy.free_bytes(), buddy.largest_free()),
            Suballocator::Slots(slots) => {
                (slots.capacity().into(), slots.free_count().into(), slots.largest_free().into())
            }
            Suballocator::Ring(ring) => (ring.capacity(), ring.free_bytes(), ring.largest_free()),
        };
        let (struct_size, flags, next) = (out.size(), 0, In::NULL);
        out.set(tn_SuballocatorTotals { struct_size, flags, next, capacity, free, largest_free });
        Ok(())
    })
}

/// For a ring: closes the ranges allocated since the last call. `tn_suballocator_release_up_to` frees them together, with this
/// mark or a higher one. Marks must increase: use frame numbers or fence values.
///
/// Errors: `TN_ERROR_ARGUMENT` for other kinds; `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_close(suballocator: Handle<Suballocator>, mark: u64) -> tn_Status {
    call(|| {
        ring(&mut *suballocator.alone()?)?.close(mark);
        Ok(())
    })
}

/// For a ring: frees the ranges that were closed with marks up to this one, oldest first.
///
/// Errors: `TN_ERROR_ARGUMENT` for other kinds; `TN_ERROR_BUSY`.
#[unsafe(no_mangle)]
extern "C" fn tn_suballocator_release_up_to(suballocator: Handle<Suballocator>, mark: u64) -> tn_Status {
    call(|| {
        ring(&mut *suballocator.alone()?)?.release_while(|closed| *closed <= mark);
        Ok(())
    })
}

fn ring(suballocator: &mut Suballocator) -> Result<&mut Ring<u64>, Failure> {
    match suballocator {
        Suballocator::Ring(ring) => Ok(ring),
        _ => Err(wrong_kind("only a ring has marks: TN_SUBALLOCATOR_RING")),
    }
}
