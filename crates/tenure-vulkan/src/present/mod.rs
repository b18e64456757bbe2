//! Swap chains over the program's surfaces.
//!
//! | object | used again, or destroyed, when |
//! | --- | --- |
//! | semaphore of an acquired image | the submission that waited for it is complete |
//! | semaphore that a presentation waits for: one for each image | its image is acquired again; destroyed with its chain |
//! | fence of a presentation (`swapchain_maintenance1`) | it is signalled |
//! | chain that another has replaced | all handles of its images are gone, the GPU is done with them, and its presentations are over |
//!
//! The end of a presentation is known from its fence. Without fences, it is known from an image of a newer chain
//! that is acquired *again*, once the GPU has waited for that: it was shown after all images of the older chain,
//! and one queue's presentations end in order. ("Swapchain Semaphore Reuse" in the Vulkan Guide; the proposal of
//! `VK_EXT_swapchain_maintenance1` explains why there is no better way.) If neither happens, at the end and after
//! many replacements without a frame, tenure waits until the queues are idle. Some drivers and layers never
//! signal the fence of a presentation: gamescope's layer drops presentations for which it returns `OUT_OF_DATE`.
//! After the first lost fence, the device uses no fences for presentations.

mod choose;
mod offers;
mod retire;
mod swapchain;

pub use swapchain::Swapchain;
