//! Descriptors: views and samplers, and heaps of them.

pub(crate) mod buffer_view;
pub(crate) mod content;
pub(crate) mod heap;
pub(crate) mod raw;
pub(crate) mod sampler;
pub(crate) mod texture_desc;
pub(crate) mod texture_view;
pub(crate) mod write;
