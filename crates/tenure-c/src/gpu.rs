//! Devices and managers.

use std::ffi::c_void;

use serde_json::to_string;
use tenure_core::device::Device as _;
use tenure_core::{Gpu as Manager, PressureChange, SyncPoint};

use crate::call::{call, call_create, call_status};
use crate::callback::{self, Destroy, Listener};
use crate::convert::{duration, format, pressure, queue, state, subresource, sync_point, unknown, usage};
use crate::object::{
    AccelerationStructure, ApiHandles, Buffer, Deferred, DeviceObject, Frame, Gpu, On, OwnedText, Reserved,
    Texture, on, on_same,
};
use crate::pointer::{In, Out};
use crate::settings;
use crate::slot::{AnyHandle, Handle, Object as _, create};
use crate::types::*;

/// The properties of a device.
#[unsafe(no_mangle)]
extern "C" fn tn_device_properties(device: Handle<DeviceObject>, out: Out<tn_DeviceProperties>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let device = device.get()?;
        let backend = match device {
            On::Sim(_) => TN_BACKEND_SIM,
            On::Vulkan(_) => TN_BACKEND_VULKAN,
            #[cfg(windows)]
            On::D3d12(_) => TN_BACKEND_D3D12,
        };
        let properties = on!(device, device => device.properties());
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        out.set(tn_DeviceProperties {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            name: tn_Str::lent(&properties.name),
            backend,
            is_unified: properties.uma.into(),
            queues: count(properties.queues.len()),
            memory_heaps: count(properties.memory_heaps.len()),
            memory_types: count(properties.memory_types.len()),
            has_sets: properties.descriptors.sets.into(),
            constant_alignment: properties.constant_alignment,
            row_alignment: properties.copy_pitch_alignment,
            copy_alignment: properties.copy_offset_alignment,
            visible_resources: properties.descriptors.visible_resources,
            visible_samplers: properties.descriptors.visible_samplers,
            samplers: properties.descriptors.samplers,
            anisotropy: properties.descriptors.anisotropy,
            constant_size: properties.descriptors.constant_size,
        });
        Ok(())
    })
}

/// Creates the manager of a device; a device can have one at a time. `desc` may be null for the defaults. The manager keeps the
/// device alive: its handle can be released.
///
/// Errors: `TN_ERROR_DEVICE_IN_USE`; `TN_ERROR_CONFIG` for a setting that is unknown or out of range; `TN_ERROR_CONTRACT`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_create(
    device: Handle<DeviceObject>,
    desc: In<tn_GpuDesc>,
    out: Out<Handle<Gpu>>,
) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc_or_none()?;
        let settings = match &desc {
            Some(desc) => desc.settings.array(desc.setting_count, "settings")?,
            None => &[],
        };
        let config = settings::config(settings)?;
        Ok(on_same!(device.get()?, device => Manager::new(device.clone(), config)?))
    })
}

/// Waits for the GPU, for a bounded time, releases everything and reports leaks. `TN_OK`: nothing to report. `TN_NOT_READY`: see
/// `*out` and `*text`, each may be null; if `text` is null, the text is logged as a warning. After that the manager creates nothing
/// more; remaining handles stay valid, and can be released. A second call reports the remaining objects.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_shutdown(
    gpu: Handle<Gpu>,
    out: Out<tn_ShutdownReport>,
    text: Out<Handle<OwnedText>>,
) -> tn_Status {
    let cleared = text.clear_if_any();
    call_status(|| {
        cleared?;
        if !out.is_null() {
            out.check_head()?;
        }
        let mut report = on!(gpu.get()?, gpu => gpu.shutdown());
        // Destroy functions may have released objects of the report.
        if !report.timed_out && callback::settle_all() {
            let waited = report.waited;
            report = on!(gpu.get()?, gpu => gpu.shutdown());
            report.waited = waited;
        }
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        out.set(tn_ShutdownReport {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            leaks: count(report.leaks.len()),
            open_recordings: count(report.open_recordings.len()),
            timed_out: report.timed_out.into(),
            is_lost: report.lost.is_some().into(),
            waited_ns: u64::try_from(report.waited.as_nanos()).unwrap_or(u64::MAX),
        });
        if report.is_clean() {
            return Ok(TN_OK);
        }
        match text.is_null() {
            true => tracing::warn!(target: "tenure", "{report}"),
            false => create(text, || Ok(OwnedText(report.to_string())))?,
        }
        Ok(TN_NOT_READY)
    })
}

