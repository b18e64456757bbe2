//! The output of the benchmarks, and their comparisons.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod packing;
mod program;
mod recordings;
mod suballoc;
