//! Page allocators, for resources that are loaded and dropped together.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_heap::Round;

use crate::device::{
    BufferInfo, Device, DeviceError, HeapDesc, MemoryTypeId, Priority, Requirements, ResourceDesc,
};
use crate::memory::policy::PlacementKind;
use crate::memory::{
    AllocationFlags, Backing, HeapPlace, Location, MapWish, MemorySize, MemoryUse, Page, PageRange,
    ResourceRequest, allows, no_memory_type,
};
use crate::registry::{ObjectKind, RegistryKey};
use crate::resource::{
    Buffer, HandleInner, Labels, Texture, TextureDesc, buffer_alignment, placed_needs, refuse_read_only,
};
use crate::services::Services;
use crate::{BufferDesc, Error, Name};

/// Statistics of a [`PageAllocator`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageStats {
    /// Pages taken from the driver.
    pub pages: u64,
    /// Bytes of these pages.
    pub reserved: u64,
    /// Bytes allocated since each page was last empty.
    pub used: u64,
    /// Live resources, including dropped ones still in use by the GPU.
    pub live: u64,
}

/// Description of a page allocator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageAllocatorDesc {
    /// Page size in bytes. The device may require larger pages; a larger resource gets a page of its own.
    pub page_size: u64,
    /// The name.
    pub name: Name,
}

