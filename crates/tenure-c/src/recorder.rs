//! Functions: recordings of a manager's allocations.

use std::path::Path;

use tenure_trace::{TraceError, TraceRecorder};

use crate::call::{call, call_create};
use crate::convert::unknown;
use crate::object::{Gpu, Recorder, on};
use crate::pointer::Out;
use crate::slot::Handle;
use crate::types::*;

/// Of `flags` of `tn_gpu_record`: also the names of resources, which may tell more about a program than sizes do.
pub const TN_RECORD_NAMES: u32 = 1 << 0;

impl From<TraceError> for Failure {
    #[cold]
    fn from(error: TraceError) -> Self {
        Self::new(TN_ERROR_FILE, error.to_string())
    }
}

/// Records allocations, releases, frames and submissions of a manager to a file, for the program `tenure`; best before anything
/// is created. A file that exists is replaced; a name that ends in `.gz` is compressed. Once for a manager. The recording is
/// complete after `tn_recorder_finish`.
///
/// Errors: `TN_ERROR_FILE`; `TN_ERROR_BUSY` for a manager that has been recorded before; `TN_ERROR_TEXT`, `TN_ERROR_ENUM`.
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
        // Before the file, which may be that of the other recorder.
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

/// Completes the file; what happens later is not recorded. The handle is over, whatever is returned, except for
/// `TN_ERROR_HANDLE`, `TN_ERROR_BUSY`, `TN_ERROR_CALLBACK` and `TN_ERROR_PANIC`. `tn_release` does the same, with errors in the log.
///
/// Errors: `TN_ERROR_FILE` for the first error since the beginning: the file lacks events then, or is incomplete.
#[unsafe(no_mangle)]
extern "C" fn tn_recorder_finish(recorder: Handle<Recorder>) -> tn_Status {
    // SAFETY: no function refers to a recorder.
    call(|| Ok(unsafe { recorder.take() }?.finish()?))
}
