//! Creating resources with the device's calls, without a manager.

use tenure_core::device::{Device, HeapDesc, MemoryTypeId, Permit, Priority, ResourceDesc};
use tenure_core::memory::{MemoryUse, type_order};

use super::{COUNT, Subject, Way};

/// The memory of the resources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// One heap for all resources.
    Shared,
    /// A memory allocation for each resource.
    Own,
}

/// Creates an API resource for each request, at offsets known in advance: the lower bound for any manager
/// that creates one API resource per request.
pub(super) struct Bare<'a, D: Device> {
    device: &'a D,
    desc: ResourceDesc,
    memory: MemoryTypeId,
    /// Bytes from one resource to the next.
    stride: u64,
    /// `None` if each resource has its own memory allocation.
    heap: Option<D::Heap>,
}

impl<'a, D: Device> Bare<'a, D> {
    pub(super) fn new(device: &'a D, subject: Subject, memory: Memory) -> Result<Self, String> {
        let desc = subject.resource();
        let needs = device.requirements(&desc).map_err(|error| error.to_string())?;
        let order = type_order(device.properties(), MemoryUse::GpuOnly);
        let allowed = |id: &&MemoryTypeId| needs.memory_types >> id.0 & 1 == 1;
        let found = order.iter().find(allowed).copied().ok_or("no memory type")?;
        let stride = needs.size.next_multiple_of(needs.alignment);
        let heap_alignment = device.properties().heap_alignment;
        let heap = HeapDesc {
            size: (stride * u64::from(COUNT)).next_multiple_of(heap_alignment),
            alignment: heap_alignment,
            memory: found,
            category: needs.category,
            priority: Priority::Normal,
        };
        let heap = match memory {
            Memory::Shared => Some(device.create_heap(&heap).map_err(|error| error.to_string())?),
            Memory::Own => None,
        };
        Ok(Self { device, desc, memory: found, stride, heap })
    }
}

impl<D: Device> Way for Bare<'_, D> {
    type Made = D::Resource;
    /// There is no allocator.
    const KEEPS: bool = false;

    fn create(&mut self, index: u32) -> Result<D::Resource, String> {
        let made = match &self.heap {
            Some(heap) => {
                self.device.create_placed(permit(), &self.desc, heap, u64::from(index) * self.stride)
            }
            None => self.device.create_committed(&self.desc, self.memory),
        };
        made.map_err(|error| error.to_string())
    }

    fn drop_all(&mut self, made: &mut Vec<D::Resource>) -> Result<(), String> {
        made.drain(..).for_each(|resource| self.device.destroy_resource(permit(), resource));
        Ok(())
    }
}

impl<D: Device> Drop for Bare<'_, D> {
    fn drop(&mut self) {
        if let Some(heap) = self.heap.take() {
            self.device.destroy_heap(permit(), heap);
        }
    }
}

/// The permit for the calls of the device.
const fn permit<D: Device>() -> Permit<D> {
    // SAFETY: no resource here is used by the GPU; resources are destroyed before their heap.
    unsafe { Permit::new() }
}
