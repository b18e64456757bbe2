//! The manager: owns one of everything and wires them.

mod descriptors;
mod frame;
mod garbage;
mod link;
mod manager;
mod purge;
mod shared;
mod shutdown;
mod transfers;
mod transients;

pub use frame::Frame;
pub(crate) use garbage::Garbage;
pub(crate) use link::{KnownLinks, Link};
pub use manager::Gpu;
pub(crate) use manager::{milliseconds, nanoseconds};
pub(crate) use shared::Shared;
pub use shutdown::{Leak, ShutdownReport};
