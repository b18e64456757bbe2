//! Values and structures of the header, in its order. `cargo xtask header` generates `include/tenure.h` from `status`, this file
//! and the functions.

use std::ffi::c_void;

use tenure_core::Name;

use crate::pointer::{In, Outcome, Text};
use crate::slot::AnyHandle;
pub(crate) use crate::status::*;

/// A boolean: 0 or 1.
pub type tn_Bool = u32;

/// Text in UTF-8. Zeroed: no text.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Str {
    /// The first byte; null: no text.
    pub data: Text,
    /// The size in bytes; `TN_TO_NUL` for NUL-terminated text. With `TN_STATIC`, the text is not copied: it must never be changed
    /// or freed, so literals of a library that may be unloaded are not allowed.
    pub size: usize,
}
/// Every subresource.
pub const TN_ALL: u32 = u32::MAX;
/// No timeout, in nanoseconds.
pub const TN_FOREVER: u64 = u64::MAX;

/// The head of a structure that extends another through its field `next`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Chain {
    /// The type of the structure.
    pub r#type: u32,
    /// The size in bytes.
    pub struct_size: u32,
    /// The next structure, or null.
    pub next: In<tn_Chain>,
}

/// An object of the graphics API: `VkBuffer`, `VkImage`, `VkImageView`, `VkBufferView`, `VkSampler`, `VkDescriptorSet`,
/// `VkDescriptorSetLayout`, `VkCommandBuffer`, `VkQueue`; `ID3D12Resource*`, `ID3D12DescriptorHeap*`, `ID3D12GraphicsCommandList*`,
/// `ID3D12CommandQueue*`, a CPU descriptor handle; a number on the simulated device.
pub type tn_Native = u64;

/// A set of submissions: one serial per queue. Zeroed: empty. A plain value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SyncPoint {
    /// The serial of each queue.
    pub serials: [u64; 8],
    /// Internal id of the manager.
    pub clock: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// A graphics API.
pub type tn_Backend = u32;
/// A GPU in software that detects use after free, missing barriers and races.
pub const TN_BACKEND_SIM: tn_Backend = 1;
/// Vulkan.
pub const TN_BACKEND_VULKAN: tn_Backend = 2;
/// Direct3D 12.
pub const TN_BACKEND_D3D12: tn_Backend = 3;

/// A queue by its purpose, or `TN_QUEUE_FIRST + n` for the n-th queue of the device.
pub type tn_Queue = u32;
/// Graphics, compute and copies.
pub const TN_QUEUE_GRAPHICS: tn_Queue = 0;
/// Compute; the graphics queue on devices without a compute queue.
pub const TN_QUEUE_COMPUTE: tn_Queue = 1;
/// Copies; another queue on devices without a copy queue.
pub const TN_QUEUE_COPY: tn_Queue = 2;
/// The first queue of the device.
pub const TN_QUEUE_FIRST: tn_Queue = 16;

/// The severity of a log line.
pub type tn_LogLevel = u32;
/// Errors.
pub const TN_LOG_ERROR: tn_LogLevel = 1;
/// Misuse, and performance problems.
pub const TN_LOG_WARN: tn_LogLevel = 2;
/// Information.
pub const TN_LOG_INFO: tn_LogLevel = 3;
/// For debugging.
pub const TN_LOG_DEBUG: tn_LogLevel = 4;
/// Every allocation.
pub const TN_LOG_TRACE: tn_LogLevel = 5;

/// Receives a log line; `text` is valid during the call. Called on the thread that logs. Must not unwind, and must not call this
/// library, except for `tn_last_error` and `tn_status_name`: other functions return `TN_ERROR_CALLBACK`.
pub type tn_LogFn = extern "C-unwind" fn(user: *mut c_void, level: tn_LogLevel, text: tn_Str);
/// Destroys an object of the program. Called once, on any thread, inside a call of this library. Must not unwind. May release
/// handles, except a `tn_Gpu` and a `tn_Swapchain`; other functions return `TN_ERROR_CALLBACK`.
pub type tn_DestroyFn = extern "C-unwind" fn(user: *mut c_void, object: *mut c_void);

/// Submits work of the program to `queue`: the `VkQueue` or `ID3D12CommandQueue*`; a number on the simulated device. Called once,
/// inside `tn_gpu_submit_external`. Returns `TN_OK`, or a program-defined negative number on error. Must not unwind. May release
/// handles, except a `tn_Gpu` and a `tn_Swapchain`; other functions return `TN_ERROR_CALLBACK`.
pub type tn_SubmitFn = extern "C-unwind" fn(user: *mut c_void, queue: tn_Native) -> tn_Status;

/// Flags of the simulated device.
pub type tn_SimFlags = u32;
/// An access to destroyed or evicted memory loses the device, as on real hardware, instead of reporting a hazard. Textures have
/// addresses, too.
pub const TN_SIM_PAGE_FAULTS: tn_SimFlags = 1;
/// Recordings and passes write markers, so that `TN_REPORT_LOSS` shows the progress of the GPU.
pub const TN_SIM_MARKERS: tn_SimFlags = 2;

