/* tenure.h: GPU memory and lifetimes for Vulkan, Direct3D 12 and a simulated device, for C11 and C++17 or later.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A handle is ownership: create an object, use it, release it with tn_release, from any thread, at any time. A released object
 * is destroyed once no open recording and no GPU work can use it. No function takes a fence for that.
 *
 * - Structures may be zeroed: 0 is the default everywhere, except for struct_size. Fields named reserved stay 0.
 * - Pointers are null or valid for the call. Nothing that a structure points to is needed after the call.
 * - Functions may be called from any thread, unless their documentation says otherwise. No thread may use a handle while another
 *   one releases it, or after that.
 * - A function without a tn_Status returns 0 or an empty text for an invalid handle; tn_last_error has the reason.
 * - Misuse is an error with a text, as far as a look at the arguments finds it.
 *
 * Written by `cargo xtask header` from the code of the crate tenure-c: edit that.
 */
#ifndef TENURE_H
#define TENURE_H

#include <stddef.h>
#include <stdint.h>

/** The version of the binary interface; tn_abi_version returns that of the library. */
#define TN_ABI_VERSION 0u

#if defined(_WIN32)
#define TN_CALL __cdecl
#if defined(TN_SHARED)
#define TN_API __declspec(dllimport)
#else
#define TN_API
#endif
#else
#define TN_CALL
#define TN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** As tn_Str.size: the text ends with NUL. */
#define TN_TO_NUL SIZE_MAX
/** A bit of tn_Str.size: the text is never changed or freed, so it is not copied. */
#ifdef __cplusplus
#define TN_STATIC (size_t{1} << 63)
#else
#define TN_STATIC ((size_t)1 << 63)
#endif
/** Every subresource. */
#define TN_ALL UINT32_MAX
/** No limit of a wait. */
#define TN_FOREVER UINT64_MAX
/** A string literal as a tn_Str, which is not copied. Not in a library that is unloaded. */
#ifdef __cplusplus
#define TN_LIT(text) (tn_Str{"" text "", (sizeof(text) - 1) | TN_STATIC})
#else
#define TN_LIT(text) ((tn_Str){"" text "", (sizeof(text) - 1) | TN_STATIC})
#endif

typedef struct tn_Chain tn_Chain;

/* Handles. They are numbers: nothing is at that address. */
typedef struct tn_Device tn_Device;
typedef struct tn_Gpu tn_Gpu;
typedef struct tn_Buffer tn_Buffer;
typedef struct tn_Texture tn_Texture;
typedef struct tn_View tn_View;
typedef struct tn_Frame tn_Frame;
typedef struct tn_Recording tn_Recording;
typedef struct tn_Upload tn_Upload;
typedef struct tn_Readback tn_Readback;
typedef struct tn_Deferred tn_Deferred;
typedef struct tn_Text tn_Text;
typedef struct tn_Sampler tn_Sampler;
typedef struct tn_SetLayout tn_SetLayout;
typedef struct tn_DescriptorTable tn_DescriptorTable;
typedef struct tn_DescriptorSet tn_DescriptorSet;
typedef struct tn_Query tn_Query;
typedef struct tn_UploadRing tn_UploadRing;
typedef struct tn_AccelerationStructure tn_AccelerationStructure;
typedef struct tn_Reserved tn_Reserved;
typedef struct tn_Pages tn_Pages;
typedef struct tn_Graph tn_Graph;
typedef struct tn_Swapchain tn_Swapchain;
typedef struct tn_Suballocator tn_Suballocator;
typedef struct tn_HeapPools tn_HeapPools;
typedef struct tn_ReleaseQueue tn_ReleaseQueue;
typedef struct tn_Recorder tn_Recorder;

/** The result of a function: 0 or more is success, a negative number an error, whose text is in tn_last_error. A failed
 * function changes nothing, and leaves null in the handle that it would have created, unless its documentation says otherwise.
 */
typedef int32_t tn_Status;
enum {
    /** Success. */
    TN_OK = 0,
    /** Success so far: the awaited event has not happened yet, or a report has entries. */
    TN_NOT_READY = 1,
    /** A setting is unknown or out of range. */
    TN_ERROR_CONFIG = -1,
    /** No memory, after every step of the fallback chain. */
    TN_ERROR_OUT_OF_MEMORY = -2,
    /** No descriptors. */
    TN_ERROR_NO_DESCRIPTORS = -3,
    /** The device refused. */
    TN_ERROR_DEVICE = -4,
    /** A resource cannot be used in the requested state. */
    TN_ERROR_STATE = -5,
    /** An access outside a resource. */
    TN_ERROR_OUT_OF_RANGE = -6,
    /** The program's memory differs in size from the bytes to read or write. */
    TN_ERROR_WRONG_LENGTH = -7,
    /** The memory of the resource is not mapped for the CPU. */
    TN_ERROR_NOT_MAPPED = -8,
    /** The GPU did not finish in time. */
    TN_ERROR_TIMEOUT = -9,
    /** The maximum of frames in flight has begun and not ended. */
    TN_ERROR_TOO_MANY_FRAMES = -10,
    /** A wait for a submission that was never made. */
    TN_ERROR_NEVER_SUBMITTED = -11,
    /** The device has a manager, or objects of an earlier one are left. */
    TN_ERROR_DEVICE_IN_USE = -12,
    /** The manager was shut down. */
    TN_ERROR_SHUT_DOWN = -13,
    /** An object of another manager. */
    TN_ERROR_FOREIGN = -14,
    /** Queries that do not begin and end in pairs. */
    TN_ERROR_QUERY = -15,
    /** The recording that should read bytes back, or has the query, was not submitted. */
    TN_ERROR_DISCARDED = -16,
    /** More than an upload ring or a suballocator holds. */
    TN_ERROR_TOO_LARGE = -17,
    /** An upload ring is full, and an open recording may use its oldest bytes. */
    TN_ERROR_HELD_BY_RECORDING = -18,
    /** Constants or slices of another recording. */
    TN_ERROR_OTHER_RECORDING = -19,
    /** A transient resource of a recording that is still open. */
    TN_ERROR_NOT_ACQUIRED = -20,
    /** An invalid graph. */
    TN_ERROR_GRAPH = -21,
    /** A transient resource, where only lasting ones are accepted. */
    TN_ERROR_TRANSIENT = -22,
    /** A broken rule of swap chains. */
    TN_ERROR_SWAPCHAIN = -23,
    /** A broken rule of acceleration structures. */
    TN_ERROR_ACCELERATION_STRUCTURE = -24,
    /** The memory of the buffer fixes its state. */
    TN_ERROR_FIXED_STATE = -25,
    /** The tables of the device contradict the contract. */
    TN_ERROR_CONTRACT = -26,
    /** A bug of tenure. */
    TN_ERROR_INTERNAL = -27,
    /** A tile that does not exist, or is not free. */
    TN_ERROR_TILES = -28,
    /** The device is lost: every later call of its manager fails. */
    TN_ERROR_DEVICE_LOST = -29,
    /** No device could be made. */
    TN_ERROR_CREATE_DEVICE = -80,
    /** A number that the call does not take, such as a size of 0 or an alignment that is no power of two. */
    TN_ERROR_ARGUMENT = -81,
    /** A file could not be written. */
    TN_ERROR_FILE = -82,
    /** A pointer is null or misaligned. */
    TN_ERROR_POINTER = -100,
    /** struct_size is not that of the structure. */
    TN_ERROR_STRUCT_SIZE = -101,
    /** next has an unknown structure. */
    TN_ERROR_CHAIN = -102,
    /** An unknown enumerator, or an unknown bit of flags. */
    TN_ERROR_ENUM = -103,
    /** A handle that was released, of another type, or never created. */
    TN_ERROR_HANDLE = -104,
    /** Two threads at once in an object for one thread. */
    TN_ERROR_BUSY = -105,
    /** Text that is not UTF-8. */
    TN_ERROR_TEXT = -106,
    /** A function that must not be called inside this callback. */
    TN_ERROR_CALLBACK = -107,
    /** A bug of tenure, caught. After it only handles can be released. */
    TN_ERROR_PANIC = -108
};

/** 0 or 1. */
typedef uint32_t tn_Bool;

/** Text in UTF-8. Zeroed: no text. */
typedef struct tn_Str {
    /** The first byte; null for no text. */
    const char* data;
    /** Bytes; TN_TO_NUL for text that ends with NUL; TN_STATIC is set for text that is never changed or freed, which is not
     * copied. Not for literals of a library that is unloaded.
     */
    size_t size;
} tn_Str;

/** The head of a structure that is added to another by its field next. */
typedef struct tn_Chain {
    /** The type of the structure. */
    uint32_t type;
    /** Its size in bytes. */
    uint32_t struct_size;
    /** The next one, or null. */
    const tn_Chain* next;
} tn_Chain;

/** An object of the graphics API: VkBuffer, VkImage, VkImageView, VkBufferView, VkSampler, VkDescriptorSet,
 * VkDescriptorSetLayout, VkCommandBuffer, VkQueue; ID3D12Resource*, ID3D12DescriptorHeap*,
 * ID3D12GraphicsCommandList*, ID3D12CommandQueue*, a CPU descriptor handle; a number of the simulated device.
 */
typedef uint64_t tn_Native;

/** The submissions to wait for: for each queue a serial. Zeroed: none. A plain value. */
typedef struct tn_SyncPoint {
    /** The serial of each queue. */
    uint64_t serials[8];
    /** The manager that counted them; tenure's own. */
    uint32_t clock;
    /** 0. */
    uint32_t reserved;
} tn_SyncPoint;

/** A graphics API. */
typedef uint32_t tn_Backend;
enum {
    /** A GPU in software, which finds use after free, missing barriers and races. */
    TN_BACKEND_SIM = 1,
    /** Vulkan. */
    TN_BACKEND_VULKAN = 2,
    /** Direct3D 12. */
    TN_BACKEND_D3D12 = 3
};

/** A queue by its purpose, or TN_QUEUE_FIRST + n for the n-th of the device. */
typedef uint32_t tn_Queue;
enum {
    /** For everything. */
    TN_QUEUE_GRAPHICS = 0,
    /** Compute; the graphics queue on devices without another one. */
    TN_QUEUE_COMPUTE = 1,
    /** Copies; another queue on devices without one for copies. */
    TN_QUEUE_COPY = 2,
    /** The first queue of the device. */
    TN_QUEUE_FIRST = 16
};

/** The importance of a log line. */
typedef uint32_t tn_LogLevel;
enum {
    /** Errors. */
    TN_LOG_ERROR = 1,
    /** Misuse, and loss of performance. */
    TN_LOG_WARN = 2,
    /** Information. */
    TN_LOG_INFO = 3,
    /** For programmers. */
    TN_LOG_DEBUG = 4,
    /** Each allocation. */
    TN_LOG_TRACE = 5
};

/** Takes a log line; text is valid for the call. On the thread of the call that has something to say. Must not unwind, and
 * must not call this library, except for tn_last_error and tn_status_name: other functions return TN_ERROR_CALLBACK.
 */
typedef void(TN_CALL* tn_LogFn)(void* user, tn_LogLevel level, tn_Str text);

/** Destroys an object of the program. Called once, on any thread, inside a call of this library. Must not unwind. May release
 * handles, except a tn_Gpu and a tn_Swapchain; other functions return TN_ERROR_CALLBACK.
 */
typedef void(TN_CALL* tn_DestroyFn)(void* user, void* object);

/** Submits work of the program to queue: the VkQueue or ID3D12CommandQueue*; a number on the simulated device. Called
 * once, inside tn_gpu_submit_external. Returns TN_OK, or a negative number of its own for an error. Must not unwind. May
 * release handles, except a tn_Gpu and a tn_Swapchain; other functions return TN_ERROR_CALLBACK.
 */
typedef tn_Status(TN_CALL* tn_SubmitFn)(void* user, tn_Native queue);

/** Options of the simulated device. Bits. */
typedef uint32_t tn_SimFlags;
enum {
    /** An access of destroyed or evicted memory loses the device, as on a real one, and is no hazard. Textures have addresses, too. */
    TN_SIM_PAGE_FAULTS = 1,
    /** Recordings and passes write markers, so that TN_REPORT_LOSS tells where the GPU was. */
    TN_SIM_MARKERS = 2
};

/** A simulated device. */
typedef struct tn_SimDesc {
    /** sizeof(tn_SimDesc). */
    uint32_t struct_size;
    /** TN_SIM_.... */
    tn_SimFlags flags;
    /** Null. */
    const tn_Chain* next;
    /** The hardware: vulkan-nvidia, d3d12-uma, ...; without text a discrete card. */
    tn_Str profile;
    /** The seed of random numbers. */
    uint64_t seed;
    /** Submissions and polls after which a submission completes: 0 at once; TN_ALL: by tn_sim_run alone. */
    uint32_t lag;
    /** 0. */
    uint32_t reserved;
} tn_SimDesc;

/** The properties of a device. */
typedef struct tn_DeviceProperties {
    /** sizeof(tn_DeviceProperties), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The name; valid until the device is released. */
    tn_Str name;
    /** The graphics API. */
    tn_Backend backend;
    /** CPU and GPU share their memory. */
    tn_Bool is_unified;
    /** Queues. */
    uint32_t queues;
    /** Memory heaps. */
    uint32_t memory_heaps;
    /** Memory types. */
    uint32_t memory_types;
    /** The device has descriptor sets. */
    tn_Bool has_sets;
    /** Alignment of constants, in bytes. */
    uint64_t constant_alignment;
    /** Alignment of the rows of copies between buffers and textures, in bytes. */
    uint64_t row_alignment;
    /** Alignment of the place of copies between buffers and textures, in bytes. */
    uint64_t copy_alignment;
    /** Views in all tables and recordings together, at most; 0: the device has no tables. */
    uint32_t visible_resources;
    /** Samplers in all tables and recordings together, at most. */
    uint32_t visible_samplers;
    /** Different samplers at once, at most. */
    uint32_t samplers;
    /** The maximum anisotropy of a sampler; 1: none. */
    uint32_t anisotropy;
    /** Bytes of a view of constants, at most. */
    uint64_t constant_size;
} tn_DeviceProperties;

/** A setting of a manager, by the name of its field, such as frames.in_flight; TN_REPORT_SETTINGS lists all. */
typedef struct tn_Setting {
    /** The name. */
    tn_Str name;
    /** Bytes, a number, 0 or 1; a time in nanoseconds. */
    uint64_t value;
} tn_Setting;

/** A manager. */
typedef struct tn_GpuDesc {
    /** sizeof(tn_GpuDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Settings that differ from their defaults. */
    const tn_Setting* settings;
    /** Settings. */
    size_t setting_count;
} tn_GpuDesc;

/** The result of a shutdown. */
typedef struct tn_ShutdownReport {
    /** sizeof(tn_ShutdownReport), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Objects that were not released. */
    uint32_t leaks;
    /** Recordings that were neither submitted nor released. */
    uint32_t open_recordings;
    /** The GPU did not finish within the timeout frames.shutdown_timeout. */
    tn_Bool timed_out;
    /** The device is lost. */
    tn_Bool is_lost;
    /** Nanoseconds of waiting for the GPU. */
    uint64_t waited_ns;
} tn_ShutdownReport;

/** The pressure on a memory heap. */
typedef uint32_t tn_Pressure;
enum {
    /** There is room, or the budget is unknown. */
    TN_PRESSURE_NORMAL = 0,
    /** Little memory is left. */
    TN_PRESSURE_HIGH = 1,
    /** Almost no memory is left, or the budget is exceeded. */
    TN_PRESSURE_CRITICAL = 2
};

/** Budget and usage of a memory heap, in bytes. */
typedef struct tn_HeapMemory {
    /** sizeof(tn_HeapMemory), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The size of the heap. */
    uint64_t size;
    /** The budget of the operating system; UINT64_MAX: unknown. */
    uint64_t budget;
    /** The usage of the process, as far as it is known. */
    uint64_t usage;
    /** The memory cap; UINT64_MAX: none. */
    uint64_t cap;
    /** The memory that the manager has allocated. */
    uint64_t allocated;
    /** The part of it that resources use. */
    uint64_t used;
    /** The resources that were evicted from the heap. */
    uint64_t evicted;
    /** The heap is local to the GPU. */
    tn_Bool is_device_local;
    /** TN_PRESSURE_.... */
    tn_Pressure pressure;
} tn_HeapMemory;

/** A change of the pressure on a memory heap. */
typedef struct tn_PressureChange {
    /** The heap. */
    uint32_t heap;
    /** The heap is local to the GPU. */
    tn_Bool is_device_local;
    /** The pressure at the end of the frame before. */
    tn_Pressure before;
    /** The pressure now. */
    tn_Pressure now;
    /** The budget in bytes, or the memory cap where that is nearer. */
    uint64_t budget;
    /** The usage in bytes that belongs to it. */
    uint64_t usage;
} tn_PressureChange;

/** Takes a change of pressure, at the end of a frame or in tn_gpu_reclaim, on the thread of that call. Must not unwind. May
 * release handles, except a tn_Gpu and a tn_Swapchain; other functions return TN_ERROR_CALLBACK.
 */
typedef void(TN_CALL* tn_PressureFn)(void* user, tn_PressureChange change);

/** The text that tn_gpu_report returns. */
typedef uint32_t tn_Report;
enum {
    /** Counters, quickly. */
    TN_REPORT_STATS = 0,
    /** Budget and usage of each memory heap, quickly. */
    TN_REPORT_MEMORY = 1,
    /** Every object, in time proportional to their number. */
    TN_REPORT_ALL = 2,
    /** Every setting with its value. */
    TN_REPORT_SETTINGS = 3,
    /** The loss of the device: its faults with the objects at their addresses, and the submissions that were not finished, with the
     * progress of their recordings. null before the loss.
     */
    TN_REPORT_LOSS = 4
};

