//! Transient resources and render graphs.

use std::ffi::c_void;

use tenure_core::transient::Resources;
use tenure_core::transient::graph::{PassId, ResourceId};
use tenure_core::{Graph, GraphError};

use crate::call::{call, call_create, last_error, last_shortage};
use crate::callback::{ATTENTION, in_pass};
use crate::convert::{buffer_desc, queue, state, texture_desc};
use crate::held::{Loans, ResourceOf, lent_buffer, lent_recording, lent_texture};
use crate::object::{Backend, Buffer, Frame, Gpu, Recording, Texture, on, on_same};
use crate::pointer::{Desc, In, Out, Outcome};
use crate::slot::{AnyHandle, Handle};
use crate::types::*;

/// The use of a resource by a pass.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PassUse {
    /// The number of the resource.
    pub resource: u32,
    /// `TN_STATE_…`.
    pub state: tn_State,
}

/// Flag of `tn_PassDesc`: the pass begins a recording, so that earlier passes of its queue are submitted before it.
pub const TN_PASS_BEGINS_RECORDING: u32 = 1 << 0;

/// A pass of a graph.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PassDesc {
    /// `sizeof(tn_PassDesc)`.
    pub struct_size: u32,
    /// `TN_PASS_…`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// `TN_QUEUE_…`.
    pub queue: tn_Queue,
    /// Must be 0.
    pub reserved: u32,
    /// The uses. If a resource has several, all their states are reads, or the pass itself calls `tn_recording_use`.
    pub uses: In<tn_PassUse>,
    /// Number of uses.
    pub use_count: usize,
    /// The numbers of earlier passes to run after, in addition to the dependencies given by its resources.
    pub after: In<u32>,
    /// Number of passes.
    pub after_count: usize,
    /// The name in debuggers, messages and reports.
    pub name: tn_Str,
}

/// A pass during recording. Its handles end with the call of the `tn_PassFn`; no thread may use them after it returns.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Pass {
    /// The number.
    pub number: u32,
    /// Number of resources of the graph.
    pub resource_count: u32,
    /// The recording of the pass. The graph submits it.
    pub recording: Handle<Recording>,
    /// The `tn_Buffer` or `tn_Texture` of each resource number, in its declared state; null for a resource that the pass does
    /// not use.
    pub resources: In<AnyHandle>,
}

/// Records a pass, on the thread of `tn_frame_execute`. Returns `TN_OK`, or a negative number, which cancels the graph. Must
/// not unwind. May call all functions, except for the release of a `tn_Gpu` and the submission of the recording of the pass
/// (`TN_ERROR_CALLBACK`). The frame and the graph are in use (`TN_ERROR_BUSY`).
pub type tn_PassFn = extern "C-unwind" fn(user: *mut c_void, pass: In<tn_Pass>) -> tn_Status;

/// The memory requirements of a graph.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_GraphPlan {
    /// `sizeof(tn_GraphPlan)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Bytes of all heaps in total.
    pub peak: u64,
    /// A lower bound of the peak of any plan of this graph, in bytes.
    pub lower_bound: u64,
    /// Bytes of all resources without memory sharing.
    pub bytes_apart: u64,
    /// Heaps.
    pub heaps: u32,
    /// Recordings that the passes are divided into.
    pub recordings: u32,
}

// SAFETY: `repr(C)`, begins with the head, and has only numbers and pointers.
unsafe impl Desc for tn_PassDesc {
    const TYPE: &'static str = "tn_PassDesc";
    const FLAGS: u32 = TN_PASS_BEGINS_RECORDING;
}

// SAFETY: `repr(C)`, begins with the head, and has only numbers and pointers.
unsafe impl Desc for tn_GraphPlan {
    const TYPE: &'static str = "tn_GraphPlan";
    const FLAGS: u32 = 0;
}

impl Outcome for tn_GraphPlan {}

/// Rejects initial contents and read-only states: the contents of transient resources are undefined at first, and commands
/// write them.
fn check_empty(is_empty: bool, read_only: tn_State, name: tn_Str) -> Result<(), Failure> {
    let wrong = match (is_empty, read_only) {
        (true, 0) => return Ok(()),
        (false, _) => "data: a transient resource has no initial contents",
        (true, _) => "read_only: commands write a transient resource",
    };
    Err(Failure::new(TN_ERROR_TRANSIENT, format!("{}: {wrong}", name.text()?)))
}

/// Acquires a buffer for some commands of this recording and later ones, with undefined contents, in memory shared with earlier
/// and later transient resources. `tn_release` makes its bytes available to later ones, even while views of it exist. No other
/// recording may use it until this one is submitted.
///
/// Errors: `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_DEVICE`; `TN_ERROR_TRANSIENT` for memory that the CPU can access, or `data`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_transient_buffer(
    recording: Handle<Recording>,
    desc: In<tn_BufferDesc>,
    out: Out<Handle<Buffer>>,
) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc()?;
        check_empty(desc.data.is_null() && desc.data_size == 0, desc.read_only, desc.name)?;
        let (recording, desc) = (recording.alone()?, buffer_desc(desc)?);
        Ok(on_same!(&*recording, list => ResourceOf::Transient(list.transient_buffer(&desc)?)))
    })
}

