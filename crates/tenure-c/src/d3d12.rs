//! A Direct3D 12 device of the program: the header `tenure_d3d12.h`.

use std::ffi::c_void;
use std::marker::PhantomData;

use tenure_core::device::{BufferInfo, DeviceError, Format, ResourceDesc};
use tenure_core::{Error, Gpu as Manager, Name};
use tenure_d3d12::windows::Win32::Foundation::HWND;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_HEAP_FLAGS, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE_CUSTOM,
    D3D12_HEAP_TYPE_GPU_UPLOAD, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_UPLOAD, ID3D12CommandQueue,
    ID3D12Device, ID3D12Fence, ID3D12Resource,
};
use tenure_d3d12::windows::core::{IUnknown, Interface};
use tenure_d3d12::{Device, DeviceConfig, ExternalFence, Resource, to_dxgi_format};

use crate::call::{call, call_create};
use crate::convert::{buffer_desc, format_or_none, state, texture_desc, usage};
use crate::held::ResourceOf;
use crate::object::{Buffer, DeviceObject, Gpu, On, Recording, Swapchain, Texture};
use crate::pointer::{Desc, In, Out};
use crate::present::{describe, format_number, tn_SwapchainDesc};
use crate::reserved::{OF_ADOPTED, check_plain, is_plain_buffer, is_plain_texture};
use crate::slot::Handle;
use crate::types::*;

/// A COM object of the program: null, or valid during the call.
#[repr(transparent)]
pub struct Com<T>(*mut c_void, PhantomData<T>);

impl<T> Clone for Com<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Com<T> {}

impl<T: Interface> Com<T> {
    /// The interface, by `QueryInterface`: a pointer to another interface is an error.
    fn interface(self, field: &str, kind: &str) -> Result<T, Failure> {
        let failure = |text| Failure::new(TN_ERROR_POINTER, format!("{field} is {text}"));
        // SAFETY: the header requires null, or a valid COM object.
        let object = unsafe { IUnknown::from_raw_borrowed(&self.0) };
        let object = object.ok_or_else(|| failure("null"))?;
        object.cast().map_err(|_| failure(kind))
    }
}

/// A Direct3D 12 device created by the program.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_D3d12DeviceDesc {
    /// `sizeof(tn_D3d12DeviceDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The device.
    pub device: Com<ID3D12Device>,
    /// The queues to use, each once, a direct queue first. The program may submit to them, too.
    pub queues: In<Com<ID3D12CommandQueue>>,
    /// Number of queues.
    pub queue_count: usize,
}

// SAFETY: `repr(C)`, begins with the head, and has only numbers and pointers.
unsafe impl Desc for tn_D3d12DeviceDesc {
    const TYPE: &'static str = "tn_D3d12DeviceDesc";
    const FLAGS: u32 = 0;
}

/// Wraps the Direct3D 12 device of a program, and keeps references to the device and the queues. `desc` is not needed after the
/// call.
///
/// Errors: `TN_ERROR_CREATE_DEVICE` with the violated rule; `TN_ERROR_POINTER` for an interface that is null or of another type,
/// `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_device_from_d3d12(
    desc: In<tn_D3d12DeviceDesc>,
    out: Out<Handle<DeviceObject>>,
) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc()?;
        let device = desc.device.interface("tn_D3d12DeviceDesc: device", "no ID3D12Device")?;
        let queues = desc.queues.array(desc.queue_count, "queues")?;
        let queues = queues
            .iter()
            .map(|queue| queue.interface("tn_D3d12DeviceDesc: a queue", "no ID3D12CommandQueue"));
        let queues = queues.collect::<Result<Vec<_>, _>>()?;
        let device = Device::new(&device, &queues, &DeviceConfig::default())
            .map_err(|error| Failure::new(TN_ERROR_CREATE_DEVICE, error.to_string()))?;
        Ok(On::D3d12(device))
    })
}