/** The uses of a resource, for its whole life. Bits. */
typedef uint32_t tn_Usage;
enum {
    /** Vertex buffer. */
    TN_USAGE_VERTEX = 1 << 0,
    /** Index buffer. */
    TN_USAGE_INDEX = 1 << 1,
    /** Constant (uniform) buffer. */
    TN_USAGE_CONSTANT = 1 << 2,
    /** Read by shaders. */
    TN_USAGE_SHADER_READ = 1 << 3,
    /** Read and written by shaders. */
    TN_USAGE_UNORDERED_ACCESS = 1 << 4,
    /** Arguments of indirect draws and dispatches. */
    TN_USAGE_INDIRECT = 1 << 5,
    /** Acceleration structure. */
    TN_USAGE_ACCELERATION_STRUCTURE = 1 << 6,
    /** Source of copies. */
    TN_USAGE_COPY_SRC = 1 << 7,
    /** Destination of copies. */
    TN_USAGE_COPY_DST = 1 << 8,
    /** Colour render target. Textures only. */
    TN_USAGE_RENDER_TARGET = 1 << 9,
    /** Depth-stencil target. Textures only. */
    TN_USAGE_DEPTH_STENCIL = 1 << 10,
    /** Image of a swap chain. */
    TN_USAGE_PRESENT = 1 << 11,
    /** Shader records of ray dispatches. */
    TN_USAGE_SHADER_BINDING_TABLE = 1 << 12,
    /** Input attachment. Textures only, on Vulkan only. */
    TN_USAGE_INPUT_ATTACHMENT = 1 << 13,
    /** A target whose contents never leave the render pass. Textures only. */
    TN_USAGE_TRANSIENT_ATTACHMENT = 1 << 14,
    /** Memory shared with other devices or processes. */
    TN_USAGE_SHARED = 1 << 15,
    /** Texels written by the CPU in place. */
    TN_USAGE_CPU_WRITE = 1 << 16,
    /** Beside TN_USAGE_SHARED: with another driver or GPU. */
    TN_USAGE_SHARED_ACROSS_DRIVERS = 1 << 17,
    /** Used by queues of all families without transfers of ownership. */
    TN_USAGE_ALL_QUEUES = 1 << 18,
    /** Owned by one queue family at a time. */
    TN_USAGE_EXCLUSIVE = 1 << 19
};

/** The use of a resource at one point of a queue's work. Bits; read states combine, a write state stands alone. */
typedef uint32_t tn_State;
enum {
    /** No particular use. */
    TN_STATE_COMMON = 0,
    /** Read as vertices or constants. */
    TN_STATE_VERTEX_OR_CONSTANT = 1 << 0,
    /** Read as indices. */
    TN_STATE_INDEX = 1 << 1,
    /** Read by pixel (fragment) shaders. */
    TN_STATE_PIXEL_SHADER = 1 << 2,
    /** Read by vertex, tessellation and geometry shaders. */
    TN_STATE_VERTEX_SHADER = 1 << 3,
    /** Read by task and mesh shaders. */
    TN_STATE_MESH_SHADER = 1 << 4,
    /** Read by compute shaders. */
    TN_STATE_COMPUTE_SHADER = 1 << 5,
    /** Read by ray tracing shaders and by builds of acceleration structures. */
    TN_STATE_RAY_TRACING_SHADER = 1 << 6,
    /** Read as indirect arguments. */
    TN_STATE_INDIRECT = 1 << 7,
    /** Source of a copy. */
    TN_STATE_COPY_SRC = 1 << 8,
    /** Source of a multisample resolve. */
    TN_STATE_RESOLVE_SRC = 1 << 9,
    /** Depth-stencil, read only. */
    TN_STATE_DEPTH_READ = 1 << 10,
    /** Acceleration structure. */
    TN_STATE_ACCELERATION_STRUCTURE = 1 << 11,
    /** Read and written by shaders of any stage. Write state. */
    TN_STATE_UNORDERED_ACCESS = 1 << 12,
    /** Read and written by task and mesh shaders. Write state. */
    TN_STATE_MESH_UNORDERED_ACCESS = 1 << 13,
    /** Read and written by compute shaders. Write state. */
    TN_STATE_COMPUTE_UNORDERED_ACCESS = 1 << 14,
    /** Read and written by ray tracing shaders. Write state. */
    TN_STATE_RAY_TRACING_UNORDERED_ACCESS = 1 << 15,
    /** Colour render target. Write state. */
    TN_STATE_RENDER_TARGET = 1 << 16,
    /** Depth-stencil, written. Write state. */
    TN_STATE_DEPTH_WRITE = 1 << 17,
    /** Destination of a copy. Write state. */
    TN_STATE_COPY_DST = 1 << 18,
    /** Destination of a multisample resolve. Write state. */
    TN_STATE_RESOLVE_DST = 1 << 19,
    /** Image of a swap chain, between present and acquire. */
    TN_STATE_PRESENT = 1 << 20,
    /** Read by shaders of all kinds. */
    TN_STATE_SHADER_READ = 0x7c,
    /** Read by all shaders but pixel shaders. */
    TN_STATE_NON_PIXEL_SHADER = 0x78
};

/** The access of CPU and GPU to the memory of a buffer. */
typedef uint32_t tn_Memory;
enum {
    /** The GPU alone. */
    TN_MEMORY_GPU_ONLY = 0,
    /** Written by the CPU, read by the GPU. */
    TN_MEMORY_UPLOAD = 1,
    /** Written by the GPU, read by the CPU. */
    TN_MEMORY_READBACK = 2,
    /** As TN_MEMORY_UPLOAD, in device-local memory where that is possible. */
    TN_MEMORY_GPU_UPLOAD = 3
};

/** The order in which resources leave video memory under pressure. */
typedef uint32_t tn_Priority;
enum {
    /** By the usage. */
    TN_PRIORITY_BY_USAGE = 0,
    /** The first to leave. */
    TN_PRIORITY_LOW = 1,
    /** As most resources. */
    TN_PRIORITY_NORMAL = 2,
    /** The last to leave. */
    TN_PRIORITY_HIGH = 3
};

/** What may be done when memory is short. Bits. */
typedef uint32_t tn_Allocation;
enum {
    /** Not beyond the budget that the operating system grants. */
    TN_ALLOCATION_WITHIN_BUDGET = 1 << 0,
    /** Only memory local to the GPU. */
    TN_ALLOCATION_DEVICE_LOCAL_ONLY = 1 << 1,
    /** Only free ranges of existing blocks. */
    TN_ALLOCATION_NEVER_ALLOCATE = 1 << 2,
    /** Without a wait for the GPU. */
    TN_ALLOCATION_NEVER_WAIT = 1 << 3,
    /** Of tn_BufferDesc.flags: an API object of its own. */
    TN_RESOURCE_OWN = 1 << 0,
    /** Of flags of resources: it may be evicted while nothing uses it. */
    TN_RESOURCE_EVICTABLE = 1 << 1,
    /** Of flags of resources: it may move in memory, at the ends of frames and in tn_gpu_compact. Each recording that uses it names
     * it, and asks for its place by tn_recording_place. tn_place of it or of a view of it keeps it where it is for good.
     */
    TN_RESOURCE_MOVABLE = 1 << 2,
    /** Of flags of resources: its contents come soon after its creation, before commands use it, and seldom change. Where the CPU
     * can write such a resource without making it slower for the GPU, uploads write it in place. data implies it.
     */
    TN_RESOURCE_FILLED = 1 << 3
};

/** A buffer. */
typedef struct tn_BufferDesc {
    /** sizeof(tn_BufferDesc). */
    uint32_t struct_size;
    /** TN_RESOURCE_.... */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes. */
    uint64_t size;
    /** TN_USAGE_.... */
    tn_Usage usage;
    /** TN_MEMORY_.... */
    tn_Memory memory;
    /** The alignment in bytes, beyond that of the usage; 0: no more. */
    uint64_t alignment;
    /** The offset becomes a multiple of it, so that shaders can index elements; 0: no constraint. */
    uint32_t stride;
    /** TN_ALLOCATION_.... */
    tn_Allocation allocation;
    /** TN_PRIORITY_.... */
    tn_Priority priority;
    /** TN_STATE_... in which all commands read it: no recording needs to name it. Its contents come from uploads. 0: not read-only. */
    tn_State read_only;
    /** The name in debuggers, messages and reports. */
    tn_Str name;
    /** A group in statistics. */
    tn_Str tag;
    /** The initial contents from the first byte on; null: none. Copied before the call returns. */
    const void* data;
    /** Bytes of data. */
    size_t data_size;
} tn_BufferDesc;

/** A texel format. No device has all: see tn_gpu_supports_format. */
typedef uint32_t tn_Format;
enum {
    /** None. */
    TN_FORMAT_UNKNOWN = 0,
    /** One 8-bit channel, unsigned, from 0 to 1. */
    TN_FORMAT_R8_UNORM = 1,
    /** One 8-bit channel, signed, from -1 to 1. */
    TN_FORMAT_R8_SNORM = 2,
    /** One 8-bit channel, unsigned integers. */
    TN_FORMAT_R8_UINT = 3,
    /** One 8-bit channel, signed integers. */
    TN_FORMAT_R8_SINT = 4,
    /** Two 8-bit channels, unsigned, from 0 to 1. */
    TN_FORMAT_RG8_UNORM = 5,
    /** Two 8-bit channels, signed, from -1 to 1. */
    TN_FORMAT_RG8_SNORM = 6,
    /** Two 8-bit channels, unsigned integers. */
    TN_FORMAT_RG8_UINT = 7,
    /** Two 8-bit channels, signed integers. */
    TN_FORMAT_RG8_SINT = 8,
    /** Four 8-bit channels, unsigned, from 0 to 1. */
    TN_FORMAT_RGBA8_UNORM = 9,
    /** Four 8-bit channels, sRGB. */
    TN_FORMAT_RGBA8_SRGB = 10,
    /** Four 8-bit channels, signed, from -1 to 1. */
    TN_FORMAT_RGBA8_SNORM = 11,
    /** Four 8-bit channels, unsigned integers. */
    TN_FORMAT_RGBA8_UINT = 12,
    /** Four 8-bit channels, signed integers. */
    TN_FORMAT_RGBA8_SINT = 13,
    /** Four 8-bit channels, blue first. */
    TN_FORMAT_BGRA8_UNORM = 14,
    /** Four 8-bit channels, blue first, sRGB. */
    TN_FORMAT_BGRA8_SRGB = 15,
    /** 16 bits: 5 for blue (the lowest), 6 for green, 5 for red. */
    TN_FORMAT_B5G6R5_UNORM = 16,
    /** 16 bits: 5 for blue (the lowest), green and red each, 1 for alpha. */
    TN_FORMAT_BGR5A1_UNORM = 17,
    /** 10-bit colour, 2-bit alpha. */
    TN_FORMAT_RGB10A2_UNORM = 18,
    /** 10-bit colour, 2-bit alpha, unsigned integers. */
    TN_FORMAT_RGB10A2_UINT = 19,
    /** Packed floating-point colour without alpha. */
    TN_FORMAT_R11G11B10_FLOAT = 20,
    /** Floating-point colour without alpha: 9 bits each and one exponent of 5 bits. Shaders only read it. */
    TN_FORMAT_RGB9E5_FLOAT = 21,
    /** One 16-bit channel, unsigned, from 0 to 1. */
    TN_FORMAT_R16_UNORM = 22,
    /** One 16-bit channel, signed, from -1 to 1. */
    TN_FORMAT_R16_SNORM = 23,
    /** One 16-bit channel, unsigned integers. */
    TN_FORMAT_R16_UINT = 24,
    /** One 16-bit channel, signed integers. */
    TN_FORMAT_R16_SINT = 25,
    /** One half float. */
    TN_FORMAT_R16_FLOAT = 26,
    /** Two 16-bit channels, unsigned, from 0 to 1. */
    TN_FORMAT_RG16_UNORM = 27,
    /** Two 16-bit channels, signed, from -1 to 1. */
    TN_FORMAT_RG16_SNORM = 28,
    /** Two 16-bit channels, unsigned integers. */
    TN_FORMAT_RG16_UINT = 29,
    /** Two 16-bit channels, signed integers. */
    TN_FORMAT_RG16_SINT = 30,
    /** Two half floats. */
    TN_FORMAT_RG16_FLOAT = 31,
    /** Four 16-bit channels, unsigned, from 0 to 1. */
    TN_FORMAT_RGBA16_UNORM = 32,
    /** Four 16-bit channels, signed, from -1 to 1. */
    TN_FORMAT_RGBA16_SNORM = 33,
    /** Four 16-bit channels, unsigned integers. */
    TN_FORMAT_RGBA16_UINT = 34,
    /** Four 16-bit channels, signed integers. */
    TN_FORMAT_RGBA16_SINT = 35,
    /** Four half floats. */
    TN_FORMAT_RGBA16_FLOAT = 36,
    /** One 32-bit unsigned integer. */
    TN_FORMAT_R32_UINT = 37,
    /** One 32-bit signed integer. */
    TN_FORMAT_R32_SINT = 38,
    /** One float. */
    TN_FORMAT_R32_FLOAT = 39,
    /** Two 32-bit unsigned integers. */
    TN_FORMAT_RG32_UINT = 40,
    /** Two 32-bit signed integers. */
    TN_FORMAT_RG32_SINT = 41,
    /** Two floats. */
    TN_FORMAT_RG32_FLOAT = 42,
    /** Four 32-bit unsigned integers. */
    TN_FORMAT_RGBA32_UINT = 43,
    /** Four 32-bit signed integers. */
    TN_FORMAT_RGBA32_SINT = 44,
    /** Four floats. */
    TN_FORMAT_RGBA32_FLOAT = 45,
    /** 16-bit depth. */
    TN_FORMAT_D16_UNORM = 46,
    /** 24-bit depth, 8-bit stencil. Not every device has it: see tn_gpu_supports_format. */
    TN_FORMAT_D24_UNORM_S8_UINT = 47,
    /** Float depth. */
    TN_FORMAT_D32_FLOAT = 48,
    /** Float depth, 8-bit stencil. */
    TN_FORMAT_D32_FLOAT_S8_UINT = 49,
    /** BC1: colour, 1-bit alpha. */
    TN_FORMAT_BC1_UNORM = 50,
    /** BC1: colour, 1-bit alpha, sRGB. */
    TN_FORMAT_BC1_SRGB = 51,
    /** BC2: colour, 4-bit alpha. */
    TN_FORMAT_BC2_UNORM = 52,
    /** BC2: colour, 4-bit alpha, sRGB. */
    TN_FORMAT_BC2_SRGB = 53,
    /** BC3: colour, smooth alpha. */
    TN_FORMAT_BC3_UNORM = 54,
    /** BC3: colour, smooth alpha, sRGB. */
    TN_FORMAT_BC3_SRGB = 55,
    /** BC4: one channel, from 0 to 1. */
    TN_FORMAT_BC4_UNORM = 56,
    /** BC4: one channel, from -1 to 1. */
    TN_FORMAT_BC4_SNORM = 57,
    /** BC5: two channels, from 0 to 1. */
    TN_FORMAT_BC5_UNORM = 58,
    /** BC5: two channels, from -1 to 1. */
    TN_FORMAT_BC5_SNORM = 59,
    /** BC6H: half-float colour, never negative. */
    TN_FORMAT_BC6H_UFLOAT = 60,
    /** BC6H: half-float colour, signed. */
    TN_FORMAT_BC6H_SFLOAT = 61,
    /** BC7: colour and alpha of high quality. */
    TN_FORMAT_BC7_UNORM = 62,
    /** BC7: colour and alpha of high quality, sRGB. */
    TN_FORMAT_BC7_SRGB = 63,
    /** ETC2: colour. */
    TN_FORMAT_ETC2_RGB8_UNORM = 64,
    /** ETC2: colour, sRGB. */
    TN_FORMAT_ETC2_RGB8_SRGB = 65,
    /** ETC2: colour, 1-bit alpha. */
    TN_FORMAT_ETC2_RGB8A1_UNORM = 66,
    /** ETC2: colour, 1-bit alpha, sRGB. */
    TN_FORMAT_ETC2_RGB8A1_SRGB = 67,
    /** ETC2: colour, alpha. */
    TN_FORMAT_ETC2_RGBA8_UNORM = 68,
    /** ETC2: colour, alpha, sRGB. */
    TN_FORMAT_ETC2_RGBA8_SRGB = 69,
    /** EAC: one channel, from 0 to 1. */
    TN_FORMAT_EAC_R11_UNORM = 70,
    /** EAC: one channel, from -1 to 1. */
    TN_FORMAT_EAC_R11_SNORM = 71,
    /** EAC: two channels, from 0 to 1. */
    TN_FORMAT_EAC_RG11_UNORM = 72,
    /** EAC: two channels, from -1 to 1. */
    TN_FORMAT_EAC_RG11_SNORM = 73,
    /** ASTC: blocks of 4 by 4 texels. */
    TN_FORMAT_ASTC_4X4_UNORM = 74,
    /** ASTC: blocks of 4 by 4 texels, sRGB. */
    TN_FORMAT_ASTC_4X4_SRGB = 75,
    /** ASTC: blocks of 5 by 4 texels. */
    TN_FORMAT_ASTC_5X4_UNORM = 76,
    /** ASTC: blocks of 5 by 4 texels, sRGB. */
    TN_FORMAT_ASTC_5X4_SRGB = 77,
    /** ASTC: blocks of 5 by 5 texels. */
    TN_FORMAT_ASTC_5X5_UNORM = 78,
    /** ASTC: blocks of 5 by 5 texels, sRGB. */
    TN_FORMAT_ASTC_5X5_SRGB = 79,
    /** ASTC: blocks of 6 by 5 texels. */
    TN_FORMAT_ASTC_6X5_UNORM = 80,
    /** ASTC: blocks of 6 by 5 texels, sRGB. */
    TN_FORMAT_ASTC_6X5_SRGB = 81,
    /** ASTC: blocks of 6 by 6 texels. */
    TN_FORMAT_ASTC_6X6_UNORM = 82,
    /** ASTC: blocks of 6 by 6 texels, sRGB. */
    TN_FORMAT_ASTC_6X6_SRGB = 83,
    /** ASTC: blocks of 8 by 5 texels. */
    TN_FORMAT_ASTC_8X5_UNORM = 84,
    /** ASTC: blocks of 8 by 5 texels, sRGB. */
    TN_FORMAT_ASTC_8X5_SRGB = 85,
    /** ASTC: blocks of 8 by 6 texels. */
    TN_FORMAT_ASTC_8X6_UNORM = 86,
    /** ASTC: blocks of 8 by 6 texels, sRGB. */
    TN_FORMAT_ASTC_8X6_SRGB = 87,
    /** ASTC: blocks of 8 by 8 texels. */
    TN_FORMAT_ASTC_8X8_UNORM = 88,
    /** ASTC: blocks of 8 by 8 texels, sRGB. */
    TN_FORMAT_ASTC_8X8_SRGB = 89,
    /** ASTC: blocks of 10 by 5 texels. */
    TN_FORMAT_ASTC_10X5_UNORM = 90,
    /** ASTC: blocks of 10 by 5 texels, sRGB. */
    TN_FORMAT_ASTC_10X5_SRGB = 91,
    /** ASTC: blocks of 10 by 6 texels. */
    TN_FORMAT_ASTC_10X6_UNORM = 92,
    /** ASTC: blocks of 10 by 6 texels, sRGB. */
    TN_FORMAT_ASTC_10X6_SRGB = 93,
    /** ASTC: blocks of 10 by 8 texels. */
    TN_FORMAT_ASTC_10X8_UNORM = 94,
    /** ASTC: blocks of 10 by 8 texels, sRGB. */
    TN_FORMAT_ASTC_10X8_SRGB = 95,
    /** ASTC: blocks of 10 by 10 texels. */
    TN_FORMAT_ASTC_10X10_UNORM = 96,
    /** ASTC: blocks of 10 by 10 texels, sRGB. */
    TN_FORMAT_ASTC_10X10_SRGB = 97,
    /** ASTC: blocks of 12 by 10 texels. */
    TN_FORMAT_ASTC_12X10_UNORM = 98,
    /** ASTC: blocks of 12 by 10 texels, sRGB. */
    TN_FORMAT_ASTC_12X10_SRGB = 99,
    /** ASTC: blocks of 12 by 12 texels. */
    TN_FORMAT_ASTC_12X12_UNORM = 100,
    /** ASTC: blocks of 12 by 12 texels, sRGB. */
    TN_FORMAT_ASTC_12X12_SRGB = 101
};

