//! The memory engine of tenure: memory for lasting resources in one pool per [`Class`], for several threads, with
//! budgets, residency and moves. [`tenure_heap`] has the fallback chain, the growth of pools, and the limits.
//!
//! `tenure-core` builds its manager on it. The [policy], the orders of [memory types](type_order) and the
//! [configuration](Config) are public; the rest is for `tenure-core`, and may change in any version.
//!
//! # How a request is served
//! A `Request` states its terms, and `Engine::place` tries the steps of the chain. For each memory type that can
//! hold the resource, in [order of preference](type_order):
//! 1. a range of the pool's blocks;
//! 2. a new block: the preferred size, then a half, a quarter, an eighth of it, as far as the
//!    request fits and the device allows (it replaces the pool's empty blocks, which were too
//!    small);
//! 3. dedicated memory (a committed resource).
//!
//! The types are tried in the order of [`tenure_heap::try_each_memory_type`], which lists its steps. Resources
//! that the GPU reads well from system memory (buffers, and read-only textures) are placed there before a budget
//! is exceeded. Render targets, depth and storage textures leave video memory only when the driver refuses. The
//! last step but one waits, for at most [`PoolConfig::max_wait`], for dropped memory that the GPU still uses. If
//! all steps fail, the request fails with `OutOfMemory` (size, class, budget, largest free range, the result of
//! each step, bytes pending release). A lost device or an invalid description ends the chain immediately.
//! Everything created on the way is destroyed. An allocation in memory of another kind is logged as a warning.
//!
//! New blocks become larger as the number of allocations approaches the device's limit. Near the limit, resources
//! with dedicated memory by [policy] share a block as well, if they may.

#![forbid(unsafe_code)]

#[macro_use(event)]
extern crate tenure_track;

#[doc(hidden)]
pub mod api_objects;
#[doc(hidden)]
pub mod api_resource;
#[doc(hidden)]
pub mod block;
#[doc(hidden)]
pub mod block_set;
#[doc(hidden)]
pub mod budget;
#[doc(hidden)]
pub mod class;
#[doc(hidden)]
pub mod config;
mod cost;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod exchangeable;
#[doc(hidden)]
pub mod fallback;
#[doc(hidden)]
pub mod flags;
#[doc(hidden)]
pub mod freeing;
mod idle_blocks;
pub mod in_place;
#[doc(hidden)]
pub mod location;
#[doc(hidden)]
pub mod movable;
mod moving;
mod new_blocks;
pub mod policy;
mod pool_settings;
#[doc(hidden)]
pub mod pools;
#[doc(hidden)]
pub mod pressure;
#[doc(hidden)]
pub mod remote_frees;
#[doc(hidden)]
pub mod repeated;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod residency;
#[doc(hidden)]
pub mod shard;
#[doc(hidden)]
pub mod sharding;
#[doc(hidden)]
pub mod shortage;
#[doc(hidden)]
pub mod terms;

pub use class::{Class, MemoryUse, PoolKind, TypeOrder, target_type_order, type_order};
pub use config::{
    CompactionConfig, Config, ConfigError, ConfigRule, ConfigUnit, DescriptorConfig, FrameConfig,
    InPlaceConfig, PoolConfig, PressureConfig, StagingConfig, Strategy, TransientConfig, UploadConfig,
    UploadSuballocator,
};
pub use cost::Cost;
pub use flags::AllocationFlags;
pub use location::LocationKind;
pub use movable::MovableId;
pub use pressure::Pressure;
#[doc(no_inline)]
pub use tenure_device as device;
pub use tenure_heap::{CompactionBudget, Name};
use tenure_track::{state, sync, thread_slot, time};

use self::class::BlockTraits;

/// The example of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
