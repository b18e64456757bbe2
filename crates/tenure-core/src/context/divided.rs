//! Transfers in pieces, and the wait of one transfer for memory that another holds.

use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use super::Context;
use crate::device::{Device, DeviceError};
use crate::time::Clock;

/// The uploads and readbacks that threads copy in pieces at this moment.
///
/// Each holds memory only until its pieces are copied, so a transfer that finds no memory waits for a step of
/// the others.
#[derive(Debug, Default)]
pub(crate) struct DividedTransfers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The threads of the transfers that are not waiting for others.
    running: SmallVec<[ThreadId; 8]>,
    /// The number of finished pieces and ended transfers.
    steps: u64,
}

/// A transfer in pieces; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct DividedTransfer<'a>(&'a DividedTransfers);

/// The waits for memory of one piece.
#[derive(Debug, Default)]
pub(crate) struct PieceWaits {
    /// The number of steps at the last wait for the GPU.
    gpu_at: Option<u64>,
}

impl DividedTransfers {
    pub(crate) fn begin(&self) -> DividedTransfer<'_> {
        self.state.lock().running.push(thread::current().id());
        DividedTransfer(self)
    }

    /// The number of steps so far; read it before asking for memory.
    pub(crate) fn steps(&self) -> u64 {
        self.state.lock().steps
    }

    /// Counts a finished piece: its memory is free, now or once the GPU has copied it.
    pub(crate) fn step(&self) {
        self.state.lock().steps += 1;
        self.changed.notify_all();
    }

    /// Waits for a step after the first `seen`; false if no other thread will make one, or on a timeout.
    fn wait(&self, seen: u64, timeout: Duration) -> bool {
        let own = thread::current().id();
        let mut state = self.state.lock();
        let all = state.running.len();
        state.running.retain(|thread| *thread != own);
        let nested = all - state.running.len();
        // Other waiting threads may have waited for this thread.
        self.changed.notify_all();
        let is_stuck = |state: &mut State| state.steps == seen && !state.running.is_empty();
        let _result = self.changed.wait_while_for(&mut state, is_stuck, timeout);
        state.running.extend(std::iter::repeat_n(own, nested));
        state.steps != seen
    }
}

impl Drop for DividedTransfer<'_> {
    fn drop(&mut self) {
        let own = thread::current().id();
        {
            let mut state = self.0.state.lock();
            if let Some(at) = state.running.iter().position(|thread| *thread == own) {
                state.running.swap_remove(at);
            }
            state.steps += 1;
        }
        self.0.changed.notify_all();
    }
}

impl<D: Device> Context<D> {
    /// Waits for memory for a piece that found none after `seen` [steps](DividedTransfers::steps): once for the
    /// GPU to finish, then for a step of another transfer. False if there is nothing to wait for, or on a
    /// timeout.
    pub(crate) fn wait_for_piece(
        &self,
        waits: &mut PieceWaits,
        seen: u64,
        timeout: Duration,
    ) -> Result<bool, DeviceError> {
        if timeout.is_zero() {
            return Ok(false);
        }
        if waits.gpu_at.replace(seen) != Some(seen) {
            return self.wait(&self.clock.submitted(), timeout);
        }
        // During the program's own submission, others may wait for this thread.
        Ok(Clock::check_outside().is_ok() && self.divided.wait(seen, timeout))
    }
}
