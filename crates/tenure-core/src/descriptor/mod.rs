//! Descriptors: views, samplers, tables and sets (spec D1 to D5).
//!
//! What lasts owns its descriptors and what they show; what one recording needs is borrowed from it.
//! Both go back through the release queue, and none is written while anything may read it.

mod bind;
mod buffer_view;
mod cpu_heaps;
mod dynamic;
mod dynamic_part;
mod exhausted;
mod forms;
mod garbage;
mod owners;
mod recorded_chunks;
mod recorded_sets;
mod sampler;
mod set;
mod set_layout;
mod sizes;
mod slot_blocks;
mod static_part;
mod stats;
mod store;
mod table;
mod texture_view;
mod view;
mod visible;

pub use bind::Bind;
pub use buffer_view::BufferViewDesc;
use cpu_heaps::CpuSlot;
pub use dynamic::Descriptors;
pub use exhausted::{DescriptorPart, DescriptorUser, NoDescriptors};
pub(crate) use garbage::DescriptorGarbage;
pub use owners::DescriptorOwner;
pub(crate) use recorded_chunks::RecordedChunks;
pub(crate) use recorded_sets::RecordedSets;
pub use sampler::Sampler;
pub use set::{DescriptorSet, Set};
pub use set_layout::SetLayout;
pub use stats::{DescriptorHeapStats, DescriptorStats};
pub(crate) use store::DescriptorStore;
pub use table::DescriptorTable;
pub use texture_view::TextureViewDesc;
pub use view::View;
