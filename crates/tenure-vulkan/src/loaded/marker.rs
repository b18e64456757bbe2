//! Markers of the GPU's progress: `VK_AMD_buffer_marker`; otherwise fills of a buffer outside of render passes, with
//! `VK_NV_device_diagnostic_checkpoints` for scopes.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use ash::vk;
use tenure_core::device::{Marker, MarkerLimits, MarkerPoint, MemoryFlags};

use super::api::CheckpointCalls;
use super::{Api, Loaded, Tables};

/// The number of words: two for each recording in flight.
const WORDS: u32 = 2048;

/// Bytes of a word.
const WORD: u64 = 4;

/// Maximum number of checkpoints read from a queue: drivers report one for each stage of the pipeline.
const MAX_CHECKPOINTS: u32 = 64;

/// The upper bits of tenure's checkpoints: no address of a program.
const OURS: u64 = 0x7E4E_0000_0000_0000;

/// The last marker of a queue that a stage has reached, after the loss.
#[derive(Clone, Copy)]
struct Checkpoint {
    word: u32,
    value: u32,
}

/// A mapped buffer of marker words.
pub(crate) struct Markers {
    /// The queues whose lists write markers.
    queues: Vec<vk::Queue>,
    checkpoints: OnceLock<Vec<Checkpoint>>,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    words: NonNull<AtomicU32>,
}

// SAFETY: the memory is mapped until the buffer is destroyed; all accesses are atomic.
unsafe impl Send for Markers {}
// SAFETY: as above.
unsafe impl Sync for Markers {}

impl Markers {
    /// Creates the buffer, for these queues and their families; `None` without queues, or if the driver refuses.
    pub(super) fn create(
        api: &Api,
        tables: &Tables,
        families: &[u32],
        queues: Vec<vk::Queue>,
    ) -> Option<Self> {
        if queues.is_empty() {
            return None;
        }
        let (device, size) = (&api.device, WORD * u64::from(WORDS));
        let mut info = vk::BufferCreateInfo::default().size(size).usage(vk::BufferUsageFlags::TRANSFER_DST);
        if families.len() > 1 {
            info = info.sharing_mode(vk::SharingMode::CONCURRENT).queue_family_indices(families);
        }
        // SAFETY: the device is alive; the families, each once, are those of its queues.
        let buffer = unsafe { device.create_buffer(&info, None) }.ok()?;
        let made = Self::in_memory(api, tables, buffer, queues);
        if made.is_none() {
            // SAFETY: it is new, and unused.
            unsafe { device.destroy_buffer(buffer, None) };
        }
        made
    }

    fn in_memory(api: &Api, tables: &Tables, buffer: vk::Buffer, queues: Vec<vk::Queue>) -> Option<Self> {
        let device = &api.device;
        let info = vk::BufferMemoryRequirementsInfo2::default().buffer(buffer);
        let mut needs = vk::MemoryRequirements2::default();
        // SAFETY: the buffer is one of the device's.
        unsafe { device.get_buffer_memory_requirements2(&info, &mut needs) };
        let needs = needs.memory_requirements;
        let coherent = MemoryFlags::HOST_VISIBLE | MemoryFlags::HOST_COHERENT;
        let mut types = (0_u32..).zip(&tables.properties.memory_types);
        let (kind, _) = types.find(|(index, found)| {
            needs.memory_type_bits >> index & 1 == 1 && found.flags.contains(coherent)
        })?;
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
        // SAFETY: the size is the driver's own, and the type exists.
        let memory = unsafe { device.allocate_memory(&info, None) }.ok()?;
        // SAFETY: the memory has the size and the type for the buffer, and is not mapped; the buffer is not bound.
        let mapped = unsafe {
            device
                .bind_buffer_memory(buffer, memory, 0)
                .and_then(|()| device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()))
        };
        let Some(words) = mapped.ok().and_then(|pointer| NonNull::new(pointer.cast::<AtomicU32>())) else {
            // SAFETY: it is new. The buffer, which may be bound, is destroyed without a use.
            unsafe { device.free_memory(memory, None) };
            return None;
        };
        // SAFETY: the mapping has that many bytes, and the GPU does not use them yet.
        unsafe { words.as_ptr().write_bytes(0, WORDS as usize) };
        Some(Self { queues, checkpoints: OnceLock::new(), buffer, memory, words })
    }

    /// Destroys the buffer.
    ///
    /// # Safety
    /// The GPU no longer writes markers, and the device is the one that created it.
    pub(super) unsafe fn destroy(&self, api: &Api) {
        // SAFETY: says the caller.
        unsafe {
            api.device.destroy_buffer(self.buffer, None);
            api.device.free_memory(self.memory, None);
        }
    }

    pub(super) const fn limits(api: &Api) -> MarkerLimits {
        MarkerLimits { words: WORDS, in_passes: api.markers.is_some() || api.checkpoints.is_some() }
    }
}

