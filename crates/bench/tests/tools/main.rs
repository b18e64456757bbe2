//! What the benchmarks print, and how they compare.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod packing;
mod program;
mod recordings;
mod suballoc;
