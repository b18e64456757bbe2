//! Reserved (sparse) resources: their tiles, and what those are mapped to.

mod reserved;
mod tiles;
mod tiling;

pub(crate) use reserved::Sparse;