/// Acquires a texture, as `tn_recording_transient_buffer`. Its first use must clear or write it entirely.
///
/// Errors: as `tn_recording_transient_buffer`.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_transient_texture(
    recording: Handle<Recording>,
    desc: In<tn_TextureDesc>,
    out: Out<Handle<Texture>>,
) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc()?;
        check_empty(desc.data.is_null() && desc.data_count == 0, desc.read_only, desc.name)?;
        let (recording, desc) = (recording.alone()?, texture_desc(desc)?);
        Ok(on_same!(&*recording, list => ResourceOf::Transient(list.transient_texture(&desc)?)))
    })
}

/// Creates an empty graph: the passes of a frame in a valid order, and the transient resources that share memory. It is
/// independent of managers, and must be used by one thread at a time. Declare it again each frame: equal graphs share one plan.
///
/// Errors: `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_graph_create(out: Out<Handle<Graph>>) -> tn_Status {
    call_create(out, || Ok(Graph::new()))
}

/// Removes all declarations, and keeps the allocated memory for reuse.
#[unsafe(no_mangle)]
extern "C" fn tn_graph_clear(graph: Handle<Graph>) -> tn_Status {
    call(|| {
        graph.alone()?.clear();
        Ok(())
    })
}

/// Declares a buffer. Buffers and textures are numbered together, from 0.
///
/// Errors: `TN_ERROR_TRANSIENT` for `data`; `TN_ERROR_ENUM`, `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_graph_buffer(graph: Handle<Graph>, desc: In<tn_BufferDesc>, number: Out<u32>) -> tn_Status {
    call(|| {
        number.check("room for a number")?;
        let desc = desc.desc()?;
        check_empty(desc.data.is_null() && desc.data_size == 0, desc.read_only, desc.name)?;
        let desc = buffer_desc(desc)?;
        number.set(as_number(graph.alone()?.buffer(desc).index()));
        Ok(())
    })
}

/// Declares a texture, as `tn_graph_buffer`. The first pass that uses it must clear or write it entirely.
///
/// Errors: as `tn_graph_buffer`.
#[unsafe(no_mangle)]
extern "C" fn tn_graph_texture(
    graph: Handle<Graph>,
    desc: In<tn_TextureDesc>,
    number: Out<u32>,
) -> tn_Status {
    call(|| {
        number.check("room for a number")?;
        let desc = desc.desc()?;
        check_empty(desc.data.is_null() && desc.data_count == 0, desc.read_only, desc.name)?;
        let desc = texture_desc(desc)?;
        number.set(as_number(graph.alone()?.texture(desc).index()));
        Ok(())
    })
}

fn as_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Declares the next pass. Its number, counted from 0, is written to `number`, which may be null. Passes of one queue run in
/// this order; passes of different queues run in parallel, unless one writes a resource that both use.
///
/// Errors: `TN_ERROR_GRAPH` for an unknown resource or pass number; `TN_ERROR_ENUM`, `TN_ERROR_POINTER`,
/// `TN_ERROR_STRUCT_SIZE`. Other rules are checked when the graph is planned or executed.
#[unsafe(no_mangle)]
extern "C" fn tn_graph_pass(graph: Handle<Graph>, desc: In<tn_PassDesc>, number: Out<u32>) -> tn_Status {
    call(|| {
        number.check_if_any("room for a number")?;
        let (desc, mut graph) = (desc.desc()?, graph.alone()?);
        let (queue, name) = (queue(desc.queue)?, desc.name.name()?);
        let (resources, passes) = (graph.resources(), graph.passes());
        let resource = |one: &tn_PassUse| {
            let unknown = |index| GraphError::UnknownResource { pass: name.clone(), index, resources };
            let id = find(graph.resource_ids(), one.resource)
                .ok_or_else(|| refused(unknown(one.resource as usize)))?;
            Ok::<(ResourceId, _), Failure>((id, state(one.state)?))
        };
        let uses = desc.uses.array(desc.use_count, "uses")?.iter().map(resource);
        let uses = uses.collect::<Result<Vec<_>, _>>()?;
        let earlier = |one: &u32| {
            let unknown = |index| GraphError::UnknownPass { pass: name.clone(), index, passes };
            find(graph.pass_ids(), *one).ok_or_else(|| refused(unknown(*one as usize)))
        };
        let after = desc.after.array(desc.after_count, "after")?.iter().map(earlier);
        let after = after.collect::<Result<Vec<PassId>, _>>()?;

        let mut pass = graph.pass(queue, name);
        pass = uses.into_iter().fold(pass, |pass, (resource, state)| pass.uses(resource, state));
        pass = after.into_iter().fold(pass, |pass, earlier| pass.after(earlier));
        if desc.flags & TN_PASS_BEGINS_RECORDING != 0 {
            pass = pass.begins_recording();
        }
        number.set(as_number(pass.id().index()));
        Ok(())
    })
}

