//! Recordings: reading, writing, generation, capture, damage.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;
mod damage;
mod generated;
mod own;
mod recorder;
mod recordings;
mod round_trip;
mod version_2;
