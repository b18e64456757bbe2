//! For aarch64: 32 bytes at a time, then single ones.

use core::arch::asm;

pub(super) use copy as read;
pub(super) use copy as write;

/// # Safety
/// As [`write_bytes`](super::write_bytes) and [`read_bytes`](super::read_bytes).
#[inline]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    let (mut to, mut from) = (to, from);
    let mut words = count & !31;
    if words > 0 {
        // SAFETY: the caller provides `count` bytes of both; the loop counts them down to zero.
        unsafe {
            asm!(
                "2:",
                "ldp {a:q}, {b:q}, [{from}], #32",
                "stp {a:q}, {b:q}, [{to}], #32",
                "subs {words}, {words}, #32",
                "b.ne 2b",
                a = out(vreg) _,
                b = out(vreg) _,
                from = inout(reg) from,
                to = inout(reg) to,
                words = inout(reg) words,
                options(nostack),
            );
        }
    }
    let mut bytes = count & 31;
    if bytes > 0 {
        // SAFETY: as above, for the remaining bytes.
        unsafe {
            asm!(
                "2:",
                "ldrb {a:w}, [{from}], #1",
                "strb {a:w}, [{to}], #1",
                "subs {bytes}, {bytes}, #1",
                "b.ne 2b",
                a = out(reg) _,
                from = inout(reg) from,
                to = inout(reg) to,
                bytes = inout(reg) bytes,
                options(nostack),
            );
        }
    }
    let _end = (to, from, words, bytes);
}
