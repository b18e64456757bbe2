//! AMD's Vulkan Memory Allocator, by the crate `vk-mem`.

use std::time::Instant;

use ash::prelude::VkResult;
use vk_mem::{Allocator, DefragmentationContext};

use super::{Compactor, FRAME_BYTES, FRAME_MOVES, Frames};
use crate::Result;
use crate::recordings::driver;
use crate::recordings::play::{Handles, Player as _};
use crate::recordings::vma::Vma;
use crate::timing::nanoseconds;

/// `FLAG` is the algorithm.
pub(super) const fn compactor<const FLAG: u32>() -> Compactor<Vma> {
    Compactor { make: Vma::new, reserved: |_| driver::taken(), compact: compact::<FLAG> }
}

/// A description of a defragmentation in which everything is 0: the crate does not say the name of its type.
fn nothing<'a, T>(_: unsafe fn(&'a Allocator, &T) -> VkResult<DefragmentationContext<'a>>) -> T {
    // SAFETY: the one such description is a structure of C of numbers, pointers and an optional function.
    unsafe { std::mem::zeroed() }
}

/// The handles stay valid, and refer to the new places afterwards.
fn compact<const FLAG: u32>(player: &mut Vma, _: &mut Handles<Vma>) -> Result<Frames> {
    let mut info = nothing(Allocator::begin_defragmentation);
    info.flags = FLAG;
    info.maxBytesPerPass = FRAME_BYTES;
    info.maxAllocationsPerPass = FRAME_MOVES;
    // SAFETY: the allocations are not in use.
    let context = unsafe { player.0.begin_defragmentation(&info) }?;
    let mut frames = Frames::default();
    loop {
        let start = Instant::now();
        let goes_on = context.begin_pass(|_| ());
        frames.times.push(nanoseconds(start));
        if !goes_on {
            break;
        }
    }
    let done = context.end();
    (frames.moves, frames.bytes) = (done.allocationsMoved.into(), done.bytesMoved);
    Ok(frames)
}
