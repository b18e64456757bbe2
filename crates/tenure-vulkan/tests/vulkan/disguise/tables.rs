//! The simulated properties of the device.

use core::ffi::c_void;

use tenure_vulkan::ash::vk;

use super::paging::find;
use super::{Hook, stage};

/// Another card's tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costume {
    /// Flags, and the texels that copies are multiples of.
    pub(crate) families: Vec<(vk::QueueFlags, [u32; 3])>,
    /// Flags, and the heap. Empty: the real ones.
    pub(crate) types: Vec<(vk::MemoryPropertyFlags, u32)>,
    /// Bytes.
    pub(crate) heaps: Vec<u64>,
    /// Bytes; 0: the real one, as for those below.
    pub(crate) granularity: u64,
    pub(crate) atom: u64,
    pub(crate) max_allocations: u32,
    /// Bytes of all sparse resources together.
    pub(crate) sparse_space: u64,
    /// Uniform buffers that one stage indexes.
    pub(crate) constants: u32,
    /// A memory type whose heap the driver has filled: each allocation is refused.
    pub(crate) full: Option<u32>,
}

const GRAPHICS: vk::QueueFlags = vk::QueueFlags::from_raw(7);
const COMPUTE: vk::QueueFlags = vk::QueueFlags::from_raw(6);
const COPIES: vk::QueueFlags = vk::QueueFlags::from_raw(4);
const SPARSE: vk::QueueFlags = vk::QueueFlags::SPARSE_BINDING;

impl Costume {
    /// The device as it is, with nothing but functions in between.
    pub(crate) fn plain() -> Self {
        Self { families: vec![(GRAPHICS | SPARSE, [1; 3])], ..Self::default() }
    }

    /// A card with three families, one of them with sparse binding, and no coherent memory.
    pub(crate) fn discrete() -> Self {
        use vk::MemoryPropertyFlags as Flags;
        Self {
            families: vec![(GRAPHICS, [1; 3]), (COPIES | SPARSE, [16, 16, 1]), (COMPUTE, [1; 3])],
            types: vec![
                (Flags::DEVICE_LOCAL, 0),
                (Flags::HOST_VISIBLE | Flags::HOST_CACHED, 1),
                (Flags::DEVICE_LOCAL | Flags::HOST_VISIBLE, 0),
                (Flags::DEVICE_LOCAL | Flags::PROTECTED, 0),
            ],
            heaps: vec![6 << 30, 8 << 30],
            granularity: 64 << 10,
            atom: 256,
            max_allocations: 0,
            sparse_space: 0,
            constants: 0,
            full: None,
        }
    }

    /// As [`discrete`](Self::discrete), with a window of 214 MiB that the driver has filled.
    pub(crate) fn full_window() -> Self {
        let mut costume = Self::discrete();
        costume.heaps.push(214 << 20);
        costume.types[2].1 = 2;
        Self { full: Some(2), ..costume }
    }

    /// Whether a device with this number of memory types can be disguised so: all simulated memory types use
    /// the first.
    pub(crate) fn fits(&self, types: usize) -> bool {
        self.types.is_empty() || types == 1
    }

    /// Bit *i* is set when memory type *i* holds buffers, or images.
    pub(super) fn types_for(&self, buffers: bool) -> Option<u32> {
        let holds = |flags: vk::MemoryPropertyFlags| {
            let is_general = !flags.contains(vk::MemoryPropertyFlags::PROTECTED);
            is_general && (buffers || flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL))
        };
        let bits = (0..).zip(&self.types).filter(|(_, (flags, _))| holds(*flags));
        (!self.types.is_empty()).then(|| bits.fold(0, |mask, (index, _): (u32, _)| mask | 1 << index))
    }

    pub(super) fn flags(&self, kind: u32) -> Option<vk::MemoryPropertyFlags> {
        self.types.get(kind as usize).map(|(flags, _)| *flags)
    }
}

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkGetPhysicalDeviceQueueFamilyProperties", families as *const c_void),
        (c"vkGetPhysicalDeviceMemoryProperties", memory as *const c_void),
        (c"vkGetPhysicalDeviceProperties2", properties as *const c_void),
    ]
}

unsafe extern "system" fn families(
    _: vk::PhysicalDevice,
    count: *mut u32,
    out: *mut vk::QueueFamilyProperties,
) {
    let stage = stage();
    let families = &stage.costume.families;
    // SAFETY: as the API requires: a count, and room for `count` elements.
    unsafe {
        if !out.is_null() {
            let room = core::slice::from_raw_parts_mut(out, *count as usize);
            for (slot, (queue_flags, [width, height, depth])) in room.iter_mut().zip(families) {
                *slot = vk::QueueFamilyProperties {
                    queue_flags: *queue_flags,
                    queue_count: 1,
                    timestamp_valid_bits: 0,
                    min_image_transfer_granularity: vk::Extent3D {
                        width: *width,
                        height: *height,
                        depth: *depth,
                    },
                };
            }
        }
        *count = u32::try_from(families.len()).unwrap();
    }
}

unsafe extern "system" fn memory(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceMemoryProperties) {
    let stage = stage();
    // SAFETY: as the API has it.
    let out = unsafe {
        (stage.instance.fp_v1_0().get_physical_device_memory_properties)(physical, out);
        &mut *out
    };
    let Costume { types, heaps, .. } = &stage.costume;
    if types.is_empty() {
        return;
    }
    out.memory_type_count = u32::try_from(types.len()).unwrap();
    out.memory_heap_count = u32::try_from(heaps.len()).unwrap();
    for (slot, (property_flags, heap_index)) in out.memory_types.iter_mut().zip(types) {
        *slot = vk::MemoryType { property_flags: *property_flags, heap_index: *heap_index };
    }
    for (index, size) in heaps.iter().enumerate() {
        let is_system = index == 1;
        let flags = if is_system { vk::MemoryHeapFlags::empty() } else { vk::MemoryHeapFlags::DEVICE_LOCAL };
        out.memory_heaps[index] = vk::MemoryHeap { size: *size, flags };
    }
}

unsafe extern "system" fn properties(
    physical: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    let stage = stage();
    // SAFETY: as the API has it.
    unsafe {
        (stage.instance.fp_v1_1().get_physical_device_properties2)(physical, out.cast());
        let limits = &mut (*out).properties.limits;
        let Costume { granularity, atom, max_allocations, sparse_space, constants, .. } = stage.costume;
        if granularity > 0 {
            limits.buffer_image_granularity = granularity;
            limits.non_coherent_atom_size = atom;
            (*out).properties.device_type = vk::PhysicalDeviceType::DISCRETE_GPU;
        }
        if max_allocations > 0 {
            limits.max_memory_allocation_count = max_allocations;
        }
        if sparse_space > 0 {
            limits.sparse_address_space_size = sparse_space;
        }
        let kind = vk::StructureType::PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES;
        let found = find::<vk::PhysicalDeviceDescriptorIndexingProperties<'_>>((*out).p_next, kind);
        if let Some(found) = found.filter(|_| constants > 0) {
            found.max_per_stage_descriptor_update_after_bind_uniform_buffers = constants;
        }
    }
}