/** The dimension of a texture. */
typedef uint32_t tn_Dimension;
enum {
    /** Two dimensions. */
    TN_DIMENSION_2D = 0,
    /** Three dimensions. */
    TN_DIMENSION_3D = 1
};

/** A plane of a texel format. */
typedef uint32_t tn_Plane;
enum {
    /** Colour or depth. */
    TN_PLANE_FIRST = 0,
    /** Stencil. */
    TN_PLANE_STENCIL = 1
};

/** The kind of an optimised clear value. */
typedef uint32_t tn_ClearKind;
enum {
    /** None. */
    TN_CLEAR_NONE = 0,
    /** A colour. */
    TN_CLEAR_COLOR = 1,
    /** Depth and stencil. */
    TN_CLEAR_DEPTH_STENCIL = 2
};

/** An optimised clear value. */
typedef struct tn_ClearValue {
    /** TN_CLEAR_.... */
    tn_ClearKind kind;
    /** The stencil value, 0 to 255. */
    uint32_t stencil;
    /** The colour. */
    float color[4];
    /** The depth. */
    float depth;
    /** 0. */
    uint32_t reserved;
} tn_ClearValue;

/** Texels of the program, of one subresource or region. */
typedef struct tn_Texels {
    /** The first byte. */
    const void* data;
    /** Bytes. */
    size_t size;
    /** Bytes from one row of blocks to the next; 0: rows follow each other. */
    uint64_t row_pitch;
    /** Rows from one slice to the next; 0: slices follow each other. */
    uint32_t rows;
    /** 0. */
    uint32_t reserved;
} tn_Texels;

/** A texture. */
typedef struct tn_TextureDesc {
    /** sizeof(tn_TextureDesc). */
    uint32_t struct_size;
    /** TN_RESOURCE_EVICTABLE, TN_RESOURCE_MOVABLE, TN_RESOURCE_FILLED. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** TN_DIMENSION_.... */
    tn_Dimension dimension;
    /** TN_FORMAT_.... */
    tn_Format format;
    /** Texels. */
    uint32_t width;
    /** Texels. */
    uint32_t height;
    /** Slices of three dimensions, array layers of two; 0: 1. */
    uint32_t depth_or_layers;
    /** 0: 1. */
    uint32_t mips;
    /** 0: 1. */
    uint32_t samples;
    /** TN_USAGE_.... */
    tn_Usage usage;
    /** TN_ALLOCATION_.... */
    tn_Allocation allocation;
    /** TN_PRIORITY_.... */
    tn_Priority priority;
    /** The optimised clear value. */
    tn_ClearValue clear;
    /** Other formats of views. */
    const tn_Format* view_formats;
    /** Formats. */
    size_t view_format_count;
    /** The name in debuggers, messages and reports. */
    tn_Str name;
    /** A group in statistics. */
    tn_Str tag;
    /** The initial contents: all subresources, the mips of the first layer first; null: none. Copied before the call returns. */
    const tn_Texels* data;
    /** Subresources of data. */
    size_t data_count;
    /** TN_STATE_... in which all commands read it: no recording needs to name it. Its contents come from uploads. 0: not read-only. */
    tn_State read_only;
    /** 0. */
    uint32_t reserved;
} tn_TextureDesc;

/** A part of one subresource of a texture. */
typedef struct tn_TextureRegion {
    /** The mip. */
    uint32_t mip;
    /** The array layer. */
    uint32_t layer;
    /** TN_PLANE_.... */
    tn_Plane plane;
    /** The first texel. */
    uint32_t origin[3];
    /** Texels; all zero: from the origin to the end of the mip. */
    uint32_t extent[3];
    /** 0. */
    uint32_t reserved;
} tn_TextureRegion;

/** The place of a resource, view, sampler, constants or descriptors. */
typedef struct tn_Place {
    /** The object of the API; of a small buffer one that it shares with others. */
    tn_Native object;
    /** The first byte in that object; the index of the first descriptor of a table. */
    uint64_t offset;
    /** Bytes; descriptors of a table. */
    uint64_t size;
    /** The address for the GPU; the GPU descriptor handle of a table on Direct3D 12; 0: none. */
    uint64_t gpu_address;
    /** The bytes for the CPU; null: not mapped, or only by tn_buffer_write and tn_buffer_read, as on the simulated device. */
    void* mapped;
} tn_Place;

/** The access of shaders to a buffer. */
typedef uint32_t tn_BufferAccess;
enum {
    /** Constants. */
    TN_BUFFER_CONSTANTS = 0,
    /** Bytes, read. */
    TN_BUFFER_RAW = 1,
    /** Bytes, read and written. */
    TN_BUFFER_RAW_WRITABLE = 2,
    /** Structures of stride bytes, read. */
    TN_BUFFER_STRUCTURED = 3,
    /** Structures of stride bytes, read and written. */
    TN_BUFFER_STRUCTURED_WRITABLE = 4,
    /** Texels of format, read. */
    TN_BUFFER_TYPED = 5,
    /** Texels of format, read and written. */
    TN_BUFFER_TYPED_WRITABLE = 6
};

/** The access to a texture. */
typedef uint32_t tn_TextureAccess;
enum {
    /** Sampled by shaders. */
    TN_TEXTURE_SAMPLED = 0,
    /** Read and written by shaders. */
    TN_TEXTURE_STORAGE = 1,
    /** Render target. */
    TN_TEXTURE_RENDER_TARGET = 2,
    /** Depth-stencil target. */
    TN_TEXTURE_DEPTH_STENCIL = 3,
    /** Depth-stencil, read only. */
    TN_TEXTURE_DEPTH_READ_ONLY = 4,
    /** Input attachment. */
    TN_TEXTURE_INPUT_ATTACHMENT = 5
};

/** The shape of a texture view. */
typedef uint32_t tn_ViewShape;
enum {
    /** By the texture. */
    TN_SHAPE_OF_TEXTURE = 0,
    /** One layer. */
    TN_SHAPE_2D = 1,
    /** Layers. */
    TN_SHAPE_2D_ARRAY = 2,
    /** A cube of six layers. */
    TN_SHAPE_CUBE = 3,
    /** Cubes. */
    TN_SHAPE_CUBE_ARRAY = 4,
    /** Three dimensions. */
    TN_SHAPE_3D = 5
};

/** A view of a buffer. */
typedef struct tn_BufferViewDesc {
    /** sizeof(tn_BufferViewDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** TN_BUFFER_.... */
    tn_BufferAccess access;
    /** Bytes of a structure. */
    uint32_t stride;
    /** The format of texels. */
    tn_Format format;
    /** 0. */
    uint32_t reserved;
    /** The first byte. */
    uint64_t offset;
    /** Bytes; 0: to the end of the buffer. */
    uint64_t size;
    /** The name in messages and reports. */
    tn_Str name;
} tn_BufferViewDesc;

/** A view of a texture. */
typedef struct tn_TextureViewDesc {
    /** sizeof(tn_TextureViewDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** TN_TEXTURE_.... */
    tn_TextureAccess access;
    /** TN_SHAPE_.... */
    tn_ViewShape shape;
    /** TN_FORMAT_UNKNOWN: the texture's. */
    tn_Format format;
    /** TN_PLANE_.... */
    tn_Plane plane;
    /** The first mip. */
    uint32_t first_mip;
    /** Mips; 0: the rest. */
    uint32_t mips;
    /** The first array layer. */
    uint32_t first_layer;
    /** Array layers; 0: the rest. */
    uint32_t layers;
    /** The name in messages and reports. */
    tn_Str name;
} tn_TextureViewDesc;

/** A resource and the state in which the next commands use it. */
typedef struct tn_Use {
    /** A tn_Buffer or tn_Texture. In tn_recording_use also a tn_Reserved or tn_AccelerationStructure, and a tn_View,
     * tn_DescriptorTable or tn_DescriptorSet, for all that it shows.
     */
    void* resource;
    /** TN_STATE_.... Of views, tables and sets it names the shaders: TN_STATE_SHADER_READ, TN_STATE_NON_PIXEL_SHADER, or the
     * read state of one kind; written resources get their write state, constants and input attachments get theirs.
     */
    tn_State state;
    /** The number of one subresource (mips of the first layer first), or TN_ALL. Unused with views, tables and sets. */
    uint32_t subresource;
} tn_Use;

/** A copy between two resources; which fields count depends on the types of both. */
typedef struct tn_Copy {
    /** The source, a tn_Buffer or tn_Texture. */
    void* src;
    /** The destination, a tn_Buffer or tn_Texture. */
    void* dst;
    /** The first byte, where the source is a buffer. */
    uint64_t src_offset;
    /** The first byte, where the destination is a buffer. */
    uint64_t dst_offset;
    /** Bytes, between two buffers. */
    uint64_t size;
    /** Bytes from one row of blocks to the next in the buffer, between buffer and texture; 0: rows follow each other. */
    uint64_t row_pitch;
    /** Rows from slice to slice in the buffer, between buffer and texture; 0: those of the region. */
    uint32_t rows;
    /** The subresource, between two textures; TN_ALL for all. */
    uint32_t subresource;
    /** The part of the texture, between buffer and texture. */
    tn_TextureRegion region;
} tn_Copy;

/** Bytes of a buffer, or texels of a texture. */
typedef struct tn_Part {
    /** A tn_Buffer or tn_Texture. */
    void* resource;
    /** The first byte of a buffer. */
    uint64_t offset;
    /** Bytes of a buffer; for uploads, those of the texels decide. */
    uint64_t size;
    /** The part of a texture. */
    tn_TextureRegion region;
} tn_Part;

/** The filter between texels or mips. */
typedef uint32_t tn_Filter;
enum {
    /** A weighted mean of the neighbours. */
    TN_FILTER_LINEAR = 0,
    /** The nearest texel or mip. */
    TN_FILTER_NEAREST = 1
};

/** Addressing outside of a texture. */
typedef uint32_t tn_AddressMode;
enum {
    /** Repeats the texture. */
    TN_ADDRESS_REPEAT = 0,
    /** Repeats the texture, mirrored. */
    TN_ADDRESS_MIRROR = 1,
    /** Repeats the texel at the edge. */
    TN_ADDRESS_CLAMP = 2,
    /** The border colour. */
    TN_ADDRESS_BORDER = 3
};

/** The comparison of a sampler. */
typedef uint32_t tn_Compare;
enum {
    /** No comparison. */
    TN_COMPARE_NONE = 0,
    /** Never true. */
    TN_COMPARE_NEVER = 1,
    /** Less. */
    TN_COMPARE_LESS = 2,
    /** Equal. */
    TN_COMPARE_EQUAL = 3,
    /** Less or equal. */
    TN_COMPARE_LESS_OR_EQUAL = 4,
    /** Greater. */
    TN_COMPARE_GREATER = 5,
    /** Not equal. */
    TN_COMPARE_NOT_EQUAL = 6,
    /** Greater or equal. */
    TN_COMPARE_GREATER_OR_EQUAL = 7,
    /** Always true. */
    TN_COMPARE_ALWAYS = 8
};

/** A border colour. */
typedef uint32_t tn_BorderColor;
enum {
    /** Transparent black. */
    TN_BORDER_TRANSPARENT_BLACK = 0,
    /** Black. */
    TN_BORDER_OPAQUE_BLACK = 1,
    /** White. */
    TN_BORDER_OPAQUE_WHITE = 2,
    /** Of tn_SamplerDesc.flags: a max_lod of 0 is a limit, so that only the first mip is read. */
    TN_SAMPLER_MAX_LOD = 1 << 0
};

/** A sampler. Zeroed: trilinear, repeating, all mips. */
typedef struct tn_SamplerDesc {
    /** sizeof(tn_SamplerDesc). */
    uint32_t struct_size;
    /** TN_SAMPLER_MAX_LOD. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The filter for magnification, TN_FILTER_.... */
    tn_Filter mag;
    /** The filter for minification. */
    tn_Filter min;
    /** The filter between mips. */
    tn_Filter mip;
    /** TN_ADDRESS_... in x, y and z. */
    tn_AddressMode address[3];
    /** Added to the mip level; -16 to 15.99. */
    float mip_bias;
    /** Up to tn_DeviceProperties.anisotropy; 0 and 1: none. */
    uint32_t anisotropy;
    /** TN_COMPARE_.... */
    tn_Compare compare;
    /** The finest mip level; at least 0. */
    float min_lod;
    /** The coarsest mip level, not below min_lod; 0: no limit. */
    float max_lod;
    /** TN_BORDER_..., for TN_ADDRESS_BORDER. */
    tn_BorderColor border;
    /** The name in messages and reports. */
    tn_Str name;
} tn_SamplerDesc;

/** The kind of the descriptors of a set's binding. */
typedef uint32_t tn_BindingKind;
enum {
    /** Constants (uniform buffers). */
    TN_BINDING_CONSTANTS = 1,
    /** Constants with an offset given each time the set is bound (dynamic uniform buffers). */
    TN_BINDING_DYNAMIC_CONSTANTS = 2,
    /** Raw or structured buffers, read or written (storage buffers). */
    TN_BINDING_BUFFER = 3,
    /** Typed buffers, read. */
    TN_BINDING_TYPED_BUFFER = 4,
    /** Typed buffers, read and written. */
    TN_BINDING_TYPED_STORAGE_BUFFER = 5,
    /** Textures, read. */
    TN_BINDING_TEXTURE = 6,
    /** Textures, read and written. */
    TN_BINDING_STORAGE_TEXTURE = 7,
    /** Samplers. */
    TN_BINDING_SAMPLER = 8,
    /** Textures, read, each with its sampler (combined image samplers). */
    TN_BINDING_COMBINED_SAMPLER = 9,
    /** Texels of the pass's own targets, for pixel shaders. */
    TN_BINDING_INPUT_ATTACHMENT = 10,
    /** Acceleration structures. */
    TN_BINDING_ACCELERATION_STRUCTURE = 11
};

/** A binding of a set. */
typedef struct tn_SetBinding {
    /** The number in shaders. */
    uint32_t binding;
    /** TN_BINDING_.... */
    tn_BindingKind kind;
    /** Descriptors of the array; 0: 1. */
    uint32_t count;
} tn_SetBinding;

/** The layout of descriptor sets. */
typedef struct tn_SetLayoutDesc {
    /** sizeof(tn_SetLayoutDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The bindings, in any order. */
    const tn_SetBinding* bindings;
    /** Bindings; at least 1. */
    size_t binding_count;
    /** The name in messages and reports. */
    tn_Str name;
} tn_SetLayoutDesc;

/** A descriptor: a view, a sampler, in sets also both together, constants of a recording, or an acceleration structure. */
typedef struct tn_Bind {
    /** The binding of a set; unused in tables. */
    uint32_t binding;
    /** The element of the binding's array; unused in tables. */
    uint32_t element;
    /** A view. */
    tn_View* view;
    /** A sampler. */
    tn_Sampler* sampler;
    /** In tn_recording_descriptors and tn_recording_descriptor_set only: constants, copied to memory of the recording. */
    const void* data;
    /** Bytes of data. */
    size_t data_size;
    /** An acceleration structure, in sets and in tables of Direct3D 12. */
    tn_AccelerationStructure* structure;
} tn_Bind;

/** A table: a row of descriptors that shaders find by index. */
typedef struct tn_DescriptorTableDesc {
    /** sizeof(tn_DescriptorTableDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The descriptors in order, all of views or all of samplers. */
    const tn_Bind* binds;
    /** Descriptors; at least 1. */
    size_t bind_count;
    /** The name in messages and reports. */
    tn_Str name;
} tn_DescriptorTableDesc;

/** A descriptor set. */
typedef struct tn_DescriptorSetDesc {
    /** sizeof(tn_DescriptorSetDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The layout. */
    tn_SetLayout* layout;
    /** The descriptors. Others of the layout must not be used by a shader. */
    const tn_Bind* binds;
    /** Descriptors. */
    size_t bind_count;
    /** The name in messages and reports. */
    tn_Str name;
} tn_DescriptorSetDesc;

/** The descriptors of a shader-visible heap. */
typedef uint32_t tn_DescriptorKind;
enum {
    /** Views. */
    TN_DESCRIPTOR_RESOURCE = 0,
    /** Samplers. */
    TN_DESCRIPTOR_SAMPLER = 1
};

/** The version of the binary interface of the library. Compare it with TN_ABI_VERSION before anything else. */
TN_API uint32_t TN_CALL tn_abi_version(void);

/** 1 for backends in this library. */
TN_API tn_Bool TN_CALL tn_has_backend(tn_Backend backend);

/** The text of this thread's last error, with the numbers and the remedy; it ends with NUL. Valid until this thread's next
 * error. Success does not change it.
 */
TN_API tn_Str TN_CALL tn_last_error(void);