/// The description of a simulated device.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_SimDesc {
    /// `sizeof(tn_SimDesc)`.
    pub struct_size: u32,
    /// `TN_SIM_…`.
    pub flags: tn_SimFlags,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The simulated hardware: `vulkan-nvidia`, `d3d12-uma`, …; without text, a discrete GPU.
    pub profile: tn_Str,
    /// The seed of random numbers.
    pub seed: u64,
    /// The number of submissions and polls after which a submission completes; 0: immediately; `TN_ALL`: only by `tn_sim_run`.
    pub lag: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// The properties of a device.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_DeviceProperties {
    /// `sizeof(tn_DeviceProperties)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The name; valid until the device is released.
    pub name: tn_Str,
    /// The graphics API.
    pub backend: tn_Backend,
    /// Whether CPU and GPU share their memory.
    pub is_unified: tn_Bool,
    /// Number of queues.
    pub queues: u32,
    /// Number of memory heaps.
    pub memory_heaps: u32,
    /// Number of memory types.
    pub memory_types: u32,
    /// Whether the device has descriptor sets.
    pub has_sets: tn_Bool,
    /// Alignment of constants, in bytes.
    pub constant_alignment: u64,
    /// Alignment of the rows of copies between buffers and textures, in bytes.
    pub row_alignment: u64,
    /// Alignment of the buffer offset in copies between buffers and textures, in bytes.
    pub copy_alignment: u64,
    /// The maximum number of views in all tables and recordings; 0: the device has no tables.
    pub visible_resources: u32,
    /// The maximum number of samplers in all tables and recordings.
    pub visible_samplers: u32,
    /// The maximum number of distinct samplers.
    pub samplers: u32,
    /// The maximum anisotropy of a sampler; 1: not supported.
    pub anisotropy: u32,
    /// The maximum size of a constant buffer view in bytes.
    pub constant_size: u64,
}

/// A setting of a manager, named by its field, such as `frames.in_flight`; `TN_REPORT_SETTINGS` lists all.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Setting {
    /// The name.
    pub name: tn_Str,
    /// Bytes, a count, 0 or 1, or a time in nanoseconds.
    pub value: u64,
}

/// The description of a manager.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_GpuDesc {
    /// `sizeof(tn_GpuDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Settings that differ from their defaults.
    pub settings: In<tn_Setting>,
    /// Number of settings.
    pub setting_count: usize,
}

/// The result of a shutdown.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_ShutdownReport {
    /// `sizeof(tn_ShutdownReport)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// Number of objects that were not released.
    pub leaks: u32,
    /// Number of recordings that were neither submitted nor released.
    pub open_recordings: u32,
    /// Whether the GPU did not finish within the timeout `frames.shutdown_timeout`.
    pub timed_out: tn_Bool,
    /// Whether the device is lost.
    pub is_lost: tn_Bool,
    /// The time spent waiting for the GPU, in nanoseconds.
    pub waited_ns: u64,
}

/// The pressure on a memory heap.
pub type tn_Pressure = u32;
/// Sufficient memory is available, or the budget is unknown.
pub const TN_PRESSURE_NORMAL: tn_Pressure = 0;
/// Little memory is left.
pub const TN_PRESSURE_HIGH: tn_Pressure = 1;
/// Almost no memory is left, or the budget is exceeded.
pub const TN_PRESSURE_CRITICAL: tn_Pressure = 2;

/// Budget and usage of a memory heap, in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_HeapMemory {
    /// `sizeof(tn_HeapMemory)`, set by the caller.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The size of the heap.
    pub size: u64,
    /// The budget granted by the operating system; `UINT64_MAX`: unknown.
    pub budget: u64,
    /// The known usage of the process.
    pub usage: u64,
    /// The memory cap; `UINT64_MAX`: none.
    pub cap: u64,
    /// Bytes allocated by the manager.
    pub allocated: u64,
    /// Bytes of these used by resources.
    pub used: u64,
    /// Bytes of resources evicted from the heap.
    pub evicted: u64,
    /// Whether the heap is local to the GPU.
    pub is_device_local: tn_Bool,
    /// `TN_PRESSURE_…`.
    pub pressure: tn_Pressure,
}

/// A change of the pressure on a memory heap.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_PressureChange {
    /// The index of the heap.
    pub heap: u32,
    /// Whether the heap is local to the GPU.
    pub is_device_local: tn_Bool,
    /// The pressure at the end of the previous frame.
    pub before: tn_Pressure,
    /// The pressure now.
    pub now: tn_Pressure,
    /// The budget in bytes, or the memory cap if it is closer to being reached.
    pub budget: u64,
    /// The usage in bytes that counts against it.
    pub usage: u64,
}

/// Receives a pressure change, at the end of a frame or, in programs without frames, in a call that reclaims (`tn_gpu_reclaim`, and
/// the calls of swap chains named at `tn_gpu_defer`), on the thread of that call. Must not unwind. May
/// release handles, except a `tn_Gpu` and a `tn_Swapchain`; other functions return `TN_ERROR_CALLBACK`.
pub type tn_PressureFn = extern "C-unwind" fn(user: *mut c_void, change: tn_PressureChange);

/// A report of `tn_gpu_report`.
pub type tn_Report = u32;
/// Counters, in constant time.
pub const TN_REPORT_STATS: tn_Report = 0;
/// Budget and usage of each memory heap, in constant time.
pub const TN_REPORT_MEMORY: tn_Report = 1;
/// All objects, in time proportional to their number.
pub const TN_REPORT_ALL: tn_Report = 2;
/// All settings with their values.
pub const TN_REPORT_SETTINGS: tn_Report = 3;
/// The loss of the device: its faults with the objects at their addresses, and the unfinished submissions, with the progress of
/// their recordings. `null` before a loss.
pub const TN_REPORT_LOSS: tn_Report = 4;

