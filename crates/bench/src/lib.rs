//! Benchmarks of tenure against its peers: what is measured, and on what.

pub mod frame;
pub mod null;
pub mod plan;
pub mod suballoc;
