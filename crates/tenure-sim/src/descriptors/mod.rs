//! Descriptors: heaps that are indexed, and sets.

mod at;
mod content;
mod heap;
mod reads;
mod set;
mod view;
mod write;
mod write_set;

pub use at::DescriptorAt;
pub(crate) use at::{At, Slots};
pub(crate) use content::{Slot, What};
pub use heap::DescriptorHeap;
pub(crate) use heap::DescriptorHeapState;
pub use set::{SetBlock, SetLayout};
