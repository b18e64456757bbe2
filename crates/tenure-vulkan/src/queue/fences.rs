//! Clocks that are fences, for devices without timeline semaphores.
//!
//! Each submission has a fence. Between queues, and between submissions and changes of tile mappings, there are
//! binary semaphores: an empty batch on the queue waited for, the *bridge*, signals one after all earlier
//! submissions there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;
use tenure_core::device::{DeviceError, QueueId, QueueSerial, check};

use super::Queues;
use super::clock::{Clock, SLICE, nanoseconds};
use super::submit::{Batch, SemaphorePoint, SemaphorePoints, Sync, Work, merge_waits};

type Semaphores = SmallVec<[vk::Semaphore; 4]>;

/// A batch that may not be complete.
struct InFlight {
    /// Complete with it.
    serial: u64,
    /// Shared with threads that wait for it; the last one returns it to the pool.
    fence: Arc<vk::Fence>,
    /// The semaphores that it waited for; free when it is complete.
    waited: Semaphores,
}

/// A semaphore that is signalled when a serial is complete, without a waiter so far.
struct Bridge {
    semaphore: vk::Semaphore,
    serial: u64,
}

#[derive(Default)]
struct State {
    submitted: u64,
    completed: u64,
    in_flight: VecDeque<InFlight>,
    /// Left over when a submission failed that was to wait for them.
    bridges: Vec<Bridge>,
    /// Signalled by the newest change of tile mappings; no submission has waited for it yet.
    bound: Option<vk::Semaphore>,
}

/// A queue's clock.
#[derive(Default)]
pub(crate) struct Fences {
    state: Mutex<State>,
    /// Something was submitted.
    submission: Condvar,
}

impl Fences {
    /// Returns everything to the pool, once the GPU is idle.
    pub(crate) fn recycle(&mut self, pool: &SyncPool) {
        let state = self.state.get_mut();
        for submission in state.in_flight.drain(..) {
            release(submission, pool);
        }
        pool.return_semaphores(state.bridges.drain(..).map(|bridge| bridge.semaphore));
        pool.return_semaphores(state.bound.take());
    }
}

fn binary(semaphores: impl IntoIterator<Item = vk::Semaphore>) -> impl Iterator<Item = SemaphorePoint> {
    semaphores.into_iter().map(|semaphore| SemaphorePoint::new(semaphore, 0))
}

fn release(submission: InFlight, pool: &SyncPool) {
    pool.return_semaphores(submission.waited);
    if let Some(fence) = Arc::into_inner(submission.fence) {
        pool.return_fence(fence);
    }
}

/// The waits of a submission in progress, which are returned if it fails.
struct Pending<'a> {
    fences: &'a Fences,
    bridge: Bridge,
}

impl Queues {
    pub(crate) fn poll_fences(&self, fences: &Fences) -> Result<u64, DeviceError> {
        let state = &mut *fences.state.lock();
        while let Some(front) = state.in_flight.front() {
            // SAFETY: the fence is ours and belongs to a submission.
            let signalled = unsafe { self.api.device.get_fence_status(*front.fence) };
            if !signalled.map_err(|result| self.error("vkGetFenceStatus", result))? {
                break;
            }
            state.completed = front.serial;
            if let Some(done) = state.in_flight.pop_front() {
                release(done, &self.sync);
            }
        }
        Ok(state.completed)
    }

    pub(crate) fn wait_fence(
        &self,
        fences: &Fences,
        serial: u64,
        slice: Duration,
    ) -> Result<(), DeviceError> {
        let mut state = fences.state.lock();
        let index = state.in_flight.partition_point(|submission| submission.serial < serial);
        let Some(fence) = state.in_flight.get(index).map(|submission| submission.fence.clone()) else {
            if state.submitted < serial {
                fences.submission.wait_for(&mut state, slice);
            }
            return Ok(());
        };
        drop(state);
        // SAFETY: the fence is ours, and not reset while this holds it.
        let waited = unsafe { self.api.device.wait_for_fences(&[*fence], true, nanoseconds(slice)) };
        if let Some(fence) = Arc::into_inner(fence) {
            self.sync.return_fence(fence);
        }
        match waited {
            Ok(()) | Err(vk::Result::TIMEOUT) => Ok(()),
            Err(result) => Err(self.error("vkWaitForFences", result)),
        }
    }

