//! Page allocators: for what is loaded together and dropped together (spec M8).

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Held, Texture, TextureDesc};
use crate::device::{BufferInfo, Device, DeviceError, HeapDesc, Priority, Requirements, ResourceDesc};
use crate::gpu::Shared;
use crate::memory::policy::Placement;
use crate::memory::{
    Home, MemoryOwner, MemoryUse, Page, PageSeat, Place, ResourceRequest, allows, flush_atom,
};
use crate::registry::{ObjectKind, RecordKey};
use crate::resource::Buffer;
use crate::{BufferDesc, Error, Name};

/// What a [`PageAllocator`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageStats {
    /// Pages taken from the driver.
    pub pages: u64,
    /// Their bytes.
    pub reserved: u64,
    /// Bytes handed out since each page was last empty.
    pub used: u64,
    /// Resources alive, or dropped and still in use by the GPU.
    pub live: u64,
}

/// Places resources one behind the other in pages; a page becomes empty again as a whole, when the
/// last resource in it is gone.
///
/// # What it is good at
/// Batches that come and go together, such as a level: creation is a bump, nothing fragments, and
/// what leaves together leaves whole pages. Its downside: one survivor keeps its page.
///
/// # Algorithm
/// A bump in the newest page of the right class; else in an empty page of it; else a new page, of
/// the page size (as far as the device allows) or the request, whichever is larger. A resource that
/// the driver wants dedicated is committed.
///
/// # Efficiency
/// O(1) and one API call, unless a page is added; finding an empty page costs O(pages).
///
/// Pages are given back when the allocator and all its resources are gone.
/// Any thread may create from it; creations from one allocator wait for each other.
pub struct PageAllocator<D: Device> {
    shared: Arc<Shared<D>>,
    name: Name,
    page_size: u64,
    pages: Mutex<Vec<Arc<Page<D>>>>,
    record: RecordKey,
}

impl<D: Device> PageAllocator<D> {
    pub(crate) fn new(shared: &Arc<Shared<D>>, name: Name, page_size: u64) -> Self {
        let record = shared.register(&name, ObjectKind::Pages, 0);
        Self { shared: shared.clone(), name, page_size, pages: Mutex::new(Vec::new()), record }
    }

    /// Creates a buffer for the GPU alone, or a mapped one, in a page.
    ///
    /// # Errors
    /// As [`Gpu::create_buffer`](crate::Gpu::create_buffer).
    pub fn create_buffer(&self, desc: &BufferDesc) -> Result<Buffer<D>, Error> {
        let resource = ResourceDesc::Buffer(BufferInfo { size: desc.size, usage: desc.usage });
        self.shared.buffer_alignment(desc)?;
        let needs = self.shared.placed_needs(desc, &resource)?;
        let home = self.create(&resource, &needs, desc.memory, &desc.name)?;
        let trace = self.shared.recorder.allocate(desc.size, needs.alignment, desc.memory, false);
        let held = Held::new(&self.shared, &desc.name, ObjectKind::Buffer, home, desc.size, trace);
        Ok(Buffer::from_parts(held, desc.usage, desc.memory))
    }

    /// Creates a texture in a page.
    ///
    /// # Errors
    /// As [`Gpu::create_texture`](crate::Gpu::create_texture).
    pub fn create_texture(&self, desc: &TextureDesc) -> Result<Texture<D>, Error> {
        let resource = ResourceDesc::Texture(desc.info.clone());
        let needs = self.shared.requirements(&desc.name, &resource)?;
        let home = self.create(&resource, &needs, MemoryUse::GpuOnly, &desc.name)?;
        let trace = self.shared.recorder.allocate(needs.size, needs.alignment, MemoryUse::GpuOnly, true);
        let held = Held::new(&self.shared, &desc.name, ObjectKind::Texture, home, needs.size, trace);
        Ok(Texture::from_parts(held, desc.info.clone()))
    }

    /// What it holds. Cost: its pages.
    #[must_use]
    pub fn stats(&self) -> PageStats {
        let pages = self.pages.lock();
        pages.iter().fold(PageStats::default(), |sum, page| {
            let (used, live) = page.usage();
            PageStats {
                pages: sum.pages + 1,
                reserved: sum.reserved + page.size,
                used: sum.used + used,
                live: sum.live + live,
            }
        })
    }

