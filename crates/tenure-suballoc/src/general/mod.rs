//! The general suballocator: any sizes, with the packing of best fit, in constant time.

mod bits;
mod class;
mod many;
mod node;
mod one;
mod pieces;
mod ranges;
mod search;
mod slab;
mod units;
mod validate;

pub use many::GeneralBlocks;
pub(crate) use one::Fit;
pub use one::General;
