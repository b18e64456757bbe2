//! For x86-64: 64 bytes at a time, and the processor's own copy for what is long.

use core::arch::asm;

pub(super) use copy as read;
pub(super) use copy as write;

/// From here on the processor's own copy is the fastest; C libraries choose it from about here, too.
const LONG: usize = 2048;

/// # Safety
/// As [`write_bytes`](super::write_bytes) and [`read_bytes`](super::read_bytes).
#[inline]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    if count >= LONG {
        // SAFETY: the caller gives so many bytes of both. The direction flag is clear, as the ABI has it.
        unsafe {
            asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
        }
        return;
    }
    let (mut to, mut from) = (to, from);
    let blocks = count & !63;
    if blocks > 0 {
        // SAFETY: the loop ends at `end`, which is at most `count` bytes on. Neither pointer wraps.
        unsafe {
            asm!(
                "2:",
                "movups {a}, [{from}]",
                "movups {b}, [{from} + 16]",
                "movups {c}, [{from} + 32]",
                "movups {d}, [{from} + 48]",
                "movups [{to}], {a}",
                "movups [{to} + 16], {b}",
                "movups [{to} + 32], {c}",
                "movups [{to} + 48], {d}",
                "add {from}, 64",
                "add {to}, 64",
                "cmp {from}, {end}",
                "jne 2b",
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                from = inout(reg) from,
                to = inout(reg) to,
                end = in(reg) from.add(blocks),
                options(nostack),
            );
        }
    }
    if count > blocks {
        // SAFETY: less than 64 bytes are left of both.
        unsafe { rest(to, from, count - blocks) };
    }
}

/// Less than 64 bytes: a move for each bit of `count`.
///
/// # Safety
/// As [`copy`].
#[inline]
unsafe fn rest(mut to: *mut u8, mut from: *const u8, count: usize) {
    macro_rules! step {
        ($bytes:literal, $class:ident, $load:literal, $store:literal) => {
            if count & $bytes != 0 {
                // SAFETY: the bits of `count` above this one are copied, so that this many bytes are left.
                unsafe {
                    asm!($load, $store, part = out($class) _, from = in(reg) from, to = in(reg) to,
                        options(nostack, preserves_flags));
                    (to, from) = (to.add($bytes), from.add($bytes));
                }
            }
        };
    }
    for _ in 0..count / 16 {
        // SAFETY: so many blocks of 16 bytes are left.
        unsafe {
            asm!("movups {part}, [{from}]", "movups [{to}], {part}", part = out(xmm_reg) _,
                from = in(reg) from, to = in(reg) to, options(nostack, preserves_flags));
            (to, from) = (to.add(16), from.add(16));
        }
    }
    step!(8, reg, "mov {part}, [{from}]", "mov [{to}], {part}");
    step!(4, reg, "mov {part:e}, [{from}]", "mov [{to}], {part:e}");
    step!(2, reg, "mov {part:x}, [{from}]", "mov [{to}], {part:x}");
    step!(1, reg_byte, "mov {part}, [{from}]", "mov [{to}], {part}");
    let _end = (to, from);
}
