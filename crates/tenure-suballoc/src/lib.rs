//! Suballocators for GPU memory, and for any other range of numbers.
//!
//! They divide ranges of bytes (or of indices) into allocations and never touch the bytes: the results are
//! offsets. No `std`, no dependency, no `unsafe`, no randomness: the same calls give the same offsets.
//!
//! | what | good for | one call costs |
//! | --- | --- | --- |
//! | [`Linear`] | things that die together | a few instructions |
//! | [`Ring`] | things that die in the order of their frames | a few instructions |
//! | [`Slots`] | rows of indices, such as descriptors | as `General` |
//! | [`Buddy`] | sizes that are powers of two | O(log size) |
//! | [`General`] | everything else | O(1) |
//! | [`GeneralBlocks`] | everything else, in blocks that come and go | O(1) |
//! | [`Growing`] | any of them, in blocks that come and go | as the one inside |
//!
//! Allocators of one range implement [`Suballocator`], allocators of many blocks [`BlockSuballocator`].
//!
//! # Promises
//! - *Any input is valid.* Sizes, alignments and capacities may be anything up to `u64::MAX`: an impossible
//!   request returns an error with the reason, and leaves the state as it was.
//! - *A handle is checked.* Freeing twice, or in another allocator, is an error in every build.
//! - *Nothing is hidden.* A handle can be looked up, and allocations and holes walked, at any time.
//! - *Threads.* Nothing is shared and nothing locks; all types are [`Send`] and [`Sync`] (as far as
//!   their parameters are), and changing them takes `&mut`.

#![warn(missing_debug_implementations)]
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod bit_tree;
mod block;
mod block_table;
mod buckets;
mod buddy;
mod error;
mod general;
mod growing;
mod handle;
mod linear;
mod ring;
mod slots;
mod suballocator;

pub use block::{BlockAllocation, BlockFreed, BlockSuballocator};
pub use block_table::{BlockIds, DEFAULT_IDLE_FRAMES};
pub use buddy::Buddy;
pub use error::{AllocError, BlockError, FreeError, Inconsistency};
pub use general::{General, GeneralBlocks};
pub use growing::Growing;
pub use handle::{BlockId, Handle};
pub use linear::Linear;
pub use ring::Ring;
pub use slots::{SlotRange, Slots};
pub use suballocator::{Allocation, FilledPiece, Freed, Suballocator};

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
