//! The cases. Each is a function of a harness and may be called by itself.
//!
//! # Panics
//! A case panics when the device or the manager does not behave as it should.

pub mod buffers;
pub mod churn;
pub mod constants;
pub mod depth_stencil;
pub mod descriptors;
pub mod external;
pub mod formats;
pub mod frames;
pub mod lifetimes;
pub mod locations;
pub mod mapped;
pub mod mips;
pub mod moving;
pub mod pages;
pub mod properties;
pub mod queries;
pub mod queues;
pub mod rays;
pub mod read_only;
pub mod readbacks;
pub mod recycling;
pub mod refusals;
pub mod rings;
pub mod services;
pub mod set_kinds;
pub mod sharing;
pub mod shutdown;
pub mod small;
pub mod states;
pub mod stats;
pub mod texture_copies;
pub mod textures;
pub mod threads;
pub mod tiles;
pub mod transient;
pub mod transient_targets;
pub mod uploads;
