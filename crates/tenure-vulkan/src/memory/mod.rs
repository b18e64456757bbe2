//! Memory: heaps, what resources need of it, mappings, budgets.

mod allocation;
mod budget;
mod count;
mod flush;
mod heap;
mod mapping;
mod priority;
mod requirements;

pub(crate) use allocation::{Address, Allocation, HostOwner, Import, Memory};
pub(crate) use count::MemoryCount;
pub use heap::Heap;
pub use mapping::Mapping;
pub(crate) use requirements::Needs;