/// The usages of a resource over its lifetime. Bits.
pub type tn_Usage = u32;
/// Vertex buffer.
pub const TN_USAGE_VERTEX: tn_Usage = 1 << 0;
/// Index buffer.
pub const TN_USAGE_INDEX: tn_Usage = 1 << 1;
/// Constant (uniform) buffer.
pub const TN_USAGE_CONSTANT: tn_Usage = 1 << 2;
/// Read by shaders.
pub const TN_USAGE_SHADER_READ: tn_Usage = 1 << 3;
/// Read and written by shaders.
pub const TN_USAGE_UNORDERED_ACCESS: tn_Usage = 1 << 4;
/// Arguments of indirect draws and dispatches.
pub const TN_USAGE_INDIRECT: tn_Usage = 1 << 5;
/// Acceleration structure.
pub const TN_USAGE_ACCELERATION_STRUCTURE: tn_Usage = 1 << 6;
/// Source of copies.
pub const TN_USAGE_COPY_SRC: tn_Usage = 1 << 7;
/// Destination of copies.
pub const TN_USAGE_COPY_DST: tn_Usage = 1 << 8;
/// Colour render target. Textures only.
pub const TN_USAGE_RENDER_TARGET: tn_Usage = 1 << 9;
/// Depth-stencil target. Textures only.
pub const TN_USAGE_DEPTH_STENCIL: tn_Usage = 1 << 10;
/// Image of a swap chain.
pub const TN_USAGE_PRESENT: tn_Usage = 1 << 11;
/// Shader records of ray dispatches.
pub const TN_USAGE_SHADER_BINDING_TABLE: tn_Usage = 1 << 12;
/// Input attachment. Textures only, on Vulkan only.
pub const TN_USAGE_INPUT_ATTACHMENT: tn_Usage = 1 << 13;
/// A target whose contents never leave the render pass. Textures only.
pub const TN_USAGE_TRANSIENT_ATTACHMENT: tn_Usage = 1 << 14;
/// Memory shared with other devices or processes.
pub const TN_USAGE_SHARED: tn_Usage = 1 << 15;
/// Texels written by the CPU in place.
pub const TN_USAGE_CPU_WRITE: tn_Usage = 1 << 16;
/// With `TN_USAGE_SHARED`: shared with another driver or GPU.
pub const TN_USAGE_SHARED_ACROSS_DRIVERS: tn_Usage = 1 << 17;
/// Used by queues of all families without ownership transfers.
pub const TN_USAGE_ALL_QUEUES: tn_Usage = 1 << 18;
/// Owned by one queue family at a time.
pub const TN_USAGE_EXCLUSIVE: tn_Usage = 1 << 19;

/// The state of a resource at one point of a queue's work. Bits; read states can be combined, a write state cannot.
pub type tn_State = u32;
/// No particular use.
pub const TN_STATE_COMMON: tn_State = 0;
/// Read as vertices or constants.
pub const TN_STATE_VERTEX_OR_CONSTANT: tn_State = 1 << 0;
/// Read as indices.
pub const TN_STATE_INDEX: tn_State = 1 << 1;
/// Read by pixel (fragment) shaders.
pub const TN_STATE_PIXEL_SHADER: tn_State = 1 << 2;
/// Read by vertex, tessellation and geometry shaders.
pub const TN_STATE_VERTEX_SHADER: tn_State = 1 << 3;
/// Read by task and mesh shaders.
pub const TN_STATE_MESH_SHADER: tn_State = 1 << 4;
/// Read by compute shaders.
pub const TN_STATE_COMPUTE_SHADER: tn_State = 1 << 5;
/// Read by ray tracing shaders and by builds of acceleration structures.
pub const TN_STATE_RAY_TRACING_SHADER: tn_State = 1 << 6;
/// Read as indirect arguments.
pub const TN_STATE_INDIRECT: tn_State = 1 << 7;
/// Source of a copy.
pub const TN_STATE_COPY_SRC: tn_State = 1 << 8;
/// Source of a multisample resolve.
pub const TN_STATE_RESOLVE_SRC: tn_State = 1 << 9;
/// Depth-stencil, read only.
pub const TN_STATE_DEPTH_READ: tn_State = 1 << 10;
/// Acceleration structure.
pub const TN_STATE_ACCELERATION_STRUCTURE: tn_State = 1 << 11;
/// Read and written by shaders of any stage. Write state.
pub const TN_STATE_UNORDERED_ACCESS: tn_State = 1 << 12;
/// Read and written by task and mesh shaders. Write state.
pub const TN_STATE_MESH_UNORDERED_ACCESS: tn_State = 1 << 13;
/// Read and written by compute shaders. Write state.
pub const TN_STATE_COMPUTE_UNORDERED_ACCESS: tn_State = 1 << 14;
/// Read and written by ray tracing shaders. Write state.
pub const TN_STATE_RAY_TRACING_UNORDERED_ACCESS: tn_State = 1 << 15;
/// Colour render target. Write state.
pub const TN_STATE_RENDER_TARGET: tn_State = 1 << 16;
/// Depth-stencil, written. Write state.
pub const TN_STATE_DEPTH_WRITE: tn_State = 1 << 17;
/// Destination of a copy. Write state.
pub const TN_STATE_COPY_DST: tn_State = 1 << 18;
/// Destination of a multisample resolve. Write state.
pub const TN_STATE_RESOLVE_DST: tn_State = 1 << 19;
/// Image of a swap chain, between present and acquire.
pub const TN_STATE_PRESENT: tn_State = 1 << 20;
/// Read by shaders of all stages.
pub const TN_STATE_SHADER_READ: tn_State = 0x7c;
/// Read by shaders of all stages except pixel shaders.
pub const TN_STATE_NON_PIXEL_SHADER: tn_State = 0x78;

/// The CPU and GPU access to the memory of a buffer.
pub type tn_Memory = u32;
/// Accessed only by the GPU.
pub const TN_MEMORY_GPU_ONLY: tn_Memory = 0;
/// Written by the CPU, read by the GPU.
pub const TN_MEMORY_UPLOAD: tn_Memory = 1;
/// Written by the GPU, read by the CPU.
pub const TN_MEMORY_READBACK: tn_Memory = 2;
/// As `TN_MEMORY_UPLOAD`, in device-local memory if possible.
pub const TN_MEMORY_GPU_UPLOAD: tn_Memory = 3;

