//! Tests on a real device. They fail where there is none.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod adopted;
mod advice;
mod aliasing;
mod basics;
mod calls;
mod chains;
mod commands;
mod create_info;
mod created;
mod descriptors;
mod disguise;
mod draws;
mod external;
mod faults;
mod gate;
mod harness;
mod host_copies;
mod loss;
mod markers;
mod names;
mod nth_call;
mod own_queues;
mod placing;
mod probe;
mod rays;
mod residency;
#[cfg(unix)]
mod sharing;
mod sparse;
mod sparse_textures;
mod spirv;
mod suite;
mod swapchain;
mod untrue;
mod visible;
mod waiting;
mod watched;
mod wrapped;
