//! Descriptors: views, samplers, tables and sets.
//!
//! Views, samplers, tables and lasting sets own their descriptors and keep the resources that these show. The
//! descriptors and sets of one recording are borrowed from it. Both kinds are freed through the release queue, and
//! no descriptor is written while a recording or the GPU may read it.

mod bind;
mod cpu_heaps;
mod dynamic;
mod movable_slot;
mod owners;
mod sampler;
mod set;
mod set_layout;
mod store;
mod table;
mod texture_view;
mod view;
mod visible;

pub use bind::Bind;
pub use dynamic::Descriptors;
pub(crate) use dynamic::RecordedChunks;
pub use owners::DescriptorOwner;
pub use sampler::{Sampler, SamplerDesc};
pub(crate) use set::RecordedSets;
pub use set::{DescriptorSet, DescriptorSetDesc, Set};
pub use set_layout::{SetLayout, SetLayoutDesc};
pub use store::{DescriptorHeapStats, DescriptorStats};
pub(crate) use store::{DescriptorService, DescriptorStore};
pub use table::{DescriptorTable, DescriptorTableDesc};
pub use texture_view::TextureViewDesc;
pub use view::{BufferViewDesc, View};
