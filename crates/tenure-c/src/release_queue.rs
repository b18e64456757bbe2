//! Functions: release queues, which destroy objects of the program when nothing uses them any more. They need no device.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::device::{DeviceError, QueueId};
use tenure_track::time::{Clock, RecordingId, Recordings, Stamp};

use crate::call::{call, call_create};
use crate::callback::{Destroy, Inside, during};
use crate::convert::sync_point;
use crate::pointer::{In, Out, Outcome};
use crate::slot::Handle;
use crate::types::*;

/// Submits work of the program, and makes the queue's fence signal `serial` on completion. Called once, inside
/// `tn_release_queue_submit`. Returns `TN_OK`, or a program-defined negative number if nothing was submitted. Must not unwind.
/// May release handles, except a `tn_Gpu` and a `tn_Swapchain`; other functions return `TN_ERROR_CALLBACK`.
pub type tn_SerialFn = extern "C-unwind" fn(user: *mut c_void, serial: u64) -> tn_Status;

/// Statistics of a release queue.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_ReleaseTotals {
    /// `sizeof(tn_ReleaseTotals)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Number of objects in the queue.
    pub pending: u64,
    /// Bytes of the objects in the queue.
    pub pending_bytes: u64,
    /// Submissions not known to be complete, on all queues.
    pub incomplete: u64,
    /// Number of open recordings.
    pub open_recordings: u64,
}

descs! {
    tn_ReleaseTotals: 0,
}

impl Outcome for tn_ReleaseTotals {}

/// The object behind a `tn_ReleaseQueue`.
pub(crate) struct ReleaseQueue {
    clock: Clock,
    recordings: Recordings,
    releases: tenure_track::time::ReleaseQueue<Destroy>,
    /// Bytes of all objects pushed so far.
    bytes: AtomicU64,
}

impl ReleaseQueue {
    /// The queue with this index.
    fn queue(&self, index: u32) -> Result<QueueId, Failure> {
        let queue = u8::try_from(index).ok().filter(|queue| usize::from(*queue) < self.clock.queues());
        let unknown = || argument(format!("queue {index}: the tn_ReleaseQueue has {}", self.clock.queues()));
        queue.map(QueueId).ok_or_else(unknown)
    }

    /// Adds the bytes of an object.
    fn count(&self, bytes: u64) -> Result<(), Failure> {
        let sum = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| sum.checked_add(bytes));
        sum.map(|_| ())
            .map_err(|sum| argument(format!("bytes = {bytes}, after {sum} so far: more than 2^64")))
    }
}

#[cold]
fn argument(text: String) -> Failure {
    Failure::new(TN_ERROR_ARGUMENT, text)
}

/// Creates a release queue for a program with its own submissions, on 1 to 8 GPU queues, numbered from 0, with one fence each.
/// Its functions may be called from any thread. `tn_release` of its handle immediately destroys all remaining objects: wait for
/// the GPU first.
///
/// Errors: `TN_ERROR_ARGUMENT`.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_create(queues: u32, out: Out<Handle<ReleaseQueue>>) -> tn_Status {
    call_create(out, || {
        if !(1..=8).contains(&queues) {
            return Err(argument(format!("queues = {queues}: must be 1 to 8")));
        }
        Ok(ReleaseQueue {
            clock: Clock::new(queues as usize),
            recordings: Recordings::new(),
            releases: tenure_track::time::ReleaseQueue::new(),
            bytes: AtomicU64::new(0),
        })
    })
}

/// Opens a recording: objects pushed from now on also wait until it is closed. The number is for `tn_release_queue_close`.
///
/// Errors: `TN_ERROR_TEXT`.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_open(
    queue: Handle<ReleaseQueue>,
    name: tn_Str,
    recording: Out<u64>,
) -> tn_Status {
    call(|| {
        recording.check("a number")?;
        recording.set(queue.get()?.recordings.open(name.name()?, 0).get());
        Ok(())
    })
}

/// Closes a recording, after its submission or when it is discarded.
///
/// Errors: `TN_ERROR_HANDLE` for a recording that is not open.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_close(queue: Handle<ReleaseQueue>, recording: u64) -> tn_Status {
    call(|| {
        let recordings = &queue.get()?.recordings;
        if !recordings.is_open(recording) {
            return Err(Failure::new(TN_ERROR_HANDLE, format!("recording {recording} is not open")));
        }
        recordings.close(RecordingId::from_raw(recording));
        Ok(())
    })
}

