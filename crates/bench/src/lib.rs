//! Benchmarks of tenure and comparable allocators.

pub mod alignment;
pub mod compact;
pub mod copies;
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