/// The eviction priority of a resource under memory pressure.
pub type tn_Priority = u32;
/// Derived from the usage.
pub const TN_PRIORITY_BY_USAGE: tn_Priority = 0;
/// Evicted first.
pub const TN_PRIORITY_LOW: tn_Priority = 1;
/// The priority of most resources.
pub const TN_PRIORITY_NORMAL: tn_Priority = 2;
/// Evicted last.
pub const TN_PRIORITY_HIGH: tn_Priority = 3;

/// Limits of the fallbacks when memory is short. Bits.
pub type tn_Allocation = u32;
/// The budget of the operating system must not be exceeded.
pub const TN_ALLOCATION_WITHIN_BUDGET: tn_Allocation = 1 << 0;
/// Only memory local to the GPU.
pub const TN_ALLOCATION_DEVICE_LOCAL_ONLY: tn_Allocation = 1 << 1;
/// Only free ranges of existing blocks.
pub const TN_ALLOCATION_NEVER_ALLOCATE: tn_Allocation = 1 << 2;
/// No waiting for the GPU.
pub const TN_ALLOCATION_NEVER_WAIT: tn_Allocation = 1 << 3;

/// Flag of `tn_BufferDesc`: an API object of its own.
pub const TN_RESOURCE_OWN: u32 = 1 << 0;
/// Flag of resources: can be evicted while unused.
pub const TN_RESOURCE_EVICTABLE: u32 = 1 << 1;
/// Flag of resources: can be moved in memory, at the ends of frames and in `tn_gpu_compact`. Each recording that uses it declares
/// the use, and gets its location from `tn_recording_place`. `tn_place` of it or of one of its views pins it permanently.
pub const TN_RESOURCE_MOVABLE: u32 = 1 << 2;

/// Flag of resources: filled soon after creation, before commands use it, and rarely changed. If the CPU can write such a resource
/// without making it slower for the GPU, uploads write it in place. Implied by `data`.
pub const TN_RESOURCE_FILLED: u32 = 1 << 3;

/// The description of a buffer.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_BufferDesc {
    /// `sizeof(tn_BufferDesc)`.
    pub struct_size: u32,
    /// `TN_RESOURCE_…`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// The size in bytes.
    pub size: u64,
    /// `TN_USAGE_…`.
    pub usage: tn_Usage,
    /// `TN_MEMORY_…`.
    pub memory: tn_Memory,
    /// The alignment in bytes, in addition to that of the usage; 0: no additional alignment.
    pub alignment: u64,
    /// Makes the offset a multiple of this, so that shaders can index elements; 0: no constraint.
    pub stride: u32,
    /// `TN_ALLOCATION_…`.
    pub allocation: tn_Allocation,
    /// `TN_PRIORITY_…`.
    pub priority: tn_Priority,
    /// The `TN_STATE_…` in which all commands read it: recordings need not declare its uses. Its contents come from uploads. 0: not
    /// read-only.
    pub read_only: tn_State,
    /// The name in debuggers, messages and reports.
    pub name: tn_Str,
    /// A group in statistics.
    pub tag: tn_Str,
    /// The initial contents, from the first byte on; null: none. Copied before the call returns.
    pub data: In<c_void>,
    /// Bytes of `data`.
    pub data_size: usize,
}

