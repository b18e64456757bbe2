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
