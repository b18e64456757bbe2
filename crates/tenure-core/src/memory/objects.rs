//! Making and unmaking API objects that hold memory, and counting them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Name;
use crate::device::{Device, DeviceError, HeapDesc, MemoryTypeId, ObjectRef, Permit, ResourceDesc};
use crate::resource::native::Native;

/// Bytes that are taken from the driver, and the most that ever were at once. Every change is O(1).
#[derive(Debug, Default)]
pub(crate) struct Taken {
    now: AtomicU64,
    peak: AtomicU64,
}

impl Taken {
    fn add(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    fn remove(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// Whose memory it is that a resource gets for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryOwner {
    /// The resource's own.
    Resource,
    /// That of the transient resources, which keep it for the next one like it.
    Transient,
}

/// The memory of a committed resource.
pub(crate) struct CommittedMemory<'a> {
    pub(crate) memory: MemoryTypeId,
    /// Bytes that it is taken to be.
    pub(crate) size: u64,
    pub(crate) is_mapped: bool,
    /// Where it is counted.
    pub(crate) part: &'a Taken,
}

/// Counts of what was had from the driver. Every change is O(1).
///
/// Bytes are counted twice: all together, for the peak of the whole, and by what they are for. Each pool has a
/// count of its own.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// Of the program's resources that have memory of their own.
    pub(crate) committed_memory: Taken,
    /// Of page allocators.
    pub(crate) page_memory: Taken,
    /// Of transient heaps, and of transient resources that have memory of their own.
    pub(crate) transient_memory: Taken,
    /// Of everything, pools included.
    all_memory: Taken,
    heaps: AtomicU64,
    heaps_made: AtomicU64,
    committed: AtomicU64,
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
    pub(crate) peak_reserved: u64,
    pub(crate) allocations_made: u64,
    pub(crate) resources_made: u64,
    pub(crate) resources_destroyed: u64,
}

impl Objects {
    fn note_memory(&self, size: u64, part: &Taken) {
        self.allocations_made.fetch_add(1, Ordering::Relaxed);
        self.all_memory.add(size);
        part.add(size);
    }

    fn forget_memory(&self, size: u64, part: &Taken) {
        part.remove(size);
        self.all_memory.remove(size);
    }

    /// Where memory that one resource alone has is counted.
    pub(crate) const fn part_of(&self, owner: MemoryOwner) -> &Taken {
        match owner {
            MemoryOwner::Resource => &self.committed_memory,
            MemoryOwner::Transient => &self.transient_memory,
        }
    }

    /// Takes a heap from the driver, names it, and counts it as a part of `part`.
    pub(crate) fn create_heap<D: Device>(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
        part: &Taken,
    ) -> Result<D::Heap, DeviceError> {
        self.create_heap_by(device, desc, name, part, |device, desc| device.create_heap(desc))
    }

    /// As [`create_heap`](Self::create_heap), made in a particular way.
    pub(crate) fn create_heap_by<D: Device>(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
        part: &Taken,
        make: impl Fn(&D, &HeapDesc) -> Result<D::Heap, DeviceError>,
    ) -> Result<D::Heap, DeviceError> {
        let heap = make(device, desc)?;
        device.set_name(Permit::own(), ObjectRef::Heap(&heap), name);
        self.heaps.fetch_add(1, Ordering::Relaxed);
        self.heaps_made.fetch_add(1, Ordering::Relaxed);
        self.note_memory(desc.size, part);
        let (bytes, memory_type) = (desc.size, desc.memory.0);
        tracing::debug!(target: "tenure", name, bytes, memory_type, category = ?desc.category, "heap created");
        Ok(heap)
    }

    /// Gives a heap back; `part` as when it was created.
    pub(crate) fn destroy_heap<D: Device>(&self, device: &D, heap: D::Heap, size: u64, part: &Taken) {
        device.destroy_heap(Permit::own(), heap);
        self.heaps.fetch_sub(1, Ordering::Relaxed);
        self.forget_memory(size, part);
        tracing::debug!(target: "tenure", bytes = size, "heap destroyed");
    }

    /// Creates a resource with memory of its own.
    pub(crate) fn create_committed<D: Device>(
        &self,
        device: &D,
        desc: &ResourceDesc,
        own: &CommittedMemory<'_>,
        name: &Name,
    ) -> Result<Arc<Native<D>>, DeviceError> {
        let object = device.create_committed(desc, own.memory)?;
        let native = self.take_in(device, object, desc, own.is_mapped.then_some(own.memory), name)?;
        self.committed.fetch_add(1, Ordering::Relaxed);
        self.note_memory(own.size, own.part);
        Ok(native)
    }

    /// Destroys a committed resource; `size` and `part` as when it was created.
    pub(crate) fn destroy_committed<D: Device>(
        &self,
        device: &D,
        native: Native<D>,
        size: u64,
        part: &Taken,
    ) {
        self.destroy_resource(device, native);
        self.committed.fetch_sub(1, Ordering::Relaxed);
        self.forget_memory(size, part);
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
            peak_reserved: self.all_memory.peak(),
            allocations_made: read(&self.allocations_made),
            resources_made: read(&self.resources_made),
            resources_destroyed: read(&self.resources_destroyed),
        }
    }
}
