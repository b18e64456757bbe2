//! Allocations of device memory, and heaps.

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use ash::vk;
use parking_lot::{Mutex, RwLock};
use tenure_core::device::{
    CallRule, DeviceError, HeapCategory, HeapDesc, MemoryFlags, MemoryTypeId, Priority, ResourceDesc, check,
};

use super::Memories;
use crate::features::OptionalFeatures;

/// The address of byte 0 of mapped memory.
#[derive(Clone, Copy)]
pub(crate) struct Address(NonNull<u8>);

// SAFETY: an address is a number; each use of it is unsafe, with its own check.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl Address {
    pub(crate) const fn new(address: NonNull<u8>) -> Self {
        Self(address)
    }

    pub(crate) const fn get(self) -> NonNull<u8> {
        self.0
    }
}

/// A `VkDeviceMemory`: a heap, or the memory of a committed resource.
///
/// Kept alive by the heap, the resources placed in it, its tiles and all mappings. Once the contract has
/// destroyed it, it is freed when the last of them is dropped: immediately if the caller keeps the contract, and
/// never under a mapping.
pub(crate) struct Memory {
    owner: Arc<Memories>,
    pub(crate) handle: vk::DeviceMemory,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) kind: MemoryTypeId,
    /// tenure allocated it, or was given it.
    is_ours: bool,
    /// The bytes that count as taken from the device, if it is one of the device's allocations. Imported memory
    /// does not count.
    counted: Option<u64>,
    /// The handle types for export.
    #[cfg(unix)]
    pub(crate) exported: HandleTypes,
    /// The owner of imported host memory, kept until the memory is freed.
    host: Option<HostOwner>,
    is_destroyed: AtomicBool,
    /// The address of the whole mapping, which stays until the memory is freed; `None` before the first mapping.
    address: Mutex<Option<Address>>,
    /// For memory that needs flushes: shared by writes, from the first byte to the flush, and exclusive to
    /// invalidations.
    pub(crate) unflushed: RwLock<()>,
}

/// The owner of host memory, which keeps it valid.
pub(crate) type HostOwner = Arc<dyn Send + Sync>;

/// Memory of others.
pub(crate) enum Import<'a> {
    /// By a file descriptor, which is the driver's when the allocation has succeeded.
    #[cfg(unix)]
    Fd(vk::ImportMemoryFdInfoKHR<'a>, std::os::fd::OwnedFd),
    /// The program's own memory, and its owner.
    Host(vk::ImportMemoryHostPointerInfoEXT<'a>, HostOwner),
}

impl Import<'_> {
    /// The owner of imported host memory, to be kept until it is freed; `None` for other memory.
    fn taken(self) -> Option<HostOwner> {
        match self {
            #[cfg(unix)]
            Self::Fd(_, fd) => {
                let _the_drivers = std::os::fd::IntoRawFd::into_raw_fd(fd);
                None
            }
            Self::Host(_, owner) => Some(owner),
        }
    }
}

/// The handle types by which memory is shared; empty for memory that is not shared.
pub(crate) type HandleTypes = vk::ExternalMemoryHandleTypeFlags;

/// The extension's value: allocations without a priority have 0.5.
pub(crate) const fn weight(priority: Priority) -> f32 {
    match priority {
        Priority::Low => 0.25,
        Priority::Normal => 0.5,
        Priority::High => 1.0,
    }
}

/// The purpose of an allocation.
pub(crate) struct Allocation<'a> {
    pub(crate) size: u64,
    pub(crate) kind: MemoryTypeId,
    pub(crate) priority: Priority,
    /// Buffers will be in it.
    pub(crate) holds_buffers: bool,
    /// The only resource in it.
    pub(crate) dedicated: Option<vk::MemoryDedicatedAllocateInfo<'a>>,
    /// The handle types for export.
    pub(crate) exported: HandleTypes,
    /// The memory is there already.
    pub(crate) import: Option<Import<'a>>,
}