/// The sync point of all submissions so far.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_submitted(gpu: Handle<Gpu>, out: Out<tn_SyncPoint>) -> tn_Status {
    call(|| {
        out.check("a tn_SyncPoint")?;
        out.set(on!(gpu.get()?, gpu => gpu.submitted()).into());
        Ok(())
    })
}

/// The sync point of all submissions that the GPU has completed. Never blocks.
///
/// Errors: `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_completed(gpu: Handle<Gpu>, out: Out<tn_SyncPoint>) -> tn_Status {
    call(|| {
        out.check("a tn_SyncPoint")?;
        out.set(on!(gpu.get()?, gpu => gpu.completed()?).into());
        Ok(())
    })
}

/// Waits until a sync point is complete; `TN_NOT_READY` after the timeout. A timeout of 0 polls.
///
/// Errors: `TN_ERROR_NEVER_SUBMITTED` for a sync point that can never be complete, `TN_ERROR_FOREIGN` for a sync point of another
/// manager, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_wait(gpu: Handle<Gpu>, point: In<tn_SyncPoint>, timeout_ns: u64) -> tn_Status {
    call_status(|| {
        let point = sync_point(&point.value("a tn_SyncPoint")?);
        let is_complete = on!(gpu.get()?, gpu => gpu.wait(&point, duration(timeout_ns))?);
        Ok(if is_complete { TN_OK } else { TN_NOT_READY })
    })
}

/// Calls `submit` with a queue of the API, to which it may submit or present any number of times, and counts that as a submission
/// of the manager: objects released from now on outlive it, and `done`, which may be null, waits for it. Its work begins after
/// `wait`; null: after everything submitted to the same queue. Every object that it uses must be alive when this function is
/// called. The program records its own barriers: it finds a resource in the state of the last submission, and declares the state
/// afterwards with `tn_gpu_declare_state`. Other threads that submit to the queue wait until `submit` returns, so `submit` must not
/// wait for such a thread. Until this function returns, no other thread may upload to a read-only resource that the work reads.
/// Pending uploads are submitted first.
///
/// Errors: `TN_ERROR_NEVER_SUBMITTED`, `TN_ERROR_FOREIGN`, `TN_ERROR_OUT_OF_MEMORY`, `TN_ERROR_DEVICE`, `TN_ERROR_DEVICE_LOST`, and
/// the error returned by `submit`, whose submissions are counted nevertheless.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_submit_external(
    gpu: Handle<Gpu>,
    queue: tn_Queue,
    wait: In<tn_SyncPoint>,
    submit: Option<tn_SubmitFn>,
    user: *mut c_void,
    done: Out<tn_SyncPoint>,
) -> tn_Status {
    call(|| {
        done.check_if_any("a tn_SyncPoint")?;
        let (gpu, queue) = (gpu.get()?, self::queue(queue)?);
        let wait = wait.value_or_none()?.map_or(SyncPoint::NONE, |wait| sync_point(&wait));
        let missing = || Failure::new(TN_ERROR_POINTER, "null, where a tn_SubmitFn is needed");
        let submit = submit.ok_or_else(missing)?;
        let ((), point) = on!(gpu, gpu => {
            gpu.submit_external(queue, &wait, |queue| callback::submit(submit, user, api_queue(gpu, queue)))?
        });
        done.set(point.into());
        Ok(())
    })
}

fn api_queue<D: ApiHandles>(_: &Manager<D>, queue: D::NativeQueue<'_>) -> tn_Native {
    D::queue(queue)
}

/// Declares the states of resources after work submitted by the program itself, with the submissions `at`: later recordings
/// continue from there. Null for `at`: all earlier uses are known to be complete. A movable resource never moves again afterwards.
/// On Vulkan the queue of `at` owns the resource afterwards. If `at` covers several queues, the owner is the last one submitted to
/// among the queues that can use the resource in that state; where another queue owns it, pass the point of that queue alone, whose
/// submission waits for the others. On error, earlier entries remain in effect.
///
/// Errors: `TN_ERROR_STATE`, `TN_ERROR_FIXED_STATE`, `TN_ERROR_FOREIGN`, `TN_ERROR_NEVER_SUBMITTED`, `TN_ERROR_ENUM`;
/// `TN_ERROR_HANDLE` for handles other than buffers, textures, reserved resources and acceleration structures.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_declare_state(
    gpu: Handle<Gpu>,
    states: In<tn_Use>,
    count: usize,
    at: In<tn_SyncPoint>,
) -> tn_Status {
    call(|| {
        let gpu = gpu.get()?;
        let at = at.value_or_none()?.map_or(SyncPoint::NONE, |at| sync_point(&at));
        states.array(count, "states")?.iter().try_for_each(|one| declare(gpu, one, &at))
    })
}

