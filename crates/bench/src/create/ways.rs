//! Creating resources with tenure, and with the device's calls alone.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::device::{Device, HeapDesc, MemoryTypeId, Permit, Priority, ResourceDesc};
use tenure_core::memory::{MemoryUse, type_order};
use tenure_core::{Error, Gpu, Queue};

use super::{COUNT, Subject, Way, fill};
use crate::Result;
use crate::timing::{time, try_time};

/// Creates handles and drops them after a submission that may use them; the end of the frame frees their memory.
pub(super) struct Managed<D: Device, F>(pub(super) Gpu<D>, pub(super) F);

impl<D: Device, T, F: Fn(&Gpu<D>) -> Result<T, Error>> Way for Managed<D, F> {
    type Made = T;

    fn create(&mut self, _: u32) -> Result<T> {
        Ok((self.1)(&self.0)?)
    }

    fn drop_all(&mut self, made: &mut Vec<T>) -> Result {
        made.clear();
        Ok(())
    }

    fn round(&mut self, made: &mut Vec<T>) -> Result<[Duration; 3]> {
        let frame = self.0.begin_frame()?;
        let recording = frame.record(Queue::Graphics, "uses them")?;
        let create = try_time(|| fill(self, made, COUNT))?;
        frame.submit(recording)?;
        let drop = time(|| black_box(made).clear());
        Ok([create, drop, try_time(|| frame.end())?])
    }
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
    pub(super) fn new(device: &'a D, subject: Subject, has_heap: bool) -> Result<Self> {
        let desc = subject.resource();
        let needs = device.requirements(&desc)?;
        let order = type_order(device.properties(), MemoryUse::GpuOnly);
        let allowed = |id: &&MemoryTypeId| needs.memory_types >> id.0 & 1 == 1;
        let memory = order.iter().find(allowed).copied().ok_or("no memory type")?;
        let stride = needs.size.next_multiple_of(needs.alignment);
        let alignment = device.properties().heap_alignment;
        let size = (stride * u64::from(COUNT)).next_multiple_of(alignment);
        let (category, priority) = (needs.category, Priority::Normal);
        let heap = HeapDesc { size, alignment, memory, category, priority };
        let heap = has_heap.then(|| device.create_heap(&heap)).transpose()?;
        Ok(Self { device, desc, memory, stride, heap })
    }
}

impl<D: Device> Way for Bare<'_, D> {
    type Made = D::Resource;
    /// Whether an allocator keeps memory: there is none.
    const KEEPS: bool = false;

    fn create(&mut self, index: u32) -> Result<D::Resource> {
        let Self { device, desc, stride, .. } = self;
        Ok(match &self.heap {
            Some(heap) => device.create_placed(permit(), desc, heap, u64::from(index) * *stride),
            None => device.create_committed(desc, self.memory),
        }?)
    }

    fn drop_all(&mut self, made: &mut Vec<D::Resource>) -> Result {
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
