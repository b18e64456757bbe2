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

/** The work of a queue. */
typedef uint32_t tn_QueueKind;
enum {
    /** All that the family of the queue can do. */
    TN_QUEUE_KIND_ALL = 0,
    /** Everything. */
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
    /** Its family. */
    uint32_t family;
    /** TN_QUEUE_KIND_.... */
    tn_QueueKind kind;
} tn_VkQueue;

/** Options of a device. Bits. */
typedef uint32_t tn_VkDeviceFlags;
enum {
    /** Recordings and passes write markers, at a cost of time on the GPU, so that TN_REPORT_LOSS tells where the GPU was; other
     * scopes only if VK_AMD_buffer_marker or VK_NV_device_diagnostic_checkpoints is enabled.
     */
    TN_VK_DEVICE_MARKERS = 1,
    /** The driver reports the addresses of textures that this library creates, so that tn_gpu_whose and TN_REPORT_LOSS find them: if
     * VK_EXT_debug_utils, VK_EXT_device_address_binding_report and its feature reportAddressBinding are enabled. No other
     * thread may use the instance or its devices during tn_device_from_vk, and during the release of the last object of the device.
     */
    TN_VK_DEVICE_ADDRESS_REPORTS = 2
};

/** A device that the program made, and how it was made. */
typedef struct tn_VkDeviceDesc {
    /** sizeof(tn_VkDeviceDesc). */
    uint32_t struct_size;
    /** TN_VK_DEVICE_.... */
    tn_VkDeviceFlags flags;
    /** Null. */
    const tn_Chain* next;
    /** vkGetInstanceProcAddr of the loader or layer that made the instance. */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    /** The instance. */
    VkInstance instance;
    /** The physical device. */
    VkPhysicalDevice physical_device;
    /** The device. */
    VkDevice device;
    /** The VkDeviceCreateInfo that the device was created with: extensions and features are read from it and its chain. */
    const struct VkDeviceCreateInfo* create_info;
    /** The queues to use, each once; the first of a family with graphics and compute. */
    const tn_VkQueue* queues;
    /** Queues. */
    size_t queue_count;
    /** The families of other queues of the program that use buffers of this library. */
    const uint32_t* other_families;
    /** Families. */
    size_t other_family_count;
    /** The version that the instance was created for, such as VK_API_VERSION_1_3. */
    uint32_t api_version;
    /** 0. */
    uint32_t reserved;
} tn_VkDeviceDesc;

/** Wraps the Vulkan device of a program. What the program made stays its own: it must outlive the last object of this device and
 * its manager, and tenure destroys none of it. The queues are used by this library alone. desc is not needed after the call.
 *
 * Errors: TN_ERROR_CREATE_DEVICE with the broken rule; TN_ERROR_POINTER for a handle or pointer that is null,
 * TN_ERROR_ENUM, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_device_from_vk(const tn_VkDeviceDesc* desc, tn_Device** out);

/** The VkFormat of a texel format, for pipelines and copies; 0, which is VK_FORMAT_UNDEFINED, for an unknown number. */
TN_API uint32_t TN_CALL tn_format_to_vk(tn_Format format);

/** The texel format of a VkFormat; TN_FORMAT_UNKNOWN for one that this library does not have. */
TN_API tn_Format TN_CALL tn_format_from_vk(uint32_t vk_format);

/** A point of a semaphore of the program. */
typedef struct tn_VkPoint {
    /** The VkSemaphore, which lives until the submissions that use it are complete. */
    tn_Native semaphore;
    /** The value of a timeline semaphore. */
    uint64_t value;
    /** VkPipelineStageFlags2 that wait, or that are done before the signal; 0: all. On a device without the feature synchronization2
     * all stages, whatever this is.
     */
    uint64_t stages;
    /** A binary semaphore. */
    tn_Bool is_binary;
    /** 0. */
    uint32_t reserved;
} tn_VkPoint;