/// A texel format. Devices support different subsets: see `tn_gpu_supports_format`.
pub type tn_Format = u32;
/// None.
pub const TN_FORMAT_UNKNOWN: tn_Format = 0;
/// One 8-bit channel, unsigned, from 0 to 1.
pub const TN_FORMAT_R8_UNORM: tn_Format = 1;
/// One 8-bit channel, signed, from -1 to 1.
pub const TN_FORMAT_R8_SNORM: tn_Format = 2;
/// One 8-bit channel, unsigned integers.
pub const TN_FORMAT_R8_UINT: tn_Format = 3;
/// One 8-bit channel, signed integers.
pub const TN_FORMAT_R8_SINT: tn_Format = 4;
/// Two 8-bit channels, unsigned, from 0 to 1.
pub const TN_FORMAT_RG8_UNORM: tn_Format = 5;
/// Two 8-bit channels, signed, from -1 to 1.
pub const TN_FORMAT_RG8_SNORM: tn_Format = 6;
/// Two 8-bit channels, unsigned integers.
pub const TN_FORMAT_RG8_UINT: tn_Format = 7;
/// Two 8-bit channels, signed integers.
pub const TN_FORMAT_RG8_SINT: tn_Format = 8;
/// Four 8-bit channels, unsigned, from 0 to 1.
pub const TN_FORMAT_RGBA8_UNORM: tn_Format = 9;
/// Four 8-bit channels, sRGB.
pub const TN_FORMAT_RGBA8_SRGB: tn_Format = 10;
/// Four 8-bit channels, signed, from -1 to 1.
pub const TN_FORMAT_RGBA8_SNORM: tn_Format = 11;
/// Four 8-bit channels, unsigned integers.
pub const TN_FORMAT_RGBA8_UINT: tn_Format = 12;
/// Four 8-bit channels, signed integers.
pub const TN_FORMAT_RGBA8_SINT: tn_Format = 13;
/// Four 8-bit channels, blue first.
pub const TN_FORMAT_BGRA8_UNORM: tn_Format = 14;
/// Four 8-bit channels, blue first, sRGB.
pub const TN_FORMAT_BGRA8_SRGB: tn_Format = 15;
/// 16 bits: 5 for blue (the lowest), 6 for green, 5 for red.
pub const TN_FORMAT_B5G6R5_UNORM: tn_Format = 16;
/// 16 bits: 5 for blue (the lowest), green and red each, 1 for alpha.
pub const TN_FORMAT_BGR5A1_UNORM: tn_Format = 17;
/// 10-bit colour, 2-bit alpha.
pub const TN_FORMAT_RGB10A2_UNORM: tn_Format = 18;
/// 10-bit colour, 2-bit alpha, unsigned integers.
pub const TN_FORMAT_RGB10A2_UINT: tn_Format = 19;
/// Packed floating-point colour without alpha.
pub const TN_FORMAT_R11G11B10_FLOAT: tn_Format = 20;
/// Floating-point colour without alpha: 9 bits each and one exponent of 5 bits. Read-only in shaders.
pub const TN_FORMAT_RGB9E5_FLOAT: tn_Format = 21;
/// One 16-bit channel, unsigned, from 0 to 1.
pub const TN_FORMAT_R16_UNORM: tn_Format = 22;
/// One 16-bit channel, signed, from -1 to 1.
pub const TN_FORMAT_R16_SNORM: tn_Format = 23;
/// One 16-bit channel, unsigned integers.
pub const TN_FORMAT_R16_UINT: tn_Format = 24;
/// One 16-bit channel, signed integers.
pub const TN_FORMAT_R16_SINT: tn_Format = 25;
/// One half float.
pub const TN_FORMAT_R16_FLOAT: tn_Format = 26;
/// Two 16-bit channels, unsigned, from 0 to 1.
pub const TN_FORMAT_RG16_UNORM: tn_Format = 27;
/// Two 16-bit channels, signed, from -1 to 1.
pub const TN_FORMAT_RG16_SNORM: tn_Format = 28;
/// Two 16-bit channels, unsigned integers.
pub const TN_FORMAT_RG16_UINT: tn_Format = 29;
/// Two 16-bit channels, signed integers.
pub const TN_FORMAT_RG16_SINT: tn_Format = 30;
/// Two half floats.
pub const TN_FORMAT_RG16_FLOAT: tn_Format = 31;
/// Four 16-bit channels, unsigned, from 0 to 1.
pub const TN_FORMAT_RGBA16_UNORM: tn_Format = 32;
/// Four 16-bit channels, signed, from -1 to 1.
pub const TN_FORMAT_RGBA16_SNORM: tn_Format = 33;
/// Four 16-bit channels, unsigned integers.
pub const TN_FORMAT_RGBA16_UINT: tn_Format = 34;
/// Four 16-bit channels, signed integers.
pub const TN_FORMAT_RGBA16_SINT: tn_Format = 35;
/// Four half floats.
pub const TN_FORMAT_RGBA16_FLOAT: tn_Format = 36;
/// One 32-bit unsigned integer.
pub const TN_FORMAT_R32_UINT: tn_Format = 37;
/// One 32-bit signed integer.
pub const TN_FORMAT_R32_SINT: tn_Format = 38;
/// One float.
pub const TN_FORMAT_R32_FLOAT: tn_Format = 39;
/// Two 32-bit unsigned integers.
pub const TN_FORMAT_RG32_UINT: tn_Format = 40;
/// Two 32-bit signed integers.
pub const TN_FORMAT_RG32_SINT: tn_Format = 41;
/// Two floats.
pub const TN_FORMAT_RG32_FLOAT: tn_Format = 42;
/// Four 32-bit unsigned integers.
pub const TN_FORMAT_RGBA32_UINT: tn_Format = 43;
/// Four 32-bit signed integers.
pub const TN_FORMAT_RGBA32_SINT: tn_Format = 44;
/// Four floats.
pub const TN_FORMAT_RGBA32_FLOAT: tn_Format = 45;
/// 16-bit depth.
pub const TN_FORMAT_D16_UNORM: tn_Format = 46;
/// 24-bit depth, 8-bit stencil. Not supported by every device: see `tn_gpu_supports_format`.
pub const TN_FORMAT_D24_UNORM_S8_UINT: tn_Format = 47;
/// Float depth.
pub const TN_FORMAT_D32_FLOAT: tn_Format = 48;
/// Float depth, 8-bit stencil.
pub const TN_FORMAT_D32_FLOAT_S8_UINT: tn_Format = 49;
/// BC1: colour, 1-bit alpha.
pub const TN_FORMAT_BC1_UNORM: tn_Format = 50;
/// BC1: colour, 1-bit alpha, sRGB.
pub const TN_FORMAT_BC1_SRGB: tn_Format = 51;
/// BC2: colour, 4-bit alpha.
pub const TN_FORMAT_BC2_UNORM: tn_Format = 52;
/// BC2: colour, 4-bit alpha, sRGB.
pub const TN_FORMAT_BC2_SRGB: tn_Format = 53;
/// BC3: colour, smooth alpha.
pub const TN_FORMAT_BC3_UNORM: tn_Format = 54;
/// BC3: colour, smooth alpha, sRGB.
pub const TN_FORMAT_BC3_SRGB: tn_Format = 55;
/// BC4: one channel, from 0 to 1.
pub const TN_FORMAT_BC4_UNORM: tn_Format = 56;
/// BC4: one channel, from -1 to 1.
pub const TN_FORMAT_BC4_SNORM: tn_Format = 57;
/// BC5: two channels, from 0 to 1.
pub const TN_FORMAT_BC5_UNORM: tn_Format = 58;
/// BC5: two channels, from -1 to 1.
pub const TN_FORMAT_BC5_SNORM: tn_Format = 59;
/// BC6H: half-float colour, never negative.
pub const TN_FORMAT_BC6H_UFLOAT: tn_Format = 60;
/// BC6H: half-float colour, signed.
pub const TN_FORMAT_BC6H_SFLOAT: tn_Format = 61;
/// BC7: colour and alpha of high quality.
pub const TN_FORMAT_BC7_UNORM: tn_Format = 62;
/// BC7: colour and alpha of high quality, sRGB.
pub const TN_FORMAT_BC7_SRGB: tn_Format = 63;
/// ETC2: colour.
pub const TN_FORMAT_ETC2_RGB8_UNORM: tn_Format = 64;
/// ETC2: colour, sRGB.
pub const TN_FORMAT_ETC2_RGB8_SRGB: tn_Format = 65;
/// ETC2: colour, 1-bit alpha.
pub const TN_FORMAT_ETC2_RGB8A1_UNORM: tn_Format = 66;
/// ETC2: colour, 1-bit alpha, sRGB.
pub const TN_FORMAT_ETC2_RGB8A1_SRGB: tn_Format = 67;
/// ETC2: colour, alpha.
pub const TN_FORMAT_ETC2_RGBA8_UNORM: tn_Format = 68;
/// ETC2: colour, alpha, sRGB.
pub const TN_FORMAT_ETC2_RGBA8_SRGB: tn_Format = 69;
/// EAC: one channel, from 0 to 1.
pub const TN_FORMAT_EAC_R11_UNORM: tn_Format = 70;
/// EAC: one channel, from -1 to 1.
pub const TN_FORMAT_EAC_R11_SNORM: tn_Format = 71;
/// EAC: two channels, from 0 to 1.
pub const TN_FORMAT_EAC_RG11_UNORM: tn_Format = 72;
/// EAC: two channels, from -1 to 1.
pub const TN_FORMAT_EAC_RG11_SNORM: tn_Format = 73;
/// ASTC: blocks of 4 by 4 texels.
pub const TN_FORMAT_ASTC_4X4_UNORM: tn_Format = 74;
/// ASTC: blocks of 4 by 4 texels, sRGB.
pub const TN_FORMAT_ASTC_4X4_SRGB: tn_Format = 75;
/// ASTC: blocks of 5 by 4 texels.
pub const TN_FORMAT_ASTC_5X4_UNORM: tn_Format = 76;
/// ASTC: blocks of 5 by 4 texels, sRGB.
pub const TN_FORMAT_ASTC_5X4_SRGB: tn_Format = 77;
/// ASTC: blocks of 5 by 5 texels.
pub const TN_FORMAT_ASTC_5X5_UNORM: tn_Format = 78;
/// ASTC: blocks of 5 by 5 texels, sRGB.
pub const TN_FORMAT_ASTC_5X5_SRGB: tn_Format = 79;
/// ASTC: blocks of 6 by 5 texels.
pub const TN_FORMAT_ASTC_6X5_UNORM: tn_Format = 80;
/// ASTC: blocks of 6 by 5 texels, sRGB.
pub const TN_FORMAT_ASTC_6X5_SRGB: tn_Format = 81;
/// ASTC: blocks of 6 by 6 texels.
pub const TN_FORMAT_ASTC_6X6_UNORM: tn_Format = 82;
/// ASTC: blocks of 6 by 6 texels, sRGB.
pub const TN_FORMAT_ASTC_6X6_SRGB: tn_Format = 83;
/// ASTC: blocks of 8 by 5 texels.
pub const TN_FORMAT_ASTC_8X5_UNORM: tn_Format = 84;
/// ASTC: blocks of 8 by 5 texels, sRGB.
pub const TN_FORMAT_ASTC_8X5_SRGB: tn_Format = 85;
/// ASTC: blocks of 8 by 6 texels.
pub const TN_FORMAT_ASTC_8X6_UNORM: tn_Format = 86;
/// ASTC: blocks of 8 by 6 texels, sRGB.
pub const TN_FORMAT_ASTC_8X6_SRGB: tn_Format = 87;
/// ASTC: blocks of 8 by 8 texels.
pub const TN_FORMAT_ASTC_8X8_UNORM: tn_Format = 88;
/// ASTC: blocks of 8 by 8 texels, sRGB.
pub const TN_FORMAT_ASTC_8X8_SRGB: tn_Format = 89;
/// ASTC: blocks of 10 by 5 texels.
pub const TN_FORMAT_ASTC_10X5_UNORM: tn_Format = 90;
/// ASTC: blocks of 10 by 5 texels, sRGB.
pub const TN_FORMAT_ASTC_10X5_SRGB: tn_Format = 91;
/// ASTC: blocks of 10 by 6 texels.
pub const TN_FORMAT_ASTC_10X6_UNORM: tn_Format = 92;
/// ASTC: blocks of 10 by 6 texels, sRGB.
pub const TN_FORMAT_ASTC_10X6_SRGB: tn_Format = 93;
/// ASTC: blocks of 10 by 8 texels.
pub const TN_FORMAT_ASTC_10X8_UNORM: tn_Format = 94;
/// ASTC: blocks of 10 by 8 texels, sRGB.
pub const TN_FORMAT_ASTC_10X8_SRGB: tn_Format = 95;
/// ASTC: blocks of 10 by 10 texels.
pub const TN_FORMAT_ASTC_10X10_UNORM: tn_Format = 96;
/// ASTC: blocks of 10 by 10 texels, sRGB.
pub const TN_FORMAT_ASTC_10X10_SRGB: tn_Format = 97;
/// ASTC: blocks of 12 by 10 texels.
pub const TN_FORMAT_ASTC_12X10_UNORM: tn_Format = 98;
/// ASTC: blocks of 12 by 10 texels, sRGB.
pub const TN_FORMAT_ASTC_12X10_SRGB: tn_Format = 99;
/// ASTC: blocks of 12 by 12 texels.
pub const TN_FORMAT_ASTC_12X12_UNORM: tn_Format = 100;
/// ASTC: blocks of 12 by 12 texels, sRGB.
pub const TN_FORMAT_ASTC_12X12_SRGB: tn_Format = 101;