/** The numbers of TN_ERROR_OUT_OF_MEMORY, in bytes. */
typedef struct tn_OutOfMemory {
    /** sizeof(tn_OutOfMemory), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Requested. */
    uint64_t size;
    /** Requested. */
    uint64_t alignment;
    /** The largest free range of the pool or suballocator. */
    uint64_t largest_free;
    /** The budget of the memory heap; UINT64_MAX: unknown. */
    uint64_t budget;
    /** The usage of the memory heap. */
    uint64_t usage;
    /** Released objects that were not destroyed yet, because the GPU or an open recording may use them. */
    uint64_t pending_bytes;
    /** The preferred memory type; UINT32_MAX: none, of a suballocator. */
    uint32_t memory_type;
    /** Open recordings that delay the release of such objects, as far as the text names them. */
    uint32_t open_recordings;
} tn_OutOfMemory;

/** The numbers of this thread's last error, if it was TN_ERROR_OUT_OF_MEMORY; otherwise TN_NOT_READY, and nothing is written.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE, which are then the last error.
 */
TN_API tn_Status TN_CALL tn_last_out_of_memory(tn_OutOfMemory* out);

/** The name of a status, such as TN_ERROR_STATE; it ends with NUL, and is never freed. */
TN_API tn_Str TN_CALL tn_status_name(tn_Status status);

/** Sends the log lines of the process up to a level to a callback, which is called on any thread. Once, and for good.
 *
 * Errors: TN_ERROR_BUSY where a log is already set, also by Rust code of a program that has tenure as a static library;
 * TN_ERROR_POINTER, TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_set_log(tn_LogLevel most, tn_LogFn log, void* user);

/** The text; valid until the release of its handle. Empty for an invalid handle. */
TN_API tn_Str TN_CALL tn_text(tn_Text* text);

/** Creates a simulated device, for tests: a GPU in software that finds use after free, missing barriers and races between
 * queues. desc may be null.
 *
 * Errors: TN_ERROR_CREATE_DEVICE for an unknown profile, with the names of all.
 */
TN_API tn_Status TN_CALL tn_device_create_sim(const tn_SimDesc* desc, tn_Device** out);

/** Completes all submissions of a simulated device. TN_NOT_READY where some wait for others that were never made.
 *
 * Errors: TN_ERROR_FOREIGN for a device of another backend.
 */
TN_API tn_Status TN_CALL tn_sim_run(tn_Device* device);

/** The hazards that a simulated device has found, and the objects that were not destroyed, one a line. TN_OK: none, and
 * *out is null; TN_NOT_READY: see *out. Call it after the release of everything else.
 *
 * Errors: TN_ERROR_FOREIGN for a device of another backend.
 */
TN_API tn_Status TN_CALL tn_sim_findings(tn_Device* device, tn_Text** out);

/** Records, on the simulated device, a draw or dispatch that accesses buffers and textures in these states: it finds the accesses
 * that tn_recording_use has not declared, and races. Not for reserved resources and acceleration structures. A read state reads everything, a write state writes it;
 * no byte changes. The simulated device has no draws of its own.
 *
 * Errors: TN_ERROR_FOREIGN for a recording of another backend or a resource of another manager; TN_ERROR_ENUM;
 * TN_ERROR_HANDLE for other handles. Accesses before an error count. A subresource that does not exist, and a state that the
 * queue does not have, are errors of tn_recording_submit.
 */
TN_API tn_Status TN_CALL tn_sim_access(tn_Recording* recording, const tn_Use* uses, size_t count);

/** Loses a simulated device, as a driver that is reset: later calls return TN_ERROR_DEVICE_LOST with the reason.
 *
 * Errors: TN_ERROR_FOREIGN for a device of another backend.
 */
TN_API tn_Status TN_CALL tn_sim_lose(tn_Device* device, tn_Str reason);

/** The properties of a device. */
TN_API tn_Status TN_CALL tn_device_properties(tn_Device* device, tn_DeviceProperties* out);

/** Creates the manager of a device, which can have one at a time. desc may be null for the defaults. The manager keeps the
 * device: its handle can be released.
 *
 * Errors: TN_ERROR_DEVICE_IN_USE; TN_ERROR_CONFIG for a setting that is unknown or out of range; TN_ERROR_CONTRACT.
 */
TN_API tn_Status TN_CALL tn_gpu_create(tn_Device* device, const tn_GpuDesc* desc, tn_Gpu** out);

/** Waits for the GPU, for a bounded time, releases everything and reports the rest. TN_OK: nothing. TN_NOT_READY: see
 * *out and *text, each may be null; without room for it, the text is a warning in the log. After that the manager creates
 * nothing more; handles that are left stay valid, and can be released. A second call reports the rest.
 */
TN_API tn_Status TN_CALL tn_gpu_shutdown(tn_Gpu* gpu, tn_ShutdownReport* out, tn_Text** text);

/** The sync point of all submissions so far. */
TN_API tn_Status TN_CALL tn_gpu_submitted(tn_Gpu* gpu, tn_SyncPoint* out);

/** The sync point of all submissions that the GPU has completed. Never blocks.
 *
 * Errors: TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_gpu_completed(tn_Gpu* gpu, tn_SyncPoint* out);

/** Waits until a sync point is complete; TN_NOT_READY where it is not within the timeout. A timeout of 0 polls.
 *
 * Errors: TN_ERROR_NEVER_SUBMITTED for a sync point that would never be complete, TN_ERROR_FOREIGN for one of another
 * manager, TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_gpu_wait(tn_Gpu* gpu, const tn_SyncPoint* point, uint64_t timeout_ns);

/** Calls submit with a queue of the API, which may submit any number of times, or present, and counts that as a submission of the
 * manager: objects released from now on outlive it, and done, which may be null, waits for it. Its work begins after wait;
 * null: after everything submitted to the same queue. Every object that it uses must be alive when this is called. It has
 * barriers of its own: it finds a resource in the state of the last submission, and tn_gpu_declare_state says in which state
 * it leaves it. Other threads that submit to the queue wait until submit returns.
 *
 * Errors: TN_ERROR_NEVER_SUBMITTED, TN_ERROR_FOREIGN, TN_ERROR_DEVICE, TN_ERROR_DEVICE_LOST, and what submit returns,
 * whose submissions are counted all the same.
 */
TN_API tn_Status TN_CALL tn_gpu_submit_external(tn_Gpu* gpu, tn_Queue queue, const tn_SyncPoint* wait,
    tn_SubmitFn submit, void* user, tn_SyncPoint* done);

/** Declares the states in which work of the program itself has left resources, with the submissions at: later recordings
 * continue from there. Null for at: all earlier uses are known to be complete. Those before an error count.
 *
 * Errors: TN_ERROR_STATE, TN_ERROR_FIXED_STATE, TN_ERROR_FOREIGN, TN_ERROR_NEVER_SUBMITTED, TN_ERROR_ENUM;
 * TN_ERROR_HANDLE for handles that are no buffer, texture, reserved resource or acceleration structure.
 */
TN_API tn_Status TN_CALL tn_gpu_declare_state(tn_Gpu* gpu, const tn_Use* states, size_t count, const tn_SyncPoint* at);

/** Declares that commands only read a buffer or texture from now on, in these states: recordings need not name it any more. Those
 * that write it must have been submitted. There is no way back; uploads stay possible.
 *
 * Errors: TN_ERROR_STATE for a write state, or with the reason why the resource cannot be read-only; TN_ERROR_FIXED_STATE,
 * TN_ERROR_FOREIGN, TN_ERROR_DEVICE_LOST, TN_ERROR_ENUM; TN_ERROR_HANDLE for other handles.
 */
TN_API tn_Status TN_CALL tn_gpu_make_read_only(tn_Gpu* gpu, void* resource, tn_State states);

/** Submits pending uploads, and destroys released objects that the GPU has finished with. For programs without frames; the end
 * of a frame does it, too.
 *
 * Errors: TN_ERROR_DEVICE_LOST, and those of pending uploads.
 */
TN_API tn_Status TN_CALL tn_gpu_reclaim(tn_Gpu* gpu);

/** Gives idle memory back to the operating system at once, instead of after some frames. */
TN_API tn_Status TN_CALL tn_gpu_trim(tn_Gpu* gpu);

/** Limits the memory that the manager takes from a heap, in bytes; UINT64_MAX: no limit.
 *
 * Errors: TN_ERROR_DEVICE for a heap that the device does not have.
 */
TN_API tn_Status TN_CALL tn_gpu_set_memory_cap(tn_Gpu* gpu, uint32_t heap, uint64_t bytes);

/** Budget and usage of a memory heap; heaps count from 0, as far as tn_DeviceProperties.memory_heaps. Asks the operating
 * system.
 *
 * Errors: TN_ERROR_OUT_OF_RANGE for a heap that the device does not have; TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_gpu_heap_memory(tn_Gpu* gpu, uint32_t heap, tn_HeapMemory* out);

/** Sets the listener for changes of the pressure on a memory heap, in place of the previous listener. It may be called until the
 * manager is shut down.
 *
 * Errors: TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_gpu_on_pressure(tn_Gpu* gpu, tn_PressureFn listener, void* user);

/** A report as JSON; sizes are in bytes.
 *
 * Errors: TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_gpu_report(tn_Gpu* gpu, tn_Report report, tn_Text** out);

/** The objects that are, or were, at size bytes (at least 1) from a GPU address on, in words: name, offset, frame of the creation
 * and of the release, and the nearest live object below where none is there. The first 8 live and the first 8 former objects.
 * Takes time proportional to the number of objects.
 */
TN_API tn_Status TN_CALL tn_gpu_whose(tn_Gpu* gpu, uint64_t address, uint64_t size, tn_Text** out);

/** 1 where textures of this format can have these uses; 0 also for unknown values. */
TN_API tn_Bool TN_CALL tn_gpu_supports_format(tn_Gpu* gpu, tn_Format format, tn_Usage usage);

/** 1 where tn_recording_generate_mips can fill textures of this format; 0 also for unknown values. */
TN_API tn_Bool TN_CALL tn_gpu_generates_mips(tn_Gpu* gpu, tn_Format format);

/** Begins a frame. Waits only while more frames are in flight than the setting frames.in_flight allows. A frame belongs to one
 * thread at a time.
 *
 * Errors: TN_ERROR_TIMEOUT, TN_ERROR_TOO_MANY_FRAMES, TN_ERROR_SHUT_DOWN, TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_frame_begin(tn_Gpu* gpu, tn_Frame** out);

/** The number of a frame, from 1; 0 for an invalid handle. */
TN_API uint64_t TN_CALL tn_frame_number(tn_Frame* frame);

/** Ends a frame: pending uploads are submitted, and released objects are destroyed where the GPU has finished with them. The
 * handle is over, whatever is returned, except for TN_ERROR_HANDLE, TN_ERROR_BUSY, TN_ERROR_CALLBACK and TN_ERROR_PANIC.
 *
 * Errors: TN_ERROR_DEVICE_LOST, and those of pending uploads.
 */
TN_API tn_Status TN_CALL tn_frame_end(tn_Frame* frame);

/** Keeps an object of the program until the handle is released, and the GPU cannot use it any more: by the rule for all handles.
 * Then destroy is called once, at the end of a frame, in tn_gpu_reclaim, in tn_gpu_shutdown, or in a release after that.
 *
 * Errors: TN_ERROR_POINTER without destroy; TN_ERROR_TEXT. Then the object is still the caller's.
 */
TN_API tn_Status TN_CALL tn_gpu_defer(tn_Gpu* gpu, tn_Str name, tn_DestroyFn destroy, void* user, void* object,
    tn_Deferred** out);

/** Calls destroy once after a sync point is complete, which must cover all uses of the object. Null for point: after all
 * submissions so far.
 *
 * Errors: TN_ERROR_NEVER_SUBMITTED, TN_ERROR_FOREIGN, TN_ERROR_POINTER. Then the object is still the caller's.
 */
TN_API tn_Status TN_CALL tn_gpu_release_after(tn_Gpu* gpu, const tn_SyncPoint* point, tn_DestroyFn destroy, void* user,
    void* object);

/** Ends a handle of any type. Its object is destroyed once no open recording and no GPU work can use it; this function does not
 * wait, except for the last tn_Gpu of a manager and for a tn_Swapchain, which wait for the GPU for a bounded time. Null does
 * nothing. From any thread at any time; no other thread may use the same handle during or after the call. Inside of a callback the
 * object ends when the call around it is over. A recording that was not submitted is discarded, a frame ended.
 *
 * Errors: TN_ERROR_HANDLE for a handle that was released before, TN_ERROR_BUSY for an object that another call uses alone,
 * TN_ERROR_CALLBACK for a tn_Gpu or tn_Swapchain inside of a callback.
 */
TN_API tn_Status TN_CALL tn_release(void* handle);

/** The name of a buffer, texture, view, readback, sampler, set layout, table, set, reserved resource or acceleration structure. Valid until its release; an empty text for
 * other handles. Equal samplers have the name of the first.
 */
TN_API tn_Str TN_CALL tn_name(void* handle);

/** The place of a buffer, texture, view, sampler, set layout, table, set, reserved resource or acceleration structure: object, offset, size and address in one call. It stays
 * until the release: a movable resource does not move any more. Of a view of a texture the object is the VkImageView; of texels in a buffer the VkBufferView; of other
 * bytes the VkBuffer, with offset and size; of any view and sampler on Direct3D 12 the CPU descriptor handle. Of a table the
 * offset is the index of its first descriptor, by which shaders find it, and the size the number of descriptors; the object is
 * the VkDescriptorSet to bind, or the ID3D12DescriptorHeap* with the GPU descriptor handle as address. The simulated device
 * has no objects for views, samplers, tables and sets: the offset is the index.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_HANDLE.
 */
TN_API tn_Status TN_CALL tn_place(void* handle, tn_Place* out);

/** Creates a buffer, with contents where the description has them.
 *
 * Errors: TN_ERROR_OUT_OF_MEMORY; TN_ERROR_DEVICE for a description that the device does not support; TN_ERROR_ENUM,
 * TN_ERROR_STRUCT_SIZE, TN_ERROR_SHUT_DOWN, TN_ERROR_DEVICE_LOST; those of tn_upload for the contents.
 */
TN_API tn_Status TN_CALL tn_buffer_create(tn_Gpu* gpu, const tn_BufferDesc* desc, tn_Buffer** out);

/** Writes bytes of a mapped buffer. The GPU must not use them at that time.
 *
 * Errors: TN_ERROR_NOT_MAPPED, TN_ERROR_OUT_OF_RANGE.
 */
TN_API tn_Status TN_CALL tn_buffer_write(tn_Buffer* buffer, uint64_t offset, const void* data, size_t size);

/** Reads bytes of a mapped buffer. The GPU must not write them at that time.
 *
 * Errors: TN_ERROR_NOT_MAPPED, TN_ERROR_OUT_OF_RANGE.
 */
TN_API tn_Status TN_CALL tn_buffer_read(tn_Buffer* buffer, uint64_t offset, void* out, size_t size);

/** Creates a texture, with contents where the description has them.
 *
 * Errors: as tn_buffer_create; TN_ERROR_WRONG_LENGTH for contents of another size.
 */
TN_API tn_Status TN_CALL tn_texture_create(tn_Gpu* gpu, const tn_TextureDesc* desc, tn_Texture** out);

/** Creates a view of a buffer, which lives at least as long as the view. A transient buffer keeps its views with the object of
 * the API, so that they are created once, and not each frame.
 *
 * Errors: TN_ERROR_NO_DESCRIPTORS, TN_ERROR_FOREIGN, TN_ERROR_OUT_OF_RANGE; TN_ERROR_DEVICE for a description that
 * does not suit the buffer; TN_ERROR_ENUM, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_buffer_view_create(tn_Gpu* gpu, tn_Buffer* buffer, const tn_BufferViewDesc* desc,
    tn_View** out);

/** Creates a view of a texture, which lives at least as long as the view.
 *
 * Errors: as tn_buffer_view_create.
 */
TN_API tn_Status TN_CALL tn_texture_view_create(tn_Gpu* gpu, tn_Texture* texture, const tn_TextureViewDesc* desc,
    tn_View** out);

/** The kind of place that a resource has in memory. */
typedef uint32_t tn_Location;
enum {
    /** Memory of its own. */
    TN_LOCATION_COMMITTED = 1,
    /** No memory, as the driver offers for targets that stay within a render pass. */
    TN_LOCATION_MEMORYLESS = 2,
    /** A place in a heap, with an object of its own. */
    TN_LOCATION_PLACED = 3,
    /** A range of a buffer that others use, too. */
    TN_LOCATION_RANGE = 4
};

/** The cost of a resource, as far as it is known now: another thread may take the room, and the driver may refuse. */
typedef struct tn_Cost {
    /** sizeof(tn_Cost), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes of the resource. */
    uint64_t size;
    /** The alignment of its place, in bytes. */
    uint64_t alignment;
    /** Bytes to request from the driver; 0: a block has room. */
    uint64_t new_bytes;
    /** TN_LOCATION_.... */
    tn_Location location;
    /** The memory type. */
    uint32_t memory_type;
    /** The memory heap of that type. */
    uint32_t heap;
    /** The budget and the memory cap have room for it. */
    tn_Bool is_within_budget;
} tn_Cost;

/** The layout of a subresource in a buffer. */
typedef struct tn_SubresourceLayout {
    /** The first byte. */
    uint64_t offset;
    /** Bytes from one row of blocks to the next. */
    uint64_t row_pitch;
    /** Rows of blocks in a slice. */
    uint32_t rows;
    /** Slices. */
    uint32_t depth;
} tn_SubresourceLayout;

/** The cost of tn_buffer_create, without the creation. Contents are counted, and not read.
 *
 * Errors: as tn_buffer_create, except for a shortage.
 */
TN_API tn_Status TN_CALL tn_gpu_buffer_cost(tn_Gpu* gpu, const tn_BufferDesc* desc, tn_Cost* out);

/** The cost of tn_texture_create, without the creation. Contents are counted, and not read.
 *
 * Errors: as tn_texture_create, except for a shortage.
 */
TN_API tn_Status TN_CALL tn_gpu_texture_cost(tn_Gpu* gpu, const tn_TextureDesc* desc, tn_Cost* out);

/** Creates a buffer for the CPU to read a texture: with room for all subresources, in the layouts that tn_recording_copy needs. They
 * are written to layouts, which has room for count: for each subresource, mips of the first layer first, and then for each
 * stencil plane. A count of 0: only the buffer. Of the description it takes all that describes texels, name and tag.
 *
 * Errors: TN_ERROR_WRONG_LENGTH for another number of layouts; TN_ERROR_ARGUMENT for other fields; as tn_buffer_create.
 */
