//! Memory and semaphores that other processes and APIs use, too, by file descriptors, and the program's own memory as a
//! buffer.

mod host;
#[cfg(unix)]
mod identity;
mod info;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod semaphore;

pub use host::{HostMemory, RejectedMemory};
pub use info::ShareError;
pub use info::{DeviceIds, ExportDesc, HandleKind, InvalidExportDesc};
#[cfg(unix)]
pub use memory::{Exported, ImportError, Sharing};
#[cfg(unix)]
pub use semaphore::SharedSemaphore;
