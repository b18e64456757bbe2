//! Swap chains over the program's surfaces.
//!
//! | object | used again, or destroyed, when |
//! | --- | --- |
//! | semaphore of an acquired image | the submission that waited for it is complete |
//! | semaphore that a presentation waits for: one for each image | its image is acquired again; destroyed with its chain |
//! | fence of a presentation (`swapchain_maintenance1`) | it is signalled |
//! | chain that another has replaced | all handles of its images are gone, the GPU is done with them, and its presentations are over |
//!
//! That its presentations are over is what their fences say. Without them, what says so is an image of a newer chain that
//! is acquired *again*, once the GPU has waited for that: it was shown after all images of the older chain,
//! and one queue's presentations end in order. ("Swapchain Semaphore Reuse" in the Vulkan Guide; the proposal of
//! `VK_EXT_swapchain_maintenance1` says why there is nothing better.) Where neither comes, at the end and after
//! many replacements without a frame, the queues are waited for until they are idle. Some drivers and layers never signal
//! the fence of a presentation: gamescope's layer drops presentations that it answers with `OUT_OF_DATE`. After the first
//! fence that is lost, none is used on the device.

mod choose;
mod retire;
mod swapchain;

pub use swapchain::Swapchain;
