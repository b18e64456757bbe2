//! Descriptors: views and samplers, heaps of them, and sets.

mod arrays;
mod buffer;
mod heap;
mod limits;
mod renumber;
mod sets;
mod views;

pub(crate) use buffer::stages as buffer_stages;
pub use heap::DescriptorHeap;
pub(crate) use limits::DescriptorTables;
pub use sets::SetLayout;
pub use sets::SetPool;

use std::sync::Arc;

use buffer::DescriptorSpace;
use views::SamplerCount;

use crate::loaded::{Loaded, part_of_device};
use crate::resource::{Resource, Resources};
use crate::structure::AccelerationStructure;

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

/// The descriptors of a device, and their limits.
pub(crate) struct Descriptors {
    loaded: Arc<Loaded>,
    resources: Arc<Resources>,
    limits: DescriptorTables,
    samplers: SamplerCount,
    space: DescriptorSpace,
}

impl Descriptors {
    pub(crate) fn new(resources: Arc<Resources>, limits: DescriptorTables) -> Self {
        let (samplers, space) = (SamplerCount::default(), DescriptorSpace::default());
        Self { loaded: resources.memory.loaded().clone(), resources, limits, samplers, space }
    }
}

part_of_device!(Descriptors);
