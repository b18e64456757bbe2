//! Vulkan behind tenure's device contract.
//!
//! [`Device`] implements the contract ([`tenure_core::device::Device`]) on any GPU with Vulkan 1.1 or newer. It
//! creates instance, device and queues itself ([`Device::create`], [`adapters`]), or wraps an engine's and never
//! destroys them ([`Device::from_raw`]).
//!
//! ```no_run
//! use tenure_core::device::Usage;
//! use tenure_core::{BufferDesc, Config, Gpu};
//! use tenure_vulkan::{Device, DeviceConfig, Validation};
//!
//! let options = DeviceConfig::default().validation(Validation::SYNCHRONIZATION);
//! let gpu = Gpu::new(Device::create(&options)?, Config::default())?;
//! let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock"))?;
//! // For the engine's own code: the API's handles come out of every object.
//! let buffer: Option<tenure_vulkan::ash::vk::Buffer> = rock.raw().buffer();
//! # let _ = buffer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Optional features
//!
//! | feature | otherwise |
//! | --- | --- |
//! | timeline semaphores | a fence for each submission, binary semaphores between queues |
//! | `synchronization2` | `vkQueueSubmit`, `vkCmdPipelineBarrier` |
//! | `maintenance4` requirement queries | queries of a temporary object |
//! | dedicated allocations preferred by the driver, and for all committed resources | only if the driver requires them |
//! | `VK_EXT_memory_budget` | four fifths of each heap, and tenure's own count |
//! | `VK_EXT_memory_priority` | no priorities |
//! | `VK_EXT_pageable_device_local_memory`, with that | priorities stay unchanged after the allocation |
//! | `bufferDeviceAddress` | no addresses |
//! | sparse binding, residency and aliasing, for buffers and 2D images | `Unsupported` |
//! | `VK_KHR_acceleration_structure`, from Vulkan 1.2 | `Unsupported` |
//! | `VK_KHR_ray_query`, with that | only ray tracing shaders trace rays |
//! | `VK_KHR_ray_tracing_pipeline`, with that | shader binding tables are `Unsupported` |
//! | descriptor indexing | descriptors in sets only |
//! | `VK_EXT_mutable_descriptor_type`, with that | six arrays in each heap of views |
//! | `VK_EXT_descriptor_buffer`, with [`DeviceConfig::descriptor_buffers`] | heaps are descriptor sets |
//! | `nullDescriptor` of `VK_EXT_robustness2` | freed descriptors stay as they were |
//! | `VK_EXT_debug_utils` | no names |
//! | `VK_EXT_swapchain_maintenance1` | images that are acquired again show that presentations have ended |
//! | `VK_KHR_present_wait`, with `VK_KHR_present_id` | the number of images bounds the latency |
//! | `VK_KHR_external_memory_fd` | shared resources are `Unsupported` |
//! | `VK_EXT_external_memory_dma_buf`, with that | opaque file descriptors only |
//! | `VK_EXT_queue_family_foreign`, with that | resources shared across drivers are `Unsupported` |
//! | `VK_KHR_external_semaphore_fd`, if it supports timeline semaphores | shared semaphores are `Unsupported` |
//! | `VK_EXT_external_memory_host` | no buffers in the program's own memory |
//! | `VK_KHR_device_fault`, or `VK_EXT_device_fault` | no faults in [`Gpu::loss`](tenure_core::Gpu::loss) |
//! | `deviceFaultVendorBinary` of that, with [`DeviceConfig::fault_folder`] | no file of the vendor's data |
//! | `VK_EXT_device_address_binding_report`, with [`DeviceConfig::address_reports`] | textures have no addresses in [`Gpu::loss`](tenure_core::Gpu::loss) |
//! | `VK_AMD_buffer_marker` or `VK_NV_device_diagnostic_checkpoints`, with [`DeviceConfig::markers`] | recordings and passes of graphs have markers, but no other scopes |
//!
//! [`DeviceConfig`] can disable each of them. The tests pass with all of them and with none.
//!
//! # Queues
//!
//! The first queue can do everything; a compute queue and a copy queue are used if the device has families for
//! them. Each is a `VkQueue` with its own lock: a program that submits to one uses
//! [`Gpu::submit_external`](tenure_core::Gpu::submit_external), and otherwise accesses it in
//! [`Device::with_queue`]. A submission signals the queue's timeline semaphore with its serial. Without timeline
//! semaphores, a submission that another one waits for is followed by an empty batch that signals a binary
//! semaphore; only submitted serials can be waited for then, and an engine's work on these queues must not wait
//! for the CPU.
//!
//! # Resources
//!
//! Buffers are shared by all families in use (`VK_SHARING_MODE_CONCURRENT`; with one family
//! `EXCLUSIVE`); images are owned by one family and transferred, except those that are
//! [of all queues](tenure_core::device::Usage::is_of_all_queues). Images have optimal tiling. Square arrays
//! of six and more layers may be viewed as cubes, volumes that are render targets as arrays.
//! [`TextureInfo::view_formats`](tenure_core::device::TextureInfo::view_formats) makes formats
//! mutable and, where only a view's format allows a use, extends the usage.
//!
//! `bufferImageGranularity` is padding up to 1 KiB; if it is larger, heaps are for buffers or for textures. Every
//! call is checked before it reaches the driver, in release builds too: offsets, ranges, memory types,
//! categories, formats and extents, the bytes that commands touch, the order of serials. An invalid call returns
//! a [`DeviceError`](tenure_core::device::DeviceError) with the rule and the numbers.
//!
//! Copies are for one aspect at a time: each region is of depth or of stencil.
//!
//! # Memory
//!
//! A `VkDeviceMemory` is mapped once, as a whole, when its first resource is mapped. Mappings flush and
//! invalidate non-coherent memory, in whole atoms. Lists end with a barrier that makes their copies to mapped
//! memory, and everything recorded through [`List::command_buffer`], visible to the CPU.
//!
//! Dropping an object without `destroy_*` leaks the Vulkan object: the GPU might still use it.
//! Memory is freed when its heap or resource is destroyed, but never while it is mapped.
//!
//! # States
//!
//! | state | stages | layout |
//! | --- | --- | --- |
//! | `COMMON` | none: contents are undefined | `UNDEFINED` |
//! | `VERTEX_OR_CONSTANT` | vertex input, all shaders | |
//! | `INDEX`, `INDIRECT` | vertex input, indirect draws | |
//! | `PIXEL_SHADER` | fragment shaders | `SHADER_READ_ONLY_OPTIMAL` |
//! | `VERTEX_SHADER`, `MESH_SHADER` | vertex, tessellation and geometry shaders; mesh and task shaders (by the stage of all shaders before rasterization) | the same |
//! | `COMPUTE_SHADER`, `RAY_TRACING_SHADER` | compute shaders; shaders of ray tracing, and builds | the same |
//! | `NON_PIXEL_SHADER` | all of these but fragment shaders | the same |
//! | `COPY_SRC`, `RESOLVE_SRC` | transfer | `TRANSFER_SRC_OPTIMAL` |
//! | `COPY_DST`, `RESOLVE_DST` | transfer | `TRANSFER_DST_OPTIMAL` |
//! | `UNORDERED_ACCESS` | all shaders, builds | `GENERAL` |
//! | `MESH_`, `COMPUTE_`, `RAY_TRACING_UNORDERED_ACCESS` | as the reads of these shaders | `GENERAL` |
//! | `RENDER_TARGET` | colour output | `COLOR_ATTACHMENT_OPTIMAL` |
//! | `DEPTH_READ` | depth tests, colour output (resolved from) | `DEPTH_STENCIL_READ_ONLY_OPTIMAL` |
//! | `DEPTH_WRITE` | depth tests, colour output (resolves) | `DEPTH_STENCIL_ATTACHMENT_OPTIMAL` |
//! | `ACCELERATION_STRUCTURE` | builds, shaders of ray tracing, with `VK_KHR_ray_query` all shaders | |
//!
//! Shaders read depth targets in `DEPTH_STENCIL_READ_ONLY_OPTIMAL`, with or without depth tests at the same time:
//! the descriptor is created before the uses are known. [`Resource::layout_in`] returns it.
//!
//! In Vulkan, a render pass that stores an attachment writes it, even if it only tests against it. Barriers out
//! of `DEPTH_READ` cover that write. Between two uses that only read, however, there is no barrier: a pass whose
//! depth is sampled at the same time, or by the next pass in the same states, must end with
//! `VK_ATTACHMENT_STORE_OP_NONE`.
//!
//! Barriers of a queue contain only the stages that its family supports. [`Device::stage_access_layout`] returns the same for an
//! engine's own barriers.
//!
//! # Descriptors
//!
//! A [`DescriptorHeap`] that is not shader-visible holds `VkImageView`s, `VkBufferView`s, `VkSampler`s and ranges
//! of buffers; an engine accesses each by its index, for attachments for example. A shader-visible one is a
//! single descriptor set; all stages can access it, and it may be written while it is bound and in use elsewhere. With
//! [`OptionalFeatures::MUTABLE_DESCRIPTORS`] all views are in one array, and each index is one descriptor of the
//! type last written to it; otherwise there is an array for each type, and each index takes six descriptors:
//!
//! | views | binding of [`DescriptorHeap::set`] | without mutable descriptors |
//! | --- | --- | --- |
//! | sampled textures | 0 | 0 |
//! | storage textures | 0 | 1 |
//! | constants (uniform buffers) | 0; 2 if the device indexes fewer of them | 2 |
//! | raw and structured buffers (storage buffers) | 0 | 3 |
//! | typed buffers that are read (uniform texel buffers) | 0 | 4 |
//! | typed buffers that are written (storage texel buffers) | 0 | 5 |
//! | samplers, in a separate heap | 0 | 0 |
//!
//! [`DescriptorHeap::binding`] returns it. A shader declares a variable for each type that it uses, with the
//! bindings of the last column, and [`DescriptorHeap::renumber`] replaces them by the heap's before its module is
//! created: in Vulkan several variables may have one binding. A descriptor is found in the array of its kind at its
//! index in the heap. Access as another type than the written one is undefined, also after it was freed. A heap
//! takes at most seven eighths of the device's limit for one stage, so that sets fit beside it; if a device
//! indexes fewer uniform buffers than other descriptors, constants are at the first indices only
//! ([`DescriptorHeap::constants`]).
//!
//! ## Descriptor buffers
//!
//! With [`DeviceConfig::descriptor_buffers`], if the device has [`OptionalFeatures::DESCRIPTOR_BUFFERS`], a
//! shader-visible heap is a buffer, as on Direct3D 12, and there are no sets: a pipeline is created for either one
//! or the other. Changes for a program:
//!
//! - Pipelines are created with `VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT`, from layouts of heaps
//!   ([`DescriptorHeap::layout`]) and the program's own layouts with
//!   `VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT`.
//! - [`Commands::set_descriptor_heaps`](tenure_core::Commands::set_descriptor_heaps) binds the buffers: views are
//!   number 0, samplers number 1. Then the program sets the set index of each in its layout by
//!   `vkCmdSetDescriptorBufferOffsetsEXT` ([`Device::descriptor_buffers`]) with an offset of 0; again after each
//!   `set_descriptor_heaps`, which invalidates the offsets.
//! - Tables are used as before, by index. [`DescriptorHeap::set`] is `None`, [`DescriptorHeap::raw_buffer`] is
//!   `Some`.
//! - The buffer has dedicated memory, device-local if such memory is host-visible.
//! - All heaps together share the device's address space for descriptors
//!   (`resourceDescriptorBufferAddressSpaceSize` and similar limits). Creating a heap that exceeds it fails with a
//!   shortage, [`DeviceError::OutOfDeviceMemory`](tenure_core::DeviceError).
//! - Layouts contain the stages that the device supports, not `VK_SHADER_STAGE_ALL`.
//! - Set layouts, input attachments and descriptors of buffers that the program created without
//!   `VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT` are `Unsupported`.
//!
//! ```no_run
//! use ash::vk;
//! use tenure_core::Commands;
//! use tenure_vulkan::{Device, ash};
//!
//! fn bind(commands: &mut Commands<Device>, device: &Device, layout: vk::PipelineLayout) -> Result<(), tenure_core::Error> {
//!     commands.set_descriptor_heaps()?;
//!     if let Some(functions) = device.descriptor_buffers() {
//!         let (list, point) = (commands.raw().command_buffer(), vk::PipelineBindPoint::COMPUTE);
//!         // SAFETY: the layout's set 0 is the heap of views, its set 1 that of samplers.
//!         unsafe { functions.cmd_set_descriptor_buffer_offsets(list, point, layout, 0, &[0, 1], &[0, 0]) };
//!     }
//!     Ok(())
//! }
//! ```
//!
//! ## Sets
//!
//! A [`SetPool`] is a pool with sets of one [`SetLayout`], which may be a layout
//! of the engine ([`SetLayout::from_raw`]). In arrays of sets, only the elements that shaders use must be written;
//! without descriptor indexing, all elements of each used array.
//!
//! Sampled textures are in one of the states for shaders, or one with `DEPTH_READ`; storage textures in
//! `UNORDERED_ACCESS`. Volumes are targets as arrays of their slices.
//!
//! # Reserved resources
//!
//! A reserved buffer has tiles of 64 KiB, or of a sparse block if that is larger; a texture has the tiles and the
//! mip tail of its format. If layers share one tail, each gets its part of it, and the whole tail has to be
//! mapped before any part is used. Mappings change in the order of the queue's submissions, on any queue; the
//! first capable queue makes the changes, and semaphores keep the order. The memory of each tile is recorded, so
//! that mappings can be copied.
//!
//! # Resources of an engine
//!
//! [`Resource::from_raw_buffer`] and [`Resource::from_raw_image`] wrap objects of an engine, for
//! [`Gpu::adopt_buffer`](tenure_core::Gpu::adopt_buffer) and similar functions; [`Ownership`] decides whether
//! tenure destroys them.
//!
//! # Sharing
//!
//! `Sharing` exports and imports resources of [`Usage::SHARED`](tenure_core::device::Usage::SHARED) by file
//! descriptors, each with a dedicated allocation, and timeline semaphores (Unix). Ownership is transferred to and
//! from `VK_QUEUE_FAMILY_EXTERNAL`, or `VK_QUEUE_FAMILY_FOREIGN_EXT` for resources shared [across
//! drivers](tenure_core::BufferDesc::shared_across_drivers). A driver other than the exporter's accesses a
//! DMA-BUF in linear memory, so only buffers: images with format modifiers are not supported. [`HostMemory`]
//! creates a buffer from the program's memory.
//!
//! # Presentation
//!
//! [`Swapchain`] is created for the program's surface, on a device created with [`DeviceConfig::presentation`]. With
//! `VK_EXT_swapchain_maintenance1`, fences signal the end of a presentation; without it, the end is detected when
//! an image is acquired again. With `VK_KHR_present_wait`, [`Swapchain::set_frame_latency`] bounds the images that wait to
//! be shown. Colour spaces other than sRGB need `VK_EXT_swapchain_colorspace`, metadata of HDR
//! images needs `VK_EXT_hdr_metadata`. `PRESENT` is the layout `PRESENT_SRC_KHR`; recordings wait for an image at the
//! stages of colour output, compute and copies.
//!
//! # Errors
//!
//! Failed allocations of memory, host memory, objects and address space are shortages. A device loss is recorded with the first
//! call that reported it; later calls return the same error, and none blocks. Dropping the device waits for the
//! GPU for up to ten seconds; a device that is still busy then is leaked. For a device created by tenure, it also
//! waits, without a limit, for other submissions to its queues; for a wrapped device, that is its owner's task.