fn declare(gpu: &Gpu, one: &tn_Use, at: &SyncPoint) -> Result<(), Failure> {
    let (state, part) = (state(one.state)?, subresource(one.subresource));
    match one.resource.kind() {
        Buffer::KIND => {
            let buffer = one.resource.of::<Buffer>();
            on!((gpu, buffer.get()?), (gpu, buffer) => gpu.declare_state(buffer, part, state, at)?);
        }
        Texture::KIND => {
            let texture = one.resource.of::<Texture>();
            on!((gpu, texture.get()?), (gpu, texture) => gpu.declare_state(texture, part, state, at)?);
        }
        Reserved::KIND => {
            let found = one.resource.of::<Reserved>();
            on!((gpu, found.get()?), (gpu, found) => gpu.declare_state(found, part, state, at)?);
        }
        AccelerationStructure::KIND => {
            let found = one.resource.of::<AccelerationStructure>();
            on!((gpu, found.get()?), (gpu, found) => gpu.declare_state(found, part, state, at)?);
        }
        _ => {
            let kinds = "a reserved resource, acceleration structure, buffer or texture";
            return Err(one.resource.refused(kinds));
        }
    }
    Ok(())
}

/// Declares that commands only read a buffer or texture from now on, in these states: recordings need not declare its uses any
/// more. Recordings that write it must have been submitted. This cannot be undone; uploads stay possible.
///
/// Errors: `TN_ERROR_STATE` for a write state, and for a resource that cannot be read-only, with the reason;
/// `TN_ERROR_FIXED_STATE`, `TN_ERROR_FOREIGN`, `TN_ERROR_DEVICE_LOST`, `TN_ERROR_ENUM`; `TN_ERROR_HANDLE` for other handles.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_make_read_only(gpu: Handle<Gpu>, resource: AnyHandle, states: tn_State) -> tn_Status {
    call(|| {
        let (gpu, states) = (gpu.get()?, state(states)?);
        match resource.kind() {
            Buffer::KIND => {
                let buffer = resource.of::<Buffer>();
                on!((gpu, buffer.get()?), (gpu, buffer) => gpu.make_read_only(buffer, states)?);
            }
            Texture::KIND => {
                let texture = resource.of::<Texture>();
                on!((gpu, texture.get()?), (gpu, texture) => gpu.make_read_only(texture, states)?);
            }
            _ => return Err(resource.refused("a buffer or texture")),
        }
        Ok(())
    })
}

/// Submits pending uploads, and destroys released objects that the GPU no longer uses. For programs without frames; `tn_frame_end`
/// includes it.
///
/// Errors: `TN_ERROR_DEVICE_LOST`, and those of pending uploads.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_reclaim(gpu: Handle<Gpu>) -> tn_Status {
    call(|| {
        on!(gpu.get()?, gpu => gpu.reclaim()?);
        Ok(())
    })
}

/// Returns idle memory to the operating system immediately, instead of after some frames.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_trim(gpu: Handle<Gpu>) -> tn_Status {
    call(|| {
        on!(gpu.get()?, gpu => gpu.trim());
        Ok(())
    })
}

/// Limits the memory that the manager takes from a heap, in bytes; `UINT64_MAX`: no limit.
///
/// Errors: `TN_ERROR_DEVICE` for a heap that the device does not have.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_set_memory_cap(gpu: Handle<Gpu>, heap: u32, bytes: u64) -> tn_Status {
    call(|| {
        let heap = usize::try_from(heap).unwrap_or(usize::MAX);
        on!(gpu.get()?, gpu => gpu.set_memory_cap(heap, (bytes != u64::MAX).then_some(bytes))?);
        Ok(())
    })
}

