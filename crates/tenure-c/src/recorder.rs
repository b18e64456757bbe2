//! Functions: recordings of a manager's allocations.

use std::path::Path;

use tenure_trace::{TraceError, TraceRecorder};

use crate::call::{call, call_create};
use crate::convert::unknown;
use crate::object::{Gpu, Recorder, on};
use crate::pointer::Out;
use crate::slot::Handle;
use crate::types::*;

/// Flag of `tn_gpu_record`: records the names of resources, too, which may reveal more about a program than sizes do.
pub const TN_RECORD_NAMES: u32 = 1 << 0;

impl From<TraceError> for Failure {
    #[cold]
    fn from(error: TraceError) -> Self {
        Self::new(TN_ERROR_FILE, error.to_string())
    }
}

/// Records the allocations, releases, frames and submissions of a manager to a file for the program `tenure`; best called before
/// anything is created. An existing file is replaced; a file with a name ending in `.gz` is compressed. Can be called once per
/// manager. The file is complete after `tn_recorder_finish`.
///
/// Errors: `TN_ERROR_FILE`; `TN_ERROR_BUSY` for a manager that has already been recorded; `TN_ERROR_TEXT`, `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_record(
    gpu: Handle<Gpu>,
    path: tn_Str,
    flags: u32,
    out: Out<Handle<Recorder>>,
) -> tn_Status {
    call_create(out, || {
        if flags & !TN_RECORD_NAMES != 0 {
            return unknown("flags", flags);
        }
        let (gpu, path) = (gpu.get()?, path.text()?);
        let has_one = || Failure::new(TN_ERROR_BUSY, "this tn_Gpu has a recorder already, or had one");
        // Checked before the file is opened, which may be that of the other recorder.
        if on!(gpu, gpu => gpu.has_recorder()) {
            return Err(has_one());
        }
        let mut recorder = TraceRecorder::create(Path::new(path))?;
        if flags & TN_RECORD_NAMES != 0 {
            recorder = recorder.with_names();
        }
        let hook = recorder.hook();
        if on!(gpu, gpu => gpu.set_recorder(hook)) { Ok(Recorder::new(recorder)) } else { Err(has_one()) }
    })
}

/// Completes the file; later events are not recorded. The handle is invalid afterwards, also on error, except for
/// `TN_ERROR_HANDLE`, `TN_ERROR_BUSY`, `TN_ERROR_CALLBACK` and `TN_ERROR_PANIC`. `tn_release` does the same, and logs errors.
///
/// Errors: `TN_ERROR_FILE` for the first error since the beginning: the file then lacks events, or is incomplete.
#[unsafe(no_mangle)]
extern "C" fn tn_recorder_finish(recorder: Handle<Recorder>) -> tn_Status {
    // SAFETY: no function refers to a recorder.
    call(|| Ok(unsafe { recorder.take() }?.finish()?))
}
