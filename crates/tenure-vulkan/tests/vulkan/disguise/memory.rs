//! Memory: types that the real device lacks, caches that must be flushed, neighbours that must not
//! be too close.

use core::ffi::c_void;
use core::ops::Range;

use tenure_vulkan::ash::vk;
use tenure_vulkan::ash::vk::Handle as _;

use super::{Hook, Stage, addresses, stage};

/// An allocation.
pub(super) struct Block {
    pub(super) size: u64,
    pub(super) kind: u32,
    /// The CPU's view of non-coherent memory, and the memory itself.
    cache: Option<(Box<[u8]>, *mut u8)>,
    /// The bound ranges: handle, bytes, and true for a buffer.
    bound: Vec<(u64, Range<u64>, bool)>,
}

// SAFETY: the pointer is used under the lock of the table only.
unsafe impl Send for Block {}

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkAllocateMemory", allocate as *const c_void),
        (c"vkGetMemoryFdKHR", export as *const c_void),
        (c"vkFreeMemory", free as *const c_void),
        (c"vkMapMemory", map as *const c_void),
        (c"vkFlushMappedMemoryRanges", flush as *const c_void),
        (c"vkInvalidateMappedMemoryRanges", invalidate as *const c_void),
        (c"vkCreateBuffer", create_buffer as *const c_void),
        (c"vkCreateImage", create_image as *const c_void),
        (c"vkDestroyBuffer", destroy_buffer as *const c_void),
        (c"vkDestroyImage", destroy_image as *const c_void),
        (c"vkBindBufferMemory", bind_buffer as *const c_void),
        (c"vkBindImageMemory", bind_image as *const c_void),
        (c"vkGetBufferMemoryRequirements2", buffer_requirements as *const c_void),
        (c"vkGetImageMemoryRequirements2", image_requirements as *const c_void),
        (c"vkGetDeviceBufferMemoryRequirements", new_buffer_requirements as *const c_void),
        (c"vkGetDeviceImageMemoryRequirements", new_image_requirements as *const c_void),
    ]
}

type Callbacks = *const vk::AllocationCallbacks<'static>;

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'static>,
    callbacks: Callbacks,
    out: *mut vk::DeviceMemory,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkAllocateMemory") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let mut real = *info;
        let (kind, size) = (real.memory_type_index, real.allocation_size);
        if stage.costume.full == Some(kind) {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        if !stage.costume.types.is_empty() {
            real.memory_type_index = 0;
        }
        let result = (stage.device.fp_v1_0().allocate_memory)(device, &raw const real, callbacks, out);
        if result == vk::Result::SUCCESS {
            stage.memory.lock().insert(*out, Block { size, kind, cache: None, bound: Vec::new() });
            stage.note_priority(*out, &*info);
        }
        result
    }
}

unsafe extern "system" fn free(device: vk::Device, memory: vk::DeviceMemory, callbacks: Callbacks) {
    let stage = stage();
    let block = stage.memory.lock().remove(&memory);
    match block {
        None => stage.problem(format!("{memory:?} is freed and was never allocated")),
        Some(block) if !block.bound.is_empty() => {
            stage.problem(format!("{memory:?} is freed before {} objects in it", block.bound.len()));
        }
        Some(_) => {}
    }
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().free_memory)(device, memory, callbacks) };
}

unsafe extern "system" fn export(
    device: vk::Device,
    info: *const vk::MemoryGetFdInfoKHR<'static>,
    out: *mut i32,
) -> vk::Result {
    let stage = stage();
    let calls = tenure_vulkan::ash::khr::external_memory_fd::Device::new(&stage.instance, &stage.device);
    // SAFETY: as the API has it.
    stage
        .strike("vkGetMemoryFdKHR")
        .unwrap_or_else(|| unsafe { (calls.fp().get_memory_fd_khr)(device, info, out) })
}