/// The dimension of a texture.
pub type tn_Dimension = u32;
/// Two dimensions.
pub const TN_DIMENSION_2D: tn_Dimension = 0;
/// Three dimensions.
pub const TN_DIMENSION_3D: tn_Dimension = 1;

/// A plane of a texel format.
pub type tn_Plane = u32;
/// Colour or depth.
pub const TN_PLANE_FIRST: tn_Plane = 0;
/// Stencil.
pub const TN_PLANE_STENCIL: tn_Plane = 1;

/// The type of an optimised clear value.
pub type tn_ClearKind = u32;
/// None.
pub const TN_CLEAR_NONE: tn_ClearKind = 0;
/// A colour.
pub const TN_CLEAR_COLOR: tn_ClearKind = 1;
/// Depth and stencil.
pub const TN_CLEAR_DEPTH_STENCIL: tn_ClearKind = 2;

/// An optimised clear value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_ClearValue {
    /// `TN_CLEAR_…`.
    pub kind: tn_ClearKind,
    /// The stencil value, 0 to 255.
    pub stencil: u32,
    /// The colour.
    pub color: [f32; 4],
    /// The depth.
    pub depth: f32,
    /// Must be 0.
    pub reserved: u32,
}

/// Texels of one subresource or region, in memory of the program.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Texels {
    /// The first byte.
    pub data: In<c_void>,
    /// The size in bytes.
    pub size: usize,
    /// Bytes from one row of blocks to the next; 0: tightly packed.
    pub row_pitch: u64,
    /// Rows from one slice to the next; 0: tightly packed.
    pub rows: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// The description of a texture.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_TextureDesc {
    /// `sizeof(tn_TextureDesc)`.
    pub struct_size: u32,
    /// `TN_RESOURCE_EVICTABLE`, `TN_RESOURCE_MOVABLE`, `TN_RESOURCE_FILLED`.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// `TN_DIMENSION_…`.
    pub dimension: tn_Dimension,
    /// `TN_FORMAT_…`.
    pub format: tn_Format,
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Depth of a 3D texture, or array layers of a 2D texture; 0: 1.
    pub depth_or_layers: u32,
    /// The number of mip levels; 0: 1.
    pub mips: u32,
    /// The number of samples; 0: 1.
    pub samples: u32,
    /// `TN_USAGE_…`.
    pub usage: tn_Usage,
    /// `TN_ALLOCATION_…`.
    pub allocation: tn_Allocation,
    /// `TN_PRIORITY_…`.
    pub priority: tn_Priority,
    /// The optimised clear value.
    pub clear: tn_ClearValue,
    /// Additional formats of views.
    pub view_formats: In<tn_Format>,
    /// Number of formats.
    pub view_format_count: usize,
    /// The name in debuggers, messages and reports.
    pub name: tn_Str,
    /// A group in statistics.
    pub tag: tn_Str,
    /// The initial contents: all subresources, the mips of the first layer first; null: none. Copied before the call returns.
    pub data: In<tn_Texels>,
    /// Number of subresources in `data`.
    pub data_count: usize,
    /// The `TN_STATE_…` in which all commands read it: recordings need not declare its uses. Its contents come from uploads. 0: not
    /// read-only.
    pub read_only: tn_State,
    /// Must be 0.
    pub reserved: u32,
}