TN_API tn_Status TN_CALL tn_readback_texture_create(tn_Gpu* gpu, const tn_TextureDesc* desc,
    tn_SubresourceLayout* layouts, size_t count, tn_Buffer** out);

/** Creates a sampler. Equal samplers share one descriptor of the API, so that a sampler for each material costs little.
 *
 * Errors: TN_ERROR_NO_DESCRIPTORS at the device's maximum of different samplers; TN_ERROR_DEVICE for a field out of range;
 * TN_ERROR_ENUM, TN_ERROR_STRUCT_SIZE, TN_ERROR_SHUT_DOWN, TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_sampler_create(tn_Gpu* gpu, const tn_SamplerDesc* desc, tn_Sampler** out);

/** Creates a table: a row of descriptors that shaders find by index. It never changes: to change it, create another one, and
 * release this one. A slot of a bindless array is a table of one descriptor: its index is the offset of tn_place, and stays
 * until the release. The table keeps its views and samplers, whose handles can be released.
 *
 * Errors: TN_ERROR_NO_DESCRIPTORS; TN_ERROR_DEVICE for no descriptors, views beside samplers, views of targets, data, and
 * on Vulkan without descriptor indexing; TN_ERROR_POINTER for a descriptor that is none or several;
 * TN_ERROR_HANDLE, TN_ERROR_FOREIGN, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_descriptor_table_create(tn_Gpu* gpu, const tn_DescriptorTableDesc* desc,
    tn_DescriptorTable** out);

/** Creates a layout of descriptor sets; tn_place has the VkDescriptorSetLayout. Sets keep it.
 *
 * Errors: TN_ERROR_DEVICE for no bindings, a number that two of them have, and on a device without sets; TN_ERROR_ENUM,
 * TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_set_layout_create(tn_Gpu* gpu, const tn_SetLayoutDesc* desc, tn_SetLayout** out);

/** Creates a descriptor set; tn_place has the VkDescriptorSet. It never changes: to change it, create another
 * one, and release this one. It keeps its layout, views and samplers, whose handles can be released.
 *
 * Errors: TN_ERROR_DEVICE for a binding, an element or a kind that the layout does not have, a descriptor that is given twice,
 * and data; TN_ERROR_POINTER for a descriptor that is none or several; TN_ERROR_HANDLE, TN_ERROR_FOREIGN,
 * TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_descriptor_set_create(tn_Gpu* gpu, const tn_DescriptorSetDesc* desc,
    tn_DescriptorSet** out);

/** The owner of an index of the descriptor heap, as text for messages: the name of a table or recording. Of a freed index the name
 * is known with the setting descriptors.poison.
 *
 * Errors: TN_ERROR_OUT_OF_RANGE for an index that the heap does not have, TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_gpu_descriptor_owner(tn_Gpu* gpu, tn_DescriptorKind kind, uint32_t index, tn_Text** out);

/** Sets the descriptor heaps for the next commands: once in each recording that uses tables or descriptors of a recording, and
 * again after heaps of the program. Does nothing where the program binds descriptors by sets.
 *
 * Errors: TN_ERROR_DEVICE on a queue for copies alone.
 */
TN_API tn_Status TN_CALL tn_recording_set_descriptor_heaps(tn_Recording* recording);

/** Takes descriptors for this submission: a row that shaders find by index, as of a table, with the same place. It is over when the
 * recording is submitted or released; the views may be released after the call.
 *
 * Errors: TN_ERROR_NO_DESCRIPTORS, and those of tn_descriptor_table_create; TN_ERROR_OUT_OF_MEMORY for data.
 */
TN_API tn_Status TN_CALL tn_recording_descriptors(tn_Recording* recording, const tn_Bind* binds, size_t count,
    tn_Place* out);

/** Takes a descriptor set for this submission, with the place of a set. It is over when the recording is submitted or released;
 * the layout and the views may be released after the call.
 *
 * Errors: those of tn_descriptor_set_create; TN_ERROR_OUT_OF_MEMORY for data.
 */
TN_API tn_Status TN_CALL tn_recording_descriptor_set(tn_Recording* recording, tn_SetLayout* layout,
    const tn_Bind* binds, size_t count, tn_Place* out);

/** Copies constants to memory of the recording, with the set that shows their page: bind it with the offset as the dynamic
 * offset of vkCmdBindDescriptorSets. The constants of a page share one set. The layout has one binding,
 * TN_BINDING_DYNAMIC_CONSTANTS. On Direct3D 12, tn_recording_constants and a root descriptor do the same.
 *
 * Errors: TN_ERROR_DEVICE for another layout, and for more bytes than tn_DeviceProperties.constant_size;
 * TN_ERROR_OUT_OF_MEMORY, TN_ERROR_FOREIGN.
 */
TN_API tn_Status TN_CALL tn_recording_dynamic_constants(tn_Recording* recording, tn_SetLayout* layout, const void* data,
    size_t size, tn_Place* out);

/** Makes evictable resources resident for the submission of a recording: buffers, textures, and all that views, tables and sets
 * show. Needed where shaders reach them without tn_recording_use, as by an index. Those before an error count.
 *
 * Errors: TN_ERROR_FOREIGN; TN_ERROR_HANDLE for other handles.
 */
TN_API tn_Status TN_CALL tn_recording_make_resident(tn_Recording* recording, void* const* handles, size_t count);

/** Opens a recording on a queue, inside or outside of a frame. Objects released while it is open live until it is submitted
 * and complete, or released. A recording belongs to one thread at a time.
 *
 * Errors: TN_ERROR_DEVICE for a queue that the device does not have; TN_ERROR_SHUT_DOWN, TN_ERROR_DEVICE_LOST,
 * TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_recording_begin(tn_Gpu* gpu, tn_Queue queue, tn_Str name, tn_Recording** out);

/** Submits a recording, after pending uploads. done may be null. The handle is over, whatever is returned, except for
 * TN_ERROR_HANDLE, TN_ERROR_BUSY, TN_ERROR_POINTER, TN_ERROR_CALLBACK and TN_ERROR_PANIC.
 *
 * Errors: TN_ERROR_QUERY, TN_ERROR_OUT_OF_MEMORY, TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_recording_submit(tn_Recording* recording, tn_SyncPoint* done);

/** Makes the submission of the recording wait on the GPU for a sync point.
 *
 * Errors: TN_ERROR_NEVER_SUBMITTED, TN_ERROR_FOREIGN.
 */
TN_API tn_Status TN_CALL tn_recording_wait_for(tn_Recording* recording, const tn_SyncPoint* point);

/** The VkCommandBuffer or ID3D12GraphicsCommandList of a recording, with the barriers for the uses so far recorded: ask for it after the uses, before the
 * commands that need them. The simulated device has a number.
 */
TN_API tn_Status TN_CALL tn_recording_native(tn_Recording* recording, tn_Native* out);

/** Says how the next commands use some resources: barriers follow from that. Those before an error count.
 *
 * Errors: TN_ERROR_STATE for a state that the usage or the queue does not allow; TN_ERROR_FIXED_STATE,
 * TN_ERROR_FOREIGN, TN_ERROR_ENUM; TN_ERROR_HANDLE for other handles.
 */
TN_API tn_Status TN_CALL tn_recording_use(tn_Recording* recording, const tn_Use* uses, size_t count);

/** Says that the contents of a texture, or of one subresource, are not needed any more: the next use may overwrite them.
 *
 * Errors: as tn_recording_use.
 */
TN_API tn_Status TN_CALL tn_recording_discard(tn_Recording* recording, tn_Texture* texture, uint32_t subresource);

/** Records copies, with their barriers. Those before an error count.
 *
 * Errors: TN_ERROR_OUT_OF_RANGE, TN_ERROR_STATE, TN_ERROR_DEVICE, TN_ERROR_FOREIGN, TN_ERROR_ENUM; TN_ERROR_HANDLE
 * for other handles.
 */
TN_API tn_Status TN_CALL tn_recording_copy(tn_Recording* recording, const tn_Copy* copies, size_t count);

/** Fills the mips of a texture behind the first one, each from the one before, with a linear filter, barriers included: of a
 * layer, or of all with TN_ALL. The texture needs TN_USAGE_COPY_SRC and TN_USAGE_COPY_DST. Not on Direct3D 12, where a
 * compute pass does it: ask tn_gpu_generates_mips.
 *
 * Errors: TN_ERROR_DEVICE for a format or a queue that cannot do it; those of tn_recording_use.
 */
TN_API tn_Status TN_CALL tn_recording_generate_mips(tn_Recording* recording, tn_Texture* texture, uint32_t layer);

/** Copies constants to memory of the recording, aligned for constants. The place is over when the recording is submitted or
 * released.
 *
 * Errors: TN_ERROR_OUT_OF_MEMORY; TN_ERROR_DEVICE for a size of 0, or more than a buffer can hold.
 */
TN_API tn_Status TN_CALL tn_recording_constants(tn_Recording* recording, const void* data, size_t size, tn_Place* out);

/** Uploads bytes to a buffer, or texels to a texture. They are copied before the call returns; uploads are batched, and
 * submitted before the next recording. out may be null. Later commands see them without any wait.
 *
 * Errors: TN_ERROR_OUT_OF_RANGE, TN_ERROR_STATE, TN_ERROR_FIXED_STATE, TN_ERROR_OUT_OF_MEMORY, TN_ERROR_FOREIGN,
 * TN_ERROR_TIMEOUT, TN_ERROR_WRONG_LENGTH; TN_ERROR_HANDLE for other handles.
 */
TN_API tn_Status TN_CALL tn_upload(tn_Gpu* gpu, const tn_Part* part, const tn_Texels* data, tn_Upload** out);

/** Submits the pending uploads. done may be null: the sync point that covers all uploads so far.
 *
 * Errors: TN_ERROR_DEVICE_LOST, TN_ERROR_OUT_OF_MEMORY, TN_ERROR_SHUT_DOWN.
 */
TN_API tn_Status TN_CALL tn_gpu_flush_uploads(tn_Gpu* gpu, tn_SyncPoint* done);

/** Waits for an upload, which is submitted if it is pending; TN_NOT_READY where it is not complete within the timeout.
 *
 * Errors: TN_ERROR_FOREIGN, TN_ERROR_DEVICE_LOST, and the upload's own.
 */
TN_API tn_Status TN_CALL tn_upload_wait(tn_Gpu* gpu, tn_Upload* upload, uint64_t timeout_ns);

/** Copies bytes of a buffer, or texels of a texture, to memory for the CPU. on is a tn_Recording, in which the copy is
 * recorded, or a tn_Gpu, which submits it at once. Rows of texels follow each other without gaps.
 *
 * Errors: TN_ERROR_OUT_OF_RANGE, TN_ERROR_STATE, TN_ERROR_OUT_OF_MEMORY, TN_ERROR_FOREIGN; TN_ERROR_HANDLE for other
 * handles.
 */
TN_API tn_Status TN_CALL tn_read_back(void* on, const tn_Part* part, tn_Readback** out);

/** The size of a readback in bytes; 0 for an invalid handle. */
TN_API uint64_t TN_CALL tn_readback_size(tn_Readback* readback);

/** Waits for a readback and writes its bytes to out; TN_NOT_READY where it is not complete within the timeout. A timeout of
 * 0 polls. It can be read again.
 *
 * Errors: TN_ERROR_WRONG_LENGTH unless size is tn_readback_size; TN_ERROR_DISCARDED where its recording was released
 * and not submitted; TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_readback_wait(tn_Readback* readback, uint64_t timeout_ns, void* out, size_t size);

/** The measured property. */
typedef uint32_t tn_QueryKind;
enum {
    /** The GPU time of a scope. */
    TN_QUERY_GPU_TIME = 0,
    /** The number of samples that pass the depth and stencil tests. */
    TN_QUERY_OCCLUSION = 1,
    /** Whether any samples pass them: cheaper on some GPUs, and on every graphics queue. */
    TN_QUERY_BINARY_OCCLUSION = 2,
    /** The work of each stage of the pipeline. */
    TN_QUERY_PIPELINE_STATISTICS = 3
};

/** A query or scope that has begun in a recording. A plain value. */
typedef struct tn_OpenQuery {
    /** The recording, and the query in it; tenure's own. */
    uint64_t numbers[2];
    /** TN_QUERY_.... */
    tn_QueryKind kind;
    /** 0. */
    uint32_t reserved;
} tn_OpenQuery;

/** The result of a query. The counts of stages are those of pipeline statistics, 0 for other kinds. GPUs count differently: some
 * count skipped work, or batches of invocations.
 */
typedef struct tn_QueryResult {
    /** sizeof(tn_QueryResult), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Ticks of the queue's clock, from an arbitrary origin; samples; 0 or 1; bytes of a compacted structure. See tn_query_between for times. */
    uint64_t value;
    /** Vertices read. */
    uint64_t vertices;
    /** Primitives read. */
    uint64_t primitives;
    /** Invocations of vertex shaders. */
    uint64_t vertex_invocations;
    /** Invocations of geometry shaders. */
    uint64_t geometry_invocations;
    /** Primitives out of geometry shaders. */
    uint64_t geometry_primitives;
    /** Primitives into clipping. */
    uint64_t clipping_invocations;
    /** Primitives out of clipping. */
    uint64_t clipping_primitives;
    /** Invocations of pixel shaders. */
    uint64_t pixel_invocations;
    /** Invocations of hull shaders; on Vulkan patches of tessellation control shaders. */
    uint64_t hull_invocations;
    /** Invocations of domain shaders. */
    uint64_t domain_invocations;
    /** Invocations of compute shaders. */
    uint64_t compute_invocations;
} tn_QueryResult;

/** The GPU time of a scope. */
typedef struct tn_GpuTime {
    /** The name of the scope, valid for the call. */
    tn_Str name;
    /** The frame in which the scope began; 0 before the first frame. */
    uint64_t frame;
    /** Nanoseconds. */
    uint64_t nanoseconds;
    /** The number of the queue: n of TN_QUEUE_FIRST + n. */
    uint32_t queue;
    /** Enclosing scopes of the same recording. */
    uint32_t depth;
} tn_GpuTime;

/** Takes a GPU time, inside tn_gpu_times. Must not unwind. May release handles, except a tn_Gpu and a tn_Swapchain; other
 * functions return TN_ERROR_CALLBACK.
 */
typedef void(TN_CALL* tn_GpuTimeFn)(void* user, tn_GpuTime time);

/** Writes the time at which the GPU has finished all commands before this one. The result is available when the submission is
 * complete.
 *
 * Errors: TN_ERROR_DEVICE on a queue without timestamps; TN_ERROR_OUT_OF_MEMORY, TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_recording_write_timestamp(tn_Recording* recording, tn_Query** out);

/** Begins a query of the commands up to tn_recording_end_query, which must follow: a recording with an open query cannot be
 * submitted. One query of samples and one of statistics may be open.
 *
 * TN_QUERY_GPU_TIME measures a scope with a name, which other kinds leave empty. Scopes nest, and end with their recording at
 * the latest. On a queue without timestamps nothing is measured.
 *
 * Errors: TN_ERROR_QUERY while a query of this kind is open; TN_ERROR_DEVICE on a queue without such queries;
 * TN_ERROR_ARGUMENT for a name of another kind; TN_ERROR_OUT_OF_MEMORY, TN_ERROR_ENUM, TN_ERROR_TEXT.
 */
TN_API tn_Status TN_CALL tn_recording_begin_query(tn_Recording* recording, tn_QueryKind kind, tn_Str name,
    tn_OpenQuery* out);

/** Ends a query. Its result is available when the submission is complete. Of a scope, whose time arrives in tn_gpu_times, out is
 * null.
 *
 * Errors: TN_ERROR_QUERY for a query of another recording, and for one that has ended; TN_ERROR_POINTER for the wrong out;
 * TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_recording_end_query(tn_Recording* recording, const tn_OpenQuery* query, tn_Query** out);

/** Waits for the result of a query; TN_NOT_READY where it has not arrived within the timeout. A timeout of 0 polls. It can be
 * read again.
 *
 * Errors: TN_ERROR_DISCARDED where its recording was released and not submitted; TN_ERROR_STRUCT_SIZE,
 * TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_query_wait(tn_Query* query, uint64_t timeout_ns, tn_QueryResult* out);

/** The nanoseconds between two timestamps of one queue, also across a wrap-around of its clock; 0 where begin is the later one.
 * TN_NOT_READY where one has not arrived. Never blocks.
 *
 * Errors: TN_ERROR_QUERY for queries of other kinds, and timestamps of two queues; TN_ERROR_FOREIGN for those of two managers;
 * those of tn_query_wait.
 */
TN_API tn_Status TN_CALL tn_query_between(tn_Query* begin, tn_Query* end, uint64_t* nanoseconds);

/** Calls take for each GPU time that arrived at the end of the last frame, in programs without frames in the last
 * tn_gpu_reclaim: of the submissions that were first known to be complete then. Each time is that of one frame. Until the next
 * end of a frame, every call delivers the same times.
 *
 * Errors: TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_gpu_times(tn_Gpu* gpu, tn_GpuTimeFn take, void* user);
enum {
    /** Of tn_UploadRingDesc.flags: an allocation larger than the ring gets a buffer of its own, until its submission is complete. */
    TN_RING_DEDICATE = 1 << 0
};

/** An upload ring: one mapped buffer for data of one submission each, such as vertices of a frame. */
typedef struct tn_UploadRingDesc {
    /** sizeof(tn_UploadRingDesc). */
    uint32_t struct_size;
    /** TN_RING_.... */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes, a multiple of the device's alignments of constants and copies. */
    uint64_t size;
    /** TN_USAGE_... of its bytes, all read-only; 0: all read-only uses. */
    tn_Usage usage;
    /** TN_MEMORY_UPLOAD or TN_MEMORY_GPU_UPLOAD; 0: the former. */
    tn_Memory memory;
    /** The timeout of the waits of an allocation for the GPU, in nanoseconds; 0: 10 seconds. */
    uint64_t timeout_ns;
    /** The name in debuggers, messages and reports. */
    tn_Str name;
} tn_UploadRingDesc;

/** Bytes of an upload ring, for one recording. A plain value, which is over when the recording is submitted or
 * released, or the ring is released.
 */
typedef struct tn_RingSlice {
    /** The ring. */
    tn_UploadRing* ring;
    /** Buffer, offset, size, addresses for GPU and CPU. mapped is null on the simulated device, and in memory whose writes have to be
     * flushed: tn_recording_write_slice writes there, too.
     */
    tn_Place place;
    /** The recording, and the place in the ring; tenure's own. */
    uint64_t numbers[6];
} tn_RingSlice;