unsafe extern "system" fn map(
    device: vk::Device,
    memory: vk::DeviceMemory,
    offset: u64,
    size: u64,
    flags: vk::MemoryMapFlags,
    out: *mut *mut c_void,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkMapMemory") {
        return result;
    }
    // SAFETY: as the API has it.
    let result = unsafe { (stage.device.fp_v1_0().map_memory)(device, memory, offset, size, flags, out) };
    let mut table = stage.memory.lock();
    let block = table.get_mut(&memory).expect("allocated");
    let Some(flags) = stage.costume.flags(block.kind) else { return result };
    if !flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE) {
        stage.problem(format!("{memory:?} is mapped and not host-visible"));
    }
    if (offset, size) != (0, vk::WHOLE_SIZE) {
        stage.problem(format!("{memory:?} is not mapped as a whole"));
    }
    if !flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT) {
        // Without an invalidation the CPU never sees the actual bytes.
        let mut cache = vec![0xA5; usize::try_from(block.size).unwrap()].into_boxed_slice();
        // SAFETY: `out` was written; the boxed bytes stay where they are.
        unsafe {
            let real = (*out).cast::<u8>();
            *out = cache.as_mut_ptr().cast();
            block.cache = Some((cache, real));
        }
    }
    result
}

/// Copies a range between the CPU's view and memory: `copy` gets both, in this order, and the number of bytes.
/// One range at a time: threads may flush the same atom, and none may restore its old bytes after another has
/// written to it.
fn synchronize(stage: &Stage, range: &vk::MappedMemoryRange<'_>, copy: impl FnOnce(*mut u8, *mut u8, usize)) {
    let mut table = stage.memory.lock();
    let block = table.get_mut(&range.memory).expect("allocated");
    let atom = stage.costume.atom;
    let end = range.offset.checked_add(range.size).expect("no overflow");
    let is_whole = range.size.is_multiple_of(atom) || end == block.size;
    if !range.offset.is_multiple_of(atom) || !is_whole || end > block.size {
        stage.problem(format!("a range of {} + {} is not made of whole atoms", range.offset, range.size));
        return;
    }
    let Some((cache, real)) = &mut block.cache else {
        stage.problem("memory is flushed or invalidated that needs neither".to_owned());
        return;
    };
    let start = usize::try_from(range.offset).unwrap();
    // SAFETY: the range is inside both.
    let (cache, real) = unsafe { (cache.as_mut_ptr().add(start), real.add(start)) };
    copy(cache, real, usize::try_from(range.size).unwrap());
}

unsafe extern "system" fn flush(
    _: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'static>,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkFlushMappedMemoryRanges") {
        return result;
    }
    // SAFETY: as the API has it.
    for range in unsafe { core::slice::from_raw_parts(ranges, count as usize) } {
        // SAFETY: both pointers are to that many bytes.
        synchronize(&stage, range, |cache, real, size| unsafe { real.copy_from_nonoverlapping(cache, size) });
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn invalidate(
    _: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'static>,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkInvalidateMappedMemoryRanges") {
        return result;
    }
    // SAFETY: as the API has it.
    for range in unsafe { core::slice::from_raw_parts(ranges, count as usize) } {
        // SAFETY: both pointers are to that many bytes.
        synchronize(&stage, range, |cache, real, size| unsafe { cache.copy_from_nonoverlapping(real, size) });
    }
    vk::Result::SUCCESS
}

