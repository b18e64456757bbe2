//! The ladder that is climbed when memory is short (spec M11).
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod faults;
mod rungs;
mod scenario;
