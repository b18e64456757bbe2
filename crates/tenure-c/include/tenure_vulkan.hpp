/* tenure_vulkan.hpp: tenure_vulkan.h for C++17 and later. Suits Vulkan's own header in any order, and needs none.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TENURE_VULKAN_HPP
#define TENURE_VULKAN_HPP

#include "tenure.hpp"
#include "tenure_vulkan.h"

#include <type_traits>

struct VkAccelerationStructureKHR_T;
struct VkBuffer_T;
struct VkBufferView_T;
struct VkCommandBuffer_T;
struct VkDescriptorSet_T;
struct VkDescriptorSetLayout_T;
struct VkImage_T;
struct VkImageView_T;
struct VkSampler_T;

namespace tn {
inline namespace TN_ERRORS {

/** Semaphores that the submission of a recording waits for and signals. */
inline Result<void> add_semaphores_vk(const Recording& recording, Array<tn_VkPoint> waits, Array<tn_VkPoint> signals) {
    return checked(
        call(tn_recording_add_semaphores_vk, recording.raw(), waits.data(), waits.size(), signals.data(), signals.size()));
}

/** Adopts a VkBuffer of the program. destroy must not throw. */
inline Result<Buffer> adopt_buffer_vk(const Gpu& gpu, const tn_BufferDesc& desc, const tn_VkAdoption& adoption) {
    tn_Buffer* raw = nullptr;
    const tn_Status status = call(tn_buffer_adopt_vk, gpu.raw(), &desc, &adoption, &raw);
    Buffer buffer(raw);
    return made(status, buffer);
}

/** Adopts a VkImage of the program. destroy must not throw. */
inline Result<Texture> adopt_texture_vk(const Gpu& gpu, const tn_TextureDesc& desc, const tn_VkAdoption& adoption) {
    tn_Texture* raw = nullptr;
    const tn_Status status = call(tn_texture_adopt_vk, gpu.raw(), &desc, &adoption, &raw);
    Texture texture(raw);
    return made(status, texture);
}

/** Wraps the Vulkan device of the program. */
inline Result<Device> device_from_vk(const tn_VkDeviceDesc& desc) {
    tn_Device* raw = nullptr;
    const tn_Status status = call(tn_device_from_vk, &desc, &raw);
    Device device(raw);
    return made(status, device);
}

/** The layout of the descriptor set of tables of a kind, also before the first table is created. */
inline Result<tn_VkTable> tables_vk(const Gpu& gpu, tn_DescriptorKind kind) {
    Desc<tn_VkTable> found;
    return made(call(tn_gpu_tables_vk, gpu.raw(), kind, &found), found);
}

/** Renumbers the bindings of a SPIR-V shader to those that this device uses for tables. */
inline Result<void> renumber_vk(const Gpu& gpu, tn_DescriptorKind kind, std::uint32_t set, std::uint32_t* words, std::size_t count) {
    return checked(call(tn_gpu_renumber_vk, gpu.raw(), kind, set, words, count));
}

/** A swap chain for a VkSurfaceKHR of the program: native(surface). */
inline Result<Swapchain> create_swapchain_vk(const Gpu& gpu, tn_Native surface, const tn_SwapchainDesc& desc) {
    tn_Swapchain* raw = nullptr;
    const tn_Status status = call(tn_swapchain_create_vk, gpu.raw(), surface, &desc, &raw);
    Swapchain swapchain(raw);
    return made(status, swapchain);
}

/** A Vulkan handle: vk<VkBuffer>(place.object), with place.offset. */
template <class T>
T vk(tn_Native native) noexcept {
    static_assert(std::is_pointer_v<T> || std::is_same_v<T, std::uint64_t>, "a Vulkan handle");
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(static_cast<std::uintptr_t>(native));
    } else {
        return native;
    }
}

/** Whether T is the type of the Vulkan handle of an object. On some systems, Vulkan's header uses numbers instead of pointers. */
template <class T, class Raw>
inline constexpr bool is_vk = false;
template <class T>
inline constexpr bool is_vk<T*, tn_Texture> = std::is_same_v<T, VkImage_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_View> = std::is_same_v<T, VkImageView_T> || std::is_same_v<T, VkBufferView_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_Sampler> = std::is_same_v<T, VkSampler_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_SetLayout> = std::is_same_v<T, VkDescriptorSetLayout_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_DescriptorTable> = std::is_same_v<T, VkDescriptorSet_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_DescriptorSet> = std::is_same_v<T, VkDescriptorSet_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_AccelerationStructure> = std::is_same_v<T, VkAccelerationStructureKHR_T>;
template <class T>
inline constexpr bool is_vk<T*, tn_Reserved> = std::is_same_v<T, VkBuffer_T> || std::is_same_v<T, VkImage_T>;
template <class Raw>
inline constexpr bool is_vk<std::uint64_t, Raw> = true;

/** The Vulkan handle of an object without an offset: vk<VkImage>(texture), vk<VkImageView>(view), vk<VkDescriptorSet>(set). A view
 * of texels in a buffer has a VkBufferView; other buffer views have none: use place(). Pins a movable texture: pass the recording
 * to avoid that.
 */
template <class T, class Raw, class = std::enable_if_t<is_vk<T, Raw>>>
Result<T> vk(const Placed<Raw>& object) {
    tn_Place place{};
    const tn_Status status = call(tn_place, object.raw(), &place);
    T handle = vk<T>(place.object);
    return made(status, handle);
}
/** Deleted: a buffer is a range of its VkBuffer, so use place(), which has the offset. */
template <class T>
Result<T> vk(const Buffer& buffer) = delete;
/** The image of a texture, which may be movable, for the commands of a recording. */
template <class T, class = std::enable_if_t<is_vk<T, tn_Texture>>>
Result<T> vk(const Recording& recording, const Texture& texture) {
    tn_Place place{};
    const tn_Status status = call(tn_recording_place, recording.raw(), texture.raw(), &place);
    T handle = vk<T>(place.object);
    return made(status, handle);
}
/** The command buffer, with the barriers of the uses declared so far: vk<VkCommandBuffer>(recording). */
template <class T, class = std::enable_if_t<std::is_same_v<T, VkCommandBuffer_T*> || std::is_same_v<T, std::uint64_t>>>
Result<T> vk(const Recording& recording) {
    tn_Native native = 0;
    const tn_Status status = call(tn_recording_native, recording.raw(), &native);
    T handle = vk<T>(native);
    return made(status, handle);
}

/** A Vulkan handle as a number. */
template <class T>
tn_Native native(T handle) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::uintptr_t>(handle);
    } else {
        return handle;
    }
}

}  // namespace TN_ERRORS
}  // namespace tn

#endif
