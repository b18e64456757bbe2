//! tenure on a real Direct3D 12 runtime. A device that cannot be created is a failure.
#![cfg(windows)]
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod adoption;
mod aliasing;
mod alignments;
mod bench;
mod checks;
mod copies;
mod descriptors;
mod device;
mod device_thread;
mod driver_faults;
mod external;
mod formats;
mod harness;
mod interposed;
mod lists;
mod loss;
mod matrix;
mod names;
mod notices;
mod nth_call;
mod order;
mod probe;
mod refusals;
mod reserved;
mod residency;
mod shaders;
mod sharing;
mod suite;
mod swapchain;
mod swapchain_colors;
mod swapchain_cost;
mod swapchain_refusals;
mod swapchain_status;
mod tight;
mod viewer;
mod views;
mod window;
