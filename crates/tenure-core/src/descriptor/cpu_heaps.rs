//! Heaps of descriptors that shaders do not see.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::store::DescriptorService;
use crate::context::{Context, CpuSlot};
use crate::device::{Descriptor, DescriptorHeapDesc, DescriptorKind, Device, DeviceError, ObjectRef, Permit};
use crate::slot_blocks::SlotBlocks;

/// The heaps of one kind.
struct CpuHeap<D: Device> {
    blocks: Mutex<SlotBlocks<D::DescriptorHeap>>,
    /// Descriptors whose handle lives; the rest of those in use wait for the GPU.
    alive: AtomicU64,
}

/// What is in use of one kind of descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuUse {
    pub(super) capacity: u64,
    pub(super) used: u64,
    pub(super) peak: u64,
    pub(super) alive: u64,
}

/// Growing heaps of each kind.
pub(super) struct CpuHeaps<D: Device> {
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

    /// A slot that holds nothing, in a new heap where the others are full.
    fn take(&self, service: &DescriptorService<D>, kind: DescriptorKind) -> Result<CpuSlot<D>, DeviceError> {
        let context = &service.context;
        let mut blocks = self.blocks(kind);
        if blocks.with_room().is_none() {
            drop(blocks);
            context.reclaim_without_frames();
            blocks = self.blocks(kind);
        }
        if blocks.with_room().is_none() {
            let count = context.config.descriptors.block;
            let desc = DescriptorHeapDesc { kind, count, shader_visible: false };
            let heap = context.device().create_descriptor_heap(&desc)?;
            service.store.note_made();
            context.device().set_name(Permit::own(), ObjectRef::DescriptorHeap(&heap), name(kind));
            if let Err(heap) = blocks.add(heap, count, context.current_frame()) {
                context.device().destroy_descriptor_heap(Permit::own(), heap);
            }
        }
        match blocks.take() {
            Some(slot) => Ok(CpuSlot { kind, slot }),
            None => Err(DeviceError::OutOfHostMemory { what: "a heap of descriptors" }),
        }
    }

    /// Makes a descriptor.
    pub(super) fn make(
        &self,
        service: &DescriptorService<D>,
        descriptor: &Descriptor<'_, D>,
    ) -> Result<CpuSlot<D>, DeviceError> {
        let slot = self.take(service, descriptor.kind())?;
        let context = &service.context;
        match context.device().write_descriptor(Permit::own(), slot.heap(), slot.index(), descriptor) {
            Ok(()) => {
                self.of(slot.kind).alive.fetch_add(1, Ordering::Relaxed);
                Ok(slot)
            }
            Err(error) => {
                self.free(context, slot);
                Err(error)
            }
        }
    }

    /// The handle of a descriptor is gone.
    pub(super) fn note_dropped(&self, kind: DescriptorKind) {
        self.of(kind).alive.fetch_sub(1, Ordering::Relaxed);
    }

    /// The slot's descriptor is destroyed, and the slot is free.
    pub(super) fn release(&self, context: &Context<D>, slot: CpuSlot<D>) {
        context.device().clear_descriptors(Permit::own(), slot.heap(), slot.index(), 1, None);
        self.free(context, slot);
    }

    fn free(&self, context: &Context<D>, CpuSlot { kind, slot }: CpuSlot<D>) {
        self.blocks(kind).free(slot, context.current_frame());
    }

    pub(super) fn usage(&self, kind: DescriptorKind) -> CpuUse {
        let alive = self.of(kind).alive.load(Ordering::Relaxed);
        let blocks = self.blocks(kind);
        let (capacity, used, peak) = (blocks.capacity, blocks.used, blocks.peak);
        CpuUse { capacity, used, peak, alive: alive.min(used) }
    }

    /// Destroys the heaps that have been empty since before the frame `oldest`.
    pub(super) fn retire(&self, device: &D, oldest: u64) {
        let mut retired = Vec::new();
        DescriptorKind::ALL.into_iter().for_each(|kind| self.blocks(kind).retire(oldest, &mut retired));
        retired.into_iter().for_each(|heap| device.destroy_descriptor_heap(Permit::own(), heap));
    }

    /// Every heap, to be destroyed.
    pub(super) fn take_all(&self) -> Vec<D::DescriptorHeap> {
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
