//! The sizes of descriptor heaps and sets.

use super::error::Check;
use super::{ConfigError, ConfigUnit};

/// Descriptor heaps and sets: part of [`Config`](crate::Config).
///
/// A heap that shaders see is divided into a static part, for [tables](crate::DescriptorTable) that last,
/// and a dynamic part, for descriptors of one [recording](crate::Scratch::descriptors). The heap is made for
/// the first of its descriptors, in either part, and then takes the memory of all of them (on Vulkan
/// without mutable descriptor types of six descriptors for each, one of every type). Where
/// command lists are [told of it](crate::Commands::set_descriptor_heaps) it is also made then.
///
/// Such a heap does not grow: where it lies, and on Vulkan how many descriptors it has, is part of what
/// programs keep (GPU handles of tables, pipeline layouts) and of the command lists that are recorded with it; and
/// changing the heap of a list may make a GPU wait until it is idle. So its size is chosen before its first use. The
/// defaults suit a few thousand draws with tables of their own: a program with more says so here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptorConfig {
    /// Descriptors of one heap that shaders do not see. Default 1,024; 16 to 65,536.
    ///
    /// Views are created in these heaps. A larger heap means fewer of them; a smaller one wastes less when
    /// a program has few views.
    pub block: u32,
    /// Descriptors of views for tables. Default: 16,384 (8,192 where each takes
    /// [the memory of six](crate::device::DescriptorLimits::descriptors_per_index)), or what the device has room
    /// for beside the dynamic ones; 1 to 1,000,000 together with those.
    ///
    /// More makes the heap larger; fewer makes [`create_descriptor_table`](crate::Gpu::create_descriptor_table)
    /// fail sooner, because a heap does not grow.
    pub static_resources: Option<u32>,
    /// Descriptors of views for recordings. Default and limits as those of `static_resources`.
    ///
    /// It must hold the descriptors of all frames in flight.
    pub dynamic_resources: Option<u32>,
    /// As `static_resources`, for samplers. Default 1,024; 1 to 2,048 together with the dynamic ones.
    pub static_samplers: Option<u32>,
    /// As `dynamic_resources`, for samplers. Default and limits as those of `static_samplers`.
    pub dynamic_samplers: Option<u32>,
    /// Descriptors of views that a recording takes from the dynamic part at a time; of samplers a
    /// sixteenth. Default 1,024; 16 to 65,536.
    ///
    /// More means fewer visits to the part that all recordings share; fewer wastes less when many
    /// recordings each use a few descriptors.
    pub chunk: u32,
    /// Descriptor sets that are made at a time; fewer of layouts with many descriptors. Default 64; 1 to
    /// 4,096.
    ///
    /// More means fewer descriptor pools; fewer wastes less for layouts of which there are few sets. Sets
    /// for recordings are kept until [`Gpu::trim`](crate::Gpu::trim).
    pub set_block: u32,
    /// Overwrite freed descriptors that shaders see with null descriptors, so that a use of them is found,
    /// and remember the names of their owners. Default: in debug builds.
    ///
    /// It costs a write of a descriptor for each one freed, and a name for each one in use.
    pub poison: bool,
}

impl Default for DescriptorConfig {
    fn default() -> Self {
        Self {
            block: 1024,
            static_resources: None,
            dynamic_resources: None,
            static_samplers: None,
            dynamic_samplers: None,
            chunk: 1024,
            set_block: 64,
            poison: cfg!(debug_assertions),
        }
    }
}

impl DescriptorConfig {
    /// The sizes of the static and dynamic parts depend on the device: they are checked when its heaps are
    /// divided.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let descriptors = |field, value: u32| Check::new(field, value.into(), ConfigUnit::Descriptors);
        descriptors("descriptors.block", self.block).range(16, 65_536)?;
        descriptors("descriptors.chunk", self.chunk).range(16, 65_536)?;
        Check::new("descriptors.set_block", self.set_block.into(), ConfigUnit::Count).range(1, 4096)
    }
}
