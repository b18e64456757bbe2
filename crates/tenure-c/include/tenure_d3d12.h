/* tenure_d3d12.h: tenure on a Direct3D 12 device of the program. Needs no header of Direct3D's, and suits it in any order.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Written by `cargo xtask header` from the code of the crate tenure-c: edit that.
 */
#ifndef TENURE_D3D12_H
#define TENURE_D3D12_H

#include "tenure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ID3D12Device;
struct ID3D12CommandQueue;
struct ID3D12Fence;
struct ID3D12Resource;

/** A Direct3D 12 device created by the program. */
typedef struct tn_D3d12DeviceDesc {
    /** sizeof(tn_D3d12DeviceDesc). */
    uint32_t struct_size;
    /** Must be 0. */
    uint32_t flags;
    /** Must be null. */
    const tn_Chain* next;
    /** The device. */
    struct ID3D12Device* device;
    /** The queues to use, each once, a direct queue first. The program may submit to them, too. */
    struct ID3D12CommandQueue* const* queues;
    /** Number of queues. */
    size_t queue_count;
} tn_D3d12DeviceDesc;

/** Wraps the Direct3D 12 device of a program, and keeps references to the device and the queues. desc is not needed after the
 * call.
 *
 * Errors: TN_ERROR_CREATE_DEVICE with the violated rule; TN_ERROR_POINTER for an interface that is null or of another type,
 * TN_ERROR_STRUCT_SIZE.
 */
TN_API tn_Status TN_CALL tn_device_from_d3d12(const tn_D3d12DeviceDesc* desc, tn_Device** out);

/** The DXGI_FORMAT of a texel format, for pipelines and copies; 0 (DXGI_FORMAT_UNKNOWN) for a format that Direct3D does not
 * have, and for an unknown number.
 */
TN_API uint32_t TN_CALL tn_format_to_dxgi(tn_Format format);

/** The texel format of a DXGI_FORMAT; TN_FORMAT_UNKNOWN for an unsupported one. */
TN_API tn_Format TN_CALL tn_format_from_dxgi(uint32_t dxgi_format);

/** A value of a fence of the program, for a wait or a signal. */
typedef struct tn_D3d12Point {
    /** The fence, of the program's device. A reference is kept until the submissions that use it are complete. */
    struct ID3D12Fence* fence;
    /** The value. */
    uint64_t value;
} tn_D3d12Point;

/** Makes the submission of a recording wait on the GPU for fences of the program, and signal fences on completion. Calls
 * accumulate. The signalled values of a fence must increase. Without a submission, there are no waits and signals.
 *
 * Barriers recorded on another queue do not wait. If the fence guards a resource that another queue used last, make the last
 * recording of that queue wait, or declare the state with tn_gpu_declare_state.
 *
 * Errors: TN_ERROR_POINTER for an interface that is null or of another type; nothing is added then. TN_ERROR_FOREIGN for a
 * recording of another backend. The submission fails for a fence of another device.
 */
TN_API tn_Status TN_CALL tn_recording_add_fences_d3d12(tn_Recording* recording, const tn_D3d12Point* waits,
    size_t wait_count, const tn_D3d12Point* signals, size_t signal_count);

/** DXGI's waitable object of a swap chain (a HANDLE), for a program that waits for it and for other objects at once. Null before
 * the swap chain has images; valid until its release. Do not close it, and call tn_swapchain_waited_d3d12 after a wait that
 * succeeded.
 *
 * Each wait takes one frame, and only a presentation returns it. After a wait, or a tn_swapchain_acquire that returned an image,
 * do not wait again before tn_swapchain_present has succeeded, also while the window is minimised.
 *
 * Errors: TN_ERROR_POINTER, TN_ERROR_FOREIGN for a swap chain of another backend.
 */
TN_API tn_Status TN_CALL tn_swapchain_waitable_d3d12(tn_Swapchain* swapchain, void** out);

/** Reports that the program's own wait for tn_swapchain_waitable_d3d12 has succeeded: the next tn_swapchain_acquire does not
 * wait.
 *
 * Errors: TN_ERROR_FOREIGN for a swap chain of another backend.
 */
TN_API tn_Status TN_CALL tn_swapchain_waited_d3d12(tn_Swapchain* swapchain);

/** Creates the swap chain of a window (HWND); a window can have one. Create, resize and release it on the thread of the window,
 * and release it before the window is destroyed and before tn_gpu_shutdown. If the size is 0, it is created by the first
 * tn_swapchain_resize.
 *
 * Errors: TN_ERROR_SWAPCHAIN for a window that was destroyed or already has a swap chain, and for an unsupported format or
 * number of images; TN_ERROR_ARGUMENT for a frame latency out of range; TN_ERROR_DEVICE; TN_ERROR_FOREIGN for a device of
 * another backend.
 */
TN_API tn_Status TN_CALL tn_swapchain_create_d3d12(tn_Gpu* gpu, void* window, const tn_SwapchainDesc* desc,
    tn_Swapchain** out);

/** Adopts a buffer of the program: the manager tracks its states, and holds a reference until the handle is released and no open
 * recording and no GPU work can use it. Its memory is not counted as the manager's. The description provides size, usage, memory,
 * name and tag; memory must be that of its heap: any but TN_MEMORY_GPU_ONLY for a custom heap that the CPU accesses. last is the state after its last use. Earlier submissions of the program that
 * use the buffer must be complete, or precede the manager's work in the same queue.
 *
 * Errors: TN_ERROR_STATE for a state that the usage does not allow; TN_ERROR_DEVICE for a description that does not match the
 * resource; TN_ERROR_ARGUMENT for other fields; TN_ERROR_POINTER for an interface that is null or of another kind;
 * TN_ERROR_ENUM, TN_ERROR_TEXT, TN_ERROR_STRUCT_SIZE, TN_ERROR_FOREIGN, TN_ERROR_SHUT_DOWN.
 */
TN_API tn_Status TN_CALL tn_buffer_adopt_d3d12(tn_Gpu* gpu, const tn_BufferDesc* desc, struct ID3D12Resource* resource,
    tn_State last, tn_Buffer** out);

/** Adopts a texture of the program, as tn_buffer_adopt_d3d12. The description provides all texel fields, usage, name and tag.
 * last is the state of all subresources. With enhanced barriers, the texture must be in the layout of the state: COMMON for
 * shader reads, copies and presentation, otherwise the layout of that name. Without them, a target must have been cleared,
 * discarded or copied to.
 *
 * Errors: as tn_buffer_adopt_d3d12.
 */
TN_API tn_Status TN_CALL tn_texture_adopt_d3d12(tn_Gpu* gpu, const tn_TextureDesc* desc,
    struct ID3D12Resource* resource, tn_State last, tn_Texture** out);

#ifdef __cplusplus
}
#endif

#endif
