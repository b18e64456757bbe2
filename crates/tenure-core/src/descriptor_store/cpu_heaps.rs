//! Descriptor heaps that are not shader-visible.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::DescriptorStore;
use crate::device::{Descriptor, DescriptorHeapDesc, DescriptorKind, Device, DeviceError, ObjectRef, Permit};
use crate::permit::OwnPermit as _;
use crate::slot_blocks::{Slot, SlotBlocks};

/// A descriptor in a heap that is not shader-visible.
pub(crate) struct CpuSlot<D: Device> {
    pub(crate) kind: DescriptorKind,
    pub(crate) slot: Slot<D::DescriptorHeap>,
}

impl<D: Device> CpuSlot<D> {
    pub(crate) fn heap(&self) -> &D::DescriptorHeap {
        &self.slot.object
    }

    pub(crate) const fn index(&self) -> u32 {
        self.slot.index
    }
}

/// The heaps of one kind.
struct CpuHeap<D: Device> {
    blocks: Mutex<SlotBlocks<D::DescriptorHeap>>,
    /// Descriptors with a live handle; the other used ones await the GPU.
    alive: AtomicU64,
}

/// Usage of one kind of descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuUse {
    pub(crate) capacity: u64,
    pub(crate) used: u64,
    pub(crate) peak: u64,
    pub(crate) alive: u64,
}

/// Growing heaps of each kind.
pub(crate) struct CpuHeaps<D: Device> {
    kinds: [CpuHeap<D>; DescriptorKind::ALL.len()],
}

impl<D: Device> Default for CpuHeaps<D> {
    fn default() -> Self {
        let heap = |_| CpuHeap { blocks: Mutex::new(SlotBlocks::default()), alive: AtomicU64::new(0) };
        Self { kinds: std::array::from_fn(heap) }
    }
}

impl<D: Device> CpuHeaps<D> {
    const fn of(&self, kind: DescriptorKind) -> &CpuHeap<D> {
        &self.kinds[kind as usize]
    }

    fn blocks(&self, kind: DescriptorKind) -> MutexGuard<'_, SlotBlocks<D::DescriptorHeap>> {
        self.of(kind).blocks.lock()
    }

    /// Allocates a slot, in a new heap if the others are full.
    fn take(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
        frame: u64,
        kind: DescriptorKind,
    ) -> Result<CpuSlot<D>, DeviceError> {
        let mut blocks = self.blocks(kind);
        if blocks.with_room().is_none() {
            let count = store.config.block;
            let desc = DescriptorHeapDesc { kind, count, shader_visible: false };
            let heap = device.create_descriptor_heap(&desc)?;
            store.note_made();
            device.set_name(Permit::own(), ObjectRef::DescriptorHeap(&heap), name(kind));
            if let Err(heap) = blocks.add(heap, count, frame) {
                device.destroy_descriptor_heap(Permit::own(), heap);
            }
        }
        match blocks.take() {
            Some(slot) => Ok(CpuSlot { kind, slot }),
            None => Err(DeviceError::OutOfHostMemory { what: "a heap of descriptors" }),
        }
    }

    /// Whether a heap has a free slot.
    pub(crate) fn has_room(&self, kind: DescriptorKind) -> bool {
        self.blocks(kind).with_room().is_some()
    }

    /// Makes a descriptor.
    pub(crate) fn make(
        &self,
        store: &DescriptorStore<D>,
        device: &D,
        frame: u64,
        descriptor: &Descriptor<'_, D>,
    ) -> Result<CpuSlot<D>, DeviceError> {
        let slot = self.take(store, device, frame, descriptor.kind())?;
        match device.write_descriptor(Permit::own(), slot.heap(), slot.index(), descriptor) {
            Ok(()) => {
                self.of(slot.kind).alive.fetch_add(1, Ordering::Relaxed);
                Ok(slot)
            }
            Err(error) => {
                self.free(frame, slot);
                Err(error)
            }
        }
    }

    /// Notes that the handle of a descriptor was dropped.
    pub(crate) fn note_dropped(&self, kind: DescriptorKind) {
        self.of(kind).alive.fetch_sub(1, Ordering::Relaxed);
    }

    /// Destroys the slot's descriptor, and frees the slot.
    pub(crate) fn release(&self, device: &D, frame: u64, slot: CpuSlot<D>) {
        device.clear_descriptors(Permit::own(), slot.heap(), slot.index(), 1, None);
        self.free(frame, slot);
    }

    fn free(&self, frame: u64, CpuSlot { kind, slot }: CpuSlot<D>) {
        self.blocks(kind).free(slot, frame);
    }

    pub(crate) fn usage(&self, kind: DescriptorKind) -> CpuUse {
        let alive = self.of(kind).alive.load(Ordering::Relaxed);
        let blocks = self.blocks(kind);
        let (capacity, used, peak) = (blocks.capacity, blocks.used, blocks.peak);
        CpuUse { capacity, used, peak, alive: alive.min(used) }
    }

    /// Destroys the heaps that became empty before the frame `oldest`.
    pub(crate) fn trim_older(&self, device: &D, oldest: u64) {
        let mut retired = Vec::new();
        DescriptorKind::ALL.into_iter().for_each(|kind| self.blocks(kind).trim_older(oldest, &mut retired));
        retired.into_iter().for_each(|heap| device.destroy_descriptor_heap(Permit::own(), heap));
    }

    /// Takes out every heap, to be destroyed.
    pub(crate) fn take_all(&self) -> Vec<D::DescriptorHeap> {
        DescriptorKind::ALL.into_iter().flat_map(|kind| self.blocks(kind).take_all()).collect()
    }
}

const fn name(kind: DescriptorKind) -> &'static str {
    match kind {
        DescriptorKind::Resource => "views",
        DescriptorKind::Sampler => "samplers",
        DescriptorKind::RenderTarget => "render target views",
        DescriptorKind::DepthStencil => "depth-stencil views",
    }
}