/** The bytes of an upload ring. */
typedef struct tn_UploadRingTotals {
    /** sizeof(tn_UploadRingTotals), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The size of the ring. */
    uint64_t capacity;
    /** Bytes in use, with padding and the bytes skipped at the end. */
    uint64_t used;
    /** The peak of used. */
    uint64_t peak_used;
    /** Allocations so far. */
    uint64_t allocations;
    /** Bytes of all allocations so far. */
    uint64_t bytes;
    /** Waits for the GPU so far. */
    uint64_t waits;
    /** Nanoseconds of these waits. */
    uint64_t waited_ns;
    /** Allocations that were too large for the ring and got a buffer of their own. */
    uint64_t dedicated;
} tn_UploadRingTotals;

/** Creates an upload ring. Its bytes are used again in the order of the frames that allocated them; nothing is freed individually.
 *
 * Errors: TN_ERROR_DEVICE for a size, usage or memory that a ring cannot have; TN_ERROR_OUT_OF_MEMORY, TN_ERROR_ENUM,
 * TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_upload_ring_create(tn_Gpu* gpu, const tn_UploadRingDesc* desc, tn_UploadRing** out);

/** Allocates bytes of a ring for a recording, at a multiple of alignment in the buffer. Waits while the GPU uses the oldest ones.
 *
 * Errors: TN_ERROR_TOO_LARGE for more than the ring holds, without TN_RING_DEDICATE; TN_ERROR_HELD_BY_RECORDING where an
 * open recording may use the oldest bytes, as no wait would end that: submit it, and call tn_upload_ring_close between the
 * recordings of a frame; TN_ERROR_TIMEOUT, TN_ERROR_OUT_OF_MEMORY, TN_ERROR_FOREIGN; TN_ERROR_DEVICE for a size of 0, and an alignment that is no power of two.
 */
TN_API tn_Status TN_CALL tn_upload_ring_allocate(tn_UploadRing* ring, tn_Recording* recording, uint64_t size,
    uint64_t alignment, tn_RingSlice* out);

/** Ends a frame of a ring, whose bytes become free together. The end of each frame does it, and tn_gpu_reclaim; call it between
 * recordings where one frame needs more than the ring holds.
 */
TN_API tn_Status TN_CALL tn_upload_ring_close(tn_UploadRing* ring);

/** The bytes of a ring.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_upload_ring_totals(tn_UploadRing* ring, tn_UploadRingTotals* out);

/** Copies bytes to a slice of this recording, also where its mapped address is null.
 *
 * Errors: TN_ERROR_OTHER_RECORDING for a slice of another recording; TN_ERROR_DEVICE for one with the handle of another ring;
 * TN_ERROR_OUT_OF_RANGE, TN_ERROR_FOREIGN.
 */
TN_API tn_Status TN_CALL tn_recording_write_slice(tn_Recording* recording, const tn_RingSlice* slice, uint64_t offset,
    const void* data, size_t size);

/** Records copies from a slice of this recording, with their barriers: src of each is unused, and src_offset counts from the first
 * byte of the slice. Those before an error count.
 *
 * Errors: as tn_recording_write_slice, and those of tn_recording_copy.
 */
TN_API tn_Status TN_CALL tn_recording_copy_slice(tn_Recording* recording, const tn_RingSlice* slice,
    const tn_Copy* copies, size_t count);

/** Takes scratch memory for a build of an acceleration structure, of the size that the API reports for the build. Builds of a
 * recording never share bytes, so that they need no barrier between them, until tn_recording_reuse_build_scratch. Places taken
 * before that call must not be used by builds recorded after it. The place is over when the recording is submitted or released.
 *
 * Errors: TN_ERROR_OUT_OF_MEMORY; TN_ERROR_DEVICE for a size of 0, or more than a buffer can hold.
 */
TN_API tn_Status TN_CALL tn_recording_build_scratch(tn_Recording* recording, uint64_t size, tn_Place* out);

/** Makes the later builds of a recording use the scratch memory of the earlier ones again, after a barrier, for many builds in
 * little memory. Places taken before this call must not be used by builds recorded after it.
 */
TN_API tn_Status TN_CALL tn_recording_reuse_build_scratch(tn_Recording* recording);

/** The level of an acceleration structure. */
typedef uint32_t tn_StructureKind;
enum {
    /** Of geometry (BLAS). */
    TN_STRUCTURE_BOTTOM = 0,
    /** Of instances (TLAS). */
    TN_STRUCTURE_TOP = 1
};

/** An acceleration structure. */
typedef struct tn_AccelerationStructureDesc {
    /** sizeof(tn_AccelerationStructureDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes: the size that the API reports for the build (vkGetAccelerationStructureBuildSizesKHR,
     * GetRaytracingAccelerationStructurePrebuildInfo), or a compacted size.
     */
    uint64_t size;
    /** TN_STRUCTURE_.... */
    tn_StructureKind kind;
    /** 0. */
    uint32_t reserved;
    /** The name in debuggers, messages and reports. */
    tn_Str name;
    /** A group in statistics. */
    tn_Str tag;
} tn_AccelerationStructureDesc;

/** Creates an acceleration structure. The program records its build, with tn_recording_build_scratch, after
 * tn_recording_use of all structures that the build writes or reads, in TN_STATE_ACCELERATION_STRUCTURE. tn_place has the
 * VkAccelerationStructureKHR, or the ID3D12Resource* with the offset, and the address. A structure of instances refers to
 * the others by address, and does not keep them; descriptor tables and sets keep theirs.
 *
 * Errors: TN_ERROR_DEVICE on a device without acceleration structures; TN_ERROR_OUT_OF_MEMORY, TN_ERROR_ENUM,
 * TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_acceleration_structure_create(tn_Gpu* gpu, const tn_AccelerationStructureDesc* desc,
    tn_AccelerationStructure** out);

/** Asks for the bytes that a structure needs when it is compacted, after its build, which has to allow compaction.
 *
 * Errors: TN_ERROR_FOREIGN, TN_ERROR_DEVICE, TN_ERROR_OUT_OF_MEMORY.
 */
TN_API tn_Status TN_CALL tn_recording_compacted_size(tn_Recording* recording, tn_AccelerationStructure* structure,
    tn_Query** out);

/** Creates a structure of a compacted size, with kind, name and tag of another one, and records its copy there. The other one can be
 * released after the call. size is the value of its query: tn_recording_compacted_size.
 *
 * Errors: TN_ERROR_ACCELERATION_STRUCTURE for more bytes than the other has; TN_ERROR_FOREIGN; those of
 * tn_acceleration_structure_create.
 */
TN_API tn_Status TN_CALL tn_recording_compact(tn_Recording* recording, tn_AccelerationStructure* structure,
    uint64_t size, tn_AccelerationStructure** out);

/** Records a copy between structures of one kind.
 *
 * Errors: TN_ERROR_ACCELERATION_STRUCTURE for different kinds, one structure twice, and a destination that is too small;
 * TN_ERROR_FOREIGN.
 */
TN_API tn_Status TN_CALL tn_recording_copy_structure(tn_Recording* recording, tn_AccelerationStructure* src,
    tn_AccelerationStructure* dst);

/** A box of tiles of one subresource. */
typedef struct tn_TileRegion {
    /** The number of the subresource; 0 for a buffer. The packed mips of a layer are those of the first of them. */
    uint32_t subresource;
    /** The first tile. */
    uint32_t origin[3];
    /** Tiles. */
    uint32_t extent[3];
    /** 0. */
    uint32_t reserved;
} tn_TileRegion;

/** A change of mappings. */
typedef uint32_t tn_TileAction;
enum {
    /** New memory, with undefined contents. */
    TN_TILES_MAP = 0,
    /** No memory. */
    TN_TILES_UNMAP = 1,
    /** The memory of tiles of another resource, which both share then. Both have tiles of the same size, in memory of the same types. */
    TN_TILES_SHARE = 2
};

/** A change of the memory behind tiles. */
typedef struct tn_TileUpdate {
    /** sizeof(tn_TileUpdate). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** TN_TILES_.... */
    tn_TileAction action;
    /** TN_QUEUE_..., in whose order the mappings change. */
    tn_Queue queue;
    /** The tiles. */
    tn_TileRegion region;
    /** With TN_TILES_SHARE: the other resource, and its tiles, in a box of the same shape. */
    tn_Reserved* source;
    /** Its tiles. */
    tn_TileRegion source_region;
    /** The uses to wait for, on other queues; null: none. */
    const tn_SyncPoint* after;
} tn_TileUpdate;

/** The tiles of a reserved resource. */
typedef struct tn_TileLayout {
    /** sizeof(tn_TileLayout), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes of a tile. */
    uint64_t tile_size;
    /** Texels of a tile; bytes of a buffer. */
    uint32_t tile_extent[3];
    /** Tiles of the subresource; 0 for packed mips. */
    uint32_t tiles[3];
    /** The first of the mips that are packed together in each layer. */
    uint32_t first_packed_mip;
    /** Tiles of the packed mips of a layer, in a row. */
    uint32_t packed_tiles;
    /** Tiles of all subresources with memory. */
    uint64_t mapped_tiles;
} tn_TileLayout;

/** A page allocator. */
typedef struct tn_PagesDesc {
    /** sizeof(tn_PagesDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes of a page, at least 1. A larger resource gets a page of its own. */
    uint64_t page_size;
    /** The name in messages and reports. */
    tn_Str name;
} tn_PagesDesc;

/** The pages of a page allocator. */
typedef struct tn_PageTotals {
    /** sizeof(tn_PageTotals), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Pages. */
    uint64_t pages;
    /** Bytes of the pages. */
    uint64_t page_bytes;
    /** Bytes allocated since each page was last empty. */
    uint64_t used;
    /** Resources, with released ones that the GPU uses. */
    uint64_t live;
} tn_PageTotals;

/** Creates a reserved (sparse) buffer, without memory: tn_reserved_update maps its tiles. Of the description it takes size, usage,
 * name and tag. Commands use it by tn_recording_use and tn_place, as a buffer.
 *
 * Errors: TN_ERROR_DEVICE on a device without reserved resources; TN_ERROR_ARGUMENT for other fields; TN_ERROR_ENUM,
 * TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_reserved_buffer_create(tn_Gpu* gpu, const tn_BufferDesc* desc, tn_Reserved** out);

/** Creates a reserved (sparse) texture, as tn_reserved_buffer_create. Of the description it takes all that describes texels, the
 * usage, name and tag.
 *
 * Errors: as tn_reserved_buffer_create.
 */
TN_API tn_Status TN_CALL tn_reserved_texture_create(tn_Gpu* gpu, const tn_TextureDesc* desc, tn_Reserved** out);

/** Changes the memory behind tiles, in the order of a queue's submissions, after all earlier changes. Memory that no tile needs
 * becomes free when the GPU has finished with it; the memory of the tiles that one call has mapped, together. done may be
 * null: the sync point of the change.
 *
 * Before the next use as a target, new tiles of targets are cleared, discarded or copied to. Tiles without memory read as zero
 * only on some devices.
 *
 * Errors: TN_ERROR_TILES for tiles that the resource does not have, and for boxes of different shapes; TN_ERROR_OUT_OF_MEMORY,
 * TN_ERROR_NEVER_SUBMITTED, TN_ERROR_FOREIGN, TN_ERROR_ENUM, TN_ERROR_DEVICE, TN_ERROR_DEVICE_LOST; TN_ERROR_ARGUMENT
 * for a source that the action does not take.
 */
TN_API tn_Status TN_CALL tn_reserved_update(tn_Reserved* reserved, const tn_TileUpdate* update, tn_SyncPoint* done);

/** The tiles of a reserved resource, of one subresource.
 *
 * Errors: TN_ERROR_OUT_OF_RANGE for a subresource that it does not have; TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_reserved_layout(tn_Reserved* reserved, uint32_t subresource, tn_TileLayout* out);

/** Creates a page allocator: it places resources one behind the other in pages, for resources that are created and released
 * together, such as those of a level. A page can be filled again when all its resources are released; its memory goes back to the
 * system when the tn_Pages is released, too.
 *
 * Errors: TN_ERROR_ARGUMENT for pages of 0 bytes; TN_ERROR_SHUT_DOWN, TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE, TN_ERROR_TEXT.
 */
TN_API tn_Status TN_CALL tn_pages_create(tn_Gpu* gpu, const tn_PagesDesc* desc, tn_Pages** out);

/** Creates a buffer in a page, without contents.
 *
 * Errors: as tn_buffer_create; TN_ERROR_ARGUMENT for flags, priority and data; TN_ERROR_STATE for a read-only buffer.
 */
TN_API tn_Status TN_CALL tn_pages_buffer_create(tn_Pages* pages, const tn_BufferDesc* desc, tn_Buffer** out);

/** Creates a texture in a page, without contents.
 *
 * Errors: as tn_pages_buffer_create.
 */
TN_API tn_Status TN_CALL tn_pages_texture_create(tn_Pages* pages, const tn_TextureDesc* desc, tn_Texture** out);

/** The pages of a page allocator, in time proportional to their number.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_pages_totals(tn_Pages* pages, tn_PageTotals* out);

/** A use of a resource by a pass. */
typedef struct tn_PassUse {
    /** The number of the resource. */
    uint32_t resource;
    /** TN_STATE_.... */
    tn_State state;
} tn_PassUse;
enum {
    /** Of tn_PassDesc.flags: the pass begins a recording, so that earlier passes of its queue are submitted before it. */
    TN_PASS_BEGINS_RECORDING = 1 << 0
};

/** A pass of a graph. */
typedef struct tn_PassDesc {
    /** sizeof(tn_PassDesc). */
    uint32_t struct_size;
    /** TN_PASS_.... */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** TN_QUEUE_.... */
    tn_Queue queue;
    /** 0. */
    uint32_t reserved;
    /** The uses. Of a resource with several uses, all states are reads, or the pass itself calls tn_recording_use. */
    const tn_PassUse* uses;
    /** Uses. */
    size_t use_count;
    /** The numbers of earlier passes that it runs after, beside those whose resources it uses. */
    const uint32_t* after;
    /** Passes. */
    size_t after_count;
    /** The name in debuggers, messages and reports. */
    tn_Str name;
} tn_PassDesc;

/** A pass while it is recorded. Its handles end with the call of the tn_PassFn, and no thread may use them when it returns. */
typedef struct tn_Pass {
    /** Its number. */
    uint32_t number;
    /** Resources of the graph. */
    uint32_t resource_count;
    /** The recording of the pass. The graph submits it. */
    tn_Recording* recording;
    /** By the number of the resource: the tn_Buffer or tn_Texture, in its declared state; null for a resource that the pass
     * does not use.
     */
    void* const* resources;
} tn_Pass;

/** Records a pass, on the thread of tn_frame_execute. Returns TN_OK, or a negative number, which ends the graph. Must not
 * unwind. May call all functions, except for the release of a tn_Gpu and the submission of the recording of the pass
 * (TN_ERROR_CALLBACK). The frame and the graph are in use (TN_ERROR_BUSY).
 */
typedef tn_Status(TN_CALL* tn_PassFn)(void* user, const tn_Pass* pass);

/** The memory of a graph. */
typedef struct tn_GraphPlan {
    /** sizeof(tn_GraphPlan), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes of all heaps together. */
    uint64_t peak;
    /** A lower bound of the peak of any plan of this graph, in bytes. */
    uint64_t lower_bound;
    /** Bytes of all resources if none shared memory. */
    uint64_t bytes_apart;
    /** Heaps. */
    uint32_t heaps;
    /** Recordings that the passes are divided into. */
    uint32_t recordings;
} tn_GraphPlan;

/** Acquires a buffer for some commands of this recording and later ones, with undefined contents, in memory that it shares with
 * earlier and later transient resources. tn_release gives its bytes to the next ones, also while views of it are left. No
 * other recording may use it until this one is submitted.
 *
 * Errors: TN_ERROR_OUT_OF_MEMORY, TN_ERROR_DEVICE; TN_ERROR_TRANSIENT for memory that the CPU can access, or data.
 */
TN_API tn_Status TN_CALL tn_recording_transient_buffer(tn_Recording* recording, const tn_BufferDesc* desc,
    tn_Buffer** out);

/** Acquires a texture, as tn_recording_transient_buffer. Its first use must clear or write all of it.
 *
 * Errors: as tn_recording_transient_buffer.
 */
TN_API tn_Status TN_CALL tn_recording_transient_texture(tn_Recording* recording, const tn_TextureDesc* desc,
    tn_Texture** out);

/** Creates an empty graph: the passes of a frame in a valid order, and the transient resources that they share memory for. It
 * belongs to no manager, and to one thread at a time. Declare it anew each frame: equal graphs have one plan.
 *
 * Errors: TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_graph_create(tn_Graph** out);

/** Removes all declarations, and keeps the allocated memory for the next ones. */
TN_API tn_Status TN_CALL tn_graph_clear(tn_Graph* graph);

/** Declares a buffer. Its number counts buffers and textures from 0.
 *
 * Errors: TN_ERROR_TRANSIENT for data; TN_ERROR_ENUM, TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_graph_buffer(tn_Graph* graph, const tn_BufferDesc* desc, uint32_t* number);

/** Declares a texture, as tn_graph_buffer. The first pass that uses it must clear or write all of it.
 *
 * Errors: as tn_graph_buffer.
 */
TN_API tn_Status TN_CALL tn_graph_texture(tn_Graph* graph, const tn_TextureDesc* desc, uint32_t* number);

/** Declares the next pass. Its number, for which number may be null, counts passes from 0. Passes of one queue run in this
 * order; passes of different queues in parallel, unless one writes a resource that both use.
 *
 * Errors: TN_ERROR_GRAPH for a number that no resource or pass has; TN_ERROR_ENUM, TN_ERROR_POINTER,
 * TN_ERROR_STRUCT_SIZE. Other rules are checked when the graph is planned or executed.
 */
TN_API tn_Status TN_CALL tn_graph_pass(tn_Graph* graph, const tn_PassDesc* desc, uint32_t* number);

/** The memory that a graph takes. The plan is kept for equal graphs.
 *
 * Errors: TN_ERROR_GRAPH for an invalid graph; TN_ERROR_DEVICE for a description that the device does not support.
 */
TN_API tn_Status TN_CALL tn_gpu_plan_graph(tn_Gpu* gpu, tn_Graph* graph, tn_GraphPlan* out);

