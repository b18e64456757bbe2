//! Residency of heaps and committed resources, and the fence that queues wait for until they are resident.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::device::{
    CallRule, DeviceError, MemoryBlock, MemoryTypeId, PagingPoint, Permit, Priority, ResidencyDevice,
    TrimRequest,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_FENCE_FLAG_NONE, D3D12_RESIDENCY_FLAG_NONE, D3D12_RESIDENCY_PRIORITY,
    D3D12_RESIDENCY_PRIORITY_HIGH, D3D12_RESIDENCY_PRIORITY_LOW, D3D12_RESIDENCY_PRIORITY_NORMAL,
    ID3D12Device3, ID3D12Fence, ID3D12Pageable,
};
use windows::core::Interface;

use crate::Device;
use crate::device::error::Asked;
use crate::device::inner::Inner;
use crate::device::memory::requirements::GPU_ONLY;
use crate::device::queue::Queue;
use crate::device::resource::object::Memory;

type Block<'a> = MemoryBlock<'a, Device>;

/// The objects of one call, made resident together.
type Pageables = SmallVec<[Option<ID3D12Pageable>; 8]>;

/// The device's paging fence. Created on the first use of residency: most programs never need one.
#[derive(Default)]
pub(crate) struct Paging {
    fence: OnceLock<ID3D12Fence>,
    /// The newest value that the fence is to reach.
    newest: AtomicU64,
    /// Held while a value is chosen and enqueued, so that the fence reaches values in their order.
    order: Mutex<()>,
}

/// The priority to set on an object that may have had another one. Windows gives a high one to targets and
/// unordered access resources, and orders these by size, in steps of 10 MB, in the lowest 16 bits; heaps for all
/// resources, whose flags do not show their content, get the same here. (Microsoft's "Residency", "Default
/// priority algorithm".)
pub(crate) fn residency_priority(priority: Priority, size: u64) -> D3D12_RESIDENCY_PRIORITY {
    const STEP: u64 = 10 << 20;
    match priority {
        Priority::Low => D3D12_RESIDENCY_PRIORITY_LOW,
        Priority::Normal => D3D12_RESIDENCY_PRIORITY_NORMAL,
        Priority::High => {
            let steps = i32::from(u16::try_from(size / STEP).unwrap_or(u16::MAX));
            D3D12_RESIDENCY_PRIORITY(D3D12_RESIDENCY_PRIORITY_HIGH.0 | steps)
        }
    }
}

