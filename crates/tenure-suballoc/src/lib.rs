//! Suballocators for GPU memory, and for any other range of numbers.
//!
//! They divide ranges of bytes (or of indices) into allocations and never touch the bytes: the results are
//! offsets. No `std`, no dependency, no `unsafe`, no randomness: the same calls give the same offsets.
//!
//! | type | suitable for | cost of a call |
//! | --- | --- | --- |
//! | [`Linear`] | objects that are released together | a few instructions |
//! | [`Ring`] | objects that are released in the order of their frames | a few instructions |
//! | [`Slots`] | consecutive indices, such as descriptors | as `General` |
//! | [`Buddy`] | sizes that are powers of two | O(log size) |
//! | [`General`] | everything else | O(1) |
//! | [`GeneralBlocks`] | everything else, in a changing set of blocks | O(1) |
//! | [`Growing`] | any of them, in a changing set of blocks | that of the inner allocator |
//!
//! Allocators of one range implement [`Suballocator`], allocators of many blocks [`BlockSuballocator`].
//!
//! # Promises
//! - *Any input is valid.* Sizes, alignments and capacities may be anything up to `u64::MAX`: an impossible
//!   request returns an error with the reason, and leaves the state as it was.
//! - *Handles are checked.* A double free, or a free in another allocator, is an error in every build.
//! - *Everything can be inspected.* A handle can be looked up, and allocations and holes visited, at any
//!   time.
//! - *Threads.* Nothing is shared and nothing locks; all types are [`Send`] and [`Sync`] (if their
//!   parameters are), and changing them takes `&mut`.

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
