//! tenure: the GPU memory and lifetime manager for explicit graphics APIs.
//!
//! On Direct3D 12 and Vulkan the program decides where each resource lives, and must keep it alive
//! until the GPU has finished with it. tenure does both behind owned handles: create, use, drop.
//!
//! Start with [`Gpu`]. The devices are modules: [`sim`], a GPU in software that finds the hazards
//! no driver reports. Each floor can be used alone, too: [`time`] for deferred release,
//! [`suballoc`] for offsets.

pub use tenure_core::*;
pub use tenure_suballoc as suballoc;

#[cfg(feature = "sim")]
pub use tenure_sim as sim;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
