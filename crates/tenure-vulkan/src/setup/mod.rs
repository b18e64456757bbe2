//! From options to a device: adapters, what they offer, and devices of others.

mod adapter;
mod chain;
mod create;
mod device;
mod families;
mod own_queues;
mod plain;
mod raw;
mod request;
mod required;
mod support;

pub use adapter::{Adapter, AdapterKind, adapters};
pub use own_queues::QueueFamily;
pub use raw::{Raw, RawQueue};
pub use request::DeviceFeatures;
