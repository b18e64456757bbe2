//! Benchmarks of tenure against its peers: what is measured, and on what.

pub mod suballoc;
