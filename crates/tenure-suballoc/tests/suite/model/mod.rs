//! The oracles: naive models of the required, allowed and forbidden results of an allocator. They panic on
//! other results. The fuzz targets use them, too.

pub(crate) mod blocks;
pub(crate) mod buddy;
pub(crate) mod general;
pub(crate) mod linear;
pub(crate) mod one_range;
pub(crate) mod ranges;
pub(crate) mod ring;
pub(crate) mod sets;
pub(crate) mod slots;
