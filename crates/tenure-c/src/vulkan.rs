//! A Vulkan device of the program: the header `tenure_vulkan.h`.

use tenure_core::device::{Format, QueueKind};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{ApiVersion, Device, DeviceConfig, ExternalSemaphore, Raw, RawQueue, to_vk_format};

use crate::call::{call, call_create};
use crate::convert::{format_or_none, unknown};
use crate::object::{DeviceObject, Gpu, On, Recording, Swapchain};
use crate::pointer::{Desc, In, Out};
use crate::present::{describe, format_number, tn_SwapchainDesc};
use crate::slot::Handle;
use crate::types::*;

/// The work submitted to a queue.
pub type tn_QueueKind = u32;
/// All work that the queue family supports.
pub const TN_QUEUE_KIND_ALL: tn_QueueKind = 0;
/// Graphics, compute and copies.
pub const TN_QUEUE_KIND_GRAPHICS: tn_QueueKind = 1;
/// Compute and copies.
pub const TN_QUEUE_KIND_COMPUTE: tn_QueueKind = 2;
/// Copies.
pub const TN_QUEUE_KIND_COPY: tn_QueueKind = 3;

/// A queue that this library submits to.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_VkQueue {
    /// The queue.
    pub queue: vk::Queue,
    /// The queue family index.
    pub family: u32,
    /// `TN_QUEUE_KIND_…`.
    pub kind: tn_QueueKind,
}

/// Flags of a device.
pub type tn_VkDeviceFlags = u32;
/// Recordings and passes write markers, at a cost in GPU time, so that `TN_REPORT_LOSS` shows the progress of the GPU; other scopes
/// do so only if `VK_AMD_buffer_marker` or `VK_NV_device_diagnostic_checkpoints` is enabled.
pub const TN_VK_DEVICE_MARKERS: tn_VkDeviceFlags = 1;
/// The driver reports the addresses of textures that this library creates, so that `tn_gpu_whose` and `TN_REPORT_LOSS` find them.
/// Requires `VK_EXT_debug_utils`, `VK_EXT_device_address_binding_report` and its feature `reportAddressBinding`. No other thread
/// may use the instance or its devices during `tn_device_from_vk`, and during the release of the last object of the device.
pub const TN_VK_DEVICE_ADDRESS_REPORTS: tn_VkDeviceFlags = 2;

/// A device created by the program, with its creation parameters.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_VkDeviceDesc {
    /// `sizeof(tn_VkDeviceDesc)`.
    pub struct_size: u32,
    /// `TN_VK_DEVICE_…`.
    pub flags: tn_VkDeviceFlags,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// `vkGetInstanceProcAddr` of the loader or layer that created the instance.
    pub get_instance_proc_addr: Option<vk::PFN_vkGetInstanceProcAddr>,
    /// The instance.
    pub instance: vk::Instance,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    /// The device.
    pub device: vk::Device,
    /// The `VkDeviceCreateInfo` of the device: extensions and features are read from it and its chain.
    pub create_info: In<vk::DeviceCreateInfo<'static>>,
    /// The queues to use, each once; the first of a family with graphics and compute.
    pub queues: In<tn_VkQueue>,
    /// Number of queues.
    pub queue_count: usize,
    /// The families of the program's other queues that use buffers of this library.
    pub other_families: In<u32>,
    /// Number of families.
    pub other_family_count: usize,
    /// The API version of the instance, such as `VK_API_VERSION_1_3`.
    pub api_version: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, begins with the head, and has only numbers, pointers, handles and an optional function.
unsafe impl Desc for tn_VkDeviceDesc {
    const TYPE: &'static str = "tn_VkDeviceDesc";
    const FLAGS: u32 = TN_VK_DEVICE_MARKERS | TN_VK_DEVICE_ADDRESS_REPORTS;
}

