//! What everything made by one device shares.

use core::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{
    CallRule, DeviceError, ManagerSlot, MemoryTypeId, QueueId, QueueSerial, TextureCache, Usage,
};

use crate::api::Api;
use crate::descriptor::{DescriptorSpace, SamplerCount};
use crate::error::meaning;
use crate::memory::MemoryCount;
use crate::queue::{Clock, Queue, SyncPool};
use crate::record::ShaderStages;
use crate::resource::{ImageSupport, KnownImage};
use crate::setup::{Instance, OwnQueue};
use crate::tables::Tables;

/// How long the end of a device waits for the GPU. What is not done then is left to the process.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// The owner of the device, which destroys it.
pub(crate) enum Owner {
    /// tenure: it made it, on an instance of its own.
    Tenure(Arc<Instance>),
    /// The program that made it.
    Caller,
}

/// A device. Lives until the last of its handles and objects is gone.
pub(crate) struct Shared {
    pub(crate) api: Api,
    pub(crate) manager_slot: ManagerSlot,
    pub(crate) tables: Tables,
    pub(crate) queues: Vec<Queue>,
    /// Queues of the program's own, which nothing here uses.
    pub(crate) own_queues: Vec<OwnQueue>,
    /// The families of all queues that use buffers of tenure's, each once: they share all buffers.
    pub(crate) families: Vec<u32>,
    pub(crate) shader_stages: ShaderStages,
    pub(crate) memory: MemoryCount,
    pub(crate) images: ImageSupport,
    pub(crate) known_images: TextureCache<KnownImage>,
    pub(crate) samplers: SamplerCount,
    pub(crate) descriptor_space: DescriptorSpace,
    pub(crate) sync: SyncPool,
    /// Bytes of the address space that all sparse resources have.
    pub(crate) sparse_bytes: AtomicU64,
    /// Held while tile mappings change, so that they change in the order of submission.
    pub(crate) tile_order: Mutex<()>,
    lost: OnceLock<String>,
    /// A texture was created that is an input attachment.
    has_input_attachments: AtomicBool,
    owner: Owner,
}

impl Shared {
    pub(crate) fn new(
        api: Api,
        tables: Tables,
        queues: Vec<Queue>,
        other_families: &[u32],
        owner: Owner,
    ) -> Self {
        let mut families: Vec<u32> = queues.iter().map(|queue| queue.properties.family).collect();
        families.extend_from_slice(other_families);
        families.sort_unstable();
        families.dedup();
        Self {
            shader_stages: ShaderStages::of(&api),
            manager_slot: ManagerSlot::default(),
            api,
            tables,
            queues,
            families,
            own_queues: Vec::new(),
            memory: MemoryCount::default(),
            images: ImageSupport::default(),
            known_images: TextureCache::new(),
            samplers: SamplerCount::default(),
            descriptor_space: DescriptorSpace::default(),
            sync: SyncPool::default(),
            sparse_bytes: AtomicU64::new(0),
            tile_order: Mutex::new(()),
            lost: OnceLock::new(),
            has_input_attachments: AtomicBool::new(false),
            owner,
        }
    }

    /// A texture may be an input attachment.
    pub(crate) fn note_usage(&self, usage: Usage) {
        if usage.contains(Usage::INPUT_ATTACHMENT) {
            self.has_input_attachments.store(true, Ordering::Relaxed);
        }
    }

    /// Whether any texture may be an input attachment. Whoever records uses of one knows of its creation.
    pub(crate) fn has_input_attachments(&self) -> bool {
        self.has_input_attachments.load(Ordering::Relaxed)
    }

    /// `Err` once the device is lost.
    pub(crate) fn alive(&self) -> Result<(), DeviceError> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason: reason.clone() }),
        }
    }

    /// What a call's failure means. A loss is remembered.
    pub(crate) fn error(&self, call: &'static str, result: vk::Result) -> DeviceError {
        self.error_of(call, result, None)
    }

    /// As [`error`](Self::error), of a call that asks for so much of a memory type.
    pub(crate) fn allocation_error(
        &self,
        call: &'static str,
        result: vk::Result,
        size: u64,
        memory: MemoryTypeId,
    ) -> DeviceError {
        self.error_of(call, result, Some((size, memory)))
    }

    fn error_of(
        &self,
        call: &'static str,
        result: vk::Result,
        asked: Option<(u64, MemoryTypeId)>,
    ) -> DeviceError {
        let max_allocations = self.tables.properties.max_allocations;
        meaning(call, result, asked, max_allocations)
            .unwrap_or_else(|| self.lose(format!("{call} returned {result:?}")))
    }

    /// Remembers that the device is lost. The first reason stays: it is the cause, the others follow from it.
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        let reason = self.lost.get_or_init(|| reason);
        DeviceError::Lost { reason: reason.clone() }
    }

    /// The queue of that number.
    pub(crate) fn queue(&self, queue: QueueId) -> Result<&Queue, DeviceError> {
        let count = self.queues.len() as u64;
        self.queues.get(queue.index()).ok_or(DeviceError::invalid_call(
            CallRule::QueueExists,
            u64::from(queue.0),
            count,
        ))
    }

    /// Waits for all that was submitted, on a device of tenure's own also by others
    /// ([`Device::with_queue`](crate::Device::with_queue)); false when it does not end in time.
    fn wait_for_everything(&self) -> bool {
        self.wait_for_serials() && self.wait_for_others()
    }

    /// Waits for what the program submitted itself, which has no serial. On a device of its own the program
    /// waits for that.
    fn wait_for_others(&self) -> bool {
        if matches!(self.owner, Owner::Caller) || self.lost.get().is_some() {
            return true;
        }
        // SAFETY: no other code uses the queues: what uses them holds the device.
        let waited = unsafe { self.api.device.device_wait_idle() };
        matches!(waited, Ok(()) | Err(vk::Result::ERROR_DEVICE_LOST))
    }

    fn wait_for_serials(&self) -> bool {
        (0_u8..).map(QueueId).zip(&self.queues).all(|(queue, state)| {
            let waited = match &state.clock {
                Clock::Timeline(timeline) => {
                    self.wait(QueueSerial { queue, serial: timeline.submitted() }, LAST_WAIT)
                }
                Clock::Fences(fences) => self.drain_fences(fences, LAST_WAIT),
            };
            // A lost device runs nothing any more; one that refuses for want of memory may.
            waited.unwrap_or_else(|error| matches!(error, DeviceError::Lost { .. }))
        })
    }

    fn destroy(&mut self) {
        for queue in &mut self.queues {
            match &mut queue.clock {
                Clock::Timeline(timeline) => {
                    // SAFETY: everything submitted is complete, so nothing uses it any more.
                    unsafe { self.api.device.destroy_semaphore(timeline.semaphore, None) };
                }
                Clock::Fences(fences) => fences.give_back(&self.sync),
            }
        }
        self.sync.destroy(&self.api.device);
        if let Owner::Tenure(_) = &self.owner {
            // SAFETY: all objects of the device hold this, so they are gone; nothing runs.
            unsafe { self.api.device.destroy_device(None) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.wait_for_everything() {
            self.destroy();
            return;
        }
        tracing::error!(target: "tenure_vulkan", "the GPU did not finish; its device is left alone");
        if let Owner::Tenure(instance) = &self.owner {
            std::mem::forget(instance.clone());
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("name", &self.tables.properties.name).finish_non_exhaustive()
    }
}
