//! The manager: owns all services and connects them.

mod compaction;
mod cost;
mod descriptors;
mod external;
mod formats;
mod frame;
mod manager;
mod memory;
#[cfg(feature = "metrics")]
mod metrics;
mod read_into;
mod shared;
mod shutdown;
mod transfers;

pub use frame::Frame;
pub use manager::Gpu;
pub use shutdown::ShutdownReport;