impl Memories {
    /// Allocates memory from the driver.
    pub(crate) fn allocate(self: &Arc<Self>, asked: Allocation<'_>) -> Result<Arc<Memory>, DeviceError> {
        let Allocation { size, kind, priority, holds_buffers, dedicated, exported, mut import } = asked;
        let properties = &self.tables.properties;
        let counted = if import.is_some() { 0 } else { size };
        self.count.take(properties, kind, [size, counted])?;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut weight = vk::MemoryPriorityAllocateInfoEXT::default().priority(weight(priority));
        let mut dedicated = dedicated;
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(exported);
        let mut info =
            vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(u32::from(kind.0));
        if holds_buffers && self.api.address.is_some() {
            info = info.push_next(&mut flags);
        }
        if self.api.uses(OptionalFeatures::MEMORY_PRIORITY) {
            info = info.push_next(&mut weight);
        }
        if let Some(dedicated) = &mut dedicated {
            info = info.push_next(dedicated);
        }
        if !exported.is_empty() {
            info = info.push_next(&mut export);
        }
        info = match &mut import {
            None => info,
            #[cfg(unix)]
            Some(Import::Fd(fd, _)) => info.push_next(fd),
            Some(Import::Host(host, _)) => info.push_next(host),
        };
        // SAFETY: the memory type exists, the structures in the chain belong to enabled features. The importer
        // promises that the handle is valid.
        match unsafe { self.api.device.allocate_memory(&info, None) } {
            Ok(handle) => {
                #[cfg(unix)]
                if matches!(import, Some(Import::Fd(..))) {
                    self.count.note_import();
                }
                Ok(Arc::new(Memory {
                    owner: self.clone(),
                    handle,
                    size,
                    kind,
                    is_ours: true,
                    counted: Some(counted),
                    #[cfg(unix)]
                    exported,
                    host: import.and_then(Import::taken),
                    is_destroyed: AtomicBool::new(false),
                    address: Mutex::new(None),
                    unflushed: RwLock::new(()),
                }))
            }
            Err(result) => {
                self.count.release(properties, kind, counted);
                Err(self.error_of("vkAllocateMemory", result, Some((size, kind))))
            }
        }
    }
}

impl Memory {
    /// Memory that the program allocated. `address`: the program's mapping of byte 0, if any.
    pub(crate) fn adopt(
        memories: &Arc<Memories>,
        handle: vk::DeviceMemory,
        size: u64,
        kind: MemoryTypeId,
        is_ours: bool,
        address: Option<Address>,
    ) -> Self {
        Self {
            owner: memories.clone(),
            handle,
            size,
            kind,
            is_ours,
            counted: None,
            #[cfg(unix)]
            exported: HandleTypes::empty(),
            host: None,
            is_destroyed: AtomicBool::new(false),
            address: Mutex::new(address),
            unflushed: RwLock::new(()),
        }
    }

    pub(crate) const fn owner(&self) -> &Arc<Memories> {
        &self.owner
    }

    /// Frees it as soon as the last reference is dropped.
    pub(crate) fn destroy(self: Arc<Self>) {
        self.is_destroyed.store(true, Ordering::Release);
    }

    /// True when the CPU's accesses need flushes and invalidations.
    pub(crate) fn needs_flushes(&self) -> bool {
        self.owner.memory_flags(self.kind).is_ok_and(|flags| !flags.contains(MemoryFlags::HOST_COHERENT))
    }

