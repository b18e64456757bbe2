//! Descriptors: indexed heaps, and sets.

mod content;
mod heap;
mod locations;
mod reads;
mod set;
mod uses;
mod view;
mod write;
mod write_set;

pub(crate) use content::{Slot, What};
pub use heap::DescriptorHeap;
pub(crate) use heap::DescriptorHeapState;
pub use locations::DescriptorAt;
pub(crate) use locations::{At, Slots};
pub use set::{SetLayout, SetPool};
pub(crate) use uses::MOST_READ;

use crate::resource::Resource;
use crate::structures::AccelerationStructure;

/// A device with the descriptors of this module.
pub(crate) trait Described:
    tenure_core::device::Device<
        Resource = Resource,
        DescriptorHeap = DescriptorHeap,
        AccelerationStructure = AccelerationStructure,
    >
{
}

impl<D> Described for D where
    D: tenure_core::device::Device<
            Resource = Resource,
            DescriptorHeap = DescriptorHeap,
            AccelerationStructure = AccelerationStructure,
        >
{
}
