//! Queries, and GPU times of scopes.

use std::ffi::c_void;

use tenure_core::device::Device;
use tenure_core::{Commands, GpuTimeScope, OpenQuery};

use crate::call::{call, call_create, call_status};
use crate::callback::{Inside, during};
use crate::convert::unknown;
use crate::object::{Gpu, Query, Recording, on, on_same};
use crate::pointer::{In, Out};
use crate::query_types::*;
use crate::slot::{Handle, create};
use crate::types::*;

/// Writes a timestamp when the GPU has finished all earlier commands. The result is available when the submission is complete.
///
/// Errors: `TN_ERROR_DEVICE` on a queue without timestamps; `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_write_timestamp(
    recording: Handle<Recording>,
    out: Out<Handle<Query>>,
) -> tn_Status {
    call_create(out, || {
        Ok(on_same!(&mut *recording.alone()?, list => QueryOf::Timestamp(list.write_timestamp()?)))
    })
}

/// Begins a query of the commands up to `tn_recording_end_query`, which is required: a recording with an open query cannot be
/// submitted. One occlusion query and one query of pipeline statistics can be open at a time.
///
/// `TN_QUERY_GPU_TIME` measures a scope with a name; other kinds have no name. Scopes can be nested, and end at the latest with
/// their recording. On a queue without timestamps, nothing is measured.
///
/// Errors: `TN_ERROR_QUERY` while a query of this kind is open; `TN_ERROR_DEVICE` on a queue without such queries;
/// `TN_ERROR_ARGUMENT` for a name with another kind; `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_ENUM`, `TN_ERROR_TEXT`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_begin_query(
    recording: Handle<Recording>,
    kind: tn_QueryKind,
    name: tn_Str,
    out: Out<tn_OpenQuery>,
) -> tn_Status {
    fn begin<D: Device>(
        commands: &mut Commands<D>,
        kind: tn_QueryKind,
        name: tn_Str,
    ) -> Result<[u64; 2], Failure> {
        let scope = name.name()?;
        let is_of_range = (TN_QUERY_OCCLUSION..=TN_QUERY_PIPELINE_STATISTICS).contains(&kind);
        if is_of_range && !scope.as_str().is_empty() {
            let text = format!("name: {scope}: is for TN_QUERY_GPU_TIME: must be empty");
            return Err(Failure::new(TN_ERROR_ARGUMENT, text));
        }
        Ok(match kind {
            TN_QUERY_OCCLUSION => commands.begin_occlusion()?.into_raw(),
            TN_QUERY_BINARY_OCCLUSION => commands.begin_binary_occlusion()?.into_raw(),
            TN_QUERY_PIPELINE_STATISTICS => commands.begin_pipeline_statistics()?.into_raw(),
            TN_QUERY_GPU_TIME => commands.begin_gpu_time(scope)?.into_raw(),
            _ => return unknown("kind", kind),
        })
    }
    call(|| {
        out.check("a tn_OpenQuery")?;
        let numbers = on!(&mut *recording.alone()?, list => begin(list, kind, name)?);
        out.set(tn_OpenQuery { numbers, kind, reserved: 0 });
        Ok(())
    })
}

/// Ends a query. Its result is available when the submission is complete. For a scope, `out` must be null: `tn_gpu_times` returns
/// its time.
///
/// Errors: `TN_ERROR_QUERY` for a query of another recording, and for one that has ended; `TN_ERROR_POINTER` for an invalid `out`;
/// `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_end_query(
    recording: Handle<Recording>,
    query: In<tn_OpenQuery>,
    out: Out<Handle<Query>>,
) -> tn_Status {
    fn end<D: Device>(commands: &mut Commands<D>, query: &tn_OpenQuery) -> Result<QueryOf<D>, Failure> {
        let numbers = query.numbers;
        Ok(match query.kind {
            TN_QUERY_OCCLUSION => QueryOf::Samples(commands.end_query(OpenQuery::from_raw(numbers))?),
            TN_QUERY_BINARY_OCCLUSION => {
                QueryOf::AnySamples(commands.end_query(OpenQuery::from_raw(numbers))?)
            }
            TN_QUERY_PIPELINE_STATISTICS => {
                QueryOf::Statistics(commands.end_query(OpenQuery::from_raw(numbers))?)
            }
            kind => return unknown("kind", kind),
        })
    }
    let cleared = out.clear_if_any();
    call(|| {
        cleared?;
        let query = query.value("a tn_OpenQuery")?;
        let mut recording = recording.alone()?;
        if query.kind != TN_QUERY_GPU_TIME {
            out.clear()?;
            return create(out, || Ok(on_same!(&mut *recording, list => end(list, &query)?)));
        }
        if !out.is_null() {
            return Err(Failure::new(TN_ERROR_POINTER, "out: a scope has no tn_Query: see tn_gpu_times"));
        }
        on!(&mut *recording, list => list.end_gpu_time(GpuTimeScope::from_raw(query.numbers))?);
        Ok(())
    })
}

/// Waits for the result of a query, and for the submission of its recording; `TN_NOT_READY` after the timeout. A timeout of 0 polls.
/// The result can be read repeatedly.
///
/// Errors: `TN_ERROR_DISCARDED` if its recording was released without submission; `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_query_wait(query: Handle<Query>, timeout_ns: u64, out: Out<tn_QueryResult>) -> tn_Status {
    call_status(|| {
        out.check_head()?;
        match on!(query.get()?, query => query.result(timeout_ns)?) {
            Some(result) => {
                out.set(result);
                Ok(TN_OK)
            }
            None => Ok(TN_NOT_READY),
        }
    })
}

/// The nanoseconds between two timestamps of one queue, correct across a wrap-around of its clock; 0 if `begin` is the later one.
/// `TN_NOT_READY` if a result has not arrived. Never blocks.
///
/// Errors: `TN_ERROR_QUERY` for queries of other kinds, and timestamps of two queues; `TN_ERROR_FOREIGN` for queries of two
/// managers; and the errors of `tn_query_wait`.
#[unsafe(no_mangle)]
extern "C" fn tn_query_between(begin: Handle<Query>, end: Handle<Query>, nanoseconds: Out<u64>) -> tn_Status {
    call_status(|| {
        nanoseconds.check("room for a time")?;
        let time = on!((begin.get()?, end.get()?), (begin, end) => {
            end.timestamp()?.since(begin.timestamp()?)?
        });
        let Some(time) = time else { return Ok(TN_NOT_READY) };
        nanoseconds.set(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Ok(TN_OK)
    })
}

/// Calls `take` for each GPU time that arrived at the end of the last frame or, in programs without frames, in the last call that
/// reclaimed (`tn_gpu_reclaim`, or one of those named at `tn_gpu_defer`): the times of the submissions found complete then. Each time belongs to one frame. Until the next end of a
/// frame, every call delivers the same times.
///
/// Errors: `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_times(gpu: Handle<Gpu>, take: Option<tn_GpuTimeFn>, user: *mut c_void) -> tn_Status {
    call(|| {
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_GpuTimeFn is needed");
        let take = take.ok_or_else(missing)?;
        for time in on!(gpu.get()?, gpu => gpu.stats()).gpu_times {
            let found = tn_GpuTime {
                name: tn_Str::lent(&time.name),
                frame: time.frame,
                nanoseconds: time.nanoseconds,
                queue: time.queue.into(),
                depth: time.depth,
            };
            during(Inside::Times, || take(user, found));
        }
        Ok(())
    })
}