/// A region of one subresource of a texture.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_TextureRegion {
    /// The mip level.
    pub mip: u32,
    /// The array layer.
    pub layer: u32,
    /// `TN_PLANE_…`.
    pub plane: tn_Plane,
    /// The first texel.
    pub origin: [u32; 3],
    /// The size in texels; all zero: from the origin to the end of the mip.
    pub extent: [u32; 3],
    /// Must be 0.
    pub reserved: u32,
}

/// The location of a resource, view, sampler, constants or descriptors.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Place {
    /// The API object; small buffers share one with others.
    pub object: tn_Native,
    /// The offset in that object; for a table, the index of its first descriptor.
    pub offset: u64,
    /// The size in bytes; for a table, the number of descriptors.
    pub size: u64,
    /// The GPU address; the GPU descriptor handle of a table on Direct3D 12; 0: none.
    pub gpu_address: u64,
    /// The CPU address; null: not mapped, or accessible only by `tn_buffer_write` and `tn_buffer_read`, as on the simulated device.
    pub mapped: *mut c_void,
}

/// The shader access to a buffer.
pub type tn_BufferAccess = u32;
/// Constants.
pub const TN_BUFFER_CONSTANTS: tn_BufferAccess = 0;
/// Bytes, read.
pub const TN_BUFFER_RAW: tn_BufferAccess = 1;
/// Bytes, read and written.
pub const TN_BUFFER_RAW_WRITABLE: tn_BufferAccess = 2;
/// Structures of `stride` bytes, read.
pub const TN_BUFFER_STRUCTURED: tn_BufferAccess = 3;
/// Structures of `stride` bytes, read and written.
pub const TN_BUFFER_STRUCTURED_WRITABLE: tn_BufferAccess = 4;
/// Texels of `format`, read.
pub const TN_BUFFER_TYPED: tn_BufferAccess = 5;
/// Texels of `format`, read and written.
pub const TN_BUFFER_TYPED_WRITABLE: tn_BufferAccess = 6;

/// The access to a texture.
pub type tn_TextureAccess = u32;
/// Sampled by shaders.
pub const TN_TEXTURE_SAMPLED: tn_TextureAccess = 0;
/// Read and written by shaders.
pub const TN_TEXTURE_STORAGE: tn_TextureAccess = 1;
/// Render target.
pub const TN_TEXTURE_RENDER_TARGET: tn_TextureAccess = 2;
/// Depth-stencil target.
pub const TN_TEXTURE_DEPTH_STENCIL: tn_TextureAccess = 3;
/// Depth-stencil, read only.
pub const TN_TEXTURE_DEPTH_READ_ONLY: tn_TextureAccess = 4;
/// Input attachment.
pub const TN_TEXTURE_INPUT_ATTACHMENT: tn_TextureAccess = 5;

/// The shape of a texture view.
pub type tn_ViewShape = u32;
/// Derived from the texture.
pub const TN_SHAPE_OF_TEXTURE: tn_ViewShape = 0;
/// A single layer.
pub const TN_SHAPE_2D: tn_ViewShape = 1;
/// An array of layers.
pub const TN_SHAPE_2D_ARRAY: tn_ViewShape = 2;
/// A cube of six layers.
pub const TN_SHAPE_CUBE: tn_ViewShape = 3;
/// An array of cubes.
pub const TN_SHAPE_CUBE_ARRAY: tn_ViewShape = 4;
/// Three dimensions.
pub const TN_SHAPE_3D: tn_ViewShape = 5;

