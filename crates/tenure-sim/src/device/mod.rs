//! The device itself: its methods for tests, and the contract.

mod contract;
mod faults;
mod lists;
mod mapping;
mod report;
mod residency;

use std::fmt;
use std::sync::Arc;

use tenure_core::device::{DeviceError, QueueId, TrimRequest};

pub use self::faults::Faults;
pub use self::mapping::Mapping;
pub use self::report::Findings;
use crate::calls::Calls;
use crate::config::DeviceConfig;
use crate::fence::Fence;
use crate::hazard::Hazard;
use crate::journal::Step;
use crate::object::{LiveObject, ObjectKind};
use crate::paging::{Pager, PagingStats};
use crate::points::Progress;
use crate::profile::Profile;
use crate::timeline::Queues;

/// A GPU in software. Clones are handles to the same device, which any thread may use.
///
/// See the [crate documentation](crate) for its behaviour and checks.
#[derive(Clone)]
pub struct Device {
    queues: Arc<Queues>,
    /// Shared by the clones only.
    handles: Arc<()>,
}

impl Device {
    /// A device of that profile, with the default options.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self::with_config(DeviceConfig::new(profile))
    }

    /// A device with these options.
    #[must_use]
    pub fn with_config(options: DeviceConfig) -> Self {
        Self { queues: Arc::new(Queues::new(options)), handles: Arc::new(()) }
    }

    pub(crate) const fn queues(&self) -> &Arc<Queues> {
        &self.queues
    }

    /// The hazards so far, oldest first; at most [`HAZARD_LOG_LIMIT`](crate::HAZARD_LOG_LIMIT) are kept.
    #[must_use]
    pub fn hazards(&self) -> Vec<Hazard> {
        self.queues.hazards.snapshot()
    }

    /// Empties the log of hazards and returns its content.
    #[must_use]
    pub fn take_hazards(&self) -> Vec<Hazard> {
        self.queues.hazards.take()
    }

    /// The steps that the queues have executed since the last call, with [`DeviceConfig::journal`]; otherwise empty.
    /// For tests that judge barriers by rules of their own.
    ///
    /// ```
    /// use tenure_core::device::{BufferInfo, MemoryTypeId, Permit, QueueId, ResourceDesc, State, Usage, prelude::*};
    /// use tenure_sim::{Device, Lag, DeviceConfig, Profile, Step};
    ///
    /// let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None).journal(true));
    /// let desc = ResourceDesc::Buffer(BufferInfo::new(256, Usage::COPY_DST));
    /// let buffer = device.create_committed(&desc, MemoryTypeId(0))?;
    /// let permit = Permit::checked();
    /// let mut list = device.create_list(permit, QueueId(0))?;
    /// list.begin()?;
    /// list.fill_buffer(&buffer, 0, 256, 7);
    /// list.close()?;
    /// device.submit(permit, QueueId(0), &[&list], &[], 1)?;
    /// let used = Step::Use { resource: buffer.number(), subresources: 0..1, state: State::COPY_DST };
    /// assert_eq!(device.take_journal()[1..], [used]);
    /// # Ok::<(), tenure_core::device::DeviceError>(())
    /// ```
    #[must_use]
    pub fn take_journal(&self) -> Vec<Step> {
        self.queues.journal.take()
    }

    /// Hazards found since the device was made, kept in the log or not.
    #[must_use]
    pub fn hazards_found(&self) -> u64 {
        self.queues.hazards.found()
    }

    /// Objects created and not destroyed, oldest first. At the end of a program each is a leak.
    /// O(live objects).
    #[must_use]
    pub fn leaks(&self) -> Vec<LiveObject> {
        self.queues.register.live()
    }

    /// The number of live handles, this one and its clones: 1 once all others are dropped, so that a test sees
    /// when the program releases its device.
    #[must_use]
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.handles)
    }

    /// `Ok` if there was no hazard and all objects are destroyed. Called at the end of a test.
    ///
    /// # Errors
    /// [`Findings`], which shows each hazard and each leak on a separate line.
    pub fn check_clean(&self) -> Result<(), Findings> {
        let mut findings =
            Findings { hazards: self.hazards(), found: self.hazards_found(), leaks: self.leaks() };
        let unreached = self.queues.unreached();
        findings.found = findings.found.saturating_add(unreached.len() as u64);
        findings.hazards.extend(unreached);
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// A fence of the program that counts from 0 (`ID3D12Fence`, a timeline semaphore).
    #[must_use]
    pub fn create_fence(&self, name: &str) -> Fence {
        Fence::new(&self.queues, name, &Progress::new(false))
    }

    /// A binary semaphore of the program, as in Vulkan: each signal is waited for once.
    #[must_use]
    pub fn create_semaphore(&self, name: &str) -> Fence {
        Fence::new(&self.queues, name, &Progress::new(true))
    }

    /// Injection of failures.
    #[must_use]
    pub fn faults(&self) -> Faults {
        Faults::new(&self.queues)
    }

    /// A snapshot of the counters. O(live objects).
    #[must_use]
    pub fn calls(&self) -> Calls {
        let queues = &self.queues;
        let totals = queues.memory.totals();
        let live = |wanted: &[ObjectKind]| queues.register.count(|kind| wanted.contains(&kind));
        let mut calls = queues.counters.snapshot();
        calls.live_heaps = live(&[ObjectKind::Heap]);
        calls.live_resources = live(&[ObjectKind::Buffer, ObjectKind::Texture]);
        calls.live_lists = live(&[ObjectKind::List]);
        calls.live_descriptor_heaps = live(&[ObjectKind::DescriptorHeap]);
        calls.live_set_layouts = live(&[ObjectKind::SetLayout]);
        calls.live_set_pools = live(&[ObjectKind::SetPool]);
        calls.live_query_heaps = live(&[ObjectKind::QueryHeap]);
        calls.live_acceleration_structures = live(&[ObjectKind::AccelerationStructure]);
        calls.allocations = totals.allocations;
        calls.reserved_bytes = totals.reserved;
        calls.peak_reserved_bytes = totals.peak;
        calls
    }

    /// Nanoseconds that all calls so far would have taken by the [cost model](crate::Costs): [`Calls::cost_ns`]
    /// alone, in O(1).
    #[must_use]
    pub fn cost_ns(&self) -> u64 {
        self.queues.counters.cost_ns()
    }

    /// A line for each call since the device was made, with [`DeviceConfig::record_calls`](DeviceConfig::record_calls);
    /// otherwise empty.
    #[must_use]
    pub fn call_log(&self) -> Vec<String> {
        self.queues.counters.lines()
    }

    /// Ticks of simulated time since the device was made.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.queues.timeline.lock().now()
    }

    /// Changes the budget of a memory heap, as when another program starts. Nothing is evicted;
    /// [`budget`](tenure_core::device::MemoryDevice::budget) reports it.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if there is no such heap.
    pub fn set_budget(&self, heap: usize, bytes: u64) -> Result<(), DeviceError> {
        if self.queues.memory.set_budget(heap, bytes) {
            if let Some(pager) = &self.queues.pager {
                pager.set_budget(heap, bytes);
            }
            self.queues.notices.note_budget();
            return Ok(());
        }
        let heaps = self.queues.properties.memory_heaps.len();
        Err(DeviceError::invalid_call("the memory heap exists", heap as u64, heaps as u64))
    }

    /// Simulates a trim request of the operating system, as on Windows
    /// (`ID3D12Device15::RegisterTrimNotificationCallback`).
    pub fn request_trim(&self, trim: TrimRequest) {
        self.queues.notices.request(trim);
    }

    /// The last reservation that the program made with the operating system, by memory heap
    /// ([`reserve`](tenure_core::device::ResidencyDevice::reserve)); empty before the first.
    #[must_use]
    pub fn reserved(&self) -> Vec<u64> {
        self.queues.notices.reserved()
    }

    /// The cost of paging so far; the default if it is not [simulated](DeviceConfig::paging).
    #[must_use]
    pub fn paging_stats(&self) -> PagingStats {
        self.queues.pager.as_ref().map(Pager::stats).unwrap_or_default()
    }

    /// Completes the oldest submission of a queue now, regardless of its lag; returns its serial, or `None` if
    /// there is none or it waits for another queue. The CPU has not seen it until it polls or waits.
    pub fn complete_one(&self, queue: QueueId) -> Option<u64> {
        let done = self.queues.timeline.lock().complete_one(&self.queues, queue);
        self.queues.changed.notify_all();
        done
    }

    /// Completes the submissions of a queue up to `serial`; false when it gets stuck before, at
    /// one that waits for another queue or was not made yet.
    pub fn complete(&self, queue: QueueId, serial: u64) -> bool {
        loop {
            let completed = self.queues.timeline.lock().completed(queue);
            if completed.is_some_and(|completed| completed >= serial) {
                return true;
            }
            if self.complete_one(queue).is_none() {
                return false;
            }
        }
    }

    /// Completes everything that can complete on all queues, in the order of its time, and lets
    /// the CPU see it, as a wait for an idle device does; false when something is left that waits
    /// for a submission not made yet.
    pub fn run_until_idle(&self) -> bool {
        let idle = self.queues.timeline.lock().run_until_idle(&self.queues);
        self.queues.changed.notify_all();
        idle
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("name", &self.queues.properties.name).finish_non_exhaustive()
    }
}
