//! The fallback chain: the steps of an allocation, in order, when memory is short.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod faults;
mod limits;
mod requests;
mod scenario;
mod steps;
mod transients;
