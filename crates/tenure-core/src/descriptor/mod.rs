//! Descriptors: views, samplers, tables and sets.
//!
//! Views, samplers, tables and lasting sets own their descriptors, and keep their resources alive. The
//! descriptors and sets of one recording are borrowed from it. Both kinds are freed through the release queue,
//! and no descriptor is written while a recording or the GPU may read it.

mod bind;
mod declared_uses;
mod dynamic;
mod followers;
mod movable_slot;
mod sampler;
mod service;
mod set;
mod set_layout;
mod table;
mod texture_view;
mod view;

pub use bind::Bind;
pub use declared_uses::ShaderStages;
pub(crate) use declared_uses::{BoundUse, ShownUse};
pub use dynamic::Descriptors;
pub(crate) use followers::Follower;
pub use sampler::{Sampler, SamplerDesc};
pub(crate) use service::DescriptorService;
pub use set::{DescriptorSet, DescriptorSetDesc, Set, SetDescriptor};
pub use set_layout::{SetLayout, SetLayoutDesc};
pub use table::{DescriptorTable, DescriptorTableDesc};
pub use texture_view::TextureViewDesc;
pub use view::{BufferViewDesc, View};
