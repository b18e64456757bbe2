//! Queries.

#[cfg(doc)]
use crate::{CommandList, Properties, QueryLimits};
use crate::{DeviceError, Permit, QueryHeapDesc};

/// A device with queries.
///
/// Devices without queries use [`Infallible`](std::convert::Infallible) as the type and keep the defaults: creation is
/// unsupported, and destruction drops the heap. Any thread may call the methods at any time.
pub trait QueryDevice: Send + Sync + Sized + 'static {
    /// Contiguous queries (`ID3D12QueryHeap`, `VkQueryPool`).
    type QueryHeap: Send + Sync + 'static;

    /// Creates a heap of queries. Where [`QueryLimits::must_reset`] is true, a command must reset each query before its first
    /// use: see [`CommandList::reset_queries`].
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for queries that the queue does not support ([`Properties::has_queries`]),
    /// [`DeviceError::InvalidDesc`] for a count of 0, [`DeviceError::InvalidCall`] for a queue that does not exist, a shortage,
    /// [`DeviceError::Lost`].
    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<Self::QueryHeap, DeviceError> {
        let _unused = desc;
        Err(DeviceError::Unsupported { feature: "queries" })
    }

    /// Destroys a heap of queries.
    fn destroy_query_heap(&self, permit: Permit<Self>, heap: Self::QueryHeap) {
        let _unused = (permit, heap);
    }
}
