//! What all handles of one device share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};
use tenure_core::device::{
    Api, DeviceError, Features, ManagerSlot, MemoryType, MemoryTypeId, Properties, Residency, StateModel,
};

use crate::budget::DriverMemory;
use crate::bytes::MAX_BYTES;
use crate::calls::{CallKind, Counters};
use crate::checks::visible::HostBarriers;
use crate::clock::SharedClock;
use crate::costs::{Costs, Work};
use crate::faults::FaultState;
use crate::hazard::{Checks, Hazard, HazardKind, HazardLog, Origin};
use crate::journal::Journal;
use crate::object::Register;
use crate::options::{Lag, Options};
use crate::paging::{Notices, Pager};
use crate::profile::{Formats, Rules};
use crate::queries::QueryClock;
use crate::sharing::Shares;
use crate::timeline::Timeline;

/// The first GPU address that is handed out: not 0, and not something a program could have made up.
const FIRST_ADDRESS: u64 = 1 << 32;

/// What a call asks for, for its cost, its log line and the errors injected into it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Request {
    pub(crate) bytes: u64,
    pub(crate) memory: u8,
    pub(crate) work: Work,
}

pub(crate) struct Shared {
    /// That no other device of the program has.
    pub(crate) number: u64,
    pub(crate) shares: Shares,
    pub(crate) properties: Properties,
    pub(crate) manager_slot: ManagerSlot,
    pub(crate) rules: Rules,
    pub(crate) formats: Formats,
    /// Of queues for copies alone: in blocks along each axis.
    pub(crate) copy_steps: [u32; 3],
    pub(crate) zeroed: bool,
    pub(crate) prefers_dedicated: bool,
    pub(crate) requires_dedicated: bool,
    pub(crate) checks: Checks,
    pub(crate) journal: Journal,
    pub(crate) lag: Lag,
    costs: Costs,
    pub(crate) register: Register,
    /// Samplers alive.
    pub(crate) samplers: AtomicU32,
    pub(crate) memory: DriverMemory,
    /// Where paging is simulated.
    pub(crate) pager: Option<Pager>,
    pub(crate) hazards: HazardLog,
    pub(crate) counters: Counters,
    pub(crate) faults: FaultState,
    /// What the CPU has seen complete, by polling or waiting.
    pub(crate) observed: SharedClock,
    /// What the queues have made visible to the CPU.
    pub(crate) host_barriers: HostBarriers,
    /// What timestamps show.
    pub(crate) query_clock: QueryClock,
    /// What the operating system has said, and was told.
    pub(crate) notices: Notices,
    pub(crate) timeline: Mutex<Timeline>,
    /// Signalled when something was submitted or completed by hand, or the device is lost: all
    /// that a wait cannot bring about by letting time pass.
    pub(crate) changed: Condvar,
    lost: OnceLock<String>,
    next_address: AtomicU64,
}

impl Shared {
    pub(crate) fn new(options: Options) -> Self {
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
        let pager = options.paging.map(|paging| Pager::new(paging, &properties, &memory));
        let timeline = Timeline::new(&properties, options.seed);
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        Self {
            number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
            shares: Shares::default(),
            manager_slot: ManagerSlot::default(),
            rules: table.rules,
            formats: table.formats,
            copy_steps: table.copy_steps,
            zeroed: options.zeroed.unwrap_or(table.zeroed),
            prefers_dedicated: options.prefers_dedicated,
            requires_dedicated: options.requires_dedicated,
            checks: options.checks,
            journal: Journal::new(options.journal),
            lag: options.lag,
            costs: options.costs,
            register: Register::default(),
            samplers: AtomicU32::new(0),
            memory,
            pager,
            hazards: HazardLog::default(),
            counters: Counters::new(options.record_calls),
            faults: FaultState::default(),
            observed: SharedClock::default(),
            host_barriers: HostBarriers::default(),
            query_clock: QueryClock::default(),
            notices: Notices::default(),
            timeline: Mutex::new(timeline),
            changed: Condvar::new(),
            lost: OnceLock::new(),
            next_address: AtomicU64::new(FIRST_ADDRESS),
            properties,
        }
    }

    pub(crate) fn promotes(&self) -> bool {
        self.properties.state_model == StateModel::Promotion
    }

    /// True when tiles that are mapped to nothing read as zero.
    pub(crate) fn reads_unmapped_tiles(&self) -> bool {
        self.properties.features.contains(Features::UNMAPPED_TILES)
    }

    /// True when heaps are Direct3D 12's.
    pub(crate) fn is_d3d12(&self) -> bool {
        self.properties.api == Api::Direct3D12
    }

    /// `Err` once the device is lost.
    pub(crate) fn alive(&self) -> Result<(), DeviceError> {
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason: reason.clone() }),
        }
    }

    pub(crate) fn lose(&self, reason: &str) {
        // Under the lock, so that who holds it sees one device or the other: nothing is executed once a call has answered
        // that the device is lost, after which programs destroy all.
        let mut timeline = self.timeline.lock();
        // The first reason stays: it is the cause, the others follow from it.
        if self.lost.set(reason.to_owned()).is_ok() {
            timeline.abandon();
        }
        drop(timeline);
        self.changed.notify_all();
    }

    /// Makes one driver call: counts it, lets faults strike, runs it.
    pub(crate) fn call<T>(
        &self,
        call: CallKind,
        request: Request,
        run: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        self.counters.made(call, self.costs.of(call, request.work));
        let result = self.alive().and_then(|()| self.strike(call, request)).and_then(|()| run());
        if result.is_err() {
            self.counters.failed(call);
        }
        self.faults.delay_return(call);
        self.counters.log(|| {
            let outcome = result.as_ref().map_or_else(ToString::to_string, |_| "ok".to_owned());
            format!("{}({}, {}): {outcome}", call.name(), request.bytes, request.memory)
        });
        result
    }

    /// Counts a call that cannot fail.
    pub(crate) fn count(&self, call: CallKind, work: Work) {
        self.counters.made(call, self.costs.of(call, work));
        self.counters.log(|| format!("{}({}): ok", call.name(), work.bytes));
    }

    fn strike(&self, call: CallKind, request: Request) -> Result<(), DeviceError> {
        let Some(kind) = self.faults.strike(call, request.bytes) else { return Ok(()) };
        let memory = MemoryTypeId(request.memory);
        match kind.error(call, request.bytes, memory, self.properties.max_allocations) {
            Ok(error) => Err(error),
            Err(reason) => {
                self.lose(&reason);
                self.alive()
            }
        }
    }

    /// A range of GPU addresses that nobody else has; a gap of a page follows it.
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
        objects: Vec<String>,
        detail: impl FnOnce() -> String,
        call: &'static str,
    ) {
        if self.checks.contains(check) {
            self.hazards.push(Hazard { kind, objects, detail: detail(), origin: Origin::Call(call) });
        }
    }
}
