//! The heaps of a device as a separate interface.

use std::fmt;
use std::ops::Deref;

use tenure_heap::{HeapDevice, HeapDeviceError, HeapProperties};

use super::{Device, DeviceError, HeapBudget, HeapDesc, MemoryDevice, MemoryTypeId, ObjectRef, Permit};

/// The heaps of a device, for [`HeapPools`](tenure_heap::HeapPools): the part of a device that programs need if they create
/// their resources themselves. `P` points to the device: a reference, an `Arc`.
///
/// ```
/// use tenure::device::{DeviceHeaps, HeapCategory, Permit, prelude::*};
/// use tenure::memory::heap_pools::{HeapPools, HeapPoolsConfig, MemoryRequest};
/// use tenure::memory::type_order;
/// use tenure::{MemoryUse, sim};
///
/// let device = sim::Device::new(sim::Profile::DISCRETE);
/// let order = type_order(device.properties(), MemoryUse::GpuOnly);
/// let heaps = DeviceHeaps::new(&device, Permit::checked());
/// let mut pools = HeapPools::new(heaps, HeapPoolsConfig::default())?;
/// let request = MemoryRequest::new(48 << 10, 256, &order, HeapCategory::Any);
/// let (range, ()) = pools.allocate(request, |_heap| ())?;
/// pools.free(&range)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceHeaps<P: Deref<Target: Device>> {
    device: P,
    permit: Permit<P::Target>,
}

impl<P: Deref<Target: Device>> DeviceHeaps<P> {
    /// Creates the interface with a permit to destroy heaps. The caller promises that no resource is placed in a heap when
    /// it is destroyed, which happens when its last range is freed.
    #[must_use]
    pub const fn new(device: P, permit: Permit<P::Target>) -> Self {
        Self { device, permit }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &P::Target {
        &self.device
    }
}

impl<P: Deref<Target: Device>> HeapDevice for DeviceHeaps<P> {
    type Heap = <P::Target as MemoryDevice>::Heap;
    type Error = DeviceError;

    fn properties(&self) -> HeapProperties {
        self.device.properties().heap_properties()
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, DeviceError> {
        self.device.create_heap(desc)
    }

    fn destroy_heap(&self, heap: Self::Heap) {
        self.device.destroy_heap(self.permit, heap);
    }

    fn set_name(&self, heap: &Self::Heap, name: &str) {
        self.device.set_name(self.permit, ObjectRef::Heap(heap), name);
    }

    fn budget(&self) -> Vec<HeapBudget> {
        // Without budgets there is no known limit; the creation of the heap will fail instead.
        self.device.budget().unwrap_or_default()
    }
}

impl HeapDeviceError for DeviceError {
    fn is_shortage(&self) -> bool {
        Self::is_shortage(self)
    }

    fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. } | Self::UnsupportedFormat { .. })
    }

    fn not_granted(requested: u64, memory: MemoryTypeId) -> Self {
        Self::NotGranted { requested, memory }
    }

    fn unsupported(feature: &'static str) -> Self {
        Self::Unsupported { feature }
    }
}

impl<P: Deref<Target: Device>> fmt::Debug for DeviceHeaps<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceHeaps")
            .field("device", &self.device().properties().name)
            .finish_non_exhaustive()
    }
}