/// The `DXGI_FORMAT` of a texel format, for pipelines and copies; 0 (`DXGI_FORMAT_UNKNOWN`) for a format that Direct3D does not
/// have, and for an unknown number.
#[unsafe(no_mangle)]
extern "C" fn tn_format_to_dxgi(format: tn_Format) -> u32 {
    let known = format_or_none(format).ok().flatten();
    known.map_or(0, |format| to_dxgi_format(format).0.cast_unsigned())
}

/// The texel format of a `DXGI_FORMAT`; `TN_FORMAT_UNKNOWN` for an unsupported one.
#[unsafe(no_mangle)]
extern "C" fn tn_format_from_dxgi(dxgi_format: u32) -> tn_Format {
    let known =
        |format: &&Format| dxgi_format != 0 && to_dxgi_format(**format).0.cast_unsigned() == dxgi_format;
    Format::ALL.iter().find(known).map_or(TN_FORMAT_UNKNOWN, |format| format_number(*format))
}

/// A value of a fence of the program, for a wait or a signal.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_D3d12Point {
    /// The fence, of the program's device. A reference is kept until the submissions that use it are complete.
    pub fence: Com<ID3D12Fence>,
    /// The value.
    pub value: u64,
}

fn fence(point: &tn_D3d12Point) -> Result<ExternalFence, Failure> {
    let fence = point.fence.interface("tn_D3d12Point: fence", "no ID3D12Fence")?;
    Ok(ExternalFence::new(fence, point.value))
}

/// Makes the submission of a recording wait on the GPU for fences of the program, and signal fences on completion. Calls
/// accumulate. The signalled values of a fence must increase. Without a submission, there are no waits and signals.
///
/// Barriers recorded on another queue do not wait. If the fence guards a resource that another queue used last, make the last
/// recording of that queue wait, or declare the state with `tn_gpu_declare_state`.
///
/// Errors: `TN_ERROR_POINTER` for an interface that is null or of another type; nothing is added then. `TN_ERROR_FOREIGN` for a
/// recording of another backend. The submission fails for a fence of another device.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_add_fences_d3d12(
    recording: Handle<Recording>,
    waits: In<tn_D3d12Point>,
    wait_count: usize,
    signals: In<tn_D3d12Point>,
    signal_count: usize,
) -> tn_Status {
    call(|| {
        let fences = |points: &[tn_D3d12Point]| points.iter().map(fence).collect::<Result<Vec<_>, _>>();
        let waits = fences(waits.array(wait_count, "waits")?)?;
        let signals = fences(signals.array(signal_count, "signals")?)?;
        let mut recording = recording.alone()?;
        let On::D3d12(recording) = &mut *recording else { return Err(Failure::foreign()) };
        waits.into_iter().for_each(|point| recording.wait_for_external(point));
        signals.into_iter().for_each(|point| recording.signal_external(point));
        Ok(())
    })
}

/// DXGI's waitable object of a swap chain (a `HANDLE`), for a program that waits for it and for other objects at once. Null before
/// the swap chain has images; valid until its release. Do not close it, and call `tn_swapchain_waited_d3d12` after a wait that
/// succeeded.
///
/// Each wait takes one frame, and only a presentation returns it. After a wait, or a `tn_swapchain_acquire` that returned an image,
/// do not wait again before `tn_swapchain_present` has succeeded, also while the window is minimised.
///
/// Errors: `TN_ERROR_POINTER`, `TN_ERROR_FOREIGN` for a swap chain of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_waitable_d3d12(swapchain: Handle<Swapchain>, out: Out<*mut c_void>) -> tn_Status {
    call(|| {
        out.check("a HANDLE")?;
        let On::D3d12(swapchain) = &*swapchain.alone()? else { return Err(Failure::foreign()) };
        out.set(swapchain.chain.waitable().map_or(std::ptr::null_mut(), |handle| handle.0));
        Ok(())
    })
}

