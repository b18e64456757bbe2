//! Descriptors: views and samplers, heaps of them, and sets.

mod arrays;
mod buffer;
mod buffer_view;
mod heap;
mod kinds;
mod limits;
mod raw;
mod renumber;
mod sampler;
mod set_block;
mod set_layout;
mod slot;
mod source;
mod space;
mod texture_view;
mod writer;

pub(crate) use buffer::stages as buffer_stages;
pub use heap::DescriptorHeap;
pub(crate) use limits::DescriptorTables;
pub use raw::{RawHandle, RawView};
pub(crate) use sampler::SamplerCount;
pub use set_block::SetBlock;
pub use set_layout::SetLayout;
pub(crate) use space::DescriptorSpace;