/// Budget and usage of a memory heap, from the operating system; heaps are numbered from 0 to `tn_DeviceProperties.memory_heaps` -
/// 1.
///
/// Errors: `TN_ERROR_OUT_OF_RANGE` for a heap that the device does not have; `TN_ERROR_POINTER`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_heap_memory(gpu: Handle<Gpu>, heap: u32, out: Out<tn_HeapMemory>) -> tn_Status {
    call(|| {
        out.check_head()?;
        let report = on!(gpu.get()?, gpu => gpu.memory());
        let found = usize::try_from(heap).ok().and_then(|heap| report.heaps.get(heap)).ok_or_else(|| {
            let text = format!("memory heap {heap}: the device has {}", report.heaps.len());
            Failure::new(TN_ERROR_OUT_OF_RANGE, text)
        })?;
        out.set(tn_HeapMemory {
            struct_size: out.size(),
            flags: 0,
            next: In::NULL,
            size: found.size,
            budget: found.budget.unwrap_or(u64::MAX),
            usage: found.usage,
            cap: found.cap.unwrap_or(u64::MAX),
            allocated: found.ours.total(),
            used: found.used,
            evicted: found.evicted,
            is_device_local: found.device_local.into(),
            pressure: pressure(found.pressure),
        });
        Ok(())
    })
}

/// Sets the listener for pressure changes of memory heaps, replacing the previous one. Another thread that ends a frame may still
/// be calling the previous one, or call it once more, after this function or `tn_gpu_shutdown` has returned: keep its data until
/// that frame has ended.
///
/// Errors: `TN_ERROR_POINTER`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_on_pressure(
    gpu: Handle<Gpu>,
    listener: Option<tn_PressureFn>,
    user: *mut c_void,
) -> tn_Status {
    call(|| {
        let listener = Listener::new(listener, user)?;
        let pass_on = move |change: &PressureChange| {
            listener.call(tn_PressureChange {
                heap: u32::try_from(change.heap).unwrap_or(u32::MAX),
                is_device_local: change.device_local.into(),
                before: pressure(change.before),
                now: pressure(change.now),
                budget: change.budget,
                usage: change.usage,
            });
        };
        on!(gpu.get()?, gpu => gpu.on_pressure(move |_, change| pass_on(change)));
        Ok(())
    })
}

/// A report as JSON; sizes are in bytes.
///
/// Errors: `TN_ERROR_ENUM`.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_report(gpu: Handle<Gpu>, report: tn_Report, out: Out<Handle<OwnedText>>) -> tn_Status {
    call_create(out, || {
        let gpu = gpu.get()?;
        let json = match report {
            TN_REPORT_STATS => on!(gpu, gpu => to_string(&gpu.stats())),
            TN_REPORT_MEMORY => on!(gpu, gpu => to_string(&gpu.memory())),
            TN_REPORT_ALL => on!(gpu, gpu => to_string(&gpu.report())),
            TN_REPORT_SETTINGS => on!(gpu, gpu => Ok(settings::json(gpu.config()))),
            TN_REPORT_LOSS => on!(gpu, gpu => to_string(&gpu.loss())),
            _ => return unknown("report", report),
        };
        json.map(OwnedText).map_err(|error| Failure::new(TN_ERROR_INTERNAL, error.to_string()))
    })
}

/// The current and former objects in `size` bytes (at least 1) from a GPU address on, as text: name, offset, frames of creation and
/// release, and the nearest live object below if no object is there. Limited to the first 8 live and the first 8 former objects.
/// Takes time proportional to the number of objects.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_whose(
    gpu: Handle<Gpu>,
    address: u64,
    size: u64,
    out: Out<Handle<OwnedText>>,
) -> tn_Status {
    call_create(out, || {
        let addresses = address..address.saturating_add(size.max(1));
        Ok(OwnedText(on!(gpu.get()?, gpu => gpu.whose_range(addresses).to_string())))
    })
}

/// 1 if textures of this format support these usages; 0 also for unknown values.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_supports_format(gpu: Handle<Gpu>, format: tn_Format, usage: tn_Usage) -> tn_Bool {
    let mut is_supported = false;
    call(|| {
        let (format, usage) = (self::format(format)?, self::usage(usage)?);
        is_supported = on!(gpu.get()?, gpu => gpu.supports_format(format, usage));
        Ok(())
    });
    is_supported.into()
}