#![warn(missing_debug_implementations)]

mod chain;
mod descriptor;
mod device;
pub mod drivers;
mod error;
mod features;
mod format;
mod instance;
mod loaded;
mod memory;
mod newer;
mod present;
mod query;
mod queue;
mod raw;
mod record;
mod resource;
mod setup;
mod sharing;
mod sparse;
mod stages;
mod structure;
mod tiles;
mod usage;

#[doc(no_inline)]
pub use ash;

pub use descriptor::{DescriptorHeap, SetLayout, SetPool};
pub use device::Device;
pub use error::CreateError;
pub use features::{ApiVersion, OptionalFeatures};
pub use format::to_vk_format;
pub use instance::{DeviceConfig, Message, MessageKind, MessageSink, OwnQueues, Severity, Validation};
pub use memory::{Heap, Mapping};
pub use present::Swapchain;
pub use query::QueryHeap;
pub use queue::{ExternalSemaphore, OwnQueue};
pub use raw::{Destroy, Owned, Ownership, RawBuffer, RawHandle, RawImage, RawMemory, RawView};
pub use record::List;
pub use resource::Resource;
pub use setup::{Adapter, AdapterKind, DeviceFeatures, QueueFamily, Raw, RawQueue, adapters};
pub use sharing::{
    DeviceIds, ExportDesc, HandleKind, HostMemory, InvalidExportDesc, RejectedMemory, ShareError,
};
#[cfg(unix)]
pub use sharing::{Exported, ImportError, SharedSemaphore, Sharing};
pub use stages::{StateUse, vk_stage_access_layout};
pub use structure::AccelerationStructure;

/// Instantiates the manager's functions for this device, so programs need not compile them again.
#[doc(hidden)]
#[inline(never)]
pub fn entry_points() {
    tenure_core::entry_points::<Device>();
}

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
