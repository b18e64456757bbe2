//! Buffers and textures: descriptions, creation, and tiles of reserved ones.

pub(crate) mod create;
pub(crate) mod desc;
pub(crate) mod object;
pub(crate) mod reserved;
