//! For x86-64: 64 bytes at a time, with AVX if available, and `rep movsb` for long copies.

use core::arch::asm;
use std::arch::is_x86_feature_detected;

pub(super) use copy as read;
pub(super) use copy as write;

/// Minimum length for `rep movsb`, which is fastest from here on; C libraries switch at about the same length.
const LONG: usize = 2048;

/// Minimum length for the check for wider registers to pay off.
const WIDE: usize = 128;

/// # Safety
/// As [`write_bytes`](super::write_bytes) and [`read_bytes`](super::read_bytes).
#[inline]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    if count >= WIDE {
        // SAFETY: as the caller's.
        unsafe { copy_many(to, from, count) };
        return;
    }
    let blocks = count & 64;
    if blocks > 0 {
        // SAFETY: the caller provides at least `blocks` bytes of both.
        unsafe { copy_blocks(to, from, blocks) };
    }
    if count > blocks {
        // SAFETY: less than 64 bytes of both are left.
        unsafe { rest(to.add(blocks), from.add(blocks), count - blocks) };
    }
}

/// Separate from [`copy`], so that `copy` stays small where it is inlined.
///
/// # Safety
/// As [`copy`]; `count` is at least 64.
#[inline(never)]
unsafe fn copy_many(to: *mut u8, from: *const u8, count: usize) {
    if count >= LONG {
        // SAFETY: the caller provides `count` bytes of both. The direction flag is clear, as the ABI requires.
        unsafe {
            asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
        }
        return;
    }
    let blocks = count & !63;
    if is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX, and the caller provides at least `blocks` bytes of both.
        unsafe { copy_blocks_wide(to, from, blocks) };
    } else {
        // SAFETY: as above.
        unsafe { copy_blocks(to, from, blocks) };
    }
    if count > blocks {
        // SAFETY: less than 64 bytes of both are left.
        unsafe { rest(to.add(blocks), from.add(blocks), count - blocks) };
    }
}

/// Copies `bytes` in blocks of 64, with 16-byte registers.
///
/// # Safety
/// As [`copy`]; `bytes` is a multiple of 64, and not 0.
#[inline]
unsafe fn copy_blocks(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the loop ends at `end`, at most `bytes` further on. Neither pointer wraps.
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
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            end = in(reg) from.add(bytes),
            options(nostack),
        );
    }
}

/// As [`copy_blocks`], with 32-byte registers.
///
/// # Safety
/// As [`copy_blocks`], on a processor with AVX.
#[target_feature(enable = "avx")]
unsafe fn copy_blocks_wide(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: as in `copy_blocks`. The upper halves of the registers are cleared, as the ABI requires.
    unsafe {
        asm!(
            "2:",
            "vmovups {a}, [{from}]",
            "vmovups {b}, [{from} + 32]",
            "vmovups [{to}], {a}",
            "vmovups [{to} + 32], {b}",
            "add {from}, 64",
            "add {to}, 64",
            "cmp {from}, {end}",
            "jne 2b",
            "vzeroupper",
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            end = in(reg) from.add(bytes),
            options(nostack),
        );
    }
}

/// Copies less than 64 bytes: one move for each bit of `count`.
///
/// # Safety
/// As [`copy`].
#[inline]
unsafe fn rest(mut to: *mut u8, mut from: *const u8, count: usize) {
    macro_rules! step {
        ($bytes:literal, $class:ident, $load:literal, $store:literal) => {
            if count & $bytes != 0 {
                // SAFETY: the higher bits of `count` are already copied, so that at least `$bytes` bytes are left.
                unsafe {
                    asm!($load, $store, part = out($class) _, from = in(reg) from, to = in(reg) to,
                        options(nostack, preserves_flags));
                    (to, from) = (to.add($bytes), from.add($bytes));
                }
            }
        };
    }
    for _ in 0..count / 16 {
        // SAFETY: at least this many blocks of 16 bytes are left.
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
