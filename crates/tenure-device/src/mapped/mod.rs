//! Copies to and from memory that other threads, and the GPU, may access at the same time.
//!
//! `memcpy` is not suitable: two threads that access the same bytes, one of them writing, are a data race, which is undefined
//! behaviour in Rust. Here each byte is copied as if by a relaxed atomic access, so that concurrent accesses leave, or see, at
//! worst a mixture of bytes.
//!
//! The portable form copies byte by byte, because atomic accesses of different sizes to the same memory must not be mixed.
//! Compilers do not combine them into wider ones; so on x86-64 and aarch64 the copy is a loop in assembly, which copies each
//! byte once, in ascending order, and which the compiler only knows to read and write memory. Miri and ThreadSanitizer, which
//! cannot analyse assembly, use the portable form (`--cfg tenure_portable_copies` for the latter).
#![expect(unsafe_code, reason = "the boundary to mapped memory")]

#[cfg(all(target_arch = "aarch64", not(any(miri, tenure_portable_copies))))]
#[path = "aarch64.rs"]
mod machine;
#[cfg(all(target_arch = "x86_64", not(any(miri, tenure_portable_copies))))]
#[path = "x86_64.rs"]
mod machine;

use core::ptr::NonNull;

/// Copies bytes to mapped memory, in ascending order and with the widest accesses of the machine, which suits write-combined
/// memory.
///
/// # Safety
/// `bytes.len()` bytes from `to` on must be valid for writes during the call, and none of them may be behind a Rust reference.
/// Other threads may access them by [`read_bytes`] and [`write_bytes`] at the same time, and so may the GPU; ordinary accesses
/// must not.
#[inline]
pub unsafe fn write_bytes(to: NonNull<u8>, bytes: &[u8]) {
    // SAFETY: the caller guarantees `to`, and `bytes` is a slice.
    unsafe { machine::write(to.as_ptr(), bytes.as_ptr(), bytes.len()) };
}

/// Copies bytes from mapped memory.
///
/// # Safety
/// `out.len()` bytes from `from` on must be valid for reads during the call, and initialised. For other accesses see
/// [`write_bytes`].
#[inline]
pub unsafe fn read_bytes(from: NonNull<u8>, out: &mut [u8]) {
    // SAFETY: the caller guarantees `from`, and `out` is a slice.
    unsafe { machine::read(out.as_mut_ptr(), from.as_ptr(), out.len()) };
}

/// Copies byte by byte, on every machine.
#[cfg(any(miri, tenure_portable_copies, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod machine {
    use core::sync::atomic::{AtomicU8, Ordering};

    /// # Safety
    /// As [`write_bytes`](super::write_bytes).
    pub(super) unsafe fn write(to: *mut u8, from: *const u8, count: usize) {
        for index in 0..count {
            // SAFETY: the caller provides `count` bytes of both; the bytes of `to` are only accessed atomically.
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
}
