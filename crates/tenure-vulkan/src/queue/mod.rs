//! Queues: submissions, and how far they are.

mod clock;
mod external;
mod fences;
mod send;
mod submit;
mod sync_pool;
mod timeline;

pub(crate) use clock::{Clock, Queue, SLICE, nanoseconds};
pub use external::ExternalSemaphore;
pub(crate) use fences::Fences;
pub(crate) use send::{Binds, Work};
pub(crate) use sync_pool::SyncPool;
pub(crate) use timeline::Timeline;
