//! tenure: the GPU memory and lifetime manager for explicit graphics APIs.
//!
//! On Direct3D 12 and Vulkan the program decides where each resource lives, and must keep it alive
//! until the GPU has finished with it. tenure does both behind owned handles: create, use, drop.
//!
//! Start with [`Gpu`]. The devices are modules, behind features of their names: `vulkan`, `d3d12`
//! (on Windows), and `sim`, a GPU in software for tests, which finds the hazards no driver reports. No
//! feature is on by default. Each floor can be used alone, too: [`time`] for deferred release,
//! [`suballoc`] for offsets, and [`plan`] for arranging lifetimes in memory. [`prelude`] imports what a
//! program that draws needs; [`device`] is for authors of backends.

#![warn(missing_debug_implementations)]

pub use tenure_core::*;
pub use tenure_plan as plan;
pub use tenure_suballoc as suballoc;

#[cfg(all(feature = "d3d12", windows))]
pub use tenure_d3d12 as d3d12;
#[cfg(feature = "sim")]
pub use tenure_sim as sim;
#[cfg(feature = "vulkan")]
pub use tenure_vulkan as vulkan;

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
