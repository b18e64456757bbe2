//! Byte by byte, for every machine.

use core::sync::atomic::{AtomicU8, Ordering};

/// # Safety
/// As [`write_bytes`](super::write_bytes).
pub(super) unsafe fn write(to: *mut u8, from: *const u8, count: usize) {
    for index in 0..count {
        // SAFETY: the caller gives so many bytes of both; those of `to` are accessed atomically alone.
        unsafe { AtomicU8::from_ptr(to.add(index)).store(*from.add(index), Ordering::Relaxed) };
    }
}

/// # Safety
/// As [`read_bytes`](super::read_bytes).
pub(super) unsafe fn read(to: *mut u8, from: *mut u8, count: usize) {
    for index in 0..count {
        // SAFETY: as in `write`.
        unsafe { *to.add(index) = AtomicU8::from_ptr(from.add(index)).load(Ordering::Relaxed) };
    }
}