    fn create(
        &self,
        resource: &ResourceDesc,
        needs: &Requirements,
        memory_use: MemoryUse,
        name: &Name,
    ) -> Result<Home<D>, Error> {
        let (placement, owner) = (Placement::Committed, MemoryOwner::Resource);
        let committed = ResourceRequest { desc: resource, needs, placement, memory_use, owner, name };
        if needs.wants_dedicated() {
            return self.shared.place_resource(committed);
        }
        let alignment = self.shared.device().properties().heap_alignment_for(resource, needs);
        let (seat, heap) = match self.seat(needs, alignment, memory_use) {
            Ok(found) => found,
            Err(error) if error.is_shortage() => return self.shared.place_resource(committed),
            Err(error) => return Err(self.shared.refused(name, error)),
        };
        let (device, objects) = (self.shared.device(), &self.shared.pools.objects);
        let mapped = memory_use.is_mapped().then_some(seat.page.memory);
        let made = objects.create_placed(device, resource, &heap, seat.offset, mapped, name);
        drop(heap);
        match made {
            Ok(native) => Ok(Home { native, place: Place::Page(seat) }),
            Err(error) => {
                self.give_up(&seat);
                if error.is_shortage() {
                    self.shared.place_resource(committed)
                } else {
                    Err(self.shared.refused(name, error))
                }
            }
        }
    }

    /// Undoes a seat whose resource could not be made, and the page if nothing else is in it.
    fn give_up(&self, seat: &PageSeat<D>) {
        let mut pages = self.pages.lock();
        let mut heap = seat.page.leave();
        if seat.page.usage().1 == 0 {
            pages.retain(|page| !Arc::ptr_eq(page, &seat.page));
            heap = heap.or_else(|| seat.page.retire());
        }
        drop(pages);
        if let Some(heap) = heap {
            self.destroy(heap, seat.page.size);
        }
    }

    /// A seat in a page that suits, with the heap to place the resource in; `heap_alignment` is
    /// what that needs.
    fn seat(
        &self,
        needs: &Requirements,
        heap_alignment: u64,
        memory_use: MemoryUse,
    ) -> Result<(PageSeat<D>, Arc<D::Heap>), DeviceError> {
        let order = self.shared.pools.order(memory_use);
        let mut refusal = DeviceError::Unsupported { feature: "a memory type for this resource and use" };
        let mut pages = self.pages.lock();
        for memory in order.iter().copied().filter(|memory| allows(needs.memory_types, *memory)) {
            let fits = |page: &&Arc<Page<D>>| {
                let is_aligned = page.alignment >= heap_alignment;
                page.memory == memory && page.category == needs.category && is_aligned
            };
            // Whole atoms, so that no flush reaches into a neighbour.
            let atom = flush_atom(self.shared.device().properties(), memory);
            let too_large = DeviceError::OutOfMemory { requested: needs.size, memory };
            let size = needs.size.checked_next_multiple_of(atom).ok_or_else(|| too_large.clone())?;
            let align = needs.alignment.max(atom);
            if let Some(seat) = pages.iter().rev().filter(fits).find_map(|page| page.take(size, align)) {
                return Ok(seat);
            }
            let (category, priority) = (needs.category, Priority::Normal);
            match self.new_page(HeapDesc { size, alignment: heap_alignment, memory, category, priority }) {
                Ok(page) => {
                    let page = Arc::new(page);
                    pages.push(page.clone());
                    return page.take(size, align).ok_or(too_large);
                }
                Err(error) if error.is_shortage() => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    /// A page with at least the bytes of `desc`; as large as the allocator's pages are, or as the
    /// device allows.
    fn new_page(&self, desc: HeapDesc) -> Result<Page<D>, DeviceError> {
        let HeapDesc { size, alignment, memory, .. } = desc;
        let limit = self.shared.device().properties().max_heap_size;
        let limit = limit - limit % alignment;
        let page = size.max(self.page_size.min(limit)).checked_next_multiple_of(alignment);
        let too_large = DeviceError::OutOfMemory { requested: size, memory };
        let size = page.filter(|page| *page <= limit).ok_or(too_large)?;
        let desc = HeapDesc { size, ..desc };
        let (objects, device) = (&self.shared.pools.objects, self.shared.device());
        let heap = objects.create_heap(device, &desc, self.name.as_str(), &objects.page_memory)?;
        Ok(Page::new(heap, &desc))
    }

    fn destroy(&self, heap: D::Heap, size: u64) {
        let objects = &self.shared.pools.objects;
        objects.destroy_heap(self.shared.device(), heap, size, &objects.page_memory);
    }
}

impl<D: Device> Drop for PageAllocator<D> {
    fn drop(&mut self) {
        self.shared.registry.remove(self.record);
        // What was in an empty page has been through the release queue: nothing uses it.
        for page in std::mem::take(self.pages.get_mut()) {
            if let Some(heap) = page.retire() {
                self.destroy(heap, page.size);
            }
        }
    }
}
