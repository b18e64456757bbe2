//! The objects of the layer, by the dispatch keys of their handles.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ash::vk::Handle;

/// Objects that live: instances or devices. It is a static, and gone when the loader unloads the layer, which it does only
/// without instances.
pub(crate) struct Registry<T>(LazyLock<RwLock<HashMap<usize, Arc<T>>>>);

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(RwLock::default))
    }

    /// Adds the object of a new handle.
    ///
    /// # Safety
    ///
    /// `handle` is a dispatchable one.
    pub(crate) unsafe fn insert(&self, handle: impl Handle, object: Arc<T>) {
        // SAFETY: as the caller promises.
        let key = unsafe { key(handle) };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, object);
    }

    /// The object of a handle, or of the one that this handle comes from.
    ///
    /// # Safety
    ///
    /// `handle` is null or a dispatchable one.
    pub(crate) unsafe fn get(&self, handle: impl Handle) -> Option<Arc<T>> {
        // SAFETY: as the caller promises.
        let key = unsafe { key(handle) };
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Takes the object of a handle that is about to be destroyed: the next object may have the same key.
    ///
    /// # Safety
    ///
    /// `handle` is null or a dispatchable one.
    pub(crate) unsafe fn remove(&self, handle: impl Handle) -> Option<Arc<T>> {
        // SAFETY: as the caller promises.
        let key = unsafe { key(handle) };
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}

/// The dispatch key: the first word of the object, which the loader sets. Physical devices have that of their instance,
/// queues and command buffers that of their device.
///
/// # Safety
///
/// `handle` is null or a dispatchable one.
unsafe fn key(handle: impl Handle) -> usize {
    let object = ptr::with_exposed_provenance::<usize>(handle.as_raw() as usize);
    // SAFETY: as the caller promises.
    unsafe { object.as_ref() }.copied().unwrap_or(0)
}