    /// Submits on a queue with a fence for each submission as its clock.
    pub(crate) fn execute_with_fence(
        &self,
        (queue, fences): (QueueId, &Fences),
        work: Work<'_>,
        sync: Sync<'_>,
    ) -> Result<(), DeviceError> {
        let Sync { waits, signal, .. } = sync;
        let changes_tiles = matches!(work, Work::Binds(_));
        let own = {
            let state = fences.state.lock();
            check::serial(signal, state.submitted)?;
            // A change of mappings before has waited for all before it.
            if changes_tiles && state.bound.is_none() { state.submitted } else { 0 }
        };
        let waits = merge_waits(waits.iter().copied().chain([QueueSerial { queue, serial: own }]));
        self.after_bridges(&waits, |waited| self.execute_after((queue, fences), work, waited, sync))
    }

    /// Makes later submissions to the queue, before submission `signal`, wait for `waits`.
    pub(super) fn hold_with_fence(
        &self,
        (queue, fences): (QueueId, &Fences),
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        let has_bound = {
            let state = fences.state.lock();
            check::serial(signal, state.submitted)?;
            state.bound.is_some()
        };
        if waits.is_empty() && !has_bound {
            return Ok(());
        }
        self.after_bridges(&merge_waits(waits.iter().copied()), |mut waited| {
            let mut state = fences.state.lock();
            waited.extend(state.bound);
            let batch = Batch {
                work: Work::Lists(&[]),
                waits: binary(waited.iter().copied()).collect(),
                signals: SemaphorePoints::new(),
                fence: vk::Fence::null(),
            };
            let fence = self.send_with_fence(queue, batch)?;
            state.bound = None;
            let serial = state.submitted;
            state.in_flight.push_back(InFlight { serial, fence, waited });
            Ok(())
        })
    }

    /// Runs `submit` with semaphores that are signalled when `waits` are complete, and keeps them for the next
    /// submission if it fails.
    fn after_bridges(
        &self,
        waits: &[QueueSerial],
        submit: impl FnOnce(Semaphores) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let mut pending = SmallVec::new();
        let submitted = self.bridge_all(waits, &mut pending).and_then(|()| {
            submit(pending.iter().map(|pending: &Pending<'_>| pending.bridge.semaphore).collect())
        });
        if submitted.is_err() {
            for Pending { fences, bridge } in pending {
                fences.state.lock().bridges.push(bridge);
            }
        }
        submitted
    }

    fn bridge_all<'a>(
        &'a self,
        waits: &[QueueSerial],
        pending: &mut SmallVec<[Pending<'a>; 4]>,
    ) -> Result<(), DeviceError> {
        for wait in waits {
            if let Some(found) = self.bridge(*wait)? {
                pending.push(found);
            }
        }
        Ok(())
    }

    /// A semaphore that is signalled when a serial is complete; `None` if it already is.
    fn bridge(&self, wait: QueueSerial) -> Result<Option<Pending<'_>>, DeviceError> {
        let Clock::Fences(fences) = &self.queue(wait.queue)?.clock else { return Ok(None) };
        if self.poll_fences(fences)? >= wait.serial {
            return Ok(None);
        }
        let mut state = fences.state.lock();
        if wait.serial > state.submitted {
            let rule = "without timeline semaphores only what was submitted can be waited for";
            return Err(DeviceError::invalid_call(rule, wait.serial, state.submitted));
        }
        let left_over = state.bridges.iter().position(|bridge| bridge.serial >= wait.serial);
        let bridge = match left_over {
            Some(index) => state.bridges.swap_remove(index),
            None => self.build_bridge(wait.queue, &mut state)?,
        };
        Ok(Some(Pending { fences, bridge }))
    }

    /// Submits an empty batch that signals a semaphore after all before it.
    fn build_bridge(&self, queue: QueueId, state: &mut State) -> Result<Bridge, DeviceError> {
        let semaphore = self.take_semaphore()?;
        let batch = Batch {
            work: Work::Lists(&[]),
            // The bridge waits for a change of mappings before it, as any submission does.
            waits: binary(state.bound).collect(),
            signals: binary([semaphore]).collect(),
            fence: vk::Fence::null(),
        };
        let sent = self.send_with_fence(queue, batch);
        let fence = sent.inspect_err(|_| self.sync.return_semaphores([semaphore]))?;
        let serial = state.submitted;
        let waited = state.bound.take().into_iter().collect();
        state.in_flight.push_back(InFlight { serial, fence, waited });
        Ok(Bridge { semaphore, serial })
    }

    fn send_with_fence(&self, queue: QueueId, batch: Batch<'_>) -> Result<Arc<vk::Fence>, DeviceError> {
        let fence = self.take_fence()?;
        let sent = self.send(queue, &Batch { fence, ..batch });
        sent.map(|()| Arc::new(fence)).inspect_err(|_| self.sync.return_fence(fence))
    }

    /// Waits until the GPU is idle, bridges included; false after the timeout.
    pub(crate) fn drain_fences(&self, fences: &Fences, timeout: Duration) -> Result<bool, DeviceError> {
        let begun = Instant::now();
        loop {
            self.alive()?;
            self.poll_fences(fences)?;
            let newest = fences.state.lock().in_flight.back().map(|submission| submission.serial);
            let Some(serial) = newest else { return Ok(true) };
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            self.wait_fence(fences, serial, left.min(SLICE))?;
        }
    }

    fn execute_after(
        &self,
        (queue, fences): (QueueId, &Fences),
        work: Work<'_>,
        mut waited: Semaphores,
        sync: Sync<'_>,
    ) -> Result<(), DeviceError> {
        let Sync { external_waits, external_signals, signal, .. } = sync;
        let changes_tiles = matches!(work, Work::Binds(_));
        let mut state = fences.state.lock();
        check::serial(signal, state.submitted)?;
        waited.extend(state.bound);
        let bound = if changes_tiles { Some(self.take_semaphore()?) } else { None };
        let batch = Batch {
            work,
            waits: binary(waited.iter().copied())
                .chain(external_waits.iter().map(|point| point.to_point()))
                .collect(),
            signals: binary(bound).chain(external_signals.iter().map(|point| point.to_point())).collect(),
            fence: vk::Fence::null(),
        };
        let sent = self.send_with_fence(queue, batch);
        let fence = sent.inspect_err(|_| self.sync.return_semaphores(bound))?;
        state.bound = bound;
        state.submitted = signal;
        state.in_flight.push_back(InFlight { serial: signal, fence, waited });
        drop(state);
        fences.submission.notify_all();
        Ok(())
    }
}

// Reused fences and binary semaphores: of presentations, and of submissions without timeline semaphores.

/// The unused ones.
#[derive(Default)]
pub(crate) struct SyncPool {
    /// May be signalled.
    fences: Mutex<Vec<vk::Fence>>,
    /// The free semaphores, all unsignalled.
    semaphores: Mutex<Vec<vk::Semaphore>>,
    /// Fences of presentations that were not signalled in time. The driver may still signal them.
    lost_fences: Mutex<Vec<vk::Fence>>,
}

impl SyncPool {
    pub(crate) fn return_fence(&self, fence: vk::Fence) {
        self.fences.lock().push(fence);
    }

