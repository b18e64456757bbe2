//! Making and unmaking API objects that hold memory, and counting them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Name;
use crate::device::{Device, DeviceError, HeapDesc, MemoryTypeId, ObjectRef, Permit, ResourceDesc};
use crate::resource::native::Native;

/// Counts of what was had from the driver. Every change is O(1).
#[derive(Debug, Default)]
pub(crate) struct Objects {
    heaps: AtomicU64,
    heaps_made: AtomicU64,
    committed: AtomicU64,
    reserved: AtomicU64,
    peak_reserved: AtomicU64,
    allocations_made: AtomicU64,
    resources_made: AtomicU64,
    resources_destroyed: AtomicU64,
}

/// A reading of [`Objects`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectCounts {
    pub(crate) heaps: u64,
    pub(crate) heaps_made: u64,
    pub(crate) committed: u64,
    pub(crate) reserved: u64,
    pub(crate) peak_reserved: u64,
    pub(crate) allocations_made: u64,
    pub(crate) resources_made: u64,
    pub(crate) resources_destroyed: u64,
}

impl Objects {
    fn note_memory(&self, size: u64) {
        self.allocations_made.fetch_add(1, Ordering::Relaxed);
        let reserved = self.reserved.fetch_add(size, Ordering::Relaxed) + size;
        self.peak_reserved.fetch_max(reserved, Ordering::Relaxed);
    }

    /// Takes a heap from the driver and names it.
    pub(crate) fn create_heap<D: Device>(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
    ) -> Result<D::Heap, DeviceError> {
        self.create_heap_by(device, desc, name, |device, desc| device.create_heap(desc))
    }

    /// Takes a heap from the driver in a particular way, and names it.
    pub(crate) fn create_heap_by<D: Device>(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
        make: impl Fn(&D, &HeapDesc) -> Result<D::Heap, DeviceError>,
    ) -> Result<D::Heap, DeviceError> {
        let heap = make(device, desc)?;
        device.set_name(Permit::own(), ObjectRef::Heap(&heap), name);
        self.heaps.fetch_add(1, Ordering::Relaxed);
        self.heaps_made.fetch_add(1, Ordering::Relaxed);
        self.note_memory(desc.size);
        let (bytes, memory_type) = (desc.size, desc.memory.0);
        tracing::debug!(target: "tenure", name, bytes, memory_type, category = ?desc.category, "heap created");
        Ok(heap)
    }

    pub(crate) fn destroy_heap<D: Device>(&self, device: &D, heap: D::Heap, size: u64) {
        device.destroy_heap(Permit::own(), heap);
        self.heaps.fetch_sub(1, Ordering::Relaxed);
        self.reserved.fetch_sub(size, Ordering::Relaxed);
        tracing::debug!(target: "tenure", bytes = size, "heap destroyed");
    }

    /// Creates a resource with memory of its own; `size` is what that memory is taken to be.
    pub(crate) fn create_committed<D: Device>(
        &self,
        device: &D,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
        size: u64,
        mapped: bool,
        name: &Name,
    ) -> Result<Arc<Native<D>>, DeviceError> {
        let object = device.create_committed(desc, memory)?;
        let native = self.take_in(device, object, desc, mapped.then_some(memory), name)?;
        self.committed.fetch_add(1, Ordering::Relaxed);
        self.note_memory(size);
        Ok(native)
    }

    pub(crate) fn destroy_committed<D: Device>(&self, device: &D, native: Native<D>, size: u64) {
        self.destroy_resource(device, native);
        self.committed.fetch_sub(1, Ordering::Relaxed);
        self.reserved.fetch_sub(size, Ordering::Relaxed);
    }

    /// Creates a resource in a heap; `mapped` is the heap's memory where the CPU is to have a window into
    /// it.
    pub(crate) fn create_placed<D: Device>(
        &self,
        device: &D,
        desc: &ResourceDesc,
        heap: &D::Heap,
        offset: u64,
        mapped: Option<MemoryTypeId>,
        name: &Name,
    ) -> Result<Arc<Native<D>>, DeviceError> {
        let object = device.create_placed(Permit::own(), desc, heap, offset)?;
        self.take_in(device, object, desc, mapped, name)
    }

    pub(crate) fn create_reserved<D: Device>(
        &self,
        device: &D,
        desc: &ResourceDesc,
        name: &Name,
    ) -> Result<Arc<Native<D>>, DeviceError> {
        let object = device.create_reserved(desc)?;
        self.take_in(device, object, desc, None, name)
    }

    fn take_in<D: Device>(
        &self,
        device: &D,
        object: D::Resource,
        desc: &ResourceDesc,
        mapped: Option<MemoryTypeId>,
        name: &Name,
    ) -> Result<Arc<Native<D>>, DeviceError> {
        if !name.is_empty() {
            device.set_name(Permit::own(), ObjectRef::Resource(&object), name.as_str());
        }
        let mapping = if mapped.is_some() {
            match device.map(&object) {
                Ok(mapping) => Some(mapping),
                Err(error) => {
                    device.destroy_resource(Permit::own(), object);
                    return Err(error);
                }
            }
        } else {
            None
        };
        self.resources_made.fetch_add(1, Ordering::Relaxed);
        let native = Native::new(device, object, desc, mapping, None);
        Ok(Arc::new(match mapped {
            Some(memory) => native.in_memory(device.properties(), memory),
            None => native,
        }))
    }

    /// Counts a resource that the program made.
    pub(crate) fn note_adopted(&self) {
        self.resources_made.fetch_add(1, Ordering::Relaxed);
    }

    /// Inlined, so that the parts are taken from where they are: the whole is large.
    #[inline]
    pub(crate) fn destroy_resource<D: Device>(&self, device: &D, native: Native<D>) {
        let Native { object, mapping, .. } = native;
        drop(mapping);
        device.destroy_resource(Permit::own(), object);
        self.resources_destroyed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> ObjectCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ObjectCounts {
            heaps: read(&self.heaps),
            heaps_made: read(&self.heaps_made),
            committed: read(&self.committed),
            reserved: read(&self.reserved),
            peak_reserved: read(&self.peak_reserved),
            allocations_made: read(&self.allocations_made),
            resources_made: read(&self.resources_made),
            resources_destroyed: read(&self.resources_destroyed),
        }
    }
}
