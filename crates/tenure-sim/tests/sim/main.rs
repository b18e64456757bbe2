//! The simulated device, from the outside.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod aliasing;
mod barriers;
mod budget;
mod calls;
mod common;
mod copies;
mod descriptors;
mod external;
mod faults;
mod hazard_table;
mod hazards;
mod lag;
mod paging;
mod profiles;
mod queries;
mod races;
mod refused_views;
mod rules;
mod set_kinds;
mod sets;
mod sharing;
mod states;
mod swapchain;
mod swapchain_wishes;
mod targets;
mod texture_writes;
mod threads;
mod tiles;
mod views;
mod visible;
mod wild;