impl PageAllocatorDesc {
    /// An allocator of pages of `page_size` bytes.
    #[must_use]
    pub fn new(page_size: u64) -> Self {
        Self { page_size, name: Name::default() }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// Places resources one after the other in pages; a page becomes free as a whole, when its last resource is released.
///
/// # When to use it
/// Batches that are created and dropped together, such as a level: allocation is a bump, there is no fragmentation, and a
/// dropped batch leaves whole pages free. Its downside: one surviving resource keeps its page.
///
/// A bump in the newest page of the right class; otherwise in an empty page of the class; otherwise in a new page, of the page
/// size (within the device's limits), or the size of a larger request. A resource for which the driver prefers a
/// dedicated allocation is committed.
///
/// # Efficiency
/// O(1) and one API call, unless a page is added; finding an empty page costs O(pages).
///
/// Pages are freed when the allocator and all its resources are released. Any thread may allocate from it; allocations from one
/// allocator wait for each other.
pub struct PageAllocator<D: Device> {
    name: Name,
    page_size: u64,
    pages: Mutex<Vec<Arc<Page<D>>>>,
    registry_key: RegistryKey,
    /// Declared last, as in every handle.
    services: Arc<Services<D>>,
}

debug_fields!([D: Device] PageAllocator<D>, "PageAllocator", this, name: this.name, page_size: this.page_size);

impl<D: Device> PageAllocator<D> {
    pub(crate) fn new(services: &Arc<Services<D>>, desc: &PageAllocatorDesc) -> Self {
        let PageAllocatorDesc { page_size, name } = desc.clone();
        let registry_key = services.context.register(&name, ObjectKind::Pages, 0);
        Self { name, page_size, pages: Mutex::new(Vec::new()), registry_key, services: services.clone() }
    }

    /// Creates a GPU-only or mapped buffer in a page.
    ///
    /// # Errors
    /// As [`Gpu::create_buffer`](crate::Gpu::create_buffer).
    #[inline(never)]
    pub fn create_buffer(&self, desc: &BufferDesc) -> Result<Buffer<D>, Error> {
        let _call = self.services.context.call();
        self.services.context.check_open()?;
        refuse_read_only(&desc.name, desc.read_only, "it is in a page: call Gpu::make_read_only")?;
        let resource = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
        buffer_alignment(&self.services.context, desc)?;
        let needs = placed_needs(&self.services.context, desc, &resource)?;
        let backing = self.create(&resource, &needs, (desc.memory, desc.allocation), &desc.name)?;
        let trace = self.services.context.recorder.allocate(desc.size, needs.alignment, desc.memory, false);
        let inner = HandleInner::new(
            &self.services.context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Buffer,
            backing,
            desc.size,
            trace,
        );
        Ok(Buffer::from_parts(inner, desc.usage, desc.memory))
    }

    /// Creates a texture in a page.
    ///
    /// # Errors
    /// As [`Gpu::create_texture`](crate::Gpu::create_texture).
    #[inline(never)]
    pub fn create_texture(&self, desc: &TextureDesc) -> Result<Texture<D>, Error> {
        let _call = self.services.context.call();
        self.services.context.check_open()?;
        refuse_read_only(&desc.name, desc.read_only, "it is in a page: call Gpu::make_read_only")?;
        let resource = ResourceDesc::Texture(desc.info.clone());
        let needs = self.services.context.requirements(&desc.name, &resource)?;
        let backing = self.create(&resource, &needs, (MemoryUse::GpuOnly, desc.allocation), &desc.name)?;
        let trace =
            self.services.context.recorder.allocate(needs.size, needs.alignment, MemoryUse::GpuOnly, true);
        let inner = HandleInner::new(
            &self.services.context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Texture,
            backing,
            needs.size,
            trace,
        );
        Ok(Texture::from_parts(inner, desc.info.clone()))
    }

    /// Statistics. Cost: O(pages).
    #[must_use]
    #[inline(never)]
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
        (memory_use, flags): (MemoryUse, AllocationFlags),
        name: &Name,
    ) -> Result<Backing<D>, Error> {
        let committed = ResourceRequest::new(resource, needs, PlacementKind::Committed, name);
        let committed = ResourceRequest { memory_use, flags, ..committed };
        if needs.wants_dedicated() {
            return self.services.context.place_resource(&*self.services, committed);
        }
        let alignment = self.services.context.device().properties().heap_alignment_for(resource, needs);
        let (range, heap) = match self.take_range(needs, alignment, memory_use, flags) {
            Ok(found) => found,
            Err(error) if error.is_shortage() => {
                return self.services.context.place_resource(&*self.services, committed);
            }
            Err(error) => return Err(self.services.context.refused(name, error)),
        };
        let (device, objects) = (self.services.context.device(), &self.services.context.pools.objects);
        let wish = MapWish::new(range.page.memory, memory_use.is_mapped(), || false);
        let place = HeapPlace { heap: &*heap, offset: range.offset, wish, block: None };
        let made = objects.create_placed(device, resource, &place, name);
        drop(heap);
        match made {
            Ok(api_resource) => Ok(Backing { api_resource, location: Location::Page(range) }),
            Err(error) => {
                self.free_unused(&range);
                if error.is_shortage() {
                    self.services.context.place_resource(&*self.services, committed)
                } else {
                    Err(self.services.context.refused(name, error))
                }
            }
        }
    }

    /// Frees a range whose resource could not be created, and its page if it has no other resource.
    fn free_unused(&self, range: &PageRange<D>) {
        let mut pages = self.pages.lock();
        let mut heap = range.page.remove_resource();
        if range.page.usage().1 == 0 {
            pages.retain(|page| !Arc::ptr_eq(page, &range.page));
            heap = heap.or_else(|| range.page.close());
        }
        drop(pages);
        if let Some(heap) = heap {
            self.destroy(heap, range.page.own());
        }
    }

    /// A range of a page, with the heap to place the resource in. Pages are created within the budget, in the preferred memory;
    /// beyond the budget, each resource takes the path of ordinary resources. `heap_alignment` is the alignment that the heap
    /// needs for the resource.
    fn take_range(
        &self,
        needs: &Requirements,
        heap_alignment: u64,
        memory_use: MemoryUse,
        flags: AllocationFlags,
    ) -> Result<(PageRange<D>, Arc<D::Heap>), DeviceError> {
        let order = self.services.context.pools.order(memory_use);
        let mut refusal = no_memory_type(order, needs.memory_types, needs.size);
        let heaps = self.services.context.pools.heap_properties();
        let memory_types =
            flags.memory_types(self.services.context.device().properties(), needs.memory_types);
        let allowed = || order.iter().copied().filter(|memory| allows(memory_types, *memory));
        let preferred = allowed().next();
        let is_preferred =
            |memory: &MemoryTypeId| preferred.is_some_and(|best| heaps.is_alike(best, *memory));
        if flags.contains(AllocationFlags::WITHIN_BUDGET) {
            self.services.context.pools.objects.limits.expire_budgets();
        }
        let mut pages = self.pages.lock();
        for memory in allowed().filter(is_preferred) {
            let fits = |page: &&Arc<Page<D>>| {
                let is_aligned = page.alignment >= heap_alignment;
                page.memory == memory && page.category == needs.category && is_aligned
            };
            // Whole atoms, so that no flush touches a neighbour.
            let atom = heaps.flush_atom(memory);
            let too_large = DeviceError::OutOfMemory { requested: needs.size, memory };
            let size = needs.size.checked_next_multiple_of(atom).ok_or_else(|| too_large.clone())?;
            let align = needs.alignment.max(atom);
            let find = |pages: &[Arc<Page<D>>]| {
                pages.iter().rev().filter(fits).find_map(|page| page.take(size, align))
            };
            if let Some(found) = find(&pages) {
                return Ok(found);
            }
            drop(pages);
            self.services.context.reclaim_without_frames();
            pages = self.pages.lock();
            if let Some(found) = find(&pages) {
                return Ok(found);
            }
            let (category, priority) = (needs.category, Priority::Normal);
            let desc = HeapDesc { size, alignment: heap_alignment, memory, category, priority };
            match flags.check_allocates(size, memory).and_then(|()| self.new_page(desc)) {
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

    /// Creates a page for at least the bytes of `desc`: of the allocator's page size or the device's maximum, or a half, a
    /// quarter or an eighth of it when the budget or the driver has no more.
    fn new_page(&self, desc: HeapDesc) -> Result<Page<D>, DeviceError> {
        let HeapDesc { size, alignment, memory, .. } = desc;
        let (objects, device) = (&self.services.context.pools.objects, self.services.context.device());
        let limit = device.properties().max_heap_size;
        let limit = limit - limit % alignment;
        let largest = size.max(self.page_size.min(limit)).checked_next_multiple_of(alignment);
        let too_large = DeviceError::OutOfMemory { requested: size, memory };
        let largest = largest.filter(|page| *page <= limit).ok_or(too_large)?;
        let smaller = (0..4).map(|halvings| (largest >> halvings).next_multiple_of(alignment));
        let sizes = smaller.filter(|page| *page >= size);
        objects.make_block(device, memory, sizes, Round::WithinBudget, |size| {
            let desc = HeapDesc { size, ..desc.clone() };
            let heap = objects.create_heap(device, &desc, self.name.as_str(), &objects.page_memory)?;
            Ok(Page::new(heap, &desc))
        })
    }

    fn destroy(&self, heap: D::Heap, own: MemorySize) {
        let objects = &self.services.context.pools.objects;
        objects.destroy_heap(self.services.context.device(), heap, own, &objects.page_memory);
    }
}

impl<D: Device> Drop for PageAllocator<D> {
    #[inline(never)]
    fn drop(&mut self) {
        self.services.context.unregister(self.registry_key);
        // The resources of an empty page have been through the release queue: the GPU does not use them.
        for page in std::mem::take(self.pages.get_mut()) {
            if let Some(heap) = page.close() {
                self.destroy(heap, page.own());
            }
        }
    }
}
