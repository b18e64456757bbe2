//! The shared state of all parts of one device.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tenure_core::device::{
    Api, CallRule, DeviceError, DeviceFault, Features, Format, MarkerLimits, MemoryType, Properties, QueueId,
    QueueProperties, Residency, SingleManager, StateModel,
};

use crate::clock::{QueryClock, SharedClock};
use crate::config::DeviceConfig;
use crate::faults::FaultState;
use crate::hazard::{Checks, HazardKind, HazardLog, Origin};
use crate::journal::Journal;
use crate::memory::{MAX_BYTES, SharedMemory};
use crate::mips;
use crate::object::{Label, Register, Shares};
use crate::paging::{DriverMemory, Notices, Pager};
use crate::profile::{Formats, Rules};
use crate::resource::HostBarriers;

/// The first allocated GPU address: not 0, and not a likely value of a program.
const FIRST_ADDRESS: u64 = 1 << 32;

/// The number of marker words, if there are any.
const MARKER_WORDS: u32 = 2048;

/// The state of a device shared by all its parts; the queues are above it.
pub(crate) struct Shared {
    /// The number of the device, unique within the program.
    pub(crate) number: u64,
    /// The memory that it shares with other devices.
    pub(crate) shares: Shares<SharedMemory>,
    pub(crate) properties: Properties,
    pub(crate) single_manager: SingleManager,
    pub(crate) rules: Rules,
    pub(crate) formats: Formats,
    /// The granularity of copies on copy-only queues, in blocks along each axis.
    pub(crate) copy_steps: [u32; 3],
    pub(crate) zeroed: bool,
    pub(crate) prefers_dedicated: bool,
    pub(crate) requires_dedicated: bool,
    pub(crate) checks: Checks,
    pub(crate) journal: Journal,
    pub(crate) register: Register,
    /// Samplers alive.
    pub(crate) samplers: AtomicU32,
    pub(crate) memory: DriverMemory,
    /// The paging simulation, if enabled.
    pub(crate) pager: Option<Pager>,
    pub(crate) hazards: HazardLog,
    pub(crate) faults: FaultState,
    /// The submissions that the CPU has seen complete, by polling or waiting.
    pub(crate) observed: SharedClock,
    /// The writes that the queues have made visible to the CPU.
    pub(crate) host_barriers: HostBarriers,
    /// The clock of timestamps.
    pub(crate) query_clock: QueryClock,
    /// Notifications of the operating system, and the replies.
    pub(crate) notices: Notices,
    /// Whether accesses of destroyed memory lose the device.
    pub(crate) page_faults: bool,
    /// The access that has lost the device.
    fault: OnceLock<DeviceFault>,
    /// The reason of the device loss.
    pub(crate) lost: OnceLock<String>,
    next_address: AtomicU64,
    /// The words that lists write markers to.
    markers: Vec<AtomicU32>,
}

impl Shared {
    pub(crate) fn new(options: &DeviceConfig) -> Self {
        let table = options.profile.table();
        let mut properties = table.properties();
        for (heap, size) in properties.memory_heaps.iter_mut().zip(&options.heap_sizes) {
            heap.size = (*size).min(MAX_BYTES);
        }
        let largest = properties.memory_heaps.iter().map(|heap| heap.size).max().unwrap_or(0);
        // Direct3D 12 has no limit but the memory; Vulkan names one.
        properties.max_heap_size = match table.rules {
            Rules::D3d12 { .. } => largest,
            Rules::Vulkan { .. } => properties.max_heap_size.min(largest),
        };
        let is_upload = |found: &MemoryType| found.is_gpu_upload(&properties.memory_heaps);
        let has_upload = properties.memory_types.iter().any(is_upload);
        properties.features.set(Features::GPU_UPLOAD, has_upload);
        if let Some(tight) = options.tight_alignment {
            properties.features.set(Features::TIGHT_ALIGNMENT, tight);
        }
        let promotes = properties.state_model == StateModel::Promotion;
        properties.features.set(Features::COPY_SRC_WITH_READS, options.copy_src_with_reads && promotes);
        let lost = Features::NO_STENCIL_UPLOADS | Features::NO_DEPTH_LAYER_COPIES;
        properties.features.set(lost, options.loses_depth_copies && properties.api == Api::Direct3D12);
        properties.features.set(Features::SHARED_MEMORY, options.shared_memory);
        let is_vulkan = properties.api == Api::Vulkan;
        properties.features.set(Features::SHARED_ACROSS_DRIVERS, options.shared_memory && is_vulkan);
        if let (Some(on), Api::Vulkan) = (options.texture_writes, properties.api) {
            properties.features.set(Features::TEXTURE_WRITES, on);
        }
        if !options.unmapped_tiles {
            properties.features.remove(Features::UNMAPPED_TILES);
        }
        if options.markers {
            properties.markers = MarkerLimits { words: MARKER_WORDS, in_passes: true };
        }
        if let Some(limits) = options.descriptors {
            properties.descriptors = limits;
        }
        if options.paging.is_some() {
            let has_priorities = properties.features.contains(Features::MEMORY_PRIORITY);
            properties.residency = match table.rules {
                Rules::D3d12 { .. } => Residency::Explicit,
                Rules::Vulkan { .. } if has_priorities => Residency::Priorities,
                Rules::Vulkan { .. } => Residency::None,
            };
        }
        let memory = DriverMemory::new(&properties, &options.budgets, options.paging.is_some());
        let pager = options.paging.clone().map(|paging| Pager::new(paging, &properties, &memory));
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        Self {
            number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
            shares: Shares::default(),
            single_manager: SingleManager::default(),
            rules: table.rules,
            formats: table.formats,
            copy_steps: table.copy_steps,
            zeroed: options.zeroed.unwrap_or(table.zeroed),
            prefers_dedicated: options.prefers_dedicated,
            requires_dedicated: options.requires_dedicated,
            checks: options.checks,
            journal: Journal::new(options.journal),
            register: Register::default(),
            samplers: AtomicU32::new(0),
            memory,
            pager,
            hazards: HazardLog::default(),
            faults: FaultState::default(),
            observed: SharedClock::default(),
            host_barriers: HostBarriers::default(),
            query_clock: QueryClock::default(),
            notices: Notices::default(),
            page_faults: options.page_faults,
            fault: OnceLock::new(),
            lost: OnceLock::new(),
            next_address: AtomicU64::new(FIRST_ADDRESS),
            markers: (0..properties.markers.words).map(|_| AtomicU32::new(0)).collect(),
            properties,
        }
    }

