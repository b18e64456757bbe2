/* tenure_vulkan.hpp: tenure_vulkan.h for C++17 and later. Suits Vulkan's own header in any order, and needs none.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TENURE_VULKAN_HPP
#define TENURE_VULKAN_HPP

#include "tenure.hpp"
#include "tenure_vulkan.h"

#include <type_traits>

namespace tn {
inline namespace TN_ERRORS {

/** Semaphores that the submission of a recording waits for, and signals. */
inline Result<void> add_semaphores(const Recording& recording, Array<tn_VkPoint> waits, Array<tn_VkPoint> signals) {
    return checked(tn_recording_semaphores_vk(recording.raw(), waits.data(), waits.size(), signals.data(), signals.size()));
}

/** Wraps the Vulkan device of the program. */
inline Result<Device> device_from_vk(const tn_VkDeviceDesc& desc) {
    tn_Device* raw = nullptr;
    const tn_Status status = tn_device_from_vk(&desc, &raw);
    Device device(raw);
    return made(status, device);
}

/** The descriptor set that shaders index for a table. */
inline Result<tn_VkTable> table_vk(const DescriptorTable& table) {
    Desc<tn_VkTable> found;
    return made(tn_descriptor_table_vk(table.raw(), &found), found);
}

/** Gives a shader in SPIR-V the bindings that this device has for tables. */
inline Result<void> renumber(const DescriptorTable& table, std::uint32_t set, std::uint32_t* words, std::size_t count) {
    return checked(tn_descriptor_table_renumber(table.raw(), set, words, count));
}

/** A swap chain over a VkSurfaceKHR of the program: native(surface). */
inline Result<Swapchain> create_swapchain_vk(const Gpu& gpu, tn_Native surface, const tn_SwapchainDesc& desc) {
    tn_Swapchain* raw = nullptr;
    const tn_Status status = tn_swapchain_create_vk(gpu.raw(), surface, &desc, &raw);
    Swapchain swapchain(raw);
    return made(status, swapchain);
}

/** A Vulkan handle: vk<VkBuffer>(place.object), with place.offset. */
template <class T>
T vk(tn_Native native) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(static_cast<std::uintptr_t>(native));
    } else {
        return static_cast<T>(native);
    }
}

/** The Vulkan handle of an object that needs no offset: vk<VkImage>(texture), vk<VkImageView>(view), vk<VkDescriptorSet>(set). */
template <class T, class Raw>
Result<T> vk(const Placed<Raw>& object) {
    tn_Place place{};
    const tn_Status status = tn_place(object.raw(), &place);
    T handle = vk<T>(place.object);
    return made(status, handle);
}
/** A buffer is a part of its VkBuffer: place() has the offset, too. */
template <class T>
Result<T> vk(const Buffer& buffer) = delete;
/** The command buffer, with the barriers of the uses before: vk<VkCommandBuffer>(recording). */
template <class T>
Result<T> vk(const Recording& recording) {
    tn_Native native = 0;
    const tn_Status status = tn_recording_native(recording.raw(), &native);
    T handle = vk<T>(native);
    return made(status, handle);
}

/** The number of a Vulkan handle. */
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
