//! From options to a device: instances, adapters, what they offer, and devices of others.

mod adapter;
mod chain;
mod create;
mod families;
mod instance;
mod message;
mod options;
mod own_queues;
mod plain;
mod portability;
mod raw;
mod request;
mod required;
mod support;
mod version;

pub(crate) use adapter::best;
pub use adapter::{Adapter, AdapterKind, adapters};
pub(crate) use create::create;
pub(crate) use families::Family;
pub(crate) use instance::Instance;
pub use message::{Message, MessageKind, MessageSink, Severity};
pub use options::{OptionalFeatures, Options, Validation};
pub use own_queues::{OwnQueue, OwnQueues, QueueFamily};
pub(crate) use portability::Portability;
pub(crate) use raw::wrap;
pub use raw::{Raw, RawQueue};
pub use request::DeviceFeatures;
pub use version::ApiVersion;