    /// Keeps fences of presentations that were not signalled in time until the end.
    pub(crate) fn lose_fences(&self, fences: impl IntoIterator<Item = vk::Fence>) {
        self.lost_fences.lock().extend(fences);
    }

    /// True when the driver does not signal all fences of presentations.
    pub(crate) fn has_lost_fences(&self) -> bool {
        !self.lost_fences.lock().is_empty()
    }

    pub(crate) fn return_semaphores(&self, semaphores: impl IntoIterator<Item = vk::Semaphore>) {
        self.semaphores.lock().extend(semaphores);
    }

    /// Destroys all. All objects taken from here have been returned.
    pub(crate) fn destroy(&mut self, device: &ash::Device) {
        for fence in self.fences.get_mut().drain(..).chain(self.lost_fences.get_mut().drain(..)) {
            // SAFETY: it is ours, and objects in the pool are not in use.
            unsafe { device.destroy_fence(fence, None) };
        }
        for semaphore in self.semaphores.get_mut().drain(..) {
            // SAFETY: it is ours, and objects in the pool are not in use.
            unsafe { device.destroy_semaphore(semaphore, None) };
        }
    }
}

impl Queues {
    /// An unsignalled fence.
    pub(crate) fn take_fence(&self) -> Result<vk::Fence, DeviceError> {
        let device = &self.api.device;
        let Some(fence) = self.sync.fences.lock().pop() else {
            // SAFETY: the device is alive.
            let made = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) };
            return made.map_err(|result| self.error("vkCreateFence", result));
        };
        // SAFETY: it is ours, and objects taken from the pool are not in use.
        match unsafe { device.reset_fences(&[fence]) } {
            Ok(()) => Ok(fence),
            Err(result) => {
                self.sync.return_fence(fence);
                Err(self.error("vkResetFences", result))
            }
        }
    }

    /// An unsignalled binary semaphore.
    pub(crate) fn take_semaphore(&self) -> Result<vk::Semaphore, DeviceError> {
        if let Some(semaphore) = self.sync.semaphores.lock().pop() {
            return Ok(semaphore);
        }
        // SAFETY: the device is alive.
        let made = unsafe { self.api.device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None) };
        made.map_err(|result| self.error("vkCreateSemaphore", result))
    }
}