/// The description for the real device, without the disguise's families. Checks that the buffer is shared by all of them.
fn real_buffer_info(stage: &Stage, info: &vk::BufferCreateInfo<'static>) -> vk::BufferCreateInfo<'static> {
    let families = stage.costume.families.len();
    let is_shared = info.sharing_mode == vk::SharingMode::CONCURRENT;
    if is_shared != (families > 1) || (is_shared && info.queue_family_index_count as usize != families) {
        stage.problem(format!("a buffer is not shared by {families} families"));
    }
    let mut real = *info;
    real.sharing_mode = vk::SharingMode::EXCLUSIVE;
    real.queue_family_index_count = 0;
    real
}

/// The description for the real device, without the disguise's families. Only an image that commands read after its upload
/// is shared, and then by all families: the others are handed over by barriers.
fn real_image_info(stage: &Stage, info: &vk::ImageCreateInfo<'static>) -> vk::ImageCreateInfo<'static> {
    let families = stage.costume.families.len();
    let written = vk::ImageUsageFlags::COLOR_ATTACHMENT
        | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
        | vk::ImageUsageFlags::STORAGE;
    if info.sharing_mode == vk::SharingMode::CONCURRENT {
        if info.usage.intersects(written) {
            stage.problem(format!("an image of {:?} is shared by families", info.usage));
        }
        if families < 2 || info.queue_family_index_count as usize != families {
            stage.problem(format!("an image is not shared by {families} families"));
        }
    }
    let mut real = *info;
    real.sharing_mode = vk::SharingMode::EXCLUSIVE;
    real.queue_family_index_count = 0;
    real
}

unsafe extern "system" fn create_buffer(
    device: vk::Device,
    info: *const vk::BufferCreateInfo<'static>,
    callbacks: Callbacks,
    out: *mut vk::Buffer,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkCreateBuffer") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let real = real_buffer_info(&stage, &*info);
        (stage.device.fp_v1_0().create_buffer)(device, &raw const real, callbacks, out)
    }
}

unsafe extern "system" fn create_image(
    device: vk::Device,
    info: *const vk::ImageCreateInfo<'static>,
    callbacks: Callbacks,
    out: *mut vk::Image,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkCreateImage") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let real = real_image_info(&stage, &*info);
        (stage.device.fp_v1_0().create_image)(device, &raw const real, callbacks, out)
    }
}

impl Stage {
    /// True if the CPU may read the contents of a buffer.
    pub(super) fn is_mapped(&self, buffer: vk::Buffer) -> bool {
        let table = self.memory.lock();
        let holds = |block: &&Block| {
            block.bound.iter().any(|(bound, _, is_buffer)| (*bound, *is_buffer) == (buffer.as_raw(), true))
        };
        let kind = table.values().find(holds).map(|block| block.kind);
        let flags = kind.and_then(|kind| self.costume.flags(kind)).unwrap_or_default();
        flags.contains(vk::MemoryPropertyFlags::HOST_VISIBLE)
    }
}

fn forget(stage: &Stage, handle: u64, is_buffer: bool) {
    for block in stage.memory.lock().values_mut() {
        block.bound.retain(|(bound, _, buffer)| (*bound, *buffer) != (handle, is_buffer));
    }
}

unsafe extern "system" fn destroy_buffer(device: vk::Device, buffer: vk::Buffer, callbacks: Callbacks) {
    let stage = stage();
    forget(&stage, buffer.as_raw(), true);
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().destroy_buffer)(device, buffer, callbacks) };
}

unsafe extern "system" fn destroy_image(device: vk::Device, image: vk::Image, callbacks: Callbacks) {
    let stage = stage();
    forget(&stage, image.as_raw(), false);
    addresses::unbound(&stage, image);
    stage.releases.lock().retain(|release| release.image != image);
    // SAFETY: as the API has it.
    unsafe { (stage.device.fp_v1_0().destroy_image)(device, image, callbacks) };
}