/// Wraps the Vulkan device of a program. The program keeps ownership of its objects: they must outlive the last object of this
/// device and its manager, and tenure does not destroy them. Only this library may use the queues. `desc` is not needed after the
/// call.
///
/// Errors: `TN_ERROR_CREATE_DEVICE` with the violated rule; `TN_ERROR_POINTER` for a handle or pointer that is null,
/// `TN_ERROR_ENUM`, `TN_ERROR_STRUCT_SIZE`.
#[unsafe(no_mangle)]
extern "C" fn tn_device_from_vk(desc: In<tn_VkDeviceDesc>, out: Out<Handle<DeviceObject>>) -> tn_Status {
    call_create(out, || {
        let desc = desc.desc()?;
        let raw = raw(desc)?;
        let has = |flag| desc.flags & flag != 0;
        let config = DeviceConfig::default()
            .markers(has(TN_VK_DEVICE_MARKERS))
            .address_reports(has(TN_VK_DEVICE_ADDRESS_REPORTS));
        // SAFETY: the header requires that the objects outlive the device, that only this library uses the queues, and that the
        // device was created with `create_info`.
        Ok(On::Vulkan(unsafe { Device::from_raw(raw, &config) }?))
    })
}

fn raw(desc: &tn_VkDeviceDesc) -> Result<Raw, Failure> {
    let null = |field| Failure::new(TN_ERROR_POINTER, format!("tn_VkDeviceDesc: {field} is null"));
    let get_instance_proc_addr = desc.get_instance_proc_addr.ok_or_else(|| null("get_instance_proc_addr"))?;
    let handles: [(&str, u64); 3] = [
        ("instance", vk::Handle::as_raw(desc.instance)),
        ("physical_device", vk::Handle::as_raw(desc.physical_device)),
        ("device", vk::Handle::as_raw(desc.device)),
    ];
    if let Some((field, _)) = handles.iter().find(|(_, handle)| *handle == 0) {
        return Err(null(field));
    }
    let create_info = desc.create_info.array(1, "create_info")?;
    let create_info = create_info.first().ok_or_else(|| null("create_info"))?;
    let queues = desc.queues.array(desc.queue_count, "queues")?;
    let queues = queues.iter().map(queue).collect::<Result<_, _>>()?;
    let other_families = desc.other_families.array(desc.other_family_count, "other_families")?;
    // SAFETY: as in `tn_device_from_vk`.
    let raw = unsafe {
        Raw::from_create_info(
            get_instance_proc_addr,
            desc.instance,
            desc.physical_device,
            desc.device,
            create_info,
            ApiVersion::from_packed(desc.api_version),
            queues,
        )
    }?;
    Ok(raw.other_families(other_families.to_vec()))
}

fn queue(queue: &tn_VkQueue) -> Result<RawQueue, Failure> {
    let kind = match queue.kind {
        TN_QUEUE_KIND_ALL => None,
        TN_QUEUE_KIND_GRAPHICS => Some(QueueKind::Graphics),
        TN_QUEUE_KIND_COMPUTE => Some(QueueKind::Compute),
        TN_QUEUE_KIND_COPY => Some(QueueKind::Copy),
        kind => return unknown("kind", kind),
    };
    if vk::Handle::is_null(queue.queue) {
        return Err(Failure::new(TN_ERROR_POINTER, "tn_VkDeviceDesc: a queue is null"));
    }
    Ok(RawQueue { queue: queue.queue, family: queue.family, kind })
}

/// The `VkFormat` of a texel format, for pipelines and copies; 0 (`VK_FORMAT_UNDEFINED`) for an unknown number.
#[unsafe(no_mangle)]
extern "C" fn tn_format_to_vk(format: tn_Format) -> u32 {
    let known = format_or_none(format).ok().flatten();
    known.map_or(0, |format| to_vk_format(format).as_raw().cast_unsigned())
}

/// The texel format of a `VkFormat`; `TN_FORMAT_UNKNOWN` for an unsupported one.
#[unsafe(no_mangle)]
extern "C" fn tn_format_from_vk(vk_format: u32) -> tn_Format {
    let found =
        Format::ALL.iter().find(|format| to_vk_format(**format).as_raw().cast_unsigned() == vk_format);
    found.map_or(TN_FORMAT_UNKNOWN, |format| format_number(*format))
}

