//! Memory: heaps and budgets, mappings, and the requirements of resources.

pub(crate) mod heap;
pub(crate) mod mapping;
pub(crate) mod notices;
pub(crate) mod requirements;
pub(crate) mod residency;