/// Notes a binding; a buffer and an image must not share a page of the granularity.
fn note_bound(stage: &Stage, memory: vk::DeviceMemory, handle: u64, bytes: Range<u64>, is_buffer: bool) {
    let mut table = stage.memory.lock();
    let block = table.get_mut(&memory).expect("allocated");
    let page = stage.costume.granularity.max(1);
    let pages = |bytes: &Range<u64>| bytes.start / page..=(bytes.end - 1) / page;
    let mine = pages(&bytes);
    let is_close = |theirs: &Range<u64>| {
        let theirs = pages(theirs);
        mine.start() <= theirs.end() && theirs.start() <= mine.end()
    };
    if block.bound.iter().any(|(_, theirs, buffer)| *buffer != is_buffer && is_close(theirs)) {
        stage.problem(format!("{bytes:?} of {memory:?} is a page of a buffer and an image"));
    }
    if let Some(allowed) = stage.costume.types_for(is_buffer)
        && allowed >> block.kind & 1 == 0
    {
        stage.problem(format!("memory type {} is not for this", block.kind));
    }
    block.bound.push((handle, bytes, is_buffer));
}

unsafe extern "system" fn bind_buffer(
    device: vk::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: u64,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkBindBufferMemory") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let size = stage.device.get_buffer_memory_requirements(buffer).size;
        note_bound(&stage, memory, buffer.as_raw(), offset..offset + size, true);
        (stage.device.fp_v1_0().bind_buffer_memory)(device, buffer, memory, offset)
    }
}

unsafe extern "system" fn bind_image(
    device: vk::Device,
    image: vk::Image,
    memory: vk::DeviceMemory,
    offset: u64,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkBindImageMemory") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe {
        let size = stage.device.get_image_memory_requirements(image).size;
        note_bound(&stage, memory, image.as_raw(), offset..offset + size, false);
        addresses::bound(&stage, image);
        (stage.device.fp_v1_0().bind_image_memory)(device, image, memory, offset)
    }
}

/// # Safety
/// `out` is valid.
unsafe fn set_types(stage: &Stage, out: *mut vk::MemoryRequirements2<'static>, is_buffer: bool) {
    if let Some(types) = stage.costume.types_for(is_buffer) {
        // SAFETY: says the caller.
        unsafe { (*out).memory_requirements.memory_type_bits = types };
    }
}

unsafe extern "system" fn buffer_requirements(
    device: vk::Device,
    info: *const vk::BufferMemoryRequirementsInfo2<'static>,
    out: *mut vk::MemoryRequirements2<'static>,
) {
    let stage = stage();
    // SAFETY: as the API has it.
    unsafe {
        (stage.device.fp_v1_1().get_buffer_memory_requirements2)(device, info, out);
        set_types(&stage, out, true);
    }
}

unsafe extern "system" fn image_requirements(
    device: vk::Device,
    info: *const vk::ImageMemoryRequirementsInfo2<'static>,
    out: *mut vk::MemoryRequirements2<'static>,
) {
    let stage = stage();
    // SAFETY: as the API has it.
    unsafe {
        (stage.device.fp_v1_1().get_image_memory_requirements2)(device, info, out);
        set_types(&stage, out, false);
    }
}

unsafe extern "system" fn new_buffer_requirements(
    device: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'static>,
    out: *mut vk::MemoryRequirements2<'static>,
) {
    let stage = stage();
    // SAFETY: as the API has it.
    unsafe {
        let real = real_buffer_info(&stage, &*(*info).p_create_info);
        let info = vk::DeviceBufferMemoryRequirements { p_create_info: &raw const real, ..*info };
        (stage.device.fp_v1_3().get_device_buffer_memory_requirements)(device, &raw const info, out);
        set_types(&stage, out, true);
    }
}

unsafe extern "system" fn new_image_requirements(
    device: vk::Device,
    info: *const vk::DeviceImageMemoryRequirements<'static>,
    out: *mut vk::MemoryRequirements2<'static>,
) {
    let stage = stage();
    // SAFETY: as the API has it.
    unsafe {
        let real = real_image_info(&stage, &*(*info).p_create_info);
        let info = vk::DeviceImageMemoryRequirements { p_create_info: &raw const real, ..*info };
        (stage.device.fp_v1_3().get_device_image_memory_requirements)(device, &raw const info, out);
        set_types(&stage, out, false);
    }
}