    /// A marker word; 0 for one that does not exist.
    pub(crate) fn marker(&self, word: u32) -> u32 {
        self.markers.get(word as usize).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Writes a marker word, unless the GPU has stopped.
    pub(crate) fn write_marker(&self, word: u32, value: u32) {
        if let (Some(word), None) = (self.markers.get(word as usize), self.lost.get()) {
            word.store(value, Ordering::Release);
        }
    }

    pub(crate) fn promotes(&self) -> bool {
        self.properties.state_model == StateModel::Promotion
    }

    /// True if unmapped tiles read as zero.
    pub(crate) fn reads_unmapped_tiles(&self) -> bool {
        self.properties.features.contains(Features::UNMAPPED_TILES)
    }

    /// True when heaps are Direct3D 12's.
    pub(crate) fn is_d3d12(&self) -> bool {
        self.properties.api == Api::Direct3D12
    }

    /// True when lists fill mips of textures of the format.
    pub(crate) fn generates_mips(&self, format: Format) -> bool {
        !self.is_d3d12() && self.formats.has(format) && mips::are_filled(format)
    }

    /// The properties of a queue.
    pub(crate) fn queue(&self, queue: QueueId) -> Result<&QueueProperties, DeviceError> {
        let queues = &self.properties.queues;
        let missing =
            || DeviceError::invalid_call(CallRule::QueueExists, u64::from(queue.0), queues.len() as u64);
        queues.get(queue.index()).ok_or_else(missing)
    }

    /// `Err` once the device is lost.
    pub(crate) fn alive(&self) -> Result<(), DeviceError> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason: reason.clone() }),
        }
    }

    /// Loses the device by an access, with the timeline locked; the timeline then abandons the submissions in flight.
    pub(crate) fn lose_by(&self, fault: impl FnOnce() -> DeviceFault) {
        // Set before the reason: a thread that reads the reason also finds the fault.
        let _first_stays = self.fault.get_or_init(fault);
        let _first_stays = self.lost.set("the GPU stopped at a page fault".to_owned());
    }

    /// The access that has lost the device.
    pub(crate) fn faults(&self) -> Vec<DeviceFault> {
        self.fault.get().cloned().into_iter().collect()
    }

    /// Allocates a unique range of GPU addresses; a gap of a page follows it.
    pub(crate) fn addresses(&self, size: u64, alignment: u64) -> Result<u64, DeviceError> {
        const GUARD: u64 = 64 << 10;
        let place = |next: u64| {
            let start = next.checked_next_multiple_of(alignment.max(GUARD))?;
            Some((start, start.checked_add(size)?.checked_add(GUARD)?))
        };
        self.next_address
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| Some(place(next)?.1))
            .ok()
            .and_then(|next| Some(place(next)?.0))
            .ok_or(DeviceError::OutOfHostMemory { what: "GPU addresses" })
    }

    /// Logs a hazard that a call of the CPU caused, if that check is on.
    pub(crate) fn report(
        &self,
        check: Checks,
        kind: HazardKind,
        objects: &[&dyn fmt::Display],
        detail: impl fmt::Display,
        call: &'static str,
    ) {
        if self.checks.contains(check) {
            self.hazards.push(kind, objects, &detail, Origin::Call(call));
        }
    }

    /// Checks an object that the CPU destroys, or a list that it resets: work in flight must not use it.
    pub(crate) fn check_unused(
        &self,
        label: &Label,
        last_use: &SharedClock,
        kind: HazardKind,
        call: &'static str,
    ) {
        if let Some(used) = last_use.first_after(&self.observed) {
            self.report_use(Checks::LIFETIME, kind, label, "uses it", used, call);
        }
    }

    /// Logs that the CPU changes or destroys an object that a submission in flight uses.
    pub(crate) fn report_use(
        &self,
        check: Checks,
        kind: HazardKind,
        label: &Label,
        uses: impl fmt::Display,
        (queue, serial): (QueueId, u64),
        call: &'static str,
    ) {
        // A lost device is idle.
        if self.alive().is_err() {
            return;
        }
        let seen = self.observed.load().get(queue);
        let queue = queue.0;
        let detail = format!(
            "submission {serial} on queue {queue} {uses}, and the CPU has seen {seen} complete there"
        );
        self.report(check, kind, &[label], detail, call);
    }
}
