//! Deferred destruction of any object that the GPU may use.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::context::{Context, Retired};
use crate::device::Device;
use crate::registry::{ObjectKind, RegistryKey};
use crate::time::Stamp;
use crate::{Error, Name};

/// Keeps a value that GPU work may use: a pipeline state, a query heap, a swap chain view. Dropping it drops
/// the value once every recording open now is submitted or discarded, and everything submitted so far is
/// complete.
///
/// The value is dropped on the thread that then ends a frame or calls [`Gpu::reclaim`](crate::Gpu::reclaim); after
/// the manager is dropped, on the thread that releases the last reference holding it back. A panic in its
/// destructor reaches the caller of these two functions after everything else was released; elsewhere it is
/// logged.
///
/// ```
/// # use tenure::{Config, Gpu};
/// # let gpu = Gpu::new(tenure::sim::Device::new(tenure::sim::Profile::DISCRETE), Config::default())?;
/// struct Pipeline(u32);
/// let pipeline = gpu.defer("opaque pipeline", Pipeline(7));
/// assert_eq!(pipeline.0, 7);
/// drop(pipeline); // lives on until the GPU is done with it
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Deferred<D: Device, T: Send + 'static> {
    /// `None` only inside `drop`.
    value: Option<Box<T>>,
    registry_key: RegistryKey,
    born: Stamp,
    context: Arc<Context<D>>,
}

debug_fields!([D: Device, T: Send + std::fmt::Debug + 'static] Deferred<D, T>, "Deferred", this, value: this.value);

impl<D: Device, T: Send + 'static> Deferred<D, T> {
    pub(crate) fn new(context: &Arc<Context<D>>, name: &Name, value: T) -> Self {
        let registry_key = context.register(name, ObjectKind::User, 0);
        let born = context.clock.stamp();
        Self { value: Some(Box::new(value)), registry_key, born, context: context.clone() }
    }
}

impl<D: Device, T: Send + 'static> Deref for Deferred<D, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.value {
            Some(value) => value,
            None => unreachable!(),
        }
    }
}

impl<D: Device, T: Send + 'static> Drop for Deferred<D, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.context.unregister(self.registry_key);
            self.context.release(Retired::User(value), self.born, 0);
        }
    }
}

/// A value that was not released: the reason, and the value itself.
#[non_exhaustive]
pub struct NotReleased<T> {
    /// The reason.
    pub error: Error,
    /// The value that was not released.
    pub value: T,
}

impl<T> fmt::Debug for NotReleased<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotReleased").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for NotReleased<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not released: {}", self.error)
    }
}

impl<T> std::error::Error for NotReleased<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Keeps the reason, and drops the value.
impl<T> From<NotReleased<T>> for Error {
    fn from(refused: NotReleased<T>) -> Self {
        refused.error
    }
}
