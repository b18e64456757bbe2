/* tenure_vulkan.h: tenure on a Vulkan device of the program. Needs no header of Vulkan's, and suits it in any order.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Written by `cargo xtask header` from the code of the crate tenure-c: edit that.
 */
#ifndef TENURE_VULKAN_H
#define TENURE_VULKAN_H

#include "tenure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VkInstance_T* VkInstance;
typedef struct VkPhysicalDevice_T* VkPhysicalDevice;
typedef struct VkDevice_T* VkDevice;
typedef struct VkQueue_T* VkQueue;
typedef void(TN_CALL* PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction(TN_CALL* PFN_vkGetInstanceProcAddr)(VkInstance pInstance, const char* pName);
struct VkDeviceCreateInfo;

/** The work submitted to a queue. */
typedef uint32_t tn_QueueKind;
enum {
    /** All work that the queue family supports. */
    TN_QUEUE_KIND_ALL = 0,
    /** Graphics, compute and copies. */
    TN_QUEUE_KIND_GRAPHICS = 1,
    /** Compute and copies. */
    TN_QUEUE_KIND_COMPUTE = 2,
    /** Copies. */
    TN_QUEUE_KIND_COPY = 3
};

/** A queue that this library submits to. */
typedef struct tn_VkQueue {
    /** The queue. */
    VkQueue queue;
    /** The queue family index. */
    uint32_t family;
    /** TN_QUEUE_KIND_.... */
    tn_QueueKind kind;
} tn_VkQueue;

/** Flags of a device. */
typedef uint32_t tn_VkDeviceFlags;
enum {
    /** Recordings and passes write markers, at a cost in GPU time, so that TN_REPORT_LOSS shows the progress of the GPU; other scopes
     * do so only if VK_AMD_buffer_marker or VK_NV_device_diagnostic_checkpoints is enabled.
     */
    TN_VK_DEVICE_MARKERS = 1,
    /** The driver reports the addresses of textures that this library creates, so that tn_gpu_whose and TN_REPORT_LOSS find them.
     * Requires VK_EXT_debug_utils, VK_EXT_device_address_binding_report and its feature reportAddressBinding. No other thread
     * may use the instance or its devices during tn_device_from_vk, and during the release of the last object of the device.
     */
    TN_VK_DEVICE_ADDRESS_REPORTS = 2
};

/** A device created by the program, with its creation parameters. */
typedef struct tn_VkDeviceDesc {
    /** sizeof(tn_VkDeviceDesc). */
    uint32_t struct_size;
    /** TN_VK_DEVICE_.... */
    tn_VkDeviceFlags flags;
    /** Must be null. */
    const tn_Chain* next;
    /** vkGetInstanceProcAddr of the loader or layer that created the instance. */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    /** The instance. */
    VkInstance instance;
    /** The physical device. */
    VkPhysicalDevice physical_device;
    /** The device. */
    VkDevice device;
    /** The VkDeviceCreateInfo of the device: extensions and features are read from it and its chain. */
    const struct VkDeviceCreateInfo* create_info;
    /** The queues to use, each once; the first of a family with graphics and compute. */
    const tn_VkQueue* queues;
    /** Number of queues. */
    size_t queue_count;
    /** The families of the program's other queues that use buffers of this library. */
    const uint32_t* other_families;
    /** Number of families. */
    size_t other_family_count;
    /** The API version of the instance, such as VK_API_VERSION_1_3. */
    uint32_t api_version;
    /** Must be 0. */
    uint32_t reserved;
} tn_VkDeviceDesc;

/** Wraps the Vulkan device of a program. The program keeps ownership of its objects: they must outlive the last object of this
 * device and its manager, and tenure does not destroy them. Only this library may use the queues. desc is not needed after the
 * call.
 *
 * Errors: TN_ERROR_CREATE_DEVICE with the violated rule; TN_ERROR_POINTER for a handle or pointer that is null,
 * TN_ERROR_ENUM, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_device_from_vk(const tn_VkDeviceDesc* desc, tn_Device** out);

/** The VkFormat of a texel format, for pipelines and copies; 0 (VK_FORMAT_UNDEFINED) for an unknown number. */
TN_API uint32_t TN_CALL tn_format_to_vk(tn_Format format);

/** The texel format of a VkFormat; TN_FORMAT_UNKNOWN for an unsupported one. */
TN_API tn_Format TN_CALL tn_format_from_vk(uint32_t vk_format);

/** A wait for, or signal of, a semaphore of the program. */
typedef struct tn_VkPoint {
    /** The VkSemaphore, which must exist until the submissions that use it are complete. */
    tn_Native semaphore;
    /** The value of a timeline semaphore. */
    uint64_t value;
    /** The VkPipelineStageFlags2 that wait, or that complete before the signal; 0: all. Devices without the feature
     * synchronization2 use all stages.
     */
    uint64_t stages;
    /** Whether the semaphore is binary. */
    tn_Bool is_binary;
    /** Must be 0. */
    uint32_t reserved;
} tn_VkPoint;

/** Makes the submission of a recording wait on the GPU for semaphores of the program's device, and signal semaphores on completion.
 * Calls accumulate. Each wait for a binary semaphore needs its own signal, submitted before the wait; the values of a timeline
 * semaphore must increase. Without a submission, there are no waits and signals.
 *
 * Barriers recorded on another queue do not wait: the release of a texture by the queue that used it last. If the semaphore guards
 * such a texture, make the last recording of that queue wait, or declare the state with tn_gpu_declare_state.
 *
 * Errors: TN_ERROR_POINTER for a null semaphore; nothing is added then. TN_ERROR_FOREIGN for a recording of another backend.
 */
TN_API tn_Status TN_CALL tn_recording_add_semaphores_vk(tn_Recording* recording, const tn_VkPoint* waits,
    size_t wait_count, const tn_VkPoint* signals, size_t signal_count);

/** Creates a swap chain for a VkSurfaceKHR of the program, which must outlive the swap chain and the recordings that use its
 * images; nothing else may present to it. The instance must have the extensions of the surface enabled, the device
 * VK_KHR_swapchain. The swap chain must be used by one thread at a time. Its release waits for the GPU, for a bounded time.
 *
 * Errors: TN_ERROR_POINTER for a null surface; TN_ERROR_SWAPCHAIN if no queue can present, for an unsupported format, and for
 * a window that was destroyed; TN_ERROR_ARGUMENT for a frame latency out of range; TN_ERROR_DEVICE for a missing extension, or
 * a usage that the surface does not support; TN_ERROR_FOREIGN for a device of another backend.
 */
TN_API tn_Status TN_CALL tn_swapchain_create_vk(tn_Gpu* gpu, tn_Native surface, const tn_SwapchainDesc* desc,
    tn_Swapchain** out);

/** The layout of the descriptor set that shaders index for tables of a kind: all tables of views share one set, and all tables of
 * samplers another.
 */
typedef struct tn_VkTable {
    /** sizeof(tn_VkTable), set by the caller. */
    uint32_t struct_size;
    /** Must be 0. */
    uint32_t flags;
    /** Must be null. */
    const tn_Chain* next;
    /** The VkDescriptorSetLayout, for pipelines. tenure destroys it. */
    tn_Native layout;
    /** The binding of the array for each tn_BindingKind; UINT32_MAX: no such array. */
    uint32_t bindings[12];
    /** The number of indices, from 0 on, that can hold constants. */
    uint32_t constants;
    /** Must be 0. */
    uint32_t reserved;
} tn_VkTable;

/** The layout of the descriptor set of tables of a kind, for pipelines, also before the first table is created.
 *
 * Errors: TN_ERROR_FOREIGN for a manager on another backend; TN_ERROR_DEVICE without descriptor indexing; TN_ERROR_ENUM,
 * TN_ERROR_OUT_OF_MEMORY, TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_gpu_tables_vk(tn_Gpu* gpu, tn_DescriptorKind kind, tn_VkTable* out);

/** Renumbers the bindings of a SPIR-V shader to those that this device uses for tables. The shader must declare the tables of
 * views as descriptor set set with the bindings 0 sampled images, 1 storage images, 2 uniform buffers, 3 storage buffers, 4
 * uniform texel buffers and 5 storage texel buffers, or the tables of samplers with the binding 0. words are changed in
 * place.
 *
 * Errors: TN_ERROR_DEVICE for invalid SPIR-V, and for an unknown binding; nothing is changed then. Those of tn_gpu_tables_vk.
 */
TN_API tn_Status TN_CALL tn_gpu_renumber_vk(tn_Gpu* gpu, tn_DescriptorKind kind, uint32_t set, uint32_t* words,
    size_t count);

/** A VkBuffer or VkImage that the program created and bound to memory, with its creation parameters. */
typedef struct tn_VkAdoption {
    /** sizeof(tn_VkAdoption). */
    uint32_t struct_size;
    /** Must be 0. */
    uint32_t flags;
    /** Must be null. */
    const tn_Chain* next;
    /** The VkBuffer or VkImage. On a device with several queue families (queues and other_families of the device), a buffer
     * must be shared by all of them (VK_SHARING_MODE_CONCURRENT), and an image must be exclusive unless its usage has
     * TN_USAGE_ALL_QUEUES. Images must have optimal tiling.
     */
    tn_Native object;
    /** The VkBufferUsageFlags or VkImageUsageFlags of its creation: at least those required by the usage of the description. */
    uint32_t vk_usage;
    /** The VkImageCreateFlags of an image; 0 for a buffer. */
    uint32_t vk_flags;
    /** The VkFormat of an image; 0: the format of the description. 0 for a buffer. */
    uint32_t vk_format;
    /** The state after its last use. TN_STATE_COMMON: no use yet; the contents of an image are undefined. An image must be in the
     * layout of the state: SHADER_READ_ONLY_OPTIMAL for shader reads, TRANSFER_SRC_OPTIMAL, TRANSFER_DST_OPTIMAL,
     * COLOR_ATTACHMENT_OPTIMAL, DEPTH_STENCIL_ATTACHMENT_OPTIMAL for TN_STATE_DEPTH_WRITE, DEPTH_STENCIL_READ_ONLY_OPTIMAL
     * for TN_STATE_DEPTH_READ, also combined with shader reads, PRESENT_SRC_KHR; GENERAL for unordered access and other
     * combinations.
     */
    tn_State state;
    /** The whole VkDeviceMemory bound to a CPU-visible buffer. For other buffers and for images, this and the next four fields
     * are 0.
     */
    tn_Native memory;
    /** The size of the whole VkDeviceMemory in bytes. */
    uint64_t memory_size;
    /** The offset of the buffer in that memory. */
    uint64_t memory_offset;
    /** The CPU address of the first byte of that memory, which the program has mapped entirely. In memory that is not coherent, the
     * CPU must not write anything else within the units of nonCoherentAtomSize that the buffer touches.
     */
    void* mapped;
    /** The memory type. */
    uint32_t memory_type;
    /** Must be 0. */
    uint32_t reserved;
    /** Called once, after the handle and all views are released and no open recording and no GPU work can use the object, in the
     * calls listed at tn_gpu_defer; never called if the GPU does not finish. It may destroy the object and free its memory.
     * Null: the program destroys them itself, after releasing the handle and the views, tn_gpu_wait for all submissions, and
     * tn_gpu_reclaim.
     */
    tn_DestroyFn destroy;
    /** Passed to destroy. */
    void* destroy_user;
    /** Passed to destroy. */
    void* destroy_object;
} tn_VkAdoption;

/** Adopts a VkBuffer of the program: the manager tracks its states, and reports when nothing uses it any more. The object must
 * exist until then. Its memory is not counted as the manager's. The description provides size, usage, memory, name and tag; memory
 * other than TN_MEMORY_GPU_ONLY requires the memory of the object. Earlier submissions of the program that use the object must
 * be complete, or submitted in tn_gpu_submit_external to the queue that uses it next.
 *
 * Errors: TN_ERROR_STATE for a state that the usage does not allow; TN_ERROR_DEVICE for an invalid description, and memory
 * that does not contain the buffer; TN_ERROR_ARGUMENT for other fields; TN_ERROR_POINTER, TN_ERROR_ENUM, TN_ERROR_TEXT,
 * TN_ERROR_STRUCT_SIZE, TN_ERROR_FOREIGN, TN_ERROR_SHUT_DOWN. On error the program still owns the object, and destroy is
 * not called.
 */
TN_API tn_Status TN_CALL tn_buffer_adopt_vk(tn_Gpu* gpu, const tn_BufferDesc* desc, const tn_VkAdoption* adoption,
    tn_Buffer** out);

/** Adopts a VkImage of the program, as tn_buffer_adopt_vk. The description provides all texel fields, usage, name and tag. An
 * image with contents must be used first on a queue of the family that owns it.
 *
 * Errors: as tn_buffer_adopt_vk.
 */
TN_API tn_Status TN_CALL tn_texture_adopt_vk(tn_Gpu* gpu, const tn_TextureDesc* desc, const tn_VkAdoption* adoption,
    tn_Texture** out);

#ifdef __cplusplus
}
#endif

#endif
