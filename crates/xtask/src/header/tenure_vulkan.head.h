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