impl ResidencyDevice for Device {
    fn make_resident(&self, _: Permit<Self>, blocks: &[Block<'_>]) -> Result<PagingPoint, DeviceError> {
        self.inner.look()?;
        let (objects, asked) = self.inner.pageables(blocks)?;
        if objects.is_empty() {
            return Ok(PagingPoint::RESIDENT);
        }
        let Some(device) = &self.inner.interfaces.device3 else {
            // SAFETY: the objects are alive and of this device.
            unsafe { self.inner.raw.MakeResident(&objects) }
                .map_err(|error| self.inner.fail(&error, asked))?;
            self.inner.messages.deliver();
            return Ok(PagingPoint::RESIDENT);
        };
        self.inner.enqueue(device, &objects, asked)
    }

    fn evict(&self, _: Permit<Self>, blocks: &[Block<'_>]) -> Result<(), DeviceError> {
        self.inner.look()?;
        let (objects, _) = self.inner.pageables(blocks)?;
        if objects.is_empty() {
            return Ok(());
        }
        // SAFETY: the objects are alive and of this device; by the contract, no work in flight uses them.
        let answer = unsafe { self.inner.raw.Evict(&objects) };
        answer.map_err(|error| self.inner.fail(&error, Asked::Object("ID3D12Device::Evict")))?;
        self.inner.messages.deliver();
        Ok(())
    }

    // Sets a priority. A hint: a refusal has no consequences.
    fn set_priority(&self, _: Permit<Self>, block: Block<'_>, priority: Priority) -> Result<(), DeviceError> {
        self.inner.look()?;
        let (pageable, size, _) = self.inner.pageable(&block)?;
        self.inner.hint(pageable, residency_priority(priority, size));
        self.inner.messages.deliver();
        Ok(())
    }

    fn budget_changed(&self) -> bool {
        self.inner.budget_changed()
    }

    fn take_trim_request(&self) -> Option<TrimRequest> {
        self.inner.take_trim_request()
    }

    fn reserve(&self, bytes: &[u64]) {
        self.inner.reserve(bytes);
    }
}

impl Inner {
    /// Checks the blocks and collects their objects, with their bytes and the memory type of the first.
    fn pageables(&self, blocks: &[Block<'_>]) -> Result<(Pageables, Asked), DeviceError> {
        let mut found = Pageables::with_capacity(blocks.len());
        let (mut bytes, mut memory) = (0_u64, None);
        for block in blocks {
            let (pageable, size, kind) = self.pageable(block)?;
            found.push(Some(pageable));
            bytes = bytes.saturating_add(size);
            memory.get_or_insert(kind);
        }
        Ok((found, Asked::Memory { bytes, memory: memory.unwrap_or(GPU_ONLY) }))
    }

    /// The object of a block, its bytes and its memory type.
    fn pageable(&self, block: &Block<'_>) -> Result<(ID3D12Pageable, u64, MemoryTypeId), DeviceError> {
        let owner = match block {
            MemoryBlock::Heap(heap) => &heap.core.device,
            MemoryBlock::Resource(resource) => &resource.device,
        };
        if !std::ptr::eq(self, Arc::as_ptr(owner)) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        let (object, size, memory) = match block {
            MemoryBlock::Heap(heap) => (heap.core.raw.cast(), heap.core.desc.size, heap.core.desc.memory),
            MemoryBlock::Resource(resource) => match &resource.memory {
                Memory::Committed => {
                    let size = self.needs(&resource.desc)?.1.size;
                    (resource.raw.cast(), size, resource.memory_type)
                }
                _ => return Err(DeviceError::broken_rule(CallRule::IsBlock)),
            },
        };
        let object = object.map_err(|error| self.fail(&error, Asked::Object("ID3D12Pageable")))?;
        Ok((object, size, memory))
    }

    fn enqueue(
        &self,
        device: &ID3D12Device3,
        objects: &[Option<ID3D12Pageable>],
        asked: Asked,
    ) -> Result<PagingPoint, DeviceError> {
        let paging = &self.paging;
        let _in_order = paging.order.lock();
        let fence = self.paging_fence()?;
        let value = paging.newest.load(Ordering::Acquire).saturating_add(1);
        // Beyond the budget, too: a submission that is larger than the budget has to run nevertheless, and the
        // caller has already evicted everything it could. With `DENY_OVERBUDGET` it would fail.
        // SAFETY: the objects and the fence are alive and of this device.
        unsafe { device.EnqueueMakeResident(D3D12_RESIDENCY_FLAG_NONE, objects, fence, value) }
            .map_err(|error| self.fail(&error, asked))?;
        paging.newest.store(value, Ordering::Release);
        self.messages.deliver();
        let is_reached = self.value_of(fence)? >= value;
        Ok(if is_reached { PagingPoint::RESIDENT } else { PagingPoint(value) })
    }

    /// The paging fence, created on first use; under the lock of the order.
    fn paging_fence(&self) -> Result<&ID3D12Fence, DeviceError> {
        if let Some(fence) = self.paging.fence.get() {
            return Ok(fence);
        }
        // SAFETY: takes no pointers.
        let fence = unsafe { self.raw.CreateFence(0, D3D12_FENCE_FLAG_NONE) }
            .map_err(|error| self.fail(&error, Asked::Object("CreateFence")))?;
        Ok(self.paging.fence.get_or_init(|| fence))
    }

    /// Hints a priority to the driver, if it supports any; a failure is ignored.
    pub(crate) fn hint(&self, pageable: ID3D12Pageable, priority: D3D12_RESIDENCY_PRIORITY) {
        let Some(device) = &self.interfaces.device1 else { return };
        let pageable = Some(pageable);
        // SAFETY: one object and one priority; both outlive the call.
        let _hinted = unsafe { device.SetResidencyPriority(1, &raw const pageable, &raw const priority) };
    }

    /// The fence to wait for before work that needs a paging point; `None` if it is already reached.
    pub(crate) fn paging_wait(&self, point: PagingPoint) -> Result<Option<&ID3D12Fence>, DeviceError> {
        if point == PagingPoint::RESIDENT {
            return Ok(None);
        }
        let newest = self.paging.newest.load(Ordering::Acquire);
        let fence = self.paging.fence.get().filter(|_| point.0 <= newest);
        let rule = CallRule::PagingPointExists;
        let fence = fence.ok_or(DeviceError::invalid_call(rule, point.0, newest))?;
        Ok((self.value_of(fence)? < point.0).then_some(fence))
    }

    /// Makes later submissions to a queue wait for a paging point.
    pub(crate) fn wait_paging(
        &self,
        queue: &Queue,
        fence: &ID3D12Fence,
        point: PagingPoint,
    ) -> Result<(), DeviceError> {
        // SAFETY: both interfaces are alive and of this device.
        unsafe { queue.raw.Wait(fence, point.0) }
            .map_err(|error| self.fail(&error, Asked::Object("ID3D12CommandQueue::Wait")))
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::device::Priority;

    use super::residency_priority;

    #[test]
    fn high_priorities_are_ordered_by_size() {
        let of = |priority, size| residency_priority(priority, size).0 as u32;
        assert_eq!(of(Priority::Low, 1 << 30), 0x5000_0000);
        assert_eq!(of(Priority::Normal, 1 << 30), 0x7800_0000);
        assert_eq!(of(Priority::High, 0), 0xa001_0000);
        assert_eq!(of(Priority::High, 64 << 20), 0xa001_0006);
        assert_eq!(of(Priority::High, u64::MAX), 0xa001_ffff);
    }
}