/** Records and submits the passes of a graph: calls record for each, with its recording and its resources in their declared
 * states, and without any pass after an error. Barriers, waits between queues and submissions follow from the declared uses.
 * done may be null: the sync point of all passes.
 *
 * Errors: as tn_gpu_plan_graph, TN_ERROR_OUT_OF_MEMORY, TN_ERROR_DEVICE_LOST, and what record returns. The current
 * recording is discarded then; earlier ones have been submitted.
 */
TN_API tn_Status TN_CALL tn_frame_execute(tn_Frame* frame, tn_Graph* graph, tn_PassFn record, void* user,
    tn_SyncPoint* done);

/** The order of images on the way to the screen. */
typedef uint32_t tn_PresentMode;
enum {
    /** In order, at the screen's rate. Every window has it. */
    TN_PRESENT_FIFO = 0,
    /** In order, at the screen's rate; a late image is shown at once, with tearing. */
    TN_PRESENT_FIFO_RELAXED = 1,
    /** The newest image, without tearing. */
    TN_PRESENT_MAILBOX = 2,
    /** At once, with tearing. */
    TN_PRESENT_IMMEDIATE = 3
};

/** The meaning of the values in an image for the screen. */
typedef uint32_t tn_ColorSpace;
enum {
    /** By the format: scRGB for TN_FORMAT_RGBA16_FLOAT, sRGB for all others. */
    TN_COLOR_SPACE_BY_FORMAT = 0,
    /** sRGB. */
    TN_COLOR_SPACE_SRGB = 1,
    /** scRGB: linear, beyond 0 to 1. */
    TN_COLOR_SPACE_EXTENDED_SRGB_LINEAR = 2,
    /** HDR10: primaries of BT.2020, curve of ST 2084. */
    TN_COLOR_SPACE_HDR10 = 3,
    /** Primaries of BT.2020, hybrid log-gamma. */
    TN_COLOR_SPACE_HLG = 4,
    /** Display P3. */
    TN_COLOR_SPACE_DISPLAY_P3 = 5
};

/** The format of images for a window. */
typedef struct tn_SurfaceFormat {
    /** TN_FORMAT_.... */
    tn_Format format;
    /** TN_COLOR_SPACE_.... */
    tn_ColorSpace color_space;
} tn_SurfaceFormat;

/** A swap chain. */
typedef struct tn_SwapchainDesc {
    /** sizeof(tn_SwapchainDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Pixels; 0 while the window is minimised. */
    uint32_t width;
    /** Pixels; 0 while the window is minimised. */
    uint32_t height;
    /** Preferred formats, the best first: the first that the window offers is used. */
    const tn_SurfaceFormat* formats;
    /** Formats. */
    size_t format_count;
    /** Preferred modes, the best first; TN_PRESENT_FIFO where the window offers none of them. */
    const tn_PresentMode* modes;
    /** Modes. */
    size_t mode_count;
    /** The format where the window offers none of formats; zeroed: an 8-bit sRGB format that it offers. */
    tn_SurfaceFormat format;
    /** The least number of images; 0: 3. */
    uint32_t images;
    /** Uses beside rendering and presenting, such as TN_USAGE_COPY_SRC. */
    tn_Usage usage;
    /** Images that may wait to be shown, 1 to 16; 0: the setting frames.in_flight. */
    uint32_t frame_latency;
    /** 0. */
    uint32_t reserved;
    /** The name in messages and reports. */
    tn_Str name;
} tn_SwapchainDesc;

/** A swap chain at this moment. */
typedef struct tn_SwapchainProperties {
    /** sizeof(tn_SwapchainProperties), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Pixels; 0 while the window is minimised. */
    uint32_t width;
    /** Pixels; 0 while the window is minimised. */
    uint32_t height;
    /** The format of the view of an image. */
    tn_Format format;
    /** TN_COLOR_SPACE_.... */
    tn_ColorSpace color_space;
    /** TN_PRESENT_.... */
    tn_PresentMode mode;
    /** Images. */
    uint32_t images;
    /** The images do not match the window any more: call tn_swapchain_resize. */
    tn_Bool is_outdated;
    /** The window is covered, so that the program may draw less often. Direct3D 12 alone reports it. */
    tn_Bool is_occluded;
    /** Bit n: images finished on queue n of the device can be presented. */
    uint32_t queues;
    /** 0. */
    uint32_t reserved;
} tn_SwapchainProperties;

/** The formats and modes that the window of a swap chain offers. */
typedef struct tn_SwapchainOffers {
    /** sizeof(tn_SwapchainOffers), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Formats with their colour spaces; valid until the next call for this swap chain, or its release. */
    const tn_SurfaceFormat* formats;
    /** Formats. */
    size_t format_count;
    /** Modes; valid as the formats. */
    const tn_PresentMode* modes;
    /** Modes. */
    size_t mode_count;
} tn_SwapchainOffers;

/** The screen that HDR images were mastered on, and their brightness. Luminances are in nits, chromaticities x and y of CIE 1931. */
typedef struct tn_HdrMetadata {
    /** x and y of red, green and blue; all zero: those of BT.2020. */
    float primaries[6];
    /** x and y of white; zero: that of sRGB and BT.2020. */
    float white_point[2];
    /** The darkest luminance, less than the brightest. */
    float min_luminance;
    /** The brightest luminance. */
    float max_luminance;
    /** The luminance of the brightest pixel of all images; 0: unknown. */
    float max_content_light;
    /** The average luminance of the brightest image; 0: unknown. */
    float max_frame_average_light;
} tn_HdrMetadata;

/** The image to draw to. Both handles belong to the swap chain, and end with its next tn_swapchain_acquire,
 * tn_swapchain_present or tn_swapchain_resize, and with its release.
 */
typedef struct tn_SwapchainImage {
    /** The image, with undefined contents. */
    tn_Texture* texture;
    /** The image as a render target, in the format of the swap chain. */
    tn_View* view;
    /** Its number in the swap chain. */
    uint32_t index;
    /** 0. */
    uint32_t reserved;
} tn_SwapchainImage;

/** Creates a swap chain of a simulated device, without a window. It is for one thread at a time, as all swap chains. Release it
 * before tn_gpu_shutdown.
 *
 * Errors: TN_ERROR_SWAPCHAIN for more images or another format than it offers; TN_ERROR_FOREIGN for a device of another
 * backend; TN_ERROR_ENUM, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_swapchain_create_sim(tn_Gpu* gpu, const tn_SwapchainDesc* desc, tn_Swapchain** out);

/** Acquires an image to draw to. TN_NOT_READY, with null handles: the window is minimised, or has changed so that nothing can
 * be shown. Waits for an image for a bounded time. An image that was not presented is handed out again, with its contents.
 *
 * Errors: TN_ERROR_TIMEOUT, TN_ERROR_SWAPCHAIN, TN_ERROR_DEVICE_LOST; after a change of the wishes as
 * tn_swapchain_resize.
 */
TN_API tn_Status TN_CALL tn_swapchain_acquire(tn_Swapchain* swapchain, tn_SwapchainImage* out);

/** Makes a recording wait until the acquired image is available: the first recording, in the order of submission, that uses it.
 * The whole recording waits: in a graph let the pass have TN_PASS_BEGINS_RECORDING.
 *
 * Errors: TN_ERROR_SWAPCHAIN without an image; TN_ERROR_FOREIGN.
 */
TN_API tn_Status TN_CALL tn_swapchain_begin(tn_Swapchain* swapchain, tn_Recording* recording);

/** Leaves the acquired image as the window needs it, in the last recording that uses it. Begins with it, too, if no recording
 * has.
 *
 * Errors: as tn_swapchain_begin; TN_ERROR_SWAPCHAIN for a second time, and while the recording that began with it is open on another
 * queue.
 */
TN_API tn_Status TN_CALL tn_swapchain_finish(tn_Swapchain* swapchain, tn_Recording* recording);

/** Presents the acquired image, after the submission of the recording that finished it. Its handles end in any case; an image
 * that could not be presented is handed out again.
 *
 * Errors: TN_ERROR_SWAPCHAIN without an image, and for one that is not finished; TN_ERROR_DEVICE, TN_ERROR_DEVICE_LOST.
 */
TN_API tn_Status TN_CALL tn_swapchain_present(tn_Swapchain* swapchain);

/** Resizes the images to the window; with a 0 the window is minimised. Costs nothing when nothing has changed.
 *
 * Errors: TN_ERROR_SWAPCHAIN while views or open recordings of the program use an image, and for a window that is gone;
 * TN_ERROR_TIMEOUT, TN_ERROR_DEVICE.
 */
TN_API tn_Status TN_CALL tn_swapchain_resize(tn_Swapchain* swapchain, uint32_t width, uint32_t height);

/** Size, format and mode of a swap chain, and whether it matches its window.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_swapchain_properties(tn_Swapchain* swapchain, tn_SwapchainProperties* out);

/** The formats and modes that the window offers now. Asks the system.
 *
 * Errors: TN_ERROR_SWAPCHAIN for a window that is gone; TN_ERROR_DEVICE, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_swapchain_offers(tn_Swapchain* swapchain, tn_SwapchainOffers* out);

/** Replaces the preferred formats. The next tn_swapchain_acquire chooses again, and makes new images if that is another format
 * or colour space.
 *
 * Errors: TN_ERROR_ENUM, TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_swapchain_set_formats(tn_Swapchain* swapchain, const tn_SurfaceFormat* formats,
    size_t count);

/** Replaces the preferred modes, from the next image on.
 *
 * Errors: TN_ERROR_ENUM, TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_swapchain_set_modes(tn_Swapchain* swapchain, const tn_PresentMode* modes, size_t count);

/** Describes the images to the screen, for TN_COLOR_SPACE_HDR10, until the next call.
 *
 * Errors: TN_ERROR_DEVICE for values out of range, and on a device without HDR metadata.
 */
TN_API tn_Status TN_CALL tn_swapchain_set_hdr_metadata(tn_Swapchain* swapchain, const tn_HdrMetadata* metadata);
enum {
    /** Of tn_PlanItem.has: previous counts. */
    TN_PLAN_PREVIOUS = 1 << 0,
    /** Of tn_PlanItem.has: pinned counts. */
    TN_PLAN_PINNED = 1 << 1
};

/** An item to place. Two items may share bytes if their lifetimes do not overlap, or if their classes differ. */
typedef struct tn_PlanItem {
    /** The time of its first use, such as the number of a pass. */
    uint64_t first;
    /** The first time at which it is not used any more; later than first. */
    uint64_t end;
    /** Bytes. An item of 0 bytes shares with every other. */
    uint64_t size;
    /** A power of two; 0: 1. */
    uint64_t alignment;
    /** Its offset in the previous plan, with TN_PLAN_PREVIOUS. */
    uint64_t previous;
    /** The offset that it must have, with TN_PLAN_PINNED. */
    uint64_t pinned;
    /** The memory that it needs: each class has its own offsets, from 0. */
    uint32_t memory_class;
    /** TN_PLAN_PREVIOUS, TN_PLAN_PINNED. */
    uint32_t has;
} tn_PlanItem;
enum {
    /** Of tn_PlanDesc.flags: only the first pass, which takes some microseconds for a frame. */
    TN_PLAN_QUICK = 1 << 0,
    /** Of tn_PlanDesc.flags: items keep their previous offsets where that costs no more than stability allows. */
    TN_PLAN_STABLE = 1 << 1
};

/** The goal and the budget of a plan. */
typedef struct tn_PlanDesc {
    /** sizeof(tn_PlanDesc). */
    uint32_t struct_size;
    /** TN_PLAN_QUICK, TN_PLAN_STABLE. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The sufficient peak in bytes, over all classes; 0: as low as possible. */
    uint64_t capacity;
    /** The most placements to try after the first pass; 0: 500,000, or no limit with time_ns. */
    uint64_t nodes;
    /** Nanoseconds that the call should take at most; 0: no limit, and the same plan on every machine. */
    uint64_t time_ns;
    /** The seed of random choices. */
    uint64_t seed;
    /** Threads, up to 64; 0: 1. The call starts the others, and ends them. */
    uint32_t threads;
    /** With TN_PLAN_STABLE: thousandths by which the peak may rise. */
    uint32_t stability;
} tn_PlanDesc;

/** The quality of a plan. */
typedef struct tn_PlanResult {
    /** sizeof(tn_PlanResult), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The highest end of an item in bytes, summed over all classes. */
    uint64_t peak;
    /** A lower bound of the peak of any plan. */
    uint64_t lower_bound;
    /** Items that are not at their previous offset. */
    uint64_t moved;
    /** The placements that were tried after the first pass. */
    uint64_t nodes;
    /** No plan has a lower peak. */
    tn_Bool is_proven;
    /** 0. */
    uint32_t reserved;
} tn_PlanResult;

/** Places items with the lowest peak that is found within the budget: writes an offset for each. Every plan is valid. desc may
 * be null for the defaults, out where its numbers are not needed.
 *
 * Errors: TN_ERROR_ARGUMENT for an item that cannot be planned: the text has its index. Nothing is written then.
 */
TN_API tn_Status TN_CALL tn_plan(const tn_PlanItem* items, size_t count, const tn_PlanDesc* desc, uint64_t* offsets,
    tn_PlanResult* out);

/** Checks that offsets, one for each item, are a valid plan: aligned, at the pinned offsets, without items that share bytes while
 * both live. Shares no code with tn_plan. peak may be null.
 *
 * Errors: TN_ERROR_ARGUMENT with the first fault.
 */
TN_API tn_Status TN_CALL tn_plan_check(const tn_PlanItem* items, size_t count, const uint64_t* offsets, uint64_t* peak);

/** The algorithm of a suballocator. */
typedef uint32_t tn_SuballocatorKind;
enum {
    /** Any sizes, in constant time. */
    TN_SUBALLOCATOR_GENERAL = 0,
    /** Sizes that are powers of two; others are rounded up. */
    TN_SUBALLOCATOR_BUDDY = 1,
    /** Rows of indices, such as descriptors: exactly the size, with the alignment 1. */
    TN_SUBALLOCATOR_SLOTS = 2,
    /** Ranges that are freed in the order of their frames, by tn_suballocator_close and tn_suballocator_release_up_to. */
    TN_SUBALLOCATOR_RING = 3
};

/** A suballocator of the offsets from 0 to capacity. */
typedef struct tn_SuballocatorDesc {
    /** sizeof(tn_SuballocatorDesc). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes; indices of TN_SUBALLOCATOR_SLOTS. */
    uint64_t capacity;
    /** The unit in bytes, a power of two. 0: 1, or 256 for TN_SUBALLOCATOR_BUDDY. For these two kinds alone. */
    uint64_t granule;
    /** TN_SUBALLOCATOR_.... */
    tn_SuballocatorKind kind;
    /** 0. */
    uint32_t reserved;
} tn_SuballocatorDesc;

/** A range that was allocated. A plain value: copy it as you like. */
typedef struct tn_Range {
    /** The first byte, a multiple of the alignment. */
    uint64_t offset;
    /** The bytes that can be used: at least the requested ones. */
    uint64_t size;
    /** Bytes before offset that it takes as well. */
    uint64_t padding;
    /** Its identity; tenure's own. Zero for the ranges of a ring. */
    uint64_t handle[2];
} tn_Range;

/** The state of a suballocator, in bytes, or in indices of TN_SUBALLOCATOR_SLOTS. */
typedef struct tn_SuballocatorTotals {
    /** sizeof(tn_SuballocatorTotals), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** All that is managed; of TN_SUBALLOCATOR_BUDDY, whole blocks. */
    uint64_t capacity;
    /** Free, in all. */
    uint64_t free;
    /** The largest free range. */
    uint64_t largest_free;
} tn_SuballocatorTotals;

/** Creates a suballocator. It is for one thread at a time.
 *
 * Errors: TN_ERROR_CONFIG for a capacity or granule that its kind cannot have, TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_suballocator_create(const tn_SuballocatorDesc* desc, tn_Suballocator** out);

/** Allocates a range. The program keeps it for tn_suballocator_free, except for a ring's.
 *
 * Errors: TN_ERROR_OUT_OF_MEMORY where no free range fits now; TN_ERROR_TOO_LARGE where none ever does; TN_ERROR_ARGUMENT
 * for a size of 0 or an alignment that is no power of two; TN_ERROR_BUSY. Nothing was changed then.
 */
TN_API tn_Status TN_CALL tn_suballocator_allocate(tn_Suballocator* suballocator, uint64_t size, uint64_t alignment,
    tn_Range* out);

/** Frees a range: its handle alone counts.
 *
 * Errors: TN_ERROR_HANDLE for a range that was freed before; TN_ERROR_FOREIGN for one of another suballocator, or of none;
 * TN_ERROR_ARGUMENT for a ring; TN_ERROR_BUSY. Nothing was changed then.
 */
TN_API tn_Status TN_CALL tn_suballocator_free(tn_Suballocator* suballocator, const tn_Range* range);

/** Frees all ranges; those that were allocated before are refused from then on.
 *
 * Errors: TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_suballocator_clear(tn_Suballocator* suballocator);

/** Capacity, free bytes, and the largest free range. Quick.
 *
 * Errors: TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_suballocator_totals(tn_Suballocator* suballocator, tn_SuballocatorTotals* out);

/** Of a ring: the ranges that were allocated since the last call are freed together, by tn_suballocator_release_up_to with this
 * mark or a higher one. Marks rise: the number of a frame, the value of a fence.
 *
 * Errors: TN_ERROR_ARGUMENT for other kinds; TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_suballocator_close(tn_Suballocator* suballocator, uint64_t mark);

/** Of a ring: frees the ranges that were closed with marks up to this one, from the oldest on.
 *
 * Errors: TN_ERROR_ARGUMENT for other kinds; TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_suballocator_release_up_to(tn_Suballocator* suballocator, uint64_t mark);

/** Submits work of the program, and has the queue's fence signal serial when it is complete. Called once, inside
 * tn_release_queue_submit. Returns TN_OK, or a negative number of its own where nothing was submitted. Must not unwind. May
 * release handles, except a tn_Gpu and a tn_Swapchain; other functions return TN_ERROR_CALLBACK.
 */
typedef tn_Status(TN_CALL* tn_SerialFn)(void* user, uint64_t serial);

/** The state of a release queue. */
typedef struct tn_ReleaseTotals {
    /** sizeof(tn_ReleaseTotals), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Objects that wait. */
    uint64_t pending;
    /** Their bytes. */
    uint64_t pending_bytes;
    /** Submissions that are not known to be complete, on all queues. */
    uint64_t incomplete;
    /** Open recordings. */
    uint64_t open_recordings;
} tn_ReleaseTotals;