fn find<I>(mut ids: impl Iterator<Item = I>, number: u32) -> Option<I> {
    ids.nth(number as usize)
}

#[cold]
fn refused(error: GraphError) -> Failure {
    tenure_core::Error::from(error).into()
}

/// The memory requirements of a graph. The plan is reused for equal graphs.
///
/// Errors: `TN_ERROR_GRAPH` for an invalid graph; `TN_ERROR_DEVICE` for a description that the device does not support.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_plan_graph(gpu: Handle<Gpu>, graph: Handle<Graph>, out: Out<tn_GraphPlan>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let graph = graph.alone()?;
        let plan = on!(gpu.get()?, gpu => gpu.plan_graph(&graph)?);
        out.set(tn_GraphPlan {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            peak: plan.peak(),
            lower_bound: plan.lower_bound(),
            bytes_apart: plan.bytes_apart(),
            heaps: as_number(plan.heaps().len()),
            recordings: as_number(plan.batches().len()),
        });
        Ok(())
    })
}

/// Records and submits the passes of a graph: calls `record` for each, with its recording and its resources in their declared
/// states; no further pass is recorded after an error. Barriers, waits between queues and submissions are derived from the
/// declared uses. `done` may be null: the sync point of all passes.
///
/// Errors: as `tn_gpu_plan_graph`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_DEVICE_LOST`, and the error returned by `record`. The
/// current recording is discarded then; earlier ones have been submitted.
#[unsafe(no_mangle)]
extern "C" fn tn_frame_execute(
    frame: Handle<Frame>,
    graph: Handle<Graph>,
    record: Option<tn_PassFn>,
    user: *mut c_void,
    done: Out<tn_SyncPoint>,
) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        let (frame, graph) = (frame.alone()?, graph.alone()?);
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_PassFn is needed");
        let record = record.ok_or_else(missing)?;
        let point = on!(&*frame, frame => frame.execute(&graph, |pass, list, resources| {
            record_pass(&graph, pass, list, resources, |pass| record_one(record, user, pass))
        })?);
        done.set(point.into());
        Ok(())
    })
}

/// Calls the program's function to record a pass.
///
/// # Errors
/// The status returned by the program, with the text of the thread's last error, which is often the reason.
fn record_one(record: tn_PassFn, user: *mut c_void, pass: &tn_Pass) -> Result<(), Failure> {
    let status = in_pass(|| record(user, In::lent(std::slice::from_ref(pass))));
    if ATTENTION.has_panicked() {
        let text = "a call in the tn_PassFn met a bug of tenure (TN_ERROR_PANIC): its recording is discarded";
        return Err(Failure::new(TN_ERROR_PANIC, text));
    }
    if status >= 0 {
        return Ok(());
    }
    let (pass, last) = (pass.number, last_error());
    let text = format!("the tn_PassFn returned {status} in pass {pass}, after the error: {}", last.text()?);
    let failure = Failure::new(status, text);
    Err(match last_shortage().filter(|_| status == TN_ERROR_OUT_OF_MEMORY) {
        Some(numbers) => failure.with_numbers(numbers),
        None => failure,
    })
}

/// Lends a pass to the program.
fn record_pass<D: Backend>(
    graph: &Graph,
    id: PassId,
    list: &mut tenure_core::Recording<D>,
    resources: &Resources<'_, D>,
    record: impl FnOnce(&tn_Pass) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut handles = vec![AnyHandle::NULL; graph.resources()];
    // Dropped before the borrows end, which releases the handles.
    let mut loans = Loans::default();
    for id in resources.declared() {
        let is_texture = graph.desc(id).is_some_and(|desc| desc.is_texture());
        let handle = match is_texture {
            // SAFETY: the object ends with `loans`.
            true => loans.lend(D::texture(unsafe { lent_texture(resources, id) }?))?.into(),
            // SAFETY: the object ends with `loans`.
            false => loans.lend(D::buffer(unsafe { lent_buffer(resources, id) }?))?.into(),
        };
        if let Some(place) = handles.get_mut(id.index()) {
            *place = handle;
        }
    }
    // SAFETY: the object ends with `loans`, and `list` is not used until then.
    let recording = loans.lend(D::recording(unsafe { lent_recording(list) }))?;
    record(&tn_Pass {
        number: as_number(id.index()),
        resource_count: as_number(handles.len()),
        recording,
        resources: In::lent(&handles),
    })
}