impl Checkpoint {
    /// The checkpoint's pointer, which nobody reads: the word and the value, marked as tenure's.
    const fn pointer(marker: Marker) -> *const core::ffi::c_void {
        ptr::without_provenance((OURS | ((marker.word as u64) << 32) | marker.value as u64) as usize)
    }

    /// The word that has reached the value when this stage has reached the checkpoint; `None` for stages without a word. A marker of
    /// the other word of the pair counts as well, because values rise in both together.
    fn read(data: &vk::CheckpointDataNV<'_>) -> Option<Self> {
        let pointer = data.p_checkpoint_marker.addr() as u64;
        // Others are the program's own.
        let number = pointer.checked_sub(OURS).filter(|number| *number < u64::from(WORDS) << 32)?;
        let (word, value) = ((number >> 32) as u32, number as u32);
        match data.stage {
            vk::PipelineStageFlags::TOP_OF_PIPE => Some(Self { word: word & !1, value }),
            vk::PipelineStageFlags::BOTTOM_OF_PIPE => Some(Self { word: word | 1, value }),
            _ => None,
        }
    }

    /// The checkpoints of the queues of a lost device.
    fn query(calls: CheckpointCalls, queues: &[vk::Queue]) -> Vec<Self> {
        let mut found = Vec::new();
        for queue in queues {
            let mut data = [vk::CheckpointDataNV::default(); MAX_CHECKPOINTS as usize];
            let mut count = MAX_CHECKPOINTS;
            // SAFETY: the device is lost, the queue is one of its, and the array has that length.
            unsafe { (calls.data)(*queue, &raw mut count, data.as_mut_ptr()) };
            let data = data.iter().take(count.min(MAX_CHECKPOINTS) as usize);
            found.extend(data.filter_map(Self::read));
        }
        found
    }
}

impl Loaded {
    /// The value of a marker word; 0 for one that does not exist.
    pub(crate) fn marker(&self, word: u32) -> u32 {
        let Some(markers) = self.markers.as_ref().filter(|_| word < WORDS) else { return 0 };
        // SAFETY: the word is inside the mapping, which is aligned to a page, and all accesses of the CPU are atomic.
        let value = unsafe { markers.words.add(word as usize).as_ref() }.load(Ordering::Acquire);
        let Some(calls) = self.api.checkpoints.filter(|_| self.is_lost_for_driver()) else { return value };
        let checkpoints = markers.checkpoints.get_or_init(|| Checkpoint::query(calls, &markers.queues));
        let reached = checkpoints.iter().filter(|checkpoint| checkpoint.word == word);
        reached.fold(value, |value, reached| later(value, reached.value))
    }

    /// Records a marker.
    ///
    /// # Safety
    /// The command buffer is open, and outside of a render pass unless markers may be in one.
    pub(crate) unsafe fn record_marker(&self, list: vk::CommandBuffer, marker: Marker) {
        let Marker { word, value, point, is_of_scope } = marker;
        let Some(markers) = self.markers.as_ref().filter(|_| word < WORDS) else { return };
        let offset = u64::from(word) * WORD;
        if let Some(calls) = self.api.markers {
            let stage = match point {
                MarkerPoint::Begun => vk::PipelineStageFlags::TOP_OF_PIPE,
                MarkerPoint::Completed => vk::PipelineStageFlags::BOTTOM_OF_PIPE,
            };
            // SAFETY: the word is inside the buffer; the rest says the caller.
            unsafe { (calls.write)(list, stage, markers.buffer, offset, value) };
            return;
        }
        if let Some(calls) = self.api.checkpoints {
            // SAFETY: the list is open; the pointer is a number.
            unsafe { (calls.set)(list, Checkpoint::pointer(marker)) };
            // Checkpoints identify the newest recording of a queue, the words all recordings.
            if is_of_scope {
                return;
            }
        }
        let before = match point {
            MarkerPoint::Begun => vk::PipelineStageFlags::TRANSFER,
            MarkerPoint::Completed => vk::PipelineStageFlags::ALL_COMMANDS,
        };
        // Fills of one word stay in order.
        let order = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)];
        let (transfer, device) = (vk::PipelineStageFlags::TRANSFER, &self.api.device);
        // SAFETY: as above.
        unsafe {
            let flags = vk::DependencyFlags::empty();
            device.cmd_pipeline_barrier(list, before, transfer, flags, &order, &[], &[]);
            device.cmd_fill_buffer(list, markers.buffer, offset, WORD, value);
        }
    }
}

/// The later of two values of a word, which wrap around.
const fn later(a: u32, b: u32) -> u32 {
    if a.wrapping_sub(b) <= u32::MAX / 2 { a } else { b }
}