/** Makes the submission of a recording wait on the GPU for semaphores of the program's device, and signal some when it is done. Both
 * add to those of earlier calls. Each wait for a binary semaphore has its own signal, submitted before the wait; the values of a
 * timeline semaphore increase. Nothing waits, and nothing is signalled, when the recording is released or its submission refused.
 *
 * Barriers that another queue has to record first do not wait: the release of a texture by the queue that used it last. Where the
 * semaphore guards such a texture, make the last recording of that queue wait, or declare the state: tn_gpu_declare_state.
 *
 * Errors: TN_ERROR_POINTER for a semaphore that is null; then nothing was added. TN_ERROR_FOREIGN for a recording of another
 * backend.
 */
TN_API tn_Status TN_CALL tn_recording_add_semaphores_vk(tn_Recording* recording, const tn_VkPoint* waits,
    size_t wait_count, const tn_VkPoint* signals, size_t signal_count);

/** Creates a swap chain over a VkSurfaceKHR of the program, which must outlive the swap chain and the recordings that use its
 * images; nothing else presents to it. The instance was created with the extensions of the surface, the device with
 * VK_KHR_swapchain. For one thread at a time. Its release waits for the GPU, for a bounded time.
 *
 * Errors: TN_ERROR_POINTER for a surface that is null; TN_ERROR_SWAPCHAIN where no queue can present, for a format that the
 * window does not offer, and for a window that is gone; TN_ERROR_DEVICE for a missing extension, or a usage that images of the
 * surface cannot have; TN_ERROR_FOREIGN for a device of another backend.
 */
TN_API tn_Status TN_CALL tn_swapchain_create_vk(tn_Gpu* gpu, tn_Native surface, const tn_SwapchainDesc* desc,
    tn_Swapchain** out);

/** The descriptor set that shaders index for a table, and its layout. It is the same for all tables of views, and for all tables
 * of samplers.
 */
typedef struct tn_VkTable {
    /** sizeof(tn_VkTable), set by the caller. */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The VkDescriptorSetLayout, for pipelines. tenure destroys it. */
    tn_Native layout;
    /** The binding of the array for each tn_BindingKind; UINT32_MAX: none. */
    uint32_t bindings[12];
    /** The indices from 0 on that may be constants. */
    uint32_t constants;
    /** 0. */
    uint32_t reserved;
} tn_VkTable;

/** The set that shaders index for a table.
 *
 * Errors: TN_ERROR_FOREIGN for a table of another backend; TN_ERROR_POINTER, TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_descriptor_table_vk(tn_DescriptorTable* table, tn_VkTable* out);

/** Gives a shader the bindings that this device has for tables. The shader, in SPIR-V, declares the tables of views as
 * descriptor set set with the bindings 0 sampled images, 1 storage images, 2 uniform buffers, 3 storage buffers, 4 uniform
 * texel buffers and 5 storage texel buffers, or those of samplers with the binding 0. words are changed in place.
 *
 * Errors: TN_ERROR_DEVICE for other words than SPIR-V, and for a binding that no table has; then nothing was changed.
 * TN_ERROR_FOREIGN for a table of another backend.
 */
TN_API tn_Status TN_CALL tn_descriptor_table_renumber(tn_DescriptorTable* table, uint32_t set, uint32_t* words,
    size_t count);

