//! The device behind the pools: creates heaps and reports its memory.

use bitflags::bitflags;

bitflags! {
    /// Properties of a memory type.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MemoryFlags: u32 {
        /// Fast for the GPU.
        const DEVICE_LOCAL = 1 << 0;
        /// The CPU can map it.
        const HOST_VISIBLE = 1 << 1;
        /// Writes and reads need no flush or invalidate.
        const HOST_COHERENT = 1 << 2;
        /// CPU reads are cached: suitable for readback.
        const HOST_CACHED = 1 << 3;
        /// Allocated lazily from tile memory; for targets that stay in the tile.
        const LAZILY_ALLOCATED = 1 << 4;
        /// Memory for special purposes (protected content, device-coherent memory for debugging).
        const SPECIAL = 1 << 5;
    }
}

/// The maximum number of memory types of a device.
pub const MAX_MEMORY_TYPES: usize = 32;

/// Index of a memory type in [`HeapProperties::memory_types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryTypeId(pub u8);

/// One kind of memory, in one heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryType {
    /// The properties.
    pub flags: MemoryFlags,
    /// Index into [`HeapProperties::memory_heaps`].
    pub heap: u8,
}

/// A physical memory heap: video memory, system memory, the BAR window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryHeap {
    /// Bytes.
    pub size: u64,
    /// True if it is local to the GPU.
    pub device_local: bool,
}

impl MemoryHeap {
    /// True for a BAR window, the CPU-visible part of a card's memory without resizable BAR, usually 256 MiB:
    /// device-local, but less than half the size of the largest such heap of `all`. Drivers use it themselves.
    ///
    /// ```
    /// use tenure_heap::MemoryHeap;
    /// let heap = |size, device_local| MemoryHeap { size, device_local };
    /// let card = [heap(8 << 30, true), heap(16 << 30, false), heap(256 << 20, true)];
    /// assert_eq!(card.iter().map(|heap| heap.is_window(&card)).collect::<Vec<_>>(), [false, false, true]);
    /// ```
    #[must_use]
    pub fn is_window(&self, all: &[Self]) -> bool {
        let largest = all.iter().filter(|heap| heap.device_local).map(|heap| heap.size).max();
        self.device_local && largest.is_some_and(|largest| self.size < largest / 2)
    }
}

impl MemoryType {
    /// True for CPU-visible device-local memory of the same size as the GPU's memory, unlike a BAR window: GPU upload
    /// heaps on Direct3D 12, or resizable BAR.
    #[must_use]
    pub fn is_gpu_upload(&self, heaps: &[MemoryHeap]) -> bool {
        let mapped_local = MemoryFlags::DEVICE_LOCAL | MemoryFlags::HOST_VISIBLE;
        self.flags.contains(mapped_local)
            && !self.flags.contains(MemoryFlags::SPECIAL)
            && heaps.get(usize::from(self.heap)).is_some_and(|heap| !heap.is_window(heaps))
    }
}

/// The kinds of resources that a heap may hold.
///
/// On D3D12 heap tier 1, the three kinds are separate; tier 2 supports [`Any`](Self::Any). On Vulkan, linear and
/// optimal resources are separate if `bufferImageGranularity` would otherwise require padding between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeapCategory {
    /// All resources.
    Any,
    /// Buffers (and linear images).
    Buffers,
    /// Render-target and depth-stencil textures.
    Targets,
    /// All other textures (and optimal images).
    Textures,
}

impl HeapCategory {
    /// Every category, in index order.
    pub const ALL: [Self; 4] = [Self::Any, Self::Buffers, Self::Targets, Self::Textures];
}

/// The priority of staying resident when fast memory is scarce.
///
/// A hint: `VK_EXT_memory_priority`, `ID3D12Device1::SetResidencyPriority`; ignored elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Evicted first.
    Low,
    /// For most resources.
    #[default]
    Normal,
    /// Resources written by the GPU: the most expensive to move out of video memory.
    High,
}

/// A heap to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapDesc {
    /// Bytes; a multiple of the alignment.
    pub size: u64,
    /// Bytes; a power of two. 4 MiB for multisampled textures on D3D12.
    pub alignment: u64,
    /// The memory type.
    pub memory: MemoryTypeId,
    /// The resources that the heap may hold.
    pub category: HeapCategory,
    /// The residency priority.
    pub priority: Priority,
}

/// Budget and usage of one memory heap, as reported by the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapBudget {
    /// Bytes that the process may use before memory is paged or refused. 0 if unknown.
    pub budget: u64,
    /// Bytes in use.
    pub usage: u64,
}