/// A wait for, or signal of, a semaphore of the program.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_VkPoint {
    /// The `VkSemaphore`, which must exist until the submissions that use it are complete.
    pub semaphore: tn_Native,
    /// The value of a timeline semaphore.
    pub value: u64,
    /// The `VkPipelineStageFlags2` that wait, or that complete before the signal; 0: all. Devices without the feature
    /// `synchronization2` use all stages.
    pub stages: u64,
    /// Whether the semaphore is binary.
    pub is_binary: tn_Bool,
    /// Must be 0.
    pub reserved: u32,
}

fn semaphore(point: &tn_VkPoint) -> Result<ExternalSemaphore, Failure> {
    let semaphore = <vk::Semaphore as vk::Handle>::from_raw(point.semaphore);
    if point.semaphore == 0 {
        return Err(Failure::new(TN_ERROR_POINTER, "tn_VkPoint: semaphore is null"));
    }
    // SAFETY: the header requires that the semaphore is of this device and outlives its submissions.
    let found = unsafe {
        match point.is_binary {
            0 => ExternalSemaphore::timeline(semaphore, point.value),
            _ => ExternalSemaphore::binary(semaphore),
        }
    };
    match point.stages {
        0 => Ok(found),
        stages => Ok(found.at_stages(vk::PipelineStageFlags2::from_raw(stages))),
    }
}

/// Makes the submission of a recording wait on the GPU for semaphores of the program's device, and signal semaphores on completion.
/// Calls accumulate. Each wait for a binary semaphore needs its own signal, submitted before the wait; the values of a timeline
/// semaphore must increase. Without a submission, there are no waits and signals.
///
/// Barriers recorded on another queue do not wait: the release of a texture by the queue that used it last. If the semaphore guards
/// such a texture, make the last recording of that queue wait, or declare the state with `tn_gpu_declare_state`.
///
/// Errors: `TN_ERROR_POINTER` for a null semaphore; nothing is added then. `TN_ERROR_FOREIGN` for a recording of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_recording_add_semaphores_vk(
    recording: Handle<Recording>,
    waits: In<tn_VkPoint>,
    wait_count: usize,
    signals: In<tn_VkPoint>,
    signal_count: usize,
) -> tn_Status {
    call(|| {
        let points = |points: &[tn_VkPoint]| points.iter().map(semaphore).collect::<Result<Vec<_>, _>>();
        let waits = points(waits.array(wait_count, "waits")?)?;
        let signals = points(signals.array(signal_count, "signals")?)?;
        let mut recording = recording.alone()?;
        let On::Vulkan(recording) = &mut *recording else { return Err(Failure::foreign()) };
        waits.into_iter().for_each(|point| recording.wait_for_external(point));
        signals.into_iter().for_each(|point| recording.signal_external(point));
        Ok(())
    })
}

/// Creates a swap chain for a `VkSurfaceKHR` of the program, which must outlive the swap chain and the recordings that use its
/// images; nothing else may present to it. The instance must have the extensions of the surface enabled, the device
/// `VK_KHR_swapchain`. The swap chain must be used by one thread at a time. Its release waits for the GPU, for a bounded time.
///
/// Errors: `TN_ERROR_POINTER` for a null surface; `TN_ERROR_SWAPCHAIN` if no queue can present, for an unsupported format, and for
/// a window that was destroyed; `TN_ERROR_ARGUMENT` for a frame latency out of range; `TN_ERROR_DEVICE` for a missing extension, or
/// a usage that the surface does not support; `TN_ERROR_FOREIGN` for a device of another backend.
#[unsafe(no_mangle)]
extern "C" fn tn_swapchain_create_vk(
    gpu: Handle<Gpu>,
    surface: tn_Native,
    desc: In<tn_SwapchainDesc>,
    out: Out<Handle<Swapchain>>,
) -> tn_Status {
    call_create(out, || {
        let On::Vulkan(gpu) = gpu.get()? else { return Err(Failure::foreign()) };
        if surface == 0 {
            return Err(Failure::new(TN_ERROR_POINTER, "null, where a VkSurfaceKHR is needed"));
        }
        let surface = vk::Handle::from_raw(surface);
        // SAFETY: the header requires that the surface is of the device's instance, not in use elsewhere, and outlives the swap
        // chain.
        let make = |desc: &_| unsafe { tenure_vulkan::Swapchain::new(gpu, surface, desc) };
        Ok(On::Vulkan(describe(gpu, desc, make)?))
    })
}