/// Reports that the program's own wait for `tn_swapchain_waitable_d3d12` has succeeded: the next `tn_swapchain_acquire` does not
/// wait.
///
/// Errors: `TN_ERROR_FOREIGN` for a swap chain of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_waited_d3d12(swapchain: Handle<Swapchain>) -> tn_Status {
    call(|| {
        let On::D3d12(swapchain) = &mut *swapchain.alone()? else { return Err(Failure::foreign()) };
        swapchain.chain.waited();
        Ok(())
    })
}

/// Creates the swap chain of a window (`HWND`); a window can have one. Create, resize and release it on the thread of the window,
/// and release it before the window is destroyed and before `tn_gpu_shutdown`. If the size is 0, it is created by the first
/// `tn_swapchain_resize`.
///
/// Errors: `TN_ERROR_SWAPCHAIN` for a window that was destroyed or already has a swap chain, and for an unsupported format or
/// number of images; `TN_ERROR_ARGUMENT` for a frame latency out of range; `TN_ERROR_DEVICE`; `TN_ERROR_FOREIGN` for a device of
/// another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_create_d3d12(
    gpu: Handle<Gpu>,
    window: *mut c_void,
    desc: In<tn_SwapchainDesc>,
    out: Out<Handle<Swapchain>>,
) -> tn_Status {
    call_create(out, || {
        let On::D3d12(gpu) = gpu.get()? else { return Err(Failure::foreign()) };
        let make = |desc: &_| tenure_d3d12::Swapchain::new(gpu, HWND(window), desc);
        Ok(On::D3d12(describe(gpu, desc, make)?))
    })
}

/// Adopts a buffer of the program: the manager tracks its states, and holds a reference until the handle is released and no open
/// recording and no GPU work can use it. Its memory is not counted as the manager's. The description provides size, usage, memory,
/// name and tag; memory must be that of its heap: any but `TN_MEMORY_GPU_ONLY` for a custom heap that the CPU accesses. `last` is the state after its last use. Earlier submissions of the program that
/// use the buffer must be complete, or precede the manager's work in the same queue.
///
/// Errors: `TN_ERROR_STATE` for a state that the usage does not allow; `TN_ERROR_DEVICE` for a description that does not match the
/// resource; `TN_ERROR_ARGUMENT` for other fields; `TN_ERROR_POINTER` for an interface that is null or of another kind;
/// `TN_ERROR_ENUM`, `TN_ERROR_TEXT`, `TN_ERROR_STRUCT_SIZE`, `TN_ERROR_FOREIGN`, `TN_ERROR_SHUT_DOWN`.
#[unsafe(no_mangle)]
extern "C" fn tn_buffer_adopt_d3d12(
    gpu: Handle<Gpu>,
    desc: In<tn_BufferDesc>,
    resource: Com<ID3D12Resource>,
    last: tn_State,
    out: Out<Handle<Buffer>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc, last) = (d3d12(&gpu)?, desc.desc()?, state(last)?);
        check_plain(is_plain_buffer(desc), desc.name, OF_ADOPTED)?;
        // Without the usages that a creation would add.
        let wanted = buffer_desc(desc)?.usage(usage(desc.usage)?);
        let described = ResourceDesc::Buffer(BufferInfo::new(wanted.size, wanted.usage));
        let resource = wrapped(gpu, resource, described, &wanted.name)?;
        check_memory(resource.raw(), desc.memory, &wanted.name)?;
        let adopted = gpu.adopt_buffer(resource, &wanted, last).map_err(|rejected| rejected.error)?;
        Ok(On::D3d12(ResourceOf::Own(adopted)))
    })
}

