//! Fences of the program, and its own submissions.

use std::fmt;

use parking_lot::Mutex;
use tenure_core::device::{CallRule, DeviceError};
use windows::Win32::Graphics::Direct3D12::{ID3D12Device, ID3D12Fence};

use crate::device::error::{Asked, code};
use crate::device::inner::Inner;
use crate::device::queue::Queue;
use crate::device::resource::object::is_same;

/// A value of a fence of the program that a recording waits for or signals: see
/// [`Recording::wait_for_external`](tenure_core::Recording::wait_for_external).
///
/// ```no_run
/// use tenure_core::Recording;
/// use tenure_d3d12::windows::Win32::Graphics::Direct3D12::ID3D12Fence;
/// use tenure_d3d12::{Device, ExternalFence};
///
/// /// Draws once another library, which signals `drawn` to `value`, is done.
/// fn draw_after(recording: &mut Recording<Device>, drawn: &ID3D12Fence, value: u64) {
///     recording.wait_for_external(ExternalFence::new(drawn.clone(), value));
/// }
/// ```
#[derive(Clone)]
pub struct ExternalFence {
    fence: ID3D12Fence,
    value: u64,
}

impl ExternalFence {
    /// A value of a fence of the device that it is used with. It is kept until the submissions that use it
    /// are complete.
    #[must_use]
    pub const fn new(fence: ID3D12Fence, value: u64) -> Self {
        Self { fence, value }
    }

    /// The fence.
    #[must_use]
    pub const fn fence(&self) -> &ID3D12Fence {
        &self.fence
    }

    /// The value.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }
}

impl fmt::Debug for ExternalFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalFence").field("value", &self.value).finish_non_exhaustive()
    }
}

/// Fences of the program that submissions use, with the serials until which they are kept: the API
/// keeps no references to them.
#[derive(Default)]
pub(crate) struct KeptFences(Mutex<Vec<(u64, ID3D12Fence)>>);

impl KeptFences {
    /// Keeps the fences of a submission, and releases the fences of complete ones.
    pub(crate) fn keep<'a>(
        &self,
        points: impl Iterator<Item = &'a ExternalFence>,
        serial: u64,
        completed: u64,
    ) {
        let mut points = points.peekable();
        if points.peek().is_none() {
            return;
        }
        let mut kept = self.0.lock();
        kept.retain(|(used, _)| *used > completed);
        kept.extend(points.map(|point| (serial, point.fence.clone())));
    }
}

impl Inner {
    pub(crate) fn check_external<'a>(
        &self,
        points: impl Iterator<Item = &'a ExternalFence>,
    ) -> Result<(), DeviceError> {
        for point in points {
            let mut owner: Option<ID3D12Device> = None;
            // SAFETY: the interface is alive, and the pointer is to a local that outlives the call.
            let answer = unsafe { point.fence.GetDevice(&raw mut owner) };
            if answer.is_err() || owner.is_none_or(|owner| !is_same(&owner, &self.raw)) {
                return Err(DeviceError::broken_rule(CallRule::SameDevice));
            }
        }
        Ok(())
    }

    /// Makes later submissions to a queue wait for points of the program.
    pub(crate) fn wait_external(&self, queue: &Queue, points: &[ExternalFence]) -> Result<(), DeviceError> {
        for point in points {
            // SAFETY: both interfaces are alive and of this device.
            unsafe { queue.raw.Wait(&point.fence, point.value) }
                .map_err(|error| self.fail(&error, Asked::Object("ID3D12CommandQueue::Wait")))?;
        }
        Ok(())
    }

    /// Signals points of the program when all submissions to a queue are complete.
    pub(crate) fn signal_external(&self, queue: &Queue, points: &[ExternalFence]) -> Result<(), DeviceError> {
        for point in points {
            // SAFETY: as above.
            unsafe { queue.raw.Signal(&point.fence, point.value) }.map_err(|error| {
                // The work was submitted, and waits for this signal would never end.
                match self.fail(&error, Asked::Object("ID3D12CommandQueue::Signal")) {
                    lost @ DeviceError::Lost { .. } => lost,
                    _ => self.lose(format!("a fence could not be signalled ({})", code(error.code()))),
                }
            })?;
        }
        Ok(())
    }
}