/// The description of a buffer view.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_BufferViewDesc {
    /// `sizeof(tn_BufferViewDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// `TN_BUFFER_…`.
    pub access: tn_BufferAccess,
    /// The size of a structure in bytes.
    pub stride: u32,
    /// The format of texels.
    pub format: tn_Format,
    /// Must be 0.
    pub reserved: u32,
    /// The offset of the first byte.
    pub offset: u64,
    /// The size in bytes; 0: to the end of the buffer.
    pub size: u64,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// The description of a texture view.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_TextureViewDesc {
    /// `sizeof(tn_TextureViewDesc)`.
    pub struct_size: u32,
    /// Must be 0.
    pub flags: u32,
    /// Must be null.
    pub next: In<tn_Chain>,
    /// `TN_TEXTURE_…`.
    pub access: tn_TextureAccess,
    /// `TN_SHAPE_…`.
    pub shape: tn_ViewShape,
    /// The format; `TN_FORMAT_UNKNOWN`: that of the texture.
    pub format: tn_Format,
    /// `TN_PLANE_…`.
    pub plane: tn_Plane,
    /// The first mip.
    pub first_mip: u32,
    /// The number of mips; 0: all remaining.
    pub mips: u32,
    /// The first array layer.
    pub first_layer: u32,
    /// The number of array layers; 0: all remaining.
    pub layers: u32,
    /// The name in messages and reports.
    pub name: tn_Str,
}

/// A resource and its state in the next commands.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Use {
    /// A `tn_Buffer` or `tn_Texture`. In `tn_recording_use` also a `tn_Reserved` or `tn_AccelerationStructure`, or a `tn_View`,
    /// `tn_DescriptorTable` or `tn_DescriptorSet`, for all resources that it refers to.
    pub resource: AnyHandle,
    /// `TN_STATE_…`. For views, tables and sets, it selects the shader stages: `TN_STATE_SHADER_READ`, `TN_STATE_NON_PIXEL_SHADER`,
    /// or the read state of one stage; written resources get the matching write state, and constants and input attachments their
    /// own states.
    pub state: tn_State,
    /// The index of one subresource (mips of the first layer first), or `TN_ALL`. Ignored for views, tables and sets.
    pub subresource: u32,
}

/// A copy between two resources. Each field applies to the resource types in its description.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Copy {
    /// The source, a `tn_Buffer` or `tn_Texture`.
    pub src: AnyHandle,
    /// The destination, a `tn_Buffer` or `tn_Texture`.
    pub dst: AnyHandle,
    /// The offset of the first byte, if the source is a buffer.
    pub src_offset: u64,
    /// The offset of the first byte, if the destination is a buffer.
    pub dst_offset: u64,
    /// The size in bytes, between two buffers.
    pub size: u64,
    /// Bytes from one row of blocks to the next in the buffer, between buffer and texture; 0: tightly packed.
    pub row_pitch: u64,
    /// Rows from one slice to the next in the buffer, between buffer and texture; 0: the rows of the region.
    pub rows: u32,
    /// The subresource, between two textures; `TN_ALL`: all.
    pub subresource: u32,
    /// The region of the texture, between buffer and texture.
    pub region: tn_TextureRegion,
}

/// A range of a buffer, or a region of a texture.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tn_Part {
    /// A `tn_Buffer` or `tn_Texture`.
    pub resource: AnyHandle,
    /// The offset in a buffer.
    pub offset: u64,
    /// The size in bytes, for a buffer; uploads use the size of the texels instead.
    pub size: u64,
    /// The region of a texture.
    pub region: tn_TextureRegion,
}

macro_rules! descs {
    ($($Desc:ident: $flags:expr,)*) => {$(
        // SAFETY: `repr(C)`, begins with the head, and has only numbers, pointers and handles.
        unsafe impl $crate::pointer::Desc for $Desc {
            const TYPE: &'static str = stringify!($Desc);
            const FLAGS: u32 = $flags;
        }
    )*};
}

pub(crate) use descs;

descs! {
    tn_SimDesc: TN_SIM_PAGE_FAULTS | TN_SIM_MARKERS,
    tn_DeviceProperties: 0,
    tn_GpuDesc: 0,
    tn_ShutdownReport: 0,
    tn_HeapMemory: 0,
    tn_BufferDesc: TN_RESOURCE_OWN | TN_RESOURCE_EVICTABLE | TN_RESOURCE_MOVABLE | TN_RESOURCE_FILLED,
    tn_TextureDesc: TN_RESOURCE_EVICTABLE | TN_RESOURCE_MOVABLE | TN_RESOURCE_FILLED,
    tn_BufferViewDesc: 0,
    tn_TextureViewDesc: 0,
}

impl Outcome for tn_DeviceProperties {}
impl Outcome for tn_ShutdownReport {}
impl Outcome for tn_HeapMemory {}

impl tn_Str {
    /// Text that is never freed.
    pub(crate) const fn of(text: &'static str) -> Self {
        Self { data: Text::of(text), size: text.len() }
    }

    /// Empty NUL-terminated text.
    pub(crate) const fn empty() -> Self {
        Self { data: Text::of("\0"), size: 0 }
    }

    /// Text that is valid as long as the documentation of the call says.
    pub(crate) fn lent(text: &str) -> Self {
        Self { data: Text::lent(text), size: text.len() }
    }

    /// The text, valid during the call.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        self.data.text(self.size)
    }

    /// A name: copied, unless it is static.
    pub(crate) fn name(&self) -> Result<Name, Failure> {
        self.data.name(self.size)
    }
}