/** A VkBuffer or VkImage that the program created and bound to memory, and how it was created. */
typedef struct tn_VkAdoption {
    /** sizeof(tn_VkAdoption). */
    uint32_t struct_size;
    /** 0. */
    uint32_t flags;
    /** Null. */
    const tn_Chain* next;
    /** The VkBuffer or VkImage. If the device has several queue families (queues and other_families of the device), all share a
     * buffer (VK_SHARING_MODE_CONCURRENT), and one owns an image, unless its usage has TN_USAGE_ALL_QUEUES. Images have optimal
     * tiling.
     */
    tn_Native object;
    /** The VkBufferUsageFlags or VkImageUsageFlags that it was created with: at least those that the usage of the description needs. */
    uint32_t vk_usage;
    /** The VkImageCreateFlags of an image; 0 for a buffer. */
    uint32_t vk_flags;
    /** The VkFormat of an image; 0: that of the description. 0 for a buffer. */
    uint32_t vk_format;
    /** The state in which its last use left it. TN_STATE_COMMON: none; an image has undefined contents. An image is in the layout of
     * the state: SHADER_READ_ONLY_OPTIMAL for reads by shaders, TRANSFER_SRC_OPTIMAL, TRANSFER_DST_OPTIMAL,
     * COLOR_ATTACHMENT_OPTIMAL, DEPTH_STENCIL_ATTACHMENT_OPTIMAL for TN_STATE_DEPTH_WRITE, DEPTH_STENCIL_READ_ONLY_OPTIMAL for
     * TN_STATE_DEPTH_READ, also with reads by shaders, PRESENT_SRC_KHR; GENERAL for unordered access and other combinations.
     */
    tn_State state;
    /** The whole VkDeviceMemory that a buffer for the CPU is bound to; 0 otherwise, as the next four fields, and for an image. */
    tn_Native memory;
    /** Bytes of the whole VkDeviceMemory. */
    uint64_t memory_size;
    /** The byte of it at which the buffer is bound. */
    uint64_t memory_offset;
    /** The address of its byte 0. The program has mapped all of it. In memory that is not coherent, the CPU writes nothing else in the
     * units of nonCoherentAtomSize that the buffer touches.
     */
    void* mapped;
    /** The memory type. */
    uint32_t memory_type;
    /** 0. */
    uint32_t reserved;
    /** Called once when the handle and all views are released and no open recording and no GPU work can use the object, in the calls
     * that tn_gpu_defer names; not for a GPU that never finishes. It may destroy the object and free its memory. Null: destroy them
     * after the release of the handle and the views, tn_gpu_wait for all submissions, and tn_gpu_reclaim.
     */
    tn_DestroyFn destroy;
    /** Passed to destroy. */
    void* destroy_user;
    /** Passed to destroy. */
    void* destroy_object;
} tn_VkAdoption;

/** Adopts a VkBuffer of the program: the manager tracks its states, and tells when nothing uses it any more. Until then the object
 * lives. Its memory does not count as the manager's. Of the description it takes size, usage, memory, name and tag; memory other than
 * TN_MEMORY_GPU_ONLY needs the memory of the object. Work that the program has submitted with the object is complete, or was
 * submitted in tn_gpu_submit_external to the queue that uses it next.
 *
 * Errors: TN_ERROR_STATE for a state that the usage does not allow; TN_ERROR_DEVICE for a description that no buffer has, and
 * memory that does not contain the buffer; TN_ERROR_ARGUMENT for other fields; TN_ERROR_POINTER, TN_ERROR_ENUM,
 * TN_ERROR_TEXT, TN_ERROR_STRUCT_SIZE, TN_ERROR_FOREIGN, TN_ERROR_SHUT_DOWN. Then the object is still the program's, and
 * destroy is not called.
 */
TN_API tn_Status TN_CALL tn_buffer_adopt_vk(tn_Gpu* gpu, const tn_BufferDesc* desc, const tn_VkAdoption* adoption,
    tn_Buffer** out);

/** Adopts a VkImage of the program, as tn_buffer_adopt_vk. Of the description it takes all that describes texels, the usage, name
 * and tag. The first use of an image with contents is on a queue of the family that owns it.
 *
 * Errors: as tn_buffer_adopt_vk.
 */
TN_API tn_Status TN_CALL tn_texture_adopt_vk(tn_Gpu* gpu, const tn_TextureDesc* desc, const tn_VkAdoption* adoption,
    tn_Texture** out);

#ifdef __cplusplus
}
#endif

#endif
