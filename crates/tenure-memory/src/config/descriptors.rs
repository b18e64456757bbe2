//! Sizes of descriptor heaps and sets.

use super::error::Check;
use super::{ConfigError, ConfigUnit};

/// Descriptor heaps and sets: part of [`Config`](crate::Config).
///
/// A shader-visible heap is divided into a static part, for lasting tables, and a dynamic part, for descriptors of one
/// recording. It is created with the first descriptor in either part, or by `Commands::set_descriptor_heaps`, and
/// allocates the memory of all its descriptors at once (on Vulkan without mutable descriptor types, six descriptors for
/// each, one of every type).
///
/// Such a heap does not grow: its address, and on Vulkan its number of descriptors, are part of the program's state (GPU
/// handles of tables, pipeline layouts) and of recorded command lists; and changing the heap of a list may make a GPU
/// wait until it is idle. Its size must be chosen before its first use. The defaults suit a few thousand draws with
/// tables of their own; a program with more must raise them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescriptorConfig {
    /// Descriptors of one heap that is not shader-visible. Default 1,024; 16 to 65,536.
    ///
    /// Views are created in these heaps. Larger heaps reduce their number; smaller ones waste less when a program has few
    /// views.
    pub block: u32,
    /// Descriptors of views for tables. Default: 16,384 (8,192 if each takes [the memory of
    /// six](crate::device::DescriptorLimits::descriptors_per_index)), or the device's limit minus the dynamic ones; 1 to
    /// 1,000,000 together with those.
    ///
    /// A higher value makes the heap larger; with a lower one, `create_descriptor_table` fails sooner, because a heap
    /// does not grow.
    pub static_resources: Option<u32>,
    /// Descriptors of views for recordings. Default and limits as for `static_resources`.
    ///
    /// It must hold the descriptors of all frames in flight.
    pub dynamic_resources: Option<u32>,
    /// Like `static_resources`, for samplers. Default 1,024; 1 to 2,048 together with the dynamic ones.
    pub static_samplers: Option<u32>,
    /// Like `dynamic_resources`, for samplers. Default and limits as for `static_samplers`.
    pub dynamic_samplers: Option<u32>,
    /// Descriptors of views that a recording allocates from the dynamic part at a time; for samplers a sixteenth. Default
    /// 1,024; 16 to 65,536.
    ///
    /// A larger value means less contention for the shared part; a smaller one wastes less when many recordings each use
    /// few descriptors.
    pub chunk: u32,
    /// Descriptor sets created at a time; fewer for layouts with many descriptors. Default 64; 1 to 4,096.
    ///
    /// Larger means fewer descriptor pools; smaller wastes less for layouts with few sets. Sets for recordings
    /// are kept until `Gpu::trim`.
    pub set_pool: u32,
    /// Overwrites freed shader-visible descriptors with null descriptors, to detect use after free, and keeps the names
    /// of their owners. Default: in debug builds.
    ///
    /// It costs one descriptor write per freed descriptor, and a name for each one in use.
    pub poison: bool,
    /// Whether a recording logs a warning for each resource that it binds through a set or a table without declaring a
    /// use: see `Gpu::unnamed_uses`. Default: in builds with debug assertions.
    pub report_unnamed: bool,
}

tenure_heap::setters!(DescriptorConfig {
    block: u32,
    static_resources: Option<u32>,
    dynamic_resources: Option<u32>,
    static_samplers: Option<u32>,
    dynamic_samplers: Option<u32>,
    chunk: u32,
    set_pool: u32,
    poison: bool,
    report_unnamed: bool,
});

impl Default for DescriptorConfig {
    fn default() -> Self {
        Self {
            block: 1024,
            static_resources: None,
            dynamic_resources: None,
            static_samplers: None,
            dynamic_samplers: None,
            chunk: 1024,
            set_pool: 64,
            poison: cfg!(debug_assertions),
            report_unnamed: cfg!(debug_assertions),
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
        Check::new("descriptors.set_pool", self.set_pool.into(), ConfigUnit::Count).range(1, 4096)
    }
}
