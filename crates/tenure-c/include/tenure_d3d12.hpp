/* tenure_d3d12.hpp: tenure_d3d12.h for C++17 and later. Suits Direct3D's own header in any order, and needs none.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TENURE_D3D12_HPP
#define TENURE_D3D12_HPP

#include "tenure.hpp"
#include "tenure_d3d12.h"

#include <type_traits>

struct ID3D12DescriptorHeap;
struct ID3D12GraphicsCommandList;
struct ID3D12Resource;
struct D3D12_CPU_DESCRIPTOR_HANDLE;

namespace tn {
inline namespace TN_ERRORS {

/** Wraps the Direct3D 12 device of the program, with the queues to use, a direct queue first. Keeps references to them. */
inline Result<Device> device_from_d3d12(ID3D12Device* device, Array<ID3D12CommandQueue*> queues) {
    Desc<tn_D3d12DeviceDesc> desc;
    desc.device = device;
    desc.queues = queues.data();
    desc.queue_count = queues.size();
    tn_Device* raw = nullptr;
    const tn_Status status = call(tn_device_from_d3d12, &desc, &raw);
    Device wrapped(raw);
    return made(status, wrapped);
}

/** Adopts a buffer of the program, with the state after its last use. */
inline Result<Buffer> adopt_buffer_d3d12(const Gpu& gpu, const tn_BufferDesc& desc, ID3D12Resource* resource, tn_State last) {
    tn_Buffer* raw = nullptr;
    const tn_Status status = call(tn_buffer_adopt_d3d12, gpu.raw(), &desc, resource, last, &raw);
    Buffer buffer(raw);
    return made(status, buffer);
}

/** Adopts a texture of the program, with the state after its last use. */
inline Result<Texture> adopt_texture_d3d12(const Gpu& gpu, const tn_TextureDesc& desc, ID3D12Resource* resource, tn_State last) {
    tn_Texture* raw = nullptr;
    const tn_Status status = call(tn_texture_adopt_d3d12, gpu.raw(), &desc, resource, last, &raw);
    Texture texture(raw);
    return made(status, texture);
}

/** Fences that the submission of a recording waits for and signals. */
inline Result<void> add_fences_d3d12(const Recording& recording, Array<tn_D3d12Point> waits, Array<tn_D3d12Point> signals) {
    return checked(
        call(tn_recording_add_fences_d3d12, recording.raw(), waits.data(), waits.size(), signals.data(), signals.size()));
}

/** DXGI's waitable object (HANDLE), null before the swap chain has images. Call waited_d3d12 after a wait, and present before the
 * next one.
 */
inline Result<void*> waitable_d3d12(const Swapchain& swapchain) {
    void* handle = nullptr;
    const tn_Status status = call(tn_swapchain_waitable_d3d12, swapchain.raw(), &handle);
    return made(status, handle);
}

/** Reports that a wait for waitable_d3d12 has succeeded: the next acquire does not wait. */
inline Result<void> waited_d3d12(const Swapchain& swapchain) {
    return checked(call(tn_swapchain_waited_d3d12, swapchain.raw()));
}

/** The swap chain of a window (HWND). */
inline Result<Swapchain> create_swapchain_d3d12(const Gpu& gpu, void* window, const tn_SwapchainDesc& desc) {
    tn_Swapchain* raw = nullptr;
    const tn_Status status = call(tn_swapchain_create_d3d12, gpu.raw(), window, &desc, &raw);
    Swapchain swapchain(raw);
    return made(status, swapchain);
}

/** An interface or a descriptor handle: d3d12<ID3D12Resource*>(place.object), with place.offset;
 * d3d12<D3D12_GPU_DESCRIPTOR_HANDLE>(place.gpu_address) of a table.
 */
template <class T>
T d3d12(tn_Native native) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(static_cast<std::uintptr_t>(native));
    } else {
        T handle{};
        handle.ptr = static_cast<decltype(handle.ptr)>(native);
        return handle;
    }
}

/** Whether T is the type of the API for an object. */
template <class T, class Raw>
inline constexpr bool is_d3d12 = false;
template <>
inline constexpr bool is_d3d12<ID3D12Resource*, tn_Texture> = true;
template <>
inline constexpr bool is_d3d12<ID3D12Resource*, tn_Reserved> = true;
template <>
inline constexpr bool is_d3d12<D3D12_CPU_DESCRIPTOR_HANDLE, tn_View> = true;
template <>
inline constexpr bool is_d3d12<D3D12_CPU_DESCRIPTOR_HANDLE, tn_Sampler> = true;
template <>
inline constexpr bool is_d3d12<ID3D12DescriptorHeap*, tn_DescriptorTable> = true;

/** The API object of an object without an offset: d3d12<ID3D12Resource*>(texture), d3d12<D3D12_CPU_DESCRIPTOR_HANDLE>(view),
 * d3d12<ID3D12DescriptorHeap*>(table). Pins a movable texture: pass the recording to avoid that.
 */
template <class T, class Raw, class = std::enable_if_t<is_d3d12<T, Raw>>>
Result<T> d3d12(const Placed<Raw>& object) {
    tn_Place place{};
    const tn_Status status = call(tn_place, object.raw(), &place);
    T handle = d3d12<T>(place.object);
    return made(status, handle);
}
/** Deleted: a buffer is a range of its ID3D12Resource, so use place(), which has the offset. */
template <class T>
Result<T> d3d12(const Buffer& buffer) = delete;
/** The resource of a texture, which may be movable, for the commands of a recording. */
template <class T, class = std::enable_if_t<is_d3d12<T, tn_Texture>>>
Result<T> d3d12(const Recording& recording, const Texture& texture) {
    tn_Place place{};
    const tn_Status status = call(tn_recording_place, recording.raw(), texture.raw(), &place);
    T handle = d3d12<T>(place.object);
    return made(status, handle);
}
/** The command list, with the barriers of the uses declared so far: d3d12<ID3D12GraphicsCommandList*>(recording). */
template <class T, class = std::enable_if_t<std::is_same_v<T, ID3D12GraphicsCommandList*>>>
Result<T> d3d12(const Recording& recording) {
    tn_Native native = 0;
    const tn_Status status = call(tn_recording_native, recording.raw(), &native);
    T handle = d3d12<T>(native);
    return made(status, handle);
}

}  // namespace TN_ERRORS
}  // namespace tn

#endif