/** Creates a release queue for a program with its own submissions, on 1 to 8 queues of the GPU, whose fences count from 0. Its
 * functions may be called from any thread. tn_release of its handle destroys all objects that are left, at once: wait for the
 * GPU before that.
 *
 * Errors: TN_ERROR_ARGUMENT.
 */
TN_API tn_Status TN_CALL tn_release_queue_create(uint32_t queues, tn_ReleaseQueue** out);

/** Opens a recording: objects that are pushed from now on wait until it is closed, too. The number is for
 * tn_release_queue_close.
 *
 * Errors: TN_ERROR_TEXT.
 */
TN_API tn_Status TN_CALL tn_release_queue_open(tn_ReleaseQueue* queue, tn_Str name, uint64_t* recording);

/** Closes a recording: after its submission, or where it is discarded.
 *
 * Errors: TN_ERROR_HANDLE for a recording that is not open.
 */
TN_API tn_Status TN_CALL tn_release_queue_close(tn_ReleaseQueue* queue, uint64_t recording);

/** Calls submit with the next serial of a queue, which counts from 1. done, which may be null, is its sync point. Other
 * submissions to the same queue wait until submit returns.
 *
 * Errors: TN_ERROR_ARGUMENT for a queue that does not exist; TN_ERROR_POINTER; and what submit returns: the next call gets
 * the serial then.
 */
TN_API tn_Status TN_CALL tn_release_queue_submit(tn_ReleaseQueue* queue, uint32_t index, tn_SerialFn submit, void* user,
    tn_SyncPoint* done);

/** Tells that a queue has completed all submissions up to this serial: the value of its fence. Lower ones are ignored.
 *
 * Errors: TN_ERROR_NEVER_SUBMITTED for a serial that no submission has; TN_ERROR_ARGUMENT for a queue that does not exist.
 */
TN_API tn_Status TN_CALL tn_release_queue_complete(tn_ReleaseQueue* queue, uint32_t index, uint64_t serial);

/** Has destroy called with an object, once, by a later tn_release_queue_reclaim. Null for point: after the recordings that
 * are open now, and all submissions until these are closed. Otherwise after this sync point, which must cover all uses. bytes
 * is the memory of the object, for tn_release_queue_totals.
 *
 * Errors: TN_ERROR_NEVER_SUBMITTED, TN_ERROR_FOREIGN, TN_ERROR_POINTER, TN_ERROR_ARGUMENT. Then the object is still the
 * caller's.
 */
TN_API tn_Status TN_CALL tn_release_queue_push(tn_ReleaseQueue* queue, const tn_SyncPoint* point, tn_DestroyFn destroy,
    void* user, void* object, uint64_t bytes);

/** Destroys the objects that nothing can use any more, by what tn_release_queue_complete has told. */
TN_API tn_Status TN_CALL tn_release_queue_reclaim(tn_ReleaseQueue* queue);

/** Counts of a release queue. Quick. */
TN_API tn_Status TN_CALL tn_release_queue_totals(tn_ReleaseQueue* queue, tn_ReleaseTotals* out);

/** The properties of a memory type. Bits: those of VkMemoryPropertyFlags. */
typedef uint32_t tn_MemoryFlags;
enum {
    /** Fast for the GPU. */
    TN_MEMORY_DEVICE_LOCAL = 1 << 0,
    /** The CPU can map it. */
    TN_MEMORY_HOST_VISIBLE = 1 << 1,
    /** Needs no flush. */
    TN_MEMORY_HOST_COHERENT = 1 << 2,
    /** The CPU reads it quickly. */
    TN_MEMORY_HOST_CACHED = 1 << 3,
    /** Tile memory. */
    TN_MEMORY_LAZILY_ALLOCATED = 1 << 4,
    /** Memory for special purposes; so are those with a higher bit. */
    TN_MEMORY_SPECIAL = 1 << 5
};

/** A memory type. */
typedef struct tn_MemoryType {
    /** TN_MEMORY_DEVICE_LOCAL, ... */
    tn_MemoryFlags flags;
    /** The index of its heap. */
    uint32_t heap;
} tn_MemoryType;

/** A physical memory. */
typedef struct tn_MemoryHeap {
    /** Bytes. */
    uint64_t size;
    /** It is local to the GPU. */
    tn_Bool is_device_local;
    /** 0. */
    uint32_t reserved;
} tn_MemoryHeap;

/** The kinds of resources in a heap. Ranges of different categories never share one. */
typedef uint32_t tn_HeapCategory;
enum {
    /** All. */
    TN_HEAP_ANY = 0,
    /** Buffers and linear images. */
    TN_HEAP_BUFFERS = 1,
    /** Render targets and depth-stencil targets. */
    TN_HEAP_TARGETS = 2,
    /** Other textures, and optimal images. */
    TN_HEAP_TEXTURES = 3
};

/** A heap to allocate from the driver. */
typedef struct tn_HeapDesc {
    /** Bytes. */
    uint64_t size;
    /** Bytes, a power of two. */
    uint64_t alignment;
    /** tn_MemoryRequest.resource of a dedicated heap; otherwise null. */
    void* resource;
    /** The index of the memory type. */
    uint32_t memory_type;
    /** TN_HEAP_.... */
    tn_HeapCategory category;
} tn_HeapDesc;

/** Allocates a heap, and writes it to heap. Returns TN_OK; TN_ERROR_OUT_OF_MEMORY, after which smaller heaps and other memory
 * are tried; or a negative number of its own, with which the call fails. Must not unwind. May release handles, except a tn_Gpu;
 * other functions return TN_ERROR_CALLBACK.
 */
typedef tn_Status(TN_CALL* tn_CreateHeapFn)(void* user, tn_HeapDesc desc, tn_Native* heap);

/** Frees a heap. As tn_CreateHeapFn. */
typedef void(TN_CALL* tn_DestroyHeapFn)(void* user, tn_Native heap);

/** Writes the budget and the usage of a memory heap, in bytes; both are 0 before the call, for unknown. As tn_CreateHeapFn. */
typedef void(TN_CALL* tn_HeapBudgetFn)(void* user, uint32_t heap, uint64_t* budget, uint64_t* usage);
enum {
    /** Of tn_HeapPoolsDesc.flags: tn_heap_pools_compact can move ranges, at 8 bytes for each. */
    TN_HEAP_POOLS_COMPACT = 1 << 0,
    /** Of tn_HeapPoolsDesc.flags: heaps are freed as soon as they are empty. */
    TN_HEAP_POOLS_KEEP_NONE = 1 << 1
};

/** Pools of heaps. */
typedef struct tn_HeapPoolsDesc {
    /** sizeof(tn_HeapPoolsDesc). */
    uint32_t struct_size;
    /** TN_HEAP_POOLS_.... */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Allocates a heap. */
    tn_CreateHeapFn create_heap;
    /** Frees a heap. */
    tn_DestroyHeapFn destroy_heap;
    /** Null: budgets are unknown. */
    tn_HeapBudgetFn budget;
    /** Passed to the three functions. */
    void* user;
    /** The memory types, 1 to 32. */
    const tn_MemoryType* memory_types;
    /** Memory types. */
    size_t memory_type_count;
    /** The memories that the types are in. */
    const tn_MemoryHeap* memory_heaps;
    /** Memories. */
    size_t memory_heap_count;
    /** The size of heaps is rounded up to this, a power of two; 0: 64 KiB. */
    uint64_t heap_alignment;
    /** The alignment of heaps for multisampled textures; 0: 4 MiB. */
    uint64_t msaa_heap_alignment;
    /** Flushes of memory that is not coherent are rounded to this, a power of two; 0: 1. */
    uint64_t non_coherent_atom;
    /** The most heaps at once; 0: no limit. */
    uint64_t max_heaps;
    /** The largest heap; 0: no limit. */
    uint64_t max_heap_size;
    /** The first block of memory that the CPU does not see; 0: 1 MiB. */
    uint64_t device_block_min;
    /** The largest block there; 0: 64 MiB. */
    uint64_t device_block_max;
    /** The first block of memory that the CPU can map; 0: 1 MiB. */
    uint64_t host_block_min;
    /** The largest block there; 0: 32 MiB. */
    uint64_t host_block_max;
    /** The granularity of ranges, a power of two; 0: 16. */
    uint64_t granule;
    /** A pool grows by its capacity divided by this; 0: 16. */
    uint64_t growth_divisor;
    /** Empty heaps that a pool keeps; 0: 1. */
    uint32_t empty_blocks;
    /** 0. */
    uint32_t reserved;
} tn_HeapPoolsDesc;

/** Where a request may go when its memory is short. */
typedef uint32_t tn_Spill;
enum {
    /** To other memory after the driver has refused. */
    TN_SPILL_AFTER_REFUSAL = 0,
    /** To other memory before the budget is exceeded. */
    TN_SPILL_BEFORE_BUDGET = 1,
    /** Nowhere: it fails. */
    TN_SPILL_NEVER = 2,
    /** Of tn_MemoryRequest.flags: a heap of its own. */
    TN_MEMORY_DEDICATED = 1 << 0,
    /** Of tn_MemoryRequest.flags: not beyond the budget. */
    TN_MEMORY_WITHIN_BUDGET = 1 << 1
};

/** A range of a heap to allocate. */
typedef struct tn_MemoryRequest {
    /** sizeof(tn_MemoryRequest). */
    uint32_t struct_size;
    /** TN_MEMORY_DEDICATED, TN_MEMORY_WITHIN_BUDGET. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes. */
    uint64_t size;
    /** A power of two; 0: 1. */
    uint64_t alignment;
    /** The indices of the memory types that will do, best first. */
    const uint32_t* memory_types;
    /** Memory types, 1 to 32. */
    size_t memory_type_count;
    /** With TN_MEMORY_DEDICATED: passed to create_heap. */
    void* resource;
    /** TN_HEAP_.... */
    tn_HeapCategory category;
    /** TN_SPILL_.... */
    tn_Spill spill;
    /** The name in messages. */
    tn_Str name;
} tn_MemoryRequest;

/** A range of a heap. A plain value: copy it as you like. */
typedef struct tn_MemoryRange {
    /** What create_heap has written. */
    tn_Native heap;
    /** The first byte in the heap. */
    uint64_t offset;
    /** Bytes. */
    uint64_t size;
    /** Its identity; tenure's own. */
    uint64_t id[3];
    /** The memory type that it was found in. */
    uint32_t memory_type;
    /** The heap has nothing else. */
    tn_Bool is_dedicated;
} tn_MemoryRange;

/** The state of pools. */
typedef struct tn_MemoryTotals {
    /** sizeof(tn_MemoryTotals), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes of all heaps. */
    uint64_t reserved_bytes;
    /** The most that they had. */
    uint64_t peak_reserved;
    /** Bytes of all ranges, as requested. */
    uint64_t requested;
    /** Ranges. */
    uint64_t allocations;
    /** Heaps. */
    uint64_t heaps;
    /** Heaps so far, with those that were freed. */
    uint64_t heaps_created;
    /** Bytes that went to other memory than the first choice, so far. */
    uint64_t spilled;
} tn_MemoryTotals;

/** The most that a call of tn_heap_pools_compact or tn_gpu_compact may do. */
typedef struct tn_CompactionBudget {
    /** Bytes to copy. */
    uint64_t bytes;
    /** Moves. */
    uint32_t moves;
    /** Ranges and holes to look at. */
    uint32_t pieces;
} tn_CompactionBudget;

/** A range that moves. */
typedef struct tn_MemoryMove {
    /** The old place: free it once the GPU does not use it any more. */
    tn_MemoryRange from;
    /** The new place, already allocated. */
    tn_MemoryRange to;
} tn_MemoryMove;

/** 1 for a range that may move; heap is 0 in it: find the range by its id. As tn_CreateHeapFn. */
typedef tn_Bool(TN_CALL* tn_IsMovableFn)(void* user, tn_MemoryRange range);

/** Creates pools of heaps, which the program allocates and frees when it is asked to. They are for one thread at a time.
 * tn_release of the handle frees all heaps.
 *
 * Errors: TN_ERROR_CONFIG for a number out of range, or memory types that contradict themselves; TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_heap_pools_create(const tn_HeapPoolsDesc* desc, tn_HeapPools** out);

/** Allocates a range: in a heap with others, in a new heap, or in one of its own. The program binds its resource there.
 *
 * Errors: TN_ERROR_OUT_OF_MEMORY, after all memory types; TN_ERROR_ARGUMENT for a size, alignment or memory type that nothing
 * serves; what create_heap returned; TN_ERROR_BUSY, TN_ERROR_ENUM, TN_ERROR_TEXT.
 */
TN_API tn_Status TN_CALL tn_heap_pools_allocate(tn_HeapPools* pools, const tn_MemoryRequest* request,
    tn_MemoryRange* out);

/** Frees a range: its id alone counts. The GPU must not use it any more.
 *
 * Errors: TN_ERROR_HANDLE for a range that was freed before; TN_ERROR_FOREIGN for one of other pools, or of none;
 * TN_ERROR_BUSY. Nothing was changed then.
 */
TN_API tn_Status TN_CALL tn_heap_pools_free(tn_HeapPools* pools, const tn_MemoryRange* range);

/** Counts of pools. Quick.
 *
 * Errors: TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_heap_pools_totals(tn_HeapPools* pools, tn_MemoryTotals* out);

/** Frees every empty heap.
 *
 * Errors: TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_heap_pools_trim(tn_HeapPools* pools);

/** Limits the memory that the pools take from a heap, in bytes; UINT64_MAX: no limit.
 *
 * Errors: TN_ERROR_ARGUMENT for a heap that does not exist; TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_heap_pools_set_cap(tn_HeapPools* pools, uint32_t heap, uint64_t bytes);

/** Continues to empty sparse heaps, within the budget: writes up to room moves, and their number to count. The program copies
 * each range to its new place, and frees from when the GPU does not use it any more; where it cannot, it frees to instead, and
 * calls tn_heap_pools_stop_compaction. is_movable is asked once for each range. TN_NOT_READY: call it again, such as once a
 * frame. Needs TN_HEAP_POOLS_COMPACT.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_BUSY; TN_ERROR_ARGUMENT without that flag.
 */
TN_API tn_Status TN_CALL tn_heap_pools_compact(tn_HeapPools* pools, const tn_CompactionBudget* budget,
    tn_IsMovableFn is_movable, void* user, tn_MemoryMove* moves, size_t room, size_t* count);

/** Stops emptying heaps: their free bytes can be allocated again. Moves that were handed out go on.
 *
 * Errors: TN_ERROR_BUSY.
 */
TN_API tn_Status TN_CALL tn_heap_pools_stop_compaction(tn_HeapPools* pools);
enum {
    /** Of flags of tn_gpu_record: also the names of resources, which may tell more about a program than sizes do. */
    TN_RECORD_NAMES = 1 << 0
};

/** Records allocations, releases, frames and submissions of a manager to a file, for the program tenure; best before anything
 * is created. A file that exists is replaced; a name that ends in .gz is compressed. Once for a manager. The recording is
 * complete after tn_recorder_finish.
 *
 * Errors: TN_ERROR_FILE; TN_ERROR_BUSY for a manager that has been recorded before; TN_ERROR_TEXT, TN_ERROR_ENUM.
 */
TN_API tn_Status TN_CALL tn_gpu_record(tn_Gpu* gpu, tn_Str path, uint32_t flags, tn_Recorder** out);

/** Completes the file; what happens later is not recorded. The handle is over, whatever is returned, except for
 * TN_ERROR_HANDLE, TN_ERROR_BUSY, TN_ERROR_CALLBACK and TN_ERROR_PANIC. tn_release does the same, with errors in the log.
 *
 * Errors: TN_ERROR_FILE for the first error since the beginning: the file lacks events then, or is incomplete.
 */
TN_API tn_Status TN_CALL tn_recorder_finish(tn_Recorder* recorder);

/** The result of a call of tn_gpu_compact. */
typedef struct tn_CompactionReport {
    /** sizeof(tn_CompactionReport), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** Bytes that the GPU copies. */
    uint64_t bytes;
    /** Resources that have moved. */
    uint64_t moves;
    /** Resources that recordings or uploads use, or that the budget had no room for: a later call tries again. */
    uint64_t waiting;
    /** Resources without memory or descriptors to move to, or whose copy was refused: a later call tries again. */
    uint64_t refused;
    /** Nothing is left to do until a resource is created or released. */
    tn_Bool is_done;
    /** 0. */
    uint32_t reserved;
} tn_CompactionReport;

/** Takes a resource that has moved: its number by tn_movable_id, and how often it has moved since it was created. Inside
 * tn_gpu_take_moved. Must not unwind. May release handles, except a tn_Gpu and a tn_Swapchain; other functions return TN_ERROR_CALLBACK.
 */
typedef void(TN_CALL* tn_MovedFn)(void* user, uint64_t id, uint64_t moves);

/** Moves resources with TN_RESOURCE_MOVABLE out of the emptiest blocks of memory, within the budget, and frees empty blocks. The
 * GPU copies; no wait. Call it repeatedly, such as once a frame, until the report says that it is done. out may be null.
 *
 * Errors: TN_ERROR_DEVICE, and those of tn_gpu_flush_uploads.
 */
TN_API tn_Status TN_CALL tn_gpu_compact(tn_Gpu* gpu, const tn_CompactionBudget* budget, tn_CompactionReport* out);

/** Calls moved for each resource that has moved since the last call, once, for programs that keep places of resources. Released
 * resources are left out.
 *
 * Errors: TN_ERROR_POINTER.
 */
TN_API tn_Status TN_CALL tn_gpu_take_moved(tn_Gpu* gpu, tn_MovedFn moved, void* user);

/** The number of a movable buffer or texture in tn_gpu_take_moved, unique within its manager; 0 for one that does not move, also
 * because it has memory of its own.
 */
TN_API uint64_t TN_CALL tn_movable_id(void* handle);

/** The place of a buffer or texture for the commands of a recording. A movable resource stays there until the recording is
 * submitted, unlike after tn_place, which keeps it where it is for good.
 *
 * Errors: TN_ERROR_FOREIGN, TN_ERROR_POINTER; TN_ERROR_HANDLE for other handles.
 */
TN_API tn_Status TN_CALL tn_recording_place(tn_Recording* recording, void* resource, tn_Place* out);

#ifdef __cplusplus
}
#endif

#endif