impl HeapBudget {
    /// True if `bytes` more are within the budget, or if the budget is unknown.
    ///
    /// ```
    /// use tenure_heap::HeapBudget;
    /// assert!(HeapBudget { budget: 100, usage: 60 }.grants(40));
    /// assert!(!HeapBudget { budget: 100, usage: 60 }.grants(41));
    /// assert!(HeapBudget { budget: 0, usage: 60 }.grants(41), "0 means unknown");
    /// ```
    #[must_use]
    pub const fn grants(&self, bytes: u64) -> bool {
        let with_them = self.usage.checked_add(bytes);
        self.budget == 0 || matches!(with_them, Some(usage) if usage <= self.budget)
    }
}

/// The memory properties of a device. Constant for its lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapProperties {
    /// The memory types, from 1 to [`MAX_MEMORY_TYPES`].
    pub memory_types: Vec<MemoryType>,
    /// The memory heaps that the types refer to.
    pub memory_heaps: Vec<MemoryHeap>,
    /// Bytes, a power of two: the minimum alignment of heaps, and the granularity of their sizes.
    pub heap_alignment: u64,
    /// Bytes, a power of two: the heap alignment that multisampled textures need.
    pub msaa_heap_alignment: u64,
    /// Bytes, a power of two: the granularity of flushes of non-coherent memory.
    pub non_coherent_atom: u64,
    /// The maximum number of live driver allocations (Vulkan: `maxMemoryAllocationCount`). Pools create larger blocks
    /// near this limit; the device refuses more.
    pub max_allocations: u64,
    /// Bytes of the largest single heap.
    pub max_heap_size: u64,
}

/// Inconsistent properties: see [`HeapProperties::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidProperties {
    /// No memory type, or too many.
    #[error("{types} memory types: must be 1 to {max}")]
    MemoryTypes {
        /// The number of memory types.
        types: usize,
        /// The maximum number.
        max: usize,
    },
    /// The heap of a memory type does not exist.
    #[error("a memory type is in memory heap {heap}, but there are {heaps}: each heap must exist")]
    MemoryHeap {
        /// The index of the heap.
        heap: u8,
        /// The number of heaps.
        heaps: usize,
    },
    /// A property is not a power of two.
    #[error("{property} = {value} B: must be a power of two")]
    NotPowerOfTwo {
        /// The property.
        property: &'static str,
        /// The value.
        value: u64,
    },
}

impl HeapProperties {
    /// Checks the values that the pools rely on.
    ///
    /// # Errors
    /// [`InvalidProperties`] for the first violated rule.
    ///
    /// ```
    /// use tenure_heap::{HeapProperties, InvalidProperties, MemoryFlags, MemoryHeap, MemoryType};
    /// let mut properties = HeapProperties {
    ///     memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
    ///     memory_heaps: vec![MemoryHeap { size: 8 << 30, device_local: true }],
    ///     heap_alignment: 64 << 10,
    ///     msaa_heap_alignment: 4 << 20,
    ///     non_coherent_atom: 1,
    ///     max_allocations: 4096,
    ///     max_heap_size: 8 << 30,
    /// };
    /// assert!(properties.check().is_ok());
    /// properties.memory_types[0].heap = 1;
    /// assert_eq!(properties.check(), Err(InvalidProperties::MemoryHeap { heap: 1, heaps: 1 }));
    /// ```
    pub fn check(&self) -> Result<(), InvalidProperties> {
        let types = self.memory_types.len();
        if types == 0 || types > MAX_MEMORY_TYPES {
            return Err(InvalidProperties::MemoryTypes { types, max: MAX_MEMORY_TYPES });
        }
        let heaps = self.memory_heaps.len();
        let missing = self.memory_types.iter().find(|found| usize::from(found.heap) >= heaps);
        if let Some(found) = missing {
            return Err(InvalidProperties::MemoryHeap { heap: found.heap, heaps });
        }
        let alignments = [
            ("heap_alignment", self.heap_alignment),
            ("msaa_heap_alignment", self.msaa_heap_alignment),
            ("non_coherent_atom", self.non_coherent_atom),
        ];
        match alignments.into_iter().find(|(_, value)| !value.is_power_of_two()) {
            Some((property, value)) => Err(InvalidProperties::NotPowerOfTwo { property, value }),
            None => Ok(()),
        }
    }

    /// The memory type's flags; none if the device does not have the type.
    #[must_use]
    pub fn flags(&self, memory: MemoryTypeId) -> MemoryFlags {
        let found = self.memory_types.get(usize::from(memory.0));
        found.map_or(MemoryFlags::empty(), |found| found.flags)
    }