/// Calls `submit` with the next serial of a queue, counted from 1. `done`, which may be null, is its sync point. Other
/// submissions to the same queue wait until `submit` returns.
///
/// Errors: `TN_ERROR_ARGUMENT` for a queue that does not exist; `TN_ERROR_POINTER`; and the error returned by `submit`, after
/// which the next call gets the same serial.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_submit(
    queue: Handle<ReleaseQueue>,
    index: u32,
    submit: Option<tn_SerialFn>,
    user: *mut c_void,
    done: Out<tn_SyncPoint>,
) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        let queue = queue.get()?;
        let index = queue.queue(index)?;
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_SerialFn is needed");
        let submit = submit.ok_or_else(missing)?;
        let mut status = TN_OK;
        let submitted = queue.clock.submit(index, |serial| {
            status = during(Inside::Submit, || submit(user, serial));
            if status < 0 { Err(DeviceError::broken_rule("the program submits")) } else { Ok(()) }
        });
        match submitted {
            Ok(at) => {
                done.set(queue.clock.point_at(at).into());
                Ok(())
            }
            Err(_) if status < 0 => Err(Failure::new(status, format!("the tn_SerialFn returned {status}"))),
            Err(error) => Err(Failure::new(TN_ERROR_INTERNAL, error.to_string())),
        }
    })
}

/// Reports that a queue has completed all submissions up to this serial, the value of its fence. Lower values are ignored.
///
/// Errors: `TN_ERROR_NEVER_SUBMITTED` for a serial that was never submitted; `TN_ERROR_ARGUMENT` for a queue that does not exist.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_complete(queue: Handle<ReleaseQueue>, index: u32, serial: u64) -> tn_Status {
    call(|| {
        let queue = queue.get()?;
        let index = queue.queue(index)?;
        let mut newest = queue.clock.submitted().serial(index);
        if serial == newest + 1 {
            // The GPU may complete a submission before its call has returned on another thread: an empty submission to the queue
            // waits for that call.
            let _refused = queue.clock.submit(index, |_| Err(DeviceError::broken_rule("no submission")));
            newest = queue.clock.submitted().serial(index);
        }
        if serial > newest {
            let text = format!("serial {serial} of queue {}: the newest submission has {newest}", index.0);
            return Err(Failure::new(TN_ERROR_NEVER_SUBMITTED, text));
        }
        queue.clock.note_completed(index, serial);
        Ok(())
    })
}

/// Pushes an object: a later `tn_release_queue_reclaim` calls `destroy` with it, once. Null for `point`: after the currently open
/// recordings, and all submissions until these are closed. Otherwise after this sync point, which must cover all uses. `bytes` is
/// the memory of the object, for `tn_release_queue_totals`.
///
/// Errors: `TN_ERROR_NEVER_SUBMITTED`, `TN_ERROR_FOREIGN`, `TN_ERROR_POINTER`, `TN_ERROR_ARGUMENT`. On error the caller still
/// owns the object.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_push(
    queue: Handle<ReleaseQueue>,
    point: In<tn_SyncPoint>,
    destroy: Option<tn_DestroyFn>,
    user: *mut c_void,
    object: *mut c_void,
    bytes: u64,
) -> tn_Status {
    call(|| {
        let queue = queue.get()?;
        let point = point.value_or_none()?.map(|point| sync_point(&point));
        if let Some(point) = &point {
            if queue.clock.is_foreign(point) {
                return Err(Failure::new(TN_ERROR_FOREIGN, "the sync point is not of this tn_ReleaseQueue"));
            }
            if !point.is_covered_by(&queue.clock.submitted()) {
                let text = "the sync point has submissions that were not made";
                return Err(Failure::new(TN_ERROR_NEVER_SUBMITTED, text));
            }
        }
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_DestroyFn is needed");
        destroy.ok_or_else(missing)?;
        queue.count(bytes)?;
        let object = Destroy::new(destroy, user, object)?;
        match point {
            Some(point) => queue.releases.push_after(object, point, bytes),
            None => queue.releases.push(&queue.recordings, object, Stamp::default(), bytes),
        }
        Ok(())
    })
}

/// Destroys the objects that nothing can use any more, according to the serials reported to `tn_release_queue_complete`.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_reclaim(queue: Handle<ReleaseQueue>) -> tn_Status {
    call(|| {
        let queue = queue.get()?;
        let mut ready = Vec::new();
        queue.releases.reclaim(&queue.recordings, &queue.clock, &mut ready);
        // Calls the program, without holding a lock.
        drop(ready);
        Ok(())
    })
}

/// Statistics of a release queue, in constant time.
#[unsafe(no_mangle)]
extern "C" fn tn_release_queue_totals(queue: Handle<ReleaseQueue>, out: Out<tn_ReleaseTotals>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let queue = queue.get()?;
        let stats = queue.releases.stats();
        out.set(tn_ReleaseTotals {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            pending: stats.pending(),
            pending_bytes: stats.pending_bytes,
            incomplete: queue.clock.incomplete(),
            open_recordings: queue.recordings.count() as u64,
        });
        Ok(())
    })
}