/// The heap of a buffer determines its states, and whether it is mapped: the description must agree with it.
fn check_memory(resource: &ID3D12Resource, memory: tn_Memory, name: &Name) -> Result<(), Failure> {
    const GPU_ONLY: (&str, tn_Memory) = ("TN_MEMORY_GPU_ONLY", TN_MEMORY_GPU_ONLY);
    const UPLOAD: (&str, tn_Memory) = ("TN_MEMORY_UPLOAD", TN_MEMORY_UPLOAD);
    const READBACK: (&str, tn_Memory) = ("TN_MEMORY_READBACK", TN_MEMORY_READBACK);
    const GPU_UPLOAD: (&str, tn_Memory) = ("TN_MEMORY_GPU_UPLOAD", TN_MEMORY_GPU_UPLOAD);
    let (mut heap, mut flags) = (D3D12_HEAP_PROPERTIES::default(), D3D12_HEAP_FLAGS::default());
    // SAFETY: both pointers are to locals that outlive the call. It fails for reserved resources, which only the GPU accesses, and
    // leaves them as they are.
    let _is_reserved = unsafe { resource.GetHeapProperties(Some(&raw mut heap), Some(&raw mut flags)) };
    let (heap, fitting): (_, &[_]) = match heap.Type {
        D3D12_HEAP_TYPE_UPLOAD => ("an upload heap", &[UPLOAD]),
        D3D12_HEAP_TYPE_READBACK => ("a readback heap", &[READBACK]),
        D3D12_HEAP_TYPE_GPU_UPLOAD => ("a GPU upload heap", &[GPU_UPLOAD]),
        // Mapped, and in any state.
        D3D12_HEAP_TYPE_CUSTOM if heap.CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE => {
            ("a custom heap that the CPU accesses", &[UPLOAD, READBACK, GPU_UPLOAD])
        }
        _ => ("a heap that only the GPU accesses", &[GPU_ONLY]),
    };
    if fitting.iter().any(|(_, number)| *number == memory) {
        return Ok(());
    }
    let all = [GPU_ONLY, UPLOAD, READBACK, GPU_UPLOAD];
    let stated = all.iter().find(|(_, number)| *number == memory).map_or("unknown", |(name, _)| name);
    let fitting: Vec<_> = fitting.iter().map(|(name, _)| *name).collect();
    let text = format!("{name}: memory = {stated}, but it is in {heap}: {}", fitting.join(" or "));
    Err(Failure::new(TN_ERROR_DEVICE, text))
}

/// Adopts a texture of the program, as `tn_buffer_adopt_d3d12`. The description provides all texel fields, usage, name and tag.
/// `last` is the state of all subresources. With enhanced barriers, the texture must be in the layout of the state: `COMMON` for
/// shader reads, copies and presentation, otherwise the layout of that name. Without them, a target must have been cleared,
/// discarded or copied to.
///
/// Errors: as `tn_buffer_adopt_d3d12`.
#[unsafe(no_mangle)]
extern "C" fn tn_texture_adopt_d3d12(
    gpu: Handle<Gpu>,
    desc: In<tn_TextureDesc>,
    resource: Com<ID3D12Resource>,
    last: tn_State,
    out: Out<Handle<Texture>>,
) -> tn_Status {
    call_create(out, || {
        let (gpu, desc, last) = (d3d12(&gpu)?, desc.desc()?, state(last)?);
        check_plain(is_plain_texture(desc), desc.name, OF_ADOPTED)?;
        let mut wanted = texture_desc(desc)?;
        wanted.info.usage = usage(desc.usage)?;
        let resource = wrapped(gpu, resource, ResourceDesc::Texture(wanted.info.clone()), &wanted.name)?;
        let adopted = gpu.adopt_texture(resource, &wanted, last).map_err(|rejected| rejected.error)?;
        Ok(On::D3d12(ResourceOf::Own(adopted)))
    })
}

fn d3d12(gpu: &Handle<Gpu>) -> Result<&Manager<Device>, Failure> {
    match gpu.get()? {
        On::D3d12(gpu) => Ok(gpu),
        _ => Err(Failure::foreign()),
    }
}

fn wrapped(
    gpu: &Manager<Device>,
    resource: Com<ID3D12Resource>,
    described: ResourceDesc,
    name: &Name,
) -> Result<Resource, Failure> {
    let resource = resource.interface("the resource", "no ID3D12Resource")?;
    let refused = |source: DeviceError| Error::Device { name: name.clone(), source };
    Ok(Resource::from_raw(gpu.device(), resource, described).map_err(refused)?)
}
