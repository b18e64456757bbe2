//! The simulated device, from the outside.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod basics;
mod budget;
mod calls;
mod common;
mod copies;
mod faults;
mod hazards;
mod lag;
mod profiles;
mod races;
mod rules;
mod states;
mod threads;
mod tiles;
mod wild;
