//! Memory: heaps and budgets, mappings, and what resources need of it.

pub(crate) mod heap;
pub(crate) mod mapping;
pub(crate) mod notices;
pub(crate) mod requirements;
pub(crate) mod residency;
