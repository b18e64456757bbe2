//! C4: any sizes, packed like best fit, in constant time.

mod bits;
mod class;
mod many;
mod node;
mod one;
mod ranges;
mod search;
mod units;
mod validate;

pub use many::GeneralBlocks;
pub(crate) use one::Fit;
pub use one::General;