/// 1 if `tn_recording_generate_mips` supports this format; 0 also for unknown values.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_generates_mips(gpu: Handle<Gpu>, format: tn_Format) -> tn_Bool {
    let mut does = false;
    call(|| {
        let format = self::format(format)?;
        does = on!(gpu.get()?, gpu => gpu.generates_mips(format));
        Ok(())
    });
    does.into()
}

/// Begins a frame. Waits only while more frames are in flight than the setting `frames.in_flight` allows. A frame must be used by
/// one thread at a time.
///
/// Errors: `TN_ERROR_TIMEOUT`, `TN_ERROR_TOO_MANY_FRAMES`, `TN_ERROR_SHUT_DOWN`, `TN_ERROR_DEVICE_LOST`.
#[unsafe(no_mangle)]
extern "C" fn tn_frame_begin(gpu: Handle<Gpu>, out: Out<Handle<Frame>>) -> tn_Status {
    call_create(out, || Ok(on_same!(gpu.get()?, gpu => gpu.begin_frame()?)))
}

/// The number of a frame, from 1; 0 for an invalid handle.
#[unsafe(no_mangle)]
extern "C" fn tn_frame_number(frame: Handle<Frame>) -> u64 {
    let mut number = 0;
    call(|| {
        number = on!(&*frame.alone()?, frame => frame.number());
        Ok(())
    });
    number
}

/// Ends a frame: submits pending uploads, and destroys released objects that the GPU no longer uses. The handle is invalid
/// afterwards, also on error, except for `TN_ERROR_HANDLE`, `TN_ERROR_BUSY`, `TN_ERROR_CALLBACK` and `TN_ERROR_PANIC`.
///
/// Errors: `TN_ERROR_DEVICE_LOST`, and those of pending uploads.
#[unsafe(no_mangle)]
extern "C" fn tn_frame_end(frame: Handle<Frame>) -> tn_Status {
    call(|| {
        // SAFETY: nothing refers to the frame here, and the call around a tn_PassFn has exclusive access to it.
        let frame = unsafe { frame.take() }?;
        on!(frame, frame => frame.end()?);
        Ok(())
    })
}

/// Defers the destruction of a program's object until the handle is released and the GPU cannot use it any more, by the same rule
/// as all handles. Then `destroy` is called once: at the end of a frame, in `tn_gpu_reclaim` and `tn_gpu_shutdown`, in
/// `tn_swapchain_resize`, in a `tn_swapchain_acquire` that creates images anew, in the release of a `tn_Swapchain`, or in a
/// submission or release after the shutdown. It is never called if the GPU does not finish before the timeout of the shutdown.
///
/// Errors: `TN_ERROR_POINTER` without `destroy`; `TN_ERROR_TEXT`. On error the caller still owns the object.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_defer(
    gpu: Handle<Gpu>,
    name: tn_Str,
    destroy: Option<tn_DestroyFn>,
    user: *mut c_void,
    object: *mut c_void,
    out: Out<Handle<Deferred>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, name) = (gpu.get()?, name.name()?);
        let destroy = Destroy::new(destroy, user, object)?;
        Ok(on_same!(gpu, gpu => gpu.defer(name, destroy)))
    })
}

/// Calls `destroy` once after a sync point is complete, which must cover all uses of the object, in the calls named at
/// `tn_gpu_defer`. Null for `point`: after all submissions so far.
///
/// Errors: `TN_ERROR_NEVER_SUBMITTED`, `TN_ERROR_FOREIGN`, `TN_ERROR_POINTER`. On error the caller still owns the object.
#[unsafe(no_mangle)]
extern "C" fn tn_gpu_release_after(
    gpu: Handle<Gpu>,
    point: In<tn_SyncPoint>,
    destroy: Option<tn_DestroyFn>,
    user: *mut c_void,
    object: *mut c_void,
) -> tn_Status {
    call(|| {
        let gpu = gpu.get()?;
        let point = match point.value_or_none()? {
            Some(point) => sync_point(&point),
            None => on!(gpu, gpu => gpu.submitted()),
        };
        let destroy = Destroy::new(destroy, user, object)?;
        let refused = on!(gpu, gpu => gpu.release_after(destroy, point).err());
        match refused {
            None => Ok(()),
            Some(refused) => {
                refused.value.keep();
                Err(refused.error.into())
            }
        }
    })
}
