//! Benchmarks of tenure and comparable allocators.

pub mod alignment;
pub mod compact;
mod counting;
pub mod create;
mod devices;
pub mod frame;
pub mod in_place;
pub mod instructions;
pub mod managers;
pub mod null;
pub mod plan;
pub mod pressure;
pub mod recordings;
pub mod scale;
mod script;
pub mod suballoc;
mod table;
pub mod threads;
mod timing;

/// The outcome of a benchmark: errors of all kinds, in words.
pub type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