    /// Maps the whole allocation, once, and returns the address of byte 0.
    pub(crate) fn map(&self) -> Result<Address, DeviceError> {
        let flags = self.owner.memory_flags(self.kind)?;
        if !flags.contains(MemoryFlags::HOST_VISIBLE) {
            return Err(DeviceError::invalid_value(CallRule::HostVisible, u64::from(flags.bits())));
        }
        let mut address = self.address.lock();
        if let Some(address) = *address {
            return Ok(address);
        }
        if !self.is_ours {
            return Err(DeviceError::broken_rule("memory of another owner is mapped by its owner"));
        }
        let flags = vk::MemoryMapFlags::empty();
        // SAFETY: the memory is host-visible and ours, and, under the lock, not mapped.
        let mapped = unsafe { self.owner.api.device.map_memory(self.handle, 0, vk::WHOLE_SIZE, flags) };
        let mapped = mapped.map_err(|result| self.owner.error("vkMapMemory", result))?;
        let Some(found) = NonNull::new(mapped.cast::<u8>()) else {
            return Err(DeviceError::OutOfHostMemory { what: "vkMapMemory" });
        };
        Ok(*address.insert(Address::new(found)))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Without a word from the contract the GPU may still use it.
        if !self.is_ours || !*self.is_destroyed.get_mut() {
            core::mem::forget(self.host.take());
            return;
        }
        // SAFETY: the contract has destroyed all that is in it, and no mapping is left. Freeing
        // also unmaps.
        unsafe { self.owner.api.device.free_memory(self.handle, None) };
        if let Some(bytes) = self.counted {
            self.owner.count.release(&self.owner.tables.properties, self.kind, bytes);
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} B, type {}", self.handle, self.size, self.kind.0)
    }
}

/// A block of device memory: a handle for
/// [`Device::destroy_heap`](tenure_core::device::MemoryDevice::destroy_heap). Dropping it without that
/// leaks the memory.
pub struct Heap {
    pub(crate) memory: Arc<Memory>,
    pub(crate) category: HeapCategory,
}

impl Heap {
    /// The memory. Do not free, map or unmap it.
    #[must_use]
    pub fn memory(&self) -> vk::DeviceMemory {
        self.memory.handle
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.memory.size
    }

    /// The memory type.
    #[must_use]
    pub fn memory_type(&self) -> MemoryTypeId {
        self.memory.kind
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("memory", &self.memory).field("category", &self.category).finish()
    }
}

impl Memories {
    fn check_heap(&self, desc: &HeapDesc) -> Result<(), DeviceError> {
        let properties = &self.tables.properties;
        self.memory_flags(desc.memory)?;
        let least = properties.heap_alignment;
        if !desc.alignment.is_power_of_two() || desc.alignment < least {
            let rule = CallRule::HeapAlignment;
            return Err(DeviceError::invalid_call(rule, desc.alignment, least));
        }
        check::heap_size(desc, properties.max_heap_size)
    }

    pub(crate) fn create_heap(self: &Arc<Self>, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.alive()?;
        self.check_heap(desc)?;
        let memory = self.allocate(Allocation {
            size: desc.size,
            kind: desc.memory,
            priority: desc.priority,
            holds_buffers: matches!(desc.category, HeapCategory::Any | HeapCategory::Buffers),
            dedicated: None,
            exported: HandleTypes::empty(),
            import: None,
        })?;
        Ok(Heap { memory, category: desc.category })
    }

    /// The category of heap for a resource.
    pub(crate) fn category(&self, desc: &ResourceDesc) -> HeapCategory {
        if self.tables.split { own_category(desc) } else { HeapCategory::Any }
    }

    /// Rejects a heap of another category than the resource's. A heap for all categories is rejected where
    /// `bufferImageGranularity` separates buffers from images.
    pub(crate) fn check_category(&self, desc: &ResourceDesc, heap: HeapCategory) -> Result<(), DeviceError> {
        check::category(own_category(desc), heap, !self.tables.split)
    }
}

/// The narrowest category of heap that a resource may be in.
const fn own_category(desc: &ResourceDesc) -> HeapCategory {
    match desc {
        ResourceDesc::Buffer(_) => HeapCategory::Buffers,
        ResourceDesc::Texture(_) => HeapCategory::Textures,
    }
}