    /// Whether the GPU accesses two memory types in the same way: both in its own memory, both in its
    /// [window](MemoryHeap::is_window), or both in system memory.
    #[must_use]
    pub fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        let place = |memory: MemoryTypeId| {
            let heap = usize::from(self.memory_types.get(usize::from(memory.0))?.heap);
            let heap = self.memory_heaps.get(heap)?;
            Some((heap.device_local, heap.is_window(&self.memory_heaps)))
        };
        place(one) == place(other)
    }

    /// Maximum size of a pool block in the memory of a type, unless a request needs more: an eighth, as in VMA, so
    /// that no pool starves the others. 0 if the device does not have the type.
    #[must_use]
    pub fn largest_share(&self, memory: MemoryTypeId) -> u64 {
        let memory_type = self.memory_types.get(usize::from(memory.0));
        let heap = memory_type.and_then(|found| self.memory_heaps.get(usize::from(found.heap)));
        heap.map_or(0, |heap| heap.size / 8)
    }

    /// The alignment of flushes and invalidations of a memory type, a power of two. Ranges must not share such an
    /// atom: flushes and invalidations affect whole atoms, and would overwrite concurrent writes to the rest of one.
    /// 1 if neither is needed.
    #[must_use]
    pub fn flush_atom(&self, memory: MemoryTypeId) -> u64 {
        let host = MemoryFlags::HOST_VISIBLE | MemoryFlags::HOST_COHERENT;
        let needs_flushes = self.flags(memory) & host == MemoryFlags::HOST_VISIBLE;
        if needs_flushes { self.non_coherent_atom } else { 1 }
    }
}

/// The classification of device errors for the fallback chain.
pub trait HeapDeviceError: std::error::Error {
    /// True for failures that another block size or memory type, or a later attempt may avoid.
    fn is_shortage(&self) -> bool;

    /// True if the device or the suballocator does not support the request at all.
    fn is_unsupported(&self) -> bool;

    /// The error for `requested` bytes of a memory type that were not requested from the driver, because they exceed
    /// the heap, the operating system's budget or the program's cap.
    fn not_granted(requested: u64, memory: MemoryTypeId) -> Self;

    /// An unsupported feature.
    fn unsupported(feature: &'static str) -> Self;
}

/// An error type for implementations of devices.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeapError {
    /// The driver has no memory of that type for this request.
    #[error("the driver refused {requested} B of memory type {}", memory.0)]
    OutOfMemory {
        /// Requested bytes.
        requested: u64,
        /// The requested memory type.
        memory: MemoryTypeId,
    },
    /// The driver was not called: the size exceeds the heap, the operating system's budget or the program's
    /// [cap](crate::MemoryLimits::set_cap).
    #[error("{requested} B of memory type {} exceed the heap, its budget or the program's cap", memory.0)]
    NotGranted {
        /// Requested bytes.
        requested: u64,
        /// The requested memory type.
        memory: MemoryTypeId,
    },
    /// The driver is out of host memory or object slots.
    #[error("the driver is out of host memory or objects ({what})")]
    OutOfHostMemory {
        /// The call that failed.
        what: &'static str,
    },
    /// The limit on live memory allocations is reached.
    #[error("the device allows {limit} memory allocations at once and all are in use")]
    TooManyAllocations {
        /// The device's limit.
        limit: u64,
    },
    /// The device or the suballocator does not support the request.
    #[error("the device does not support {feature}")]
    Unsupported {
        /// The unsupported feature.
        feature: &'static str,
    },
    /// The device was removed, reset or lost. All later calls fail.
    #[error("the device is lost: {reason}")]
    Lost {
        /// The driver's reason.
        reason: String,
    },
    /// The driver refused for another reason.
    #[error("{call} failed with code {code:#x}")]
    Failed {
        /// The call.
        call: &'static str,
        /// The driver's code.
        code: u64,
    },
}

impl HeapDeviceError for HeapError {
    fn is_shortage(&self) -> bool {
        matches!(
            self,
            Self::OutOfMemory { .. }
                | Self::NotGranted { .. }
                | Self::OutOfHostMemory { .. }
                | Self::TooManyAllocations { .. }
        )
    }

    fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }

    fn not_granted(requested: u64, memory: MemoryTypeId) -> Self {
        Self::NotGranted { requested, memory }
    }

    fn unsupported(feature: &'static str) -> Self {
        Self::Unsupported { feature }
    }
}

/// Creates and destroys heaps.
///
/// An implementation only translates calls, without pooling, deferring or retrying. A failed call changes nothing.
pub trait HeapDevice {
    /// A block of device memory (`ID3D12Heap`, `VkDeviceMemory`).
    type Heap;
    /// The error of a failed heap creation.
    type Error: HeapDeviceError;

    /// The device's memory properties. They must not change: users read them once.
    fn properties(&self) -> HeapProperties;

    /// Allocates a heap from the driver.
    ///
    /// # Errors
    /// The driver's error. A shortage at the limit of [`HeapProperties::max_allocations`], including other users of
    /// the device: if the driver does not count them, the implementation must.
    fn create_heap(&self, desc: &HeapDesc) -> Result<Self::Heap, Self::Error>;

    /// Frees a heap. It must not contain resources or be in use by the GPU.
    fn destroy_heap(&self, heap: Self::Heap);

    /// Names a heap, for debuggers.
    fn set_name(&self, _heap: &Self::Heap, _name: &str) {}

    /// The budget of each memory heap; empty if unknown.
    fn budget(&self) -> Vec<HeapBudget> {
        Vec::new()
    }
}
